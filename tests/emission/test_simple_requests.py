"""A simple request is refused by no format, in no mode and behind no prompt, and its sentences are what was asked for."""

from __future__ import annotations

from random import Random

import chatpeg
import pytest
from judged import problems
from modes import CALLING, FORMATS, MODES, leads, mode, prompts
from sampled import Writer, made, rules_of
from test_requests import ANSWER, TOOLS

REQUESTS = [
    (format_id, mode_name, name)
    for format_id in FORMATS
    for mode_name in (MODES if format_id in CALLING else ())  # see `test_faults` for deepseek-r1
    for name in prompts(format_id)
]
UNTRIGGERED = ("llama4-pythonic",)
"""Formats whose optional calls begin with no special token."""


@pytest.mark.parametrize("format_id, mode_name, prompt_name", REQUESTS)
def test_request(format_id: str, mode_name: str, prompt_name: str) -> None:
    prompt = prompts(format_id)[prompt_name]
    wanted = mode(mode_name, "weather", ANSWER)
    chat = chatpeg.load(format_id).bind(tools=TOOLS, **wanted.options)
    found = made(chat, prompt)
    assert found.lazy == (mode_name.startswith("auto") and found.root is not None)
    if found.root is None:
        assert format_id in UNTRIGGERED
        assert mode_name.startswith("auto")
        assert found.warnings
        return
    writer = Writer(rules_of(found), Random(f"{format_id} {mode_name} {prompt_name}"))
    for _ in range(10):
        sentence = writer.sentence()
        if found.lazy and not sentence.startswith(found.triggers):
            continue
        lead = writer.random.choice(leads(format_id, prompt)) if found.lazy else ""
        assert problems(chat, wanted, prompt, found, lead + sentence) == [], lead + sentence
