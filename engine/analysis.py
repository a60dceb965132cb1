"""What the expressions of a grammar can do whatever the text: match nothing, never fail, come round to themselves.

`places` walks a grammar as the compiler writes it out: rules that do not recurse are visited at each place they are
used, so every place knows what follows it and which labels it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from .delimiters import NoLiteral, before_commit, openings, reached
from .loader import Loaded
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
)
from .openings import Continuation

Rules = dict[str, Rule]


def nullable_rules(rules: Rules) -> frozenset[str]:
    """The rules that may match without consuming a character."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, rule in rules.items() if nullable(rule.expression, found))
        if more == found:
            return found
        found = more


def nullable(node: Expression, rules: frozenset[str]) -> bool:
    """Whether ``node`` may match without consuming a character, if just ``rules`` may."""
    match node:
        case Literal(text=text):
            return not text
        case Class() | Any() | Never() | Not(item=Literal(text="")):
            return False
        case End() | And() | Not() | Commit() | Until() | ParamValue() | Same():
            return True
        case Terminal(name=name, dialect=dialect):
            return name == "PARAM_NAME" and dialect != "python"
        case Sequence(items=items) | Permute(items=items):
            return all(nullable(item, rules) for item in items)
        case Choice(alternatives=alternatives):
            return any(nullable(item, rules) for item in alternatives)
        case Repeat(item=item, min=least):
            return least == 0 or nullable(item, rules)
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            return nullable(item, rules)
        case Reference(name=name):
            return name in rules
        case Call():
            raise AssertionError("calls are expanded by the loader")
        case _:
            assert_never(node)


