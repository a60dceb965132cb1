"""Numbers as regular languages: bounds, multiples and kinds, over the digits in which they are written.

A restricted number is written without exponent. The state of a comparison is how many digits were read and
how they compare to the bound's, so its automaton is as long as the bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from .automaton import Automaton, TooLarge, explore, lengths, nothing, text
from .charset import charset
from .nfa import compiled, concat
from .rules import Alt, Chars, Expr, Rep, Seq, Text
from .schema_facts import NUMBERS, Bounds

DIGIT, NONZERO = Chars(charset(("0", "9"))), Chars(charset(("1", "9")))
#: Longer runs of digits say nothing that a double holds, and a sampler may never leave them.
INTEGER_DIGITS, FRACTION_DIGITS, EXPONENT_DIGITS = 20, 17, 3
LARGEST_DIVISOR = 600

_MINUS = Rep(Text("-"), 0, 1)
_WHOLE = Alt((Text("0"), Seq((NONZERO, Rep(DIGIT, 0, INTEGER_DIGITS - 1)))))
_FRACTION = Seq((Text("."), Rep(DIGIT, 1, FRACTION_DIGITS)))
_EXPONENT = Seq((Chars(charset("eE")), Rep(Chars(charset("+-")), 0, 1), Rep(DIGIT, 1, EXPONENT_DIGITS)))
INTEGER: Expr = Alt((Text("0"), Seq((_MINUS, NONZERO, Rep(DIGIT, 0, INTEGER_DIGITS - 1)))))
NUMBER: Expr = Seq((_MINUS, _WHOLE, Rep(_FRACTION, 0, 1), Rep(_EXPONENT, 0, 1)))

#: Numbers that a double holds exactly enough to be divided: who checks them will do it in doubles.
_EXACT = compiled(Seq((Rep(DIGIT, 1, 15), Rep(Seq((Text("."), Rep(DIGIT, 1, FRACTION_DIGITS))), 0, 1))))
_DIGITS = [(48 + digit, 48 + digit, digit) for digit in range(10)]
_DOT = ord(".")
State = tuple[str, int, int]


@lru_cache(maxsize=512)
def number(
    bounds: Bounds, multiples: frozenset[Fraction], not_multiples: frozenset[Fraction], kinds: frozenset[str]
) -> Automaton:
    """The written numbers of the given kinds that satisfy the bounds and divisors.

    >>> few = number(Bounds(Fraction(-1), True, Fraction(12)), frozenset(), frozenset(), frozenset({"integer"}))
    >>> [few.matches(t) for t in ("-1", "0", "12", "13", "07", "1.5")]
    [False, True, True, False, False, False]
    """
    divisible = _universe(kinds)
    if multiples or not_multiples:
        divisible &= _EXACT
    for divisor in multiples:
        divisible &= _multiple(divisor)
    for divisor in not_multiples:
        divisible -= _multiple(divisor)
    if kinds & NUMBERS == {"fraction"}:
        divisible -= _multiple(Fraction(1))
    positive = divisible & _within(bounds)
    mirrored = Bounds(_minus(bounds.upper), bounds.upper_open, _minus(bounds.lower), bounds.lower_open)
    negative = divisible & _within(mirrored & Bounds(Fraction(0), lower_open=True))
    return positive | concat(text("-"), negative)


def exactly(value: float) -> Automaton:
    """Every way without exponent to write this number."""
    point = Fraction(str(value))
    return number(Bounds(point, False, point), frozenset(), frozenset(), NUMBERS)


def _minus(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value


@lru_cache(maxsize=8)
def _universe(kinds: frozenset[str]) -> Automaton:
    if "fraction" not in kinds:
        return compiled(_WHOLE) if "integer" in kinds else nothing()
    whole = Alt((Text("0"), Seq((NONZERO, Rep(DIGIT, 0, None)))))
    return compiled(Seq((whole, Rep(_FRACTION, 0, 1))))


def _within(bounds: Bounds) -> Automaton:
    """Unsigned decimals within the bounds."""
    language = lengths(0, None)
    if bounds.lower is not None and (bounds.lower > 0 or (bounds.lower == 0 and bounds.lower_open)):
        language &= _compared(bounds.lower, frozenset({1} if bounds.lower_open else {0, 1}))
    if bounds.upper is not None:
        if bounds.upper < 0:
            return nothing()
        language &= _compared(bounds.upper, frozenset({-1} if bounds.upper_open else {-1, 0}))
    return language


def _decimal(value: Fraction) -> tuple[str, str]:
    """The digits before and behind the point of a number that has finitely many."""
    places = 0
    while (10**places * value).denominator != 1:
        places += 1
        if places > 400:
            raise TooLarge(f"{value} has too many decimal places")
    digits = str(int(10**places * value)).rjust(places + 1, "0")
    return digits[: len(digits) - places], digits[len(digits) - places :]


@lru_cache(maxsize=256)
def _compared(bound: Fraction, wanted: frozenset[int]) -> Automaton:
    """Unsigned decimals whose comparison with ``bound`` (-1, 0 or 1) is wanted."""
    whole, places = _decimal(bound)

    def whole_relation(count: int, relation: int) -> int:
        return relation if count == len(whole) else -1 if count < len(whole) else 1

    def edges(state: State) -> Iterable[tuple[int, int, State]]:
        part, count, relation = state
        if part in ("whole", "zero"):
            known = whole_relation(count, relation)
            yield _DOT, _DOT, ("dot", 0, known)
        for low, high, digit in _DIGITS:
            if part == "start":
                yield low, high, ("whole" if digit else "zero", 1, _sign(digit - int(whole[0])))
            elif part == "whole":
                further = relation or (_sign(digit - int(whole[count])) if count < len(whole) else 0)
                yield low, high, ("whole", min(count + 1, len(whole) + 1), further if count < len(whole) else 1)
            elif part != "zero":
                expected = int(places[count]) if count < len(places) else 0
                further = relation or _sign(digit - expected)
                yield low, high, ("places", 0 if further else min(count + 1, len(places)), further)

    def accepts(state: State) -> bool:
        part, count, relation = state
        if part in ("whole", "zero"):
            return _final(whole_relation(count, relation), places) in wanted
        return part == "places" and _final(relation, places[count:]) in wanted

    return explore(("start", 0, 0), edges, accepts)


def _final(relation: int, missing: str) -> int:
    """The comparison when the digits end here: what is missing counts as zeros."""
    return relation or (-1 if missing.strip("0") else 0)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


@lru_cache(maxsize=256)
def _multiple(divisor: Fraction) -> Automaton:
    """Unsigned decimals that are multiples of the divisor. The state: decimal places and remainder so far."""
    whole, decimals = _decimal(divisor)
    modulus, places = int(whole + decimals), len(decimals)
    if modulus > LARGEST_DIVISOR:
        raise TooLarge(f"multiples of {float(divisor)} need {modulus} remainders")

    def edges(state: State) -> Iterable[tuple[int, int, State]]:
        part, count, remainder = state
        if part == "whole":
            yield _DOT, _DOT, ("places", 0, remainder)
        for low, high, digit in _DIGITS:
            if count < places or part != "places":
                yield low, high, _after(part, count, (remainder * 10 + digit) % modulus)
            elif digit == 0:
                yield low, high, ("places", places + 1, remainder)

    def accepts(state: State) -> bool:
        part, count, remainder = state
        missing = max(0, places - count) if part == "places" else places
        if part == "places":
            return count > 0 and remainder * 10**missing % modulus == 0
        return part == "whole" and remainder * 10**missing % modulus == 0

    return explore(("start", 0, 0), edges, accepts)


def _after(part: str, count: int, remainder: int) -> State:
    return ("places", count + 1, remainder) if part == "places" else ("whole", 0, remainder)
