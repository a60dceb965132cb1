"""A call's arguments as JSON text that only grows, for clients that want them while they are written.

Invariant: what `ArgumentStream.grow` has returned so far is a beginning of the arguments text of the finished call.
"""

from __future__ import annotations

import re

from . import values
from .calls import CallReader

_UNSTABLE = re.compile(r"\\u[dD]|[\ud800-\udfff]")


class ArgumentStream:
    """How far the arguments of one call have been handed out. Positions are absolute."""

    __slots__ = ("_in_member", "_members", "_raw", "_stuck", "sent")

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._members = 0
        self._in_member = 0
        self._raw = -1
        self._stuck = False

    def grow(self, call: CallReader, text: str, base: int, upto: int, scanned: tuple[int, int] | None) -> str:
        """What is certain now and was not before. ``scanned``: start and progress of a JSON value being read."""
        if call.arguments is not None:
            return self._add(call.arguments[sum(map(len, self.sent)) :])
        part = call.open_arguments
        if part is None:
            return ""
        if scanned is not None and scanned[0] == part.start:
            return self._add(self._json(text, base, *scanned))
        return self._add(self._finished(part.members) + self._begun(call, len(part.members), text, base, upto))

    def refused(self, call: CallReader, text: str, base: int) -> str:
        """The rest of what was good of arguments that were refused: how much of it went out before is chance."""
        if call.spelled is not None:
            return self._add(self._json(text, base, *call.spelled))
        part = call.open_arguments
        return self._add(self._finished(part.members)) if part is not None else ""

    def _add(self, piece: str) -> str:
        if piece:
            self.sent.append(piece)
        return piece

    def _json(self, text: str, base: int, start: int, upto: int) -> str:
        """More of a JSON object, as it stands; an escape that may be half a pair stops it until the object is whole."""
        if self._stuck:
            return ""
        first = max(self._raw, start)
        piece = text[first - base : upto - base]
        unstable = _UNSTABLE.search(piece)
        if unstable:
            self._stuck = True
            piece = piece[: unstable.start()]
        elif "\\" in piece[-6:]:
            piece = piece[: piece.rfind("\\")]
        self._raw = first + len(piece)
        return piece

    def _finished(self, members: list[str]) -> str:
        pieces: list[str] = []
        while self._members < len(members):
            lead = "" if self._in_member else "{" if self._members == 0 else ", "
            pieces.append(lead + members[self._members][self._in_member :])
            self._members += 1
            self._in_member, self._raw = 0, -1
        return "".join(pieces)

    def _begun(self, call: CallReader, members: int, text: str, base: int, upto: int) -> str:
        """More of the string parameter that is being written, inside its quotes."""
        begun = call.begun_string
        if begun is None:
            return ""
        key, start = begun
        pieces: list[str] = []
        if not self._in_member:
            opening = f'{values.quoted(key)}: "'
            pieces.append(("{" if members == 0 else ", ") + opening)
            self._in_member, self._raw = len(opening), start
        raw = text[self._raw - base : upto - base]
        if raw and not _UNSTABLE.search(raw):
            escaped = values.quoted(raw)[1:-1]
            pieces.append(escaped)
            self._in_member += len(escaped)
            self._raw += len(raw)
        return "".join(pieces)
