"""Every way a compiled program can run, as far as open choices go: how much is read before the oldest one is settled.

A *state* is an instruction and the choices open before it, the oldest first. Edges are weighed by what an instruction
reads. Where no choice is open, weights count nothing: what has been read is final. The abstraction follows the machine
instruction by instruction, so what it says is what the parser does; a choice that fails goes back to its beginning,
hence the edge from there to its other alternative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from . import charset
from . import program as op
from .compiler import Compiler
from .nodes import Drop, Expression, Label, Rule
from .openings import Continuation
from .program import Instruction, Program
from .search import Search
from .settling import Open, Target
from .source import Span

Stack = tuple[tuple[int, int], ...]
"""Open choices: where each goes on when it fails, and the instruction that opened it."""
State = tuple[int, Stack]
NAME_LENGTH = 128
"""The longest tool name that is read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How much is read at most: ``count`` characters, unbounded runs of blanks beside them, or any number."""

    count: int = 0
    blanks: bool = False
    endless: bool = False

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.count + other.count, self.blanks or other.blanks, self.endless or other.endless)

    def __or__(self, other: Reading) -> Reading:
        count = max(self.count, other.count)
        return Reading(count, self.blanks or other.blanks, self.endless or other.endless)


Edges = dict[State, list[tuple[State, Reading]]]
NOTHING, BLANKS, ENDLESS = Reading(), Reading(blanks=True), Reading(endless=True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction comes from: its expression, the labels around it (``drop`` among them), and its rule."""

    span: Span
    labels: tuple[str, ...]
    rule: str
    predicate: bool


class _Traced(Compiler):
    """The compiler, noting for each instruction where it comes from."""

    def __init__(self, rules: dict[str, Rule], text_labels: frozenset[str], start: str) -> None:
        super().__init__(rules, text_labels)
        self.origins: list[Origin] = []
        self.span = rules[start].span
        self.labels: tuple[str, ...] = ()
        self.rule = start
        self.callers: dict[str, tuple[str, ...]] = {}

    def emit(self, *instruction: object) -> None:
        self.note()
        super().emit(*instruction)

    def terminal(self, node: Expression, *instruction: object) -> None:
        self.note()
        super().terminal(node, *instruction)

    def note(self) -> None:
        self.origins.append(Origin(self.span, self.labels, self.rule, bool(self.predicate)))

    def expression(self, node: Expression, k: Continuation, opened: list[Open]) -> None:
        span, self.span = self.span, node.span
        labels, self.labels = self.labels, (*self.labels, "drop") if isinstance(node, Drop) else self.labels
        super().expression(node, k, opened)
        self.span, self.labels = span, labels

    def label(self, node: Label, k: Continuation, opened: list[Open]) -> None:
        labels, self.labels = self.labels, (*self.labels, node.name)
        super().label(node, k, opened)
        self.labels = labels

    def rule_body(self, rule: Rule, site: op.Site, k: Continuation, opened: list[Open]) -> None:
        outer, self.rule = self.rule, rule.name
        labels, self.labels = self.labels, self.labels or self.callers.get(rule.name, ())
        super().rule_body(rule, site, k, opened)
        self.rule, self.labels = outer, labels

    def routine(self, name: str) -> Target:
        self.callers.setdefault(name, self.labels)
        return super().routine(name)


@dataclass(slots=True)
class Flow:
    """The reachable states of a program with their edges. ``origins`` says where each instruction comes from."""

    program: Program
    origins: tuple[Origin, ...]
    edges: Edges = field(default_factory=dict)
    read: dict[State, Reading] = field(default_factory=dict)
    at_start: set[State] = field(default_factory=set)


def flow(rules: dict[str, Rule], start: str, text_labels: frozenset[str]) -> Flow:
    """The flow of the program that matches ``start``."""
    compiler = _Traced(rules, text_labels, start)
    program = compiler.run(start)
    found = Flow(program, tuple(compiler.origins))
    _explore(found)
    _measure(found)
    found.at_start = silent([(0, ())], found.edges, program.code)
    return found


def _explore(found: Flow) -> None:
    """Fill in the states that can be reached: from the beginning, and in recursive rules with no choice open."""
    code = found.program.code
    entries = list(_recoveries(found))
    todo: list[State] = [(0, ()), *((pc, ()) for pc in entries)]
    while todo:
        state = todo.pop()
        if state in found.edges:
            continue
        found.edges[state] = list(_edges(code, state))
        todo += [target for target, _ in found.edges[state]]
        todo += _called(code, state)
        for opener, target in _held(code, state):
            found.edges[opener].append((target, NOTHING))
            todo.append(target)


