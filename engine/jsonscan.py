"""Finds the end of one JSON value (RFC 8259) in a text that is still arriving.

Invariant: a scan never examines a character twice, but for the first attempt, which asks the C scanner of the standard
library whether the whole value is there already.
"""

from __future__ import annotations

import json
import json.scanner
import re
from typing import Any, ClassVar

MAX_DEPTH = 256
"""Deeper nesting is refused: the standard decoder recurses on the C stack."""

_STRING = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}+)?+")
_BLANKS = re.compile(r"[ \t\n\r]*+")
_DIGITS = re.compile(r"[0-9]*+")
_WORDS = {"t": "true", "f": "false", "n": "null"}

# What may come next. A number is read in states of its own, so that a split digit run is never read twice.
_VALUE, _FIRST_KEY, _KEY, _COLON, _FIRST_ITEM, _AFTER, _STRING_BODY, _KEY_BODY, _OBJECT = range(9)
_MINUS, _ZERO, _INT, _POINT, _FRACTION, _EXP, _EXP_SIGN, _EXP_DIGITS = range(10, 18)
_NUMBER_ENDS = frozenset((_ZERO, _INT, _FRACTION, _EXP_DIGITS))


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _different(pairs: list[tuple[str, Any]]) -> None:
    """Refuse a key that stands twice: such an object is left to be read, and refused, with its position."""
    if len(pairs) > 1 and len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")


_MORE_NUMBER = frozenset(("", *".eE+-0123456789"))


