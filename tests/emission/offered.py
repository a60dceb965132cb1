"""What requests offer: random tools, and random arguments that their schemas allow."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("get_weather", "get.weather", "get-weather", "search", "météo", "Search_2", 'say"hi"', "it's", "工具")
"""Tool names: some of them equal once cleaned for a rule name, some outside ASCII, some with quotes."""

KEYS = ("city", "ci.ty", "ci-ty", "größe", "days", "opts", "x y", 'a"b', "T")
"""Property names of the same kinds."""

PLAIN_KEYS = ("city", "days", "opts", "größe", "ci_ty")

TEXTS = (
    "",
    "Paris",
    "a < b",
    "true",
    "12",
    "null",
    "{}",
    '"q"',
    "two\nlines",
    " blanks ",
    "ä🍸",
    "back\\slash",
    "it's",
)
"""Strings that look like something else, without any format's delimiter."""

_PATTERNS = ("^[a-c]{1,3}$", "^\\d+$", "b", "^(on|off)$", "^\\w*$", "^<[a-z]>", "^[^a]{2}")
_FORMATS = ("date", "time", "uuid", "ipv4")


def _some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def _bounds(low: str, high: str, most: int) -> st.SearchStrategy[dict[str, int]]:
    return st.tuples(st.integers(0, most), st.integers(0, most)).map(lambda pair: {low: min(pair), high: max(pair)})


def _typed(name: str, keywords: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return keywords.map(lambda found: {"type": name, **found})


scalars: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-20, 20) | st.sampled_from([0.5, -2.25]) | st.sampled_from(TEXTS)
)

strings = _typed(
    "string",
    st.just({})
    | _some(pattern=st.sampled_from(_PATTERNS), maxLength=st.integers(3, 6))
    | _bounds("minLength", "maxLength", 5)
    | st.sampled_from(_FORMATS).map(lambda name: {"format": name}),
)
numbers = st.sampled_from(["integer", "number"]).flatmap(
    lambda name: _typed(
        name,
        _some(minimum=st.integers(-20, 0), maximum=st.integers(0, 200))
        | _some(exclusiveMinimum=st.integers(-9, 9))
        | _some(multipleOf=st.sampled_from([1, 2, 5])),
    )
)
listed = st.lists(scalars, min_size=1, max_size=4).map(lambda values: {"enum": values})
words = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4).map(lambda values: {"type": "string", "enum": values})
constants = st.sampled_from(TEXTS).map(lambda value: {"const": value})
simple: st.SearchStrategy[dict[str, Any]] = (
    strings
    | numbers
    | words
    | listed
    | constants
    | st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"type": ["integer", "string"]}]
    )
)


def closed(properties: dict[str, Any], required: list[int]) -> dict[str, Any]:
    """A closed object schema; ``required`` are indices of its properties, taken modulo their number."""
    names = list(properties)
    needed = sorted({names[index % len(names)] for index in required}) if names else []
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def objects(inner: st.SearchStrategy[Any], keys: tuple[str, ...], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """Closed objects with properties of those names."""
    properties = st.dictionaries(st.sampled_from(keys), inner, max_size=most)
    return st.builds(closed, properties, st.lists(st.integers(0, 9), max_size=3))


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = st.builds(
        lambda items, bounds: {"type": "array", "items": items, **bounds}, inner, _bounds("minItems", "maxItems", 3)
    )
    tuples = st.lists(inner, min_size=1, max_size=2).map(
        lambda items: {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    )
    unions = st.lists(inner, min_size=2, max_size=2).map(lambda options: {"anyOf": options})
    nullable = inner.map(lambda schema: {"anyOf": [schema, {"type": "null"}]})
    return arrays | tuples | unions | nullable | objects(inner, KEYS, 3)


schemas = st.recursive(simple, _nested, max_leaves=4)

TREE = {
    "type": "object",
    "properties": {"left": {"$ref": "#/$defs/tree"}, "value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}


def parameters(keys: tuple[str, ...] = KEYS, inner: st.SearchStrategy[Any] = schemas) -> st.SearchStrategy[Any]:
    """The parameters of a tool; some refer to definitions that recurse."""
    plain = objects(inner, keys, 4)
    return plain | plain.map(
        lambda schema: {
            **schema,
            "properties": {**schema["properties"], "tree": {"$ref": "#/$defs/tree"}},
            "$defs": {"tree": TREE},
        }
    )


def tool(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """An OpenAI-style tool."""
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def tools(
    names: tuple[str, ...] = NAMES, keys: tuple[str, ...] = KEYS, inner: st.SearchStrategy[Any] = schemas
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """One to three tools."""
    return (
        st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
        .flatmap(
            lambda chosen: st.tuples(
                *(parameters(keys, inner).map(lambda schema, name=name: tool(name, schema)) for name in chosen)
            )
        )
        .map(list)
    )
