"""Finite automata over code points: regular languages that can be combined, compared and counted.

An `Automaton` is deterministic, minimal and numbered breadth-first, so two values are equal exactly when
their languages are: they can be dictionary keys. Every operation is an exploration (`explore`) of states of
its own kind, bounded by a limit; a language that needs more raises `TooLarge`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from ..charset import LAST, Ranges, intersection
from ..errors import ChatpegError
from .charset import ANY

#: A minimal automaton of more states than this would make a grammar that backends load and sample slowly.
MOST_STATES = 3000

State = TypeVar("State", bound=Hashable)
Edge = tuple[int, int, State]


class TooLarge(ChatpegError):
    """A regular language whose automaton needs more states than a grammar should have."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A regular language. State 0 is the start; ``edges[state]`` holds sorted, disjoint ``(low, high, target)``.

    Each state but the start can reach an accepting one: a character without edge is refused for good.

    >>> a = text("ab") | text("ac")
    >>> a.matches("ac"), a.matches("a"), (a & text("ab")) == text("ab"), (a - a).is_empty()
    (True, False, True, True)
    """

    edges: tuple[tuple[tuple[int, int, int], ...], ...]
    accepting: frozenset[int]
    # A key in many tables: hashed once, as its edges may be thousands.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.edges, self.accepting)))

    def __hash__(self) -> int:
        return self._hash

    def matches(self, value: str) -> bool:
        """Whether the language holds this text."""
        state = 0
        for character in value:
            state = self.step(state, ord(character))
            if state < 0:
                return False
        return state in self.accepting

    def step(self, state: int, point: int) -> int:
        """The state behind this code point, -1 if it is refused."""
        edges = self.edges[state]
        at = bisect_right(edges, (point, LAST + 1, 0)) - 1
        return edges[at][2] if at >= 0 and point <= edges[at][1] else -1

    def is_empty(self) -> bool:
        """Whether the language holds no text at all."""
        return not self.accepting

    def accepts_empty(self) -> bool:
        """Whether the language holds the empty text."""
        return 0 in self.accepting

    def __and__(self, other: Automaton) -> Automaton:
        return _product(self, other, lambda left, right: left and right)

    def __or__(self, other: Automaton) -> Automaton:
        return _product(self, other, lambda left, right: left or right)

    def __sub__(self, other: Automaton) -> Automaton:
        return _product(self, other, lambda left, right: left and not right)

    def complement(self) -> Automaton:
        """Every text that this language does not hold."""
        return anything() - self


def nothing() -> Automaton:
    """The language without texts."""
    return Automaton(((),), frozenset())


@lru_cache(maxsize=1)
def anything() -> Automaton:
    """Every text.

    >>> anything().matches("") and anything().matches("x y")
    True
    """
    return Automaton((tuple((low, high, 0) for low, high in ANY),), frozenset({0}))


def text(value: str) -> Automaton:
    """The language of this one text."""
    edges = [((ord(c), ord(c), i + 1),) for i, c in enumerate(value)]
    return Automaton((*edges, ()), frozenset({len(value)}))


def texts(values: Iterable[str]) -> Automaton:
    """The language of these texts.

    >>> texts(["no", "none"]).matches("none")
    True
    """
    words = sorted(set(values))
    return explore(
        tuple(words),
        _heads,
        lambda rest: "" in rest,
    )


def _heads(words: tuple[str, ...]) -> Iterable[Edge[tuple[str, ...]]]:
    tails: dict[str, list[str]] = {}
    for word in words:
        if word:
            tails.setdefault(word[0], []).append(word[1:])
    return [(ord(head), ord(head), tuple(tail)) for head, tail in tails.items()]


@lru_cache(maxsize=256)
def lengths(minimum: int, maximum: int | None) -> Automaton:
    """Texts of ``minimum`` to ``maximum`` characters; ``maximum`` None is unbounded.

    >>> [lengths(1, 2).matches("x" * n) for n in range(4)]
    [False, True, True, False]
    """
    last = minimum if maximum is None else maximum
    if last > MOST_STATES:
        raise TooLarge(f"a length of {last} characters needs more than {MOST_STATES} states")
    edges = [tuple((low, high, n + 1) for low, high in ANY) for n in range(last)]
    tail = tuple((low, high, last) for low, high in ANY) if maximum is None else ()
    return Automaton((*edges, tail), frozenset(range(minimum, last + 1)))


@lru_cache(maxsize=256)
def excluding(delimiter: Automaton) -> Automaton:
    """All texts in which no match of the delimiter language occurs.

    >>> free = excluding(text("</a>"))
    >>> free.matches("x </b> </a"), free.matches("x </a> y")
    (True, False)
    """
    return _free(delimiter, frozenset())


@lru_cache(maxsize=256)
def until(delimiter: Automaton) -> Automaton:
    """Texts that can stand in front of a delimiter: none occurs in them, nor begins in them and ends in what follows.

    >>> excluding(text("\\n--\\n")).matches("x\\n--"), until(text("\\n--\\n")).matches("x\\n--")
    (True, False)
    """
    return _free(delimiter, frozenset(q for q in range(len(delimiter.edges)) if _compatible(delimiter, q)))


def _free(delimiter: Automaton, last: frozenset[int]) -> Automaton:
    """Texts without a match of the delimiter, and whose end leaves it in none of the states ``last``."""
    if delimiter.accepts_empty():
        return nothing()

    # A state is the set of delimiter states that suffixes of the text are in; a completed one is never entered.
    def edges(active: frozenset[int]) -> Iterable[Edge[frozenset[int]]]:
        for low, high, targets in sweep([edge for state in active | {0} for edge in delimiter.edges[state]]):
            if not targets & delimiter.accepting:
                yield low, high, targets

    return explore(frozenset[int](), edges, lambda active: not active & last)


def _compatible(delimiter: Automaton, state: int) -> bool:
    """Whether a match that has come to ``state`` can go on over a delimiter that begins there."""
    seen = {(state, 0)}
    stack = [(state, 0)]
    while stack:
        begun, fresh = stack.pop()
        if begun in delimiter.accepting or fresh in delimiter.accepting:
            return True
        pairs = {(a, b) for _, _, a, b in _aligned(delimiter.edges[begun], delimiter.edges[fresh]) if a >= 0 and b >= 0}
        stack += pairs - seen
        seen |= pairs
    return False


def sweep(edges: Sequence[Edge[int]]) -> Iterable[tuple[int, int, frozenset[int]]]:
    """Cut all characters into stretches over which the same edges apply, each with the targets of those."""
    by_cut: dict[int, list[tuple[int, int]]] = {0: [], 0xD800: [], 0xE000: [], LAST + 1: []}
    for low, high, target in edges:
        by_cut.setdefault(low, []).append((1, target))
        by_cut.setdefault(high + 1, []).append((-1, target))
    cuts = sorted(by_cut)
    count: dict[int, int] = {}
    for cut, following in pairwise(cuts):
        for change, target in by_cut[cut]:
            count[target] = count.get(target, 0) + change
        if not 0xD800 <= cut <= 0xDFFF:
            yield cut, following - 1, frozenset(target for target, n in count.items() if n)


def _product(left: Automaton, right: Automaton, keep: Callable[[bool, bool], bool]) -> Automaton:
    def edges(pair: tuple[int, int]) -> Iterable[Edge[tuple[int, int]]]:
        ours = left.edges[pair[0]] if pair[0] >= 0 else ()
        theirs = right.edges[pair[1]] if pair[1] >= 0 else ()
        for low, high, a, b in _aligned(ours, theirs):
            # What can never be kept is not explored: a dead left side of "and", of "minus".
            if keep(a >= 0, b >= 0) or keep(a >= 0, False) or keep(False, b >= 0):
                yield low, high, (a, b)

    def accepts(pair: tuple[int, int]) -> bool:
        return keep(pair[0] in left.accepting, pair[1] in right.accepting)

    return explore((0, 0), edges, accepts)


def _aligned(left: Sequence[Edge[int]], right: Sequence[Edge[int]]) -> Iterable[tuple[int, int, int, int]]:
    """Both sorted edge lists cut at each other's borders; -1 where a side has no edge."""
    i = j = 0
    position = 0
    while i < len(left) or j < len(right):
        a = left[i] if i < len(left) else (LAST + 1, LAST + 1, -1)
        b = right[j] if j < len(right) else (LAST + 1, LAST + 1, -1)
        position = max(position, min(a[0], b[0]))
        in_a, in_b = a[0] <= position, b[0] <= position
        end = min(a[1] if in_a else a[0] - 1, b[1] if in_b else b[0] - 1)
        yield position, end, a[2] if in_a else -1, b[2] if in_b else -1
        position = end + 1
        i += a[1] < position
        j += b[1] < position