class _Context:
    """The decoder settings `json.scanner.c_make_scanner` reads; numbers are not converted."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_different)
    parse_float = len
    parse_int = len
    parse_constant = staticmethod(_refuse)
    memo: ClassVar[dict[str, str]] = {}


_scan_whole = json.scanner.c_make_scanner(_Context())  # type: ignore[attr-defined]  # typeshed leaves it out


def _end(text: str, pos: int) -> int:
    """Where the C scanner finds the end of the value, or -1.

    It is given pieces that grow: its error counts the lines of all the text it was given.
    """
    size, length = len(text), 1024
    while True:
        piece = text if size <= length else text[pos : pos + length]
        start = pos if piece is text else 0
        try:
            end: int = _scan_whole(piece, start)[1] + pos - start
        except (StopIteration, ValueError, RecursionError) as error:
            if pos - start + len(piece) >= size or not _is_cut(error, len(piece)):
                return -1
        else:
            if end < pos - start + len(piece) or end == size:
                return end
        length *= 8


def _is_cut(error: Exception, size: int) -> bool:
    """Whether the scanner may have failed for the end of its piece alone."""
    if isinstance(error, StopIteration):
        return bool(error.value is None or error.value >= size - _LONGEST_TOKEN)
    if isinstance(error, json.JSONDecodeError):
        return error.msg.startswith("Unterminated") or error.pos >= size - _LONGEST_TOKEN
    return False


_LONGEST_TOKEN = 8


def whole_value(text: str, pos: int) -> int:
    """End of the JSON value at ``pos`` if surely all of it is in ``text``, not deeply nested, no key twice; else -1.

    >>> whole_value('{"a": 1} x', 0), whole_value('{"a": ', 0), whole_value("12", 0), whole_value("12 ", 0)
    (8, -1, -1, 2)
    """
    end = _end(text, pos)
    if end < 0:
        return -1
    first = text[pos]
    if first not in "{[":
        decided = first in '"tfn' or text[end : end + 1] not in _MORE_NUMBER
        return end if decided else -1
    brackets = text.count("{", pos, end) + text.count("[", pos, end)
    return end if brackets <= MAX_DEPTH else -1


class JsonScan:
    """A suspended scan. ``pos`` is how far it has come; after `run`, what it found is in ``end`` or ``failed``.

    >>> scan = JsonScan(0)
    >>> scan.run('{"a', at_end=False), scan.run('{"a": [1]} tail', at_end=False), scan.end
    (False, True, 10)
    """

    __slots__ = ("_stack", "_state", "end", "failed", "pos", "start")

    def __init__(self, pos: int, object_only: bool = False) -> None:
        self.start = self.pos = pos
        self.end = -1
        self.failed = -1
        self._state = _OBJECT if object_only else _VALUE
        self._stack: list[str] = []

    def run(self, text: str, at_end: bool) -> bool:
        """Go on; True when decided: ``end`` is the value's end, or ``failed`` the offending character's position."""
        size = len(text)
        while self.end < 0 and self.failed < 0:
            if self.pos >= size:
                if at_end:
                    self._finish()
                    continue
                return False
            if not self._step(text, size, at_end):
                return False
        return True

    def _finish(self) -> None:
        if not self._stack and self._state in _NUMBER_ENDS:
            self.end = self.pos
        else:
            self.failed = self.pos

    def _step(self, text: str, size: int, at_end: bool) -> bool:
        """Read one token or a part of one; False when more text must come first."""
        state = self._state
        if state in (_STRING_BODY, _KEY_BODY):
            return self._string(text, size, at_end)
        if state >= _MINUS:
            self._number(text)
            return True
        self.pos = _BLANKS.match(text, self.pos).end() if self._stack else self.pos  # type: ignore[union-attr]  # matches always
        if self.pos >= size:
            return True
        character = text[self.pos]
        if state == _AFTER:
            self._after(character)
        elif state == _COLON:
            self._take(character == ":", _VALUE)
        elif state in (_FIRST_KEY, _KEY):
            if state == _FIRST_KEY and character == "}":
                self._close()
            else:
                self._take(character == '"', _KEY_BODY)
        elif state == _FIRST_ITEM and character == "]":
            self._close()
        elif state == _OBJECT and character != "{":
            self.failed = self.pos
        else:
            return self._value(text, character, at_end)
        return True

    def _take(self, fits: bool, state: int) -> None:
        if fits:
            self.pos += 1
            self._state = state
        else:
            self.failed = self.pos

    def _after(self, character: str) -> None:
        inside = self._stack[-1]
        if character == ",":
            self._take(True, _KEY if inside == "}" else _VALUE)
        elif character == inside:
            self._close()
        else:
            self.failed = self.pos

    def _close(self) -> None:
        self._stack.pop()
        self.pos += 1
        self._value_done()

    def _value_done(self) -> None:
        if self._stack:
            self._state = _AFTER
        else:
            self.end = self.pos

    def _value(self, text: str, character: str, at_end: bool) -> bool:
        if character in "{[":
            if len(self._stack) >= MAX_DEPTH:
                self.failed = self.pos
                return True
            self._stack.append("}" if character == "{" else "]")
            self._take(True, _FIRST_KEY if character == "{" else _FIRST_ITEM)
        elif character == '"':
            self._take(True, _STRING_BODY)
        elif character in _WORDS:
            return self._word(text, _WORDS[character], at_end)
        elif character == "-":
            self._take(True, _MINUS)
        else:
            self._take("0" <= character <= "9", _ZERO if character == "0" else _INT)
        return True

    def _word(self, text: str, word: str, at_end: bool) -> bool:
        if text.startswith(word, self.pos):
            self.pos += len(word)
            self._value_done()
            return True
        here = text[self.pos : self.pos + len(word)]
        if word.startswith(here) and not at_end:
            return False
        same = 0
        while same < len(here) and here[same] == word[same]:
            same += 1
        self.failed = self.pos + same
        return True

    def _string(self, text: str, size: int, at_end: bool) -> bool:
        self.pos = end = _STRING.match(text, self.pos).end()  # type: ignore[union-attr]  # matches always
        if end >= size:
            return True
        if text[end] == '"':
            self.pos += 1
            if self._state == _KEY_BODY:
                self._state = _COLON
            else:
                self._value_done()
            return True
        begun = _ESCAPE_BEGUN.match(text, end)
        bad = begun.end() if begun else end
        if bad < size:
            self.failed = bad
            return True
        if at_end:
            self.failed = size
        return at_end

    def _number(self, text: str) -> None:
        state, character = self._state, text[self.pos]
        if state in (_INT, _FRACTION, _EXP_DIGITS) and "0" <= character <= "9":
            self.pos = _DIGITS.match(text, self.pos).end()  # type: ignore[union-attr]  # matches always
        elif state == _MINUS:
            self._take("0" <= character <= "9", _ZERO if character == "0" else _INT)
        elif state in (_POINT, _EXP_SIGN):
            self._take("0" <= character <= "9", _FRACTION if state == _POINT else _EXP_DIGITS)
        elif state == _EXP:
            self._take(character in "+-" or "0" <= character <= "9", _EXP_SIGN if character in "+-" else _EXP_DIGITS)
        elif character == "." and state in (_ZERO, _INT):
            self._take(True, _POINT)
        elif character in "eE" and state in (_ZERO, _INT, _FRACTION):
            self._take(True, _EXP)
        else:
            self._value_done()
