"""Values: the table of DESIGN §5 row by row, the spelling of strings in each dialect, and JSON as the json module has it."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from chatpeg import ParseError, values
from chatpeg.jsonscan import MAX_DEPTH
from chatpeg.schema_types import declared, type_of
from chatpeg.values import BadValue
from hypothesis import given
from hypothesis import strategies as st
from replay import grammar
from strategies import examples

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
NULL = {"type": "null"}
OBJECT = {"type": "object"}
ARRAY = {"type": "array"}

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
JSON = st.recursive(LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=4), v, max_size=4))
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)


def typed(text: str, schema: Any) -> tuple[str, bool]:
    """The JSON text of a parameter, and whether it was written as declared."""
    return values.typed(text, declared(schema, schema))


def raw(text: str) -> str:
    """`text` as the JSON string that holds it verbatim."""
    return json.dumps(text, ensure_ascii=False)


# -- string only ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        {"type": ["string"]},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"anyOf": [STRING, {"enum": ["x"]}]},
        {"oneOf": [STRING]},
        {"allOf": [STRING, {"minLength": 1}]},
        {"type": ["string", "integer"], "enum": ["a", "b"]},
    ],
)
@pytest.mark.parametrize("text", ["", "a", "1", "true", "null", '{"k": 1}', '"a"', " a ", "\n", "007", "None", "a\\nb"])
def test_a_string_is_the_raw_text_verbatim(schema: Any, text: str) -> None:
    """Where only a string is possible nothing is read, stripped or unescaped; that is canonical."""
    assert typed(text, schema) == (raw(text), True)


def test_where_only_a_string_is_possible_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most parameters are strings, and some are long JSON texts: to read one as JSON would cost far more than to copy it."""
    read: list[str] = []
    monkeypatch.setattr(values, "decoded", lambda text: (read.append(text), (False, None))[1])
    for schema in (STRING, {"enum": ["[1]"]}, {"anyOf": [STRING, STRING]}):
        assert typed("[1]", schema) == ('"[1]"', True)
    assert read == []
    assert typed("[1]", {"type": ["string", "array"]}) == ('"[1]"', True)
    assert read == ["[1]"]


@examples(200)
@given(ANY_TEXT)
def test_any_text_survives_as_a_string(text: str) -> None:
    """The decoded string is the text, unpaired surrogates as U+FFFD."""
    spelled, canonical = typed(text, STRING)
    assert canonical
    assert json.loads(spelled) == values.clean(text)
    spelled.encode()


# -- no string ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, schema, expected",
    [
        ("3", INTEGER, "3"),
        (" 3\n", INTEGER, "3"),
        ("-0", INTEGER, "-0"),
        ("3.0", INTEGER, "3"),
        ("-3.0", INTEGER, "-3"),
        ("3e0", INTEGER, "3"),
        ("1.5e1", INTEGER, "15"),
        ("12345678901234567890.0", INTEGER, "12345678901234567890"),
        ("123456789012345678901234567890", INTEGER, "123456789012345678901234567890"),
        ("3", NUMBER, "3"),
        ("3.0", NUMBER, "3.0"),
        ("1e-05", NUMBER, "1e-05"),
        ("0.10", NUMBER, "0.10"),
        ("1e999", NUMBER, "1e999"),
        ("3.0", {"type": ["integer", "number"]}, "3.0"),
        ("true", BOOLEAN, "true"),
        ("false", BOOLEAN, "false"),
        ("null", NULL, "null"),
        ("null", {"type": "integer", "nullable": True}, "null"),
        ("3", {"type": "integer", "nullable": True}, "3"),
        ("null", {"type": ["integer", "null"]}, "null"),
        ("[1, 2]", ARRAY, "[1, 2]"),
        ("[ 1,2 ]", ARRAY, "[ 1,2 ]"),
        ('{"a": "b"}', OBJECT, '{"a": "b"}'),
        ('\n{"a": 1}\n', OBJECT, '{"a": 1}'),
        ("3", {"anyOf": [INTEGER, NULL]}, "3"),
        ("1", {"enum": [1, 2]}, "1"),
        ("true", {"const": True}, "true"),
        ("3", {"$ref": "#/$defs/n", "$defs": {"n": INTEGER}}, "3"),
    ],
)
def test_json_of_a_declared_type_keeps_its_spelling(text: str, schema: Any, expected: str) -> None:
    """Outer blanks go, a whole number is an integer; nothing else changes, and it counts as written as declared."""
    assert typed(text, schema) == (expected, True)


