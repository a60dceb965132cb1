"""The last pass before printing: rules without what can never match, without empty rules, without unused ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from ..errors import EmitError
from .automaton_rules import sequence
from .rules import EMPTY, NOTHING, Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text


def simplified(rules: Rules) -> Rules:
    """The same language in rules that every target can load.

    >>> simplified(Rules({"root": Alt((Text("a"), Ref("x"))), "x": Seq((Text("b"), Ref("x")))}, "root"))
    Rules(rules={'root': Text(text='a')}, root='root')
    """
    needs, whole = _reached(rules)
    productive = _productive(rules.rules, needs, whole)
    if rules.root not in productive:
        raise EmitError("the grammar matches no text at all: what was asked for contradicts itself")
    if whole and len(productive) == len(needs):
        return Rules({name: rules.rules[name] for name in needs}, rules.root)
    kept = {name: _without(rules.rules[name], productive) for name in needs if name in productive}
    empty = {name for name, body in kept.items() if body == EMPTY and name != rules.root}
    if empty:
        kept = {name: _emptied(body, empty) for name, body in kept.items() if name not in empty}
    needs, _ = _reached(Rules(kept, rules.root))
    return Rules({name: kept[name] for name in needs}, rules.root)


def _reached(rules: Rules) -> tuple[dict[str, list[str]], bool]:
    """The rules that the start rule needs, in order, each with those it refers to; and whether no part of them is empty
    or matches nothing.
    """
    needs: dict[str, list[str]] = {rules.root: []}
    order, whole = [rules.root], True
    for name in order:
        mine = needs[name]
        stack = [rules.rules[name]]
        while stack:
            expr = stack.pop()
            if isinstance(expr, Text):
                whole = whole and expr.text != ""
            elif isinstance(expr, Ref):
                mine.append(expr.name)
                if expr.name not in needs:
                    needs[expr.name] = []
                    order.append(expr.name)
            elif isinstance(expr, Seq):
                whole = whole and expr.items != ()
                stack += expr.items[::-1]
            elif isinstance(expr, Alt):
                whole = whole and expr.alternatives != ()
                stack += expr.alternatives[::-1]
            elif isinstance(expr, Rep):
                whole = whole and expr.max != 0
                stack.append(expr.item)
            else:
                whole = whole and expr.ranges != ()
    return needs, whole


def _productive(rules: Mapping[str, Expr], needs: Mapping[str, list[str]], whole: bool) -> set[str]:
    """The rules that match some text. ``whole``: no part of one matches nothing by itself."""
    found: set[str] = set()

    def needs_no_more(name: str) -> bool:
        # Where no part matches nothing, a rule matches something as soon as all that it refers to does.
        return whole and found.issuperset(needs[name])

    left = _rounds(list(needs)[::-1], found, needs_no_more)
    _rounds(left, found, lambda name: needs_no_more(name) or _matches(rules[name], found))
    return found


def _rounds(waiting: list[str], found: set[str], is_productive: Callable[[str], bool]) -> list[str]:
    """Add what is productive to ``found``, round by round, until nothing more is; what is left."""
    while waiting:
        left = []
        for name in waiting:
            if is_productive(name):
                found.add(name)
            else:
                left.append(name)
        if len(left) == len(waiting):
            break
        waiting = left
    return waiting


def _matches(expr: Expr, productive: set[str]) -> bool:
    match expr:
        case Text():
            return True
        case Chars(ranges):
            return bool(ranges)
        case Ref(name):
            return name in productive
        case Seq(items):
            return all(_matches(item, productive) for item in items)
        case Alt(alternatives):
            return any(_matches(alternative, productive) for alternative in alternatives)
        case Rep(item, minimum, _):
            return minimum == 0 or _matches(item, productive)
        case _:
            assert_never(expr)


def _without(expr: Expr, productive: set[str]) -> Expr:
    """The expression, that matches something, without the parts that do not."""
    match expr:
        case Text() | Chars() | Ref():
            return expr
        case Seq(items):
            return sequence([_without(item, productive) for item in items])
        case Alt(alternatives):
            return choice([_without(part, productive) for part in alternatives if _matches(part, productive)])
        case Rep(item, minimum, maximum):
            return repeated(_without(item, productive), minimum, maximum) if _matches(item, productive) else EMPTY
        case _:
            assert_never(expr)


def _emptied(expr: Expr, empty: set[str]) -> Expr:
    match expr:
        case Ref(name):
            return EMPTY if name in empty else expr
        case Text() | Chars():
            return expr
        case Seq(items):
            return sequence([_emptied(item, empty) for item in items])
        case Alt(alternatives):
            return choice([_emptied(alternative, empty) for alternative in alternatives])
        case Rep(item, minimum, maximum):
            return repeated(_emptied(item, empty), minimum, maximum)
        case _:
            assert_never(expr)


def choice(alternatives: list[Expr]) -> Expr:
    """Any of the alternatives, one of them being empty written as an optional."""
    found = list(dict.fromkeys(alternatives))
    filled = [alternative for alternative in found if alternative != EMPTY]
    if not filled:
        return EMPTY if found else NOTHING
    body = filled[0] if len(filled) == 1 else Alt(tuple(filled))
    return body if len(filled) == len(found) else repeated(body, 0, 1)


def repeated(item: Expr, minimum: int, maximum: int | None) -> Expr:
    """The item so many times, in the simplest form."""
    if item == EMPTY or maximum == 0:
        return EMPTY
    if (minimum, maximum) == (1, 1):
        return item
    # An optional of what may be left out already is that.
    return (
        item
        if (minimum, maximum) == (0, 1) and isinstance(item, Rep) and item.min == 0
        else Rep(item, minimum, maximum)
    )
