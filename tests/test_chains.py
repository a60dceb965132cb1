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
    # One parameter and no loop; a value that is text whatever its schema says; a key that is not always written.
    "one": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    "until": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:until("</p>") "</p>"
    """,
    "keyless": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p" ("=" key:[a-z]+ / "!") ">" value:PARAM_VALUE("</p>") "</p>"
    """,
}
TEXTS = {
    "one": ["<c><f=x><p=k>v</p></f></c>", "<c><f=x></f></c>", "a<c><f=x><p=k>[1]</p></f></c>b<c><f=x><p=k>"],
    "until": ["<c><f=x><p=k>1</p></f></c>", "<c><f=x><p=k>v</p></f></c>", "<c><f=x><p=k>1</p><p=k>2</p></f></c>"],
    "keyless": [
        "<c><f=x><p!>1</p></f></c>",
        "<c><f=x><p=k>1</p><p!>2</p></f></c>",
        "<c><f=x><p=k>1</p><p=l>2</p></f></c>A",
    ],
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


@every_format
def test_each_chain_can_be_written(format_id: str) -> None:
    made = grammar(format_id)
    chains = [instruction[1] for instruction in made.program.code if instruction[0] == CHAIN]
    assert chains
    for chain in chains:
        assert callable(chain.run)
        assert callable(chain.tell)


ODD_CALLS = {
    "a parameter twice": "<parameter=a>\nx\n</parameter>\n<parameter=a>\ny\n</parameter>\n",
    "no name": "<parameter=>\nx\n</parameter>\n",
    "another type": "<parameter=n>\nsoon\n</parameter>\n",
    "as JSON": '<parameter=n>\n{"a": [1, 2]}\n</parameter>\n',
    "a key twice in a value": '<parameter=n>\n{"a": 1, "a": 2}\n</parameter>\n',
    "a number that is written otherwise": "<parameter=n>\n3.0\n</parameter>\n",
    "quoted": '<parameter=a>\n"\\\ud800\n</parameter>\n',
    "nothing": "",
}


@pytest.mark.parametrize("name", ["f", "g"])
@pytest.mark.parametrize("odd", ODD_CALLS.values(), ids=ODD_CALLS)
def test_calls_that_are_not_plain(odd: str, name: str) -> None:
    schema = {"properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    call = f"<tool_call>\n<function={name}>\n{odd}</function>\n</tool_call>\n"
    for text in (call, f"Now.\n\n{call}{call}", f"{call}Then\n{call}?"):
        for options in (
            {"tools": tools},
            {"tools": None},
            {"tools": tools, "tool_calls": "incremental"},
            {"tools": tools, "unknown_tools": "call"},
            {"tools": tools, "unparsed": "drop"},
        ):
            assert_same("qwen3-coder", options, text, [text[: len(text) // 2], text[len(text) // 2 :]])


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
