"""llama.cpp's grammar engine loads what is emitted and judges as the recogniser of the quick tests does."""

from __future__ import annotations

import pytest
from llama import Grammar, Sampler, Vocabulary
from modes import CALLING, MODES, prompts
from recogniser import Recogniser
from replies import Asked, asked, requests
from tiny_model import path


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(path(vocabulary_only=True))


def grammar_of(wanted: Asked) -> str:
    text = wanted.chat.gbnf(prompt=wanted.prompt).grammar
    if text is None:
        pytest.skip("nothing to constrain")
    return text


@pytest.mark.parametrize("format_id, mode_name, prompt_name", requests())
def test_it_loads_and_allows_its_sentences(format_id: str, mode_name: str, prompt_name: str) -> None:
    wanted = asked(format_id, mode_name, prompts(format_id)[prompt_name])
    grammar = Grammar(grammar_of(wanted))
    assert [text for text in wanted.sentences(5) if not grammar.matches(text)] == []


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_it_judges_like_the_recogniser(format_id: str, mode_name: str) -> None:
    wanted = asked(format_id, mode_name)
    text = grammar_of(wanted)
    grammar, recogniser = Grammar(text), Recogniser(text)
    # No token of llama.cpp begins with NUL, so it refuses that whatever the grammar says.
    judged = [text for text in wanted.texts(4) if "\0" not in text]
    assert [text for text in judged if grammar.matches(text) != recogniser.matches(text)] == []


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_tokens_that_split_characters_and_delimiters(format_id: str, mode_name: str, vocabulary: Vocabulary) -> None:
    wanted = asked(format_id, mode_name)
    grammar, random = grammar_of(wanted), wanted.random
    for sentence in wanted.sentences(3, longest=400):
        if "\0" in sentence:
            continue
        raw, at, tokens = sentence.encode(), 0, []
        while at < len(raw):
            sizes = [size for size in range(1, 24) if raw[at : at + size] in vocabulary.ids and size <= len(raw) - at]
            size = random.choice(sizes)
            tokens.append(vocabulary.ids[raw[at : at + size]])
            at += size
        sampler = Sampler(vocabulary, grammar)
        assert sampler.walks(tokens), sentence
        sampler.close()
        whole = Sampler(vocabulary, grammar)
        assert whole.walks(vocabulary.tokens(sentence)), sentence
        whole.close()