@pytest.mark.parametrize(
    "text, schema, expected",
    [
        ("True", BOOLEAN, "true"),
        ("False", BOOLEAN, "false"),
        ("None", NULL, "null"),
        (" True\n", BOOLEAN, "true"),
        ("{'a': 'b', 'c': None}", OBJECT, '{"a": "b", "c": null}'),
        ('{"a": True}', OBJECT, '{"a": true}'),
        ("['a', True]", ARRAY, '["a", true]'),
        ("(1, 2)", ARRAY, "[1, 2]"),
        ("{'a': {'b': [1, 2.5]}}", OBJECT, '{"a": {"b": [1, 2.5]}}'),
        ("['é\\n']", ARRAY, '["é\\n"]'),
        ("", OBJECT, "{}"),
        ("", ARRAY, "[]"),
        (" \n", OBJECT, "{}"),
        (" \n", ARRAY, "[]"),
    ],
)
def test_python_literals_and_empty_containers_are_read(text: str, schema: Any, expected: str) -> None:
    """They mean what they say, and a strict parse refuses them."""
    assert typed(text, schema) == (expected, False)


@pytest.mark.parametrize(
    "text, schema",
    [
        ("three", INTEGER),
        ("3.5", INTEGER),
        ("", INTEGER),
        ("+3", INTEGER),
        ("1_000", INTEGER),
        ("0x10", INTEGER),
        ("3.", NUMBER),
        (".5", NUMBER),
        ("NaN", NUMBER),
        ("Infinity", NUMBER),
        ("-Infinity", NUMBER),
        ("yes", BOOLEAN),
        ("1", BOOLEAN),
        ("TRUE", BOOLEAN),
        ("True", NULL),
        ("None", BOOLEAN),
        ("nil", NULL),
        ("[1", ARRAY),
        ('{"a": 1}', ARRAY),
        ("{'a': 1}", ARRAY),
        ("[1]", OBJECT),
        ("{1, 2}", OBJECT),
        ("{'a': x}", OBJECT),
        ("[NaN]", ARRAY),
        ("[1] [2]", ARRAY),
        ('"3"', INTEGER),
        ("1 2", {"type": ["integer", "number"]}),
    ],
)
def test_what_is_not_of_a_declared_type_stays_raw(text: str, schema: Any) -> None:
    """The text is kept as a string, not validated, not lost; a strict parse refuses it."""
    assert typed(text, schema) == (raw(text), False)


@pytest.mark.parametrize("text", ["0.99999999999999999999", "9007199254740993.5", "-1.00000000000000000001"])
def test_a_fraction_is_never_cut_to_an_integer(text: str) -> None:
    """A number that a float rounds to a whole one is not whole."""
    assert typed(text, INTEGER) == (raw(text), False)


HUGE = "9" * 20


@pytest.mark.parametrize(
    "text, whole",
    [
        (f"1e{HUGE}", True),
        (f"-1.5E+{HUGE}", True),
        (f"1e-{HUGE}", False),
        (f"-0.5E-{HUGE}", False),
        (f"0e-{HUGE}", True),
        (f"-0.0E-{HUGE}", True),
        (f"0e{HUGE}", True),
    ],
)
def test_a_number_with_an_exponent_of_any_length_is_a_number(text: str, whole: bool) -> None:
    """Also one that is beyond the exponents of a Decimal; it keeps its spelling."""
    assert typed(text, NUMBER) == typed(text, {"type": ["string", "number"]}) == (text, True)
    assert typed(text, INTEGER) == ((text, True) if whole else (raw(text), False))
    assert typed(text, BOOLEAN) == (raw(text), False)


