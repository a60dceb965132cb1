"""Random schemas, judged by ``jsonschema``: what the rules write is valid, what is valid they can write."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.simplify import simplified
from chatpeg.errors import EmitError
from hypothesis import given, settings
from hypothesis import strategies as st
from recogniser import Recogniser
from sampling import Sampler, lowered

NAMES = ["a", "ab", "b", "x-1"]
scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.sampled_from([0.5, -2.25, 3.75])
    | st.text('ab1 "\\', max_size=4)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=5,
)


def some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def sized(low: str, high: str, most: int) -> st.SearchStrategy[dict[str, int]]:
    return st.tuples(st.integers(0, most), st.integers(0, most)).map(lambda pair: {low: min(pair), high: max(pair)})


def typed(name: str, keywords: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(keywords, st.booleans()).map(lambda pair: {**pair[0], "type": name} if pair[1] else pair[0])


patterns = st.sampled_from(["^a", "b$", "^[a-b]+$", "1|a b", "^(a|b1){1,2}$", '"', r"\\", r"^\w*$", r"\d"])
strings = typed(
    "string",
    some(pattern=patterns) | sized("minLength", "maxLength", 4) | some(pattern=patterns, maxLength=st.integers(0, 4)),
)
bounds = st.integers(-9, 9) | st.sampled_from([0.5, -1.5, 2.25])
numbers = st.sampled_from(["integer", "number"]).flatmap(
    lambda name: typed(
        name,
        some(minimum=bounds)
        | some(maximum=bounds)
        | some(exclusiveMinimum=bounds, multipleOf=st.sampled_from([1, 2, 3, 0.25])),
    )
)
listed = st.lists(values, min_size=1, max_size=4).map(lambda options: {"enum": options}) | values.map(
    lambda v: {"const": v}
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
    objects = some(
        properties=properties,
        required=names,
        additionalProperties=inner | st.booleans(),
        patternProperties=st.dictionaries(st.sampled_from(["^a", "b", "^x-"]), inner, max_size=2),
        propertyNames=st.sampled_from([{"pattern": "^[ab]+$"}, {"maxLength": 2}, True]),
        dependentRequired=st.dictionaries(st.sampled_from(NAMES), names, max_size=1),
        unevaluatedProperties=st.booleans(),
    )
    counted = st.tuples(objects, sized("minProperties", "maxProperties", 4)).map(lambda pair: pair[0] | pair[1])
    arrays = some(items=inner, prefixItems=st.lists(inner, max_size=2), contains=inner, unevaluatedItems=st.booleans())
    lists = st.tuples(arrays, sized("minItems", "maxItems", 4) | st.just({})).map(lambda pair: pair[0] | pair[1])
    several = st.lists(inner, min_size=1, max_size=3)
    combined = (
        some(allOf=several)
        | some(anyOf=several, properties=properties)
        | some(oneOf=several)
        | inner.map(lambda s: {"not": s})
    )
    conditions = st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner})
    references = st.tuples(inner, numbers).map(lambda pair: {"$ref": "#/$defs/d", **pair[1], "$defs": {"d": pair[0]}})
    return (
        typed("object", objects) | typed("object", counted) | typed("array", lists) | combined | conditions | references
    )


schemas = st.recursive(st.booleans() | st.just({}) | strings | numbers | listed, containers, max_leaves=6)


def rooted(schema: Any) -> Any:
    """The schema with the definitions of its references where they point: at the root of a document."""
    if isinstance(schema, list):
        return [rooted(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$defs" in schema:
        rest = {key: rooted(value) for key, value in schema.items() if key not in {"$ref", "$defs"}}
        return {"allOf": [rooted(schema["$defs"]["d"]), rest]}
    return {key: value if key in {"enum", "const"} else rooted(value) for key, value in schema.items()}


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a repeated key"
    return dict(pairs)


def grammar(schema: Any) -> tuple[Any, list[Any]]:
    """The rules, None if nothing satisfies the schema, and the warnings."""
    rules, warnings = lowered(schema)
    try:
        return rules and simplified(rules), warnings
    except EmitError:
        return None, warnings


@settings(max_examples=150)
@given(schemas, st.integers(0, 2**32))
def test_what_is_written_is_valid(schema: Any, seed: int) -> None:
    schema = rooted(schema)
    rules, warnings = grammar(schema)
    if rules is None:
        return
    recogniser = Recogniser(gbnf(rules))
    sampler = Sampler(rules, Random(seed))
    for _ in range(4):
        sentence = sampler.sentence()
        assert len(sentence) > 200 or recogniser.matches(sentence)
        try:
            value = json.loads(sentence, object_pairs_hook=unique)
        except AssertionError:
            continue  # names that are not declared may repeat: no grammar can count them
        if not warnings:
            jsonschema.Draft202012Validator(schema).validate(value)


@settings(max_examples=150)
@given(schemas, st.lists(values, min_size=8, max_size=8))
def test_what_is_refused_is_invalid_or_in_another_order(schema: Any, instances: list[Any]) -> None:
    schema = rooted(schema)
    rules, warnings = grammar(schema)
    recogniser = None if rules is None else Recogniser(gbnf(rules))
    validator = jsonschema.Draft202012Validator(schema)
    for value in instances:
        accepted = recogniser is not None and recogniser.matches(json.dumps(value))
        if accepted and not warnings:
            validator.validate(value)
        if not accepted and recogniser is not None and _is_flat(value) and not _counts_several(schema):
            assert not validator.is_valid(value)


def _is_flat(value: Any) -> bool:
    """Whether no order of members and no spelling of numbers is at stake."""
    return not isinstance(value, dict | list | float)


def _counts_several(schema: Any) -> bool:
    """Whether the schema has ``unevaluated…``, whose alternatives are taken one at a time."""
    return "unevaluated" in json.dumps(schema)
