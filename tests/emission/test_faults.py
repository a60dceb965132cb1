"""Faults that emission had; what is a strict xfail is known and not mended, and left out of the random tests."""

from __future__ import annotations

from typing import Any

import chatpeg
import pytest
from chatpeg.emit.library import dialect_of
from chatpeg.emit.rules import Text
from recogniser import Recogniser
from rendered import RENDER


def tools(key: str) -> list[Any]:
    schema = {"type": "object", "properties": {key: {"type": "integer"}}, "additionalProperties": False}
    return [{"type": "function", "function": {"name": "f", "parameters": schema}}]


@pytest.mark.parametrize("key", ["ci.ty", "ci-ty", 'a"b'])
@pytest.mark.parametrize("format_id", ["lfm2", "llama4-pythonic"])
def test_a_key_that_is_no_identifier_is_left_out(format_id: str, key: str) -> None:
    made = chatpeg.load(format_id).bind(tools=tools(key), tool_choice="required").gbnf(prompt="")
    recogniser = Recogniser(made.grammar or "")
    assert recogniser.matches(RENDER[format_id]([("f", {})]))
    assert not recogniser.matches(RENDER[format_id]([("f", {key: 1})]))
    assert [warning.path for warning in made.warnings] == [f"/properties/{key}"]


@pytest.mark.parametrize("format_id", ["gemma-4", "functiongemma"])
def test_a_bare_key_outside_ascii(format_id: str) -> None:
    chat = chatpeg.load(format_id).bind(tools=tools("größe"), tool_choice="required")
    text = RENDER[format_id]([("f", {"größe": 1})])
    assert [call.args for call in chat.parse(text, strict=True, prompt="").tool_calls] == [{"größe": 1}]
    assert Recogniser(chat.gbnf(prompt="").grammar or "").matches(text)


@pytest.mark.parametrize("second", ["call:f{k:1}", "call:g{}"])
def test_texts_side_by_side_hold_no_call(second: str) -> None:
    key = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "additionalProperties": False}}}
    ]
    made = chatpeg.load("gemma-4").bind(tools=key).gbnf(prompt="")
    first = "<|tool_call>call:f{}<tool_call|>"
    assert Recogniser(made.grammar or "").matches(f"{first}Text.{first}")
    assert not Recogniser(made.grammar or "").matches(f"{first}<|tool_call>{second}<tool_call|>")


def test_an_answer_after_the_thought_of_a_format_without_calls() -> None:
    chat = chatpeg.load("deepseek-r1").bind(response_format={"type": "integer"})
    assert Recogniser(chat.gbnf(prompt="<think>\n").grammar or "").matches("Hm.\n</think>\n\n7")


@pytest.mark.parametrize("format_id", sorted(RENDER))
def test_a_long_name_of_a_parameter(format_id: str) -> None:
    """A grammar nests no deeper than backends can read, however long a name is."""
    offered = [
        {"type": "function", "function": {"name": "f", "parameters": {"properties": {"x" * 2000: {"type": "integer"}}}}}
    ]
    made = chatpeg.load(format_id).bind(tools=offered, tool_choice="required").gbnf(prompt="")
    assert all(deepest(line) < 100 for line in (made.grammar or "").splitlines())
    text = RENDER[format_id]([("f", {"x" * 2000: 1})])
    assert Recogniser(made.grammar or "").matches(text)


def deepest(line: str) -> int:
    """How deep its parentheses go; those in strings and classes are few."""
    depth = most = 0
    for character in line:
        depth += (character == "(") - (character == ")")
        most = max(most, depth)
    return most


QUOTE = '<|"|>'


@pytest.mark.parametrize(
    "key, other",
    [
        *(("days", key) for key in ("day", "daysa", "d", "x", "da ys", f"{QUOTE}day{QUOTE}", f"{QUOTE}days<|{QUOTE}")),
        ("two words", "two word"),
        ("two words", f"{QUOTE}two words {QUOTE}"),
        ("<|", f"{QUOTE}<{QUOTE}"),
        ("<|", f"{QUOTE}<|x{QUOTE}"),
        ("", f"{QUOTE}x{QUOTE}"),
    ],
)
def test_any_other_key_in_an_open_object(key: str, other: str) -> None:
    """A declared name holds what it is declared to be, bare or in quotes; every other one holds anything."""
    offered = [
        {"type": "function", "function": {"name": "f", "parameters": {"properties": {key: {"type": "integer"}}}}}
    ]
    made = chatpeg.load("gemma-4").bind(tools=offered, tool_choice="required").gbnf(prompt="")
    recogniser = Recogniser(made.grammar or "")

    def accepts(written: str) -> bool:
        return recogniser.matches(f"<|tool_call>call:f{{{written}:{QUOTE}x{QUOTE}}}<tool_call|>")

    assert accepts(other)
    assert not accepts(key)
    assert not accepts(f"{QUOTE}{key}{QUOTE}")


def test_the_members_of_an_object_are_written_once() -> None:
    """In a library's rules the first member stands apart from those behind a separator."""
    keys = dialect_of('gemma.object("<|\\"|>")', chatpeg.load("gemma-4").loaded.rules, Text(" ")).keys
    assert len(keys) == len(set(keys)) == 2
