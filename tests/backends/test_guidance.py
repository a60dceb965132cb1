"""llguidance loads the Lark that is emitted and judges as the recogniser of the quick tests does."""

from __future__ import annotations

import pytest
from guidance import Lark
from modes import CALLING, MODES, prompts
from pieces import cut
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
