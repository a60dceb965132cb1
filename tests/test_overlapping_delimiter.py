"""Overlapping delimiter: a text that ends with the beginning of its own delimiter comes out exact, however it is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay import grammar, replay

PARAMETERS = {"type": "object", "properties": {"k": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}]

GLM = ("<tool_call>f<arg_key>k</arg_key><arg_value>", "</arg_value></tool_call>")
CODER = ("<tool_call>\n<function=f>\n<parameter=k>\n", "\n</parameter>\n</function>\n</tool_call>")
CALLS = {
    "glm-4.5": GLM,
    "glm-4.7": GLM,
    "qwen3-coder": CODER,
    "qwen3.5": CODER,
    "minimax-m2": (
        '<minimax:tool_call>\n<invoke name="f">\n<parameter name="k">',
        "</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    "deepseek-v3.2": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="k" string="true">',
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    "deepseek-v4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="k" string="true">',
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    "deepseek-v4.1": (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="f">\n<｜DSML｜ parameter name="k" string="true">',
        "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
    ),
    "kimi-k3": (
        '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="k" type="string"<|sep|>',
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    "gemma-4": ('<|tool_call>call:f{k:<|"|>', '<|"|>}<tool_call|>'),
    "functiongemma": ("<start_function_call>call:f{k:<escape>", "<escape>}<end_function_call>"),
}
"""What stands before and after a raw string value, for the formats that write one; the closer's first literal ends it."""

JSON_CALLS = {
    "hermes": ('<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"),
    "qwen3-hermes": ('<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"),
    "llama3-json": ('{"name": "f", "parameters": ', "}"),
    "mistral-v3": ('[TOOL_CALLS] [{"name": "f", "arguments": ', "}]"),
    "mistral-v11": ("[TOOL_CALLS]f[ARGS]", ""),
    "mistral-v13": ("[TOOL_CALLS]f[ARGS]", ""),
    "mistral-v13-think": ("[TOOL_CALLS]f[ARGS]", ""),
    "deepseek-v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n",
        "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "deepseek-v3.1": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "kimi-k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
        "<|tool_call_end|><|tool_calls_section_end|>",
    ),
    "gpt-oss": ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "<|call|>"),
}
"""What stands before and after the JSON object of the arguments."""

REASONING = {
    "qwen3-hermes": ("<think>\n", "\n</think>\n\n"),
    "qwen3.5": ("<think>\n", "\n</think>\n\n"),
    "qwen3-coder": ("<think>\n", "\n</think>\n\n"),
    "glm-4.5": ("<think>", "</think>\n"),
    "glm-4.7": ("<think>", "</think>"),
    "minimax-m2": ("<think>\n", "\n</think>\n\n"),
    "deepseek-r1": ("<think>\n", "\n</think>\n\n"),
    "deepseek-v3": ("<think>\n", "\n</think>\n\n"),
    "deepseek-v3.1": ("<think>", "</think>"),
    "deepseek-v3.2": ("<think>", "</think>"),
    "deepseek-v4": ("<think>", "</think>"),
    "deepseek-v4.1": ("<think>", "</think>"),
    "kimi-k2": ("<think>", "</think>"),
    "lfm2": ("<think>", "</think>"),
    "mistral-v13-think": ("[THINK]", "[/THINK]"),
    "mistral-v11-think-text": ("<think>\n", "\n</think>\n"),
    "gemma-4": ("<|channel>thought\n", "\n<channel|>"),
    "kimi-k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
}

OPENERS = {
    "hermes": "\n<tool_call>\n{",
    "qwen3-hermes": "\n<tool_call>\n{",
    "qwen3-coder": "\n<tool_call>\n<function=",
    "qwen3.5": "\n<tool_call>\n<function=",
    "glm-4.5": "\n<tool_call>",
    "glm-4.7": "<tool_call>",
    "mistral-v13": "[TOOL_CALLS]",
    "mistral-v11": "[TOOL_CALLS]",
    "mistral-v3": "[TOOL_CALLS]",
    "deepseek-v3.1": "<｜tool▁calls▁begin｜>",
    "deepseek-v3.2": "<｜DSML｜function_calls>",
    "kimi-k2": "<|tool_calls_section_begin|>",
    "minimax-m2": "\n<minimax:tool_call>\n<invoke",
    "gemma-4": "<|tool_call>call:",
    "functiongemma": "<start_function_call>call:",
    "lfm2": "<|tool_call_start|>",
    "llama3-json": "<|python_tag|>{",
}


def first_marker(closer: str) -> str:
    """The delimiter itself: the closer's first literal, the newline before it left out."""
    marker = closer.lstrip("\n")
    return marker[: marker.index(">") + 1] if ">" in marker else marker[: marker.index("]") + 1]


