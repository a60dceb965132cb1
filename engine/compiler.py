"""Checked rules to a program: every rule that does not recurse is written out where it is used.

So each place has its own continuation, and a choice is settled as early as what has been read excludes what else could
match there (`Openings.excludes`), by what the grammar says alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import assert_never

from . import charset
from . import program as op
from .delimiters import before_commit, edge_literals, flat, openings, reached
from .fusion import Fused, Fusion
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
    walk,
)
from .openings import Continuation, Openings
from .program import NameSlot, Program, Site
from .search import Opening, Search

REGIONS = ("reasoning", "content", "tool_call")
_SPINE = 16
"""Items of an alternative looked at to settle it."""
_NO_NAME = charset.normal(tuple((ord(c), ord(c)) for c in " \t\r\n\"'<>"))
"""Characters that no tool's name holds."""


class _Target:
    """A place in the code that is not known yet."""

    __slots__ = ("pc",)

    def __init__(self) -> None:
        self.pc = -1


@dataclass(slots=True)
class _Open:
    """A choice that is open where code is being written: what has been read since, and what else could match it."""

    target: _Target
    others: list[Continuation]
    prefix: list[Expression] = field(default_factory=list)
    settled: bool = False

    def copy(self) -> _Open:
        return _Open(self.target, self.others, list(self.prefix), self.settled)


def compile_program(rules: dict[str, Rule], start: str, text_labels: frozenset[str]) -> Program:
    """The program that matches ``start``; ``text_labels`` are the labels whose text is a region of its own."""
    return _Compiler(rules, text_labels).run(start)


