"""The content parsers: the text of a region to its value, each made once from its ``content_args``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

from .call_list import read_call_list
from .tags import json_tags, tag_of

Read = Callable[[str], Any]
Arguments = Mapping[str, Any]


def _stripped(args: Arguments) -> Read:
    return str.strip if args.get("strip", True) else str


def _text(args: Arguments) -> Read:
    return _stripped(args)


def _int(args: Arguments) -> Read:
    strip = _stripped(args)
    return lambda text: int(strip(text))


def _float(args: Arguments) -> Read:
    strip = _stripped(args)
    return lambda text: float(strip(text))


def _bool(args: Arguments) -> Read:
    strip = _stripped(args)
    return lambda text: strip(text).lower() in {"true", "1"}


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


# A quoted string, which stays as it is, or a bare key behind a bracket or comma.
_BARE_KEY = regex.compile(r'"(?:\\.|[^"\\])*"|(?<=[{,])(\s*)(\w+)(\s*):')
# Stand-ins for strings taken out of a JSON dialect are numbers between these two.
_TAKEN_OPEN, _TAKEN_CLOSE = "\x01", "\x02"


def _quoted_key(match: regex.Match[str]) -> str:
    before, key, after = match.groups()
    return match[0] if key is None else f'{before}"{key}"{after}:'


def _json(args: Arguments) -> Read:
    """JSON, or a dialect of it: ``string_delims``, ``unquoted_keys``; ``allow_non_json`` falls back to the text."""
    pairs = args.get("string_delims", [])
    bare_keys, fall_back, strip = args.get("unquoted_keys", False), args.get("allow_non_json"), _stripped(args)

    def read(text: str) -> Any:
        standard = text
        if pairs or bare_keys:
            standard = _standard_json(text, list(map(_string_pattern, pairs)), bare_keys)
        try:
            return _decoded(standard)
        except ValueError as error:
            if fall_back:
                return strip(text)
            shown = "" if standard == text else f" (read as {standard!r})"
            raise ValueError(f"json: {error} in {text!r}{shown}") from error

    return read


def _string_pattern(pair: list[str]) -> regex.Pattern[str]:
    opener, closer = map(regex.escape, pair)
    return regex.compile(f"{opener}(.*?){closer}", regex.DOTALL)


def _standard_json(text: str, patterns: list[regex.Pattern[str]], bare_keys: bool) -> str:
    if patterns and (_TAKEN_OPEN in text or _TAKEN_CLOSE in text):
        raise ValueError("json: the text holds the control characters \\x01 or \\x02, which string_delims needs")
    taken: list[str] = []

    def take(match: regex.Match[str]) -> str:
        taken.append(match[1])
        return f"{_TAKEN_OPEN}{len(taken) - 1}{_TAKEN_CLOSE}"

    for pattern in patterns:
        text = pattern.sub(take, text)
    if bare_keys:
        text = _BARE_KEY.sub(_quoted_key, text)
    for number, string in enumerate(taken):
        text = text.replace(f"{_TAKEN_OPEN}{number}{_TAKEN_CLOSE}", json.dumps(string))
    return text


def _value_reader(args: Arguments) -> Read | None:
    inner = args.get("value_parser")
    if inner is None:
        return None
    name, inner_args = inner.get("name", "text"), inner.get("args", {})
    if name not in PARSERS:
        return lambda _: PARSERS[name]
    return PARSERS[name](inner_args)


def _tags(pattern: regex.Pattern[str], text: str) -> Iterator[tuple[str | None, str]]:
    has_key, has_value = "key" in pattern.groupindex, "value" in pattern.groupindex
    for match in pattern.finditer(text):
        yield match["key"] if has_key else None, match["value"] if has_value else ""


def xml_inline(args: Arguments, json_keys: frozenset[str] = frozenset()) -> Read:
    """An element per key: ``tag_pattern`` has the groups ``key`` and ``value``; ``merge_duplicates`` makes lists.

    The values of ``json_keys`` are JSON, in whose strings no tag ends, though they are handed out as texts as all are.

    >>> xml_inline({"tag_pattern": "<(?P<key>[a-z])>(?P<value>.*?)</>"}, frozenset("a"))('<a>["</>"]</>')
    {'a': '["</>"]'}
    """
    source, value_of, merge = args.get("tag_pattern"), _value_reader(args), args.get("merge_duplicates", False)
    made: list[regex.Pattern[str]] = []

    def read(text: str) -> dict[str, Any]:
        if source is None:
            raise ValueError("xml-inline needs a 'tag_pattern' in its content_args")
        if not made:
            made.append(regex.compile(source, regex.DOTALL))
        parts = tag_of(source) if json_keys else None
        found: dict[str, Any] = {}
        merged: set[str] = set()
        for key, value in _tags(made[0], text) if parts is None else json_tags(parts, text, json_keys):
            if key is None:
                raise ValueError(f"xml-inline: tag_pattern {source!r} captures no group 'key'")
            if value_of is not None:
                value = value_of(value)
            if merge and key in found:
                if key not in merged:
                    merged.add(key)
                    found[key] = [found[key]]
                found[key].append(value)
            else:
                found[key] = value
        return found

    return read


def _kv_lines(args: Arguments) -> Read:
    """A key and a value per line, by ``line_sep`` and ``kv_sep``; other lines are left out."""
    line_sep, kv_sep = args.get("line_sep", "\n"), args.get("kv_sep", ":")
    strip, value_of = _stripped(args), _value_reader(args)

    def read(text: str) -> dict[str, Any]:
        found = {}
        for line in map(strip, text.split(line_sep)):
            if line and kv_sep in line:
                key, value = map(strip, line.split(kv_sep, 1))
                found[key] = value if value_of is None else value_of(value)
        return found

    return read


def _python_call_list(_: Arguments) -> Read:
    return read_call_list


PARSERS: dict[str, Callable[[Arguments], Read]] = {
    "text": _text,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "json": _json,
    "xml-inline": xml_inline,
    "kv-lines": _kv_lines,
    "python-call-list": _python_call_list,
}


def content_reader(name: str, args: Arguments) -> Read:
    """The parser of a field's ``content``.

    >>> content_reader("kv-lines", {"kv_sep": "="})("a = 1\\nb = 2")
    {'a': '1', 'b': '2'}
    """
    return PARSERS[name](args)