def _recoveries(found: Flow) -> Iterator[int]:
    """Where the machine goes on when it has given a rule up; a predicate is not given up, it fails."""
    for pc, instruction in enumerate(found.program.code):
        if instruction[0] == op.ENTER and not found.origins[pc].predicate:
            site = cast("op.Site", instruction[1])
            yield from site.recovers[:1]


def _called(code: tuple[Instruction, ...], state: State) -> Iterator[State]:
    """The body of a recursive rule that is called here, entered with no choice open."""
    pc, _ = state
    if code[pc][0] == op.CALL:
        yield _target(code[pc][1]), ()


def _held(code: tuple[Instruction, ...], state: State) -> Iterator[tuple[State, State]]:
    """Where the predicate began that holds here, and where it goes on from there."""
    pc, stack = state
    inside = _settled(code, stack)
    if code[pc][0] == op.BACK and inside:
        yield (inside[-1][1], inside[:-1]), (_target(code[pc][1]), inside[:-1])


def _target(value: object) -> int:
    return cast("int", value)


def _edges(code: tuple[Instruction, ...], state: State) -> Iterator[tuple[State, Reading]]:
    pc, stack = state
    what, *rest = code[pc]
    match what:
        case op.CHOICE | op.PREDICATE:
            other = _target(rest[0])
            yield (other, stack), NOTHING
            yield (pc + 1, (*stack, (other, pc))), NOTHING
        case op.UNTIL | op.RETRY:
            yield from _until_edges(state, rest)
        case op.TEST:
            yield (_target(rest[2]), stack), NOTHING
            yield (pc + 1, stack), _size(rest[1])
        case op.POP | op.SETTLE:
            shorter = stack[:-1] if stack and stack[-1][0] == rest[0] else stack
            yield (_target(rest[1]) if what == op.POP else pc + 1, shorter), NOTHING
        case op.COMMIT:
            # A predicate is decided where it would commit.
            if not (left := _settled(code, stack)):
                yield (pc + 1, left), NOTHING
        case op.JUMP:
            yield (_target(rest[0]), stack), NOTHING
        case op.TYPED:
            yield (_target(rest[0]), stack), NOTHING
            yield (pc + 1, stack), NOTHING
        case op.BACK | op.FAIL_TWICE | op.FAIL | op.RETURN | op.REST:
            # The first two go back to where the predicate began, from where there is an edge to what follows.
            return
        case _:
            # SCAN and TAKE only read at once what the instructions behind them read one by one.
            yield (pc + 1, stack), consumed(code[pc])


def _until_edges(state: State, rest: list[object]) -> Iterator[tuple[State, Reading]]:
    pc, stack = state
    _, verify, done, retry, *_ = rest
    if verify is None:
        yield (_target(done), stack), ENDLESS
        return
    yield (_target(done), stack), ENDLESS
    yield (_target(retry), stack), ENDLESS
    yield (_target(verify), (*stack, (_target(retry), pc))), ENDLESS


def _settled(code: tuple[Instruction, ...], stack: Stack) -> Stack:
    """What a commit leaves open: the innermost predicate around it and everything before."""
    for index in range(len(stack) - 1, -1, -1):
        if code[stack[index][1]][0] in (op.PREDICATE, op.UNTIL, op.RETRY):
            return stack[: index + 1]
    return ()


def consumed(instruction: Instruction) -> Reading:
    """What an instruction reads at most when it matches."""
    what, *rest = instruction
    match what:
        case op.LIT:
            return _size(rest[1])
        case op.SET:
            return Reading(1)
        case op.RUN:
            return _size(rest[2])
        case op.SPAN:
            return BLANKS if _only_blanks(rest[0]) else ENDLESS
        case op.NAME | op.PROPERTY:
            return Reading(NAME_LENGTH)
        case op.JSON | op.SAME | op.CALL | op.SKIP:
            return ENDLESS
        case _:
            return NOTHING


def _size(value: object) -> Reading:
    return Reading(cast("int", value))


