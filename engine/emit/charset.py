"""Sets of code points as sorted, disjoint, inclusive ranges, built from text, and their algebra over what text can hold."""

from __future__ import annotations

from functools import lru_cache

from ..charset import LAST, Ranges, intersection, normal

#: Every code point that text can hold: surrogates are not characters and have no UTF-8 form.
ANY: Ranges = ((0, 0xD7FF), (0xE000, LAST))


def charset(*parts: str | int | tuple[str, str]) -> Ranges:
    """The characters of each string, code points, and (first, last) pairs.

    >>> charset(("a", "c"), "dx")
    ((97, 100), (120, 120))
    """
    found: list[tuple[int, int]] = []
    for part in parts:
        match part:
            case str():
                found += [(ord(c), ord(c)) for c in part]
            case int():
                found.append((part, part))
            case (first, last):
                found.append((ord(first), ord(last)))
    return normal(found)


@lru_cache(maxsize=4096)
def complement(ranges: Ranges) -> Ranges:
    """Every character that the set does not hold.

    >>> complement(((0, 0xFFFF),))
    ((65536, 1114111),)
    """
    out, position = [], 0
    for low, high in ranges:
        if position < low:
            out.append((position, low - 1))
        position = high + 1
    if position <= LAST:
        out.append((position, LAST))
    return intersection(tuple(out), ANY)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """What is in the left set alone."""
    return intersection(left, complement(right))


def contains(ranges: Ranges, point: int) -> bool:
    """Whether the set holds this code point."""
    return any(low <= point <= high for low, high in ranges)