def test_an_integer_of_any_length_is_an_integer() -> None:
    """Numbers keep their spelling."""
    assert typed("9" * 5000, INTEGER) == ("9" * 5000, True)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "{'a': 1, 'a': 2}", "{1: 'x', '1': 'y'}", '[{"a": 1, "a": 2}]'])
def test_a_duplicate_key_is_never_dropped_silently(text: str) -> None:
    """Which of the two was meant is not known: the text stays, as it does where nothing is declared."""
    assert typed(text, {"type": ["object", "array"]}) == (raw(text), False)


def test_reading_a_python_literal_warns_of_nothing() -> None:
    """What a model wrote is no business of the Python compiler's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        typed(r"['\d']", ARRAY)
    assert caught == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "[" + "-" * 100_000 + "1]",
        "(" * 5_000 + ")" * 5_000,
        "{'a':" * 20_000,
        "{'a':" * 5_000 + "1" + "}" * 5_000,
        "[" + "()" * 5_000 + "]",
        "['" + "\x00" * 9 + "']",
    ],
)
def test_hostile_python_literals_stay_raw(text: str) -> None:
    assert typed(text, {"type": ["array", "object"]}) == (raw(text), False)


@pytest.mark.parametrize("brackets", [50, 101, 5_000])
def test_a_python_literal_may_have_any_number_of_brackets(brackets: int) -> None:
    """It is how deep they are nested that matters, not how many there are, nor those inside its strings."""
    assert typed("[" + "(True,), " * brackets + "]", ARRAY) == (json.dumps([[True]] * brackets), False)
    assert typed("['" + "{[(" * brackets + "']", ARRAY) == (json.dumps(["{[(" * brackets]), False)


# -- a union with string --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, types, expected",
    [
        ("3", ["string", "integer"], "3"),
        ("3.0", ["string", "integer"], "3"),
        ("00917", ["string", "integer"], '"00917"'),
        ("3", ["string", "number"], "3"),
        ("3.5", ["string", "integer"], '"3.5"'),
        ("3.5", ["string", "number"], "3.5"),
        (" 3", ["string", "integer"], '" 3"'),
        ("3\n", ["string", "integer"], '"3\\n"'),
        ("null", ["string", "null"], "null"),
        ("null ", ["string", "null"], '"null "'),
        ("None", ["string", "null"], '"None"'),
        ("True", ["string", "boolean"], '"True"'),
        ("true", ["string", "boolean"], "true"),
        ("true", ["string", "null"], '"true"'),
        ('"a"', ["string", "null"], '"\\"a\\""'),
        ("[1]", ["string", "array"], "[1]"),
        ("[1]", ["string", "object"], '"[1]"'),
        ("{'a': 1}", ["string", "object"], "\"{'a': 1}\""),
        ("", ["string", "object"], '""'),
        ("", ["string", "array"], '""'),
        ("NaN", ["string", "number"], '"NaN"'),
    ],
)
def test_a_union_with_string_takes_exact_json_of_another_type(text: str, types: list[str], expected: str) -> None:
    """The whole text must be exactly JSON of another declared type, else it is the raw text; both are canonical."""
    assert typed(text, {"type": types}) == (expected, True)
    assert typed(text, {"anyOf": [{"type": name} for name in types]}) == (expected, True)


@pytest.mark.parametrize(
    "text, schema, expected",
    [
        ("1", {"enum": ["1", 2]}, '"1"'),
        ("2", {"enum": ["1", 2]}, "2"),
        ("1", {"enum": ["1", 1]}, "1"),
        ("1", {"enum": [1, "1"]}, "1"),
        ("7", {"enum": ["1", 2]}, "7"),
        ("x", {"enum": ["1", 2]}, '"x"'),
        ("true", {"enum": ["true", 5]}, '"true"'),
        ("true", {"enum": ["true", True]}, "true"),
        ("1", {"enum": [True, "1", 2]}, '"1"'),
        ("3", {"type": ["string", "integer"], "const": "3"}, '"3"'),
        ("null", {"type": ["string", "null"], "enum": ["null"]}, '"null"'),
        ("null", {"type": ["string", "null"], "enum": ["a", None]}, "null"),
    ],
)
def test_enum_and_const_choose_between_the_candidates(text: str, schema: Any, expected: str) -> None:
    """The first candidate that satisfies them, JSON before raw; if neither does, the first."""
    assert typed(text, schema) == (expected, True)


# -- not declared ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [{}, True, {"description": "anything"}, {"anyOf": [STRING, {}]}])
@pytest.mark.parametrize(
    "text, expected",
    [
        ("3", "3"),
        (" 3 ", "3"),
        ("3.0", "3.0"),
        ("true", "true"),
        ("null", "null"),
        ('"a"', '"a"'),
        ("[1, 2]", "[1, 2]"),
        ('{"a": 1}', '{"a": 1}'),
        ("", '""'),
        ("True", '"True"'),
        ("None", '"None"'),
        ("Paris", '"Paris"'),
        (" Paris ", '" Paris "'),
        ("007", '"007"'),
        ("NaN", '"NaN"'),
        ("[NaN]", '"[NaN]"'),
        ("{'a': 1}", "\"{'a': 1}\""),
        ('{"a": 1, "a": 2}', '"{\\"a\\": 1, \\"a\\": 2}"'),
    ],
)
def test_undeclared_is_json_if_it_parses_else_raw(schema: Any, text: str, expected: str) -> None:
    assert typed(text, schema) == (expected, True)


@examples(200)
@given(JSON, st.sampled_from([None, 2]))
def test_undeclared_json_is_handed_out_token_by_token(value: Any, indent: int | None) -> None:
    """The spelling is the model's own, whatever it is."""
    text = json.dumps(value, indent=indent)
    if text.count("\\ud") == 0:
        assert typed(text, {}) == (text, True)
    assert json.loads(typed(text, {})[0]) == json.loads(text)


