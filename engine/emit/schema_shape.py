"""The shape of a schema that only asserts: schemas of equal shape have the same values, in whatever document they stand."""

from __future__ import annotations

from collections.abc import Mapping

from .schema_keywords import ANNOTATIONS

Shape = tuple[object, ...]

_ASSERTIONS = frozenset(
    [
        "type",
        "nullable",
        "enum",
        "const",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]
)


def shape(schema: object) -> Shape | None:
    """What the schema asserts, annotations left aside; None if it refers to others or names members.

    >>> shape({"type": "string", "title": "a"}) == shape({"type": "string"})
    True
    >>> shape({"enum": [1]}) == shape({"enum": [True]}), shape({"$ref": "#"})
    (False, None)
    """
    if not isinstance(schema, Mapping):
        return () if schema is True else None
    found: list[object] = []
    for keyword, value in schema.items():
        if keyword in _ASSERTIONS:
            found.append((keyword, value if isinstance(value, str) else _exact(value)))
        elif keyword == "items":
            items = shape(value)
            if items is None:
                return None
            found.append((keyword, items))
        elif keyword not in ANNOTATIONS:
            return None
    return tuple(found)


def _exact(value: object) -> object:
    """A hashable form that is equal for the same values written the same: 1 is not 1.0, and not true."""
    match value:
        case str():
            return value
        case Mapping():
            return "object", tuple((key, _exact(item)) for key, item in value.items())
        case list() | tuple():
            return "array", tuple(map(_exact, value))
        case _:
            return type(value), repr(value)
