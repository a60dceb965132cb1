"""The instructions of the parsing machine, and the tables they point to.

An instruction is a tuple, its code first. Positions in a program are indices of ``Program.code``. After Medeiros and
Ierusalimschy, "A parsing machine for PEGs" (DLS 2008), with a hard commit and operations that suspend.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .openings import Continuation
from .search import Search

Instruction = tuple[Any, ...]

# fmt: off
LIT = 0          # text, size          match the text
SPAN = 1         # match               skip the characters of a class, all there are
UNTIL = 2        # search, verify, done  stop before the next candidate; verify it there, if there is anything to verify
RETRY = 3        # search, verify, done  the candidate here was none: go on behind it
TEST = 4         # text, size, other   match the text or jump
CHOICE = 5       # other               open a choice
POP = 6          # other, target       close the choice opened with ``other``, if it is still open; jump
SETTLE = 7       # other               the same, going on
COMMIT = 8       # rule                settle all choices
ENTER = 9        # site                a frame or a scope begins
EXIT = 10        # site                … and ends
OPEN = 11        # label, dialect      a label begins
CLOSE = 12       # label, is_text      … and ends
SET = 13         # match               one character of a class
RUN = 14         # match, min, max     so many characters of a class
JSON = 15        # object_only         a whole JSON value
TYPED = 16       # text                jump if the property's value can only be a string
NAME = 17        # slot                a tool's name
PROPERTY = 18    # -                   a property's name of the tool at hand
AT_END = 19      # -                   the end of the input
CLOSER = 20      # -                   a tolerated missing closer: matches nothing, but not at the end of the input
MARK = 21        # kind                note in the log
PREDICATE = 22   # other               open a choice that no commit inside it reaches across
BACK = 23        # target              a predicate held: go back to where it began, jump
FAIL_TWICE = 24  # -                   what must not match did
FAIL = 25        # -
JUMP = 26        # target
CALL = 27        # target              run a recursive rule
RETURN = 28      # -
SAME = 29        # label               the text a label captured, again
SCAN = 30        # match, slack, labels, target  try a run of instructions as one pattern, else take them one by one
SKIP = 31        # search, closers     recovery: to the scope's closer, its next opener, or the end
RECOVERED = 32   # site
ACCEPT = 33      # -                   the start rule has matched
REST = 34        # -                   the text went on behind it: all of it is recovered
TAKE = 35        # label, dialect, how, what, then, target  try a whole label at once, else take it bit by bit
CHAIN = 36       # chain, first        try a run of instructions at once, else the first of them
# fmt: on

# fmt: off
NAMES = (
    "LIT", "SPAN", "UNTIL", "RETRY", "TEST", "CHOICE", "POP", "SETTLE", "COMMIT", "ENTER",
    "EXIT", "OPEN", "CLOSE", "SET", "RUN", "JSON", "TYPED", "NAME", "PROPERTY", "AT_END",
    "CLOSER", "MARK", "PREDICATE", "BACK", "FAIL_TWICE", "FAIL", "JUMP", "CALL", "RETURN", "SAME",
    "SCAN", "SKIP", "RECOVERED", "ACCEPT", "REST", "TAKE", "CHAIN",
)
# fmt: on

# Kinds of log entries; an entry is (kind, what, position). What ends a rule instance, or recovery from one, says where in
# the log that instance began, if the program looks back; of a chain, it is (chain, what it kept for `tell`).
LOG_FRAME, LOG_FRAME_END, LOG_OPEN, LOG_CLOSE, LOG_MARK, LOG_RECOVER, LOG_RECOVERED, LOG_SPAN, LOG_CHAIN = range(9)
# How TAKE reads its label, or a chain what is none.
BY_NAME, BY_JSON, BY_UNTIL, BY_VALUE, BY_PATTERN = range(5)
# What MARK notes.
TOLERATED, TYPED_VALUE, DROP_OPEN, DROP_CLOSE = "tolerated", "typed", "drop", "dropped"


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One place where a rule is matched: a frame if it holds a region's label, a scope if it commits or holds a call.

    ``closers`` and ``openers`` bound what recovery reads; ``recover`` is where recovery goes on, ``exit`` where the
    rule has matched.
    """

    name: str
    frame: bool
    scope: bool
    call: bool
    closers: tuple[str, ...]
    openers: tuple[str, ...]
    enters: list[int] = field(default_factory=list, repr=False)
    exits: list[int] = field(default_factory=list, repr=False)
    recovers: list[int] = field(default_factory=list, repr=False)

    def __deepcopy__(self, memo: dict[int, object]) -> Site:
        return self

    @property
    def recover(self) -> int:
        return self.recovers[0]


Effect = tuple[int, Any, int]
"""What an instruction of a link does besides reading: itself, its argument, the index of the span where it stands."""


class Link(NamedTuple):
    """A part of a chain: what it reads, once, or for as long as ``literal`` stands there; what to do then.

    ``steps`` are (BY_PATTERN, match, which of its groups are names or keys), or (how a label is taken, with what, what
    must follow). Each gives spans, behind that of the place where the link begins: a pattern its match and its groups,
    a label its text and the place behind it.
    ``state`` is for the machine, ``log`` for who reads its log.
    """

    literal: str
    steps: tuple[tuple[int, Any, Any], ...]
    state: tuple[Effect, ...]
    log: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class NameSlot:
    """A place for a tool's name: which characters may follow it, how it is spelled, and whether only offered ones do."""

    dialect: str
    offered_only: bool
    follow: str
    shape: str


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled grammar. ``names`` are its places for tool names, in the order of their NAME instructions.

    ``shows`` names what an instruction expects. ``places`` and ``choices`` say what is still to be matched where the
    machine can stop: at an instruction, and at a choice that is open, known by its other alternative.
    """

    code: tuple[Instruction, ...]
    names: tuple[NameSlot, ...]
    start: Site
    shows: dict[int, str]
    places: dict[int, Continuation]
    choices: dict[int, Continuation]

    def __deepcopy__(self, memo: dict[int, object]) -> Program:
        return self

    @functools.cached_property
    def looks_back(self) -> bool:
        """Whether it matches a captured text again, so that the log and the text before must be kept."""
        return any(instruction[0] == SAME for instruction in self.code)

    def dump(self) -> str:
        """The program as text, an instruction a line.

        >>> import chatpeg
        >>> print(chatpeg.load("mistral-v3").program.dump().splitlines()[3])
           3 UNTIL '[TOOL_CALLS]' - 4 -1 -
        """
        width = len(str(len(self.code)))
        return "\n".join(f"{pc:{width}} {show(instruction)}" for pc, instruction in enumerate(self.code))


def show(instruction: Instruction) -> str:
    """One instruction in words. E.g. ``LIT '<tool_call>' 11``"""
    code, *arguments = instruction
    assert isinstance(code, int)
    if code == CHAIN:
        chain, first = arguments
        return f"CHAIN {' '.join(map(_show_argument, chain.links))} {chain.target}, or {show(first)}"
    return " ".join([NAMES[code], *map(_show_argument, arguments)])


def _show_argument(argument: object) -> str:
    match argument:
        case Site(name=name):
            return name
        case Search():
            return argument.show()
        case Link(literal=literal, steps=steps):
            shown = " ".join(_show_argument(what) for _, what, _ in steps)
            return f"while {literal!r} ({shown})" if literal else shown
        case tuple():
            return f"({' '.join(map(_show_argument, argument))})"
        case None:
            return "-"
        case _:
            pattern = getattr(argument, "__self__", None)
            return f"/{pattern.pattern!r}/" if isinstance(pattern, re.Pattern) else repr(argument)
