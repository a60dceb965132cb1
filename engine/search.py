"""Finds the next place where a delimiter may begin, and what must be held back while more text may come.

Goals: one C-level search per chunk for the delimiter's literals; no character is looked at more than a constant number
of times for any chunking. Plan: search the literals only; a run of blanks that may come before one is found by going
back from the hit. Warning: the run of blanks at the end of the buffer can be long and grow by one character a chunk,
so what is already known of it is kept in ``Found``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Opening:
    """How one alternative of a delimiter begins: at most ``most`` (None: any number) of ``blanks``, then ``literal``."""

    blanks: frozenset[str]
    most: int | None
    literal: str


def _shortest(literals: tuple[str, ...]) -> tuple[str, ...]:
    """Without the literals that begin with another: where they stand, that one stands."""
    return tuple(one for one in literals if not any(one != other and one.startswith(other) for other in literals))


def _anchor(literals: tuple[str, ...]) -> str:
    """A character that is in all of them, no letter nor blank: `str.find` is ten times as fast as a pattern with branches.

    What stands before it in each does not hold it, so the leftmost literal has the leftmost anchor.
    """
    common = [c for c in literals[0] if not c.isspace() and not c.isalnum() and all(c in one for one in literals)]
    return min(common, key=lambda c: max(one.find(c) for one in literals), default="")


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A delimiter's openings, prepared. ``anchor`` is a character of every literal, if there is one.

    >>> search = Search.of([Opening(frozenset("\\n"), None, "</think>")])
    >>> search.candidate("so\\n\\n</think>", 0, True), search.hold("so\\n</th", 0, 0)[0]
    (2, 2)
    """

    literals: tuple[str, ...]
    runs: tuple[tuple[frozenset[str], int | None], ...]
    longest: int
    single: str
    anchor: str
    _behind: tuple[tuple[int, str], ...] = field(repr=False)
    _pattern: re.Pattern[str] | None = field(repr=False)
    _firsts: str
    _held_blanks: frozenset[str]
    _held_most: int | None

    @staticmethod
    def of(openings: list[Opening], *, longest: bool = False) -> Search:
        """``longest``: which literal it is counts, so those that begin with another are told from it."""
        literals = tuple(dict.fromkeys(opening.literal for opening in openings))
        if not longest:
            literals = _shortest(literals)
        runs = tuple(dict.fromkeys((opening.blanks, opening.most) for opening in openings if opening.blanks))
        anchor = _anchor(literals) if len(literals) > 1 else ""
        behind = sorted(((literal.find(anchor), literal) for literal in literals), reverse=True)
        ways = dict.fromkeys(re.escape(literal[at:] if anchor else literal) for at, literal in behind)
        pattern = re.compile("|".join(ways)) if len(literals) > 1 else None
        unbounded = any(most is None for _, most in runs)
        firsts = "".join(dict.fromkeys(literal[0] for literal in literals))
        return Search(
            literals,
            runs,
            max(map(len, literals), default=0),
            literals[0] if len(literals) == 1 else "",
            anchor,
            tuple(behind),
            pattern,
            firsts,
            frozenset().union(*(blanks for blanks, _ in runs)),
            None if unbounded else max((most or 0 for _, most in runs), default=0),
        )

    def and_for(self, literals: tuple[str, ...]) -> Search:
        """The search for other literals too."""
        runs = self.runs or ((frozenset(), 0),)
        own = [Opening(blanks, most, literal) for blanks, most in runs for literal in self.literals]
        return Search.of([*own, *(Opening(frozenset(), 0, literal) for literal in literals)])

    @property
    def firsts(self) -> str:
        """The characters that a literal can begin with."""
        return self._firsts

    @property
    def bounded(self) -> bool:
        """Whether only so many blanks belong to the delimiter."""
        return bool(self.runs) and self._held_most is not None

    @property
    def held_blanks(self) -> frozenset[str]:
        """The blanks that may stand before a literal."""
        return self._held_blanks

    def show(self) -> str:
        return "|".join(map(repr, self.literals)) or "nothing"

    def hit(self, text: str, start: int) -> int:
        """Where a literal first stands at or behind ``start``, or -1."""
        if self.single:
            return text.find(self.single, start)
        if self._pattern is None:
            return -1
        if not self.anchor:
            found = self._pattern.search(text, start)
            return found.start() if found else -1
        place = text.find(self.anchor, start)
        while place >= 0:
            for at, literal in self._behind:
                if place - at >= start and text.startswith(literal, place - at):
                    return place - at
            found = self._pattern.search(text, place + 1)
            if found is None:
                break
            place = found.start()
        return -1

    def candidate(  # noqa: PLR0917 - called for every candidate, where keywords cost
        self, text: str, low: int, fresh: bool, start: int = -1, at_end: bool = False, longest: bool = False
    ) -> int:
        """The first position at or behind ``low`` where the delimiter may begin, or -1.

        ``fresh`` says that the text begins at ``low``; otherwise ``low`` lies behind a candidate that was none, and a
        run of blanks that reaches back across it has been tried. The literals are searched from ``start`` on. A literal
        that is not all there yet hides those that begin behind it and, if it is the ``longest`` that counts, with it.
        """
        hit = self.hit(text, max(low, start))
        if hit < 0:
            return -1
        if not at_end and not self.single and hit > len(text) - self.longest:
            begun = self._begun(text, max(low, start, len(text) - self.longest + 1), len(text))
            if begun < hit or (longest and begun == hit):
                return -1
        if not self.runs or hit == low:
            return hit
        first = hit
        for blanks, most in self.runs:
            begin = hit
            bound = low if most is None else max(low, hit - most)
            while begin > bound and text[begin - 1] in blanks:
                begin -= 1
            cut = (
                begin == low
                and not fresh
                and low > 0
                and (most is None or hit - begin < most)
                and text[low - 1] in blanks
            )
            if begin < first and not cut:
                first = begin
        return first

    def hold(
        self, text: str, low: int, start: int, known: tuple[int, int] = (0, 0)
    ) -> tuple[int, int, tuple[int, int]]:
        """What to hold back at the end of ``text``, in which no literal stands behind ``start``.

        Returns the first position held, where the search for literals goes on, and the run of blanks held.
        """
        size = len(text)
        begun = self._begun(text, max(start, low, size - self.longest + 1), size)
        if not self.runs:
            return begun, begun, known
        begin = begun
        bound = low if self._held_most is None else max(low, begun - self._held_most)
        run_start, run_end = known
        while begin > bound and text[begin - 1] in self._held_blanks:
            begin -= 1
            if begin == run_end and bound <= run_start < run_end:
                begin = run_start
        return begin, begun, (begin, begun)

    def _begun(self, text: str, start: int, size: int) -> int:
        """Where the end of ``text`` begins to spell a literal, or ``size``."""
        if self.single:
            first = self._firsts
            start = text.find(first, start)
            while start >= 0:
                if self.single.startswith(text[start:]):
                    return start
                start = text.find(first, start + 1)
            return size
        for position in range(start, size):
            if text[position] in self._firsts and any(one.startswith(text[position:]) for one in self.literals):
                return position
        return size
