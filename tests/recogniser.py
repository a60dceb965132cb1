"""A second opinion on emitted grammars: a reader of GBNF and an Earley recogniser, independent of the printers.

Adapted from the reader that was compared with llama.cpp (b11434) on 3000 random grammars without a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from chatpeg.charset import normal
from chatpeg.emit.charset import complement
from chatpeg.emit.rules import EMPTY, Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*
      | (?P<literal> "(?:[^"\\]|\\.)*" )
      | (?P<set> \[(?:[^\]\\]|\\.)*\] )
      | (?P<name> [a-zA-Z0-9-]+ )
      | (?P<define> ::= )
      | (?P<repeat> [*+?] | \{\d+(?:,\d*)?\} )
      | (?P<sign> [()|] )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([tnr\\\"\[\]-])|(\\.)|(.)", re.DOTALL
)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r"}
_LONGEST_BOUND = 2000


class GbnfError(ValueError):
    """Text that llama.cpp would refuse, or silently take for something else."""


def _characters(text: str) -> list[tuple[str, bool]]:
    """Each character, and whether it was escaped."""
    found = []
    for match in _ESCAPE.finditer(text):
        two, four, eight, short, wrong, plain = match.groups()
        if wrong:
            raise GbnfError(f"unknown escape {wrong}")
        if plain is not None:
            found.append((plain, False))
        else:
            digits = two or four or eight
            found.append((chr(int(digits, 16)) if digits else _CONTROLS.get(short, short), True))
    return found


def _set(body: str) -> Chars:
    characters = _characters(body)
    negated = bool(characters) and characters[0] == ("^", False)
    ranges, at, rest = [], 0, characters[negated:]
    if not rest:
        raise GbnfError("an empty set matches the empty text")
    while at < len(rest):
        low, at = rest[at][0], at + 1
        high = low
        if at + 1 < len(rest) and rest[at] == ("-", False):
            high, at = rest[at + 1][0], at + 2
        if high < low:
            raise GbnfError(f"the range {low!r}-{high!r} matches nothing")
        ranges.append((ord(low), ord(high)))
    return Chars(complement(normal(ranges)) if negated else normal(ranges))


class _Reader:
    def __init__(self, line: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(line):
            match = _TOKEN.match(line, at)
            if match is None:
                raise GbnfError(f"cannot read {line[at : at + 30]!r}")
            if match.lastgroup:
                self.tokens.append((match.lastgroup, match.group()))
            at = match.end()
        self.at = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def next(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def alternatives(self) -> Expr:
        found = [self.sequence()]
        while self.peek() == ("sign", "|"):
            self.next()
            found.append(self.sequence())
        return found[0] if len(found) == 1 else Alt(tuple(found))

    def sequence(self) -> Expr:
        items: list[Expr] = []
        while self.peek()[0] in {"literal", "set", "name", "repeat"} or self.peek() == ("sign", "("):
            kind, text = self.next()
            match kind:
                case "literal":
                    items.append(Text("".join(character for character, _ in _characters(text[1:-1]))))
                case "set":
                    items.append(_set(text[1:-1]))
                case "name":
                    items.append(Ref(text))
                case "repeat":
                    items.append(_repeated(items.pop(), text))
                case _:
                    items.append(self.alternatives())
                    if self.next() != ("sign", ")"):
                        raise GbnfError("a missing ')'")
        return items[0] if len(items) == 1 else Seq(tuple(items))


def _repeated(item: Expr, sign: str) -> Expr:
    if item == EMPTY:
        raise GbnfError("nothing to repeat")
    simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign)
    if simple:
        return Rep(item, *simple)
    low, comma, high = sign[1:-1].partition(",")
    least, most = int(low), int(high) if high else None if comma else int(low)
    if max(least, most or 0) > _LONGEST_BOUND:
        raise GbnfError(f"the bound in {sign} is too large")
    if most is not None and most < least:
        raise GbnfError(f"{sign} eats all memory")
    if not isinstance(item, Text | Chars | Ref) and max(least, most or 0) > 1:
        raise GbnfError(f"the repeated item of {sign} counts all its helper rules: it needs a name")
    return Rep(item, least, most)


def read_gbnf(text: str) -> Rules:
    """The rules of a GBNF text, one rule a line."""
    rules: dict[str, Expr] = {}
    for line in filter(None, text.split("\n")):
        reader = _Reader(line)
        (kind, name), define = reader.next(), reader.next()
        if kind != "name" or define[0] != "define" or name in rules:
            raise GbnfError(f"cannot read the rule {line[:40]!r}")
        rules[name] = reader.alternatives()
        if reader.peek()[0] != "end":
            raise GbnfError(f"{reader.peek()} in {line[:40]!r}")
    missing = {name for body in rules.values() for name in _references(body)} - rules.keys()
    if missing or "root" not in rules:
        raise GbnfError(f"undefined: {missing or 'root'}")
    _check_repeats(rules)
    return Rules(rules, "root")


def _references(expr: Expr) -> Iterable[str]:
    match expr:
        case Ref(name):
            yield name
        case Seq(parts) | Alt(parts):
            for part in parts:
                yield from _references(part)
        case Rep(item, _, _):
            yield from _references(item)


def _check_repeats(rules: dict[str, Expr]) -> None:
    """Nothing that may be empty is repeated, no rule begins with itself: both make llama.cpp explode."""
    nullable: set[str] = set()
    while more := {name for name, body in rules.items() if name not in nullable and _nullable(body, nullable)}:
        nullable |= more
    for name, body in rules.items():
        if any(rep.max != 1 and _nullable(rep.item, nullable) for rep in _repeats(body)):
            raise GbnfError(f"a repeat of something nullable in {name}")
        seen, stack = set(), list(_leftmost(body, nullable))
        while stack:
            first = stack.pop()
            if first == name:
                raise GbnfError(f"left recursion of {name}")
            if first not in seen:
                seen.add(first)
                stack += _leftmost(rules[first], nullable)


def _leftmost(expr: Expr, nullable: set[str]) -> Iterable[str]:
    match expr:
        case Ref(name):
            yield name
        case Alt(parts):
            for part in parts:
                yield from _leftmost(part, nullable)
        case Rep(item, _, _):
            yield from _leftmost(item, nullable)
        case Seq(items):
            for item in items:
                yield from _leftmost(item, nullable)
                if not _nullable(item, nullable):
                    break


def _repeats(expr: Expr) -> Iterable[Rep]:
    match expr:
        case Rep(item, _, _):
            yield expr
            yield from _repeats(item)
        case Seq(parts) | Alt(parts):
            for part in parts:
                yield from _repeats(part)


def _nullable(expr: Expr, known: set[str]) -> bool:
    match expr:
        case Text(text):
            return not text
        case Ref(name):
            return name in known
        case Seq(items):
            return all(_nullable(item, known) for item in items)
        case Alt(parts):
            return any(_nullable(part, known) for part in parts)
        case Rep(item, least, _):
            return least == 0 or _nullable(item, known)
        case _:
            return False


Symbol = str | int | tuple[tuple[int, int], ...]


class Recogniser:
    """Whether a text is a sentence of a grammar: plain Earley over characters, for any context-free grammar."""

    def __init__(self, grammar: str | Rules) -> None:
        rules = read_gbnf(grammar) if isinstance(grammar, str) else grammar
        self.productions: list[tuple[Symbol, tuple[Symbol, ...]]] = []
        self.by_name: dict[Symbol, list[int]] = {}
        self.fresh = 0
        for name, body in rules.rules.items():
            self._define(name, body)
        self.root = rules.root
        self.nullable: set[Symbol] = set()
        while more := {
            name
            for name, symbols in self.productions
            if name not in self.nullable and all(symbol in self.nullable for symbol in symbols)
        }:
            self.nullable |= more

    def _define(self, name: Symbol, body: Expr) -> None:
        self.by_name.setdefault(name, [])
        for part in body.alternatives if isinstance(body, Alt) else (body,):
            self._produce(name, self._symbols(part))

    def _produce(self, name: Symbol, symbols: list[Symbol]) -> None:
        self.by_name.setdefault(name, []).append(len(self.productions))
        self.productions.append((name, tuple(symbols)))

    def _name(self) -> int:
        self.fresh += 1
        return self.fresh

    def _symbols(self, expr: Expr) -> list[Symbol]:
        match expr:
            case Text(text):
                return [((ord(character), ord(character)),) for character in text]
            case Chars(ranges):
                return [ranges]
            case Ref(name):
                return [name]
            case Seq(items):
                return [symbol for item in items for symbol in self._symbols(item)]
            case Alt():
                name = self._name()
                self._define(name, expr)
                return [name]
            case Rep(item, least, most):
                return self._repeat(item, least, most)

    def _repeat(self, item: Expr, least: int, most: int | None) -> list[Symbol]:
        body = self._symbols(item)
        if most is None:
            loop = self._name()
            self._produce(loop, [])
            self._produce(loop, [loop, *body])
            return [*(body * least), loop]
        further: list[Symbol] = []
        for _ in range(most - least):
            name = self._name()
            self._produce(name, [])
            self._produce(name, [*body, *further])
            further = [name]
        return [*(body * least), *further]

    def matches(self, text: str) -> bool:
        """Whether the whole text is a sentence."""
        return self._run(text, whole=True)

    def begins(self, text: str) -> bool:
        """Whether some sentence begins with the text, if each rule matches something."""
        return self._run(text, whole=False)

    def _run(self, text: str, whole: bool) -> bool:
        columns: list[dict[Symbol, list[tuple[int, int, int]]]] = []
        items = dict.fromkeys((production, 0, 0) for production in self.by_name[self.root])
        for position in range(len(text) + 1):
            point = ord(text[position]) if position < len(text) else -1
            following = self._column(items, columns, position, point)
            if point < 0:
                return not whole or any(
                    origin == 0 and dot == len(self.productions[p][1]) and self.productions[p][0] == self.root
                    for p, dot, origin in items
                )
            if not following:
                return False
            items = following
        return False

    def _column(
        self,
        items: dict[tuple[int, int, int], None],
        columns: list[dict[Symbol, list[tuple[int, int, int]]]],
        position: int,
        point: int,
    ) -> dict[tuple[int, int, int], None]:
        following: dict[tuple[int, int, int], None] = {}
        waiting: dict[Symbol, list[tuple[int, int, int]]] = {}
        columns.append(waiting)
        work = list(items)

        def add(item: tuple[int, int, int]) -> None:
            if item not in items:
                items[item] = None
                work.append(item)

        while work:
            item = production, dot, origin = work.pop()
            name, symbols = self.productions[production]
            if dot == len(symbols):
                for p, at, start in list(columns[origin].get(name, ())):
                    add((p, at + 1, start))
                continue
            symbol = symbols[dot]
            if isinstance(symbol, tuple):
                if any(low <= point <= high for low, high in symbol):
                    following[production, dot + 1, origin] = None
                continue
            if symbol not in waiting:
                for p in self.by_name[symbol]:
                    add((p, 0, position))
            waiting.setdefault(symbol, []).append(item)
            if symbol in self.nullable:
                add((production, dot + 1, origin))
        return following