def explore(
    start: State,
    edges: Callable[[State], Iterable[Edge[State]]],
    accepts: Callable[[State], bool],
    limit: int = MOST_STATES,
) -> Automaton:
    """The minimal automaton of the states reachable from ``start``; at most four times ``limit`` are looked at."""
    numbers = {start: 0}
    queue = [start]
    table: list[list[Edge[int]]] = []
    for state in queue:
        row = []
        for low, high, target in edges(state):
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
                if len(queue) > 4 * limit:
                    raise TooLarge(f"more than {4 * limit} states")
            row.append((low, high, numbers[target]))
        row.sort()
        table.append(row)
    result = _minimal(table, {numbers[state] for state in queue if accepts(state)})
    if len(result.edges) > limit:
        raise TooLarge(f"{len(result.edges)} states are more than {limit}")
    return result


def _minimal(table: list[list[Edge[int]]], accepting: set[int]) -> Automaton:
    """Hopcroft's partition refinement, then breadth-first numbers from the start."""
    alive = _alive(table, accepting)
    rows = [[edge for edge in row if edge[2] in alive] if state in alive else [] for state, row in enumerate(table)]
    if not accepting:
        return nothing()
    block_of = _refine(len(rows), _columns(rows), accepting)
    return _numbered(rows, accepting, block_of)


