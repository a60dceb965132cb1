"""Text that is read again and again: what the bound on steps per character depends on.

An attempt that reads far before its choice is settled, and then fails, is harmless if what is tried instead reads as
far. It is not in a repeat that goes on a little further and makes the same attempt again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from . import charset
from .analysis import Facts, Place, Rules, recursive_rules, sure, sure_rules
from .charset import Ranges
from .delimiters import NoLiteral, blank_run, openings, reached
from .errors import Problem
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
from .openings import Continuation, Openings


@dataclass(frozen=True, slots=True)
class Run:
    """An expression that reads on without end: over ``chars``, up to one of the literals ``stops``."""

    node: Expression
    chars: Ranges
    stops: frozenset[str]

    def covers(self, other: Run) -> bool:
        """Whether this reads on wherever ``other`` does."""
        inside = charset.overlap(charset.complement(self.chars), other.chars)
        spelled = {stop for stop in self.stops if all(charset.overlap(other.chars, ((ord(c), ord(c)),)) for c in stop)}
        return not inside and spelled <= other.stops


def report_rereads(facts: Facts) -> Iterator[Problem]:
    """In a repeat, an alternative that reads without end before it is settled, and may then begin again inside that."""
    finder = _Finder(facts.rules)
    for place in facts.places:
        for attempt, instead in _attempts(place) if place.looping or is_loop(place.node) else ():
            found = finder.reread(attempt, instead)
            if found is not None:
                note = (("this is read again for each place where the alternative begins", found.node.span),)
                help = (
                    "put ^ behind the first marker that only this alternative has, or let the text stop at that marker"
                )
                yield Problem("an alternative that may be read again and again", attempt.span, note, help)


def report_unsettled_recursion(facts: Facts) -> Iterator[Problem]:
    """Rules that come round to themselves while another alternative could read the same: twice the work each level."""
    finder = _Finder(facts.rules)
    for place in facts.places:
        for attempt, instead in _attempts(place) if isinstance(place.node, Choice) else ():
            again = finder.recursion(attempt, place.rule.name)
            rivals: list[Continuation] = [
                other for other in instead if other and finder.recursion(other[0], place.rule.name)
            ]
            if again is not None and rivals and not finder.settled(attempt, again, rivals):
                note = (("it comes round here", again.span),)
                help = "let the alternatives begin with different literals, or read what they share once, before the choice"
                yield Problem("recursion through an alternative that is not settled", attempt.span, note, help)


def _attempts(place: Place) -> Iterator[tuple[Expression, list[Continuation]]]:
    """What is tried at a choice or a repeat, and what is tried instead when it fails."""
    node = place.node
    if isinstance(node, Choice):
        for index, alternative in enumerate(node.alternatives[:-1]):
            yield alternative, [(later, place.after) for later in node.alternatives[index + 1 :]]
    elif isinstance(node, Repeat) and (node.max is None or node.min < node.max):
        yield node.item, [place.after]


class _Finder:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.openings = Openings(rules)
        self.recursive = recursive_rules(rules)
        self.always = sure_rules(rules)

    # -- reading again -----------------------------------------------------------------------------------------------

    def reread(self, attempt: Expression, instead: list[Continuation]) -> Run | None:
        """What ``attempt`` reads without end before it is settled, if it may fail then and begin again in there."""
        before: list[Expression] = []
        items = list(self.spine(attempt))
        for index, item in enumerate(items):
            if isinstance(item, Commit) or (before and self.excludes(before, instead)):
                return None
            run = self.run(item)
            if run is not None and blank_run(item, self.rules) is None:
                fails = not all(sure(later, self.always) for later in items[index + 1 :])
                again = self.begins_inside(before, run)
                return run if fails and again and not any(self.takes(other, run, before) for other in instead) else None
            before.append(item)
        return None

    def begins_inside(self, before: list[Expression], run: Run) -> bool:
        """Whether what comes before ``run`` in its alternative may stand in the text that ``run`` reads."""
        if not before or self.excludes(before, [(run.node, None)]):
            return False
        text = "".join(item.text for item in before if isinstance(item, Literal))
        plain = all(isinstance(item, Literal | And | Not) for item in before)
        return not (plain and any(stop and stop in text for stop in run.stops))

    def excludes(self, before: list[Expression], others: list[Continuation]) -> bool:
        """`Openings.excludes` for a beginning that goes on: its last character counts as well."""
        return self.openings.excludes([*before, Any(before[-1].span)], others)

    def spine(self, node: Expression) -> Iterator[Expression]:
        """The items of ``node`` one after the other, down to where it branches."""
        match node:
            case Sequence(items=items):
                for item in items:
                    yield from self.spine(item)
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                yield from self.spine(item)
            case Reference(name=name) if name not in self.recursive:
                yield from self.spine(self.rules[name].expression)
            case _:
                yield node

    def run(self, node: Expression) -> Run | None:
        """``node`` as something that reads without end."""
        match node:
            case Until(delimiter=delimiter) | ParamValue(delimiter=delimiter):
                return Run(node, charset.ALL, self.literals(delimiter))
            case Repeat(item=item, max=None):
                return self.repeated(node, item)
            case _:
                return None

    def repeated(self, node: Repeat, item: Expression) -> Run | None:
        match item:
            case Sequence(items=(Not(item=stop), rest)):
                inner = self.repeated(node, rest)
                return None if inner is None else Run(node, inner.chars, inner.stops | self.literals(stop))
            case Class(ranges=ranges, negated=negated):
                return Run(node, charset.complement(ranges) if negated else ranges, frozenset())
            case Any():
                return Run(node, charset.ALL, frozenset())
            case Reference(name=name) if name not in self.recursive:
                return self.repeated(node, self.rules[name].expression)
            case _:
                return None

    def literals(self, node: Expression) -> frozenset[str]:
        try:
            return frozenset(opening.literal for opening in openings(node, self.rules))
        except NoLiteral:
            return frozenset(("",))

    def takes(self, other: Continuation, run: Run, before: list[Expression]) -> bool:
        """Whether what is tried instead begins by reading as far as ``run``, behind what came ``before`` that."""
        passed = {item.text for item in before if isinstance(item, Literal)}
        while other is not None:
            for item in self.spine(other[0]):
                mine = self.run(item)
                if mine is not None and mine.covers(run):
                    return True
                if not self.optional(item) and not (isinstance(item, Literal) and item.text in passed):
                    return False
            other = other[1]
        return False

    def optional(self, node: Expression) -> bool:
        match node:
            case Repeat(min=least):
                return least == 0
            case And() | Not() | Commit() | Until() | ParamValue() | Permute() | Same():
                return True
            case Literal(text=text):
                return not text
            case Class() | Any() | End() | Never() | Terminal() | Choice() | Reference():
                return False
            case Sequence() | Label() | Tolerate() | Drop():
                return False
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)

    # -- recursion ---------------------------------------------------------------------------------------------------

    def recursion(self, attempt: Expression, rule: str) -> Reference | None:
        """Where ``attempt`` comes round to ``rule``, on the way before anything that could branch."""
        for item in self.spine(attempt):
            if isinstance(item, Commit):
                return None
            if isinstance(item, Reference) and rule in {item.name, *reached(item, self.rules)}:
                return item
        return None

    def settled(self, attempt: Expression, again: Reference, instead: list[Continuation]) -> bool:
        """Whether the others are out of the question where ``attempt`` has come to ``again``, or one character on."""
        before: list[Expression] = []
        for item in self.spine(attempt):
            if item is again:
                break
            before.append(item)
        if before and self.excludes(before, instead):
            return True
        mine, _ = self.openings.first((attempt, None))
        return not any(charset.overlap(mine, self.openings.first(other)[0]) for other in instead)
