"""The ``python-call-list`` content: ``[name(key=value), …]`` read strictly, the values as Python or JSON spells them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import regex

_BLANKS = regex.compile(r"[ \t\n\r]*+")
_NAME = regex.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?:[-.][A-Za-z0-9_]++)*+")
_NUMBER = regex.compile(r"(?P<integer>-?(?:0|[1-9][0-9]*+))(?P<rest>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_STRING = regex.compile(r"""(?P<quote>['"])(?P<body>(?:\\.|(?!(?P=quote))[^\\\n\r])*+)(?P=quote)""", regex.DOTALL)
_ESCAPE = regex.compile(
    r"\\(?:u(?P<code>[0-9a-fA-F]{4})(?:(?<=[dD][89abAB]..)\\u(?P<low>[dD][c-fC-F]..))?+|(?P<sign>.))", regex.DOTALL
)
_HEX = regex.compile(r"[0-9a-fA-F]{4}")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_SIGNS = {"\\": "\\", "'": "'", '"': '"', "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_LARGEST = 2**53 - 1
_DEEPEST = 100


class _Reader:
    """Recursive descent, no deeper than ``_DEEPEST``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0

    def fail(self, message: str) -> NoReturn:
        raise ValueError(f"python-call-list: {message} at {self.pos} in {self.text!r}")

    def next(self) -> str:
        """The character behind the blanks here; empty at the end."""
        self.pos = _BLANKS.match(self.text, self.pos).end()  # type: ignore[union-attr]  # matches everywhere
        return self.text[self.pos : self.pos + 1]

    def take(self, character: str) -> None:
        if self.next() != character:
            self.fail(f"expected {character!r}")
        self.pos += 1

    def items(self, closer: str, item: Callable[[], Any]) -> list[Any]:
        found: list[Any] = []
        if self.next() != closer:
            found.append(item())
            while self.next() != closer:
                self.take(",")
                found.append(item())
        self.pos += 1
        return found

    def members(self, closer: str, item: Callable[[], tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in self.items(closer, item):
            if key in found:
                self.fail(f"{key!r} stands twice")
            found[key] = value
        return found

    def name(self) -> str:
        self.next()
        match = _NAME.match(self.text, self.pos)
        if match is None:
            self.fail("expected a name")
        self.pos = match.end()
        return match[0]

    def call(self) -> dict[str, Any]:
        name = self.name()
        self.take("(")
        return {"name": name, "arguments": self.members(")", self.argument)}

    def argument(self) -> tuple[str, Any]:
        key = self.name()
        self.take("=")
        return key, self.value(0)

    def pair(self, depth: int) -> tuple[str, Any]:
        if self.next() not in ("'", '"'):
            self.fail("expected a string as the key")
        key = self.string()
        self.take(":")
        return key, self.value(depth)

    def value(self, depth: int) -> Any:
        """A value inside ``depth`` lists and dicts."""
        opener = self.next()
        if opener in ("'", '"') and opener:
            return self.string()
        if opener in ("[", "{") and opener:
            if depth >= _DEEPEST:
                self.fail(f"nested more than {_DEEPEST} deep")
            self.pos += 1
            if opener == "[":
                return self.items("]", lambda: self.value(depth + 1))
            return self.members("}", lambda: self.pair(depth + 1))
        return self.scalar()

    def scalar(self) -> Any:
        number = _NUMBER.match(self.text, self.pos)
        if number is not None:
            value = self.number(number)
            self.pos = number.end()
            return value
        word = _NAME.match(self.text, self.pos)
        if word is None or word[0] not in _CONSTANTS:
            self.fail("expected a value")
        self.pos = word.end()
        return _CONSTANTS[word[0]]

    def number(self, match: regex.Match[str]) -> int | float:
        if not match["rest"]:
            # The length first: int() of thousands of digits would be refused otherwise, and by another error.
            if len(match[0]) > len(str(-_LARGEST)) or abs(int(match[0])) > _LARGEST:
                self.fail("an integer beyond 2**53 - 1")
            return int(match[0])
        value = float(match[0])
        if math.isinf(value):
            self.fail("a number too large")
        return value

    def string(self) -> str:
        match = _STRING.match(self.text, self.pos)
        if match is None:
            self.fail("a broken string")
        body = match["body"]
        if _SURROGATE.search(body):
            self.fail("an unpaired surrogate in the string")
        value = _ESCAPE.sub(self.escaped, body) if "\\" in body else body
        self.pos = match.end()
        return value

    def escaped(self, match: regex.Match[str]) -> str:
        if match["sign"] is not None:
            if match["sign"] not in _SIGNS:
                self.fail(f"the escape {match[0]!r} in the string")
            return _SIGNS[match["sign"]]
        code, low = int(match["code"], 16), match["low"]
        if low is not None and _HEX.fullmatch(low):
            return chr(0x10000 + ((code - 0xD800) << 10) + (int(low, 16) - 0xDC00))
        if 0xD800 <= code <= 0xDFFF:
            self.fail("an unpaired surrogate in the string")
        return chr(code)


def read_call_list(text: str) -> list[dict[str, Any]]:
    """The calls of a list; raises `ValueError` for anything else.

    >>> read_call_list("[ping(host='a', times=2)]")
    [{'name': 'ping', 'arguments': {'host': 'a', 'times': 2}}]
    """
    reader = _Reader(text)
    reader.take("[")
    calls = reader.items("]", reader.call)
    if reader.next():
        reader.fail("text behind the list")
    return calls
