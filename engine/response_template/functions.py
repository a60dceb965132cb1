"""Python functions as tools: which JSON types their parameters have, by their type hints.

As `transformers.utils.get_json_schema` reads them; the docstring, which that needs for the prompt, is not asked for.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from ..errors import RequestError

_NAMES: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}


class _NoType(Exception):
    """A hint that no JSON type stands for."""


def parameters_of(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """A schema with the types of each parameter. Raises `RequestError` for one that has no hint, or none that JSON has.

    >>> def weather(city: str, days: int | None = None): ...
    >>> parameters_of(weather)
    {'city': {'type': 'string'}, 'days': {'type': 'integer', 'nullable': True}}
    """
    hints = typing.get_type_hints(function)
    found = {}
    for position, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if name not in hints:
            if position == 0 and name in {"self", "cls"}:
                continue
            raise RequestError(f"parameter {name!r} of {function!r} needs a type hint: its arguments are read by it")
        try:
            found[name] = _schema(hints[name])
        except _NoType:
            raise RequestError(
                f"parameter {name!r} of {function!r} has the type hint {parameter.annotation!r}, for which JSON has no "
                "type; give the tool as a dict with a JSON schema"
            ) from None
    return found


def _schema(hint: Any) -> dict[str, Any]:
    if hint is Any:
        return {}
    origin = typing.get_origin(hint) or hint
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(hint))
    if origin is typing.Literal:
        return _types_of(typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _types_of(tuple(member.value for member in hint))
    if origin not in _NAMES:
        raise _NoType
    return {"type": _NAMES[origin]}


def _union(hints: tuple[Any, ...]) -> dict[str, Any]:
    """None goes last, and the names of bare types by the alphabet: the order is that in which they are tried."""
    others = [hint for hint in hints if hint is not type(None)]
    schemas = [_schema(hint) for hint in others]
    if len(schemas) == 1:
        schema = schemas[0]
    elif all(hint in _NAMES for hint in others):
        schema = {"type": sorted({one["type"] for one in schemas})}
    else:
        schema = {"anyOf": schemas}
    return schema | {"nullable": True} if len(others) < len(hints) else schema


def _types_of(values: tuple[Any, ...]) -> dict[str, Any]:
    if not values or any(type(value) not in _NAMES for value in values):
        raise _NoType
    return {"type": list(dict.fromkeys(_NAMES[type(value)] for value in values))}
