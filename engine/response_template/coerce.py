"""Arguments of tool calls that were read as text, cast to the types their tool's schema declares."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .functions import parameters_of

Properties = Mapping[str, Any]
_UNION_WORDS = ("anyOf", "oneOf")
_JSON_TYPES: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    type(None): ("null",),
    dict: ("object",),
    list: ("array",),
    str: ("string",),
}


class _Uncastable(Exception):
    """The text is no value of the type."""


def properties_of(tools: Sequence[Any] | None, *, strict_only: bool = False) -> dict[str, Properties]:
    """The declared parameters of each tool, a dict or a function, by its name. What is no tool is left out.

    ``strict_only``: those alone that say they are strict, which only a dict can.

    >>> properties_of([{"function": {"name": "ping", "parameters": {"properties": {"host": {}}}}}])
    {'ping': {'host': {}}}
    """
    found: dict[str, Properties] = {}
    for tool in tools or ():
        if inspect.isfunction(tool) or inspect.ismethod(tool):
            if strict_only:
                continue
            found[tool.__name__] = parameters_of(tool)
            continue
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            if strict_only and not function.get("strict"):
                continue
            parameters = function.get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, dict) else None
            found[function["name"]] = properties if isinstance(properties, dict) else {}
    return found


def types(schema: Any) -> tuple[str, ...]:
    """The types a schema names, in its order.

    >>> types({"anyOf": [{"type": "integer"}, {"type": ["null", "string"]}]})
    ('integer', 'null', 'string')
    """
    if not isinstance(schema, dict):
        return ()
    named = schema.get("type")
    found = [name for name in (named if isinstance(named, list) else [named]) if isinstance(name, str)]
    for word in _UNION_WORDS:
        parts = schema.get(word)
        for part in parts if isinstance(parts, list | tuple) else ():
            found.extend(types(part))
    if schema.get("nullable") and "null" not in found:
        found.append("null")
    return tuple(found)


def cast(text: str, declared: tuple[str, ...]) -> Any:
    """``text`` as the first declared type it is a value of, else as it is.

    A union with string: only a text that is exactly JSON of another declared type is cast.

    >>> cast("3.0", ("integer",)), cast("1", ("boolean",)), cast("00917", ("string", "integer"))
    (3, True, '00917')
    """
    if "string" in declared and set(declared) != {"string"}:
        declared = _exact(text, declared)
    for name in declared:
        try:
            return _CASTS[name](text)
        except (KeyError, ValueError, RecursionError, _Uncastable):
            continue
    return text


def _exact(text: str, declared: tuple[str, ...]) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    names = _JSON_TYPES[type(value)] if text == text.strip() else ()
    return tuple(name for name in declared if name in names)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise _Uncastable from None
        return int(number)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN alone differs from itself
        raise _Uncastable
    return int(number) if number.is_integer() and "." not in text else number


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in {"true", "1", "false", "0"}:
        raise _Uncastable
    return word in {"true", "1"}


def _null(text: str) -> None:
    if text.strip() not in {"null", "None"}:
        raise _Uncastable


def _container(kind: type) -> Any:
    def read(text: str) -> Any:
        value = json.loads(text)
        if not isinstance(value, kind):
            raise _Uncastable
        return value

    return read


_CASTS = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "object": _container(dict),
    "array": _container(list),
}


def coerce_calls(value: Any, tools: Mapping[str, Properties], json_values: bool) -> None:
    """Cast the arguments of the tool calls in ``value`` in place.

    ``json_values``: they were decoded from JSON, where a string says that it is one.
    """
    if isinstance(value, list):
        for item in value:
            coerce_calls(item, tools, json_values)
        return
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        return
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return
    properties = tools.get(name) or {}
    for key, argument in arguments.items():
        declared = types(properties[key]) if key in properties else ()
        if not declared or (json_values and "string" in declared):
            continue
        if isinstance(argument, str):
            arguments[key] = cast(argument, declared)
        elif isinstance(argument, list) and "array" not in declared:
            arguments[key] = [cast(item, declared) if isinstance(item, str) else item for item in argument]