@examples(200)
@given(JSON.filter(lambda value: not (isinstance(value, float) and value.is_integer())))
def test_every_json_value_is_of_its_own_type(value: Any) -> None:
    """Declared by what `type_of` says, a value is read as itself; a string as its text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    spelled, canonical = typed(text, {"type": type_of(value)})
    assert (json.loads(spelled), canonical) == (value, True)


@examples(300)
@given(
    ANY_TEXT | JSON.map(json.dumps) | JSON.map(repr),
    st.lists(st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"]), max_size=3),
)
def test_every_text_is_json_of_something(text: str, types: list[str]) -> None:
    """Typing never raises; what comes out is strict JSON that UTF-8 can carry, of a declared type or the raw text."""
    spelled, _ = typed(text, {"type": types} if types else {})
    value = values.decode(spelled)
    spelled.encode()
    kinds = {type_of(value)} | ({"number"} if type_of(value) == "integer" else set())
    assert kinds & set(types or ["string", *kinds]) or value == values.clean(text)


# -- JSON text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"a": 1, "a": 2}', "stands twice"),
        ('[{"a": {"b": 1, "b": 1}}]', "stands twice"),
        ("NaN", "not JSON"),
        ("[Infinity]", "not JSON"),
        ('{"a": -Infinity}', "not JSON"),
        ("", "Expecting value"),
        ("{'a': 1}", "Expecting property name"),
        ("[1] 2", "Extra data"),
    ],
)
def test_decode_is_strict(text: str, message: str) -> None:
    """RFC 8259 and no duplicate keys: anything else is a BadValue."""
    with pytest.raises(BadValue, match=message):
        values.decode(text)


@examples(100)
@given(JSON)
def test_decode_reads_what_json_reads(value: Any) -> None:
    assert values.decode(json.dumps(value)) == value


def test_decode_refuses_deep_nesting_and_takes_long_integers() -> None:
    """Neither the C stack nor the limit on digits is the caller's problem."""
    with pytest.raises(BadValue, match="nested too deeply"):
        values.decode("[" * 100_000 + "]" * 100_000)
    values.decode("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    values.decode("9" * 100_000)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a", "a"),
        ("\ud800", "\ufffd"),
        ("a\udc00b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ud83dx", "\ufffdx"),
        ("é🍸\x00", "é🍸\x00"),
    ],
)
def test_unpaired_surrogates_become_the_replacement_character(text: str, expected: str) -> None:
    """Pairs are joined, everything else is kept."""
    assert values.clean(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        (r'"\ud800"', r'"\ufffd"'),
        (r'"\uDFFF x"', r'"\ufffd x"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"\\ud800"', r'"\\ud800"'),
        (r'"\\\ud800"', r'"\\\ufffd"'),
        ('"\ud800"', '"\ufffd"'),
        (r'{"\udc00": "\u0041"}', r'{"\ufffd": "\u0041"}'),
    ],
)
def test_surrogate_escapes_of_json_are_replaced_in_place(text: str, expected: str) -> None:
    """Only the unpaired ones; the rest of the text stays as the model wrote it."""
    assert values.strict_json(text) == expected


