"""What may be written for each kind of request and prompt, in three formats of different syntax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import chatpeg
import pytest
from chatpeg.errors import EmitError
from recogniser import Recogniser
from rendered import RENDER

FORMATS = ("qwen3-hermes", "qwen3-coder", "lfm2")
"""JSON, tags and Python literals; all of them think between <think> and </think>."""

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": CITY}},
    {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "additionalProperties": False}}},
]
ANSWER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
NAMED = {"type": "function", "function": {"name": "ping"}}
THOUGHT = "<think>\nHm.\n</think>\n\n"
JSON = '{"n": 7}'

formats = pytest.mark.parametrize("format_id", FORMATS)


@dataclass
class Request:
    """A request with the prompt that its reply follows."""

    format_id: str
    prompt: str
    options: dict[str, Any]

    @property
    def chat(self) -> chatpeg.Chat:
        return chatpeg.load(self.format_id).bind(**self.options)

    @property
    def constraint(self) -> chatpeg.Constraint:
        return self.chat.gbnf(prompt=self.prompt)

    def allows(self, text: str) -> bool:
        """Whether a backend lets the model write ``text``; if it does, it must be read strictly."""
        made = self.constraint
        at = min((text.find(word) for word in made.triggers if word in text), default=-1) if made.lazy else 0
        allowed = made.grammar is None or at < 0 or Recogniser(made.grammar).matches(text[at:])
        if allowed and made.grammar is not None:
            self.chat.parse(text, strict=True, prompt=self.prompt)
        return allowed


def request(format_id: str, prompt: str = "", **options: Any) -> Request:
    return Request(format_id, prompt, {"tools": TOOLS, **options})


def ping(format_id: str, times: int = 1) -> str:
    return RENDER[format_id]([("ping", {})] * times)


def weather(format_id: str, city: Any = "Oslo") -> str:
    return RENDER[format_id]([("weather", {"city": city})])


def unknown(format_id: str) -> str:
    return RENDER[format_id]([("pong", {})])


@formats
def test_auto(format_id: str) -> None:
    wanted = request(format_id)
    assert wanted.constraint.lazy
    assert set(wanted.constraint.triggers) <= set(wanted.constraint.preserved_tokens)
    for text in ("", "Sunny.", ping(format_id), f"Let me see.\n{weather(format_id)}", ping(format_id, 2)):
        assert wanted.allows(text), text
    assert not wanted.allows(unknown(format_id))
    assert not wanted.allows(RENDER[format_id]([("weather", {})]))


@formats
def test_required(format_id: str) -> None:
    wanted = request(format_id, tool_choice="required")
    assert not wanted.constraint.lazy
    for text in (ping(format_id), weather(format_id), ping(format_id, 2), THOUGHT + ping(format_id)):
        assert wanted.allows(text), text
    for text in ("", "Sunny.", f"Yes. {ping(format_id)}", unknown(format_id), THOUGHT):
        assert not wanted.allows(text), text


@formats
def test_a_named_tool(format_id: str) -> None:
    wanted = request(format_id, tool_choice=NAMED)
    assert wanted.allows(ping(format_id))
    for text in ("", "Sunny.", weather(format_id), unknown(format_id)):
        assert not wanted.allows(text), text


@formats
@pytest.mark.parametrize("options", [{"tool_choice": "none"}, {"tools": []}, {"tools": None}])
def test_no_call_may_be(format_id: str, options: dict[str, Any]) -> None:
    made = request(format_id, **options).constraint
    assert (made.grammar, made.lazy, made.triggers) == (None, False, ())
    assert made.llama_server() == {}


@formats
@pytest.mark.parametrize("choice", ["auto", "required", NAMED], ids=["auto", "required", "named"])
def test_one_call_at_most(format_id: str, choice: Any) -> None:
    wanted = request(format_id, tool_choice=choice, parallel_tool_calls=False)
    assert wanted.allows(ping(format_id))
    assert not wanted.allows(ping(format_id, 2))
    assert request(format_id, tool_choice=choice).allows(ping(format_id, 2))


@formats
def test_a_response_format_without_tools(format_id: str) -> None:
    wanted = request(format_id, tools=None, response_format=ANSWER)
    assert not wanted.constraint.lazy
    for text in (JSON, '{"n":-1}', THOUGHT + JSON):
        assert wanted.allows(text), text
    for text in ("", "7", '{"n": "7"}', f"{JSON}.", f"So: {JSON}", ping(format_id), THOUGHT):
        assert not wanted.allows(text), text


@formats
def test_a_response_format_with_tools(format_id: str) -> None:
    wanted = request(format_id, response_format=ANSWER)
    for text in (JSON, THOUGHT + JSON, ping(format_id), THOUGHT + weather(format_id)):
        assert wanted.allows(text), text
    for text in ("", "Sunny.", JSON + ping(format_id), unknown(format_id)):
        assert not wanted.allows(text), text


@formats
def test_a_response_format_where_a_call_is_required(format_id: str) -> None:
    wanted = request(format_id, response_format=ANSWER, tool_choice="required")
    assert wanted.allows(ping(format_id))
    assert not wanted.allows(JSON)


@formats
def test_a_response_format_where_no_call_may_be(format_id: str) -> None:
    wanted = request(format_id, response_format=ANSWER, tool_choice="none")
    assert wanted.allows(JSON)
    assert not wanted.allows(ping(format_id))


@formats
@pytest.mark.parametrize("options", [{"tool_choice": "required"}, {"response_format": ANSWER}], ids=["calls", "answer"])
def test_a_prompt_that_opens_the_reasoning(format_id: str, options: dict[str, Any]) -> None:
    wanted = request(format_id, "<think>\n", **options)
    reply = JSON if "response_format" in options else ping(format_id)
    assert wanted.allows(f"Hm {{ 12 }}.\n</think>\n\n{reply}")
    for text in (reply, f"Hm.\n</think>\n\nSunny {reply}", "Hm.\n</think>\n\n", "Hm."):
        assert not wanted.allows(text), text


@formats
@pytest.mark.parametrize("options", [{"tool_choice": "required"}, {"response_format": ANSWER}], ids=["calls", "answer"])
def test_a_prompt_that_leaves_the_reasoning_empty(format_id: str, options: dict[str, Any]) -> None:
    wanted = request(format_id, "<think>\n\n</think>\n\n", **options)
    reply = JSON if "response_format" in options else ping(format_id)
    assert wanted.allows(reply)
    for text in ("", f"Hm.\n</think>\n\n{reply}", f"Sunny {reply}"):
        assert not wanted.allows(text), text


@formats
def test_a_prompt_that_opens_the_reasoning_before_an_optional_call(format_id: str) -> None:
    wanted = request(format_id, "<think>\n")
    assert wanted.constraint.lazy
    for text in ("Hm.\n</think>\n\nSunny.", f"Hm.\n</think>\n\n{ping(format_id)}"):
        assert wanted.allows(text), text


@formats
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("last", ["weather", "ci", "city"])
def test_a_prompt_that_ends_inside_a_call(format_id: str, choice: str, last: str) -> None:
    call = weather(format_id)
    end = call.index(last) + len(last)
    begun, rest = call[:end], call[end:]
    wanted = request(format_id, begun, tool_choice=choice)
    assert not wanted.constraint.lazy
    assert wanted.allows(rest)
    assert wanted.allows(rest + ping(format_id))
    for text in ("", "Sunny.", call, rest[1:], rest[:-1]):
        assert not wanted.allows(text), text


@pytest.mark.parametrize("format_id", ["lfm2", "kimi-k2", "deepseek-v3.1", "minimax-m2"])
def test_a_prompt_that_ends_between_the_calls_of_a_section(format_id: str) -> None:
    call = weather(format_id)
    openers = {"kimi-k2": "<|tool_call_begin|>", "deepseek-v3.1": "<｜tool▁call▁begin｜>", "minimax-m2": "<invoke"}
    end = call.index(openers.get(format_id, "weather"))
    wanted = request(format_id, call[:end])
    assert not wanted.constraint.lazy
    assert wanted.allows(call[end:])


@formats
def test_a_required_call_needs_a_tool_that_can_be_written(format_id: str) -> None:
    impossible = {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": impossible}}
    with pytest.raises(EmitError):
        request(format_id, tools=[tool], tool_choice="required").constraint  # noqa: B018  # making it raises
