"""Structural tags and the request fields of the servers that take them; `tests/backends` has the engine's opinion."""

from __future__ import annotations

import json
from typing import Any

import chatpeg
import pytest
from chatpeg.emit.rules import Alt, Ref, Rules, Seq, Text
from chatpeg.emit.structural_tag import structural_tag
from chatpeg.errors import EmitError

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def chat(**options: Any) -> chatpeg.Chat:
    return chatpeg.load("hermes").bind(tools=TOOLS, **options)


def test_optional_calls_wait_for_their_trigger() -> None:
    made = chat().structural_tag(prompt="")
    assert (made.target, made.lazy, made.triggers) == ("structural_tag", False, ())
    found = json.loads(made.grammar or "")["format"]
    assert (found["type"], found["triggers"], found["stop_after_first"]) == ("triggered_tags", ["<tool_call>"], True)
    (tag,) = found["tags"]
    assert (tag["begin"], tag["end"], tag["content"]["type"]) == ("<tool_call>", "", "grammar")
    assert "<tool_call>" not in tag["content"]["grammar"].partition("</tool_call>")[0]


def test_required_calls_are_a_grammar() -> None:
    wanted = chat(tool_choice="required")
    found = json.loads(wanted.structural_tag(prompt="").grammar or "")
    assert found == {
        "type": "structural_tag",
        "format": {"type": "grammar", "grammar": wanted.ebnf(prompt="").grammar},
    }


def test_no_calls_are_not_constrained() -> None:
    made = chat(tool_choice="none").structural_tag()
    assert made.grammar is None
    assert made.vllm() == made.sglang() == {}


def test_each_trigger_has_its_own_rest() -> None:
    rules = Rules({"main": Alt((Seq((Text("<a>"), Ref("x"))), Text("<b>2"), Text("{3"))), "x": Text("1")}, "main")
    found = json.loads(structural_tag(rules, ("<a>", "<b>")))["format"]
    rests = [(tag["begin"], tag["content"]["grammar"]) for tag in found["tags"]]
    assert rests == [("<a>", 'root ::= x\nx ::= "1"\n'), ("<b>", 'root ::= "2"\n')]


def test_a_trigger_that_begins_with_another_is_of_that_one() -> None:
    rules = Rules({"main": Alt((Text("<a>1"), Text("<a><b>2")))}, "main")
    found = json.loads(structural_tag(rules, ("<a><b>", "<a>")))["format"]
    assert found["triggers"] == ["<a>"]
    assert found["tags"][0]["content"]["grammar"] == 'root ::= "1" | "<b>2"\n'


def test_a_trigger_that_nothing_begins_with() -> None:
    with pytest.raises(EmitError, match="trigger '<c>'"):
        structural_tag(Rules({"main": Text("<a>")}, "main"), ("<c>",))


@pytest.mark.parametrize("tool_choice", ["auto", "required"])
def test_fields_of_a_structural_tag(tool_choice: str) -> None:
    made = chat(tool_choice=tool_choice).structural_tag()
    assert made.vllm() == {"structured_outputs": {"structural_tag": made.grammar}}
    assert made.sglang() == {"structural_tag": made.grammar}


def test_fields_of_grammars() -> None:
    wanted = chat(tool_choice="required")
    assert wanted.ebnf().vllm() == {"structured_outputs": {"grammar": wanted.ebnf().grammar}}
    assert wanted.ebnf().sglang() == {"ebnf": wanted.ebnf().grammar}
    assert wanted.lark().vllm() == {"structured_outputs": {"grammar": wanted.lark().grammar}}


@pytest.mark.parametrize(
    "target, server, tool_choice, reason",
    [
        ("gbnf", "vllm", "required", "vLLM takes no gbnf; use structural_tag"),
        ("gbnf", "sglang", "required", "SGLang takes no gbnf; use structural_tag"),
        ("lark", "sglang", "required", "SGLang takes no lark; use structural_tag"),
        ("ebnf", "vllm", "auto", "vLLM has no lazy ebnf: it would allow nothing but calls; use structural_tag"),
        ("ebnf", "sglang", "auto", "SGLang has no lazy ebnf: it would allow nothing but calls; use structural_tag"),
        ("structural_tag", "llama_server", "auto", "llama-server takes no structural_tag; use gbnf"),
    ],
)
def test_what_a_server_does_not_take(target: str, server: str, tool_choice: str, reason: str) -> None:
    made = chat(tool_choice=tool_choice).emit(target)
    with pytest.raises(EmitError) as raised:
        getattr(made, server)()
    assert str(raised.value) == reason
