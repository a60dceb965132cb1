"""JSON Schema ``pattern`` (ECMA-262) to the automaton of the texts that it accepts."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from string import hexdigits

from ..charset import LAST, Ranges, normal
from ..errors import ChatpegError
from .automaton import Automaton
from .charset import ANY, charset, complement, difference
from .nfa import BEGIN, END, compiled
from .rules import EMPTY, Alt, Chars, Expr, Rep, Seq, Text

DEEPEST_GROUP = 200
MOST_REPEATS = 5000

DIGIT = charset(("0", "9"))
WORD = charset(("A", "Z"), ("a", "z"), ("0", "9"), "_")
SPACE = charset("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", ("\u2000", "\u200a"))
LINE_ENDS = charset("\n\r\u2028\u2029")
SETS: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": SPACE}
SETS |= {letter.upper(): complement(ranges) for letter, ranges in list(SETS.items())}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
LONG_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm",
    "Other_Letter": "Lo", "Mark": "M", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Punctuation": "P", "punct": "P",
    "Symbol": "S", "Separator": "Z", "Space_Separator": "Zs", "Other": "C", "Control": "Cc",
}  # fmt: skip


class PatternError(ChatpegError):
    """A pattern that is not a regular expression."""


class PatternUnsupported(ChatpegError):
    """A pattern with a construct that no automaton of ours has: look-around, a back reference, ``\\b``, deep nesting."""


@lru_cache(maxsize=512)
def pattern(source: str) -> Automaton:
    """The texts that the pattern accepts: those in which it matches somewhere, as the standard says.

    >>> pattern("^a+$").matches("aa"), pattern("b").matches("abc"), pattern(r"^\\\\d{2}$").matches("7")
    (True, True, False)
    """
    return compiled(_Reader(source).whole(), search=True)


def matching(source: str) -> Automaton:
    """The texts that the pattern matches from start to end.

    >>> matching("a|b").matches("ab")
    False
    """
    return compiled(_Reader(source).whole())


class _Reader:
    """A recursive descent over one pattern, in the order of its grammar."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.depth = 0

    def fail(self, what: str) -> PatternError:
        return PatternError(f"{what} at {self.at} of the pattern {_short(self.source)}")

    def unsupported(self, what: str) -> PatternUnsupported:
        return PatternUnsupported(f"{what} at {self.at} of the pattern {_short(self.source)}")

    def peek(self, length: int = 1) -> str:
        return self.source[self.at : self.at + length]

    def take(self, expected: str) -> bool:
        found = self.source.startswith(expected, self.at)
        self.at += len(expected) * found
        return found

    def whole(self) -> Expr:
        expr = self.alternatives()
        if self.at < len(self.source):
            raise self.fail("an unmatched ')'")
        return expr

    def alternatives(self) -> Expr:
        self.depth += 1
        if self.depth > DEEPEST_GROUP:
            raise self.unsupported(f"groups nested more than {DEEPEST_GROUP} deep")
        found = [self.sequence()]
        while self.take("|"):
            found.append(self.sequence())
        self.depth -= 1
        return found[0] if len(found) == 1 else Alt(tuple(found))

    def sequence(self) -> Expr:
        items: list[Expr] = []
        while self.peek() and self.peek() not in "|)":
            items.append(self.repeated(self.atom()))
        return items[0] if len(items) == 1 else Seq(tuple(items)) if items else EMPTY

    def repeated(self, item: Expr) -> Expr:
        bounds = self.bounds()
        if bounds is None:
            return item
        self.take("?")  # a lazy repeat matches the same texts
        if self.bounds() is not None:
            raise self.fail("a repeat of a repeat")
        minimum, maximum = bounds
        return EMPTY if item in (BEGIN, END) and minimum == 0 else Rep(item, minimum, maximum)

    def bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        return self.braces() if self.peek() == "{" else None

    def braces(self) -> tuple[int, int | None] | None:
        close = self.source.find("}", self.at)
        low, comma, high = self.source[self.at + 1 : close].partition(",")
        # As browsers do: a brace that begins no repeat is itself.
        if close < 0 or not _number(low) or not (high == "" or _number(high)):
            return None
        self.at = close + 1
        minimum = int(low)
        maximum = minimum if not comma else int(high) if high else None
        if maximum is not None and maximum < minimum:
            raise self.fail(f"a repeat from {minimum} to {maximum}")
        if max(minimum, maximum or 0) > MOST_REPEATS:
            raise self.unsupported(f"more than {MOST_REPEATS} repeats")
        return minimum, maximum

    def atom(self) -> Expr:
        character = self.peek()
        if character in "*+?":
            raise self.fail("nothing to repeat")
        self.at += 1
        match character:
            case "(":
                return self.group()
            case "[":
                return Chars(self.set())
            case ".":
                return Chars(complement(LINE_ENDS))
            case "^":
                return BEGIN
            case "$":
                return END
            case "\\":
                return self.escape()
            case _:
                return Text(character)

    def group(self) -> Expr:
        for opener in ("?=", "?!", "?<=", "?<!"):
            if self.peek(len(opener)) == opener:
                raise self.unsupported(f"look-around '({opener}'")
        if self.take("?<"):
            self.at = self.source.find(">", self.at) + 1 or len(self.source)
        elif not self.take("?:") and self.peek() == "?":
            raise self.unsupported(f"the group '({self.peek(2)}'")
        expr = self.alternatives()
        if not self.take(")"):
            raise self.fail("a missing ')'")
        return expr

    def escape(self) -> Expr:
        letter = self.peek()
        if letter and letter in "bB":
            raise self.unsupported(f"the word border '\\{letter}'")
        if letter == "k" or (letter.isdigit() and letter != "0"):
            raise self.unsupported(f"the back reference '\\{letter}'")
        return Chars(self.escaped())

    def escaped(self) -> Ranges:
        """What stands behind a backslash, alike outside and inside brackets."""
        letter = self.peek()
        self.at += 1
        if not letter:
            raise self.fail("a lone backslash")
        if letter in SETS:
            return SETS[letter]
        if letter in CONTROLS:
            return charset(CONTROLS[letter])
        if letter in "pP":
            return self.category(negated=letter == "P")
        if letter == "c" and self.peek().isalpha():
            self.at += 1
            return charset(ord(self.source[self.at - 1]) % 32)
        return self.numbered(letter)

    def numbered(self, letter: str) -> Ranges:
        if letter == "u" and self.peek() == "{":
            digits = self.source[self.at + 1 : self.source.find("}", self.at)]
            self.at += len(digits) + 2
            return self.code_point(digits)
        width = {"x": 2, "u": 4}.get(letter)
        if width is None:
            return charset(letter)
        digits = self.peek(width)
        self.at += width
        point = self.code_point(digits, width)
        if 0xD800 <= point[0][0] <= 0xDBFF and self.take("\\u"):
            low = self.code_point(self.peek(4), 4)
            self.at += 4
            return charset(0x10000 + ((point[0][0] - 0xD800) << 10) + (low[0][0] - 0xDC00))
        return point

    def code_point(self, digits: str, width: int = 0) -> Ranges:
        if not digits or set(digits) - set(hexdigits) or len(digits) != (width or len(digits)):
            raise self.fail("an escape without its hex digits")
        point = int(digits, 16)
        if point > LAST:
            raise self.fail("an escape beyond Unicode")
        return charset(point)

    def category(self, negated: bool) -> Ranges:
        close = self.source.find("}", self.at)
        if self.peek() != "{" or close < 0:
            raise self.fail("a property without a name in braces")
        name = self.source[self.at + 1 : close].rpartition("=")[2]
        self.at = close + 1
        ranges = _category(LONG_CATEGORIES.get(name, name))
        if not ranges:
            raise self.unsupported(f"the Unicode property {name!r}")
        return complement(ranges) if negated else ranges

    def set(self) -> Ranges:
        negated = self.take("^")
        found: list[tuple[int, int]] = []
        while not self.take("]"):
            if not self.peek():
                raise self.fail("a missing ']'")
            found += self.set_part()
        ranges = difference(normal(found), ((0xD800, 0xDFFF),))
        return complement(ranges) if negated else ranges

    def set_part(self) -> Ranges:
        low = self.set_character()
        if self.peek() != "-" or self.peek(2) in ("-", "-]"):
            return low
        before = self.at
        self.at += 1
        high = self.set_character()
        if not (_single(low) and _single(high)):
            self.at = before  # "[\w-x]": the dash is itself
            return low
        if high[0][0] < low[0][0]:
            raise self.fail("a range that runs backwards")
        return ((low[0][0], high[0][0]),)

    def set_character(self) -> Ranges:
        character = self.peek()
        self.at += 1
        if character != "\\":
            return charset(character)
        if self.take("b"):
            return charset("\b")
        return self.escaped()


def _single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _number(digits: str) -> bool:
    return digits.isascii() and digits.isdigit()


def _short(source: str) -> str:
    return repr(source if len(source) <= 60 else source[:60] + "…")


@lru_cache(maxsize=64)
def _category(name: str) -> Ranges:
    if name == "Any":
        return ANY
    if name == "ASCII":
        return ((0, 127),)
    if not (name[:1] in "CLMNPSZ" and len(name) in (1, 2)):
        return ()
    points = (point for point in range(LAST + 1) if unicodedata.category(chr(point)).startswith(name))
    return difference(normal((point, point) for point in points), ((0xD800, 0xDFFF),))
