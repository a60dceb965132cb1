"""The items of an array: those in front one by one, then the rest, counted where a count is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .rules import EMPTY, NOTHING, Builder, Expr, Rep
from .schema_facts import Size
from .schema_members import either, joined_all

#: Items times counted items: above this ``contains`` is not enforced.
MOST_CONTAINING_RULES = 300


@dataclass(frozen=True, slots=True)
class Layout:
    """An array's items as lowered: ``rest`` follows those in front, and is nothing if none may."""

    front: tuple[Expr, ...]
    rest: Expr
    size: Size


def item_list(layout: Layout, separator: Expr) -> tuple[Expr, bool]:
    """One or more items with separators (nothing if there is no such list), and whether there may be none."""
    front, size = layout.front, layout.size
    # An item that cannot be ends the array in front of it.
    length = next((i for i, item in enumerate(front) if item is NOTHING), len(front))
    front, rest = front[:length], NOTHING if length < len(front) else layout.rest
    further = _tail(rest, max(1, len(front)), size, separator)
    for i in range(len(front) - 1, 0, -1):
        further = _before(joined_all([separator, front[i], further]), i, size)
    first = front[0] if front else rest
    return NOTHING if size.maximum == 0 else joined_all([first, further]), size.minimum == 0


def _before(further: Expr, count: int, size: Size) -> Expr:
    """What follows ``count`` items."""
    if size.maximum is not None and count >= size.maximum:
        return EMPTY
    if count >= size.minimum:
        return EMPTY if further is NOTHING else Rep(further, 0, 1)
    return further


def _tail(rest: Expr, count: int, size: Size, separator: Expr) -> Expr:
    least = max(0, size.minimum - count)
    most = None if size.maximum is None else max(0, size.maximum - count)
    if rest is NOTHING or most == 0:
        return EMPTY if least == 0 else NOTHING
    return Rep(joined_all([separator, rest]), least, most)


@dataclass(frozen=True, slots=True)
class Counts:
    """Items with a place of their own, how many items are wanted that count, and how many there may be."""

    positions: int
    wanted: Size
    size: Size

    @property
    def most(self) -> int:
        """How many items have to be counted."""
        return max(self.positions, self.size.minimum, self.size.maximum or 0)

    @property
    def most_wanted(self) -> int:
        """How many of those that count."""
        return max(self.wanted.minimum, self.wanted.maximum or 0)

    def states(self) -> int:
        """How many states `containing_list` has at most."""
        return (1 + self.most) * (1 + self.most_wanted)


def containing_list(
    builder: Builder,
    separator: Expr,
    kinds: Callable[[int], tuple[Expr, Expr]],
    counts: Counts,
) -> tuple[Expr, bool]:
    """The same where some items have to satisfy ``contains``. ``kinds(i)``: what item i is if it does not count, if it does.

    A state is how many items are written and how many of them count, both as far as it matters.
    """
    wanted, size = counts.wanted, counts.size
    states: dict[tuple[int, int], Expr] = {}

    def may_end(count: int, hits: int) -> bool:
        return count >= size.minimum and hits >= wanted.minimum

    def state(count: int, hits: int) -> Expr:
        key = (min(count, counts.most), min(hits, counts.most_wanted))
        if key not in states:
            ref = states[key] = builder.reserve("items")
            builder.fill(ref, _further(*key))
        return states[key]

    def _further(count: int, hits: int) -> Expr:
        choices = step(count, hits)
        body = joined_all([separator, either(choices)])
        return (Rep(body, 0, 1) if body is not NOTHING else EMPTY) if may_end(count, hits) else body

    def step(count: int, hits: int) -> list[Expr]:
        if size.maximum is not None and count >= size.maximum:
            return [NOTHING]
        other, hit = kinds(count)
        choices = [joined_all([other, state(count + 1, hits)])] if other is not NOTHING else []
        # Without an upper bound it is not counted on: then an item that would count is any other.
        if hits < (wanted.minimum if wanted.maximum is None else wanted.maximum):
            choices.append(joined_all([hit, state(count + 1, hits + 1)]))
        return choices

    return either(step(0, 0)), may_end(0, 0)
