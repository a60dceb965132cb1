"""llguidance loads the Lark that is emitted and judges as the recogniser of the quick tests does."""

from __future__ import annotations

import re

import pytest
from guidance import Lark
from modes import CALLING, MODES, prompts
from pieces import cut, numbers
from recogniser import Recogniser
from replies import asked, requests


@pytest.mark.parametrize("format_id, mode_name, prompt_name", requests())
def test_it_loads_and_allows_its_sentences(format_id: str, mode_name: str, prompt_name: str) -> None:
    wanted = asked(format_id, mode_name, prompts(format_id)[prompt_name])
    text = wanted.chat.lark(prompt=wanted.prompt).grammar
    if text is None:
        pytest.skip("nothing to constrain")
    grammar, random = Lark(text), wanted.random
    sentences = wanted.sentences(3)
    assert [found for found in sentences if not grammar.walks(cut(found, random, with_special=False))] == []


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_it_judges_like_the_recogniser(format_id: str, mode_name: str) -> None:
    wanted = asked(format_id, mode_name)
    text, gbnf = wanted.chat.lark().grammar, wanted.chat.gbnf().grammar
    if text is None or gbnf is None:
        pytest.skip("nothing to constrain")
    grammar, recogniser, random = Lark(text), Recogniser(gbnf), wanted.random
    for found in wanted.texts(4):
        assert grammar.walks(cut(found, random, with_special=False)) == recogniser.matches(found), found


@pytest.mark.parametrize("format_id, mode_name, prompt_name", requests())
def test_delimiters_may_be_special_tokens(format_id: str, mode_name: str, prompt_name: str) -> None:
    """As a tokenizer writes them that has them: each is one token, and no text."""
    wanted = asked(format_id, mode_name, prompts(format_id)[prompt_name])
    special = {text: numbers(with_special=True)[text.encode()] for text in wanted.chat.grammar.loaded.tokens}
    text = wanted.chat.lark(prompt=wanted.prompt, special_tokens=special).grammar
    if text is None:
        pytest.skip("nothing to constrain")
    grammar, random = Lark(text), wanted.random
    one = re.compile("(" + "|".join(map(re.escape, sorted(special, key=len, reverse=True))) + ")")
    for found in wanted.sentences(3):
        tokens: list[int] = []
        for piece in one.split(found) if special else [found]:
            tokens += [special[piece]] if piece in special else cut(piece, random, with_special=False)
        assert grammar.walks(tokens), found
