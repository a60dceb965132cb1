"""A template as a grammar: messages, grammar files that read replies as it does, and constraints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import chatpeg
import pytest
from chatpeg import EmitError, RegionClose, RegionMalformed, RegionOpen
from chatpeg.__main__ import main
from chatpeg.emission import Emission
from chatpeg.emit.rules import Rules
from template_samples import BARE_KEYS, CALL_LIST, THINK_JSON, XML_CALLS, XML_REPLY

sys.path.insert(0, str(Path(__file__).parent.parent / "emit"))
from sampling import Sampler

CALL_WITH_NAME: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "tool_calls": {
            "open_pattern": r"<call>(?P<name>\w+)\n",
            "close": "</call>",
            "content": "json",
            "repeats": True,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"content_args": {"strip": False}},
    },
}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
                "required": ["a"],
            },
        },
    }
]
EXPRESSIBLE = [THINK_JSON, XML_CALLS, BARE_KEYS, CALL_WITH_NAME]
JSON_CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "x", "n": 1}}\n</tool_call>'
XML_CALL = "<tool_call>\n<function=f>\n<parameter=a>\nx < y\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>"
ORDINARY = [
    (THINK_JSON, "plain"),
    (THINK_JSON, "<think>\nhm </thin\n</think>\n\nHi"),
    (THINK_JSON, f"<think>hm</think>{JSON_CALL}\n{JSON_CALL}<|im_end|>"),
    (THINK_JSON, f"Hi {JSON_CALL}"),
    (THINK_JSON, "<think>cut"),
    (XML_CALLS, f"<think>\nhm\n</think>\n\nHi\n{XML_CALL}\n{XML_CALL}<|im_end|>\n"),
    (XML_CALLS, "Hi <|im_end|>"),
    (
        BARE_KEYS,
        '<|channel>thought\nhm<channel|>Hi<|tool_call>call:f{a:<|"|>x "y"<|"|>,n:1}<tool_call|><|tool_response>',
    ),
    (CALL_WITH_NAME, 'Hi <call>f\n{"a": "x"}</call><call>f\n{"a": "y", "n": 2}</call>'),
]


def shown(message: chatpeg.Message) -> Any:
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return message.reasoning_content, message.content, calls


@pytest.mark.parametrize("template, text", ORDINARY)
def test_the_grammar_file_reads_alike(template: Any, text: str) -> None:
    grammar = chatpeg.load_response_template(template)
    expected = shown(grammar.bind(tools=TOOLS).parse(text))
    assert shown(chatpeg.loads(grammar.to_peg()).bind(tools=TOOLS).parse(text, prompt="")) == expected


def test_a_grammar_file() -> None:
    assert chatpeg.load_response_template(XML_CALLS).to_peg() == (
        "# Written by `chatpeg template` from response_template.\n"
        '%prompt   "<|im_start|>assistant\\n"\n'
        '%tokens   "<think>" "</think>" "<tool_call>" "</function>" "</tool_call>"\n'
        "%trigger  tool_calls\n"
        "\n"
        "response          = text ((ws reasoning_content / tool_calls / ws ended) text)*\n"
        "text              = ws content:until(ws reasoning_content / tool_calls / ws ended)\n"
        'reasoning_content = "<think>" ws ^ reasoning:until(ws "</think>") (ws "</think>" / tolerate(""))\n'
        'tool_calls "tool call" = ws "<tool_call>" ws "<function=" ^ '
        'tool_call:(name:TOOL_NAME ">" ws arguments:parameter*) closed\n'
        'parameter         = "<parameter=" key:PARAM_NAME ">" ws value:PARAM_VALUE(end / tolerate(closed)) '
        "(end ws / tolerate(&closed))\n"
        'end               = ws "</parameter>"\n'
        'closed            = ws "</function>" ws "</tool_call>"\n'
        'ended             = tolerate("<|im_end|>" / "<|endoftext|>")\n'
        "ws                = [ \\t\\r\\n\\x0b\\x0c]*\n"
    )


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"open_pattern": r"(?<=\n)<a>"}, "field 'a': open: a look-behind"),
        ({"open_pattern": r"\b<a>"}, r"field 'a': open: '\\\\b'"),
        ({"open_pattern": r"(<)a\1"}, "field 'a': open: a back reference"),
        ({"open_pattern": "<a.*?>"}, "field 'a': open: a lazy repeat"),
        ({"open_pattern": "<a.*>"}, "field 'a': open: a repeat that gives back what it has read"),
        ({"open_pattern": "(?i)<a>"}, "field 'a': open: a pattern that ignores case"),
        ({"open": "<a>", "content": "json"}, "field 'a': its content 'json' has no counterpart"),
    ],
)
def test_what_has_no_counterpart_names_its_field(keys: dict[str, Any], message: str) -> None:
    grammar = chatpeg.load_response_template({"start_anchor": "<bot>", "fields": {"a": keys, "content": {}}})
    with pytest.raises(EmitError, match=message):
        grammar.to_peg()
    with pytest.raises(EmitError, match=message):
        grammar.gbnf(tools=TOOLS)


def test_classes_and_bounded_repeats_are_written() -> None:
    fields = {"thinking": {"open_pattern": r"<th[^>]*>\n{0,2}", "close_pattern": r"</th[a-z\]]+>"}, "content": {}}
    grammar = chatpeg.load_response_template({"start_anchor": "<bot>", "fields": fields})
    assert r'"<th" ^ drop([^>]*) ">" "\n"{0,2} ws ^ reasoning:until(ws "</th" ^ [a-z\]]+ ">")' in grammar.to_peg()
    for text in ("<th x>\n\nhm</thab]>Hi", "<th>hm"):
        assert shown(chatpeg.loads(grammar.to_peg()).parse(text)) == shown(grammar.parse(text))


@pytest.mark.parametrize("template", EXPRESSIBLE)
def test_a_lazy_grammar_with_triggers(template: Any) -> None:
    constraint = chatpeg.load_response_template(template).gbnf(tools=TOOLS)
    assert constraint.lazy
    assert constraint.triggers
    assert "f" in (constraint.grammar or "")
    assert {warning.keyword for warning in constraint.warnings} <= {"close"}


def test_that_a_string_may_hold_the_closer_is_said() -> None:
    (warning,) = chatpeg.load_response_template(THINK_JSON).gbnf(tools=TOOLS).warnings
    assert warning.action == "a string that holds the closer '</tool_call>' of 'tool_calls' ends the call early"
    assert not chatpeg.load_response_template(XML_CALLS).gbnf(tools=TOOLS).warnings


@pytest.mark.parametrize("template", EXPRESSIBLE)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_what_the_grammar_allows_is_read_as_calls(template: Any, choice: str) -> None:
    chat = chatpeg.load_response_template(template).bind(tools=TOOLS, tool_choice=choice)
    made = Emission(chat.bound().wanted(), "").made()
    assert made.root is not None
    rules = Rules(made.rules, made.root)
    for seed in range(40):
        text = Sampler(rules, Random(seed)).sentence()
        if "\x01" in text or "\x02" in text:
            continue  # what no template with string_delims reads
        message = chat.parse(text)
        assert message.tool_calls, text
        assert message.complete, text
        assert not message.malformed, text
        for call in message.tool_calls:
            arguments = json.loads(call.arguments)
            assert isinstance(arguments["a"], str), text
            assert isinstance(arguments.get("n", 1), int), text


def test_a_call_list_has_no_grammar_yet() -> None:
    with pytest.raises(EmitError, match="field 'tool_calls'"):
        chatpeg.load_response_template(CALL_LIST).gbnf(tools=TOOLS)


def test_messages() -> None:
    message = chatpeg.load_response_template(XML_CALLS).parse(XML_REPLY)
    assert message.reasoning_content == "Two calls, <b>now</b>."
    assert message.content == "Here they are."
    assert [call.name for call in message.tool_calls] == ["search", "ping"]
    assert message.complete


def test_a_broken_call_is_content_in_place() -> None:
    chat = chatpeg.load_response_template(THINK_JSON).bind(tools=TOOLS)
    message = chat.parse("Hi<tool_call>{</tool_call>there")
    assert message.content == "Hi<tool_call>{</tool_call>there"
    assert message.malformed[0].text == "<tool_call>{</tool_call>"
    with pytest.raises(chatpeg.ParseError):
        chat.parse("Hi<tool_call>{</tool_call>there", strict=True)


def test_what_is_known_so_far() -> None:
    parser = chatpeg.load_response_template(THINK_JSON).parser("<|im_start|>assistant\n<think>")
    assert isinstance(parser.initial_events[0], RegionOpen)
    parser.feed("hm")
    assert parser.message.reasoning_content == "hm"
    events = parser.feed("</think><tool_call>{</tool_call>")
    assert [type(event) for event in events if isinstance(event, RegionClose | RegionMalformed)] == [
        RegionClose,
        RegionMalformed,
    ]
    parser.feed("<think>cut")
    parser.finish()
    assert not parser.message.complete


def test_text_in_no_field_is_dropped_not_lost() -> None:
    template = {"start_anchor": "<bot>", "fields": {"content": {"open": "<a>", "close": "</a>"}}}
    message = chatpeg.load_response_template(template).parse("x<a>Hi</a>y")
    assert message.content == "Hi"
    assert [span.text for span in message.dropped] == ["x", "y"]


def test_the_command_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "template.json"
    path.write_text(json.dumps(THINK_JSON), "utf-8")
    assert main(["template", str(path)]) == 0
    assert chatpeg.loads(capsys.readouterr().out).parse("<think>a</think>b").reasoning_content == "a"
    assert main(["check", str(path)]) == 0
    assert "tool_calls: open_pattern holds back any number" in capsys.readouterr().out
    path.write_text(json.dumps(CALL_LIST), "utf-8")
    assert main(["template", str(path)]) == 1
    assert "field 'tool_calls'" in capsys.readouterr().err
