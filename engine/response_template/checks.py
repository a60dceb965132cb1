"""The checks of a template, one function per rule; all faults are reported at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import regex

from ..errors import Problem
from .contents import PARSERS
from .places import Path, Places
from .transforms import mixed, strings

_TOP = ("version", "defaults", "fields", "start_anchor", "start_anchor_pattern")
_KEYS = (
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
)
_DELIMITERS = ("open", "close")
_VERSION = 1


def problems_of(spec: Any, places: Places) -> Iterator[Problem]:
    """Every fault of a template."""
    if not isinstance(spec, dict):
        yield Problem(f"a response_template is a JSON object, not {_kind(spec)}", places.of(()))
        return
    for check in (report_top_keys, report_version, report_defaults, report_anchor, report_fields):
        yield from check(spec, places)
    fields = spec.get("fields")
    for name, field in fields.items() if isinstance(fields, dict) else ():
        for check_field in FIELD_CHECKS:
            if isinstance(field, dict):
                yield from check_field(field, ("fields", name), places)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a bool", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


# The template as a whole


def report_top_keys(spec: Any, places: Places) -> Iterator[Problem]:
    """Keys that no template has."""
    yield from _unknown_keys(spec, _TOP, (), places)


def _unknown_keys(spec: Any, known: tuple[str, ...], path: Path, places: Places) -> Iterator[Problem]:
    for key in spec:
        if key not in known:
            close = get_close_matches(str(key), known, 1)
            help_ = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(known)}"
            yield Problem(f"unknown key {key!r}", places.of((*path, key)), help=help_)


def report_version(spec: Any, places: Places) -> Iterator[Problem]:
    """Versions other than 1."""
    if spec.get("version", _VERSION) != _VERSION:
        yield Problem(f"version {spec['version']!r} is not known; it must be 1", places.of(("version",)))


def report_defaults(spec: Any, places: Places) -> Iterator[Problem]:
    """Defaults that are no object."""
    defaults = spec.get("defaults", {})
    if not isinstance(defaults, dict):
        yield Problem(f"defaults must be an object, not {_kind(defaults)}", places.of(("defaults",)))


def report_anchor(spec: Any, places: Places) -> Iterator[Problem]:
    """No start anchor, or a bad one."""
    if "start_anchor" not in spec and "start_anchor_pattern" not in spec:
        help_ = 'write "start_anchor": the text after which the prompt is part of the reply'
        yield Problem("neither start_anchor nor start_anchor_pattern", places.of(()), help=help_)
    yield from _delimiter_problems(spec, "start_anchor", (), places)


def report_fields(spec: Any, places: Places) -> Iterator[Problem]:
    """No fields, fields that are no objects, or two that are implicit."""
    fields = spec.get("fields")
    if not isinstance(fields, dict) or not fields:
        yield Problem("fields must be an object with at least one field", places.of(("fields",)))
        return
    implicit = []
    for name, field in fields.items():
        if not isinstance(field, dict):
            yield Problem(f"field {name!r} must be an object, not {_kind(field)}", places.of(("fields", name)))
        elif "open" not in field and "open_pattern" not in field:
            implicit.append(name)
    for name in implicit[1:]:
        first = places.of(("fields", implicit[0]))
        yield Problem(
            f"field {name!r} has no open or open_pattern, and neither has {implicit[0]!r}",
            places.of(("fields", name)),
            ((f"{implicit[0]!r} takes the text outside of all other fields", first),),
            "give one of them an open: only one field can take what is left",
        )


# Each field


def report_field_keys(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Keys that no field has."""
    yield from _unknown_keys(field, _KEYS, path, places)


