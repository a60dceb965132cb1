"""A model with random weights, sampled by llama.cpp under the emitted grammar, writes valid calls and nothing else."""

from __future__ import annotations

import pytest
from judged import problems
from llama import Model, Sampler
from modes import CALLING
from replies import asked
from tiny_model import path

ENDED = 50
TRIED = 1000
TOKENS = 200
"""A random model may wander in a string or in free text until its tokens are used up; then it has not ended."""


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(path(vocabulary_only=False))


@pytest.mark.parametrize("format_id", CALLING)
def test_every_reply_that_ends_is_a_valid_call(format_id: str, model: Model) -> None:
    wanted = asked(format_id, "required", "")
    grammar = wanted.chat.gbnf(prompt="").grammar
    assert grammar is not None
    ended, wrong = 0, []
    for seed in range(TRIED):
        text, end = model.generate("Go:", Sampler(model, grammar), seed, TOKENS)
        if not end:
            continue
        ended += 1
        if found := problems(wanted.chat, wanted.mode, "", wanted.made, text):
            wrong.append((text, found))
        if ended == ENDED:
            break
    assert wrong == []
    assert ended == ENDED