def values_of(closer: str) -> list[str]:
    """Texts that end with every proper beginning of the delimiter, once and twice, on a line of its own and not."""
    marker = first_marker(closer)
    beginnings = [marker[:size] for size in range(1, len(marker))]
    doubled = [beginning + beginning for beginning in beginnings[:3]]
    return [f".{end}" for end in beginnings + doubled] + [
        f".\n{beginnings[-1]}",
        marker[:1],
        f"{marker[:2]}é{marker[:1]}",
    ]


def alone(text: str, closer: str, value: str) -> bool:
    """Whether the delimiter stands first where it is meant to: the value's end may complete it early."""
    marker = first_marker(closer)
    return (value + closer).find(marker) == len(value) + closer.index(marker) and value in text


def check(format_id: str, text: str, split: tuple[int, int], expected: Any, tools: Any = TOOLS) -> None:
    """The same for one chunk, a cut at every position of `split`, and character by character."""
    chat = grammar(format_id).bind(tools=tools)
    whole = replay(chat, [text], "")
    message = whole.final
    found = (message.reasoning_content, message.content, [call.args for call in message.tool_calls])
    assert found == expected
    assert message.malformed == ()
    for cut in range(*split):
        assert replay(chat, [text[:cut], text[cut:]], "").events == whole.events
    assert replay(chat, text, "").events == whole.events


@pytest.mark.parametrize("format_id", sorted(CALLS))
def test_a_value_that_ends_like_its_closer_begins(format_id: str) -> None:
    """Parameter values: `.<` then `</arg_value>`, `</arg_va` then `</arg_value>`, and the like."""
    opener, closer = CALLS[format_id]
    for value in values_of(closer):
        text = opener + value + closer
        if alone(text, closer, value):
            check(format_id, text, (len(opener), len(text)), (None, None, [{"k": value}]))


@pytest.mark.parametrize("format_id", sorted(CALLS))
def test_a_value_may_hold_the_start_of_every_marker(format_id: str) -> None:
    """The markers of the call's end, each without its last character, inside the value."""
    opener, closer = CALLS[format_id]
    value = closer.replace("\n", "").replace(">", "")
    if first_marker(closer) not in value:
        text = opener + value + closer
        check(format_id, text, (len(opener), len(text)), (None, None, [{"k": value}]))


@pytest.mark.parametrize("format_id", sorted({"glm-4.5", "glm-4.7", "qwen3-coder", "qwen3.5", "minimax-m2"}))
def test_a_closer_that_no_marker_follows_is_text(format_id: str) -> None:
    """A value may hold its own closer: it ends where the call's syntax goes on."""
    opener, closer = CALLS[format_id]
    value = f"a{first_marker(closer)}b{first_marker(closer)[:-1]}"
    text = opener + value + closer
    check(format_id, text, (len(opener), len(text)), (None, None, [{"k": value}]))


@pytest.mark.parametrize("format_id", sorted(JSON_CALLS))
def test_a_json_string_that_holds_the_closer(format_id: str) -> None:
    """JSON ends by its own syntax: every beginning of the closer, and the closer whole, inside its string."""
    opener, closer = JSON_CALLS[format_id]
    ends = closer or "[TOOL_CALLS]"
    for size in range(1, len(ends) + 1):
        arguments = {"k": "." + ends[:size]}
        text = opener + json.dumps(arguments, ensure_ascii=False) + closer
        check(format_id, text, (len(opener), len(text)), (None, None, [arguments]))


@pytest.mark.parametrize("format_id", sorted(REASONING))
def test_reasoning_that_ends_like_its_closer_begins(format_id: str) -> None:
    """`<think>….<` then `</think>`, and every longer beginning."""
    opener, closer = REASONING[format_id]
    for value in values_of(closer):
        text = opener + value + closer + "Yes."
        if alone(text, closer, value) and not value.endswith("\n"):
            check(format_id, text, (len(opener), len(text)), (value, "Yes.", []))


@pytest.mark.parametrize("format_id", sorted(OPENERS))
def test_content_that_ends_like_a_call_begins(format_id: str) -> None:
    """At the end of the reply, and before more text: all of it is content."""
    opener = OPENERS[format_id]
    for size in range(1, len(opener)):
        beginning = opener[:size]
        committed = any(
            mark in beginning
            for mark in ("[TOOL_CALLS]", "begin｜>", "_calls>", "begin|>", "start|>", "tool_call>", "call>")
        )
        if committed or beginning.endswith("\n"):
            continue
        for text in ("." + beginning, "." + beginning + "x", "." + beginning + " " + beginning):
            check(format_id, text, (0, len(text)), (None, text, []))
