"""Lowered rules as GBNF, the grammar notation of llama.cpp.

Its traps, each measured (b11434): a bound above 2000 silently becomes none and a repeated group is counted with
its helper rules, so bounds are split and repeated groups named; names have no underscore; ``[]`` matches the
empty text; ``^`` has no escape; only ``\\xHH``, ``\\uHHHH`` and ``\\UHHHHHHHH`` write code points.
"""

from __future__ import annotations

from functools import lru_cache

from ..charset import Ranges
from .rules import Alt, Builder, Chars, Expr, Ref, Rep, Rules, Seq, Text, quantifier
from .simplify import simplified

#: The largest bound that is written as such; above it counts are made of blocks of this many.
BLOCK = 1000


def gbnf(rules: Rules) -> str:
    """The rules as GBNF text, the start rule first and named ``root``.

    >>> print(gbnf(Rules({"main": Alt((Text('"'), Rep(Chars(((48, 57),)), 1, None)))}, "main")), end="")
    root ::= "\\"" | [0-9]+
    """
    return _Printer(simplified(rules)).text()


class _Printer:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.builder = Builder()
        # Rules of our own must not meet theirs, and no other rule may be called root.
        self.builder.rules.update(rules.rules)
        self.names = {name: name for name in rules.rules}
        if "root" in self.names and rules.root != "root":
            self.names["root"] = self.builder.reserve("root").name
        self.names[rules.root] = "root"
        self.literals: dict[str, str] = {}

    def text(self) -> str:
        order = [self.rules.root, *(name for name in self.rules.rules if name != self.rules.root)]
        lines = [f"{self.names[name]} ::= {self.body(self.rules.rules[name])}" for name in order]
        printed = set(self.rules.rules)
        # Printing a body may define further rules, those again.
        while more := [name for name in self.builder.rules if name not in printed and name not in self.names.values()]:
            for name in more:
                printed.add(name)
                lines.append(f"{name} ::= {self.body(self.builder.rules[name])}")
        return "\n".join(lines) + "\n"

    def body(self, expr: Expr) -> str:
        """An expression where choices need no parentheses."""
        if isinstance(expr, Alt):
            return " | ".join([self.item(alternative) for alternative in expr.alternatives])
        return self.item(expr)

    def item(self, expr: Expr) -> str:
        if isinstance(expr, Text):
            if expr.text not in self.literals:
                self.literals[expr.text] = _literal(expr.text)
            return self.literals[expr.text]
        if isinstance(expr, Ref):
            return self.names.get(expr.name, expr.name)
        if isinstance(expr, Seq):
            return " ".join([self.item(item) for item in expr.items]) if expr.items else '""'
        if isinstance(expr, Rep):
            return self.repeat(expr.item, expr.min, expr.max)
        return f"({self.body(expr)})" if isinstance(expr, Alt) else _set(expr.ranges)

    def repeat(self, item: Expr, minimum: int, maximum: int | None) -> str:
        last = minimum if maximum is None else maximum
        if last > BLOCK:
            return self.item(self._blocks(item, minimum, maximum))
        atom = self.atom(item if last <= 1 else self._named(item))
        return atom + quantifier(minimum, maximum)

    def atom(self, expr: Expr) -> str:
        match expr:
            case Seq() | Rep():
                return f"({self.item(expr)})"
            case _:
                return self.item(expr)

    def _named(self, item: Expr) -> Expr:
        # A group counts all its helper rules, times the bound: a name counts one.
        return item if isinstance(item, Text | Chars | Ref) else self.builder.define("item", item)

    def _blocks(self, item: Expr, minimum: int, maximum: int | None) -> Expr:
        """The same count from blocks: some whole ones, then what is left, which decides how many."""
        item = self._named(item)
        block = self.builder.define("block", Rep(item, BLOCK, BLOCK))
        whole, rest = divmod(minimum, BLOCK)
        needed: list[Expr] = [self._whole_blocks(block, whole)] if whole else []
        if rest:
            needed.append(Rep(item, rest, rest))
        if maximum is None:
            return Seq((*needed, Rep(item, 0, None)))
        blocks, rest = divmod(maximum - minimum, BLOCK)
        body: Expr = Rep(item, 0, rest) if rest else Text("")
        for _ in range(blocks):
            # Fewer than a block, or a whole block and then as many as are left.
            body = self.builder.define(
                "up-to", Alt((Rep(item, 0, BLOCK - 1), Seq((block, body)) if body != Text("") else block))
            )
        return Seq((*needed, body)) if needed else body

    def _whole_blocks(self, block: Expr, count: int) -> Expr:
        return block if count == 1 else Rep(block, count, count)


_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"'})


def _literal(text: str) -> str:
    escaped = text.translate(_ESCAPED)
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else _code(ord(c)) for c in escaped)
    return f'"{escaped}"'


@lru_cache(maxsize=1024)
def _set(ranges: Ranges) -> str:
    return (
        "["
        + "".join(
            _in_set(low) + ("" if low == high else "-" * (high > low + 1) + _in_set(high)) for low, high in ranges
        )
        + "]"
    )


def _in_set(point: int) -> str:
    character = chr(point)
    if character in "\\]-[":
        return "\\" + character
    return character if 0x20 < point < 0x7F and character != "^" else _code(point)


def _code(point: int) -> str:
    if point < 0x100:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
