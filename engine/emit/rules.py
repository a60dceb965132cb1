"""Lowered rules: the small context-free language that every emitter prints."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Seq:
    """Items one after the other; no items is the empty match."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """Any one of the alternatives; no alternatives matches nothing."""

    alternatives: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Rep:
    """``item`` from ``min`` to ``max`` times; ``max`` None is unbounded."""

    item: Expr
    min: int
    max: int | None


Expr = Text | Chars | Ref | Seq | Alt | Rep
EMPTY = Text("")
NOTHING = Alt(())


@dataclass(frozen=True, slots=True)
class Rules:
    """A whole lowered grammar; ``root`` names its start rule."""

    rules: Mapping[str, Expr]
    root: str


class Builder:
    """Collects rules under names that every target accepts (``[a-z0-9-]``) and shares equal bodies.

    >>> builder = Builder()
    >>> builder.define("a_b", Text("x")), builder.define("other", Text("x"))
    (Ref(name='a-b'), Ref(name='a-b'))
    """

    def __init__(self) -> None:
        self.rules: dict[str, Expr] = {}
        self._by_body: dict[Expr, Ref] = {}

    def reserve(self, hint: str) -> Ref:
        """A fresh name like ``hint`` whose body `fill` gives later, for recursive rules."""
        cleaned = "".join(c if c.isascii() and c.isalnum() else "-" for c in hint.lower()).strip("-") or "rule"
        name, number = cleaned, 2
        while name in self.rules:
            name, number = f"{cleaned}-{number}", number + 1
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
