"""Every format, and the ways in which a request and its prompt may be: the modes of emission."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import chatpeg
from chatpeg.catalog import shipped

FORMATS = tuple(sorted(shipped()))
CALLING = tuple(name for name in FORMATS if name != "deepseek-r1")
"""Formats with tool calls."""

_THINK = ("<think>", "</think>")
_LINES = ("<think>\n", "\n</think>\n\n")
_THOUGHTS: dict[str, tuple[str, str]] = {
    "deepseek-r1": _LINES,
    "deepseek-v3": _LINES,
    "deepseek-v3.1": _THINK,
    "deepseek-v3.2": _THINK,
    "deepseek-v4": _THINK,
    "deepseek-v4.1": _THINK,
    "gemma-4": ("<|channel>thought\n", "\n<channel|>"),
    "glm-4.5": _THINK,
    "glm-4.7": _THINK,
    "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
    "kimi-k2": _THINK,
    "kimi-k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "lfm2": _THINK,
    "minimax-m2": _LINES,
    "mistral-v11-think-text": ("<think>\n", "\n</think>\n"),
    "mistral-v13-think": ("[THINK]", "[/THINK]"),
    "qwen3-coder": _LINES,
    "qwen3-hermes": _LINES,
    "qwen3.5": _LINES,
}


def prompts(format_id: str) -> dict[str, str | None]:
    """What a prompt may have written already, by a name."""
    found: dict[str, str | None] = {"default": None, "empty": ""}
    if format_id in _THOUGHTS:
        opener, closer = _THOUGHTS[format_id]
        found |= {"thought open": opener, "thought begun": f"{opener}Hm, a", "thought closed": opener + closer}
    return found


def leads(format_id: str, prompt: str | None) -> list[str]:
    """Texts that a model may write behind a prompt before a lazy grammar's trigger fires where a call may start."""
    opener, closer = _THOUGHTS.get(format_id, ("", ""))
    if prompt is None:
        prompt = chatpeg.load(format_id).loaded.prefill
    inside = bool(opener) and prompt.startswith(opener) and not prompt.endswith(closer)
    ready = closer if inside else ""
    answer = {
        "gpt-oss": "<|channel|>commentary<|message|>Text.<|end|><|start|>assistant",
        "kimi-k3": "<|open|>response<|sep|>Text.<|close|>response<|sep|>",
    }
    return [ready, ready + answer.get(format_id, "Text.")]


@dataclass(frozen=True)
class Mode:
    """The options of a request."""

    name: str
    options: dict[str, Any] = field(hash=False)

    def named(self, name: str) -> bool:
        """Whether this is the mode of that name."""
        return self.name == name

    @property
    def answers(self) -> bool:
        """Whether a response format is asked for."""
        return "response_format" in self.options

    @property
    def one_call(self) -> bool:
        """Whether there may be one call at most."""
        return not self.options.get("parallel_tool_calls", True)

    @property
    def forced(self) -> bool:
        """Whether there must be a call, and nothing else."""
        return self.options.get("tool_choice", "auto") not in ("auto", "none")

    @property
    def only(self) -> str:
        """The name of the tool that must be called; empty if any may be."""
        choice = self.options.get("tool_choice")
        return choice["function"]["name"] if isinstance(choice, dict) else ""


MODES = (
    "auto",
    "auto, one call",
    "required",
    "required, one call",
    "named",
    "named, one call",
    "answer or calls",
    "answer",
)


def mode(name: str, tool: str, response: Any) -> Mode:
    """The mode of that name, for requests that offer ``tool``."""
    options: dict[str, Any] = {}
    if "required" in name:
        options["tool_choice"] = "required"
    if "named" in name:
        options["tool_choice"] = {"type": "function", "function": {"name": tool}}
    if "one call" in name:
        options["parallel_tool_calls"] = False
    if "answer" in name:
        options["response_format"] = response
    if name == "answer":
        options["tool_choice"] = "none"
    return Mode(name, options)
