"""What a conjunction of schemas says about one value, keyword by keyword: the normal form that is lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite

from .automaton import Automaton
from .schema_refs import Node

#: A number is an integer or a fraction: so a type, and what a type is not, is always a set.
KINDS = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
NUMBERS = frozenset({"integer", "fraction"})
Conj = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """A lower and an upper bound of numbers, each included or not; None is none.

    >>> Bounds(Fraction(1)) & Bounds(Fraction(1), lower_open=True)
    Bounds(lower=Fraction(1, 1), lower_open=True, upper=None, upper_open=False)
    """

    lower: Fraction | None = None
    lower_open: bool = False
    upper: Fraction | None = None
    upper_open: bool = False

    def __and__(self, other: Bounds) -> Bounds:
        lowers = [(b.lower, b.lower_open) for b in (self, other) if b.lower is not None]
        uppers = [(-b.upper, b.upper_open) for b in (self, other) if b.upper is not None]
        lower, lower_open = max(lowers, default=(None, False))
        upper, upper_open = max(uppers, default=(None, False))
        return Bounds(lower, lower_open, None if upper is None else -upper, upper_open)


@dataclass(frozen=True, slots=True)
class Size:
    """A least and a largest count; ``maximum`` None is none.

    >>> Size(2) & Size(0, 5)
    Size(minimum=2, maximum=5)
    """

    minimum: int = 0
    maximum: int | None = None

    def __and__(self, other: Size) -> Size:
        maxima = [m for m in (self.maximum, other.maximum) if m is not None]
        return Size(max(self.minimum, other.minimum), min(maxima, default=None))

    def is_empty(self) -> bool:
        """Whether no count satisfies it."""
        return self.maximum is not None and self.minimum > self.maximum


@dataclass(frozen=True, slots=True)
class Fields:
    """One schema's say about the members of an object; ``rest`` None: nothing about those it does not name."""

    named: Mapping[str, Node]
    patterns: tuple[tuple[Automaton, Node], ...] = ()
    rest: Node | None = None
    #: Whether its keys count as evaluated: what stands under a ``not`` does not.
    evaluates: bool = True

    __hash__ = None  # type: ignore[assignment]  # a mapping inside


@dataclass(frozen=True, slots=True)
class Items:
    """One schema's say about the items of an array: those in front, and each that follows."""

    front: tuple[Node, ...] = ()
    rest: Node | None = None
    evaluates: bool = True


@dataclass(frozen=True, slots=True)
class Contains:
    """How many items have to satisfy a schema."""

    item: Node
    size: Size


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A conjunction. A keyword restricts values of its own type alone, so each group is independent of the others."""

    kinds: frozenset[str] = KINDS
    values: tuple[object, ...] | None = None
    excluded: tuple[object, ...] = ()
    bounds: Bounds = Bounds()
    multiples: frozenset[Fraction] = frozenset()
    not_multiples: frozenset[Fraction] = frozenset()
    length: Size = Size()
    languages: frozenset[Automaton] = frozenset()
    fields: tuple[Fields, ...] = ()
    required: tuple[str, ...] = ()
    members: Size = Size()
    names: Conj = ()
    items: tuple[Items, ...] = ()
    item_count: Size = Size()
    contains: tuple[Contains, ...] = ()
    #: Keywords that cannot be said, with the place of each, reported where their type is written.
    unsaid: tuple[tuple[str, str, Node], ...] = field(default=())

    def __and__(self, other: Facts) -> Facts:
        return Facts(
            kinds=self.kinds & other.kinds,
            values=_common(self.values, other.values),
            excluded=self.excluded + other.excluded,
            bounds=self.bounds & other.bounds,
            multiples=self.multiples | other.multiples,
            not_multiples=self.not_multiples | other.not_multiples,
            length=self.length & other.length,
            languages=self.languages | other.languages,
            fields=self.fields + other.fields,
            required=tuple(dict.fromkeys(self.required + other.required)),
            members=self.members & other.members,
            names=self.names + other.names,
            items=self.items + other.items,
            item_count=self.item_count & other.item_count,
            contains=self.contains + other.contains,
            unsaid=self.unsaid + other.unsaid,
        )

    def unseen(self) -> Facts:
        """The same where it does not count as evaluating members and items, as under ``not``."""
        fields = tuple(replace(each, evaluates=False) for each in self.fields)
        return replace(self, fields=fields, items=tuple(replace(each, evaluates=False) for each in self.items))

    def only(self, kinds: frozenset[str]) -> Facts:
        """The same about values of these kinds alone."""
        return replace(self, kinds=self.kinds & kinds)


ANYTHING = Facts()


def canonical(value: object) -> object:
    """A hashable form that is equal for equal JSON values: 1 is 1.0, and not true.

    >>> canonical(1) == canonical(1.0), canonical(1) == canonical(True)
    (True, False)
    """
    match value:
        case bool():
            return "boolean", value
        case int() | float():
            return "number", Fraction(value) if isfinite(value) else str(value)
        case dict():
            return "object", frozenset((key, canonical(item)) for key, item in value.items())
        case list() | tuple():
            return "array", tuple(canonical(item) for item in value)
        case _:
            return "scalar", value


def kind_of(value: object) -> str:
    """The kind of a JSON value.

    >>> kind_of(1.0), kind_of(1.5), kind_of([])
    ('integer', 'fraction', 'array')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "integer" if isfinite(value) and value == int(value) else "fraction"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def _common(left: tuple[object, ...] | None, right: tuple[object, ...] | None) -> tuple[object, ...] | None:
    if left is None or right is None:
        return right if left is None else left
    known = {canonical(value) for value in right}
    return tuple(value for value in left if canonical(value) in known)
