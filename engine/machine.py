"""The suspendable parsing machine: runs a program over a growing text and keeps a log of what matched.

Invariants:
- A terminal is decided only when no further text could change it; otherwise `Machine.run` returns and the next call
  goes on at the same instruction. Every decision is therefore the same for every way the text is split.
- ``choices`` holds the choices that are not settled. What lies before the oldest of them is final.
- ``calls`` and ``scopes`` are linked lists, so a choice restores them in one assignment.
- ``farthest`` is the last position at which a terminal failed, outside predicates, since the scope began.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import regex

from .jsonscan import JsonScan, whole_value
from .program import (
    ACCEPT,
    AT_END,
    BACK,
    BY_JSON,
    BY_NAME,
    BY_UNTIL,
    BY_VALUE,
    CALL,
    CHOICE,
    CLOSE,
    CLOSER,
    COMMIT,
    ENTER,
    EXIT,
    FAIL,
    FAIL_TWICE,
    JSON,
    JUMP,
    LIT,
    LOG_CLOSE,
    LOG_FRAME,
    LOG_FRAME_END,
    LOG_MARK,
    LOG_OPEN,
    LOG_RECOVER,
    LOG_RECOVERED,
    LOG_SPAN,
    MARK,
    NAME,
    OPEN,
    POP,
    PREDICATE,
    PROPERTY,
    RECOVERED,
    REST,
    RETRY,
    RETURN,
    RUN,
    SAME,
    SCAN,
    SET,
    SETTLE,
    SKIP,
    SPAN,
    TAKE,
    TEST,
    TYPED,
    UNTIL,
    Instruction,
    Program,
    Site,
    show,
)
from .search import Search


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """What a request says about names: the patterns of each NAME slot, and whether a tool's property can only be a string.

    ``properties`` is None when the tools are not known.
    """

    slots: tuple[tuple[re.Pattern[str] | None, re.Pattern[str], regex.Pattern[str] | None], ...]
    only_text: Callable[[str, str], bool]
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

    def changed(self, committed: bool, call: bool) -> Scope:
        """The same scope further on. Choices may hold the old one, so it is not changed itself."""
        scope = Scope(self.identity, self.site, self.start, self.calls, self.parent)
        scope.committed, scope.call = committed, call
        scope.farthest, scope.failed = self.farthest, self.failed
        return scope


LogEntry = tuple[int, Any, int]


class Machine:
    """A parse under way. Positions are offsets in ``text``; ``base`` is what was cut off before it."""

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
        self.finished = False
        self.recovering: Scope | None = None
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
        """``count`` characters went by without the machine; it waits behind them, holding ``held`` back."""
        self.base += count
        self.text = held
        self.pos = 0
        self.farthest = 0
        self.memo = (0, True, len(held), (0, len(held)))

    def forget(self, upto: int) -> None:
        """Cut the text before ``upto`` off; the log must be empty and no choice open."""
        self.text = self.text[upto:]
        self.base += upto
        self.pos -= upto
        self.farthest = max(0, self.farthest - upto)
        if isinstance(self.memo, tuple):
            low, fresh, start, (run_start, run_end) = self.memo
            self.memo = (max(0, low - upto), fresh, start - upto, (max(0, run_start - upto), max(0, run_end - upto)))
        elif self.memo is not None:
            raise AssertionError("a value is being read")

    def run(self, at_end: bool) -> None:  # noqa: PLR0915 - one loop over all instructions
        """Go on until more text is needed or, ``at_end``, until all of the text has been read."""
        code, names = self.program.code, self.names
        text, log, choices = self.text, self.log, self.choices
        size = len(text)
        pc, pos, calls, scopes, barrier = self.pc, self.pos, self.calls, self.scopes, self.barrier
        memo, self.memo = self.memo, None
        steps = 0
        where = -1  # Where a terminal failed, if not at `pos`: the end of the input, when more of it could have matched.
        while True:
            steps += 1
            instruction = code[pc]
            what = instruction[0]
            if what == SCAN:
                found = instruction[1](text, pos)
                if found is not None:
                    end = found.end()
                    if end + instruction[2] <= size:
                        for group, (label, dialect) in enumerate(instruction[3], 1):
                            start, stop = found.span(group)
                            log.append((LOG_SPAN, (label, dialect, start, BY_UNTIL), stop))
                            if label == "key":
                                self.key = names.decode(dialect, text[start:stop])
                        pos = end
                        pc = instruction[4]
                        continue
                pc += 1
                continue
            if what == TAKE:
                end = self._take(instruction, text, pos, size)
                if end >= 0:
                    if instruction[3] == BY_UNTIL:
                        self.text_end = end + self.base
                    log.append((LOG_SPAN, (instruction[1], instruction[2], pos, self.taken), end))
                    pos = end
                    pc = instruction[6]
                    continue
                pc += 1
                continue
            if what == POP:
                if choices and choices[-1][0] == instruction[1] and choices[-1][3] is calls:
                    choices.pop()
                pc = instruction[2]
                continue
            if what == CHOICE:
                choices.append((instruction[1], pos, len(log), calls, scopes, barrier))
                pc += 1
                continue
            if what == LIT:
                if text.startswith(instruction[1], pos):
                    pos += instruction[2]
                    pc += 1
                    continue
                if size - pos < instruction[2] and instruction[1].startswith(text[pos:]):
                    if not at_end:
                        break
                    where = size
            elif what == ENTER:
                site = instruction[1]
                entered = (site, pos)
                log.append((LOG_FRAME, entered, pos))
                if site.scope:
                    scopes = Scope(entered, site, pos + self.base, calls, scopes)
                    if not barrier:
                        scopes.farthest, scopes.failed = self.farthest + self.base, self.failed
                        self.farthest = pos
                        self.failed = []
                pc += 1
                continue
            elif what == EXIT:
                site = instruction[1]
                if site.scope:
                    assert scopes is not None
                    if scopes.farthest > self.farthest + self.base and not barrier:
                        self.farthest, self.failed = scopes.farthest - self.base, scopes.failed
                    scopes = scopes.parent
                log.append((LOG_FRAME_END, site, pos))
                pc += 1
                continue
            elif what == OPEN:
                log.append((LOG_OPEN, (instruction[1], instruction[2]), pos))
                if instruction[1] == "tool_call" and scopes is not None:
                    scopes = scopes.changed(scopes.committed, True)
                pc += 1
                continue
            elif what == CLOSE:
                label = instruction[1]
                if label == "name":
                    self.tool = self._captured(log, text, pos)
                elif label == "key":
                    self.key = self._captured(log, text, pos)
                elif instruction[2]:
                    self.text_end = pos + self.base
                log.append((LOG_CLOSE, label, pos))
                pc += 1
                continue
            elif what == UNTIL or what == RETRY:  # noqa: PLR1714, SIM109 - `in` would build a tuple each time
                search, verify, done, retry, quick = instruction[1:]
                if memo is not None:
                    low, fresh, start, run = memo
                    memo = None
                elif what == UNTIL:
                    low, fresh, start, run = pos, True, pos, (0, 0)
                else:
                    low, fresh, start, run = pos + 1, False, pos + 1, (0, 0)
                found = search.candidate(text, low, fresh, start, at_end)
                if found < 0:
                    if at_end:
                        pos = size
                        pc = done
                        continue
                    pos, start, run = search.hold(text, low, start, run)
                    self.memo = (low, fresh, start, run)
                    break
                pos = found
                if verify is None:
                    pc = done
                    continue
                if quick is not None and quick[0](text, found) and found + quick[1] <= size:
                    pc = done
                    continue
                choices.append((retry, pos, len(log), calls, scopes, barrier))
                barrier = len(choices)
                pc = verify
                continue
            elif what == TEST:
                if text.startswith(instruction[1], pos):
                    pos += instruction[2]
                    pc += 1
                    continue
                where = pos
                if size - pos < instruction[2] and instruction[1].startswith(text[pos:]):
                    if not at_end:
                        break
                    where = size
                if barrier == 0:
                    if where > self.farthest:
                        self.farthest = where
                        self.failed = [pc]
                    elif where == self.farthest:
                        self.failed.append(pc)
                where = -1
                pc = instruction[3]
                continue
            elif what == SPAN:
                pos = instruction[1](text, pos).end()
                if pos == size and not at_end:
                    break
                pc += 1
                continue
            elif what == COMMIT:
                del choices[barrier:]
                if scopes is not None and scopes.site is instruction[1] and not barrier:
                    scopes = scopes.changed(True, scopes.call)
                pc += 1
                continue
            elif what == SETTLE:
                if choices and choices[-1][0] == instruction[1] and choices[-1][3] is calls:
                    choices.pop()
                pc += 1
                continue
            elif what == BACK:
                del choices[barrier:]
                _, pos, length, calls, scopes, barrier = choices.pop()
                del log[length:]
                pc = instruction[1]
                continue
            elif what == PREDICATE:
                choices.append((instruction[1], pos, len(log), calls, scopes, barrier))
                barrier = len(choices)
                pc += 1
                continue
            elif what == SET:
                if pos < size:
                    if instruction[1](text, pos):
                        pos += 1
                        pc += 1
                        continue
                elif not at_end:
                    break
            elif what == RUN:
                end = instruction[1](text, pos).end()
                if end == size and not at_end and end - pos < instruction[3]:
                    break
                if end - pos >= instruction[2]:
                    pos = end
                    pc += 1
                    continue
            elif what == MARK:
                log.append((LOG_MARK, instruction[1], pos))
                pc += 1
                continue
            elif what == TYPED:
                pc = instruction[1] if names.only_text(self.tool, self.key) else pc + 1
                continue
            elif what == NAME:
                end = self._name(instruction[1], text, pos, size, at_end)
                if end == -2:
                    break
                if end >= 0:
                    pos = end
                    pc += 1
                    continue
            elif what == JSON:
                if memo is None:
                    memo = JsonScan(pos, instruction[1])
                    if pos < size and (text[pos] == "{" or not instruction[1]):
                        memo.end = whole_value(text, pos)
                if not memo.run(text, at_end):
                    self.memo = memo
                    break
                end, failed = memo.end, memo.failed
                self.broken = (memo.start + self.base, failed + self.base)
                memo = None
                if end >= 0:
                    pos = end
                    pc += 1
                    continue
                if not barrier and failed > self.farthest:
                    self.farthest = failed
                    self.failed = [pc]
            elif what == JUMP:
                pc = instruction[1]
                continue
            elif what == AT_END:
                if pos == size:
                    if not at_end:
                        break
                    pc += 1
                    continue
            elif what == CLOSER:
                if pos < size:
                    pc += 1
                    continue
                if not at_end:
                    break
            elif what == FAIL_TWICE:
                del choices[barrier:]
                _, pos, length, calls, scopes, barrier = choices.pop()
                del log[length:]
            elif what == FAIL:
                pass
            elif what == CALL:
                calls = (pc + 1, calls)
                pc = instruction[1]
                continue
            elif what == RETURN:
                pc, calls = calls
                continue
            elif what == PROPERTY:
                end = self._property(text, pos, size, at_end)
                if end == -2:
                    break
                if end >= 0:
                    pos = end
                    pc += 1
                    continue
            elif what == SAME:
                wanted = self._last(log, text, instruction[1])
                if text.startswith(wanted, pos):
                    pos += len(wanted)
                    pc += 1
                    continue
                if size - pos < len(wanted) and not at_end and wanted.startswith(text[pos:]):
                    break
            elif what == SKIP:
                search, closers = instruction[1:]
                low, start = (pos, pos) if memo is None else (memo[0], memo[2])
                memo = None
                found = search.candidate(text, low, True, start, at_end, longest=True)
                if 0 <= found < self.least - self.base and not text.startswith(closers, found):
                    low = found + 1
                    found = search.candidate(text, low, True, low, at_end, longest=True)
                if found < 0:
                    if not at_end:
                        pos, start, run = search.hold(text, low, start)
                        self.memo = (low, True, start, run)
                        break
                    pos = size
                else:
                    closer = next((c for c in closers if text.startswith(c, found)), "")
                    pos = found + len(closer)
                pc += 1
                continue
            elif what == RECOVERED:
                log.append((LOG_RECOVERED, instruction[1], pos))
                self.farthest = pos
                self.failed = []
                pc += 1
                continue
            elif what == ACCEPT:
                if pos == size:
                    if not at_end:
                        break
                    self.finished = True
                    break
                failed = max(self.farthest, pos) + self.base
                log.append((LOG_RECOVER, (None, pos + self.base, failed, ("the end of the output",), False, None), pos))
                pc += 1
                continue
            elif what == REST:
                pos = size
                if not at_end:
                    break
                log.append((LOG_RECOVERED, self.program.start, pos))
                self.finished = True
                break
            else:
                raise AssertionError(show(instruction))
            # The instruction failed: take the newest open choice, or recover.
            if barrier == 0:
                if where < 0:
                    where = pos
                if where > self.farthest:
                    self.farthest = where
                    self.failed = [pc]
                elif where == self.farthest:
                    self.failed.append(pc)
            where = -1
            if choices:
                left = scopes
                pc, pos, length, calls, scopes, barrier = choices.pop()
                del log[length:]
                if left is not scopes and not barrier:
                    self._leave(left, scopes)
            else:
                pc, pos, calls, scopes = self._recover(scopes, pos, size, at_end)
        self.steps += steps
        self.pc, self.pos, self.calls, self.scopes, self.barrier = pc, pos, calls, scopes, barrier

    def _take(self, instruction: Instruction, text: str, pos: int, size: int) -> int:
        """End of a label's text if all of it, and what decides its end, is there; else -1. Fails as little as it can tell."""
        _, _, dialect, how, what, then, _ = instruction
        self.taken = how
        end: int
        if how == BY_NAME:
            end = self._name(what, text, pos, size, False)
            if end > 0:
                self.tool = self.names.decode(dialect, text[pos:end])
            return end
        if how == BY_JSON:
            return whole_value(text, pos) if text.startswith("{", pos) else -1
        search = what
        if how == BY_VALUE and not self.names.only_text(self.tool, self.key):
            end = whole_value(text, pos) if pos < size else -1
            self.taken = BY_JSON
            return end if end >= 0 and self._follows(then, text, end, size) else -1
        end = search.candidate(text, pos, True, pos)
        if end < 0 or (then is not None and not self._follows(then, text, end, size)):
            return -1
        return end

    @staticmethod
    def _follows(then: Any, text: str, end: int, size: int) -> bool:
        return end + then[1] <= size and then[0](text, end) is not None

    # -- recovery (DESIGN, "Recovery") ------------------------------------------------------------------------------

    def _recover(self, scopes: Scope | None, pos: int, size: int, at_end: bool) -> tuple[int, int, Any, Scope | None]:
        """Give the scope up; where the machine goes on. The log says from where to where it failed and why."""
        scope = _failing(scopes)
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

    # -- names and captures -----------------------------------------------------------------------------------------

    def _captured(self, log: list[LogEntry], text: str, pos: int) -> str:
        """The text of the label that ends at ``pos``, decoded."""
        depth = 0
        for kind, what, start in reversed(log):
            if kind == LOG_CLOSE:
                depth += 1
            elif kind == LOG_OPEN:
                if depth == 0:
                    captured: str = self.names.decode(what[1], text[start:pos])
                    return captured
                depth -= 1
        raise AssertionError("a label ends that did not begin")

    def _last(self, log: list[LogEntry], text: str, label: str) -> str:
        """The text that ``label`` captured last in this rule instance: captures of deeper instances are closed."""
        deeper, end = 0, -1
        for kind, what, pos in reversed(log):
            if kind == LOG_FRAME_END:
                deeper += 1
            elif kind == LOG_FRAME:
                deeper -= 1
                if deeper < 0:
                    break
            elif deeper:
                continue
            elif kind == LOG_SPAN and what[0] == label and end < 0:
                return text[what[2] : pos]
            elif kind == LOG_CLOSE and what == label and end < 0:
                end = pos
            elif kind == LOG_OPEN and what[0] == label and end >= 0:
                return text[pos:end]
        return ""

    def _name(self, slot: int, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of the tool name at ``pos``; -1: there is none; -2: more text must come first."""
        offered, shape, growing = self.names.slots[slot]
        found = shape.match(text, pos)
        end = found.end() if found else pos
        if end == size and not at_end and end - pos < 128:
            return -2
        if offered is not None:
            if growing is not None and not at_end:
                partial = growing.match(text, pos, partial=True)
                if partial is not None and partial.partial:
                    return -2
            match = offered.match(text, pos)
            if match:
                return match.end()
            if self.program.names[slot].offered_only:
                return -1
        return end if end > pos else -1

    def _property(self, text: str, pos: int, size: int, at_end: bool) -> int:
        """End of an offered property's name at ``pos``, the longest; -1: none; -2: more text must come first."""
        known = None if self.names.properties is None else self.names.properties.get(self.tool)
        if known is None:
            return self._shaped(text, pos, size, at_end)
        for name in known:
            if text.startswith(name, pos):
                return pos + len(name)
            if size - pos < len(name) and not at_end and name.startswith(text[pos:]):
                return -2
        return -1

    def _shaped(self, text: str, pos: int, size: int, at_end: bool) -> int:
        match = _SHAPED.match(text, pos)
        end = match.end() if match else pos
        if end == size and not at_end and end - pos < 128:
            return -2
        return end if end > pos else -1


_SHAPED = re.compile(r"[^\s\"'<>]{1,128}+")


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