def report_content(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Content parsers that there are not, and arguments that are no object."""
    content, args = field.get("content", "text"), field.get("content_args", {})
    if not isinstance(content, str) or content not in PARSERS:
        help_ = f"there is {', '.join(PARSERS)}"
        yield Problem(f"unknown content {content!r}", places.of((*path, "content")), help=help_)
    inner = args.get("value_parser") if isinstance(args, dict) else None
    if not isinstance(args, dict):
        yield Problem(f"content_args must be an object, not {_kind(args)}", places.of((*path, "content_args")))
    elif inner is not None and not (isinstance(inner, dict) and isinstance(inner.get("args", {}), dict)):
        where = places.of((*path, "content_args", "value_parser"))
        yield Problem('value_parser must be an object like {"name": "json", "args": {}}', where)


def warn_content_args(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Arguments with which every region of the field is malformed."""
    args = field.get("content_args", {})
    if field.get("content") != "xml-inline" or not isinstance(args, dict):
        return
    source, where = args.get("tag_pattern"), places.of((*path, "content_args", "tag_pattern"))
    message = "xml-inline needs a tag_pattern" if source is None else ""
    if source is not None:
        try:
            if "key" not in regex.compile(source).groupindex:
                message = "tag_pattern has no group 'key'"
        except (regex.error, TypeError) as error:
            message = f"tag_pattern is no regular expression: {error}"
    if message:
        help_ = 'write "tag_pattern": "<(?P<key>\\\\w+)>(?P<value>.*?)</(?P=key)>"'
        yield Problem(f"{message}: no region of this field will parse", where, (), help_, "warning")


def report_delimiters(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Openers and closers that are none."""
    for key in _DELIMITERS:
        yield from _delimiter_problems(field, key, path, places)


def _delimiter_problems(spec: Any, key: str, path: Path, places: Places) -> Iterator[Problem]:
    pattern_key = f"{key}_pattern"
    where = places.of((*path, key))
    if key in spec and pattern_key in spec:
        help_ = f"keep {key} for text as it is, or {pattern_key} for a regular expression"
        yield Problem(f"both {key} and {pattern_key}", where, (), help_)
    if key in spec:
        message = _bad_literals(spec[key])
        if message:
            yield Problem(f"{key} {message}", where)
    if pattern_key in spec:
        message = _bad_pattern(spec[pattern_key])
        if message:
            yield Problem(f"{pattern_key} is no regular expression: {message}", places.of((*path, pattern_key)))


def _bad_literals(value: Any) -> str:
    if isinstance(value, str):
        return "" if value else "must not be empty"
    if not isinstance(value, list):
        return f"must be a string or a list of strings, not {_kind(value)}"
    if not value:
        return "must list at least one string"
    if not all(isinstance(one, str) for one in value):
        return "must list strings only"
    return "" if all(value) else "must not list an empty string"


def _bad_pattern(value: Any) -> str:
    if not isinstance(value, str):
        return f"it is {_kind(value)}"
    try:
        regex.compile(value, regex.DOTALL)
    except regex.error as error:
        return str(error)
    return ""


def report_join(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """A join that is no string, or without repeats."""
    join = field.get("join")
    if join is not None and not isinstance(join, str):
        yield Problem(f"join must be a string, not {_kind(join)}", places.of((*path, "join")))
    elif join is not None and not field.get("repeats", False):
        yield Problem("join without repeats", places.of((*path, "join")), help='add "repeats": true')


def report_transform(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Placeholders beside other text, and a transform_each without a transform."""
    each, transform = field.get("transform_each", False), field.get("transform")
    if not isinstance(each, bool):
        yield Problem(f"transform_each must be true or false, not {_kind(each)}", places.of((*path, "transform_each")))
    elif each and transform is None:
        yield Problem("transform_each without a transform", places.of((*path, "transform_each")))
    for text in strings(transform):
        if mixed(text):
            yield Problem(
                f"the transform string {text!r} mixes a placeholder with other text",
                places.of((*path, "transform")),
                help='a placeholder is a whole string ("{content}"); there is no interpolation',
            )


def report_unused_captures(field: Any, path: Path, places: Places) -> Iterator[Problem]:
    """Named groups that no transform can use."""
    if field.get("transform") is not None:
        return
    for key in ("open_pattern", "close_pattern"):
        source = field.get(key)
        if source is None or _bad_pattern(source):
            continue
        names = sorted(regex.compile(source, regex.DOTALL).groupindex)
        if names:
            yield Problem(
                f"{key} captures {', '.join(map(repr, names))}, but the field has no transform",
                places.of((*path, key)),
                help="add a transform that uses what is captured, or make the groups (?:…)",
            )


FIELD_CHECKS = (
    report_field_keys,
    report_content,
    warn_content_args,
    report_delimiters,
    report_join,
    report_transform,
    report_unused_captures,
)
