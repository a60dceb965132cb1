"""The assertions of a schema, read: each keyword's form checked, each group of keywords turned into facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from ..errors import EmitError, RequestError
from .automaton import Automaton
from .schema_facts import ANYTHING, KINDS, NUMBERS, Bounds, Contains, Facts, Fields, Items, Size
from .schema_formats import NOT_REGULAR, format_language
from .schema_refs import Node

#: Turns a pattern into its language; None, and reported for that node and keyword, if it has none.
Patterns = Callable[[Node, str, str], Automaton | None]

#: Keywords that constrain nothing here. Any unknown one is an annotation too, as the standard says.
ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "example",
        "$comment",
        "$schema",
        "$id",
        "$anchor",
        "$defs",
        "definitions",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "$vocabulary",
    }
)
TYPES: dict[str, frozenset[str]] = {kind: frozenset({kind}) for kind in KINDS - {"fraction"}} | {"number": NUMBERS}


def checked(node: Node) -> Mapping[str, Any]:
    """The schema, its keywords of the right form."""
    if not isinstance(node.schema, Mapping):
        raise RequestError(f"schema at {node.path or 'the root'}: {node.schema!r} is neither an object nor a boolean")
    for keyword, value in node.schema.items():
        form = FORMS.get(keyword)
        if form is not None and not form[0](value):
            raise RequestError(f"schema at {node.path or 'the root'}: {keyword} has to be {form[1]}, not {value!r:.80}")
    return node.schema


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: object) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)  # type: ignore[operator, call-overload]  # a number


def _is_schema(value: object) -> bool:
    return isinstance(value, Mapping | bool)


def _is_schemas(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_schema(item) for item in value)


def _is_schema_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(_is_schema(item) for item in value.values())


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_type(value: object) -> bool:
    return (isinstance(value, str) and value in TYPES) or (
        isinstance(value, list | tuple) and all(isinstance(v, str) and v in TYPES for v in value)
    )


_NUMBER, _COUNT, _SCHEMA = (_is_number, "a number"), (_is_count, "a count"), (_is_schema, "a schema")
_SCHEMAS, _MAP, _NAMES = (
    (_is_schemas, "a list of schemas"),
    (_is_schema_map, "an object of schemas"),
    (_is_names, "a list of names"),
)
_TEXT = (lambda value: isinstance(value, str), "a string")
FORMS: dict[str, tuple[Callable[[object], bool], str]] = {
    "type": (_is_type, "a type name or a list of them"),
    "enum": (lambda value: isinstance(value, list | tuple), "a list of values"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a positive number"),  # type: ignore[operator]
    **dict.fromkeys(("minimum", "maximum"), _NUMBER),
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"), (lambda v: isinstance(v, bool) or _is_number(v), "a number")
    ),
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ),
        _COUNT,
    ),
    **dict.fromkeys(
        ("not", "if", "then", "else", "contains", "additionalProperties", "propertyNames", "unevaluatedItems"), _SCHEMA
    ),
    **dict.fromkeys(("unevaluatedProperties",), _SCHEMA),
    "items": (lambda value: _is_schema(value) or _is_schemas(value), "a schema"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _SCHEMAS),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _MAP),
    "required": (lambda value: isinstance(value, bool) or _is_names(value), "a list of names"),
    "dependentRequired": (
        lambda v: isinstance(v, Mapping) and all(_is_names(n) for n in v.values()),
        "an object of lists",
    ),
    **dict.fromkeys(("pattern", "format", "$ref", "$dynamicRef", "$anchor"), _TEXT),
}


def fraction(value: float) -> Fraction:
    """The number as it was written: 0.1 is a tenth."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _size(node: Node, schema: Mapping[str, Any], least: str, most: str) -> Size:
    minimum, maximum = int(schema.get(least, 0)), schema.get(most)
    size = Size(minimum, None if maximum is None else int(maximum))
    if size.is_empty():
        raise EmitError(f"schema at {node.path or 'the root'}: {least} {minimum} is more than {most} {maximum}")
    return size


def _types(_: Patterns, _node: Node, schema: Mapping[str, Any]) -> Facts:
    names = schema["type"]
    kinds = TYPES[names] if isinstance(names, str) else frozenset[str]().union(*(TYPES[name] for name in names))
    return Facts(kinds=kinds | {"null"} if schema.get("nullable") is True else kinds)