def _alive(table: list[list[Edge[int]]], accepting: set[int]) -> set[int]:
    """The states from which an accepting one can be reached."""
    sources: dict[int, list[int]] = {}
    for state, row in enumerate(table):
        for _, _, target in row:
            sources.setdefault(target, []).append(state)
    alive, stack = set(accepting), list(accepting)
    while stack:
        for source in sources.get(stack.pop(), ()):
            if source not in alive:
                alive.add(source)
                stack.append(source)
    return alive


def _columns(rows: list[list[Edge[int]]]) -> list[dict[int, list[int]]]:
    """Per class of characters that all states treat alike: the sources of each target."""
    cuts = sorted({cut for row in rows for low, high, _ in row for cut in (low, high + 1)})
    at = {cut: i for i, cut in enumerate(cuts)}
    columns: list[list[tuple[int, int]]] = [[] for _ in cuts]
    for state, row in enumerate(rows):
        for low, high, target in row:
            for i in range(at[low], at[high + 1]):
                columns[i].append((state, target))
    inverse = []
    for column in {tuple(column) for column in columns if column}:
        sources: dict[int, list[int]] = {}
        for state, target in column:
            sources.setdefault(target, []).append(state)
        inverse.append(sources)
    return inverse


def _refine(count: int, columns: list[dict[int, list[int]]], accepting: set[int]) -> list[int]:
    blocks = [block for block in (set(accepting), set(range(count)) - accepting) if block]
    block_of = [0] * count
    for number, block in enumerate(blocks):
        for state in block:
            block_of[state] = number
    # All blocks at first, not the smaller half alone: refused characters have no column of their own.
    work = set(range(len(blocks)))
    while work:
        splitter = tuple(blocks[work.pop()])
        for sources in columns:
            touched: dict[int, set[int]] = {}
            for target in splitter:
                for source in sources.get(target, ()):
                    touched.setdefault(block_of[source], set()).add(source)
            for number, part in touched.items():
                rest = blocks[number] - part
                if not rest:
                    continue
                # The larger half keeps the number; either way both halves are or become splitters as needed.
                keep, move = (part, rest) if len(part) > len(rest) else (rest, part)
                blocks[number] = keep
                blocks.append(move)
                for state in move:
                    block_of[state] = len(blocks) - 1
                work.add(len(blocks) - 1)
    return block_of


def _numbered(rows: list[list[Edge[int]]], accepting: set[int], block_of: list[int]) -> Automaton:
    numbers = {block_of[0]: 0}
    queue = [0]
    out: list[tuple[tuple[int, int, int], ...]] = []
    for state in queue:
        merged: list[tuple[int, int, int]] = []
        for low, high, target in rows[state]:
            block = block_of[target]
            if block not in numbers:
                numbers[block] = len(numbers)
                queue.append(target)
            if merged and merged[-1][1] + 1 == low and merged[-1][2] == numbers[block]:
                merged[-1] = (merged[-1][0], high, numbers[block])
            else:
                merged.append((low, high, numbers[block]))
        out.append(tuple(merged))
    return Automaton(tuple(out), frozenset(i for i, state in enumerate(queue) if state in accepting))


def any_of(ranges: Ranges) -> Automaton:
    """The language of single characters of the set.

    >>> any_of(((97, 122),)).matches("q")
    True
    """
    kept = intersection(ranges, ANY)
    return Automaton((tuple((low, high, 1) for low, high in kept), ()), frozenset({1})) if kept else nothing()
