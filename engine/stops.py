"""Holds back what may be a run of stop strings at the very end of the input."""

from __future__ import annotations

import re


class StopStrings:
    """The ``%stop`` strings of a format, prepared."""

    __slots__ = ("firsts", "longest", "runs", "strings")

    def __init__(self, strings: tuple[str, ...]) -> None:
        self.strings = tuple(sorted(strings, key=len, reverse=True))
        self.firsts = frozenset(string[0] for string in strings)
        self.longest = max(map(len, strings), default=0)
        self.runs = re.compile("(?:" + "|".join(map(re.escape, self.strings)) + ")*+") if strings else None


class Stops:
    """The end of the input so far that may be a run of stop strings.

    >>> stops = Stops(StopStrings(("<|im_end|>",)))
    >>> stops.pass_on("Hi<|im"), stops.pass_on("_end|>"), stops.held, stops.rest()
    ('Hi', '', '<|im_end|>', '')
    """

    __slots__ = ("_known", "_partial", "_run")

    def __init__(self, known: StopStrings) -> None:
        self._known = known
        self._run: list[str] = []
        self._partial = ""

    @property
    def held(self) -> str:
        """What is held back."""
        return "".join(self._run) + self._partial

    def pass_on(self, chunk: str) -> str:
        """``chunk`` and what was held before it, less what is held now."""
        if self._known.runs is None:
            return chunk
        if not self._run and not self._partial and self._known.firsts.isdisjoint(chunk[-self._known.longest :]):
            return chunk
        text = self._partial + chunk
        if self._run:
            going = self._known.runs.match(text)
            end = going.end() if going else 0
            if self._may_begin(text[end:]):
                self._run.append(text[:end])
                self._partial = text[end:]
                return ""
            passed = "".join(self._run)
            self._run = []
        else:
            passed = ""
        start = self._held_from(text)
        going = self._known.runs.match(text, start)
        end = going.end() if going else start
        self._run = [text[start:end]] if end > start else []
        self._partial = text[end:]
        return passed + text[:start]

    def rest(self) -> str:
        """At the end of the input: what was held and is no stop string. Complete ones are left out."""
        return "" if self._partial == "" else self.held

    def _may_begin(self, text: str) -> bool:
        return any(string.startswith(text) for string in self._known.strings)

    def _ends_in(self, text: str, start: int) -> bool:
        """Whether a complete stop string that ends ``text`` began before ``start``: the longer one counts."""
        return any(text.endswith(string) and len(text) - len(string) < start for string in self._known.strings)

    def _held_from(self, text: str) -> int:
        """Where the run of stop strings, and the beginning of one, that ends ``text`` begins."""
        partial = len(text)
        for start in range(max(0, len(text) - self._known.longest + 1), len(text)):
            if text[start] in self._known.firsts and self._may_begin(text[start:]) and not self._ends_in(text, start):
                partial = start
                break
        while True:
            before = next((s for s in self._known.strings if text.endswith(s, 0, partial)), "")
            if not before:
                return partial
            partial -= len(before)
