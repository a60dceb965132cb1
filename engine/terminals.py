"""Code for what is one piece where choices are settled: terminals, predicates, delimiters, what the request supplies."""

from __future__ import annotations

import re
from typing import assert_never

from . import charset
from . import program as op
from .delimiters import before_commit, name_ends, openings
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
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    is_loop,
)
from .openings import Continuation, listed
from .program import NameSlot
from .search import Search
from .settling import Open, Settling, Target

_NO_NAME = charset.normal(tuple((ord(c), ord(c)) for c in " \t\r\n\"'<>"))
"""Characters that no tool's name holds."""


class Terminals(Settling):
    """Writes one piece of a grammar."""

    def unit(self, node: Expression, k: Continuation) -> None:
        match node:
            case Literal(text=text):
                if text:
                    self.terminal(node, op.LIT, text, len(text))
            case Class() | Any():
                ranges = self.one_character(node)
                assert ranges is not None
                self.terminal(node, op.SET, re.compile(charset.spelled(ranges)).match)
            case End():
                self.terminal(node, op.AT_END)
            case Never():
                self.emit(op.FAIL)
            case And(item=item):
                self.and_predicate(item)
            case Not(item=item):
                self.not_predicate(item)
            case Until(delimiter=delimiter):
                self.until(delimiter)
            case Permute():
                self.permute(node, k)
            case Same(label=label):
                self.terminal(node, op.SAME, label)
            case Terminal():
                self.request_terminal(node, k)
            case ParamValue(delimiter=delimiter):
                self.param_value(node, delimiter)
            case Reference(name=name):
                self.emit(op.CALL, self.routine(name))
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case Sequence() | Choice() | Repeat() | Label() | Tolerate() | Drop() | Commit():
                raise AssertionError("written elsewhere")
            case _:
                assert_never(node)

    def routine(self, name: str) -> Target:
        if name not in self.subroutines:
            self.subroutines[name] = Target()
            self.pending.append(name)
        return self.subroutines[name]

    def inside_predicate(self, node: Expression) -> None:
        committed, ahead = self.committed, self.ahead
        self.predicate += 1
        self.expression(node, self.anything, [])
        self.predicate -= 1
        self.committed, self.ahead = committed, ahead

    def and_predicate(self, item: Expression) -> None:
        other, done = Target(), Target()
        fused = None if self.predicate else self.fusion.fused([And(item, item.span)], self.dialect, 1)
        if fused is not None:
            self.emit(op.SCAN, fused.pattern.match, fused.slack, (), done)
        self.emit(op.PREDICATE, other)
        self.inside_predicate(before_commit(item, self.rules))
        self.emit(op.BACK, done)
        self.place(other)
        self.terminal(item, op.FAIL)
        self.place(done)

    def not_predicate(self, item: Expression) -> None:
        other = Target()
        self.emit(op.PREDICATE, other)
        self.inside_predicate(before_commit(item, self.rules))
        self.terminal(item, op.FAIL_TWICE)
        self.place(other)

    def until(self, delimiter: Expression) -> None:
        part = before_commit(delimiter, self.rules)
        found = openings(part, self.rules)
        verify, retry, done = Target(), Target(), Target()
        checked = not self.is_literals(part)
        search = Search.of(found)
        fused = self.fusion.fused([And(part, part.span)], self.dialect, 1) if checked else None
        quick = None if fused is None else (fused.pattern.match, fused.slack)
        self.emit(op.UNTIL, search, verify if checked else None, done, retry, quick)
        if checked:
            self.place(retry)
            self.emit(op.RETRY, search, verify, done, retry, quick)
            self.place(verify)
            self.inside_predicate(part)
            self.emit(op.BACK, done)
        self.place(done)

    def is_literals(self, node: Expression) -> bool:
        """Whether a hit of the search is a match of ``node`` already."""
        match node:
            case Literal(text=text):
                return bool(text)
            case Choice(alternatives=alternatives):
                return all(map(self.is_literals, alternatives))
            case Tolerate(item=item):
                return self.is_literals(item)
            case Reference(name=name):
                return name not in self.recursive and self.is_literals(self.rules[name].expression)
            case End() | Never():
                return True
            case Sequence(items=items):
                return all(isinstance(item, Literal) for item in items)
            case _:
                return False

    def characters(self, node: Repeat, one: charset.Ranges) -> None:
        spelled = charset.spelled(one)
        if node.max is None and node.min <= 1:
            if node.min:
                self.terminal(node.item, op.SET, re.compile(spelled).match)
            self.emit(op.SPAN, re.compile(spelled + "*+").match)
        elif node.max is None:
            self.terminal(node.item, op.RUN, re.compile(f"{spelled}{{0,{node.min}}}+").match, node.min, node.min)
            self.emit(op.SPAN, re.compile(spelled + "*+").match)
        else:
            match = re.compile(f"{spelled}{{0,{node.max}}}+").match
            self.terminal(node.item, op.RUN, match, node.min, node.max)

    def one_character(self, node: Expression) -> charset.Ranges | None:
        match node:
            case Class(ranges=ranges, negated=negated):
                return charset.complement(ranges) if negated else ranges
            case Any():
                return charset.ALL
            case Literal(text=text) if len(text) == 1:
                return ((ord(text), ord(text)),)
            case Reference(name=name) if name not in self.recursive:
                return self.one_character(self.rules[name].expression)
            case _:
                return None

    # -- what the request supplies -----------------------------------------------------------------------------------

    def request_terminal(self, node: Terminal, k: Continuation) -> None:
        match node.name:
            case "TOOL_NAME":
                self.terminal(node, op.NAME, len(self.names))
                self.names.append(self.name_slot(node, k))
            case "TOOL_ARGUMENTS":
                self.terminal(node, op.JSON, True)
            case "JSON_VALUE":
                self.terminal(node, op.JSON, False)
            case "PARAM_NAME" if self.predicate:
                self.terminal(node, op.PROPERTY)
            case "PARAM_NAME":
                self.param_name(node, k)
            case _:
                raise AssertionError(node.name)

    def name_slot(self, node: Terminal, k: Continuation) -> NameSlot:
        first, ends = self.openings.first(k)
        if first == charset.ALL or not first:
            follow, shape = "", charset.spelled(charset.complement(_NO_NAME))
        else:
            follow = f"(?={charset.spelled(first)}{'|' + chr(92) + 'Z' if ends else ''})"
            shape = charset.spelled(charset.complement(charset.normal((*first, *_NO_NAME))))
        # Before the commit of its call, a name tells the call from something else; behind one, its syntax ends it.
        offered = bool(self.predicate) or (self.ahead and not self.in_call) or not self.committed
        return NameSlot(node.dialect, offered, follow, shape)

    def param_name(self, node: Terminal, k: Continuation) -> None:
        """A property's name outside predicates: any text up to what follows; an identifier in Python."""
        if node.dialect == "python":
            self.terminal(node, op.SET, re.compile(r"[^\W\d]").match)
            self.emit(op.SPAN, re.compile(r"\w*+").match)
            return
        found = name_ends(node, listed(k), self.rules)
        self.emit(op.UNTIL, Search.of(found), None, done := Target(), Target(), None)
        self.place(done)

    def param_value(self, node: ParamValue, delimiter: Expression) -> None:
        """First a whole JSON value that the delimiter follows, where the schema allows one; else the text up to it."""
        text, done = Target(), Target()
        self.emit(op.MARK, op.TYPED_VALUE)
        self.emit(op.TYPED, text)
        self.emit(op.CHOICE, text)
        self.terminal(node, op.JSON, False)
        self.and_predicate(before_commit(delimiter, self.rules))
        self.emit(op.POP, text, done)
        self.place(text)
        self.until(delimiter)
        self.place(done)

    # -- items in any order ------------------------------------------------------------------------------------------

    def permute(self, node: Permute, k: Continuation) -> None:
        """One block of code per set of items already read; sets are bit masks."""
        singles = [item for item in node.items if not is_loop(item)]
        many = [item.item for item in node.items if isinstance(item, Repeat) and is_loop(item)]
        needed = [not (isinstance(item, Repeat) and item.min == 0) for item in singles]
        plain = [item.item if isinstance(item, Repeat) and item.min == 0 else item for item in singles]
        required = sum(1 << index for index, need in enumerate(needed) if need)
        blocks = {mask: Target() for mask in range(1 << len(plain))}
        starts = {mask: Target() for mask in range(1 << len(plain))}
        done = Target()
        rest: Continuation = (node, k)
        for separated, table in ((False, starts), (True, blocks)):
            for mask, target in table.items():
                if not separated and mask:
                    continue
                self.place(target)
                choices = [(item, mask | 1 << index) for index, item in enumerate(plain) if not mask & 1 << index]
                choices += [(item, mask) for item in many]
                for item, after in choices:
                    out = Target()
                    whole = Sequence((node.separator, item), node.span) if separated else item
                    others: list[Continuation] = [(other, rest) for other, _ in choices if other is not item]
                    if separated:
                        others = [(Sequence((node.separator, other[0]), node.span), rest) for other in others if other]
                    self.emit(op.CHOICE, out)
                    self.expression(whole, rest, [Open(out, [*others, k])])
                    self.emit(op.POP, out, blocks[after])
                    self.place(out)
                if mask & required == required:
                    self.emit(op.JUMP, done)
                else:
                    self.emit(op.FAIL)
        self.place(done)
