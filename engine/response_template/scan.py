"""The one operation of a template's machine: where is the next of a set of delimiters, and is that settled?

Leftmost, then longest, then openers before closers, then by the field's name. It is settled when no delimiter that
begins at or before it looked at the edge of the text so far, where more may come: the edge is found with a pattern that
never matches, `(?>P)(?!)`, which the regex module reports as partial where P itself had to stop. Since that is slow on
long texts it runs on the last part alone, where `Positions` say that something may be open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import regex

from .leads import Lead, lead_of
from .patterns import Node, Unreadable, looks_behind, open_ended, plain, reach, read_pattern
from .positions import Positions, State

Match: TypeAlias = "regex.Match[str]"


@dataclass(frozen=True, slots=True, eq=False)
class Delimiter:
    """A pattern that opens or closes a region. ``literals`` is None for a regular expression.

    ``node`` is None if the pattern has a form that is not read here: such a delimiter is settled at the end of the input.
    """

    source: str
    pattern: regex.Pattern[str]
    literals: tuple[str, ...] | None
    node: Node | None
    edge: regex.Pattern[str] | None
    lead: Lead | None

    def search(self, text: str, low: int) -> Match | None:
        """The first match from ``low`` on."""
        return self.pattern.search(text, low) if self.lead is None else self.lead.search(self.pattern, text, low)

    @property
    def groups(self) -> frozenset[str]:
        """The names of its groups."""
        return frozenset(self.pattern.groupindex)

    @property
    def looks_behind(self) -> bool:
        return self.node is None or looks_behind(self.node)

    @property
    def holds_back(self) -> int | None:
        """How many characters at most are held back for it; None if there is no bound."""
        length = None if self.node is None else reach(self.node)
        return None if length is None else max(0, length - 1)


def literal_delimiter(literals: tuple[str, ...]) -> Delimiter:
    """Any of ``literals``, the longest first."""
    source = "|".join(map(regex.escape, sorted(dict.fromkeys(literals), key=len, reverse=True)))
    return Delimiter(source, regex.compile(source, regex.DOTALL), literals, read_pattern(source), None, None)


def pattern_delimiter(source: str) -> Delimiter:
    """A regular expression; raises `regex.error` for a bad one."""
    pattern = regex.compile(source, regex.DOTALL)
    try:
        node = read_pattern(source)
        edge = regex.compile(f"(?>{open_ended(source, node)})(?!)", regex.DOTALL)
    except (Unreadable, regex.error):
        return Delimiter(source, pattern, None, None, None, None)
    return Delimiter(source, pattern, None, node, edge, lead_of(node))


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A delimiter that is looked for, of which field, and whether it opens the field."""

    delimiter: Delimiter
    field: str
    opens: bool


class Watch:
    """A set of delimiters to look for together. Immutable, but for what `Positions` remember.

    ``quiet(chunk)`` is None when no delimiter can begin in the chunk; ``calm(chunk)`` is true only then, and asks for a
    few characters alone, which costs least. ``start`` follows a text character by character
    where that tells all there is to know until a delimiter may have ended; None if it does not. ``alive(text, low)`` is the
    first place from ``low`` on where a delimiter may be open: no later one than `edge`, and cheaper.
    """

    __slots__ = ("_edges", "_undecided", "alive", "calm", "quiet", "start", "watched")

    def __init__(self, watched: tuple[Watched, ...]) -> None:
        self.watched = tuple(sorted(watched, key=lambda one: (not one.opens, one.field)))
        delimiters = [one.delimiter for one in self.watched]
        self._undecided = any(delimiter.node is None for delimiter in delimiters)
        positions = Positions()
        for delimiter in delimiters:
            if delimiter.node is not None:
                positions.add(delimiter.node)
        exact = all(delimiter.literals is not None for delimiter in delimiters)
        self._edges = () if exact else tuple(map(_edge_of, delimiters))
        starts = None
        if not any(delimiter.looks_behind for delimiter in delimiters):
            starts = positions.starts()
        self.alive = positions.alive
        self.quiet: Callable[[str], object] = _never_quiet if starts is None else starts.search
        followed = starts is not None and all(one.node is not None and plain(one.node) for one in delimiters)
        firsts = None if starts is None else positions.first_characters()
        self.calm: Callable[[str], bool] = never_calm if firsts is None else firsts.isdisjoint
        self.start: State | None = positions.start() if followed else None

    def next(self, text: str, low: int, known: dict[int, Match | None]) -> tuple[Watched, Match] | None:
        """The next delimiter from ``low`` on if ``text`` is all there is.

        ``known`` is the caller's note of matches in this very text; a search is not repeated.
        """
        best: tuple[Watched, Match] | None = None
        start = end = 0
        for one in self.watched:
            delimiter = one.delimiter
            key = id(delimiter)
            match = known.get(key, _UNKNOWN)
            if match is _UNKNOWN or (match is not None and match.start() < low):
                match = known[key] = delimiter.search(text, low)
            if match is None:
                continue
            its_start, its_end = match.span()
            if best is None or its_start < start or (its_start == start and its_end > end):
                best, start, end = (one, match), its_start, its_end
        return best

    def edge(self, text: str, low: int) -> int:
        """The first place from ``low`` on where more text could make, unmake or change a delimiter."""
        if self._undecided:
            return low
        alive = self.alive(text, low)
        if not self._edges or alive == len(text):
            return alive
        return min(edge(text, alive) for edge in self._edges)


_UNKNOWN: Match | None = regex.compile("").match("")


def _never_quiet(_: str) -> object:
    return True


def never_calm(_: str) -> bool:
    """Of what is looked for where no single characters tell.

    >>> never_calm("")
    False
    """
    return False


def _edge_of(delimiter: Delimiter) -> Callable[[str, int], int]:
    edge = delimiter.edge or regex.compile(f"(?>{delimiter.source})(?!)", regex.DOTALL)

    def find(text: str, low: int) -> int:
        match = edge.search(text, low, partial=True)
        return len(text) if match is None else match.start()

    return find


def watches(
    openers: Mapping[str, Delimiter], closers: Mapping[str, Delimiter], implicit: str | None
) -> tuple[Watch, dict[str, Watch]]:
    """What is looked for outside all regions that were opened, and inside each field that has a closer."""
    outside = [Watched(delimiter, name, opens=True) for name, delimiter in openers.items()]
    if implicit is not None and implicit in closers:
        outside.append(Watched(closers[implicit], implicit, opens=False))
    inside = {name: Watch((Watched(delimiter, name, opens=False),)) for name, delimiter in closers.items()}
    return Watch(tuple(outside)), inside
