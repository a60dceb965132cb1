"""The last pass before printing: rules without what can never match, without empty rules, without unused ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from ..errors import EmitError
from .automaton_rules import sequence
from .rules import EMPTY, NOTHING, Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text


def simplified(rules: Rules) -> Rules:
    """The same language in rules that every target can load.

    >>> simplified(Rules({"root": Alt((Text("a"), Ref("x"))), "x": Seq((Text("b"), Ref("x")))}, "root"))
    Rules(rules={'root': Text(text='a')}, root='root')
    """
    used, whole = _reached(rules)
    productive = _productive(rules.rules, used)
    if rules.root not in productive:
        raise EmitError("the grammar matches no text at all: what was asked for contradicts itself")
    if whole and len(productive) == len(used):
        return Rules({name: rules.rules[name] for name in used}, rules.root)
    kept = {name: _without(rules.rules[name], productive) for name in used if name in productive}
    empty = {name for name, body in kept.items() if body == EMPTY and name != rules.root}
    if empty:
        kept = {name: _emptied(body, empty) for name, body in kept.items() if name not in empty}
    used, _ = _reached(Rules(kept, rules.root))
    return Rules({name: kept[name] for name in used}, rules.root)


def _reached(rules: Rules) -> tuple[list[str], bool]:
    """The rules that the start rule needs, in order; and whether no part of them is empty or matches nothing."""
    order, seen, whole = [rules.root], {rules.root}, True
    for name in order:
        stack = [rules.rules[name]]
        while stack:
            expr = stack.pop()
            match expr:
                case Ref(other):
                    if other not in seen:
                        seen.add(other)
                        order.append(other)
                case Text(text):
                    whole = whole and text != ""
                case Chars(ranges):
                    whole = whole and ranges != ()
                case Seq(parts) | Alt(parts):
                    whole = whole and parts != ()
                    stack += reversed(parts)
                case Rep(item, _, maximum):
                    whole = whole and maximum != 0
                    stack.append(item)
                case _:
                    assert_never(expr)
    return order, whole


def _productive(rules: Mapping[str, Expr], used: list[str]) -> set[str]:
    """The rules that match some text. Backwards, most find what they need; the rest takes another round."""
    found: set[str] = set()
    waiting = used[::-1]
    while waiting:
        left = [name for name in waiting if not _found(name, rules, found)]
        if len(left) == len(waiting):
            break
        waiting = left
    return found


def _found(name: str, rules: Mapping[str, Expr], found: set[str]) -> bool:
    if _matches(rules[name], found):
        found.add(name)
        return True
    return False


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