def sure_rules(rules: Rules) -> frozenset[str]:
    """The rules that match whatever the text is."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, rule in rules.items() if sure(rule.expression, found))
        if more == found:
            return found
        found = more


def sure(node: Expression, rules: frozenset[str]) -> bool:
    """Whether ``node`` matches whatever the text is, if just ``rules`` do."""
    match node:
        case Literal(text=text):
            return not text
        case Commit() | Until() | ParamValue():
            return True
        case Class() | Any() | Never() | End() | And() | Not() | Same() | Terminal() | Permute():
            return False
        case Sequence(items=items):
            return all(sure(item, rules) for item in items)
        case Choice(alternatives=alternatives):
            return any(sure(item, rules) for item in alternatives)
        case Repeat(item=item, min=least):
            return least == 0 or sure(item, rules)
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            return sure(item, rules)
        case Reference(name=name):
            return name in rules
        case Call():
            raise AssertionError("calls are expanded by the loader")
        case _:
            assert_never(node)


def leftmost(node: Expression, empty: frozenset[str]) -> Iterator[Reference]:
    """The references that ``node`` may follow before it has consumed a character; ``empty`` are the nullable rules."""
    match node:
        case Reference():
            yield node
        case Sequence(items=items):
            for item in items:
                yield from leftmost(item, empty)
                if not nullable(item, empty):
                    return
        case Choice(alternatives=items) | Permute(items=items):
            for item in items:
                yield from leftmost(item, empty)
        case (
            Repeat(item=item)
            | And(item=item)
            | Not(item=item)
            | Label(item=item)
            | Tolerate(item=item)
            | Drop(item=item)
        ):
            yield from leftmost(item, empty)
        case Until(delimiter=delimiter) | ParamValue(delimiter=delimiter):
            yield from leftmost(delimiter, empty)
        case Literal() | Class() | Any() | End() | Never() | Commit() | Same() | Terminal():
            return
        case Call():
            raise AssertionError("calls are expanded by the loader")
        case _:
            assert_never(node)


def recursive_rules(rules: Rules) -> frozenset[str]:
    """The rules that refer to themselves, directly or through others."""
    return frozenset(name for name, rule in rules.items() if name in reached(rule.expression, rules))


@dataclass(frozen=True, slots=True)
class Place:
    """One use of an expression: what follows it, the labels around it (outermost first), and the rule it stands in.

    ``sheltered`` is text that nobody needs: inside a predicate, a delimiter or a ``drop``. ``looping`` says that an
    unbounded repeat comes round to it.
    """

    node: Expression
    after: Continuation
    labels: tuple[str, ...]
    rule: Rule
    sheltered: bool = False
    looping: bool = False

    def at(self, node: Expression, after: Continuation) -> Place:
        return replace(self, node=node, after=after)


def places(rules: Rules, roots: Iterable[str]) -> Iterator[Place]:
    """Every place of the grammar; a recursive rule is entered once. ``roots`` are the start rule and what follows it."""
    walk = _Walk(rules)
    for name in roots:
        if name not in walk.entered:
            walk.entered.add(name)
            yield from walk.below(Place(rules[name].expression, None, (), rules[name]))


class _Walk:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.recursive = recursive_rules(rules)
        self.entered: set[str] = set()
        span = next(iter(rules.values())).span
        self.anything: Continuation = (Until(Never(span), span), None)

    def below(self, place: Place) -> Iterator[Place]:
        yield place
        after = place.after
        match place.node:
            case Sequence(items=items):
                yield from self.items(place, items, after)
            case Choice(alternatives=alternatives):
                for item in alternatives:
                    yield from self.below(place.at(item, after))
            case Repeat() as node:
                yield from self.repeat(place, node)
            case Label(item=item, name=name):
                yield from self.below(replace(place.at(item, after), labels=(*place.labels, name)))
            case Tolerate(item=item):
                yield from self.below(place.at(item, after))
            case Drop(item=item):
                yield from self.below(replace(place.at(item, after), sheltered=True))
            case And(item=item) | Not(item=item):
                yield from self.below(replace(place.at(item, self.anything), sheltered=True))
            case Until(delimiter=delimiter) | ParamValue(delimiter=delimiter):
                yield from self.delimiter(place, delimiter)
            case Permute(separator=separator, items=items) as node:
                for item in (separator, *items):
                    yield from self.below(place.at(item, (node, after)))
            case Reference(name=name):
                yield from self.reference(place, name)
            case Literal() | Class() | Any() | End() | Never() | Commit() | Same() | Terminal():
                return
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(place.node)

    def items(self, place: Place, items: tuple[Expression, ...], after: Continuation) -> Iterator[Place]:
        if not items:
            return
        rest = [after]
        for item in reversed(items[1:]):
            rest.append((item, rest[-1]))
        for item, following in zip(items, reversed(rest), strict=True):
            yield from self.below(place.at(item, following))

    def repeat(self, place: Place, node: Repeat) -> Iterator[Place]:
        many = node.max is None
        more = replace(node, min=0) if many else node
        after = (more, place.after) if many or node.max != 1 else place.after
        yield from self.below(replace(place.at(node.item, after), looping=place.looping or many))

    def delimiter(self, place: Place, delimiter: Expression) -> Iterator[Place]:
        try:
            part = before_commit(delimiter, self.rules)
        except RecursionError:
            return
        yield from self.below(replace(place.at(part, self.anything), sheltered=True))

    def reference(self, place: Place, name: str) -> Iterator[Place]:
        rule = self.rules[name]
        if name not in self.recursive:
            self.entered.add(name)
            yield from self.below(replace(place.at(rule.expression, place.after), rule=rule))
        elif name not in self.entered:
            self.entered.add(name)
            inside = Place(rule.expression, self.anything, place.labels, rule, place.sheltered, looping=True)
            yield from self.below(inside)


def opening_literals(node: Expression, rules: Rules) -> tuple[str, ...] | NoLiteral:
    """The literals that ``node`` begins with, or where it begins with something else."""
    try:
        return tuple(opening.literal for opening in openings(node, rules))
    except NoLiteral as failure:
        return failure


@dataclass(frozen=True, slots=True)
class Facts:
    """A loaded grammar and what the checks look at; ``library``: its rules are for others to use, in any label."""

    loaded: Loaded
    rules: Rules
    places: tuple[Place, ...]
    empty: frozenset[str]
    library: bool


def facts(loaded: Loaded, library: bool) -> Facts:
    """What is known of ``loaded``; its rules must not be left-recursive."""
    rules = dict(loaded.rules)
    roots = [loaded.start, *loaded.triggers, *(rules if library else ())]
    return Facts(loaded, rules, tuple(places(rules, roots)), nullable_rules(rules), library)