class _Compiler:
    def __init__(self, rules: dict[str, Rule], text_labels: frozenset[str]) -> None:
        self.rules = rules
        self.regions = text_labels | {"tool_call"}
        self.openings = Openings(rules)
        self.code: list[op.Instruction] = []
        self.names: list[NameSlot] = []
        self.shows: dict[int, str] = {}
        self.places: dict[int, Continuation] = {}
        self.choices: list[tuple[_Target, Continuation]] = []
        self.subroutines: dict[str, _Target] = {}
        self.pending: list[str] = []
        self.recursive = {name for name, rule in rules.items() if name in reached(rule.expression, rules)}
        # Labels whose text is matched again: a rule instance of its own holds each.
        self.again = {n.label for rule in rules.values() for n in walk(rule.expression) if isinstance(n, Same)}
        self.fusion = Fusion(rules, self.recursive)
        self.sites: list[Site] = []
        self.dialect = "raw"
        self.site: Site | None = None
        self.committed = False
        self.in_call = False
        self.ahead = False
        self.predicate = 0
        self.plain = False
        self.tolerating = 0
        self.text_label: Label | None = None
        span = next(iter(rules.values())).span
        self.anything: Continuation = (Until(Never(span), span), None)

    # -- the whole -------------------------------------------------------------------------------------------------

    def run(self, start: str) -> Program:
        site = self.make_site(self.rules[start], is_start=True)
        self.rule_body(self.rules[start], site, None, [])
        accept = len(self.code)
        self.emit(op.ACCEPT)
        self.emit(op.REST)
        site.recovers.append(len(self.code))
        self.recovery(site, accept)
        while self.pending:
            self.subroutine(self.pending.pop())
        for other in self.sites:
            if not other.recovers and other.scope:
                other.recovers.append(len(self.code))
                self.recovery(other, other.exits[0])
        choices = {target.pc: k for target, k in self.choices}
        return Program(tuple(map(self.resolved, self.code)), tuple(self.names), site, self.shows, self.places, choices)

    def resolved(self, instruction: op.Instruction) -> op.Instruction:
        return tuple(part.pc if isinstance(part, _Target) else part for part in instruction)

    def emit(self, *instruction: object) -> None:
        self.code.append(instruction)

    def terminal(self, node: Expression, *instruction: object) -> None:
        """Write an instruction that can fail, with the words an error uses for it."""
        # Blanks and tolerated forms are not what a model should have written; a fused pattern does not see them fail.
        if not self.tolerating and not (isinstance(node, Class) and not node.negated and charset.blank(node.ranges)):
            self.shows[len(self.code)] = shown(node)
        self.code.append(instruction)

    def place(self, target: _Target) -> None:
        target.pc = len(self.code)

    def recovery(self, site: Site, exit_: int) -> None:
        """Where the machine goes on, behind what it recovered, when ``site`` is the scope that failed."""
        if site.closers:
            texts = dict.fromkeys((*site.closers, *site.openers))
            search = Search.of([Opening(frozenset(), 0, text) for text in texts])
            self.emit(op.SKIP, search, site.closers)
        self.emit(op.RECOVERED, site)
        self.emit(op.JUMP, exit_)

    def subroutine(self, name: str) -> None:
        self.place(self.subroutines[name])
        rule = self.rules[name]
        self.committed, self.ahead, self.predicate = True, False, 0
        self.rule_body(rule, self.make_site(rule), self.anything, [])
        self.emit(op.RETURN)

    # -- rules -----------------------------------------------------------------------------------------------------

    def make_site(self, rule: Rule, is_start: bool = False) -> Site:
        own = list(walk(rule.expression))
        labels = {node.name for node in own if isinstance(node, Label)}
        commits = any(isinstance(node, Commit) for node in own)
        call = "tool_call" in labels
        marked = bool(labels & self.again) or any(isinstance(node, Same) for node in own)
        closers = edge_literals(rule.expression, self.rules, closing=True) if commits or call else ()
        starts = edge_literals(rule.expression, self.rules, closing=False) if closers else ()
        frame = bool(labels & self.regions) or marked
        site = Site(rule.name, rule.display, frame, commits or call, call, closers, starts)
        if not is_start:
            self.sites.append(site)
        return site

    def rule_body(self, rule: Rule, site: Site, k: Continuation, opened: list[_Open]) -> None:
        dialect, outer = self.dialect, self.site
        self.dialect, self.site = rule.dialect, site
        self.in_call = self.in_call and not site.call
        if site.frame or site.scope:
            self.places[len(self.code)] = (Reference(rule.name, rule.span), k)
            site.enters.append(len(self.code))
            self.emit(op.ENTER, site)
        self.expression(rule.expression, k, opened)
        if site.frame or site.scope:
            self.emit(op.EXIT, site)
            site.exits.append(len(self.code))
        self.dialect, self.site = dialect, outer

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, node: Expression, k: Continuation, opened: list[_Open]) -> None:
        match node:
            case Sequence():
                self.sequence(node, k, opened)
            case Label():
                self.label(node, k, opened)
            case Tolerate():
                self.tolerate(node, k, opened)
            case Drop(item=item):
                self.emit(op.MARK, op.DROP_OPEN)
                self.expression(item, k, opened)
                self.emit(op.MARK, op.DROP_CLOSE)
            case Reference(name=name) if name not in self.recursive:
                rule = self.rules[name]
                self.rule_body(rule, self.make_site(rule), k, opened)
            case Commit():
                self.emit(op.COMMIT, self.site)
                for choice in opened:
                    choice.settled = True
                if not self.predicate:
                    self.committed = self.in_call = True
            case Choice():
                self.choice(node, k, opened)
            case Repeat():
                self.repeat(node, k, opened)
            case _:
                self.places[len(self.code)] = (self.text_label or node, k)
                self.unit(node, k)
                self.advance(opened, node)

    def advance(self, opened: list[_Open], node: Expression) -> None:
        """``node`` has been read: settle the choices, innermost first, that it decides."""
        for choice in opened:
            choice.prefix.append(node)
        for choice in reversed(opened):
            if choice.settled:
                continue
            if len(choice.prefix) > _SPINE or not self.openings.excludes(choice.prefix, choice.others):
                return
            self.emit(op.SETTLE, choice.target)
            choice.settled = True

    def sequence(self, node: Sequence, k: Continuation, opened: list[_Open]) -> None:
        ahead = self.ahead
        rest: list[Continuation] = [k]
        for item in reversed(node.items[1:]):
            rest.append((item, rest[-1]))
        rest.reverse()
        runs = {} if self.plain else self.runs(list(node.items))
        self.plain = False
        index = 0
        while index < len(node.items):
            length, fused = runs.get(index, (1, None))
            done = self.scan(fused)
            before = [choice for choice in opened if not choice.settled]
            for at in range(index, index + length):
                self.ahead = ahead or any(self.commits(later) for later in node.items[at + 1 :])
                self.expression(node.items[at], rest[at], opened)
            self.scanned(done, before)
            index += length
        self.ahead = ahead

    def runs(self, items: list[Expression]) -> dict[int, tuple[int, Fused]]:
        """The longest runs of items that are one pattern, by where they start."""
        found: dict[int, tuple[int, Fused]] = {}
        index = 0
        while index < len(items) and not self.predicate:
            length = len(items) - index
            while length and (fused := self.fusion.fused(items[index : index + length], self.dialect)) is None:
                length -= 1
            if length and fused is not None:
                found[index] = (length, fused)
            index += max(1, length)
        return found

    def scan(self, fused: Fused | None) -> _Target | None:
        """Try a pattern first; the instructions that follow are for what it does not match."""
        if fused is None:
            return None
        done = _Target()
        self.emit(op.SCAN, fused.pattern.match, fused.slack, fused.labels, done)
        return done

    def scanned(self, done: _Target | None, opened: list[_Open]) -> None:
        """Where both ways meet: the pattern has settled nothing, so it is done here."""
        if done is None:
            return
        self.place(done)
        for choice in reversed(opened):
            if choice.settled:
                self.emit(op.SETTLE, choice.target)

    def commits(self, node: Expression) -> bool:
        """Whether ``node`` cannot match without passing a commit."""
        match node:
            case Commit():
                return True
            case Sequence(items=items):
                return any(map(self.commits, items))
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return self.commits(item)
            case Choice(alternatives=alternatives):
                return all(map(self.commits, alternatives))
            case Repeat(item=item, min=least):
                return least > 0 and self.commits(item)
            case Reference(name=name):
                return name not in self.recursive and self.commits(self.rules[name].expression)
            case _:
                return False

    def label(self, node: Label, k: Continuation, opened: list[_Open]) -> None:
        done = self.take(node)
        self.emit(op.OPEN, node.name, self.spelling(node))
        outer = self.text_label
        self.text_label = node if node.name in self.regions - {"tool_call"} else outer
        self.expression(node.item, k, opened)
        self.text_label = outer
        self.emit(op.CLOSE, node.name, node.name in self.regions)
        if done is not None:
            self.place(done)

    def take(self, node: Label) -> _Target | None:
        """Try a label whose text is one piece at once."""
        item = node.item
        while isinstance(item, Reference) and item.name not in self.recursive and not self.marked(self.rules[item.name]):
            item = self.rules[item.name].expression
        if self.predicate:
            return None
        what: object
        verify: Fused | None = None
        match item:
            case Terminal(name="TOOL_NAME"):
                how, what = op.BY_NAME, len(self.names)
            case Terminal(name="TOOL_ARGUMENTS"):
                how, what = op.BY_JSON, True
            case Until(delimiter=delimiter):
                part = before_commit(delimiter, self.rules)
                verify = None if self.is_literals(part) else self.fusion.fused([And(part, part.span)], self.dialect, 1)
                if verify is None and not self.is_literals(part):
                    return None
                how, what = op.BY_UNTIL, Search.of(openings(part, self.rules))
            case ParamValue(delimiter=delimiter):
                part = before_commit(delimiter, self.rules)
                verify = self.fusion.fused([And(part, part.span)], self.dialect, 1)
                if verify is None:
                    return None
                how, what = op.BY_VALUE, Search.of(openings(part, self.rules))
            case _:
                return None
        done = _Target()
        then = None if verify is None else (verify.pattern.match, verify.slack)
        self.emit(op.TAKE, node.name, self.spelling(node), how, what, then, done)
        return done

    def marked(self, rule: Rule) -> bool:
        """Whether the rule is a frame or a scope."""
        site = self.make_site(rule, is_start=True)
        return site.frame or site.scope

    def spelling(self, node: Label) -> str:
        """The dialect of a label's text: that of the file which says it, or which says the name it holds."""
        items = flat(node.item, self.rules)
        return items[0].dialect if len(items) == 1 and isinstance(items[0], Terminal) else self.dialect

    def tolerate(self, node: Tolerate, k: Continuation, opened: list[_Open]) -> None:
        self.tolerating += 1
        self.expression(node.item, k, opened)
        self.tolerating -= 1
        self.emit(op.MARK, op.TOLERATED)

    def choice(self, node: Choice, k: Continuation, opened: list[_Open]) -> None:
        done = _Target()
        committed = self.committed
        after: list[bool] = []
        states: list[list[_Open]] = []
        for index, alternative in enumerate(node.alternatives):
            self.committed = committed
            inner = [choice.copy() for choice in opened]
            if index + 1 == len(node.alternatives):
                self.alternative(node, alternative, k, inner)
            else:
                other = _Target()
                others: list[Continuation] = [(later, k) for later in node.alternatives[index + 1 :]]
                self.branch(alternative, k, inner, _Open(other, others), (node, k))
                self.emit(op.POP, other, done)
                self.place(other)
            after.append(self.committed)
            states.append(inner)
        self.place(done)
        self.committed = all(after)
        self.join(node, opened, states)

    def alternative(self, node: Choice, last: Expression, k: Continuation, opened: list[_Open]) -> None:
        if isinstance(last, Tolerate) and last.item == Literal("", last.item.span) and self.is_closer(node):
            self.terminal(node.alternatives[0], op.CLOSER)
            self.emit(op.MARK, op.TOLERATED)
        else:
            self.expression(last, k, opened)

    def is_closer(self, node: Choice) -> bool:
        """Whether ``tolerate("")`` at the end of ``node`` stands for a marker, not for mere blanks."""
        others = [edge_literals(item, self.rules, closing=True) for item in node.alternatives[:-1]]
        return any(others)

    def join(self, node: Expression, opened: list[_Open], states: list[list[_Open]]) -> None:
        for index, choice in enumerate(opened):
            choice.prefix.append(node)
            choice.settled = all(state[index].settled for state in states)

    def branch(self, item: Expression, k: Continuation, opened: list[_Open], own: _Open, whole: Continuation) -> None:
        """Write ``item`` as one alternative of the choice ``own``: a single test where its first literal decides."""
        self.places[len(self.code)] = whole
        self.choices.append((own.target, whole))
        first = self.first_literal(item)
        if first is not None and self.openings.excludes([first], own.others):
            self.terminal(first, op.TEST, first.text, len(first.text), own.target)
            for choice in opened:
                choice.prefix.append(first)
            own.settled = True
            self.settle_outer(opened)
            self.expression(without_first(item), k, opened)
            return
        if self.scanned_branch(item, k, opened, own):
            return
        self.emit(op.CHOICE, own.target)
        opened.append(own)
        self.expression(item, k, opened)
        opened.pop()

    def scanned_branch(self, item: Expression, k: Continuation, opened: list[_Open], own: _Open) -> bool:
        """An alternative that begins with a run of markup which excludes the others: no choice where the run is found."""
        dialect = self.dialect
        while isinstance(item, Reference) and item.name not in self.recursive and not self.marked(self.rules[item.name]):
            self.dialect = self.rules[item.name].dialect
            item = self.rules[item.name].expression
        items: list[Expression] = list(item.items) if isinstance(item, Sequence) else [item]
        run = self.runs(items).get(0)
        if run is None or not self.openings.excludes(items[: run[0]], own.others):
            self.dialect = dialect
            return False
        length, fused = run
        head, tail = Sequence(tuple(items[:length]), item.span), Sequence(tuple(items[length:]), item.span)
        done = self.scan(fused)
        before = [choice for choice in opened if not choice.settled]
        self.emit(op.CHOICE, own.target)
        opened.append(own)
        self.plain = True
        self.expression(head, (tail, k), opened)
        opened.pop()
        if not own.settled:
            self.emit(op.SETTLE, own.target)
            own.settled = True
        self.scanned(done, before)
        self.settle_outer(opened)
        self.expression(tail, k, opened)
        self.dialect = dialect
        return True

    def settle_outer(self, opened: list[_Open]) -> None:
        for choice in reversed(opened):
            if choice.settled:
                continue
            if not self.openings.excludes(choice.prefix, choice.others):
                return
            self.emit(op.SETTLE, choice.target)
            choice.settled = True

    def first_literal(self, node: Expression) -> Literal | None:
        match node:
            case Literal(text=text):
                return node if text else None
            case Sequence(items=items):
                return self.first_literal(items[0]) if items else None
            case _:
                return None

    def repeat(self, node: Repeat, k: Continuation, opened: list[_Open]) -> None:
        if (one := self.one_character(node.item)) is not None:
            self.places[len(self.code)] = (node, k)
            self.characters(node, one)
            self.advance(opened, node)
            return
        for count in range(node.min):
            self.expression(node.item, (Repeat(node.item, node.min - count - 1, node.max, node.span), k), opened)
        if node.max is None:
            self.loop(node, k, opened)
        else:
            self.optional(node, node.max - node.min, k, opened)

    def loop(self, node: Repeat, k: Continuation, opened: list[_Open]) -> None:
        top, exit_ = _Target(), _Target()
        more = node if node.min == 0 else Repeat(node.item, 0, None, node.span)
        committed = self.committed
        inner = [choice.copy() for choice in opened]
        self.place(top)
        self.branch(node.item, (more, k), inner, _Open(exit_, [k]), (more, k))
        self.emit(op.POP, exit_, top)
        self.place(exit_)
        self.committed = committed
        self.join(more, opened, [inner, opened])

    def optional(self, node: Repeat, count: int, k: Continuation, opened: list[_Open]) -> None:
        if count == 0:
            return
        out = _Target()
        rest = Repeat(node.item, 0, count - 1, node.span)
        committed = self.committed
        inner = [choice.copy() for choice in opened]
        here = Repeat(node.item, 0, count, node.span)
        self.branch(node.item, (rest, k), inner, _Open(out, [k]), (here, k))
        self.optional(node, count - 1, k, inner)
        self.emit(op.POP, out, out)
        self.place(out)
        self.committed = committed
        self.join(rest, opened, [inner, opened])

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

    # -- what is one piece for the settling of choices ----------------------------------------------------------------

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

    def routine(self, name: str) -> _Target:
        if name not in self.subroutines:
            self.subroutines[name] = _Target()
            self.pending.append(name)
        return self.subroutines[name]

    def inside_predicate(self, node: Expression) -> None:
        committed, ahead = self.committed, self.ahead
        self.predicate += 1
        self.expression(node, self.anything, [])
        self.predicate -= 1
        self.committed, self.ahead = committed, ahead

    def and_predicate(self, item: Expression) -> None:
        other, done = _Target(), _Target()
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
        other = _Target()
        self.emit(op.PREDICATE, other)
        self.inside_predicate(before_commit(item, self.rules))
        self.terminal(item, op.FAIL_TWICE)
        self.place(other)

    def until(self, delimiter: Expression) -> None:
        part = before_commit(delimiter, self.rules)
        found = openings(part, self.rules)
        verify, retry, done = _Target(), _Target(), _Target()
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
        else:
            retry.pc = -1
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
        found = openings(Sequence(tuple(listed(k)), node.span), self.rules)
        self.emit(op.UNTIL, Search.of(found), None, done := _Target(), _Target(), None)
        self.place(done)

    def param_value(self, node: ParamValue, delimiter: Expression) -> None:
        """First a whole JSON value that the delimiter follows, where the schema allows one; else the text up to it."""
        text, done = _Target(), _Target()
        self.emit(op.TYPED, text)
        self.emit(op.CHOICE, text)
        self.terminal(node, op.JSON, False)
        self.and_predicate(before_commit(delimiter, self.rules))
        self.emit(op.POP, text, done)
        self.place(text)
        self.until(delimiter)
        self.place(done)
        self.emit(op.MARK, op.TYPED_VALUE)

    def permute(self, node: Permute, k: Continuation) -> None:
        """One block of code per set of items already read; sets are bit masks."""
        singles = [item for item in node.items if not _many(item)]
        many = [item.item for item in node.items if isinstance(item, Repeat) and _many(item)]
        needed = [not (isinstance(item, Repeat) and item.min == 0) for item in singles]
        plain = [item.item if isinstance(item, Repeat) and item.min == 0 else item for item in singles]
        required = sum(1 << index for index, need in enumerate(needed) if need)
        blocks = {mask: _Target() for mask in range(1 << len(plain))}
        starts = {mask: _Target() for mask in range(1 << len(plain))}
        done = _Target()
        rest: Continuation = (node, k)
        for separated, table in ((False, starts), (True, blocks)):
            for mask, target in table.items():
                if not separated and mask:
                    continue
                self.place(target)
                choices = [(item, mask | 1 << index) for index, item in enumerate(plain) if not mask & 1 << index]
                choices += [(item, mask) for item in many]
                for item, after in choices:
                    out = _Target()
                    whole = Sequence((node.separator, item), node.span) if separated else item
                    others: list[Continuation] = [(other, rest) for other, _ in choices if other is not item]
                    if separated:
                        others = [(Sequence((node.separator, other[0]), node.span), rest) for other in others if other]
                    self.emit(op.CHOICE, out)
                    self.expression(whole, rest, [_Open(out, [*others, k])])
                    self.emit(op.POP, out, blocks[after])
                    self.place(out)
                if mask & required == required:
                    self.emit(op.JUMP, done)
                else:
                    self.emit(op.FAIL)
        self.place(done)


def _many(node: Expression) -> bool:
    """Whether ``node`` may be matched any number of times."""
    return isinstance(node, Repeat) and node.max is None


def without_first(node: Expression) -> Expression:
    """``node`` without the literal it begins with."""
    match node:
        case Sequence(items=items, span=span):
            return Sequence((without_first(items[0]), *items[1:]), span)
        case _:
            return Literal("", node.span)


def listed(k: Continuation) -> list[Expression]:
    """The expressions of a continuation in order."""
    items: list[Expression] = []
    while k is not None:
        items.append(k[0])
        k = k[1]
    return items


def shown(node: Expression) -> str:
    """How an error message names what ``node`` would match."""
    match node:
        case Literal(text=text):
            return repr(text)
        case End():
            return "the end of the output"
        case Terminal(name="TOOL_NAME"):
            return "the name of a tool"
        case Terminal(name="TOOL_ARGUMENTS"):
            return "a JSON object"
        case Terminal(name="JSON_VALUE"):
            return "a JSON value"
        case Terminal():
            return "a parameter's name"
        case Class() | Any():
            return node.span.text
        case _:
            return node.span.text
