"""What a JSON schema says about the type of a value, for reading: types, enum and const, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

TYPES = frozenset(("string", "integer", "number", "boolean", "null", "array", "object"))
_DEPTH = 32


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A property as its schema declares it. ``types`` None: anything; ``allowed`` None: no enum or const.

    ``schema`` and ``root`` lead on to nested values.
    """

    types: frozenset[str] | None
    allowed: tuple[Any, ...] | None
    schema: Any
    root: Any

    def member(self, name: str) -> Declared:
        """The declared value of the object's property ``name``."""
        return declared(_property(self.schema, self.root, name, 0), self.root)

    def items(self) -> Declared:
        """What the items of the array are declared to be."""
        resolved = resolve(self.schema, self.root)
        return declared(resolved.get("items", True) if isinstance(resolved, Mapping) else True, self.root)


def resolve(schema: Any, root: Any) -> Any:
    """``schema`` with its ``$ref`` followed; what cannot be followed is ``True``, anything."""
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = pointed(schema["$ref"], root)
    return True


def pointed(reference: str, root: Any) -> Any:
    """What a local reference points to (RFC 6901, or ``$anchor``).

    >>> pointed("#/$defs/a~1b", {"$defs": {"a/b": {"type": "null"}}})
    {'type': 'null'}
    """
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return _anchored(reference.removeprefix("#"), root)
    here = root
    for part in reference[2:].split("/"):
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return True
    return here


def _anchored(name: str, root: Any) -> Any:
    todo = [root]
    while todo:
        here = todo.pop()
        if isinstance(here, Mapping):
            if here.get("$anchor") == name:
                return here
            todo.extend(here.values())
        elif isinstance(here, list):
            todo.extend(here)
    return True


def declared(schema: Any, root: Any) -> Declared:
    """What ``schema`` declares of a value's type.

    >>> sorted(declared({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {}).types)
    ['integer', 'null']
    """
    return Declared(types(schema, root, 0), _allowed(schema, root), schema, root)


def types(schema: Any, root: Any, depth: int) -> frozenset[str] | None:
    """The JSON types the schema declares; None when it declares none. Local references are followed."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return None
    found: frozenset[str] | None = None
    if isinstance(schema.get("$ref"), str):
        found = _both(found, types(pointed(schema["$ref"], root), root, depth + 1))
    found = _both(found, _listed(schema.get("type")))
    if "const" in schema:
        found = _both(found, frozenset((type_of(schema["const"]),)))
    elif isinstance(schema.get("enum"), list):
        found = _both(found, frozenset(map(type_of, schema["enum"])))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            found = _both(found, _union([types(part, root, depth + 1) for part in schema[keyword]]))
    for part in schema.get("allOf") or () if isinstance(schema.get("allOf"), list) else ():
        found = _both(found, types(part, root, depth + 1))
    if found is not None and schema.get("nullable") is True:
        found |= {"null"}
    return found


def _listed(value: Any) -> frozenset[str] | None:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        return None
    return frozenset(name for name in names if isinstance(name, str) and name in TYPES) or None


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    common = one & other
    if "integer" in one | other and "number" in one | other:
        common |= {"integer"}
    return common or one


def _union(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if known and len(known) == len(parts) else None


def type_of(value: Any) -> str:
    """The JSON type of a decoded value; a whole float is an integer, as JSON schema says."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _allowed(schema: Any, root: Any) -> tuple[Any, ...] | None:
    resolved = resolve(schema, root)
    if not isinstance(resolved, Mapping):
        return None
    if "const" in resolved:
        return (resolved["const"],)
    return tuple(resolved["enum"]) if isinstance(resolved.get("enum"), list) else None


def member_names(schema: Any, root: Any, depth: int = 0) -> dict[str, None]:
    """The names of properties that the schema and the parts it is made of declare, in order.

    >>> list(member_names({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}}, {}))
    ['b', 'a']
    """
    resolved = resolve(schema, root)
    if not isinstance(resolved, Mapping) or depth > _DEPTH:
        return {}
    properties = resolved.get("properties")
    names = dict.fromkeys(properties) if isinstance(properties, Mapping) else {}
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts = resolved.get(keyword)
        for part in parts if isinstance(parts, list) else ():
            names |= member_names(part, root, depth + 1)
    return names


def _property(schema: Any, root: Any, name: str, depth: int) -> Any:
    """The schema of property ``name``, looked for in the parts an object's schema is made of."""
    resolved = resolve(schema, root)
    if not isinstance(resolved, Mapping) or depth > _DEPTH:
        return True
    properties = resolved.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts = resolved.get(keyword)
        for part in parts if isinstance(parts, list) else ():
            found = _property(part, root, name, depth + 1)
            if found is not True:
                return found
    extra = resolved.get("additionalProperties", True)
    return extra if isinstance(extra, Mapping) else True