@examples(200)
@given(
    st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\u0041", "\\\\", "a", "\ud83d", "\ude00", "ud800"]), max_size=6)
)
def test_every_string_of_surrogates_comes_out_as_utf8_has_it(parts: list[str]) -> None:
    """What is handed out decodes to text that UTF-8 can carry."""
    text = '"' + "".join(parts) + '"'
    json.loads(values.strict_json(text)).encode()
    values.strict_json(text).encode()


# -- dialects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dialect, text, expected",
    [
        ("raw", r"a\nb &amp; 'c'", r"a\nb &amp; 'c'"),
        ("json", r"a\nb", "a\nb"),
        ("json", r"\u0041\"\\\/", 'A"\\/'),
        ("json", r"\ud83d\ude00", "😀"),
        ("json", r"\ud83d", "\ufffd"),
        ("json", "no escape\n", "no escape\n"),
        ("json", "\\q", "\\q"),
        ("python", r"it\'s", "it's"),
        ("python", r"\x41\u0042\U00000043\104", "ABCD"),
        ("python", r"\n\t\r\\\"\a\b\f\v", '\n\t\r\\"\a\b\f\v'),
        ("python", "a\\\nb", "ab"),
        ("python", r"\q", r"\q"),
        ("python", r"\U00110000", r"\U00110000"),
        ("python", r"\ud800", "\ufffd"),
        ("xml", "a &amp; b", "a & b"),
        ("xml", "&lt;&gt;&quot;&apos;", "<>\"'"),
        ("xml", "&amp;lt;", "&lt;"),
        ("xml", "&nbsp; &", "&nbsp; &"),
    ],
)
def test_each_dialect_spells_its_strings(dialect: str, text: str, expected: str) -> None:
    """The string that a text stands for in each dialect; what spells nothing is taken as it is."""
    assert values.unspelled(dialect, text) == expected


@examples(200)
@given(st.sampled_from(["raw", "json", "xml"]), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_spelling_is_read_back(dialect: str, text: str) -> None:
    assert values.unspelled(dialect, values.spelled(dialect, text)) == text


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_python_strings_read_as_python_reads_them(text: str) -> None:
    """repr without its quotes is the text again."""
    assert values.unspelled("python", repr(text)[1:-1]) == text


@examples(200)
@given(ANY_TEXT)
def test_quoted_is_a_json_string(text: str) -> None:
    assert json.loads(values.quoted(text)) == values.clean(text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("True", "true"),
        ("False", "false"),
        ("None", "null"),
        ("true", "true"),
        (" 3 ", "3"),
        ("1e-05", "1e-05"),
        ("{ }", "{ }"),
    ],
)
def test_a_scalar_is_json_or_a_word_of_python(text: str, expected: str) -> None:
    assert values.scalar(text) == expected


@pytest.mark.parametrize("text", ["", "yes", "NaN", "01", "{1}", "'a'", "- 1"])
def test_any_other_scalar_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="is not a value"):
        values.scalar(text)


# -- in a call ------------------------------------------------------------------------------------------------------