def _only_blanks(match: object) -> bool:
    pattern: re.Pattern[str] = match.__self__  # type: ignore[attr-defined]  # a pattern's method
    return pattern.pattern.removesuffix("*+") in _blank_classes()


@cache
def _blank_classes() -> frozenset[str]:
    """The spellings of all classes of blanks."""
    codes = sorted(map(ord, charset.BLANKS))
    sets = [[code for bit, code in enumerate(codes) if mask >> bit & 1] for mask in range(1, 1 << len(codes))]
    return frozenset(charset.spelled(charset.normal(tuple((code, code) for code in chosen))) for chosen in sets)


def waiting(instruction: Instruction, open_: bool) -> Reading:
    """What has been read of the text and not been passed when an instruction needs more; ``open_``: a choice is open."""
    what, *rest = instruction
    match what:
        case op.LIT | op.TEST:
            return Reading(max(0, _size(rest[1]).count - 1))
        case op.RUN:
            return Reading(max(0, _size(rest[2]).count - 1))
        case op.NAME | op.PROPERTY:
            return Reading(NAME_LENGTH)
        case op.UNTIL | op.RETRY:
            return ENDLESS if open_ else search_hold(cast("Search", rest[0]))
        case op.SKIP:
            return search_hold(cast("Search", rest[0]))
        case op.SPAN:
            return consumed(instruction) if open_ else NOTHING
        case op.JSON | op.SAME:
            return ENDLESS if open_ else NOTHING
        case _:
            return NOTHING


def silent(found_from: Iterable[State], edges: Edges, code: tuple[Instruction, ...]) -> set[State]:
    """The states that are reached from some states before a character is read; runs of blanks may be."""
    reached: set[State] = set()
    todo = list(found_from)
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            waits = consumed(code[state[0]])
            if not waits.count and not waits.endless:
                todo += [target for target, reading in edges[state] if not reading.count]
    return reached


def search_hold(search: Search) -> Reading:
    """What a delimiter that has half arrived holds back: its literal but for a character, and the blanks before."""
    most = [most for _, most in search.runs]
    bounded = max((count for count in most if count is not None), default=0)
    return Reading(max(0, search.longest - 1) + bounded, blanks=None in most)


# How much has been read since the oldest open choice


def _measure(found: Flow) -> None:
    """The longest reading from the opening of the oldest choice to each state; a cycle that reads is endless."""
    inner = {state: list(_inner(state, edges)) for state, edges in found.edges.items()}
    for state in inner:
        found.read[state] = NOTHING
    for group in components(inner):
        members = set(group)
        turns = [reading for state in group for target, reading in inner[state] if target in members]
        grown = any(turn.endless or turn.count for turn in turns)
        total = Reading(0, any(turn.blanks for turn in turns), grown)
        for state in group:
            total |= found.read[state]
        for state in group:
            found.read[state] = total
            for target, reading in inner[state]:
                if target not in members:
                    found.read[target] |= total + reading


def _inner(state: State, edges: list[tuple[State, Reading]]) -> Iterator[tuple[State, Reading]]:
    """The edges along which the oldest choice stays open."""
    for target, reading in edges:
        if state[1] and target[1] and state[1][0] == target[1][0]:
            yield target, reading


def components(edges: Edges) -> Iterator[list[State]]:
    """The strongly connected components, each before those its edges lead to (Kosaraju)."""
    finished: list[State] = []
    seen: set[State] = set()
    backward: dict[State, list[State]] = {state: [] for state in edges}
    for state in edges:
        for target, _ in edges[state]:
            backward[target].append(state)
        _finish(edges, state, seen, finished)
    taken: set[State] = set()
    for root in reversed(finished):
        if group := _collect(root, backward, taken):
            yield group


def _finish(edges: Edges, root: State, seen: set[State], finished: list[State]) -> None:
    """Append the states that ``root`` reaches, those behind a state before it."""
    todo: list[tuple[State, bool]] = [(root, False)]
    while todo:
        state, done = todo.pop()
        if done:
            finished.append(state)
        elif state not in seen:
            seen.add(state)
            todo.append((state, True))
            todo += [(target, False) for target, _ in edges[state]]


def _collect(root: State, backward: dict[State, list[State]], taken: set[State]) -> list[State]:
    group = []
    todo = [root]
    while todo:
        state = todo.pop()
        if state not in taken:
            taken.add(state)
            group.append(state)
            todo += backward[state]
    return group
