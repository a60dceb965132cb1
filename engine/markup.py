"""Code that tries a run of markup, or a whole label, at once; what it does not match is read bit by bit."""

from __future__ import annotations

from . import program as op
from .delimiters import before_commit, flat, openings
from .fusion import Fused
from .nodes import And, Expression, Label, ParamValue, Reference, Sequence, Terminal, Until
from .openings import Continuation
from .search import Search
from .settling import Open, Target
from .terminals import Terminals

_LOOKED_AT = frozenset(("name", "key"))
"""Labels whose text the machine itself needs, to read on."""


class Markup(Terminals):
    """Writes the short cuts: SCAN for fused patterns, TAKE for labels whose text is one piece."""

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

    def scan(self, fused: Fused | None) -> Target | None:
        """Try a pattern first; the instructions that follow are for what it does not match."""
        if fused is None:
            return None
        done = Target()
        self.emit(op.SCAN, fused.pattern.match, fused.slack, fused.labels, done)
        return done

    def scanned(self, done: Target | None, opened: list[Open]) -> None:
        """Where both ways meet: the pattern has settled nothing, so it is done here."""
        if done is None:
            return
        self.place(done)
        for choice in reversed(opened):
            if choice.settled:
                self.emit(op.SETTLE, choice.target)

    def scanned_branch(self, item: Expression, k: Continuation, opened: list[Open], own: Open) -> bool:
        """An alternative that begins with a run of markup which excludes the others: no choice where the run is found."""
        items: list[Expression] = list(item.items) if isinstance(item, Sequence) else [item]
        run = self.runs(items).get(0)
        if run is None or not self.openings.excludes(items[: run[0]], own.others):
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
        return True

    def opened_up(self, item: Expression) -> Expression:
        """What a reference stands for, where the rule is no frame, no scope, and has no name for errors; in its dialect."""
        while isinstance(item, Reference) and item.name not in self.recursive:
            rule = self.rules[item.name]
            if rule.display or self.marked(rule):
                break
            self.dialect = rule.dialect
            item = rule.expression
        return item

    # -- labels ------------------------------------------------------------------------------------------------------

    def take(self, node: Label) -> Target | None:
        """Try a label whose text is one piece at once."""
        item = node.item
        while (
            isinstance(item, Reference) and item.name not in self.recursive and not self.marked(self.rules[item.name])
        ):
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
            case Until(delimiter=delimiter) if node.name not in _LOOKED_AT:
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
        done = Target()
        then = None if verify is None else (verify.pattern.match, verify.slack)
        self.emit(op.TAKE, node.name, self.spelling(node), how, what, then, done)
        return done

    def spelling(self, node: Label) -> str:
        """The dialect of a label's text: that of the file which says it, or which says the name it holds."""
        items = flat(node.item, self.rules)
        if len(items) == 1 and isinstance(items[0], Terminal) and items[0].name == "JSON_VALUE":
            return "json"
        return items[0].dialect if len(items) == 1 and isinstance(items[0], Terminal) else self.dialect
