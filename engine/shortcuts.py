"""What the machine reads at once: whole labels, and the chains of a program."""

from __future__ import annotations

from typing import Any, NamedTuple

from .captures import Captures
from .jsonscan import whole_value
from .program import (
    BY_JSON,
    BY_NAME,
    BY_UNTIL,
    BY_VALUE,
    CHOICE,
    CLOSE,
    COMMIT,
    ENTER,
    EXIT,
    OPEN,
    SCAN,
    TAKE,
    TEST,
    Instruction,
    Link,
)
from .state import Scope

Noted = tuple[Link, list[tuple[int, int]], int, list[object]]
"""A link that was read: the spans its steps gave, how a value was taken, and the identities of the scopes it entered."""


class Read(NamedTuple):
    """What a chain read: its links, where they end, and the tool and the key at hand behind them."""

    noted: list[Noted]
    end: int
    tool: str
    key: str


class Shortcuts(Captures):
    """A parse that can take more than one instruction at a time."""

    # -- chains ------------------------------------------------------------------------------------------------------

    def _along(self, links: tuple[Link, ...], text: str, pos: int, at_end: bool) -> Read | None:
        """What the links of a chain read from ``pos`` on; None if that is not what stands there."""
        names, tool, key = self.names, self.tool, self.key
        noted: list[Noted] = []
        for link in links:
            literal, steps, _, _ = link
            while not literal or text.startswith(literal, pos):
                spans, taken = [(pos, pos)], BY_VALUE
                for how, what, more in steps:
                    if how == SCAN:
                        found = what(text, pos)
                        if found is None:
                            return None
                        spans += found.regs
                        pos = found.end()
                        for group, slot, dialect in more:
                            name = found[group]
                            if name is None:  # Its alternative is not the one that was read.
                                continue
                            decoded = name if dialect == "raw" else names.decode(dialect, name)
                            if slot < 0:
                                key = decoded
                                continue
                            whole = names.slots[slot].whole
                            if whole is not None and name not in whole:
                                return None
                            tool = decoded
                        continue
                    start = pos
                    if how == BY_JSON:
                        pos = whole_value(text, pos) if text.startswith("{", pos) else -1
                    elif how == BY_VALUE and not names.only_text(tool, key):
                        pos = whole_value(text, pos) if pos < len(text) else -1
                        taken = BY_JSON
                    else:
                        pos = what.candidate(text, pos, True, pos, at_end)
                        if pos < 0 and at_end and how == BY_UNTIL:
                            pos = len(text)
                        elif pos >= 0 and more is not None and more(text, pos) is None:
                            return None
                    if pos < 0:
                        return None
                    spans.append((start, pos))
                noted.append((link, spans, taken, []))
                if not literal:
                    break
            if literal and len(text) - pos < len(literal) and literal.startswith(text[pos:]):
                return None  # Whether it goes round once more is not settled, or the text ends in its literal.
        return Read(noted, pos, tool, key)

    def _note(self, read: Read, pos: int, calls: Any, scopes: Scope | None, barrier: int) -> Scope | None:
        """Do what the instructions of a chain from ``pos`` do besides reading; the scopes behind it."""
        choices = self.choices
        noted, _, self.tool, self.key = read
        for (_, _, state, _), spans, _, entered in noted:
            for what, value, span in state:
                if what == COMMIT:
                    del choices[barrier:]
                    if scopes is not None and scopes.site is value and not barrier:
                        scopes = scopes.changed(True, scopes.call, not choices)
                elif what == TAKE:
                    self.text_end = spans[span][1] + self.base
                elif what == CLOSE:
                    self.text_end = spans[span][0] + self.base
                elif what == ENTER:
                    scopes = self._enter(value, spans[span][0], calls, scopes, barrier)
                    entered.append(scopes.identity)
                elif what == EXIT:
                    scopes = self._exit(scopes, barrier)
                elif what == OPEN:
                    if scopes is not None:
                        scopes = scopes.changed(scopes.committed, True, not choices)
                elif what == TEST:
                    if barrier == 0:
                        self._missed(spans[span][0], value)
                elif what == CHOICE:
                    choices.append((value, pos, len(self.log), calls, scopes, barrier))
                elif choices and choices[-1][0] == value and choices[-1][3] is calls:
                    choices.pop()
        return scopes

    # -- labels ------------------------------------------------------------------------------------------------------

    def _take(self, instruction: Instruction, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of a label's text if all of it, and what decides its end, is there; else -1. Fails as little as it can tell."""
        _, _, dialect, how, what, then, _ = instruction
        self.taken = how
        end: int
        if how == BY_NAME:
            end = self._name(what, text, pos, size, at_end)
            if end > 0:
                self.tool = self.names.decode(dialect, text[pos:end])
            return end
        if how == BY_JSON:
            return whole_value(text, pos) if text.startswith("{", pos) else -1
        search = what
        if how == BY_VALUE and not self.names.only_text(self.tool, self.key):
            end = whole_value(text, pos) if pos < size else -1
            self.taken = BY_JSON
            return end if end >= 0 and self._follows(then, text, end, size, at_end) else -1
        end = search.candidate(text, pos, True, pos, at_end)
        if end < 0 and at_end and how == BY_UNTIL:
            return size
        if end < 0 or (then is not None and not self._follows(then, text, end, size, at_end)):
            return -1
        return end

    @staticmethod
    def _follows(then: Any, text: str, end: int, size: int, at_end: bool) -> bool:
        return (at_end or end + then[1] <= size) and then[0](text, end) is not None
