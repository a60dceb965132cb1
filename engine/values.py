"""Texts to JSON: the spelling of strings in each dialect, and values typed by their schema (DESIGN §5)."""

from __future__ import annotations

import ast
import json
import warnings
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any

import regex

from .jsonscan import MAX_DEPTH, JsonScan
from .schema_types import Declared, type_of

_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_ESCAPED_SURROGATE = regex.compile(r"\\u[dD][89a-fA-F]")
_BLANKS = " \t\r\n"
_NUMBER = regex.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_PYTHON_ESCAPE = regex.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([\s\S]))")
_PYTHON_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b"}
_PYTHON_LETTERS |= {"f": "\f", "v": "\v", "\n": ""}
_ENTITIES = {"amp": "&", "quot": '"', "lt": "<", "gt": ">", "apos": "'"}
_ENTITY = regex.compile("&(" + "|".join(_ENTITIES) + ");")


class BadValue(ValueError):
    """A text that is not the value it should be; ``at`` counts from the text's start."""

    def __init__(self, message: str, at: int = 0) -> None:
        self.at = at
        super().__init__(message)


def clean(text: str) -> str:
    """``text`` with unpaired surrogates replaced by U+FFFD: what every UTF-8 encoder accepts."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def quoted(text: str) -> str:
    """``text`` as a JSON string; characters outside ASCII stay as they are."""
    return encode_basestring(text if text.isascii() else clean(text))


def unspelled(dialect: str, text: str) -> str:
    """The string that ``text`` spells in ``dialect``; a text that spells none is taken as it is.

    >>> unspelled("json", r"a\\nb"), unspelled("python", r"it\\'s"), unspelled("xml", "a &amp; b")
    ('a\\nb', "it's", 'a & b')
    """
    if dialect == "json" and "\\" in text:
        try:
            return clean(json.loads(f'"{text}"', strict=False))
        except ValueError:
            return text
    if dialect == "python" and "\\" in text:
        return clean(_PYTHON_ESCAPE.sub(_python_escape, text))
    if dialect == "xml" and "&" in text:
        return _ENTITY.sub(lambda found: _ENTITIES[found[1]], text)
    return text


def _python_escape(found: regex.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else found[0]
    if found[4]:
        return chr(int(found[4], 8))
    return _PYTHON_LETTERS.get(found[5], found[0])


def spelled(dialect: str, text: str) -> str:
    """How ``text`` is written inside a string (or an attribute) of ``dialect``."""
    if dialect == "json":
        return encode_basestring(text)[1:-1]
    if dialect == "xml":
        return text.replace("&", "&amp;").replace('"', "&quot;")
    return text


def _no_constants(name: str) -> Any:
    raise BadValue(f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadValue(f"the key {key!r} stands twice in one object")
            seen.add(key)
    return decoded


def _integer(text: str) -> Any:
    return int(text) if len(text) < 4000 else float(text)


_decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
_long_decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constants, parse_int=_integer)


def decode(text: str) -> Any:
    """Strict JSON (RFC 8259): no NaN, no duplicate keys, no deeper nesting than the engine scans. Raises `BadValue`."""
    try:
        return (_decoder if len(text) < 4000 else _long_decoder).decode(text)
    except json.JSONDecodeError as error:
        raise BadValue(error.msg, error.pos) from None
    except RecursionError:
        raise BadValue("nested too deeply") from None


def decoded(text: str) -> tuple[bool, Any]:
    """Whether all of ``text``, without outer blanks, is one JSON value that chatpeg reads, and the value.

    >>> decoded(" [1] "), decoded("1 2"), decoded("[NaN]")
    ((True, [1]), (False, None), (False, None))
    """
    stripped = text.strip(_BLANKS)
    if stripped.count("{") + stripped.count("[") > MAX_DEPTH and not _shallow(stripped):
        return False, None
    try:
        return True, decode(stripped)
    except BadValue:
        return False, None


def _shallow(text: str) -> bool:
    scan = JsonScan(0)
    scan.run(text, at_end=True)
    return scan.end == len(text)


def strict_json(text: str) -> str:
    """``text``, which is JSON, as it is handed out: unpaired surrogate escapes replaced."""
    text = clean(text)
    if "\\u" in text and _ESCAPED_SURROGATE.search(text):
        return _rewritten(text)
    return text


_ESCAPE_RUN = regex.compile(
    r"(?<!\\)(?:\\\\)*+(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def _rewritten(text: str) -> str:
    def replaced(found: regex.Match[str]) -> str:
        return found[0] if len(found[1]) == 12 else found[0][:-6] + "\\ufffd"

    return _ESCAPE_RUN.sub(replaced, text)


def typed(text: str, value: Declared) -> tuple[str, bool]:
    """The JSON text of a parameter's ``text`` under its declaration, and whether it was written as declared.

    >>> from chatpeg.schema_types import declared
    >>> typed("007", declared({"type": "string"}, {})), typed("3.0", declared({"type": "integer"}, {}))
    (('"007"', True), ('3', True))
    """
    types = value.types
    if types is None:
        fits, _ = decoded(text)
        return (strict_json(text.strip(_BLANKS)) if fits else quoted(text)), True
    if "string" in types:
        return (quoted(text) if len(types) == 1 else _union(text, types, value.allowed)), True
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0") and types & _NUMBERS:
        return text, True
    found = _as_declared(text, types)
    if found is not None:
        stripped = text.strip(_BLANKS)
        return found, found == stripped or _NUMBER.fullmatch(stripped) is not None
    return quoted(text), False


_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def typed_json(text: str, value: Declared) -> tuple[str, bool]:
    """`typed` of a text that is known to be strict JSON."""
    types = value.types
    kind = _KINDS.get(text[0], "number")
    if types is None or (kind in types and kind != "number" and "string" not in types):
        return strict_json(text), True
    return typed(text, value)


_NUMBERS = frozenset(("integer", "number"))


def _union(text: str, types: frozenset[str], allowed: tuple[Any, ...] | None) -> str:
    """A union with string: the JSON value if it is of another declared type, then the raw text; enum and const choose."""
    raw = quoted(text)
    found = _exact(text, types - {"string"}) if text == text.strip(_BLANKS) else None
    candidates = [raw] if found is None else [found, raw]
    if allowed is not None:
        for candidate in candidates:
            if any(_same(json.loads(candidate), one) for one in allowed):
                return candidate
    return candidates[0]


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _exact(text: str, types: frozenset[str]) -> str | None:
    """The JSON text when ``text`` is JSON of one of ``types``."""
    fits, value = decoded(text)
    if not fits:
        return None
    stripped = text.strip(_BLANKS)
    kind = type_of(value) if not isinstance(value, float) else "integer" if _is_whole(stripped) else "number"
    if kind == "integer" and "integer" in types and "number" not in types:
        return _integer_text(stripped)
    if kind in types or (kind == "integer" and "number" in types):
        return strict_json(stripped)
    return None


def _is_whole(text: str) -> bool:
    """Whether a JSON number is whole, by its digits: a float would round it."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # Its exponent is beyond those of a Decimal.
        mantissa, _, exponent = text.lower().partition("e")
        return not exponent.startswith("-") or not mantissa.strip("-0.")
    return number.adjusted() > 400 or number == number.to_integral_value()


