"""Names and captures: what the machine matches by the request's tools, or by what it has captured itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .program import LOG_CLOSE, LOG_FRAME, LOG_FRAME_END, LOG_OPEN, LOG_RECOVERED, LOG_SPAN
from .state import LogEntry, State

_ENDS = frozenset((LOG_FRAME_END, LOG_RECOVERED))
_SHAPED = re.compile(r"[^\s\"'<>]{1,128}+")


def _outward(log: list[LogEntry]) -> Iterator[tuple[int, LogEntry]]:
    """The entries from the last one back, those of rule instances that are over left out but for where they ended."""
    index = len(log) - 1
    while index >= 0:
        entry = log[index]
        yield index, entry
        index = (entry[1] if entry[0] in _ENDS else index) - 1


class Captures(State):
    """A parse that can look names up, and what its own log has captured."""

    def _captured(self, log: list[LogEntry], text: str, pos: int) -> str:
        """The text of the label that ends at ``pos``, decoded."""
        depth = 0
        for kind, what, start in reversed(log):
            if kind == LOG_CLOSE:
                depth += 1
            elif kind == LOG_OPEN:
                if depth == 0:
                    captured: str = self.names.decode(what[1], text[start:pos])
                    return captured
                depth -= 1
        raise AssertionError("a label ends that did not begin")

    def _last(self, log: list[LogEntry], text: str, label: str) -> str:
        """The text that ``label`` captured last in this rule instance: captures of deeper instances are closed."""
        end = -1
        for _, (kind, what, pos) in _outward(log):
            if kind == LOG_FRAME:
                break
            if kind == LOG_SPAN and what[0] == label and end < 0:
                return text[what[2] : pos]
            if kind == LOG_CLOSE and what == label and end < 0:
                end = pos
            elif kind == LOG_OPEN and what[0] == label and end >= 0:
                return text[pos:end]
        return ""

    def _begun(self, log: list[LogEntry]) -> int:
        """Where in the log the innermost rule instance that is open began."""
        return next(index for index, (kind, _, _) in _outward(log) if kind == LOG_FRAME)

    def _given_up(self, log: list[LogEntry]) -> int:
        """Where in the log the rule instance began that is being given up, which its last entry says."""
        (scope, *_) = log[len(log) - 1][1]
        if scope is None:
            return 0
        began = (i for i, (kind, what, _) in _outward(log) if kind == LOG_FRAME and what is scope.identity)
        return next(began, 0)

    def _name(self, slot: int, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of the tool name at ``pos``; -1: there is none; -2: more text must come first."""
        offered, shape, growing, _ = self.names.slots[slot]
        found = shape.match(text, pos)
        end = found.end() if found else pos
        if end == size and not at_end and end - pos < 128:
            return -2
        if offered is not None:
            if growing is not None and not at_end:
                partial = growing.match(text, pos, partial=True)
                if partial is not None and partial.partial:
                    return -2
            match = offered.match(text, pos)
            if match:
                return match.end()
            if self.program.names[slot].offered_only:
                return -1
        return end if end > pos else -1

    def _property(self, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of an offered property's name at ``pos``, the longest; -1: none; -2: more text must come first."""
        known = None if self.names.properties is None else self.names.properties.get(self.tool)
        if known is None:
            return self._shaped(text, pos, size, at_end)
        for name in known:
            if text.startswith(name, pos):
                return pos + len(name)
            if size - pos < len(name) and not at_end and name.startswith(text[pos:]):
                return -2
        return -1

    def _shaped(self, text: str, pos: int, size: int, at_end: bool) -> int:
        match = _SHAPED.match(text, pos)
        end = match.end() if match else pos
        if end == size and not at_end and end - pos < 128:
            return -2
        return end if end > pos else -1
