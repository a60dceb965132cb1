"""Holds back what may be a run of stop strings at the very end of the input.

Cut is the longest end of the input that is stop strings in a row; held, the longest that more text could make into one.
"""

from __future__ import annotations


class StopStrings:
    """The ``%stop`` strings of a format, prepared: ``beginnings`` are those of each, itself not among them."""

    __slots__ = ("beginnings", "firsts", "longest", "strings")

    def __init__(self, strings: tuple[str, ...]) -> None:
        self.strings = strings
        self.beginnings = frozenset(string[:size] for string in strings for size in range(len(string)))
        self.firsts = frozenset(string[0] for string in strings)
        self.longest = max(map(len, strings), default=0)

    def held_from(self, text: str) -> int:
        """Where the longest end of ``text`` starts that is stop strings in a row and the beginning of one."""
        earliest = size = len(text)
        near = range(max(0, size - self.longest + 1), size)
        starts = [size, *(at for at in near if text[at] in self.firsts and text[at:] in self.beginnings)]
        seen = set(starts)
        while starts:
            start = starts.pop()
            earliest = min(earliest, start)
            before = {start - len(string) for string in self.strings if text.endswith(string, 0, start)} - seen
            seen |= before
            starts += before
        return earliest


class Stops:
    """The end of the input so far that may be a run of stop strings.

    >>> stops = Stops(StopStrings(("<|im_end|>",)))
    >>> stops.pass_on("Hi<|im"), stops.pass_on("_end|>"), stops.held, stops.rest()
    ('Hi', '', '<|im_end|>', '')
    """

    __slots__ = ("_held", "_known", "_open", "_size", "_start")

    def __init__(self, known: StopStrings) -> None:
        self._known = known
        self._held: list[str] = []
        self._start = 0  # Of what is held, and how much text there is in all.
        self._size = 0
        # How the held text can be read, stop strings in a row and the beginning of one: that, and where it starts first.
        self._open: dict[str, int] = {}

    @property
    def held(self) -> str:
        """What is held back."""
        return "".join(self._held)

    def pass_on(self, chunk: str) -> str:
        """``chunk`` and what was held before it, less what is held now."""
        first = 0
        if not self._open:
            if self._known.firsts.isdisjoint(chunk[-self._known.longest :]):
                return chunk
            first = self._known.held_from(chunk)
            self._held = []
        for character in chunk[first:]:
            self._read(character)
        self._held.append(chunk[first:])
        start = min(self._open.values(), default=self._size)
        passed = chunk[:first]
        if start > self._start:  # As often as there are beginnings at most, then all of it is gone.
            held = self.held
            passed += held[: start - self._start]
            self._held = [held[start - self._start :]]
            self._start = start
        return passed

    def _read(self, character: str) -> None:
        """One more character of the held text."""
        known, grown = self._known, dict[str, int]()
        for begun, start in [*self._open.items(), ("", self._size)]:
            text = begun + character
            if text in known.beginnings:
                grown[text] = min(start, grown.get(text, start))
            if text in known.strings:
                grown[""] = min(start, grown.get("", start))
        self._open = grown
        self._size += 1

    def rest(self) -> str:
        """At the end of the input: what was held and is no stop string. Complete ones are left out."""
        return self.held[: self._open.get("", self._size) - self._start]