def _integer_text(text: str) -> str:
    """A whole number's digits: ``3.0`` and ``3e0`` are the integer 3."""
    if text.lstrip("-").isdecimal():
        return text
    try:
        return str(int(Decimal(text))) if abs(Decimal(text).adjusted()) < 400 else text
    except ArithmeticError:
        return text


def _as_declared(text: str, types: frozenset[str]) -> str | None:
    exact = _exact(text, types)
    if exact is not None:
        return exact
    stripped = text.strip()
    if not stripped:
        return "{}" if "object" in types else "[]" if "array" in types else None
    if stripped in _PYTHON_WORDS:
        word = _PYTHON_WORDS[stripped]
        return word if ("null" if word == "null" else "boolean") in types else None
    if stripped[0] in "{[(" and types & {"object", "array"}:
        return _python_container(stripped, types)
    return None


def _python_container(text: str, types: frozenset[str]) -> str | None:
    try:
        value = _literal(text)
        spelled_json = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return clean(spelled_json) if type_of(json.loads(spelled_json)) in types else None


def _literal(text: str) -> Any:
    """A Python literal; a key twice in one dict is refused, as it is in JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # An odd escape in what a model wrote is no warning to the user.
        tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [_key(key.value) for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) != len(keys):
                raise ValueError("a key stands twice")
    return ast.literal_eval(tree)


def _key(key: Any) -> str:
    """A key as JSON spells it: numbers and words become strings there."""
    return key if isinstance(key, str) else json.dumps(key, default=str)


def scalar(text: str) -> str:
    """The JSON text of an unlabelled value: JSON, or one of Python's words. Raises `BadValue`.

    >>> scalar("True"), scalar("1e-05"), scalar("{ }")
    ('true', '1e-05', '{ }')
    """
    stripped = text.strip()
    word = _PYTHON_WORDS.get(stripped, stripped)
    if _NUMBER.fullmatch(word) or decoded(word)[0]:
        return strict_json(word)
    raise BadValue(f"{stripped[:40]!r} is not a value")
