"""Schemas as rules: small goldens, what is accepted and refused, warnings, errors, sharing, recursion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chatpeg.emit.automaton import text, until
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.rules import Builder, Rules
from chatpeg.emit.schema import Relaxed, SchemaLowering, unlike
from chatpeg.emit.schema_expand import Expander
from chatpeg.errors import EmitError, RequestError
from recogniser import Recogniser
from sampling import lowered, printed

CLOSED = {"additionalProperties": False}


def test_a_small_object() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["c", "f"]}},
        "required": ["city"],
        **CLOSED,
    }
    lines = printed(schema).splitlines()
    assert lines[0] == (
        r'root ::= "{" blank "\"city\":" blank-2 string ("," blank ("\"days\":" blank-2 integer'
        r' ("," blank value-unit)? | value-unit))? blank "}"'
    )
    assert r'value-unit ::= "\"unit\":" blank-2 ("\"c\"" | "\"f\"")' in lines
    assert r'string ::= "\"" char* "\""' in lines


def test_plain_types_are_shared_rules() -> None:
    lines = printed({"type": "array", "items": {"type": "number", "description": "a price"}}).splitlines()
    assert lines[:2] == ["root ::= number-list", 'number-list ::= "[" blank (number ("," blank number)* blank)? "]"']


def test_lengths_need_no_automaton() -> None:
    assert printed({"type": "string", "minLength": 2, "maxLength": 9}).startswith('root ::= "\\"" char{2,9} "\\""\n')


ROWS: list[tuple[Any, list[Any], list[Any]]] = [
    ({"type": "object", "properties": {"a": {"not": {}}, "b": {}}, **CLOSED}, [{}, {"b": 1}], [{"a": 1}]),
    ({"type": "object", "required": ["x y"]}, [{"x y": 1}, {"x y": 1, "z": 2}], [{}, {"x": 1}]),
    ({"properties": {"ab": {"type": "null"}}}, [{"ab": None}, {"a": 1}, {"abc": 1}, 3], [{"ab": 1}, {"ab": None, "ab ": 0, "": 0}][:1]),
    ({"type": "object", "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "null"}},
     [{"a": None, "b": None}, {"a": None, "b": None, "c": None}], [{}, {"a": None}, {"a": None, "b": None, "c": None, "d": None}]),
    ({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2, "maxProperties": 2, **CLOSED},
     [{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}], [{}, {"a": 1}, {"a": 1, "b": 1, "c": 1}]),
    ({"type": "object", "patternProperties": {"^x-": {"type": "integer"}, "y$": {"minimum": 5}}, **CLOSED},
     [{"x-a": 1}, {"y": 5}, {"x-y": 7}, {"y": "s"}], [{"x-a": "s"}, {"x-y": 1}, {"x-y": "s"}, {"z": 1}]),
    ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3}}, [{"ab": 1}], [{"A": 1}, {"abcd": 1}]),
    ({"type": "object", "properties": {"a": {}, "B": {}}, "propertyNames": {"pattern": "^[a-z]$"}, "required": ["a"]},
     [{"a": 1}, {"a": 1, "c": 1}], [{"B": 1}, {"a": 1, "B": 1}]),
    ({"dependentRequired": {"a": ["b"]}, "properties": {"a": {}, "b": {}}}, [{"a": 1, "b": 1}, {"b": 1}, {}], [{"a": 1}]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [[], [1], [1, "x"], [1, "x", None]], [["x"], [1, 2]]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, False]}, [[], [1]], [[1, 2]]),
    ({"type": "array", "contains": {"const": 1}, "minContains": 2, "maxItems": 3}, [[1, 1], [0, 1, 1], [1, 1, 1]], [[1], [0, 1], [0, 1, 1, 0]]),
    ({"type": "array", "contains": {"const": 1}, "maxContains": 1}, [[1], [0, 1, 2]], [[], [0], [1, 1]]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}, [[1], [1, 2, 3]], [[], [1, 2, 3, 4], ["x"]]),
    ({"type": "integer", "minimum": -3, "exclusiveMaximum": 117}, [-3, 0, 116], [-4, 117, 1.5]),
    ({"type": "number", "exclusiveMinimum": 0.5, "maximum": 2}, [0.75, 0.51, 2, 2.0, 1], [0.5, 2.01, 3, -1, 0]),
    ({"type": "integer", "multipleOf": 5, "minimum": 8}, [10, 1005], [5, 0, 11, -10]),
    ({"type": "number", "multipleOf": 0.01}, [1.25, 3, 0], [1.255]),
    ({"type": "integer", "minimum": 5, "nullable": True}, [None, 5], [4, "5"]),
    ({"type": "string", "pattern": "^a+$", "maxLength": 3}, ["a", "aaa"], ["", "aaaa", "b"]),
    ({"type": "string", "minLength": 2, "not": {"enum": ["no", "never"]}}, ["yes", "nope", "noo"], ["no", "never", "n"]),
    ({"type": "string", "pattern": '^["\\\\]$'}, ['"', "\\"], ["x"]),
    ({"type": "string", "maxLength": 1, "enum": ["a", "bb", 3]}, ["a"], ["bb", 3]),
    ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}], "not": {"const": 3}}, ["ab", 2], ["abc", 3]),
    ({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 10}]}, [20, -5], [5, 0, 10]),
    ({"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}], "pattern": "^x"}, ["xa", "xab"], ["x", "xabc", "ab"]),
    ({"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["v"]}, "properties": {"k": {}, "v": {}}},
     [{"k": 1, "v": 0}, {"k": 2}, {}], [{"k": 1}]),
    ({"$ref": "#/$defs/a~1b", "maximum": 5, "$defs": {"a/b": {"type": "integer"}}}, [5], [6, "x"]),
    ({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "null"}}}, [None], [0]),
    ({"type": "object", "properties": {"v": {"type": "null"}, "n": {"$ref": "#"}}, "required": ["v"], **CLOSED},
     [{"v": None}, {"v": None, "n": {"v": None, "n": {"v": None}}}], [{"v": None, "n": {}}]),
    ({"const": {"a": [1, None], "b": "x"}}, [{"a": [1, None], "b": "x"}], [{"a": [1]}]),
    (False, [], [None, 0, {}]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "valid", "invalid"), ROWS, ids=lambda row: json.dumps(row)[:60])
def test_accepts_and_refuses(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    rules, warnings = lowered(schema)
    assert warnings == []
    matches = Recogniser(gbnf(rules)).matches if rules else lambda _: False
    for separators in ((",", ":"), (", ", ": ")):
        assert [value for value in valid if not matches(json.dumps(value, separators=separators))] == []
        assert [value for value in invalid if matches(json.dumps(value, separators=separators))] == []


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        ({"items": {"uniqueItems": True}}, "/items", "uniqueItems"),
        ({"properties": {"a/b": {"pattern": "(?=x)"}}}, "/properties/a~1b", "pattern"),
        ({"type": "string", "maxLength": 10**6}, "", "maxLength"),
        ({"type": "string", "pattern": "^(a|bc)*$", "maxLength": 50_000}, "", "maxLength"),
        ({"type": "integer", "multipleOf": 7919}, "", "multipleOf"),
        ({"$ref": "https://example.com/elsewhere"}, "", "$ref"),
        ({"not": {"uniqueItems": True}}, "", "not"),
        ({"type": "string", "format": "regex"}, "", "format"),
        ({"$ref": "#"}, "", "$ref"),
    ],
)
def test_what_cannot_be_said_is_reported(schema: Any, path: str, keyword: str) -> None:
    _, warnings = lowered(schema, tool="search")
    assert [(w.tool, w.path, w.keyword) for w in warnings] == [("search", path, keyword)]
    with pytest.raises(EmitError, match=f"search at .*{keyword.lstrip('$')}"):
        lowered(schema, tool="search", strict=True)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"properties": {"a": {"minLength": 5, "maxLength": 3}}},
            "at /properties/a: minLength 5 is more than maxLength 3",
        ),
        ({"minItems": 2, "maxItems": 1}, "minItems 2 is more than maxItems 1"),
        ({"minimum": 2, "maximum": 1}, "the minimum 2 is more than the maximum 1"),
    ],
)
def test_contradictions_are_named(schema: Any, message: str) -> None:
    with pytest.raises(EmitError, match=message):
        lowered(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "int"}, "type has to be a type name or a list of them, not 'int'"),
        ({"properties": {"a": []}}, "properties has to be an object of schemas"),
        ({"properties": {"a": {"minLength": -1}}}, "at /properties/a: minLength has to be a count"),
        ({"anyOf": {}}, "anyOf has to be a list of schemas"),
        ({"enum": "abc"}, "enum has to be a list of values"),
        (3, "neither an object nor a boolean"),
    ],
)
def test_invalid_schemas_are_named(schema: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        lowered(schema)


def test_objects_can_be_closed() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object"}, "b": {"additionalProperties": True, "type": "object"}},
    }
    is_closed = Recogniser(printed(schema, open_objects=False)).matches
    assert is_closed('{"a":{"any":1},"b":{"x":1}}')
    assert not is_closed('{"c":1}')


def test_further_members_can_be_limited() -> None:
    one = Recogniser(printed({"properties": {"a": {}}, "type": "object"}, most_extras=1)).matches
    texts = ("{}", '{"a":1}', '{"a":1,"b":2}', '{"b":2}', '{"b":1,"b":2}', '{"a":1,"b":1,"c":2}')
    assert [one(text) for text in texts] == [True, True, True, True, False, False]


def test_types() -> None:
    lowering = SchemaLowering(Builder())
    assert lowering.types({"type": ["string", "null"], "enum": ["a"]}) == {"string"}
    assert lowering.types({"anyOf": [{"type": "number"}, {"type": "array"}], "not": {"type": "array"}}) == {"number"}
    assert lowering.types(False) == set()
    assert "string" in lowering.types({})


def raw(schema: Any, delimiter: str, unlike_types: tuple[str, ...] = ()) -> tuple[Recogniser | None, list[Any]]:
    builder, warnings = Builder(), []
    lowering = SchemaLowering(builder, root_schema=schema, warnings=warnings)
    found = lowering.raw_text(schema, until(text(delimiter)), "", unlike_types)
    return (Recogniser(gbnf(Rules({**builder.rules, "start": found}, "start"))) if found else None), warnings


def test_raw_texts_are_an_intersection() -> None:
    free, _ = raw({"type": "string"}, "</v>")
    assert free is not None
    assert [free.matches(t) for t in ("", "a </b> \n<", "a</v>b", "<<</v>")] == [True, True, False, False]
    pattern, warnings = raw({"type": "string", "pattern": "^<.*>$", "maxLength": 5}, "</v>")
    assert pattern is not None
    assert [pattern.matches(t) for t in ("<a>", "</v>", "</w>", "<abcd>", "a")] == [True, False, True, False, False]
    assert warnings == []


def test_raw_listed_values_that_hold_the_delimiter_are_left_out() -> None:
    listed, warnings = raw({"enum": ["a", "b</v>", 3]}, "</v>")
    assert listed is not None
    assert [listed.matches(t) for t in ("a", "b</v>", "3")] == [True, False, False]
    assert [(w.keyword, w.action) for w in warnings] == [("enum", "'b</v>' cannot be written here and is left out")]
    assert raw({"enum": ["</v>"]}, "</v>")[0] is None
    assert raw({"type": "integer"}, "</v>")[0] is None


def test_raw_texts_end_before_the_delimiter_of_their_place() -> None:
    builder = Builder()
    lowering = SchemaLowering(builder)
    found = [lowering.raw_text({"type": "string"}, until(text(delimiter))) for delimiter in "<>"]
    matches = [Recogniser(gbnf(Rules({**builder.rules, "start": e}, "start"))).matches for e in found if e]
    assert [[each(written) for written in ("a>", "a<")] for each in matches] == [[True, False], [False, True]]


def test_raw_texts_of_a_union_do_not_start_like_its_other_types() -> None:
    union, _ = raw({"type": ["string", "integer", "null"]}, "</v>", ("integer", "null"))
    assert union is not None
    assert [union.matches(t) for t in ("a1", " 1", "-x", "nul", "null", "[1]", "")] == [
        True,
        False,
        False,
        True,
        False,
        True,
        True,
    ]
    assert unlike(frozenset()).matches("1")


def test_without_strings() -> None:
    builder = Builder()
    value = SchemaLowering(builder).without_strings({"type": ["string", "integer", "null"], "maxLength": 3})
    matches = Recogniser(Rules({**builder.rules, "start": value}, "start")).matches
    assert [matches(t) for t in ('"a"', "17", "null")] == [False, True, True]


def test_members() -> None:
    schema = {"properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"b": {}}, "required": ["b", "c"]}]}
    (members,) = SchemaLowering(Builder(), root_schema=schema).members(schema)
    assert [(m.name, m.required) for m in members.declared] == [("a", False), ("b", True), ("c", True)]
    assert [extra.but for extra in members.extras] == [("a", "b", "c")]


def test_optional_members_are_linear() -> None:
    def size(count: int) -> int:
        properties = {f"p{i}": {"type": "integer"} for i in range(count)}
        return len(printed({"type": "object", "properties": properties, **CLOSED}))

    assert size(400) < 5 * size(100)


def test_an_asserting_schema_is_looked_at_once_for_all_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [
        {"type": "string", "maxLength": 9},
        {"type": "integer", "minimum": 1},
        {"enum": ["a", 1]},
        {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    ]
    node, seen = Expander.node, []
    monkeypatch.setattr(Expander, "node", lambda self, schema: seen.append(schema.path) or node(self, schema))

    def looked_at(count: int) -> int:
        seen.clear()
        builder = Builder()
        lowering = SchemaLowering(builder)
        for n in range(count):
            schema = {"type": "object", "properties": {f"p{n}_{i}": dict(kinds[i % 4]) for i in range(10)}, **CLOSED}
            lowering.under(schema, f"tool{n}").object(schema)
        return len(seen)

    # Each of the kinds once, and of each tool the object and what it says of further members.
    assert [looked_at(count) for count in (1, 25, 50)] == [4 + 2, 4 + 50, 4 + 100]


def test_what_is_reported_is_reported_for_each_tool() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "(?=x)"}}}
    warnings: list[Relaxed] = []
    lowering = SchemaLowering(Builder(), warnings=warnings)
    for tool in ("one", "two", "one"):
        lowering.under(json.loads(json.dumps(schema)), tool).object(schema)
    assert {(w.tool, w.path) for w in warnings} == {("one", "/properties/a"), ("two", "/properties/a")}


@pytest.mark.parametrize(
    ("one", "other", "only"),
    [
        ({"enum": [1]}, {"enum": [True]}, True),
        ({"const": 0}, {"const": False}, False),
        ({"enum": ["1"]}, {"enum": [1]}, 1),
        ({"type": "string", "maxLength": 1}, {"type": "string", "maxLength": 2}, "ab"),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": True}, [1]),
        ({"enum": [["a", "b"]]}, {"enum": [["b", "a"]]}, ["b", "a"]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, {"$ref": "#/$defs/a", "$defs": {"a": True}}, 5),
    ],
)
def test_unlike_schemas_share_nothing(one: Any, other: Any, only: Any) -> None:
    builder = Builder()
    lowering = SchemaLowering(builder)
    first, second = (lowering.under(schema, "tool").value(schema) for schema in (one, other))
    matches = [Recogniser(gbnf(Rules({**builder.rules, "start": e}, "start"))).matches for e in (first, second)]
    assert [each(json.dumps(only)) for each in matches] == [False, True]
