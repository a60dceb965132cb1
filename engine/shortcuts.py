"""What the machine reads at once: whole labels."""

from __future__ import annotations

from typing import Any

from .captures import Captures
from .jsonscan import whole_value
from .program import BY_JSON, BY_NAME, BY_UNTIL, BY_VALUE, Instruction


class Shortcuts(Captures):
    """A parse that can read a whole label at once."""

    def _take(self, instruction: Instruction, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of a label's text if all of it, and what decides its end, is there; else -1. ``taken`` says how it was read.

        What a chain does for a label (chain_run.py) is the same.
        """
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
        if how == BY_VALUE and not self.names.only_text[self.tool, self.key]:
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