def test_json_arguments_are_never_retyped() -> None:
    """TOOL_ARGUMENTS come out token by token as the model wrote them, whatever the schema says."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": INTEGER, "s": STRING}}}}]
    written = '{"n" :"3","s":5, "x": 1.00, "y": "\\u00e9"}'
    message = (
        grammar("hermes")
        .bind(tools=tools)
        .parse('<tool_call>\n{"name": "f", "arguments": ' + written + "}\n</tool_call>")
    )
    assert message.tool_calls[0].arguments == written


NESTING: list[tuple[str, str, str, str]] = [
    ("gemma-4", "<|tool_call>call:f{a:", "[ ]", "}<tool_call|>"),
    ("gemma-4", "<|tool_call>call:f{a:", "{a: }", "}<tool_call|>"),
    ("functiongemma", "<start_function_call>call:f{a:", "[ ]", "}<end_function_call>"),
    ("lfm2", "<|tool_call_start|>[f(a=", "[ ]", ")]<|tool_call_end|>"),
    ("llama4-pythonic", "[f(a=", "[ ]", ")]"),
    ("llama4-pythonic", "[f(a=", "{'a': }", ")]"),
]


@pytest.mark.parametrize("format_id, before, nested, after", NESTING)
@pytest.mark.parametrize("size", [7, 1_000_000])
def test_arguments_joined_from_parts_are_nested_no_deeper_than_json(
    format_id: str, before: str, nested: str, after: str, size: int
) -> None:
    """What comes out can be decoded by everyone; a call that is deeper is none."""
    opener, closer = nested.split(" ")
    for depth in (MAX_DEPTH - 2, MAX_DEPTH, 3_000):
        text = before + opener * depth + "1" + closer * depth + after
        parser = grammar(format_id).parser(prompt="")
        for start in range(0, len(text), size):
            parser.feed(text[start : start + size])
        parser.finish()
        message = parser.message
        if depth < MAX_DEPTH:
            assert json.loads(message.tool_calls[0].arguments) == message.tool_calls[0].args
        else:
            assert message.tool_calls == ()
            assert [malformed.error.message for malformed in message.malformed] == ["nested too deeply"]


@pytest.mark.parametrize("text", ['{"name": "f"}', '{"name": "f", "arguments": {}}'])
def test_absent_or_empty_arguments_are_an_empty_object(text: str) -> None:
    call = grammar("hermes").parse(f"<tool_call>\n{text}\n</tool_call>").tool_calls[0]
    assert (call.arguments, call.args) == ("{}", {})


def test_a_repeated_parameter_is_a_decode_error() -> None:
    """It is not known which was meant, so the call is none; its text is content."""
    call = "<tool_call>f" + "<arg_key>k</arg_key><arg_value>1</arg_value>" * 2 + "</tool_call>"
    message = grammar("glm-4.7").parse(call, prompt="")
    assert (message.content, message.tool_calls) == (call, ())
    assert "stands twice" in message.malformed[0].error.message


def test_args_of_a_long_integer_are_decoded() -> None:
    """A number that a parse accepts never makes `.args` raise."""
    text = '<tool_call>\n{"name": "f", "arguments": {"n": ' + "9" * 5000 + "}}\n</tool_call>"
    assert list(grammar("hermes").parse(text).tool_calls[0].args) == ["n"]


TYPED_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {"type": "object", "properties": {"n": INTEGER, "s": STRING, "b": BOOLEAN}},
        },
    }
]


@pytest.mark.parametrize("key, text, arguments", [("n", "three", '{"n": "three"}'), ("b", "True", '{"b": true}')])
def test_a_retyped_value_is_read_and_refused_when_strict(key: str, text: str, arguments: str) -> None:
    """Default and strict read the same; strict then refuses it."""
    written = f"<tool_call>f<arg_key>{key}</arg_key><arg_value>{text}</arg_value></tool_call>"
    chat = grammar("glm-4.7").bind(tools=TYPED_TOOLS)
    assert chat.parse(written, prompt="").tool_calls[0].arguments == arguments
    with pytest.raises(ParseError, match="declared type"):
        chat.parse(written, prompt="", strict=True)
