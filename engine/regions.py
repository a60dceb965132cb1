"""The machine's log to events, and to the parts a message is made of.

Invariants: an entry is read once and never taken back; `released` is the end of what an event, a tool call or a list
entry has handed out, so text before it is needed no more; each region that opens closes, or is malformed, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import program as op
from .argument_stream import ArgumentStream
from .calls import CallReader, call_of
from .errors import DecodeError, ParseError
from .events import Event, RegionChunk, RegionClose, RegionMalformed, RegionOpen
from .frames import Frame, Recovery, Region
from .message import Malformed, Message, Span, ToolCall
from .program import Site
from .request import Tool
from .state import LogEntry, Scope

_new = tuple.__new__  # What a NamedTuple calls; its own constructor costs twice as much.
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Regions:
    """Reads released log entries in order; ``events`` collects what they say.

    Positions are absolute for what tells of rule instances and whole regions; for labels, which look into ``text``, they
    are offsets in it, ``base`` being what went before it.
    """

    def __init__(
        self, offered: dict[str, Tool] | None, drop: bool, unknown_is_call: bool, incremental: bool = False
    ) -> None:
        self.events: list[Event] = []
        self.released = 0
        self.prompt_end = 0
        self.incomplete = False
        self.veto: ParseError | None = None
        self._offered = offered
        self._hide = drop
        self._unknown_is_call = unknown_is_call
        self._incremental = incremental
        self._stream: ArgumentStream | None = None
        self._frames: list[Frame] = []
        self._text: dict[str, list[str]] = {}
        self._calls: list[ToolCall] = []
        self._malformed: list[Malformed] = []
        self._dropped: list[Span] = []
        self._region: Region | None = None
        self._call: CallReader | None = None
        self._call_opened = False
        self._call_closed = False  # Its label has ended: it ends with the rule, or where the rule's next label begins.
        self._call_error: DecodeError | None = None
        self._recovery: Recovery | None = None
        self._drop_start = -1
        self._call_dropped: list[Span] = []

    # -- the log -----------------------------------------------------------------------------------------------------

    def read(self, log: list[LogEntry], first: int, count: int, text: str, base: int, *, upto: int) -> None:
        """Take the entries from ``first`` to ``count`` in, and the text up to ``upto``, which ``base`` went before."""
        for index in range(first, count):
            kind, what, pos = log[index]
            if kind == op.LOG_CHAIN:
                chain, kept = what
                chain.tell(self, kept, text, base)
            elif kind == op.LOG_SPAN:
                label, dialect, start, how = what
                self.span(label, dialect, how, start, pos, text, base)
            elif kind == op.LOG_OPEN:
                self.open(what[0], what[1], pos, text, base)
            elif kind == op.LOG_CLOSE:
                self.close(what, pos, text, base)
            elif kind == op.LOG_FRAME:
                self.enter(what[0], what, pos + base)
            elif kind == op.LOG_FRAME_END:
                self.exit(pos + base, text, base)
            elif kind == op.LOG_MARK:
                self.mark(what, pos, text, base)
            elif kind == op.LOG_RECOVER:
                self._recover(what, pos, text, base)
            else:
                self._recovered(pos + base, text, base)
        if self._recovery is not None:
            self._give_up(text, base, upto + base)
        elif self._region is not None and self._region.closed_at < 0:
            self._grow(self._region, text, base, upto + base)

    # -- rule instances and labels -----------------------------------------------------------------------------------

    def enter(self, site: Site, scope: object, pos: int) -> None:
        """A rule instance begins."""
        self._frames.append(Frame(site, scope, pos, pos))

    def plain_call(  # noqa: PLR0917 - called for every call, where keywords cost
        self, name: str, members: list[tuple[str, int, str]], entered: int, start: int, end: int, left: int
    ) -> bool:
        """Take a whole call in, and its rule, if there is nothing else to it."""
        if self._call is not None or self._incremental:
            return False
        call = call_of(self._offered, name, members)
        if call is None:
            return False
        if self._region is not None:
            self._end_region(entered)
        self._calls.append(call)
        self.events.append(_new(RegionOpen, ("tool_call", entered, start, {"name": name})))
        self.events.append(_new(RegionClose, ("tool_call", end, left, call)))
        self.released = max(self.released, left)
        return True

    def plain_text(  # noqa: PLR0917 - as plain_call
        self, label: str, piece: str, entered: int, start: int, end: int, left: int
    ) -> bool:
        """Take a whole text region in, and its rule, if nothing else is open."""
        if self._call is not None or self._region is not None or start < self.prompt_end:
            return False
        if piece:
            self._text.setdefault(label, []).append(piece)
            self.events.append(_new(RegionOpen, (label, entered, start, _NOTHING)))
            self.events.append(_new(RegionChunk, (label, piece, True)))
            self.events.append(_new(RegionClose, (label, end, left, piece)))
        self.released = max(self.released, left)
        return True

    def open(self, label: str, dialect: str, pos: int, text: str, base: int) -> None:
        pos += base
        if self._call is not None and self._call_closed:
            self._end_call(self._frames[-1], pos, text, base)
        if self._call is not None:
            if self._call_error is None:
                try:
                    self._call.open(label, dialect, pos)
                except DecodeError as error:
                    self._call_error = error
            return
        frame = self._frames[-1]
        if self._region is not None and label == "tool_call":
            self._end_region(frame.mark)  # What stands between them opens the call.
        elif self._region is not None:
            self._end_region(pos)
            frame.mark = pos
        if label == "tool_call":
            self._call = CallReader(self._offered)
            self._call_opened, self._call_closed, self._call_error = False, False, None
            self._call_dropped = []
        else:
            self._region = Region(label, frame.mark, pos)
        frame.mark = pos

    def close(self, label: str, pos: int, text: str, base: int) -> None:
        if self._call is not None:
            if label == "tool_call":
                self._frames[-1].mark = pos + base
                self._call_closed = True
                return
            if self._call_error is None:
                try:
                    self._call.close(text, base, pos)
                except DecodeError as error:
                    self._call_error = error
            if label == "name" and not self._call_opened and self._call_error is None:
                self._open_call()
            return
        region = self._region
        if region is not None and region.closed_at < 0:
            pos += base
            self._grow(region, text, base, pos)
            region.closed_at = pos
            frame = self._frames[-1]
            frame.start = frame.mark = pos

    def span(  # noqa: PLR0917 - called for every label, where keywords cost
        self, label: str, dialect: str, how: int, start: int, end: int, text: str, base: int
    ) -> None:
        """A label that was read at once."""
        call = self._call
        if call is None or self._call_closed:
            self.open(label, dialect, start, text, base)
            self.close(label, end, text, base)
            return
        if self._call_error is None:
            try:
                call.read_span(label, dialect, text[start:end], start + base, how)
            except DecodeError as error:
                self._call_error = error
        if label == "name" and not self._call_opened and self._call_error is None:
            self._open_call()

    def _open_call(self) -> None:
        assert self._call is not None
        frame = self._frames[-1]
        for outer in reversed(self._frames):
            if outer.site.call:
                frame = outer
                break
        self._call_opened = True
        if self._incremental and (self._call.offered or self._unknown_is_call):
            self._stream = ArgumentStream()
        self.events.append(_new(RegionOpen, ("tool_call", frame.start, frame.mark, dict(self._call.captures))))

    def mark(self, what: str, pos: int, text: str, base: int) -> None:
        if what == op.TOLERATED:
            self._refuse(ParseError("not as the format writes it (read leniently)", pos + base))
        elif what == op.DROP_OPEN:
            self._drop_start = pos + base
        elif what == op.DROP_CLOSE:
            self._drop(self._drop_start, pos + base, text[self._drop_start - base : pos])
        elif self._call is not None:
            self._call.mark_typed()

    def _drop(self, start: int, end: int, text: str) -> None:
        if not text:
            return
        if self._call is not None:
            self._call_dropped.append(Span(start, end, text))
        else:
            self._dropped.append(Span(start, end, text))
            self.released = max(self.released, end)

    def _refuse(self, error: ParseError) -> None:
        if self.veto is None:
            self.veto = error

    # -- text regions ------------------------------------------------------------------------------------------------

    def _grow(self, region: Region, text: str, base: int, upto: int) -> None:
        start = max(self.released, region.end)
        if upto <= start:
            return
        if not region.opened:
            region.opened = True
            self.events.append(RegionOpen(region.label, region.start, region.end, _NOTHING))
        piece = text[start - base : upto - base]
        region.parts.append(piece)
        self._text.setdefault(region.label, []).append(piece)
        self._chunk(region.label, piece, start)
        self.released = upto

    def _chunk(self, label: str, piece: str, start: int) -> None:
        if start < self.prompt_end:
            piece = piece[self.prompt_end - start :]
        if piece:
            self.events.append(RegionChunk(label, piece, True))

    def _end_region(self, upto: int) -> None:
        region = self._region
        assert region is not None
        self._region = None
        if region.opened:
            at = region.closed_at if region.closed_at >= 0 else upto
            self.events.append(RegionClose(region.label, at, upto, "".join(region.parts)))

    def exit(self, pos: int, text: str, base: int) -> None:
        if not self._frames:
            return
        frame = self._frames.pop()
        if self._call is not None:
            if frame.site.call:
                self._end_call(frame, pos, text, base)
            return
        if self._region is not None and frame.site.frame:
            self._end_region(pos)
            self.released = max(self.released, pos)

    # -- calls -------------------------------------------------------------------------------------------------------

    def stream(self, text: str, base: int, upto: int, scanned: tuple[int, int] | None) -> None:
        """Hand out what has become certain of the open call's arguments."""
        if self._stream is None or self._call is None or self._call_error is not None:
            return
        piece = self._stream.grow(self._call, text, base, upto + base, scanned)
        if piece:
            self.events.append(RegionChunk("arguments", piece, True))

    def _hand_out_refused(self, text: str, base: int) -> None:
        """Hand out what was good of arguments that were refused."""
        if self._call is None or self._stream is None or self._call_error is None:
            return
        if rest := self._stream.refused(self._call, text, base):
            self.events.append(RegionChunk("arguments", rest, True))

    def _begun(self) -> ToolCall | None:
        """The call that is being streamed, as far as it was handed out."""
        call = self._call
        if self._stream is None or call is None or call.name is None:
            return None
        return ToolCall(call.name, "".join(self._stream.sent), call.captures.get("id"), False, call.offered)

    def _break_off(self, pos: int, error: ParseError) -> None:
        """A streamed call does not go on: it stays, incomplete."""
        begun = self._begun()
        assert begun is not None
        self._calls.append(begun)
        self.events.append(RegionClose("tool_call", pos, pos, begun))
        self._refuse(error)
        self._stream = None

    def _end_call(self, frame: Frame, pos: int, text: str, base: int) -> None:
        if self._stream is not None:
            self.stream(text, base, pos - base, None)
        call, error = self._call, self._call_error
        assert call is not None
        if error is not None and self._stream is not None:
            self._hand_out_refused(text, base)
            self._break_off(pos, error)
            raw = text[frame.start - base : pos - base]
            self._malformed.append(Malformed("tool_call", frame.start, pos, raw, error))
            self._call = None
            self.released = max(self.released, pos)
            return
        self._call, stream, self._stream = None, self._stream, None
        if error is None:
            try:
                done = call.call(pos, self._unknown_is_call)
            except DecodeError as refused:
                error = refused
        if error is None:
            if not call.canonical:
                self._refuse(ParseError("a value that is not of its declared type", frame.start))
            self._dropped.extend(self._call_dropped)
            self._calls.append(done)
            if stream is not None and (rest := done.arguments[sum(map(len, stream.sent)) :]):
                self.events.append(RegionChunk("arguments", rest, True))
            self.events.append(_new(RegionClose, ("tool_call", frame.mark, pos, done)))
        else:
            if self._call_opened:
                self.events.append(RegionMalformed("tool_call", frame.mark, pos, error))
            self._recovery = Recovery("tool_call", frame.start, error)
            self._recovered(pos, text, base)
        self.released = max(self.released, pos)
        frame.start = frame.mark = pos

    # -- recovery ----------------------------------------------------------------------------------------------------

    def _recover(self, why: tuple[Any, ...], pos: int, text: str, base: int) -> None:
        scope, start, failed, expected, at_end, good = why
        if self._region is not None:
            if self._region.closed_at < 0:
                self._grow(self._region, text, base, pos + base)
            self._end_region(max(self._region.closed_at, self.released))
        call = self._call is not None or (scope is not None and scope.site.call)
        what = "expected " + " or ".join(expected) if expected else "no more text"
        error = ParseError(what, failed, expected=expected)
        if self._stream is not None:
            self.stream(text, base, failed - base, good)
            self._hand_out_refused(text, base)
            self._break_off(failed, error)
            self.released = max(self.released, failed)
            start = failed
        elif self._call is not None and self._call_opened:
            self.events.append(RegionMalformed("tool_call", failed, failed, error))
        self._call = None
        self._leave(scope)
        self.incomplete = self.incomplete or at_end
        self._refuse(error)
        start = self._with_outer_markers(scope, max(start, self.released))
        self._recovery = Recovery("tool_call" if call else "content", start, error)

    def _with_outer_markers(self, scope: Scope | None, start: int) -> int:
        """Where recovered text starts: with the markers of the outer committed rules that have released nothing."""
        outer = scope.parent if scope is not None else None
        while outer is not None:
            if outer.committed and outer.start >= self.released:
                start = min(start, outer.start)
            outer = outer.parent
        return start

    def _leave(self, scope: Scope | None) -> None:
        """Drop the frames inside ``scope``, and its own: the machine goes on behind it."""
        if scope is None:
            self._frames.clear()
            return
        while self._frames:
            frame = self._frames.pop()
            if frame.scope is scope.identity:
                return

    def _give_up(self, text: str, base: int, upto: int) -> None:
        recovery = self._recovery
        assert recovery is not None
        start = max(self.released, recovery.start)
        if upto <= start:
            return
        piece = text[start - base : upto - base]
        shown = piece[max(0, self.prompt_end - start) :]
        if not self._hide and shown:
            if not recovery.opened:
                recovery.opened = True
                at = max(recovery.start, self.prompt_end)
                self.events.append(RegionOpen("content", at, at, _NOTHING))
            self._text.setdefault("content", []).append(shown)
            self.events.append(RegionChunk("content", shown, True))
        recovery.parts.append(piece)
        self.released = upto

    def _recovered(self, pos: int, text: str, base: int) -> None:
        self._give_up(text, base, pos)
        recovery = self._recovery
        assert recovery is not None
        self._recovery = None
        raw = "".join(recovery.parts)
        if not raw:
            return
        shown = raw[max(0, self.prompt_end - recovery.start) :]
        if not self._hide and shown:
            self.events.append(RegionClose("content", pos, pos, shown))
        self._malformed.append(Malformed(recovery.label, recovery.start, pos, raw, recovery.error))
        self._refuse(recovery.error)

    # -- the result --------------------------------------------------------------------------------------------------

    def end(self, pos: int) -> None:
        """The input is over at ``pos``: a region still open closes there."""
        if self._region is not None:
            self._end_region(pos)

    def message(self, complete: bool) -> Message:
        """What has been read so far."""
        begun = self._begun()
        fields = {label: "".join(parts) for label, parts in self._text.items()}
        return Message(
            fields.pop("content", None),
            fields.pop("reasoning", None),
            (*self._calls, begun) if begun is not None else tuple(self._calls),
            fields,
            tuple(self._malformed),
            tuple(self._dropped),
            complete and not self.incomplete,
        )

    @property
    def growing(self) -> tuple[str] | None:
        """The label of the text region that is open and has been announced; None if none is, or the prompt is not over."""
        region = self._region
        if region is None or not region.opened or region.closed_at >= 0 or self._recovery is not None:
            return None
        return (region.label,) if self.released >= self.prompt_end else None

    def grown(self, pieces: list[str]) -> None:
        """More text of the open region, which has been handed on already."""
        region = self._region
        if region is None or not pieces:
            return
        region.parts += pieces
        self._text[region.label] += pieces
        self.released += sum(map(len, pieces))

    @property
    def quiet(self) -> bool:
        """Whether no call is open: what has been released is needed no more."""
        return self._call is None
