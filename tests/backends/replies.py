"""Texts for the engines to judge: sentences of emitted grammars, and what becomes of them by a small change."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import chatpeg
from chatpeg.emission import Made
from modes import CALLING, MODES, Mode, leads, mode, prompts
from sampled import Writer, made, rules_of


def _closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    _tool(
        "get_weather", _closed("city", city={"type": "string"}, days={"type": "integer", "minimum": 1, "maximum": 14})
    ),
    _tool("get_webcam", _closed("größe", größe={"type": "string", "pattern": "^[a-z]{1,3}$"}, on={"type": "boolean"})),
    _tool("ping", _closed()),
    _tool(
        "plan",
        _closed(
            "stops",
            stops={"type": "array", "items": _closed("at", at={"type": "string", "maxLength": 4}), "maxItems": 2},
            unit={"enum": ["km", "mi", 3, None]},
            note={"anyOf": [{"type": "string", "maxLength": 6}, {"type": "null"}]},
        ),
    ),
]
ANSWER = _closed("n", n={"type": "integer", "minimum": -5, "maximum": 99}, why={"type": "string", "maxLength": 8})
SPOILERS = ("", "x", '"', "<", "}", "\n", "é", "\x00", "</tool_call>", "1", " ")


@dataclass(frozen=True)
class Asked:
    """A request, what is emitted for it, and the texts to judge."""

    format_id: str
    mode: Mode
    prompt: str | None
    chat: chatpeg.Chat
    made: Made

    @property
    def random(self) -> Random:
        return Random(f"{self.format_id} {self.mode.name} {self.prompt}")

    def sentences(self, count: int, longest: int = 1500) -> list[str]:
        """Sentences of the emitted grammar; of a lazy one those that its trigger can begin."""
        writer = Writer(rules_of(self.made), self.random, budget=80)
        found: list[str] = []
        for _ in range(count * 10):
            sentence = writer.sentence()
            if len(sentence) <= longest and (not self.made.lazy or sentence.startswith(self.made.triggers)):
                found.append(sentence)
            if len(found) == count:
                return found
        return found

    def texts(self, count: int) -> Iterator[str]:
        """Sentences, and each of them spoilt in a few ways."""
        random = self.random
        for sentence in self.sentences(count):
            yield sentence
            for _ in range(3):
                start = random.randint(0, len(sentence))
                end = min(len(sentence), start + random.randint(0, 2))
                yield sentence[:start] + random.choice(SPOILERS) + sentence[end:]

    def lead(self) -> str:
        """What a model may have written before its first call."""
        return self.random.choice(leads(self.format_id, self.prompt)) if self.made.lazy else ""


@functools.cache
def asked(format_id: str, mode_name: str, prompt: str | None = None) -> Asked:
    """The request of that mode."""
    wanted = mode(mode_name, "get_weather", ANSWER)
    chat = chatpeg.load(format_id).bind(tools=TOOLS, **wanted.options)
    return Asked(format_id, wanted, prompt, chat, made(chat, prompt))


def requests() -> list[tuple[str, str, str]]:
    """Every format, mode and kind of prompt."""
    return [(name, mode_name, prompt) for name in CALLING for mode_name in MODES for prompt in prompts(name)]
