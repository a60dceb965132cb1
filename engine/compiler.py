"""Checked rules to a program: every rule that does not recurse is written out where it is used.

So each place has its own continuation, and a choice is settled as early as what has been read excludes what else could
match there (`Openings.excludes`), by what the grammar says alone.
"""

from __future__ import annotations

from . import program as op
from .delimiters import edge_literals
from .markup import Markup
from .nodes import Choice, Commit, Drop, Expression, Label, Literal, Reference, Repeat, Rule, Sequence, Tolerate
from .openings import Continuation
from .program import Program, Site
from .search import Opening, Search
from .settling import Open, Target


def compile_program(rules: dict[str, Rule], start: str, text_labels: frozenset[str]) -> Program:
    """The program that matches ``start``; ``text_labels`` are the labels whose text is a region of its own."""
    return Compiler(rules, text_labels).run(start)


class Compiler(Markup):
    """Writes rules and the expressions that hold others; recovery and recursive rules behind them."""

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
        return tuple(part.pc if isinstance(part, Target) else part for part in instruction)

    def recovery(self, site: Site, exit_: int) -> None:
        """Where the machine goes on, behind what it recovered, when ``site`` is the scope that failed."""
        if site.closers:
            texts = dict.fromkeys((*site.closers, *site.openers))
            search = Search.of([Opening(frozenset(), 0, text) for text in texts], longest=True)
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

    def rule_body(self, rule: Rule, site: Site, k: Continuation, opened: list[Open]) -> None:
        dialect, outer = self.dialect, self.site
        self.dialect, self.site = rule.dialect, site
        self.in_call = self.in_call and not site.call
        self.beginning = rule.display or self.beginning
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

    def expression(self, node: Expression, k: Continuation, opened: list[Open]) -> None:
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

    def sequence(self, node: Sequence, k: Continuation, opened: list[Open]) -> None:
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

    def label(self, node: Label, k: Continuation, opened: list[Open]) -> None:
        done = self.take(node)
        self.emit(op.OPEN, node.name, self.spelling(node))
        outer = self.text_label
        self.text_label = node if node.name in self.regions - {"tool_call"} else outer
        self.expression(node.item, k, opened)
        self.text_label = outer
        self.emit(op.CLOSE, node.name, node.name in self.regions)
        if done is not None:
            self.place(done)

    def tolerate(self, node: Tolerate, k: Continuation, opened: list[Open]) -> None:
        self.tolerating += 1
        self.expression(node.item, k, opened)
        self.tolerating -= 1
        self.emit(op.MARK, op.TOLERATED)

    def choice(self, node: Choice, k: Continuation, opened: list[Open]) -> None:
        done = Target()
        committed = self.committed
        after: list[bool] = []
        states: list[list[Open]] = []
        for index, alternative in enumerate(node.alternatives):
            self.committed = committed
            inner = [choice.copy() for choice in opened]
            if index + 1 == len(node.alternatives):
                self.alternative(node, alternative, k, inner)
            else:
                other = Target()
                others: list[Continuation] = [(later, k) for later in node.alternatives[index + 1 :]]
                self.branch(alternative, k, inner, Open(other, others), (node, k))
                self.emit(op.POP, other, done)
                self.place(other)
            after.append(self.committed)
            states.append(inner)
        self.place(done)
        self.committed = all(after)
        self.join(node, opened, states)

    def alternative(self, node: Choice, last: Expression, k: Continuation, opened: list[Open]) -> None:
        if isinstance(last, Tolerate) and last.item == Literal("", last.item.span) and self.is_closer(node):
            self.terminal(node.alternatives[0], op.CLOSER)
            self.emit(op.MARK, op.TOLERATED)
        else:
            self.expression(last, k, opened)

    def is_closer(self, node: Choice) -> bool:
        """Whether ``tolerate("")`` at the end of ``node`` stands for a marker, not for mere blanks."""
        others = [edge_literals(item, self.rules, closing=True) for item in node.alternatives[:-1]]
        return any(others)

    def branch(self, item: Expression, k: Continuation, opened: list[Open], own: Open, whole: Continuation) -> None:
        """Write ``item`` as one alternative of the choice ``own``: a single test where its first literal decides."""
        self.places[len(self.code)] = whole
        self.choices.append((own.target, whole))
        outer = self.dialect
        item = self.opened_up(item)
        first = self.first_literal(item)
        if first is not None and self.openings.excludes([first], own.others):
            self.terminal(first, op.TEST, first.text, len(first.text), own.target)
            for choice in opened:
                choice.prefix.append(first)
            own.settled = True
            self.settle_outer(opened)
            self.expression(without_first(item), k, opened)
        elif not self.scanned_branch(item, k, opened, own):
            self.emit(op.CHOICE, own.target)
            opened.append(own)
            self.expression(item, k, opened)
            opened.pop()
        self.dialect = outer

    def first_literal(self, node: Expression) -> Literal | None:
        match node:
            case Literal(text=text):
                return node if text else None
            case Sequence(items=items):
                return self.first_literal(items[0]) if items else None
            case _:
                return None

    def repeat(self, node: Repeat, k: Continuation, opened: list[Open]) -> None:
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

    def loop(self, node: Repeat, k: Continuation, opened: list[Open]) -> None:
        top, exit_ = Target(), Target()
        more = node if node.min == 0 else Repeat(node.item, 0, None, node.span)
        committed = self.committed
        inner = [choice.copy() for choice in opened]
        self.place(top)
        self.branch(node.item, (more, k), inner, Open(exit_, [k]), (more, k))
        self.emit(op.POP, exit_, top)
        self.place(exit_)
        self.committed = committed
        self.join(more, opened, [inner, opened])

    def optional(self, node: Repeat, count: int, k: Continuation, opened: list[Open]) -> None:
        if count == 0:
            return
        out = Target()
        rest = Repeat(node.item, 0, count - 1, node.span)
        committed = self.committed
        inner = [choice.copy() for choice in opened]
        here = Repeat(node.item, 0, count, node.span)
        self.branch(node.item, (rest, k), inner, Open(out, [k]), (here, k))
        self.optional(node, count - 1, k, inner)
        self.emit(op.POP, out, out)
        self.place(out)
        self.committed = committed
        self.join(rest, opened, [inner, opened])


def without_first(node: Expression) -> Expression:
    """``node`` without the literal it begins with."""
    match node:
        case Sequence(items=items, span=span):
            return Sequence((without_first(items[0]), *items[1:]), span)
        case _:
            return Literal("", node.span)
