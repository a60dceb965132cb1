"""What a text may look like from some point of a grammar on: continuations, and when one excludes another.

A *continuation* is a linked list of expressions still to be matched, ``None`` at the end of the grammar. `step` opens
it by one character, as an NFA would. Everything here over-approximates: a predicate narrows nothing, text that the
request supplies is anything. So "excluded" is always true when it is said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from . import charset
from .charset import ALL, Ranges
from .nodes import (
    And,
    Any,
    Call,
    Choice,
    Class,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Not,
    ParamValue,
    Permute,
    Reference,
    Repeat,
    Rule,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
)

Continuation = tuple[Expression, "Continuation"] | None
State = tuple[object, ...]

_LIMIT = 4000
"""Pairs of states looked at before `excludes` gives up and says no."""


def listed(k: Continuation) -> list[Expression]:
    """The expressions of a continuation in order."""
    items: list[Expression] = []
    while k is not None:
        items.append(k[0])
        k = k[1]
    return items


class Openings:
    """Continuations of one rule table. States are interned, so that loops come round to themselves."""

    def __init__(self, rules: dict[str, Rule]) -> None:
        self._rules = rules
        self._cells: dict[tuple[int, int], State] = {}
        self._steps: dict[int, list[tuple[Ranges, State | None]]] = {}
        # Keys are identities; the values hold what has them, so that none is used again.
        self._states: dict[int, tuple[Continuation, State]] = {}
        self._nodes: dict[tuple[object, ...], Expression] = {}
        self._accept: State = ("accept",)
        self._end: State = ("end",)
        self._done: State = ("done",)

    def excludes(self, prefix: list[Expression], others: list[Continuation]) -> bool:
        """Whether no text that begins with a match of ``prefix`` can be matched by one of ``others`` as well."""
        start: State = self._accept
        for expression in reversed(prefix):
            start = self._cell(expression, start)
        goals = [self._state(other) for other in others]
        return not self._meet(start, goals)

    def first(self, continuation: Continuation) -> tuple[Ranges, bool]:
        """The characters that can come first, and whether the continuation can be over at once."""
        ranges: list[tuple[int, int]] = []
        ends = False
        for chars, target in self._step(self._state(continuation)):
            if target is None:
                ends = True
            else:
                ranges.extend(chars)
        return charset.normal(tuple(ranges)), ends

    def _meet(self, start: State, goals: list[State]) -> bool:
        """Whether ``start`` can reach its acceptance on a text on which one of the goals is still alive."""
        todo = [(start, goal) for goal in goals]
        seen = {(id(a), id(b)) for a, b in todo}
        while todo:
            mine, other = todo.pop()
            if len(seen) > _LIMIT:
                return True
            theirs = self._step(other)
            for chars, target in self._step(mine):
                if target is self._done:
                    if any(chars == ALL if behind is None else charset.overlap(chars, c) for c, behind in theirs):
                        return True
                elif target is not None:
                    for their_chars, their_target in theirs:
                        if their_target is not None and charset.overlap(chars, their_chars):
                            pair = (id(target), id(their_target))
                            if pair not in seen:
                                seen.add(pair)
                                todo.append((target, their_target))
        return False

    def _state(self, continuation: Continuation) -> State:
        behind: list[tuple[Expression, Continuation]] = []
        state = self._end
        while continuation is not None:
            known = self._states.get(id(continuation))
            if known is not None:
                state = known[1]
                break
            behind.append(continuation)
            continuation = continuation[1]
        for part in reversed(behind):
            state = self._cell(part[0], state)
            self._states[id(part)] = (part, state)
        return state

    def _cell(self, expression: Expression, rest: State) -> State:
        key = (id(expression), id(rest))
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = (expression, rest)
        return cell

    def _step(self, state: State) -> list[tuple[Ranges, State | None]]:
        """Every (characters, next state) of ``state``; a None target says that the text may end here.

        Reaching acceptance costs no character: it is given as a target with all characters.
        """
        known = self._steps.get(id(state))
        if known is None:
            known = self._steps[id(state)] = list(self._open(state, set()))
        return known

    def _open(self, state: State, active: set[tuple[int, int]]) -> list[tuple[Ranges, State | None]]:
        if state is self._end:
            return [((), None)]
        if state is self._accept:
            return [(ALL, self._done)]
        if (key := (id(state), 0)) in active:
            return []
        active = active | {key}
        expression, rest = state
        return self._open_expression(expression, rest, active)  # type: ignore[arg-type]  # a cell holds an expression and a state

    def _open_expression(
        self, node: Expression, rest: State, active: set[tuple[int, int]]
    ) -> list[tuple[Ranges, State | None]]:
        match node:
            case Literal(text=text):
                if not text:
                    return self._open(rest, active)
                tail = self._tail(node)
                target = rest if tail is None else self._cell(tail, rest)
                return [(((ord(text[0]), ord(text[0])),), target)]
            case Class(ranges=ranges, negated=negated):
                return [(charset.complement(ranges) if negated else ranges, rest)]
            case Any():
                return [(ALL, rest)]
            case End():
                return [((), None)]
            case Never():
                return []
            case Sequence(items=items):
                state = rest
                for item in reversed(items):
                    state = self._cell(item, state)
                return self._open(state, active)
            case Choice(alternatives=alternatives):
                return [edge for item in alternatives for edge in self._open(self._cell(item, rest), active)]
            case Repeat():
                return self._open_repeat(node, rest, active)
            case And(item=Class() | Any() as one):
                chars = charset.normal(self._open_expression(one, rest, active)[0][0])
                return [
                    (charset.intersection(chars, charset.normal(theirs)), target)
                    for theirs, target in self._open(rest, active)
                    if target
                ]
            case And() | Not() | Commit():
                return self._open(rest, active)
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return self._open(self._cell(item, rest), active)
            case Until() | ParamValue() | Same():
                return [(ALL, self._cell(node, rest)), *self._open(rest, active)]
            case Permute(separator=separator, items=items):
                parts = tuple(item.item if isinstance(item, Repeat) and item.max is None else item for item in items)
                any_part = self._made(("permute", id(node)), Choice((*parts, separator), node.span))
                return self._open(
                    self._cell(self._made(("many", id(node)), Repeat(any_part, 0, None, node.span)), rest), active
                )
            case Terminal(name="TOOL_ARGUMENTS"):
                behind = self._made(("text", id(node)), Until(node, node.span))
                return [(((ord("{"), ord("{")),), self._cell(behind, rest))]
            case Terminal():
                return [(ALL, self._cell(node, rest)), (ALL, rest)]
            case Reference(name=name):
                return self._open(self._cell(self._rules[name].expression, rest), active)
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)

    def _open_repeat(
        self, node: Repeat, rest: State, active: set[tuple[int, int]]
    ) -> list[tuple[Ranges, State | None]]:
        again = rest
        if node.max is None and node.min == 0:
            again = self._cell(node, rest)
        elif node.max is None or node.max > 1:
            less = replace(node, min=max(0, node.min - 1), max=None if node.max is None else node.max - 1)
            again = self._cell(self._made(("less", id(node)), less), rest)
        edges = [] if node.max == 0 else self._open(self._cell(node.item, again), active)
        return edges if node.min else edges + self._open(rest, active)

    def _tail(self, node: Literal) -> Literal | None:
        if len(node.text) == 1:
            return None
        made = self._nodes.get(("tail", id(node)))
        if made is None:
            made = self._made(("tail", id(node)), Literal(node.text[1:], node.span))
        assert isinstance(made, Literal)
        return made

    def _made(self, key: tuple[object, ...], node: Expression) -> Expression:
        """One node per key, so that equal states are the same state."""
        return self._nodes.setdefault(key, node)
