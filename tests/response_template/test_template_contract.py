"""The contract of the drop-in parser, a test per sentence."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from chatpeg import RequestError
from chatpeg.response_template import (
    Finished,
    MissingFields,
    MissingPrefix,
    ResponseParser,
    load_response_template,
    parse_response,
)
from template_events import merged, parsed
from template_samples import THINK_JSON, XML_CALLS

PLAIN: dict[str, Any] = {"start_anchor": "<bot>", "fields": {"content": {}}}
CALLS: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "calls": {
            "open_pattern": r"<call (?P<name>\w+)>",
            "close_pattern": r"</call(?P<tail>!?)>",
            "content": "json",
            "repeats": True,
            "transform": {"name": "{name}", "arguments": "{content}", "tail": "{tail}"},
        },
        "content": {"repeats": True},
    },
}


def test_the_input_text_is_what_follows_the_anchor_and_what_was_fed() -> None:
    parser = ResponseParser(PLAIN, prefix="<bot>old<bot>new")
    assert parser.input_text == "new"
    parser.feed(" text")
    assert parser.input_text == "new text"


def test_a_prompt_without_an_anchor_is_taken_whole() -> None:
    assert ResponseParser(PLAIN, prefix="all of it").input_text == "all of it"


def test_no_prefix_is_an_error_that_says_why() -> None:
    with pytest.raises(MissingPrefix, match="chat templates often write the beginning of the reply") as caught:
        ResponseParser(PLAIN)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ValueError, match='pass prefix=""'):
        parse_response("Hi", PLAIN)
    assert parse_response("Hi", PLAIN, prefix="") == {"content": "Hi"}


def test_events_carry_the_span_of_their_delimiter() -> None:
    _, events = parsed(CALLS, ['Hi<call f>{"a": 1}</call!>'])
    assert events == [
        {"type": "region_open", "field": "content", "start": 0, "end": 0},
        {"type": "region_chunk", "field": "content", "text": "Hi", "dirty": False},
        {"type": "region_close", "field": "content", "start": 2, "end": 2, "value": "Hi"},
        {"type": "region_open", "field": "calls", "start": 2, "end": 10, "captures": {"name": "f"}},
        {"type": "region_chunk", "field": "calls", "text": '{"a": 1}', "dirty": True},
        {
            "type": "region_close",
            "field": "calls",
            "start": 18,
            "end": 26,
            "value": {"name": "f", "arguments": {"a": 1}, "tail": "!"},
        },
    ]


def test_the_span_at_the_end_of_the_stream_is_empty() -> None:
    _, events = parsed(THINK_JSON, ["<think>cut"])
    assert (events[-1]["start"], events[-1]["end"]) == (10, 10)


def test_captures_are_in_a_dict_of_their_own() -> None:
    parser = ResponseParser(CALLS, prefix="")
    (opened,) = parser.feed("<call f>")
    opened["captures"]["name"] = "g"
    parser.feed("{}</call>")
    assert parser.finalize()[0]["calls"][0]["name"] == "f"


def test_a_region_that_does_not_parse_is_malformed_and_parsing_goes_on() -> None:
    message, events = parsed(CALLS, ["<call f>{</call><call g>{}</call>"])
    assert [event["type"] for event in events if event["type"] != "region_chunk"] == [
        "region_open",
        "region_malformed",
        "region_open",
        "region_close",
    ]
    malformed = next(event for event in events if event["type"] == "region_malformed")
    assert set(malformed) == {"type", "field", "start", "end", "error"}
    assert malformed["error"][0] is ValueError
    assert [call["name"] for call in message["calls"]] == ["g"]


def test_a_transform_that_fails_is_malformed_with_its_exception() -> None:
    template = {"start_anchor": "<bot>", "fields": {"a": {"transform": {"x": "{other}"}}}}
    _, events = parsed(template, ["text"])
    assert events[-1]["type"] == "region_malformed"
    with pytest.raises(KeyError, match=r"nothing is captured for '\{other\}'"):
        parse_response("text", template, prefix="")


def test_the_first_exception_is_raised_though_it_was_in_the_prefix_or_fields_are_missing() -> None:
    required = copy.deepcopy(CALLS)
    required["fields"]["content"]["optional"] = False
    with pytest.raises(ValueError, match="json"):
        parse_response("", required, prefix="<bot><call f>{</call>")
    parser = ResponseParser(required, prefix="<bot><call f>{</call>")
    assert parser.initial_events[-1]["type"] == "region_malformed"
    parser.feed("Hi")
    assert parser.finalize()[0] == {"content": ["Hi"]}


def test_missing_fields_are_an_error() -> None:
    required = {"start_anchor": "<bot>", "fields": {"content": {"optional": False}}}
    with pytest.raises(MissingFields, match="'content'") as caught:
        parse_response("", required, prefix="")
    assert isinstance(caught.value, ValueError)
    assert caught.value.fields == ("content",)


def test_a_finished_parser_takes_no_more() -> None:
    parser = ResponseParser(PLAIN, prefix="")
    parser.finalize()
    for use in (lambda: parser.feed("x"), parser.finalize):
        with pytest.raises(Finished) as caught:
            use()
        assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    "field, dirty",
    [
        ({}, False),
        ({"content": "text", "repeats": True, "join": " "}, False),
        ({"transform": {"text": "{content}"}}, True),
        ({"content": "int"}, True),
        ({"content": "json"}, True),
    ],
)
def test_only_plain_text_is_clean(field: dict[str, Any], dirty: bool) -> None:
    parser = ResponseParser({"start_anchor": "<bot>", "fields": {"a": field}}, prefix="")
    assert [event["dirty"] for event in parser.feed("1") if event["type"] == "region_chunk"] == [dirty]


def test_prefix_text_that_was_held_back_is_in_no_chunk() -> None:
    parser = ResponseParser(THINK_JSON, prefix="Hi <thi")
    assert merged(parser.initial_events)[-1]["text"] == "Hi "
    events = parser.feed("s is")
    assert "".join(event["text"] for event in events if event["type"] == "region_chunk") == "s is"
    assert parser.finalize()[0]["content"] == "Hi <this is"


def test_deep_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_response("[" * 100_000, {"start_anchor": "<bot>", "fields": {"a": {"content": "json"}}}, prefix="")


def test_defaults_are_not_shared() -> None:
    spec: dict[str, Any] = {"start_anchor": "<bot>", "defaults": {"calls": []}, "fields": {"calls": {"repeats": True}}}
    loaded = load_response_template(spec)
    first = parse_response("a", loaded, prefix="")
    first["calls"].append("mine")
    spec["defaults"]["calls"].append("theirs")
    assert parse_response("b", loaded, prefix="") == {"calls": ["b"]}


def test_a_consumer_that_changes_events_changes_nothing() -> None:
    text = '<call f>{"a": {"b": [1]}}</call>'
    expected = parse_response(text, CALLS, prefix="")
    parser = ResponseParser(CALLS, prefix="")
    for character in text:
        for event in parser.feed(character):
            value = event.get("value")
            if value is not None:
                value["arguments"]["a"]["b"].append(2)
            event.clear()
    assert parser.finalize()[0] == expected


def test_a_template_may_be_pickled_and_loaded_again() -> None:
    loaded = load_response_template(XML_CALLS)
    assert load_response_template(loaded) is loaded
    assert load_response_template(copy.deepcopy(XML_CALLS)) is loaded
    again = pickle.loads(pickle.dumps(loaded))
    assert parse_response("Hi", again, prefix="") == {"role": "assistant", "content": "Hi"}


def test_what_can_not_grow_is_not_held_back() -> None:
    parser = ResponseParser(THINK_JSON, prefix="")
    assert [event["type"] for event in parser.feed("<think>")] == ["region_open"]
    assert [event["type"] for event in parser.feed("a</think>")] == ["region_chunk", "region_close"]


def test_what_is_held_back_begins_where_a_delimiter_may() -> None:
    template = {"start_anchor": "<bot>", "fields": {"a": {"open": "<tool>"}, "m": {}}}
    parser = ResponseParser(template, prefix="")
    assert merged(parser.feed("x<t<to"))[-1]["text"] == "x<t"


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "properties": {
                    "n": {"type": "integer"},
                    "x": {"type": "number"},
                    "b": {"type": "boolean"},
                    "u": {"type": ["string", "integer"]},
                    "o": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                    "l": {"type": "array"},
                }
            },
        },
    }
]


@pytest.mark.parametrize(
    "key, text, value",
    [
        ("n", "3", 3),
        ("n", "3.0", 3),
        ("n", "3.5", "3.5"),
        ("x", "3", 3),
        ("x", "3.50", 3.5),
        ("x", "nan", "nan"),
        ("b", "1", True),
        ("b", "0", False),
        ("b", "True", True),
        ("b", "yes", "yes"),
        ("u", "00917", "00917"),
        ("u", "917", 917),
        ("o", '{"a": 1}', {"a": 1}),
        ("o", "None", None),
        ("l", "[1]", [1]),
        ("other", "1", "1"),
    ],
)
def test_tools_cast_arguments(key: str, text: str, value: Any) -> None:
    reply = f"<tool_call><function=f><parameter={key}>{text}</parameter></function></tool_call>"
    message = parse_response(reply, XML_CALLS, prefix="", tools=TOOLS)
    assert message["tool_calls"][0]["function"]["arguments"] == {key: value}


def add(count: int, text: str, either: bool | None = None) -> int:
    return count + len(text) + (either or 0)


def sets(words: set[str]) -> None: ...


def test_a_function_is_a_tool() -> None:
    parameters = {"count": "7", "text": "7", "either": "true"}
    body = "".join(f"<parameter={key}>{text}</parameter>" for key, text in parameters.items())
    reply = f"<tool_call><function=add>{body}</function></tool_call>"
    message = parse_response(reply, XML_CALLS, prefix="", tools=[add])
    assert message["tool_calls"][0]["function"]["arguments"] == {"count": 7, "text": "7", "either": True}


@pytest.mark.parametrize(
    "function, reason",
    [
        (lambda count: count, "parameter 'count' of .* needs a type hint"),
        (sets, "parameter 'words' of .* has the type hint .*, for which JSON has no type"),
    ],
)
def test_a_function_that_is_no_tool(function: Any, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        ResponseParser(XML_CALLS, "", tools=[function])


@pytest.mark.parametrize("schema", [None, 5, {"type": 5}, {"anyOf": 5}, {"oneOf": [5]}, {"type": [5]}])
def test_a_schema_that_is_none_casts_nothing(schema: Any) -> None:
    tool = {"name": "f", "parameters": {"properties": {"n": schema}}}
    reply = "<tool_call><function=f><parameter=n>1</parameter></function></tool_call>"
    message = parse_response(reply, XML_CALLS, prefix="", tools=[tool])
    assert message["tool_calls"][0]["function"]["arguments"] == {"n": "1"}


def test_json_arguments_keep_their_strings() -> None:
    reply = '<tool_call>{"name": "f", "arguments": {"u": "917", "n": "3"}}</tool_call>'
    message = parse_response(reply, THINK_JSON, prefix="", tools=TOOLS)
    assert message["tool_calls"][0]["function"]["arguments"] == {"u": "917", "n": 3}


def test_an_empty_closer_of_nothing_ends_the_reply() -> None:
    template = {"start_anchor": "<bot>", "fields": {"content": {"close_pattern": r"(?=<end>)"}}}
    message, events = parsed(template, ["Hi<end>more"])
    assert message == {"content": "Hi"}
    assert events[-1] == {"type": "region_close", "field": "content", "start": 2, "end": 2, "value": "Hi"}


def test_a_file_is_a_template_too(tmp_path: Any) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"response_template": PLAIN}), "utf-8")
    assert parse_response("Hi", path, prefix="") == {"content": "Hi"}
