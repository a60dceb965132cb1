"""Lowered rules: the small context-free language that every emitter prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Exactly this text. E.g. ``"<tool_call>"``; ``""`` is the empty match."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of the sorted, disjoint, inclusive code point ranges (never negated, never a surrogate)."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """The rule of that name."""

    name: str


class Hashed:
    """An expression that keeps its hash: it is that of all that is below."""

    __slots__ = ("kept",)
    kept: int


@dataclass(frozen=True, slots=True)
class Seq(Hashed):
    """Items one after the other; no items is the empty match."""

    items: tuple[Expr, ...]

    def __hash__(self) -> int:
        return _hash(self, self.items)


@dataclass(frozen=True, slots=True)
class Alt(Hashed):
    """Any one of the alternatives; no alternatives matches nothing."""

    alternatives: tuple[Expr, ...]

    def __hash__(self) -> int:
        return _hash(self, self.alternatives)


@dataclass(frozen=True, slots=True)
class Rep(Hashed):
    """``item`` from ``min`` to ``max`` times; ``max`` None is unbounded."""

    item: Expr
    min: int
    max: int | None

    def __hash__(self) -> int:
        return _hash(self, (self.item, self.min, self.max))


def _hash(expr: Hashed, parts: tuple[object, ...]) -> int:
    try:
        return expr.kept
    except AttributeError:
        found = hash((type(expr), parts))
        object.__setattr__(expr, "kept", found)
        return found


Expr = Text | Chars | Ref | Seq | Alt | Rep
EMPTY = Text("")
NOTHING = Alt(())
_UNNAMEABLE = re.compile("[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class Rules:
    """A whole lowered grammar; ``root`` names its start rule."""

    rules: Mapping[str, Expr]
    root: str


def quantifier(minimum: int, maximum: int | None) -> str:
    """How often, as all targets write it.

    >>> quantifier(0, None), quantifier(2, None), quantifier(3, 3), quantifier(0, 4)
    ('*', '{2,}', '{3}', '{0,4}')
    """
    match minimum, maximum:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case low, None:
            return f"{{{low},}}"
        case low, high:
            return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


class Builder:
    """Collects rules under names that every target accepts (``[a-z0-9-]``) and shares equal bodies.

    >>> builder = Builder()
    >>> builder.define("a_b", Text("x")), builder.define("other", Text("x"))
    (Ref(name='a-b'), Ref(name='a-b'))
    """

    def __init__(self) -> None:
        self.rules: dict[str, Expr] = {}
        self._by_body: dict[Expr, Ref] = {}
        #: Per name, the number to try first: all below it are taken.
        self._numbers: dict[str, int] = {}

    def reserve(self, hint: str) -> Ref:
        """A fresh name like ``hint`` whose body `fill` gives later, for recursive rules."""
        cleaned = _UNNAMEABLE.sub("-", hint.lower()).strip("-") or "rule"
        name, number = cleaned, self._numbers.get(cleaned, 2)
        while name in self.rules:
            name, number = f"{cleaned}-{number}", number + 1
        self._numbers[cleaned] = number
        self.rules[name] = NOTHING
        return Ref(name)

    def fill(self, ref: Ref, body: Expr) -> None:
        """Give a reserved rule its body."""
        self.rules[ref.name] = body

    def define(self, hint: str, body: Expr) -> Ref:
        """The rule with this body: an existing one that is equal, or a new one named like ``hint``."""
        known = self._by_body.get(body)
        if known is None:
            known = self.reserve(hint)
            self.fill(known, body)
            self._by_body[body] = known
        return known
