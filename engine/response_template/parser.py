"""The streaming parser of a template: text in, region events and a message out.

The machine is small: it is inside one region or outside of all, and knows what it looks for there. Its one operation is
the scan of `Watch`; everything else is decided by what that finds. So a split of the text changes only where a region's
chunks are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from .coerce import coerce_calls, properties_of
from .constrained import Constrained, Content
from .errors import Finished, MissingFields, MissingPrefix, WrongValue
from .loading import load_response_template
from .positions import State
from .scan import Delimiter, Match, Watch, Watched, never_calm
from .template import Field, ResponseTemplate

Event = dict[str, Any]
Template = Mapping[str, Any] | str | Path | ResponseTemplate
# Up to so many characters a chunk is followed by states if nothing is held, and what is held back is looked at again.
_FOLLOWED = 64
_SHORT = 8
_NO_PREFIX = (
    "prefix is None: it must be the prompt that was sent to the model, because chat templates often write the beginning "
    'of the reply themselves (such as an opening "<think>"); if the text is the whole reply, pass prefix=""'
)


def parse_response(
    text: str,
    response_template: Template,
    *,
    prefix: str | None = None,
    tools: Sequence[Any] | None = None,
    constrained: bool = False,
) -> dict[str, Any]:
    """The message of a whole reply. Raises what the first region that could not be read raised.

    The options are those of `ResponseParser`.

    >>> parse_response("Hi", {"start_anchor": "<bot>", "fields": {"content": {}}}, prefix="<bot>")
    {'content': 'Hi'}
    """
    parser = ResponseParser(response_template, prefix, tools=tools, constrained=constrained)
    parser.feed(text)
    try:
        message, _ = parser.finalize()
    except MissingFields:
        if parser.malformed:
            raise next(iter(parser.malformed.values())) from None
        raise
    if parser.malformed:
        raise next(iter(parser.malformed.values()))
    return message


class ResponseParser:
    """Parses one reply as it arrives. Events are new dicts; nothing done to one reaches the parser.

    ``region_open`` and ``region_close`` or ``region_malformed`` frame each region, ``start`` and ``end`` being the span
    of the delimiter in `input_text`; ``region_chunk`` has more of its text, ``dirty`` unless that is part of the value.

    ``tools``: schemas or functions, by which the arguments of calls are cast. ``constrained``: a grammar held the sampler
    to well-formed calls, so that a closer inside one of their JSON values or opening tags is content (see `constrained`).

    >>> parser = ResponseParser({"start_anchor": "<bot>", "fields": {"content": {}}}, prefix="")
    >>> [event["type"] for event in parser.feed("Hi")]
    ['region_open', 'region_chunk']
    >>> parser.finalize()[0]
    {'content': 'Hi'}
    """

    def __init__(
        self,
        response_template: Template,
        prefix: str | None = None,
        *,
        tools: Sequence[Any] | None = None,
        constrained: bool = False,
    ) -> None:
        self.template = template = load_response_template(response_template)
        if prefix is None:
            raise MissingPrefix(_NO_PREFIX)
        self.malformed: dict[str, Exception] = {}
        self.initial_events: list[Event] = []
        self.last_events: list[Event] = []
        self._tools = properties_of(tools)
        self._constrained = Constrained(tools) if constrained else None
        self._output = template.defaults()
        self._pieces: list[str] = []
        self._prefix_end = 0
        # The window is the text that is not released (all of it where a delimiter looks behind), ``_base`` its offset.
        self._keeps = template.looks_behind
        self._window = ""
        self._base = 0
        self._pos = 0
        self._empty_at = -1
        self._looked_at = 0
        self._over = False
        self._finalized = False
        self._field: Field | None
        self._watch: Watch | None
        self._content: Content | None
        self._quiet: Callable[[str], object]
        self._calm: Callable[[str], bool]
        self._start: State | None
        self._state: State | None
        self._outside()
        if prefix:
            self._feed_prefix(template.behind_anchor(prefix))

    def _feed_prefix(self, text: str) -> None:
        if text:
            self.initial_events = self.feed(text)
            self._prefix_end = len(text)

    @property
    def input_text(self) -> str:
        """All of the input: the prefix behind its start anchor, then what was fed."""
        return "".join(self._pieces)

    def feed(self, text: str) -> list[Event]:
        """Take the next piece of the reply; returns what it settles. Never raises for what a model wrote."""
        held, state = self._window, self._state
        if held or not text or not self._calm(text):
            if self._finalized:
                raise Finished("feed() after finalize(): make a new parser for the next reply")
            if not text:
                return []
            self._pieces.append(text)
            # For a short text it costs less to follow it than to ask whether a delimiter begins in it.
            if held or not ((state is None or len(text) > _SHORT) and self._quiet(text) is None):
                if state is not None:
                    self._state = state = reduce(getitem, text, state) if held or len(text) <= _FOLLOWED else None
                # Only a text that nothing else refers to is extended in place; long regions would cost the square otherwise.
                self._window = ""
                held += text
                if state is None or state.ended:
                    return self._settled(held)
                text = held
                if state is not self._start:
                    open_at = self._open_at(held, state.bits)
                    self._window, text = held[open_at:], held[:open_at]
                    if not text:
                        return []
        else:
            self._pieces.append(text)
        # In this text no delimiter can have begun: it belongs to the field at hand.
        start = self._base
        self._base = start + len(text)
        if self._opened and start >= self._prefix_end:
            self._parts.append(text)
            return [{"type": "region_chunk", "field": self._name, "text": text, "dirty": self._dirty}]
        return self._release(text, start, [])

    def _settled(self, window: str) -> list[Event]:
        """What the machine settles in ``window``, all the text that is not released."""
        events: list[Event] = []
        self._run(window, events, at_end=False)
        self._state = self._state_of(window)
        pos = self._pos
        if self._keeps or not pos:
            self._window = window
        else:
            self._window = window[pos:]
            self._base += pos
            self._pos = 0
        return events

    def _open_at(self, window: str, bits: int) -> int:
        """Where in ``window`` a delimiter may be open. Long ones are looked through only when they have doubled."""
        size = len(window)
        if size > _FOLLOWED and size < self._looked_at:
            return 0
        assert self._watch is not None
        self._looked_at = 2 * size
        return self._watch.alive(window, 0, bits)

    def _state_of(self, window: str) -> State | None:
        """The state after what is held back; None where it is not known."""
        state = self._start
        if state is None:
            return None
        state = reduce(getitem, window[self._pos :], state)
        return None if state.ended else state

    def finalize(self) -> tuple[dict[str, Any], list[Event]]:
        """Say that the reply is over; returns the message and the remaining events.

        Raises `MissingFields` when a field that is not optional is missing.
        """
        if self._finalized:
            raise Finished("finalize() was called before")
        events: list[Event] = []
        self.last_events = events
        self._run(self._window, events, at_end=True)
        self._finalized = True
        self._calm = never_calm
        missing = [
            field.name
            for field in self.template.fields.values()
            if not (field.optional or field.name in self._output or field.name in self.malformed)
        ]
        if missing:
            raise MissingFields(tuple(missing))
        defaults = self.template.spec.get("defaults", {})
        self._output = {key: value for key, value in self._output.items() if key in defaults or not _empty(value)}
        return self._output, events

    # -- the machine -------------------------------------------------------------------------------------------------

    def _run(self, text: str, events: list[Event], at_end: bool) -> None:
        """Go on until more text is needed or, ``at_end``, until all of it is read."""
        size = len(text)
        known: dict[int, Match | None] = {}
        while not self._over:
            watch = self._watch
            low = self._pos + (watch is self.template.outside and self._pos + self._base == self._empty_at)
            found, edge = None, size
            if watch is not None and low < size:
                found = watch.next(text, low, known)
                if not at_end:
                    edge = watch.edge(text, low)
                if self._constrained is not None:
                    while found and found[1].start() < edge and self._is_content(self._constrained, found, text):
                        closer = found[0].delimiter
                        known[id(closer)] = closer.pattern.search(text, found[1].start() + 1)
                        found = watch.next(text, low, known)
            # An empty delimiter where the input ends is none: every region ends there.
            if found is None or found[1].start() >= edge:
                self._release(text[self._pos : edge], self._base + self._pos, events)
                self._pos = edge
                if at_end:
                    self._close(size, size, events)
                return
            start, end = found[1].span()
            if start > self._pos:
                self._release(text[self._pos : start], self._base + self._pos, events)
            self._pos = end
            if found[0].opens:
                self._close(start, start, events)
                self._open(self.template.fields[found[0].field], found[1], events)
            else:
                self._meet_closer(found[0].delimiter, found[1], events)
        self._pos = size

    def _is_content(self, constrained: Constrained, found: tuple[Watched, Match], text: str) -> bool:
        """Whether ``found`` is a closer inside of the content that it would close."""
        if found[0].opens or self._field is None:
            return False
        if self._content is None:
            self._content = constrained.content(self._field, self._captures)
        return self._content.holds(self._parts, text, self._pos, found[1].span())

    def _meet_closer(self, delimiter: Delimiter, match: Match, events: list[Event]) -> None:
        start, end = match.span()
        if start == end and not self._opened:
            # An empty closer of nothing: what it ends is the reply. The rest of the input is in no region.
            self._over = True
            self._field = None
            self._look_for(None)
            return
        if delimiter.pattern.groupindex:
            self._captures |= {key: text for key, text in match.groupdict().items() if text is not None}
        self._close(start, end, events)

    def _outside(self) -> None:
        """Back to where no region was opened: in the implicit field, or nowhere."""
        self._enter(self.template.implicit)
        self._opened = False
        self._look_for(self.template.outside)

    def _look_for(self, watch: Watch | None) -> None:
        self._watch = watch
        self._quiet = _quiet if watch is None else watch.quiet
        self._calm = _calm if watch is None else watch.calm
        self._state = self._start = None if watch is None else watch.start
        if self._keeps:
            # Every text goes through the window.
            self._quiet, self._calm, self._state, self._start = bool, never_calm, None, None
        self._looked_at = 0

    def _enter(self, field: Field | None) -> None:
        self._field = field
        self._name = "" if field is None else field.name
        self._dirty = field is not None and not field.verbatim
        self._content = None
        self._captures: dict[str, str] = {}
        self._parts: list[str] = []

    def _open(self, field: Field, match: Match, events: list[Event]) -> None:
        start, end = match.span()
        if start == end:
            # Opened by nothing and closed by nothing, it would be opened here again and again.
            self._empty_at = start + self._base
        self._enter(field)
        if match.re.groupindex:
            self._captures = {key: text for key, text in match.groupdict().items() if text is not None}
        self._opened = True
        self._look_for(self.template.inside.get(field.name))
        events.append(
            {
                "type": "region_open",
                "field": field.name,
                "start": start + self._base,
                "end": end + self._base,
                "captures": dict(self._captures),
            }
        )

    def _release(self, text: str, start: int, events: list[Event]) -> list[Event]:
        """``text``, which begins at ``start`` of the input, belongs to the field at hand; ``events`` with that."""
        if self._field is None or not text:
            return events
        if not self._opened:
            self._opened = True
            events.append({"type": "region_open", "field": self._name, "start": start, "end": start})
        self._parts.append(text)
        if start < self._prefix_end:
            text = text[self._prefix_end - start :]
        if text:
            events.append({"type": "region_chunk", "field": self._name, "text": text, "dirty": self._dirty})
        return events

    def _close(self, start: int, end: int, events: list[Event]) -> None:
        """End the region at hand, if one is open; ``start`` to ``end`` is its closing delimiter."""
        field = self._field
        if field is not None and self._opened:
            event = {"type": "region_close", "field": field.name, "start": start + self._base, "end": end + self._base}
            try:
                value = self._value(field)
                event["value"] = _copy(value)
                self._keep(field, value)
            except Exception as error:  # noqa: BLE001 - whatever a region's parser raises is that region's fault
                known = WrongValue("nested too deeply") if isinstance(error, RecursionError) else error
                event["type"] = "region_malformed"
                event.pop("value", None)
                event["error"] = known
                self.malformed.setdefault(field.name, known)
            events.append(event)
        self._outside()

    def _value(self, field: Field) -> Any:
        read = None if self._constrained is None else self._constrained.reader(field, self._captures)
        value = field.value("".join(self._parts), self._captures, read)
        if self._tools:
            coerce_calls(value, self._tools, field.json_values)
        if field.join is not None and not isinstance(value, str):
            raise WrongValue(f"field {field.name!r}: join needs strings, not {type(value).__name__}")
        return value

    def _keep(self, field: Field, value: Any) -> None:
        output, name = self._output, field.name
        before = output.get(name)
        if field.join is not None:
            output[name] = value if before is None else before + field.join + value
        elif not field.repeats:
            output[name] = value
        elif name not in output:
            output[name] = [value]
        elif isinstance(before, list):
            before.append(value)
        else:
            raise WrongValue(f"field {name!r} repeats, but its default is no list")


def _quiet(_: str) -> None:
    """Of a region without a closer: nothing can end it but the end of the input."""


def _calm(_: str) -> bool:
    return True


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, list | dict | str) and not value)


def _copy(value: Any) -> Any:
    """A copy of JSON data, of any depth."""
    if not isinstance(value, list | dict):
        return value
    made: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(made, 0, value)]
    while todo:
        into, key, one = todo.pop()
        if isinstance(one, dict):
            copied: Any = dict(one)
            todo.extend((copied, name, part) for name, part in one.items() if isinstance(part, list | dict))
        else:
            copied = list(one)
            todo.extend((copied, at, part) for at, part in enumerate(one) if isinstance(part, list | dict))
        into[key] = copied
    return made[0]
