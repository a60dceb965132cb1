"""What is wrong with a reply that an emitted grammar allows: nothing may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
from chatpeg.emission import Made
from chatpeg.errors import ParseError
from chatpeg.grammar import Chat
from modes import Mode

CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER


def invalid(schema: Any, value: Any) -> list[str]:
    """Why a value does not satisfy a schema."""
    validator = jsonschema.Draft202012Validator(schema, format_checker=CHECKER)
    return [error.message[:200] for error in validator.iter_errors(value)]


def problems(chat: Chat, mode: Mode, prompt: str | None, made: Made, text: str) -> list[str]:
    """What is wrong with ``text`` behind ``prompt`` as a reply in that mode; what was relaxed with a warning is not."""
    try:
        message = chat.parse(text, strict=True, prompt=prompt)
    except ParseError as error:
        return [f"strict: {error}"]
    if message != chat.parse(text, prompt=prompt):
        return ["read differently by default"]
    return list(_wrong(chat, mode, made, message))


def _wrong(chat: Chat, mode: Mode, made: Made, message: Any) -> Iterator[str]:
    if not message.complete or message.malformed or message.dropped:
        yield f"not complete: {message}"
    calls = message.tool_calls
    if mode.answers:
        if not calls:
            yield from _wrong_answer(mode, made, message.content)
        elif mode.named("answer"):
            yield "a call where none may be"
    elif not calls:
        yield "no call"
    if mode.one_call and len(calls) > 1:
        yield f"{len(calls)} calls"
    if mode.forced and (message.content or "").strip():
        yield f"content beside a required call: {message.content!r}"
    offered = {tool.name: tool.parameters for tool in chat.tools or ()}
    relaxed = {warning.tool for warning in made.warnings}
    for call in calls:
        if call.name not in offered or mode.only not in {"", call.name}:
            yield f"a call of {call.name}"
        elif call.name not in relaxed and (why := invalid(offered[call.name], call.args)):
            yield f"{call.arguments}: {why}"


def _wrong_answer(mode: Mode, made: Made, content: str | None) -> Iterator[str]:
    try:
        value = json.loads(content or "")
    except ValueError:
        yield f"an answer that is not JSON: {content!r}"
        return
    if not any(not warning.tool for warning in made.warnings):
        yield from invalid(mode.options["response_format"], value)
