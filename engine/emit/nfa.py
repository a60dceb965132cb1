"""From a regular expression, written in lowered rules without references, to its automaton.

Thompson's construction, then subsets. `BEGIN` and `END` are anchors: they match no character, only the
start and the end of the whole text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from ..charset import LAST
from .automaton import MOST_STATES, Automaton, TooLarge, explore, sweep
from .charset import ANY
from .rules import EMPTY, Alt, Chars, Expr, Ref, Rep, Seq, Text

# Not code points, so no character can match them.
BEGIN = Chars(((LAST + 1, LAST + 1),))
END = Chars(((LAST + 2, LAST + 2),))
ANYTHING = Rep(Chars(ANY), 0, None)


def compiled(expr: Expr, search: bool = False) -> Automaton:
    """The language of ``expr``; with ``search`` the texts in which it matches somewhere.

    >>> compiled(Rep(Text("ab"), 1, 2)).matches("abab")
    True
    >>> compiled(Seq((BEGIN, Text("a"))), search=True).matches("ab")
    True
    """
    graph = _Graph()
    start, end = graph.state(), graph.state()
    if search:
        # Behind END the closing loop cannot be left, before BEGIN the opening one not entered: `_closure` sees to it.
        middle, behind = graph.state(), graph.state()
        graph.add(ANYTHING, start, middle)
        graph.add(expr, middle, behind)
        graph.add(ANYTHING, behind, end)
    else:
        graph.add(expr, start, end)
    return graph.determinised(start, end)


def concat(*languages: Automaton) -> Automaton:
    """Texts made of one text of each language, in order."""
    graph = _Graph()
    start = at = graph.state()
    for language in languages:
        behind = graph.state()
        graph.embed(language, at, behind)
        at = behind
    return graph.determinised(start, at)


def repeat(language: Automaton, minimum: int, maximum: int | None) -> Automaton:
    """Texts made of ``minimum`` to ``maximum`` texts of the language; ``maximum`` None is unbounded."""
    graph = _Graph()
    start, end = graph.state(), graph.state()
    graph.repeat(lambda before, behind: graph.embed(language, before, behind), minimum, maximum, start, end)
    return graph.determinised(start, end)


class _Graph:
    """A nondeterministic automaton under construction."""

    def __init__(self) -> None:
        self.moves: list[list[tuple[int, int, int]]] = []
        self.free: list[list[int]] = []
        self.at_begin: list[list[int]] = []
        self.at_end: list[list[int]] = []

    def state(self) -> int:
        if len(self.moves) > 10 * MOST_STATES:
            raise TooLarge(f"more than {10 * MOST_STATES} states before determinisation")
        self.moves.append([])
        for table in (self.free, self.at_begin, self.at_end):
            table.append([])
        return len(self.moves) - 1

    def add(self, expr: Expr, start: int, end: int) -> None:
        match expr:
            case Text(text):
                self._text(text, start, end)
            case Chars():
                self._chars(expr, start, end)
            case Seq(items):
                at = start
                for item in items:
                    behind = self.state()
                    self.add(item, at, behind)
                    at = behind
                self.free[at].append(end)
            case Alt(alternatives):
                for alternative in alternatives:
                    self.add(alternative, start, end)
            case Rep(item, minimum, maximum):
                self.repeat(lambda before, behind: self.add(item, before, behind), minimum, maximum, start, end)
            case Ref(name):
                raise ValueError(f"a regular expression cannot refer to the rule {name!r}")
            case _:
                assert_never(expr)

    def _text(self, text: str, start: int, end: int) -> None:
        for character in text:
            behind = self.state()
            self.moves[start].append((ord(character), ord(character), behind))
            start = behind
        self.free[start].append(end)

    def _chars(self, chars: Chars, start: int, end: int) -> None:
        if chars == BEGIN:
            self.at_begin[start].append(end)
        elif chars == END:
            self.at_end[start].append(end)
        else:
            self.moves[start] += [(low, high, end) for low, high in chars.ranges]

    def embed(self, language: Automaton, start: int, end: int) -> None:
        states = [self.state() for _ in language.edges]
        self.free[start].append(states[0])
        for state, edges in enumerate(language.edges):
            self.moves[states[state]] += [(low, high, states[target]) for low, high, target in edges]
            if state in language.accepting:
                self.free[states[state]].append(end)

    def repeat(self, item: Callable[[int, int], None], minimum: int, maximum: int | None, start: int, end: int) -> None:
        at = start
        for _ in range(minimum):
            behind = self.state()
            item(at, behind)
            at = behind
        if maximum is None:
            loop = self.state()
            self.free[at].append(loop)
            item(loop, loop)
            self.free[loop].append(end)
            return
        for _ in range(maximum - minimum):
            self.free[at].append(end)
            behind = self.state()
            item(at, behind)
            at = behind
        self.free[at].append(end)

    def determinised(self, start: int, end: int) -> Automaton:
        # The first subset is marked: only there BEGIN holds, though later the same states may be active.
        first = (self._closure([start], begin=True, end=False), True)

        def edges(subset: tuple[frozenset[int], bool]) -> Iterable[tuple[int, int, tuple[frozenset[int], bool]]]:
            known: dict[frozenset[int], frozenset[int]] = {}
            for low, high, targets in sweep([move for state in subset[0] for move in self.moves[state]]):
                if targets:
                    if targets not in known:
                        known[targets] = self._closure(targets, begin=False, end=False)
                    yield low, high, (known[targets], False)

        def accepts(subset: tuple[frozenset[int], bool]) -> bool:
            return end in self._closure(subset[0], begin=subset[1], end=True)

        return explore(first, edges, accepts)

    def _closure(self, states: Iterable[int], begin: bool, end: bool) -> frozenset[int]:
        seen, stack = set(states), list(states)
        while stack:
            state = stack.pop()
            following = list(self.free[state])
            if begin:
                following += self.at_begin[state]
            if end:
                following += self.at_end[state]
            for target in following:
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return frozenset(seen)


def nullable(expr: Expr) -> bool:
    """Whether a regular expression matches the empty text."""
    match expr:
        case Text(text):
            return not text
        case Chars():
            return False
        case Seq(items):
            return all(nullable(item) for item in items)
        case Alt(alternatives):
            return any(nullable(alternative) for alternative in alternatives)
        case Rep(item, minimum, _):
            return minimum == 0 or nullable(item)
        case Ref():
            return False
        case _:
            assert_never(expr)


def optional(expr: Expr) -> Expr:
    """``expr`` or nothing, in the form that every target can write."""
    return expr if expr == EMPTY else Rep(expr, 0, 1)
