"""Straight runs of a program as one step: what the instructions read in a row, then what they note of it.

A chain stands for its instructions exactly: each of them reads all or nothing and never goes back, so one after the
other they match where their patterns, and the takings of labels, in a row do. It stands in place of its first
instruction, and holds that one: what it does not match is read one instruction at a time. A chain ends before whatever
may well go another way, such as a choice; a label is part of it if all its text can be taken at once, and a loop if a
literal tells whether it goes round once more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from . import program as op
from .chain_code import Chain
from .program import Instruction, Link, NameSlot, Program

_LONGEST = 32
"""Instructions in a chain."""
_SILENT = frozenset((op.ENTER, op.EXIT, op.OPEN, op.CLOSE, op.COMMIT, op.MARK, op.POP, op.SETTLE, op.JUMP, op.CHOICE))
"""Instructions that read nothing and cannot fail."""
_NOT_LOGGED = frozenset((op.COMMIT, op.POP, op.SETTLE, op.CHOICE, op.TEST))
"""Instructions of which the log says nothing."""
_FREE = frozenset((op.JUMP, op.POP, op.SETTLE))
"""Instructions that cost next to nothing: a chain for their sake is no gain."""
_BRANCHES = frozenset((op.TEST, op.CHOICE))
"""Instructions behind which one of several ways begins."""


def chained(program: Program) -> Program:
    """``program``, its straight runs put together.

    >>> import chatpeg
    >>> from chatpeg.program import CHAIN
    >>> program = chatpeg.load("qwen3-coder").program
    >>> any(instruction[0] == CHAIN for instruction in program.code)
    True
    """
    if program.looks_back:
        return program  # What it captured is looked up in the log, one label at a time.
    code = list(program.code)
    loops = _loops(program.code)
    for head in sorted(_heads(program.code) - _in_predicates(program.code)):
        if head and code[head - 1][0] == op.CHAIN and program.code[head - 1][0] == op.CHOICE:
            continue  # It would be tried twice.
        chain = _chain(program, loops, head)
        if chain is not None:
            code[head] = (op.CHAIN, chain, program.code[head])
    return replace(program, code=tuple(code))


def _targets(instruction: Instruction) -> list[int]:
    """Where else than behind it the machine can go on."""
    match instruction[0]:
        case op.TEST:
            return [instruction[3]]
        case op.CHOICE | op.PREDICATE | op.JUMP | op.BACK | op.TYPED:
            return [instruction[1]]
        case op.POP:
            return [instruction[2]]
        case op.SCAN:
            return [instruction[4]]
        case op.TAKE:
            return [instruction[6]]
        case _:
            return []


def _heads(code: tuple[Instruction, ...]) -> set[int]:
    """Where a straight run can begin: at the start, where ways meet, and behind a choice."""
    found = {0}
    for pc, instruction in enumerate(code):
        found.update(_targets(instruction))
        if instruction[0] in _BRANCHES:
            found.add(pc + 1)
    return found


def _loops(code: tuple[Instruction, ...]) -> set[int]:
    """Where the machine comes back to."""
    return {target for pc, one in enumerate(code) for target in _targets(one) if target <= pc}


def _in_predicates(code: tuple[Instruction, ...]) -> set[int]:
    """The places in predicates: what is read there is not kept."""
    inside: set[int] = set()
    for pc, instruction in enumerate(code):
        if instruction[0] == op.PREDICATE:
            inside.update(range(pc, instruction[1]))
        elif instruction[0] == op.UNTIL and instruction[2] is not None:
            inside.update(range(instruction[2], instruction[3]))
    return inside


def _chain(program: Program, loops: set[int], head: int) -> Chain | None:
    """The chain from ``head``; None if it is short."""
    links: list[Link] = []
    slack, pc, size = 1, head, 0
    writer = _LinkMaker(program.code, program.names, loops)
    while True:
        pc = writer.run(pc, head)
        links += writer.link("")
        slack, size = max(slack, writer.slack), size + writer.size
        again = _round(program, loops, pc, head) if size < _LONGEST else None
        if again is None:
            short = size < 3 or not any(link.steps for link in links)
            return None if short else Chain(tuple(links), slack, pc, _lead(program.code[head]))
        links += again.link(program.code[pc][1])
        slack, size = max(slack, again.slack), size + again.size
        writer = _LinkMaker(program.code, program.names, loops, effects=[(op.TEST, pc, 0)])
        pc = again.exit


def _lead(instruction: Instruction) -> str:
    return str(instruction[1]) if instruction[0] in (op.LIT, op.TEST) else ""


def _round(program: Program, loops: set[int], pc: int, head: int) -> _LinkMaker | None:
    """A loop from ``pc``, which goes round once more exactly where its literal stands; None for anything else.

    A chain that begins in the loop leaves it to the chain that begins it, or each round would read all the others.
    """
    instruction = program.code[pc]
    if instruction[0] != op.TEST or pc not in loops or pc <= head < instruction[3]:
        return None
    writer = _LinkMaker(program.code, program.names, loops, instruction[3])
    return writer if writer.run(pc, pc) == pc and writer.size else None


@dataclass(slots=True)
class _LinkMaker:
    """A link in the making: its steps, and what is noted at which of the spans that they give.

    ``exit`` is where its loop ends: no choice with this other way is open in it. The effect TEST says that one failed.
    """

    code: tuple[Instruction, ...]
    names: tuple[NameSlot, ...]
    loops: set[int]
    exit: int = -1
    size: int = 0
    steps: list[tuple[int, object, object]] = field(default_factory=list)
    effects: list[tuple[int, object, int]] = field(default_factory=list)
    slack: int = 1
    spans: int = 1  # Those of the steps that are written; the first is empty and stands where the link begins.
    source: list[str] = field(default_factory=list)  # Of the pattern that is being written.
    groups: int = 0
    # Its groups that are names or keys: which, the name's slot or -1 for a key, how it is spelled.
    known: list[tuple[int, int, object]] = field(default_factory=list)
    marked: bool = True

    def run(self, pc: int, head: int) -> int:
        """Add instructions from ``pc`` on; where they lead. A branch can only be the first of the chain."""
        seen = set[int]()
        while len(seen) < _LONGEST and pc not in seen and (not seen or pc not in self.loops):
            if pc != head and self.code[pc][0] in _BRANCHES:
                break
            after = self.step(pc)
            if after < 0:
                break
            seen.add(pc)
            pc = after
        self.size = sum(self.code[one][0] not in _FREE for one in seen)
        return pc

    def link(self, literal: str) -> list[Link]:
        """What has been written, if it is anything; ``literal`` tells whether it goes round once more."""
        self.end_pattern()
        effects = self.settled()
        state = tuple(effect for effect in effects if _changes_state(effect))
        log = tuple(effect for effect in effects if effect[0] not in _NOT_LOGGED)
        return [Link(literal, tuple(self.steps), state, log)] if self.steps or effects else []

    def settled(self) -> list[tuple[int, object, int]]:
        """The effects without a choice that the link itself opens and settles."""
        first = self.effects[0] if self.effects else None
        if first is None or first[0] != op.CHOICE:
            return self.effects
        rest = self.effects[1:]
        for index, (what, other, _) in enumerate(rest):
            if what == op.COMMIT:
                return rest
            if what in (op.POP, op.SETTLE) and other == first[1]:
                return rest[:index] + rest[index + 1 :]
        return self.effects

    def step(self, pc: int) -> int:
        """Add the instruction at ``pc``; where the run goes on, -1 if it does not go on here."""
        instruction = self.code[pc]
        what = instruction[0]
        if what in _SILENT:
            return self.silent(pc, instruction)
        match what:
            case op.LIT | op.TEST:
                self.read(re.escape(instruction[1]))
                return pc + 1
            case op.SPAN | op.SET:
                self.read(_source(instruction[1]))
                return pc + 1
            case op.SCAN:
                return self.scan(instruction)
            case op.TAKE:
                return self.take(instruction)
            case _:
                return -1

    # -- what is read ------------------------------------------------------------------------------------------------

    def read(self, source: str) -> None:
        self.source.append(source)
        self.marked = False

    def group(self) -> int:
        """The span of one more group of the pattern; its first is the whole match."""
        self.groups += 1
        return self.spans + self.groups

    def end_pattern(self) -> None:
        if self.source:
            self.steps.append((op.BY_PATTERN, re.compile("".join(self.source)).match, tuple(self.known)))
            self.spans += 1 + self.groups
        self.source, self.groups, self.known = [], 0, []

    def scan(self, instruction: Instruction) -> int:
        _, match, slack, labels, target = instruction
        self.read(_source(match))
        self.slack = max(self.slack, slack)
        for label, dialect in labels:
            self.effects.append((op.SCAN, (label, dialect, op.BY_UNTIL), self.group()))
            if label == "key":
                self.known.append((self.groups, -1, dialect))
        return int(target)

    def take(self, instruction: Instruction) -> int:
        _, label, dialect, how, what, then, target = instruction
        if how == op.BY_NAME:
            slot = self.names[what]
            self.read(f"({slot.shape}{{1,128}}+){slot.follow}")
            self.effects.append((op.TAKE, (label, dialect, how), self.group()))
            self.known.append((self.groups, what, dialect))
        else:
            self.end_pattern()
            # A text that nothing ends runs to the end of the input: what decides its end is looked for by itself.
            alone = then is not None and how == op.BY_UNTIL
            self.steps.append((how, what, then[0] if alone else None))
            self.effects.append((op.TAKE, (label, dialect, how), self.spans))
            self.spans += 2  # The label, and the place behind it.
            if then is not None and not alone:
                self.read(_source(then[0]))
        if then is not None:
            self.slack = max(self.slack, then[1])
        self.marked = False
        return int(target)

    # -- what is noted -----------------------------------------------------------------------------------------------

    def silent(self, pc: int, instruction: Instruction) -> int:
        what = instruction[0]
        if what == op.JUMP:
            return int(instruction[1])
        if what in (op.OPEN, op.CLOSE) and instruction[1] in ("name", "key"):
            return -1  # The machine looks into the log for what they hold.
        if what in (op.POP, op.SETTLE, op.CHOICE):
            if instruction[1] != self.exit:
                self.effects.append((what, instruction[1], 0))
            return int(instruction[2]) if what == op.POP else pc + 1
        value = instruction[1:] if what in (op.OPEN, op.CLOSE) else instruction[1]
        self.effects.append((what, value, 0 if what == op.COMMIT else self.here()))
        return pc + 1

    def here(self) -> int:
        """The span that is empty and stands at the place at hand."""
        if not self.steps and not self.source:
            return 0
        if not self.source and self.steps[-1][0] != op.BY_PATTERN:
            return self.spans - 1
        if not self.marked:
            self.read("()")
            self.group()
            self.marked = True
        return self.spans + self.groups


def _changes_state(effect: tuple[int, object, int]) -> bool:
    """Whether the machine itself has something to do for an effect, besides noting it in the log."""
    what, value, _ = effect
    match what, value:
        case op.ENTER | op.EXIT, op.Site(scope=scope):
            return scope
        case op.OPEN, (label, _):
            return bool(label == "tool_call")
        case op.CLOSE, (_, is_text):
            return bool(is_text)
        case op.TAKE, (_, _, how):
            return bool(how == op.BY_UNTIL)
        case _:
            return what in _NOT_LOGGED


def _source(match: object) -> str:
    pattern = getattr(match, "__self__", None)
    assert isinstance(pattern, re.Pattern)
    return str(pattern.pattern)
