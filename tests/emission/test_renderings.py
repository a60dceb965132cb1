"""Calls as a chat template renders them are allowed by the emitted grammar: it does not narrow a format down."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import chatpeg
import offered
import pytest
from drawn import check
from hypothesis import assume
from hypothesis import strategies as st
from modes import CALLING
from recogniser import Recogniser
from rendered import RENDER
from valued import value_of

NAMES = ("get_weather", "search", "Search_2")


def test_every_format_with_calls_has_a_rendering() -> None:
    assert sorted(RENDER) == sorted(CALLING)


@pytest.mark.parametrize("format_id", CALLING)
def test_a_rendered_call_is_allowed(format_id: str) -> None:
    def allowed(tools: list[Any], count: int, number: int) -> None:
        rendered_calls_are_allowed(format_id, tools, count, Random(number))

    keys = [key for key in offered.PLAIN_KEYS if "gemma" not in format_id or key.isascii()]  # see `test_faults`
    tools = offered.tools(NAMES, tuple(keys))
    check(allowed, tools, st.integers(1, 2), st.integers(0, 2**32), name=format_id, count=8)


def rendered_calls_are_allowed(format_id: str, tools: list[Any], count: int, random: Random) -> None:
    """A rendering of random valid calls is read as those calls, and is a sentence of the grammar."""
    calls = []
    for _ in range(count):
        function = random.choice(tools)["function"]
        try:
            arguments = value_of(function["parameters"], random, function["parameters"])
        except LookupError:
            assume(condition=False)
        assume(not any(ambiguous(value, function["parameters"], key) for key, value in arguments.items()))
        calls.append((function["name"], arguments))
    text = RENDER[format_id](calls)
    chat = chatpeg.load(format_id).bind(tools=tools, tool_choice="required")
    message = chat.parse(text, strict=True, prompt="")
    assert [(call.name, call.args) for call in message.tool_calls] == calls
    assert Recogniser(chat.gbnf(prompt="").grammar or "").matches(text), text


def ambiguous(value: Any, parameters: Any, key: str) -> bool:
    """Whether a raw string parameter of that value might be JSON of another type that its schema allows."""
    schema = parameters["properties"][key]
    if not isinstance(value, str) or schema.get("type") == "string" or isinstance(schema.get("const"), str):
        return False
    try:
        json.loads(value)
    except ValueError:
        return value[:1] in '{["-0123456789tfnNTF' or value != value.strip()
    return True
