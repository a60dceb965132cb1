"""Lowered rules as EBNF, the grammar notation of xgrammar.

It differs from GBNF where it looks alike: ``\\x`` takes any number of hex digits, so only ``\\u`` and ``\\U`` are
written; there is no empty literal and no empty alternative; ``[]`` matches nothing; large bounds are fine.
"""

from __future__ import annotations

from typing import assert_never

from ..charset import Ranges
from .rules import Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text, quantifier
from .simplify import simplified


def ebnf(rules: Rules) -> str:
    """The rules as EBNF text, the start rule first and named ``root``.

    >>> print(ebnf(Rules({"main": Seq((Text("é"), Rep(Chars(((97, 99),)), 2, 9)))}, "main")), end="")
    root ::= "\\u00E9" [a-c]{2,9}
    """
    rules = simplified(rules)
    names = _names(rules)
    order = [rules.root, *(name for name in rules.rules if name != rules.root)]
    return "".join(f"{names[name]} ::= {_body(rules.rules[name], names)}\n" for name in order)


def _names(rules: Rules) -> dict[str, str]:
    """Names that begin with a letter; the start rule's is ``root``, and no other's."""
    names: dict[str, str] = {}
    for name in rules.rules:
        printed = name if name[0].isalpha() and name != "root" else f"r-{name}"
        # Another rule may be called so already.
        while printed != name and printed in rules.rules:
            printed = f"r-{printed}"
        names[name] = printed
    return names | {rules.root: "root"}


def _body(expr: Expr, names: dict[str, str]) -> str:
    match expr:
        case Alt(alternatives):
            return " | ".join(_item(alternative, names) for alternative in alternatives)
        case _:
            return _item(expr, names)


def _item(expr: Expr, names: dict[str, str]) -> str:
    match expr:
        case Text(text):
            return '"' + "".join(map(_in_literal, text)) + '"'
        case Chars(ranges):
            return _set(ranges)
        case Ref(name):
            return names[name]
        case Seq(items):
            return " ".join(_item(item, names) for item in items)
        case Alt():
            return f"({_body(expr, names)})"
        case Rep(item, minimum, maximum):
            atom = _item(item, names)
            return (f"({atom})" if isinstance(item, Seq | Rep) else atom) + quantifier(minimum, maximum)
        case _:
            assert_never(expr)


def _in_literal(character: str) -> str:
    if character in '\\"':
        return "\\" + character
    return character if 0x20 <= ord(character) < 0x7F else _code(ord(character))


def _set(ranges: Ranges) -> str:
    return "[" + "".join(_in_set(low) + ("" if low == high else f"-{_in_set(high)}") for low, high in ranges) + "]"


def _in_set(point: int) -> str:
    return chr(point) if chr(point).isascii() and chr(point).isalnum() else _code(point)


def _code(point: int) -> str:
    return "\\n" if point == 10 else f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