def _values(_: Patterns, _node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(values=tuple(schema["enum"]))


def _const(_: Patterns, _node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(values=(schema["const"],))


def _bounds(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    bounds = Bounds()
    for keyword, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        lower = keyword == "minimum"
        # Draft 4 had booleans here, and OpenAPI 3.0 still has.
        strict = schema.get(exclusive) is True
        if keyword in schema:
            bounds &= _bound(fraction(schema[keyword]), strict, lower)
        if _is_number(schema.get(exclusive)):
            bounds &= _bound(fraction(schema[exclusive]), True, lower)
    if bounds.lower is not None and bounds.upper is not None and bounds.lower > bounds.upper:
        raise EmitError(
            f"schema at {node.path or 'the root'}: the minimum {float(bounds.lower):g} is more than"
            f" the maximum {float(bounds.upper):g}"
        )
    return Facts(bounds=bounds)


def _bound(value: Fraction, strict: bool, lower: bool) -> Bounds:
    return Bounds(lower=value, lower_open=strict) if lower else Bounds(upper=value, upper_open=strict)


def _multiple(_: Patterns, _node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(multiples=frozenset({fraction(schema["multipleOf"])}))


def _length(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(length=_size(node, schema, "minLength", "maxLength"))


def _pattern(patterns: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    language = patterns(node, schema["pattern"], "pattern")
    return ANYTHING if language is None else Facts(languages=frozenset({language}))


def _format(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    language = format_language(schema["format"])
    if schema["format"] in NOT_REGULAR:
        return Facts(unsaid=(("string", "format", node),))
    return ANYTHING if language is None else Facts(languages=frozenset({language}))


def _fields(patterns: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    named = {k: node.below(s, "properties", k) for k, s in schema.get("properties", {}).items()}
    by_pattern = []
    rest = (
        node.below(schema["additionalProperties"], "additionalProperties") if "additionalProperties" in schema else None
    )
    for source, below in schema.get("patternProperties", {}).items():
        language = patterns(node, source, "patternProperties")
        if language is None:
            rest = None  # which keys are left over is not known
        else:
            by_pattern.append((language, node.below(below, "patternProperties", source)))
    required = schema.get("required", ())
    return Facts(
        fields=(Fields(named, tuple(by_pattern), rest),) if named or by_pattern or rest else (),
        required=() if isinstance(required, bool) else tuple(dict.fromkeys(required)),
    )


def _members(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(members=_size(node, schema, "minProperties", "maxProperties"))


def _names(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(names=(node.below(schema["propertyNames"], "propertyNames"),))


def _items(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    front, rest = schema.get("prefixItems"), schema.get("items")
    keyword, following = "prefixItems", "items"
    if isinstance(rest, list | tuple):  # the tuple form of older drafts
        front, rest, keyword, following = rest, schema.get("additionalItems"), "items", "additionalItems"
    nodes = tuple(node.below(item, keyword, i) for i, item in enumerate(front or ()))
    return Facts(items=(Items(nodes, None if rest is None else node.below(rest, following)),))


def _item_count(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(item_count=_size(node, schema, "minItems", "maxItems"))


def _contains(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    maximum = schema.get("maxContains")
    size = Size(int(schema.get("minContains", 1)), None if maximum is None else int(maximum))
    return Facts(contains=(Contains(node.below(schema["contains"], "contains"), size),)) if size != Size() else ANYTHING


def _unique(_: Patterns, node: Node, schema: Mapping[str, Any]) -> Facts:
    return Facts(unsaid=(("array", "uniqueItems", node),)) if schema["uniqueItems"] is True else ANYTHING


#: What reads which keywords; those read together state one thing.
READERS: tuple[tuple[frozenset[str], Callable[[Patterns, Node, Mapping[str, Any]], Facts]], ...] = tuple(
    (frozenset(keywords.split()), read)
    for keywords, read in (
        ("type", _types),
        ("enum", _values),
        ("const", _const),
        ("minimum maximum exclusiveMinimum exclusiveMaximum", _bounds),
        ("multipleOf", _multiple),
        ("minLength maxLength", _length),
        ("pattern", _pattern),
        ("format", _format),
        ("properties patternProperties additionalProperties required", _fields),
        ("minProperties maxProperties", _members),
        ("propertyNames", _names),
        ("prefixItems items", _items),
        ("minItems maxItems", _item_count),
        ("contains", _contains),
        ("uniqueItems", _unique),
    )
)
