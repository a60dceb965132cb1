"""The suspendable parsing machine: runs a program over a growing text and keeps a log of what matched.

Invariants:
- A terminal is decided only when no further text could change it; otherwise `Machine.run` returns and the next call
  goes on at the same instruction. Every decision is therefore the same for every way the text is split.
- ``choices`` holds the choices that are not settled. What lies before the oldest of them is final.
- ``calls`` and ``scopes`` are linked lists, so a choice restores them in one assignment.
- ``farthest`` is the last position at which a terminal failed, outside predicates, since the scope began.
"""

from __future__ import annotations

from .jsonscan import JsonScan, whole_value
from .program import (
    ACCEPT,
    AT_END,
    BACK,
    BY_UNTIL,
    CALL,
    CHAIN,
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
    show,
)
from .shortcuts import Shortcuts


class Machine(Shortcuts):
    """Runs the program of a `State`."""

    def run(self, at_end: bool) -> None:  # noqa: PLR0915 - one loop over all instructions
        """Go on until more text is needed or, ``at_end``, until all of the text has been read."""
        code, names = self.program.code, self.names
        text, log, choices = self.text, self.log, self.choices
        size = len(text)
        pc, pos, calls, scopes, barrier = self.pc, self.pos, self.calls, self.scopes, self.barrier
        memo, self.memo = self.memo, None
        steps = 0
        # Where a terminal failed, if not at `pos`: the end of the input, when more of it could have matched.
        where = -1
        # The chains on the way to one that was refused lead where it does, and would be refused where it was.
        refused, refused_to = -1, 0
        while True:
            steps += 1
            instruction = code[pc]
            what = instruction[0]
            if what == CHAIN:
                _, chain, instruction = instruction
                if pos < size and text.startswith(chain.lead, pos) and (pos >= refused_to or chain.target != refused):
                    done = chain.run(self, text, pos, at_end, calls, scopes, barrier)
                    if type(done) is tuple:
                        pos, scopes = done
                        pc = chain.target
                        continue
                    refused, refused_to = chain.target, done
                what = instruction[0]
            if what == SCAN:
                found = instruction[1](text, pos)
                if found is not None:
                    end = found.end()
                    if at_end or end + instruction[2] <= size:
                        for group, (label, dialect) in enumerate(instruction[3], 1):
                            start, stop = found.span(group)
                            if start < 0:  # Its alternative is not the one that was read.
                                continue
                            log.append((LOG_SPAN, (label, dialect, start, BY_UNTIL), stop))
                            if label == "key":
                                self.key = names.decode(dialect, text[start:stop])
                        pos = end
                        pc = instruction[4]
                        continue
                pc += 1
                continue
            if what == TAKE:
                end = self._take(instruction, text, pos, size, at_end)
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
                entered: object = (site, pos)
                if site.scope:
                    scopes = self.enter(site, pos, calls, scopes, barrier)
                    entered = scopes.identity
                log.append((LOG_FRAME, entered, pos))
                pc += 1
                continue
            elif what == EXIT:
                if instruction[1].scope:
                    scopes = self.exit(scopes, barrier)
                log.append((LOG_FRAME_END, self._begun(log) if self.program.looks_back else None, pos))
                pc += 1
                continue
            elif what == OPEN:
                log.append((LOG_OPEN, (instruction[1], instruction[2]), pos))
                if instruction[1] == "tool_call" and scopes is not None:
                    scopes = scopes.changed(scopes.committed, True, not choices)
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
                if quick is not None and quick[0](text, found) and (at_end or found + quick[1] <= size):
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
                    self.missed(where, pc)
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
                    scopes = scopes.changed(True, scopes.call, not choices)
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
                pc = instruction[1] if names.only_text[self.tool, self.key] else pc + 1
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
                found = search.candidate(text, low, True, start, at_end, True)
                if 0 <= found < self.least - self.base and not text.startswith(closers, found):
                    low = found + 1
                    found = search.candidate(text, low, True, low, at_end, True)
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
                log.append((LOG_RECOVERED, self._given_up(log) if self.program.looks_back else None, pos))
                self.farthest = pos
                self.failed = []
                pc += 1
                continue
            elif what == ACCEPT:
                if pos == size:
                    break
                failed = max(self.farthest, pos) + self.base
                log.append((LOG_RECOVER, (None, pos + self.base, failed, ("the end of the output",), False, None), pos))
                pc += 1
                continue
            elif what == REST:
                pos = size
                if not at_end:
                    break
                log.append((LOG_RECOVERED, None, pos))
                break
            else:
                raise AssertionError(show(instruction))
            # The instruction failed: take the newest open choice, or recover.
            if barrier == 0:
                self.missed(pos if where < 0 else where, pc)
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
