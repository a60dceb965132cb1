"""Sets of code points as sorted, disjoint, inclusive ranges."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
ALL: Ranges = ((0, LAST),)
BLANKS = frozenset(" \t\r\n\x0b\x0c")


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same set, sorted and merged.

    >>> normal(((98, 99), (97, 97), (120, 122)))
    ((97, 99), (120, 122))
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that is not in ``ranges``.

    >>> complement(((0, 9), (20, 1114111)))
    ((10, 19),)
    """
    outside: list[tuple[int, int]] = []
    start = 0
    for low, high in normal(ranges):
        if low > start:
            outside.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        outside.append((start, LAST))
    return tuple(outside)


def overlap(one: Ranges, other: Ranges) -> bool:
    """Whether the two sets share a code point."""
    for low, high in one:
        for a, b in other:
            if low <= b and a <= high:
                return True
    return False


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The code points of both sets, which are `normal`.

    >>> intersection(((0, 9), (20, 29)), ((5, 24),))
    ((5, 9), (20, 24))
    """
    out: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            out.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def blank(ranges: Ranges) -> bool:
    """Whether the set holds blanks only."""
    return all(high - low < 32 and all(chr(c) in BLANKS for c in range(low, high + 1)) for low, high in ranges)


@lru_cache(maxsize=1024)
def spelled(ranges: Ranges) -> str:
    """The set as a character class of the `regex` and `re` modules."""
    if not ranges:
        return "(?!)"
    if ranges == ALL:
        return r"[\s\S]"
    outside = complement(ranges)
    negate = sum(high - low for low, high in outside) < sum(high - low for low, high in ranges)
    parts = [
        _point(low) if low == high else f"{_point(low)}-{_point(high)}" for low, high in (outside if negate else ranges)
    ]
    return f"[{'^' if negate else ''}{''.join(parts)}]"


def _point(code: int) -> str:
    return f"\\U{code:08x}"
