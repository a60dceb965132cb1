"""The parsed message: plain immutable data, and its OpenAI form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ParseError


def _integer(text: str) -> int | float:
    """An integer; as a float where Python refuses to convert so many digits."""
    return int(text) if len(text) < 4000 else float(text)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. ``arguments`` is JSON text, token by token what the model wrote where that is strict JSON.

    >>> ToolCall("add", '{"a": 1}').args
    {'a': 1}
    """

    name: str
    arguments: str
    id: str | None = None
    complete: bool = True
    known: bool = True

    @property
    def args(self) -> dict[str, Any]:
        """The decoded arguments, a new dict each time."""
        decoded: dict[str, Any] = json.loads(self.arguments, parse_int=_integer)
        return decoded

    def to_openai(self) -> dict[str, Any]:
        """The call as the chat completions API returns one.

        >>> ToolCall("add", "{}", id="c1").to_openai()
        {'id': 'c1', 'type': 'function', 'function': {'name': 'add', 'arguments': '{}'}}
        """
        return _to_openai(self, 0)


def _to_openai(call: ToolCall, index: int) -> dict[str, Any]:
    """``index``: the API wants an id, so a format without ids gives the call's place in the message."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id or f"call_{index}", "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the input that is not in a field: code points ``start`` to ``end``, and their text.

    >>> Span(0, 2, "Hi").text
    'Hi'
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A region that did not parse: its label, where it stands, its raw text, and why.

    >>> Malformed("tool_call", 0, 11, "<tool_call>", ParseError("expected '{'", 11)).error.pos
    11
    """

    label: str
    start: int
    end: int
    text: str
    error: ParseError


@dataclass(frozen=True, slots=True)
class Message:
    """What the model wrote. An absent part is None, never ``""``.

    ``fields`` are a format's own text labels; ``complete`` is false when the output ended inside a construct, and in
    every partial message.

    >>> Message("Hi").content, Message("Hi").tool_calls
    ('Hi', ())
    """

    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    malformed: tuple[Malformed, ...] = ()
    dropped: tuple[Span, ...] = ()
    complete: bool = True

    def to_openai(self) -> dict[str, Any]:
        """The message as the chat completions API returns one.

        >>> Message(content="Hi").to_openai()
        {'role': 'assistant', 'content': 'Hi'}
        """
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning_content is not None:
            message["reasoning_content"] = self.reasoning_content
        if self.tool_calls:
            message["tool_calls"] = [_to_openai(call, index) for index, call in enumerate(self.tool_calls)]
        return message
