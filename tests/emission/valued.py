"""Random values that a schema of `offered` allows, as its author would write them."""

from __future__ import annotations

from random import Random
from typing import Any

from judged import invalid

_BY_FORMAT = {
    "date": "2031-02-03",
    "time": "04:05:06Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
}
_STRINGS = ("", "a", "b", "on", "ab", "abc", "12", "<b>", "Paris", "a < b", "two\nlines", "ä🍸", "back\\slash", "it's")
_NUMBERS = (0, 1, 2, 5, -1, -5, 10, 20, 100, 190, 0.5, -2.5)


def value_of(schema: Any, random: Random, root: Any) -> Any:
    """A value that the schema allows; `LookupError` if none was found."""
    for _ in range(20):
        value = _tried(schema, random, root)
        whole = {**schema, "$defs": root.get("$defs", {})}
        if not invalid(whole, value):
            return value
    raise LookupError(schema)


def _tried(schema: Any, random: Random, root: Any) -> Any:
    match schema:
        case {"$ref": _}:
            depth = random.randint(0, 2)
            tree: dict[str, Any] = {"value": depth}
            return {"left": tree, "value": 7} if depth else tree
        case {"const": value}:
            return value
        case {"enum": values}:
            return random.choice(values)
        case {"anyOf": options}:
            return value_of(random.choice(options), random, root)
        case {"format": name}:
            return _BY_FORMAT[name]
        case {"type": list(names)}:
            return _tried({"type": random.choice(names)}, random, root)
        case {"type": "object", "properties": properties, "required": required}:
            chosen = [name for name in properties if name in required or random.random() < 0.6]
            return {name: value_of(properties[name], random, root) for name in chosen}
        case {"type": "array", "prefixItems": items}:
            return [value_of(item, random, root) for item in items]
        case {"type": "array", "items": item, "minItems": least, "maxItems": most}:
            return [value_of(item, random, root) for _ in range(random.randint(least, most))]
        case {"type": "boolean"}:
            return random.random() < 0.5
        case {"type": "null"}:
            return None
        case {"type": "integer"}:
            return random.choice([number for number in _NUMBERS if isinstance(number, int)])
        case {"type": "number"}:
            return random.choice(_NUMBERS)
        case _:
            return random.choice(_STRINGS)
