"""What may follow a text that has been written already: the derivative of lowered rules by it (Brzozowski 1964)."""

from __future__ import annotations

from typing import assert_never

from .rules import EMPTY, NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text


def derivative(expr: Expr, text: str, builder: Builder) -> Expr:
    """What must follow ``text`` so that the whole is a match of ``expr``; its rules are those of ``builder``.

    >>> derivative(Alt((Text("abc"), Text("ax"))), "ab", Builder())
    Text(text='c')
    """
    for character in text:
        expr = _by(expr, character, builder)
    return expr


def _by(expr: Expr, character: str, builder: Builder) -> Expr:
    match expr:
        case Text(text=text):
            return Text(text[1:]) if text.startswith(character) else NOTHING
        case Chars(ranges=ranges):
            return EMPTY if any(low <= ord(character) <= high for low, high in ranges) else NOTHING
        case Ref(name=name):
            return _by(builder.rules[name], character, builder)
        case Seq(items=items):
            return _sequence(items, character, builder)
        case Alt(alternatives=alternatives):
            return _any([_by(item, character, builder) for item in alternatives])
        case Rep(item=item, min=least, max=most):
            more = Rep(item, max(0, least - 1), None if most is None else most - 1)
            return _all([_by(item, character, builder), EMPTY if more.max == 0 else more])
        case _:
            assert_never(expr)


def _sequence(items: tuple[Expr, ...], character: str, builder: Builder) -> Expr:
    ways = []
    for index, item in enumerate(items):
        ways.append(_all([_by(item, character, builder), *items[index + 1 :]]))
        if not _nullable(item, builder):
            break
    return _any(ways)


def _nullable(expr: Expr, builder: Builder) -> bool:
    match expr:
        case Text(text=text):
            return not text
        case Chars():
            return False
        case Ref(name=name):
            return _nullable(builder.rules[name], builder)
        case Seq(items=items):
            return all(_nullable(item, builder) for item in items)
        case Alt(alternatives=alternatives):
            return any(_nullable(item, builder) for item in alternatives)
        case Rep(item=item, min=least):
            return least == 0 or _nullable(item, builder)
        case _:
            assert_never(expr)


def _any(ways: list[Expr]) -> Expr:
    kept = [way for way in dict.fromkeys(ways) if way != NOTHING]
    return kept[0] if len(kept) == 1 else Alt(tuple(kept))


def _all(parts: list[Expr]) -> Expr:
    if NOTHING in parts:
        return NOTHING
    kept = [part for part in parts if part != EMPTY]
    return kept[0] if len(kept) == 1 else Seq(tuple(kept)) if kept else EMPTY
