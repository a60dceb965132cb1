"""Lark with the numbers of special tokens: each delimiter that is one is written by its number, nothing else is."""

from __future__ import annotations

import re
from typing import Any

import chatpeg
import pytest
from chatpeg.emit.lark import lark
from chatpeg.emit.rules import Rules, Text
from modes import CALLING

TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "additionalProperties": False}}}
]
_NUMBERED = re.compile(r"<\[(\d+)\]>")


def bound(format_id: str) -> Any:
    return chatpeg.load(format_id).bind(tools=TOOLS, tool_choice="required")


@pytest.mark.parametrize("format_id", CALLING)
def test_a_delimiter_is_its_token(format_id: str) -> None:
    """Spelled out again it is the grammar that was made without."""
    chat = bound(format_id)
    numbers = {text: 1000 + number for number, text in enumerate(chat.grammar.loaded.tokens)}
    plain, numbered = chat.lark(prompt="").grammar, chat.lark(prompt="", special_tokens=numbers).grammar
    texts = {number: text for text, number in numbers.items()}

    def spelled(found: re.Match[str]) -> str:
        return lark(Rules({"x": Text(texts[int(found[1])])}, "x")).removeprefix("start: ").removesuffix("\n")

    assert numbered != plain
    assert _NUMBERED.sub(spelled, numbered) == plain


def test_tokens_that_the_format_does_not_write_are_left_out() -> None:
    chat = bound("hermes")
    assert chat.lark(special_tokens={"<unknown>": 5}) == chat.lark()


def test_numbers_are_asked_for() -> None:
    with pytest.raises(chatpeg.RequestError, match="special_tokens must be a dict of numbers by texts, not"):
        bound("hermes").lark(special_tokens=["<tool_call>"])
