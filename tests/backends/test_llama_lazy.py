"""A lazy grammar wakes up at the opener of a call and not before, however the tokens cut the opener."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from llama import Sampler, Vocabulary, isolated
from modes import CALLING
from replies import Asked, asked
from tiny_model import path

# Formats whose optional calls have a trigger.
LAZY = [name for name in CALLING if asked(name, "auto").made.lazy]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(path(vocabulary_only=True))


def cuts(text: str, vocabulary: Vocabulary, format_tokens: tuple[str, ...]) -> Iterator[list[int]]:
    """The text as tokens: as the tokenizer does, byte by byte, and by the longest pieces that are no special token."""
    raw, special = text.encode(), {token.encode() for token in format_tokens}
    yield vocabulary.tokens(text)
    yield [vocabulary.ids[raw[at : at + 1]] for at in range(len(raw))]
    tokens, at = [], 0
    while at < len(raw):
        sizes = (size for size in range(24, 0, -1) if raw[at : at + size] not in special)
        size = next(size for size in sizes if size <= len(raw) - at and raw[at : at + size] in vocabulary.ids)
        tokens.append(vocabulary.ids[raw[at : at + size]])
        at += size
    yield tokens


def walked(wanted: Asked, lead: str, call: str, vocabulary: Vocabulary) -> list[str]:
    """What went wrong when a model wrote the lead and the call."""
    made = wanted.chat.gbnf(prompt=wanted.prompt)
    assert made.grammar is not None
    faults = []
    for tokens in cuts(lead + call, vocabulary, made.preserved_tokens):
        sampler = Sampler(vocabulary, made.grammar, [f"({'|'.join(map(re.escape, made.triggers))})"])
        written = b""
        for token in tokens:
            opened = any(word in written.decode("utf-8", "replace") for word in made.triggers)
            free = len(sampler.allowed(range(vocabulary.size))) == vocabulary.size
            if free == opened:
                faults.append(f"{'free behind' if opened else 'constrained before'} the opener, behind {written!r}")
            if not sampler.allowed([token]):
                faults.append(f"{vocabulary.pieces[token]!r} is refused behind {written!r}")
                break
            sampler.accept(token)
            written += vocabulary.pieces[token]
        else:
            if not sampler.may_end:
                faults.append(f"it may not end behind {written!r}")
        sampler.close()
    return faults


@pytest.mark.parametrize("format_id", LAZY)
def test_it_wakes_up_at_the_opener(format_id: str, vocabulary: Vocabulary) -> None:
    wanted = asked(format_id, "auto")
    calls = [text for text in wanted.sentences(3, longest=300) if "\0" not in text]
    assert calls
    for call in calls:
        assert isolated(lambda call=call: walked(wanted, wanted.lead(), call, vocabulary)) == []


@pytest.mark.parametrize("format_id", [name for name in LAZY if name != "gemma-4"])  # a fault: emission/test_faults
def test_a_call_that_is_not_offered_is_cut_short(format_id: str, vocabulary: Vocabulary) -> None:
    wanted = asked(format_id, "auto")
    call = next(text for text in wanted.sentences(20, longest=400) if "get_w" in text and "\0" not in text)
    spoilt = call.replace("get_w", "got_w", 1)
    faults = isolated(lambda: walked(wanted, wanted.lead(), spoilt, vocabulary))
    assert len(faults) == 3
    assert all("is refused behind" in fault for fault in faults)
