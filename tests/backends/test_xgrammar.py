"""xgrammar loads the EBNF and the structural tags that are emitted and judges as the recogniser of the quick tests does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chatpeg.emission import Made
from modes import CALLING, MODES, prompts
from pieces import cut
from recogniser import Recogniser
from replies import Asked, asked, requests
from xgr import Grammar


def tag_of(wanted: Asked) -> str:
    made = wanted.chat.structural_tag(prompt=wanted.prompt)
    if made.grammar is None:
        pytest.skip("nothing to constrain")
    assert not made.lazy
    return made.grammar


def allowed(made: Made, recogniser: Recogniser, text: str) -> bool:
    """Whether a structural tag should allow ``text``: freely up to the first trigger, then what the grammar says."""
    if not made.lazy:
        return recogniser.matches(text)
    found = [(text.index(word) + len(word), text.index(word)) for word in made.triggers if word in text]
    return not found or recogniser.matches(text[min(found)[1] :])


def replies(wanted: Asked) -> Iterator[str]:
    """Texts to judge; where the grammar waits for a trigger, behind free text that may end like half of one."""
    random = wanted.random
    if wanted.made.lazy:
        yield from ("", "Hm.", wanted.made.triggers[0][:-1])
    for text in wanted.texts(4):
        word = random.choice(wanted.made.triggers or ("",))
        yield wanted.lead() + word[: random.randint(0, max(0, len(word) - 1))] + text


@pytest.mark.parametrize("format_id, mode_name, prompt_name", requests())
def test_it_loads_and_allows_its_sentences(format_id: str, mode_name: str, prompt_name: str) -> None:
    wanted = asked(format_id, mode_name, prompts(format_id)[prompt_name])
    tag = Grammar(tag_of(wanted), tag=True)
    random, lead = wanted.random, wanted.lead()
    tokens = [cut(lead + found, random, with_special=True) for found in wanted.sentences(3)]
    assert [found for found in tokens if not tag.walks(found)] == []


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_it_judges_ebnf_like_the_recogniser(format_id: str, mode_name: str) -> None:
    wanted = asked(format_id, mode_name)
    text, gbnf = wanted.chat.ebnf().grammar, wanted.chat.gbnf().grammar
    if text is None or gbnf is None:
        pytest.skip("nothing to constrain")
    grammar, recogniser, random = Grammar(text, tag=False), Recogniser(gbnf), wanted.random
    for found in wanted.texts(4):
        assert grammar.walks(cut(found, random, with_special=True)) == recogniser.matches(found), found


@pytest.mark.parametrize("mode_name", MODES)
@pytest.mark.parametrize("format_id", CALLING)
def test_it_judges_structural_tags_like_the_recogniser(format_id: str, mode_name: str) -> None:
    wanted = asked(format_id, mode_name)
    tag, random = Grammar(tag_of(wanted), tag=True), wanted.random
    recogniser = Recogniser(wanted.chat.gbnf().grammar or "")
    for found in replies(wanted):
        judged = tag.walks(cut(found, random, with_special=True))
        assert judged == allowed(wanted.made, recogniser, found), found
