"""What a parse under way consists of: where the machine is, what it has logged, and what it gives up when it fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import regex

from .jsonscan import JsonScan
from .program import LOG_RECOVER, RETRY, UNTIL, Program, Site
from .search import Search


class Slot(NamedTuple):
    """What may stand where a tool's name stands: an ``offered`` one, None if those are not known, or any of a ``shape``.

    ``growing`` are offered names that go beyond the shape. ``whole`` has the texts that are names where they fill the slot
    up to a character that is in no name; None: any text is.
    """

    offered: re.Pattern[str] | None
    shape: re.Pattern[str]
    growing: regex.Pattern[str] | None
    whole: frozenset[str] | None


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """What a request says about names: each NAME slot, and whether a tool's property can only be a string.

    ``properties`` is None when the tools are not known.
    """

    slots: tuple[Slot, ...]
    only_text: Mapping[tuple[str, str], bool]
    properties: dict[str, tuple[str, ...]] | None
    decode: Any


class Scope:
    """A rule instance that recovery can give up: where it began, and what to restore when it has been given up."""

    __slots__ = ("call", "calls", "committed", "failed", "farthest", "identity", "parent", "site", "start")

    def __init__(self, identity: object, site: Site, start: int, calls: Any, parent: Scope | None) -> None:
        self.identity = identity
        self.site = site
        self.start = start
        self.calls = calls
        self.parent = parent
        self.committed = False
        self.call = False
        # The farthest failure, absolute, when the scope began: that of the scope around it.
        self.farthest = -1
        self.failed: list[int] = []

    def changed(self, committed: bool, call: bool, alone: bool) -> Scope:
        """The same scope further on; the scope itself if no choice can hold it, which is when there is none."""
        scope = self
        if not alone:
            scope = Scope(self.identity, self.site, self.start, self.calls, self.parent)
            scope.farthest, scope.failed = self.farthest, self.failed
        scope.committed, scope.call = committed, call
        return scope


LogEntry = tuple[int, Any, int]


class State:
    """A parse under way. Positions are offsets in ``text``; ``base`` is what was cut off before it.

    ``barrier``: so many choices lie outside the innermost predicate, its own among them; a commit settles none of them.
    ``memo``: what the instruction that waits needs to go on, a `JsonScan` or how far a search has come.
    """

    def __init__(self, program: Program, names: Names) -> None:
        self.program = program
        self.names = names
        self.text = ""
        self.base = 0
        self.pc = 0
        self.pos = 0
        self.log: list[LogEntry] = []
        self.choices: list[tuple[int, int, int, Any, Scope | None, int]] = []
        self.barrier = 0
        self.calls: Any = None
        self.scopes: Scope | None = None
        self.farthest = 0
        self.failed: list[int] = []
        self.memo: Any = None
        self.steps = 0
        self.tool = ""
        self.key = ""
        self.text_end = 0  # Where the last text label ended, and where recovered text ends at the earliest: absolute.
        self.least = 0
        self.broken = (-1, -1)  # The last JSON value that failed: from where to where it was good, absolute.
        self.taken = 0  # How the last label was read at once.

    def final(self) -> tuple[int, int]:
        """How many log entries, and how much of the text, no later text can take back."""
        if self.choices:
            oldest = self.choices[0]
            return oldest[2], oldest[1]
        return len(self.log), self.pos

    @property
    def searching(self) -> Search | None:
        """The delimiter that the machine waits for, if it waits for one in text that is settled."""
        instruction = self.program.code[self.pc]
        if type(self.memo) is not tuple or self.choices or instruction[0] not in (UNTIL, RETRY):
            return None
        search: Search = instruction[1]
        return search

    @property
    def scanned(self) -> tuple[int, int] | None:
        """Start and progress of the JSON value that the machine waits in, if nothing before it is unsettled."""
        memo = self.memo
        if not isinstance(memo, JsonScan) or self.choices:
            return None
        return memo.start + self.base, memo.pos + self.base

    def skipped(self, count: int, held: str) -> None:
        """``count`` characters went by without the machine; it waits behind them, holding ``held`` back, blanks."""
        self.base += count
        self.text = held
        self.pos = 0
        self._forget_failures(count)
        self.memo = (0, True, len(held), (0, len(held)))

    def forget(self, upto: int) -> None:
        """Cut the text before ``upto`` off; the log must be empty and no choice open."""
        self.text = self.text[upto:]
        self.base += upto
        self.pos -= upto
        self._forget_failures(upto)
        if isinstance(self.memo, tuple):
            low, fresh, start, (run_start, run_end) = self.memo
            self.memo = (max(0, low - upto), fresh, start - upto, (max(0, run_start - upto), max(0, run_end - upto)))
        elif self.memo is not None:
            raise AssertionError("a value is being read")

    def _forget_failures(self, upto: int) -> None:
        """What failed before ``upto`` is nothing against what fails behind it."""
        if self.farthest < upto:
            self.farthest, self.failed = 0, []
        else:
            self.farthest -= upto

    # -- scopes and frames -------------------------------------------------------------------------------------------

    def enter(self, site: Site, pos: int, calls: Any, scopes: Scope | None, barrier: int) -> Scope:
        """A scope begins at ``pos``; what is open in it."""
        scope = Scope((site, pos), site, pos + self.base, calls, scopes)
        if not barrier:
            scope.farthest, scope.failed = self.farthest + self.base, self.failed
            self.farthest = pos
            self.failed = []
        return scope

    def exit(self, scopes: Scope | None, barrier: int) -> Scope | None:
        """The innermost scope has matched; what is open around it."""
        assert scopes is not None
        if scopes.farthest > self.farthest + self.base and not barrier:
            self.farthest, self.failed = scopes.farthest - self.base, scopes.failed
        return scopes.parent

    def missed(self, where: int, pc: int) -> None:
        """A terminal, outside predicates, failed."""
        if where > self.farthest:
            self.farthest = where
            self.failed = [pc]
        elif where == self.farthest:
            self.failed.append(pc)

    # -- recovery (DESIGN, "Recovery") ------------------------------------------------------------------------------

    def _recover(self, scopes: Scope | None, pos: int, size: int, at_end: bool) -> tuple[int, int, Any, Scope | None]:
        """Give the scope up; where the machine goes on. The log says from where to where it failed and why."""
        scope = _failing(scopes)
        while at_end and scope is not None and scope.start - self.base >= size:
            scope = _failing(scope.parent)  # One that began where the input ends would begin there again and again.
        self._leave(scopes, scope)
        site = self.program.start if scope is None else scope.site
        start = 0 if scope is None else scope.start
        failed = min(max(self.farthest, start - self.base, 0), size)
        ended = at_end and failed == size
        good = self.broken if self.broken[1] == failed + self.base else None
        why = (scope, start, failed + self.base, self._expected(), ended, good)
        self.log.append((LOG_RECOVER, why, pos))
        # Recovered text takes at least one character, or the same place would be recovered again.
        self.least = max(start, self.text_end) + 1
        if not site.closers and failed < size:
            failed = max(failed, min(size, self.least - self.base))
        if scope is None:
            return site.recover, failed, None, None
        return site.recover, failed, scope.calls, scope.parent

    def _leave(self, left: Scope | None, kept: Scope | None) -> None:
        """What failed before the scopes that are given up began counts again."""
        while left is not None and (kept is None or left.identity is not kept.identity):
            if left.farthest > self.farthest + self.base:
                self.farthest, self.failed = left.farthest - self.base, left.failed
            left = left.parent

    def _expected(self) -> tuple[str, ...]:
        shows = self.program.shows
        return tuple(dict.fromkeys(shows[pc] for pc in self.failed if pc in shows))


def _failing(scopes: Scope | None) -> Scope | None:
    """The innermost scope with an open call, else the innermost that has passed a commit, else none: the start rule."""
    scope = scopes
    while scope is not None and not scope.call:
        scope = scope.parent
    if scope is not None:
        return scope
    scope = scopes
    while scope is not None and not scope.committed:
        scope = scope.parent
    return scope
