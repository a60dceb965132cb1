"""What an emitted grammar allows is read strictly, to calls of offered tools with valid arguments (P6).

Objects are closed in these schemas: that a name which is not declared comes twice cannot be excluded by any
context-free grammar, and is a decode error.
"""

from __future__ import annotations

from random import Random
from typing import Any

import chatpeg
import offered
import pytest
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.rules import Rules
from chatpeg.errors import EmitError
from drawn import check
from hypothesis import strategies as st
from judged import problems
from modes import CALLING, MODES, leads, mode, prompts
from recogniser import Recogniser
from sampled import Writer, made, rules_of

RESPONSES = offered.objects(offered.schemas, offered.KEYS, 2)
SENTENCES = 3


def keys(format_id: str) -> tuple[str, ...]:
    """Property names for tools of a format; those that `test_faults` has are left out."""
    faults = {"lfm2": {"ci.ty", "ci-ty", 'a"b'}}
    faults["llama4-pythonic"] = faults["lfm2"]
    return tuple(key for key in offered.KEYS if key not in faults.get(format_id, ()))


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_every_sentence_is_a_valid_reply(format_id: str, mode_name: str) -> None:
    def replies(tools: list[Any], response: Any, prompt: str | None, number: int) -> None:
        valid_replies(format_id, mode_name, tools, response, prompt, Random(number))

    begun = st.sampled_from(list(prompts(format_id).values()))
    drawn = offered.tools(keys=keys(format_id)), RESPONSES, begun, st.integers(0, 2**32)
    check(replies, *drawn, name=f"{format_id} {mode_name}", count=2)


def valid_replies(  # noqa: PLR0917  # what was drawn
    format_id: str, mode_name: str, tools: list[Any], response: Any, prompt: str | None, random: Random
) -> None:
    """Sentences of the grammar for one request are what was asked for."""
    wanted = mode(mode_name, tools[0]["function"]["name"], response)
    chat = chatpeg.load(format_id).bind(tools=tools, **wanted.options)
    try:
        found = made(chat, prompt)
    except EmitError:
        return  # a tool or an answer that this format cannot carry at all; `test_requests` has those that it can
    if found.root is None:
        return
    writer = Writer(rules_of(found), random)
    sentences = [writer.sentence() for _ in range(SENTENCES)]
    for sentence in sentences:
        if found.lazy and not sentence.startswith(found.triggers):
            continue  # a way to begin a call that has no trigger, which a warning says
        lead = random.choice(leads(format_id, prompt)) if found.lazy else ""
        assert problems(chat, wanted, prompt, found, lead + sentence) == [], lead + sentence
    shortest = min(sentences, key=len)
    if len(shortest) < 300:
        assert Recogniser(gbnf(Rules(found.rules, found.root))).matches(shortest)
