"""A program with chains does what it does one instruction at a time, in fewer steps."""

from __future__ import annotations

import functools
import textwrap
from typing import Any
from unittest import mock

import chatpeg.grammar
import pytest
from chatpeg.grammar import Grammar
from chatpeg.program import CHAIN
from hypothesis import given
from hypothesis import strategies as st
from replay import grammar, replay
from strategies import FORMATS, chunkings, corpus, examples, spliced

every_format = pytest.mark.parametrize("format_id", FORMATS)


def without_chains(made: Any) -> Any:
    """The grammar, its programs without chains."""
    assert any(instruction[0] == CHAIN for instruction in made.program.code)
    with mock.patch.object(chatpeg.grammar, "chained", lambda program: program):
        other = Grammar(made.loaded)
        other.compiled((), calls=False)
        assert not any(instruction[0] == CHAIN for instruction in other.program.code)
    return other


@functools.cache
def unchained(format_id: str) -> Any:
    return without_chains(grammar(format_id))


def assert_same(format_id: str, options: dict[str, Any], text: str, chunks: list[str]) -> None:
    """The same events, messages and reason to refuse, whole and in chunks."""
    one, other = (made.bind(**options) for made in (grammar(format_id), unchained(format_id)))
    assert one.parse(text, prompt="") == other.parse(text, prompt="")
    assert replay(one, [text], "") == replay(other, [text], "")
    assert replay(one, chunks, "", snapshots=True) == replay(other, chunks, "", snapshots=True)
    refused = [made.parser(prompt="") for made in (one, other)]
    for parser in refused:
        parser.whole(text)
    errors = [parser.veto() for parser in refused]
    assert repr(errors[0]) == repr(errors[1])


@every_format
def test_every_corpus_case_broken_off_and_disturbed(format_id: str) -> None:
    for case in corpus(format_id).cases:
        options = {"tools": corpus(format_id).offered(case), **case.options}
        text = case.input
        for at in range(0, len(text), max(1, len(text) // 8)):
            for broken in (text[:at], text[:at] + text[at + 1 :], text[:at] + "\n<" + text[at:]):
                assert_same(format_id, options, broken, [broken[:at], broken[at:]])


@every_format
@examples(20)
@given(st.data())
def test_spliced_texts(format_id: str, data: st.DataObject) -> None:
    text = data.draw(spliced(format_id))
    options = data.draw(
        st.sampled_from([{"tools": None}, *({"tools": t} for t in corpus(format_id).tool_lists.values())])
    )
    assert_same(format_id, options, text, data.draw(chunkings(text)))


SMALL = {
    # A label in a choice that is one pattern: only the alternative that was read has it.
    "label": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* ("</f>" / id:[0-9]+ "/f>")) "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:(text:until("</p>")) "</p>"
    """,
    # A loop that no pattern follows: where it ends and nothing goes on, one more round was expected too.
    "loop": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" mark* !"Z" arguments:TOOL_ARGUMENTS "</f>") "</c>"
        mark     = "<m>" [a-z]* "</m>"
    """,
}
TEXTS = {
    "label": ["<c><f=x></f></c>", "<c><f=x>7/f></c>", "<c><f=x><p=k>v</p>7/f></c>", "<c><f=x><p=k>v</p></f></c>A"],
    "loop": ["<c><f=x><m>a</m>Z</f></c>", "<c><f=x>Z</c>", "<c><f=x><m>a</m><m></m>{}</f></c>", "<c><f=x><m>a</m>"],
}


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_small_grammars(name: str, text: str) -> None:
    made = chatpeg.loads(textwrap.dedent(SMALL[name]).lstrip())
    other = without_chains(made)
    whole = repr(made.parse(text))
    assert whole == repr(other.parse(text))
    for at in range(len(text) + 1):
        chunks = [text[:at], text[at:]]
        replayed = replay(made, chunks, "")
        assert repr(replayed) == repr(replay(other, chunks, ""))
        assert repr(replayed.final) == whole


CALLS = {
    "qwen3-coder": "<tool_call>\n<function=f>\n<parameter=a>\nx\ny\n</parameter>\n</function>\n</tool_call>\n",
    "glm-4.7": "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>",
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>\n',
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}]


@pytest.mark.parametrize("format_id, most", [("qwen3-coder", 2), ("glm-4.7", 5), ("hermes", 19)])
def test_a_call_takes_few_steps(format_id: str, most: int) -> None:
    """What one more canonical call costs."""
    steps = []
    for made in (grammar(format_id), unchained(format_id)):
        chat = made.bind(tools=TOOLS)
        counts = []
        for calls in (10, 20):
            parser = chat.parser(prompt="")
            assert len(parser.whole(CALLS[format_id] * calls).tool_calls) == calls
            counts.append(parser.steps)
        steps.append((counts[1] - counts[0]) / 10)
    assert steps[0] <= most
    assert steps[0] * 2 < steps[1]
