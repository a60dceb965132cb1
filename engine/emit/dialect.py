"""How values are spelled: the brackets, separators, quotes and escapes that one grammar library reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from ..charset import Ranges, intersection, normal
from .automaton import Automaton
from .charset import ANY, charset, contains, difference
from .nfa import compiled
from .rules import EMPTY, Alt, Chars, Expr, Rep, Seq, Text

HEX = charset(("0", "9"), ("a", "f"), ("A", "F"))


@dataclass(frozen=True, slots=True)
class Spelling:
    r"""How one kind of text is written: between ``open`` and ``close``, character by character.

    ``plain`` characters stand for themselves; ``escapes`` are the escaped forms of single characters; ``hex``
    (e.g. ``"\\u"``) and four hex digits write any other. ``excluding``: what the written text must be part of,
    where a closing quote of several characters cannot be escaped.

    >>> JSON.strings[0].write('a"b')
    '"a\\"b"'
    """

    open: str
    close: str
    plain: Ranges = ANY
    escapes: tuple[tuple[str, str], ...] = ()
    hex: str = ""
    excluding: Automaton | None = None
    #: Whether two escapes, of a surrogate pair, write one character: in JSON they do, in Python not.
    paired: bool = True

    def write(self, text: str) -> str | None:
        """The text as written, None if it cannot be."""
        if self.excluding is not None and not self.excluding.matches(text):
            return None
        if text.isascii() and text.replace("_", "a").isalnum() and _plain_words(self.plain):
            return f"{self.open}{text}{self.close}"
        parts = [self._write_character(character) for character in text]
        return None if None in parts else self.open + "".join(part for part in parts if part) + self.close

    def _write_character(self, character: str) -> str | None:
        if contains(self.plain, ord(character)):
            return character
        for written, escape in self.escapes:
            if written == character:
                return escape
        return f"{self.hex}{ord(character):04x}" if self.hex and ord(character) < 0xD800 else None

    def limits(self) -> Automaton | None:
        """The texts that can be written; None if every text can."""
        return _limits(self)

    def one_of(self, ranges: Ranges) -> Expr:
        """One character of the set, as written."""
        return _one_of(self, ranges)


@lru_cache(maxsize=64)
def _plain_words(plain: Ranges) -> bool:
    """Whether ASCII letters, digits and the underscore stand for themselves."""
    return not difference(charset(("a", "z"), ("A", "Z"), ("0", "9"), "_"), plain)


@lru_cache(maxsize=64)
def _limits(spelling: Spelling) -> Automaton | None:
    escaped = charset(*(character for character, _ in spelling.escapes))
    writable = normal((*spelling.plain, *escaped, *(((0, 0x7F),) if spelling.hex else ())))
    if not difference(ANY, writable):
        return spelling.excluding
    found = compiled(Rep(Chars(writable), 0, None))
    return found if spelling.excluding is None else found & spelling.excluding


@lru_cache(maxsize=4096)
def _one_of(spelling: Spelling, ranges: Ranges) -> Expr:
    choices: list[Expr] = []
    plain = intersection(ranges, spelling.plain)
    if plain:
        choices.append(Chars(plain))
    by_lead: dict[str, str] = {}
    for character, escape in spelling.escapes:
        if contains(ranges, ord(character)):
            by_lead[escape[:-1]] = by_lead.get(escape[:-1], "") + escape[-1]
    choices += [Seq((Text(lead), Chars(charset(lasts)))) for lead, lasts in by_lead.items()]
    if spelling.hex:
        choices += _hexes(spelling, ranges)
    return choices[0] if len(choices) == 1 else Alt(tuple(choices))


def _hexes(spelling: Spelling, ranges: Ranges) -> list[Expr]:
    """Escapes by number: of any character in a set of all, else of those alone that have no other form."""
    if ranges == ANY:
        digit, unpaired = Chars(HEX), Chars(charset(("0", "9"), "abcefABCEF"))
        d, low = Chars(charset("dD")), Chars(charset(("0", "7")))
        single: tuple[Expr, ...] = (Seq((unpaired, digit, digit, digit)), Seq((d, low, digit, digit)))
        high, trail = Chars(charset("89abAB")), Chars(charset(("c", "f"), ("C", "F")))
        pair = Seq((d, high, digit, digit, Text(spelling.hex), d, trail, digit, digit))
        return [Seq((Text(spelling.hex), Alt((*single, pair) if spelling.paired else single)))]
    escaped = charset(*(character for character, _ in spelling.escapes))
    rest = difference(intersection(ranges, ((0, 0x7F),)), (*spelling.plain,))
    points = [p for low, high in difference(rest, escaped) for p in range(low, high + 1)]
    return [_last_digits(spelling.hex, points[i:j]) for i, j in _same_lead(points)]


def _same_lead(points: list[int]) -> list[tuple[int, int]]:
    borders = [i for i in range(len(points)) if i == 0 or points[i] >> 4 != points[i - 1] >> 4]
    return list(zip(borders, [*borders, len(points)][1:], strict=True))


def _last_digits(lead: str, points: list[int]) -> Expr:
    digits = "".join(f"{point & 15:x}{point & 15:X}" for point in points)
    return Seq((Text(f"{lead}{points[0] >> 4:03x}"), Chars(charset(*digits))))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How values are written. The first spelling of ``strings`` and ``keys`` that can write a text is used for given
    texts; free texts may be written in each.

    ``inside`` may stand behind an opening and before a closing bracket, ``behind_separator`` behind what separates
    two members or items, ``behind_colon`` between a key's separator and its value. None of them is repeated.
    """

    strings: tuple[Spelling, ...]
    keys: tuple[Spelling, ...]
    braces: tuple[str, str] = ("{", "}")
    brackets: tuple[str, str] = ("[", "]")
    separator: str = ","
    colon: str = ":"
    inside: Expr = EMPTY
    behind_separator: Expr = EMPTY
    behind_colon: Expr = EMPTY
    true: str = "true"
    false: str = "false"
    null: str = "null"

    def write(self, value: object) -> str | None:
        """The value in this dialect, without blanks; None if one of its texts cannot be written.

        >>> JSON.write({"a": [1, None]})
        '{"a":[1,null]}'
        """
        match value:
            case None:
                return self.null
            case bool():
                return self.true if value else self.false
            case str():
                return first_written(self.strings, value)
            case dict():
                pairs = [(first_written(self.keys, str(key)), self.write(item)) for key, item in value.items()]
                if any(key is None or item is None for key, item in pairs):
                    return None
                members = (f"{key}{self.colon}{item}" for key, item in pairs)
                return self.braces[0] + self.separator.join(members) + self.braces[1]
            case list() | tuple():
                items = [self.write(item) for item in value]
                written = [item for item in items if item is not None]
                return (
                    self.brackets[0] + self.separator.join(written) + self.brackets[1]
                    if len(written) == len(items)
                    else None
                )
            case _:
                return json.dumps(value)


def first_written(spellings: tuple[Spelling, ...], text: str) -> str | None:
    """The text in the first spelling that can write it."""
    return next((written for spelling in spellings if (written := spelling.write(text)) is not None), None)


_CONTROLS = ((0, 0x1F),)
_ESCAPES = (('"', '\\"'), ("\\", "\\\\"), ("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_SPACE = Rep(Text(" "), 0, 1)
_BLANK = Rep(Alt((Text(" "), Seq((Text("\n"), Rep(Chars(charset("\t ")), 0, 20))))), 0, 1)

JSON = Dialect(
    strings=(Spelling('"', '"', difference(ANY, (*_CONTROLS, *charset('"\\'))), (*_ESCAPES, ("/", "\\/")), "\\u"),),
    keys=(Spelling('"', '"', difference(ANY, (*_CONTROLS, *charset('"\\'))), (*_ESCAPES, ("/", "\\/")), "\\u"),),
    inside=_BLANK,
    behind_separator=_BLANK,
    behind_colon=_SPACE,
)
