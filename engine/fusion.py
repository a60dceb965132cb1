"""Runs of markup as one pattern: tried first, so that canonical text costs one step; what it does not match is read one
instruction at a time.

A pattern stands for its expressions exactly: it is atomic, and fails wherever a tolerated form would be taken. Two things
keep it from being seen (DESIGN P1): it counts only when ``slack`` more characters are there, more than it can have looked
at behind its end; and an alternative that can fail behind its first terminal is not part of it, so that the failure point
is the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from . import charset
from .delimiters import Rules
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
)

_FAILS = "(?!)"
_CAPTURES = ("key", "id")
_LONGEST = 400


class NotRegular(Exception):
    """An expression that is no part of a fused pattern."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A compiled pattern: how many characters must follow its match, and the labels of its groups with their dialects."""

    pattern: re.Pattern[str]
    slack: int
    labels: tuple[tuple[str, str], ...]


class Mode(Enum):
    """What a failure of the pattern means: READ, nothing, the instructions decide; TEST, that an alternative fails, so it
    must not look far; MAY, nothing, a predicate that may hold; MUST, that a predicate does not hold, so it is exact.
    """

    READ = 0
    TEST = 1
    MAY = 2
    MUST = 3


class Fusion:
    """Fuses expressions of one rule table."""

    def __init__(self, rules: Rules, recursive: frozenset[str]) -> None:
        self.rules = rules
        self.recursive = recursive
        self.slack = 0
        self.terminals = 0
        self.labels: list[tuple[str, str]] = []

    def fused(self, items: list[Expression], dialect: str, least: int = 2) -> Fused | None:
        """The items in a row as one pattern; None if they are not regular or fewer than ``least`` terminals."""
        self.slack, self.terminals, self.labels = 1, 0, []
        try:
            source = self.row(items, dialect, Mode.READ)
        except NotRegular:
            return None
        if self.terminals < least or self.slack > _LONGEST or source == _FAILS:
            return None
        return Fused(re.compile(source), self.slack, tuple(self.labels))

    def pattern(self, node: Expression, dialect: str, mode: Mode) -> str:
        """``node`` as pattern source."""
        match node:
            case Literal(text=text):
                self.count(len(text))
                return re.escape(text)
            case Class() | Any():
                self.count(1)
                return charset.spelled(_ranges(node))
            case Sequence(items=items):
                return self.row(list(items), dialect, mode)
            case Choice():
                return self.choice(node, dialect, mode)
            case Repeat():
                return self.repeat(node, dialect, mode)
            case And(item=item):
                return f"(?={self.pattern(item, dialect, Mode.MUST if mode is Mode.MUST else Mode.MAY)})"
            case Not(item=item):
                return f"(?!{self.pattern(item, dialect, Mode.MUST)})"
            case Reference(name=name) if name not in self.recursive:
                rule = self.rules[name]
                return self.pattern(rule.expression, rule.dialect, mode)
            case Label(name=name, item=item) if name in _CAPTURES and mode is Mode.READ:
                return self.label(name, item, dialect)
            case Label(item=item) if mode in (Mode.MAY, Mode.MUST):
                return self.pattern(item, dialect, mode)
            case Until(delimiter=Literal(text=text)) if text and mode is Mode.READ:
                return self.until(text)
            case Tolerate(item=item) if mode in (Mode.MAY, Mode.MUST):
                return self.pattern(item, dialect, mode)
            case End() if mode is Mode.MUST:
                raise NotRegular
            case End() | Tolerate() | Never():
                return _FAILS
            case (
                Label()
                | Until()
                | Commit()
                | Drop()
                | Permute()
                | Same()
                | Terminal()
                | ParamValue()
                | Reference()
                | Call()
            ):
                raise NotRegular
            case _:
                assert_never(node)

    def row(self, items: list[Expression], dialect: str, mode: Mode) -> str:
        """Items in a row; a parameter's name runs to the literal behind it."""
        parts: list[str] = []
        for index, item in enumerate(items):
            behind = items[index + 1] if index + 1 < len(items) else None
            spelled = _parameter_dialect(item)
            if spelled is not None and isinstance(behind, Literal) and behind.text and mode is Mode.READ:
                self.labels.append(("key", spelled))
                parts.append(f"({self.until(behind.text)})")
            else:
                parts.append(self.pattern(item, dialect, mode))
        return "".join(parts)

    def count(self, size: int) -> None:
        self.slack += size
        self.terminals += bool(size)

    def choice(self, node: Choice, dialect: str, mode: Mode) -> str:
        if mode is Mode.MAY:
            return self.any_of(node, dialect)
        parts: list[str] = []
        for alternative in node.alternatives:
            last = alternative is node.alternatives[-1]
            parts.append(self.pattern(alternative, dialect, mode if last or mode is Mode.MUST else Mode.TEST))
            if mode is not Mode.MUST and not self.single(alternative):
                break
        return f"(?>{'|'.join(parts)})" if len(parts) > 1 else parts[0]

    def any_of(self, node: Choice, dialect: str) -> str:
        """A predicate holds when one alternative matches; those that are not regular are left to the instructions."""
        parts: list[str] = []
        for alternative in node.alternatives:
            slack, terminals, labels = self.slack, self.terminals, len(self.labels)
            try:
                parts.append(self.pattern(alternative, dialect, Mode.MAY))
            except NotRegular:
                self.slack, self.terminals = slack, terminals
                del self.labels[labels:]
        return f"(?>{'|'.join(parts)})" if parts else _FAILS

    def single(self, node: Expression) -> bool:
        """Whether ``node`` is one terminal: where it fails is where it began."""
        match node:
            case Literal() | Class() | Any() | End() | And() | Not():
                return True
            case Reference(name=name):
                return name not in self.recursive and self.single(self.rules[name].expression)
            case _:
                return False

    def repeat(self, node: Repeat, dialect: str, mode: Mode) -> str:
        if isinstance(node.item, Tolerate) and mode in (Mode.READ, Mode.TEST):
            return self.untolerated(node.item.item, dialect) if node.min == 0 else _FAILS
        one = self.one_character(node.item)
        if not one and (mode is not Mode.MAY or node.max is None):
            raise NotRegular
        item = _grouped(self.pattern(node.item, dialect, mode))
        if node.max is None:
            if mode in (Mode.TEST, Mode.MUST):
                raise NotRegular
            return f"{item}{{{node.min},}}+"
        self.slack += node.max
        return f"{item}{{{node.min},{node.max}}}+"

    def untolerated(self, node: Expression, dialect: str) -> str:
        """That a tolerated form which may be missing is missing."""
        shortest = _shortest(node)
        if not self.single(shortest) and not (isinstance(shortest, Repeat) and self.one_character(shortest.item)):
            raise NotRegular
        return f"(?!{self.pattern(shortest, dialect, Mode.MUST)})"

    def one_character(self, node: Expression) -> bool:
        """Whether ``node`` is one character of a class: repeated, it cannot fail half-way."""
        match node:
            case Class() | Any():
                return True
            case Literal(text=text):
                return len(text) == 1
            case Reference(name=name):
                return name not in self.recursive and self.one_character(self.rules[name].expression)
            case _:
                return False

    def label(self, name: str, item: Expression, dialect: str) -> str:
        self.labels.append((name, dialect))
        inner = item.item if isinstance(item, Repeat) and item.max is None else item
        if isinstance(inner, Class | Any) and isinstance(item, Repeat):
            self.count(1)
            return f"({charset.spelled(_ranges(inner))}{{{item.min},}}+)"
        raise NotRegular

    def until(self, text: str) -> str:
        self.count(1)
        return _up_to(text)


def _parameter_dialect(node: Expression) -> str | None:
    """The dialect of ``key:PARAM_NAME``, if the name may be any text in it; None for any other expression."""
    match node:
        case Label(name="key", item=Terminal(name="PARAM_NAME", dialect=dialect)) if dialect != "python":
            return dialect
        case _:
            return None


def _up_to(text: str) -> str:
    if len(text) == 1:
        return f"[^{re.escape(text)}]*+"
    first = re.escape(text[0])
    return f"(?:[^{first}]++|(?!{re.escape(text)}){first})*+"


def _shortest(node: Expression) -> Expression:
    """An expression that matches where ``node`` does, and looks no further than it must."""
    return Repeat(node.item, node.min, node.min, node.span) if isinstance(node, Repeat) and node.max is None else node


def _grouped(source: str) -> str:
    return (
        source
        if len(source) == 1 or (source.startswith("[") and source.endswith("]") and source.count("[") == 1)
        else f"(?:{source})"
    )


def _ranges(node: Class | Any) -> charset.Ranges:
    if isinstance(node, Any):
        return charset.ALL
    return charset.complement(node.ranges) if node.negated else node.ranges
