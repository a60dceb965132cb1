"""A program with chains does what it does one instruction at a time, in fewer steps."""

from __future__ import annotations

import copy
import functools
import textwrap
from typing import Any
from unittest import mock

import chatpeg.grammar
import pytest
from chatpeg.calls import call_of
from chatpeg.grammar import Grammar
from chatpeg.program import BY_VALUE, CHAIN
from counting import steps
from hypothesis import given
from hypothesis import strategies as st
from replay import assert_argument_deltas_sum_up, assert_calls_grow, grammar, replay
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


def assert_same(one: Any, other: Any, text: str, chunks: list[str]) -> None:
    """The same events, messages and reason to refuse, whole and in chunks."""
    assert repr(one.parse(text, prompt="")) == repr(other.parse(text, prompt=""))
    assert repr(replay(one, [text], "")) == repr(replay(other, [text], ""))
    assert repr(replay(one, chunks, "", snapshots=True)) == repr(replay(other, chunks, "", snapshots=True))
    refused = [made.parser(prompt="") for made in (one, other)]
    for parser in refused:
        parser.whole(text)
    errors = [parser.veto() for parser in refused]
    assert repr(errors[0]) == repr(errors[1])


def both(format_id: str, **options: Any) -> tuple[Any, Any]:
    """A chat of the format, and one without chains."""
    return grammar(format_id).bind(**options), unchained(format_id).bind(**options)


@every_format
def test_every_corpus_case_broken_off_and_disturbed(format_id: str) -> None:
    for case in corpus(format_id).cases:
        chats = both(format_id, **{"tools": corpus(format_id).offered(case), **case.options})
        text = case.input
        for at in range(0, len(text), max(1, len(text) // 8)):
            for broken in (text[:at], text[:at] + text[at + 1 :], text[:at] + "\n<" + text[at:]):
                assert_same(*chats, broken, [broken[:at], broken[at:]])


@every_format
@examples(20)
@given(st.data())
def test_spliced_texts(format_id: str, data: st.DataObject) -> None:
    text = data.draw(spliced(format_id))
    options = data.draw(
        st.sampled_from([{"tools": None}, *({"tools": t} for t in corpus(format_id).tool_lists.values())])
    )
    assert_same(*both(format_id, **options), text, data.draw(chunkings(text)))


CALL = """
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
"""
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
    # Text in a loop that is read again and again.
    "loop of texts": """
        response = "<s>" ("<i>" italic)* "</s>" (text / "B")
        italic   = content:until("</i>") "</i>"
        text     = "A" reasoning:until("%%%") ("%%%" / !.)
    """,
    # Arguments that have text of their own.
    "braces": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:("{" [ ]* argument* "}") "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    "in braces": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:(argument* "{x}") "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    # Names and keys that decide how a value is read, and are read as any text is.
    "keys": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:until(">") ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:until(">") ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    # A parameter's name inside a value is that of another property.
    "inside": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:("{" inner* "}") "</p>"
        inner    = "(" key:[a-z]+ "=" value:PARAM_VALUE(")") ")"
    """,
    # One parameter and no loop.
    "one": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    # A value that is not read by its schema.
    "until": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:until("</p>") "</p>"
    """,
    # A key that is not always written.
    "keyless": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p" ("=" key:[a-z]+ / "!") ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    # A call, or a text, whose rule goes on when the next rule begins.
    "in one": """
        response = text (pair text)*
        text     = content:until("<a>" / "<t>")
        pair     = ("<a>" tool_call:("[" name:TOOL_NAME "]") / "<t>" reasoning:until("<c>" / "<i>")) (call / italic) "!"?
        italic   = "<i>" content:until("</i>") "</i>"
    """
    + CALL,
    # Calls in a rule that has committed: what it has handed out, and whether it holds an open call, counts when one fails.
    "outer": """
        response = text (section text)*
        text     = content:until("<s>")
        section  = "<s>" ^ (call / italic)* "</s>"
        italic   = "<i>" content:until("</i>") "</i>"
    """
    + CALL,
    # A call that has ended is not open any more when a rule behind it fails.
    "behind": """
        response = text (section text)*
        text     = content:until("<s>")
        section  = "<s>" ^ call digit "</s>"
        digit    = "<n>" ^ [0-9] "</n>"
    """
    + CALL,
    # A rule in a call that commits.
    "committed": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" bare
        bare     = "<v>" ^ value:until("</v>") "</v>"
    """,
    # Loops that nothing is told of, and one parameter between them.
    "marks": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:("" mark* argument mark*) "</f>") "</c>"
        argument = "<p=" key:[a-z]+ ">" value:PARAM_VALUE("</p>") "</p>"
        mark     = "<m>" [a-z]* "</m>"
    """,
    # What failed farthest when a call has matched and the text goes on.
    "once": """
        response = call
    """
    + CALL,
    "as far": """
        response = "<c>" "<f=x>" "</f>" "</c>" "Q" "Z" / "<c>" "<f=x>" "Z" / call "Q" "Y" / call
    """
    + CALL,
    "so far": """
        response = "<c>" "<f=x>" "Z" / call "Q"
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument*)
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
    """,
    # Nothing but the commit says that the text which goes on is not something else.
    "rest": """
        response = (("xx" / "y") call "."*)* content:until("%%%") ("%%%" / !.)
    """
    + CALL,
    "hidden text": """
        response = text (call text)*
        text     = content:until("<ab>" / "b")
        call     = ("<ab>" / "b") ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:TOOL_ARGUMENTS "</f>")
    """,
    # A delimiter that another one hides when it goes on.
    "hidden": """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:PARAM_VALUE(end) end
        end      = "<</p>>" / "/p"
    """,
}
_A, _B = "<f=x><p=k>v</p></f></c>", "<f=x><p=k>v</p>"
TEXTS = {
    "inside": ["<c><f=x><p=o>{(k=1)(l=2)}</p></f></c>", "<c><f=x><p=o>{(k=v)}</p><p=k>{}</p></f></c>"],
    "loop of texts": [
        "<s></s>Ax",
        "<s><i>a</i></s>Ax",
        "<s><i>a</i><i></i><i>b</i></s>A%%%",
        "<s><i>a</i></s>B",
        "<s><i>a",
    ],
    "braces": ["<c><f=x>{}</f></c>", "<c><f=x>{ }</f></c>", "<c><f=x>{<p=k>v</p>}</f></c>"],
    "in braces": ["<c><f=x>{x}</f></c>", "<c><f=x><p=k>v</p>{x}</f></c>"],
    "keys": ['<c><f=x><p=n>2</p><p=k>"a</p>b"</p></f></c>', '<c><f=x><p=k>"a</p></f></c>', f"<c>{_A}"],
    "in one": [f"<a>[x]<c>{_A}", f"<t>a<c>{_A}b", "<t>a<i>b</i>c", "<a>[x]<i>b</i>!", f"<a>[x]<c>{_B}", "<t><i></i>"],
    "outer": [
        f"<s><c>{_A}<c>{_A}</s>",
        f"<s><c>{_A}!</s>",
        f"<s><c>{_A}<c>{_B}</s>a",
        "<s><i>a</i>!</s>",
        "<s><i></i>!",
    ],
    "behind": [f"<s><c>{_A}<n>x</n></s>a", f"<s><c>{_A}<n>1</n></s>a", f"<s><c>{_A}<n>"],
    "committed": ["<c><f=x><p=k><v>1</v></f></c>", "<c><f=x><p=k><v>1</v><p=l><v>a</f></c>", "<c><f=x><p=k><v>1"],
    "marks": [
        "<c><f=x><m>a</m><p=k>v</p><m>b</m></f></c>",
        "<c><f=x><p=k>1</p></f></c>",
        "<c><f=x><p=k>1</p><m>a</m><",
    ],
    "once": [f"<c>{_A}", f"<c>{_A}?", "<c><f=x></f></c>?", f"<c>{_B}"],
    "as far": ["<c><f=x></f></c>QW", "<c><f=x></f></c>", "<c><f=x></f></c>?", f"<c>{_A}Q", f"<c>{_A}QY"],
    "so far": ["<c><f=x>?", "<c><f=x><p=k>v</p>?"],
    "rest": [f"y<c>{_A}...xx<c>{_A}", f"y<c>{_A}a", "xx<c><f=x></f></c>...."],
    "hidden text": ["x<ab><f=x>{}</f>", "x<ab", "xb<f=x>{}</f>b<f=x>", "<ab<f=x>{}</f>."],
    "hidden": [
        "<c><f=x><p=k>v/p</f></c>",
        "<c><f=x><p=k>v<</p>></f></c>",
        "<c><f=x><p=k>v<</p</f></c>",
        "<c><f=x><p=k>1/p<",
    ],
    "one": ["<c><f=x><p=k>v</p></f></c>", "<c><f=x></f></c>", "a<c><f=x><p=k>[1]</p></f></c>b<c><f=x><p=k>"],
    "until": [
        "<c><f=x><p=k>1</p></f></c>",
        "<c><f=x><p=k>v</p></f></c>",
        "<c><f=x><p=k>1</p><p=k>2</p></f></c>",
        "<c><f=x><p=k>3.0</p></f></c>",
    ],
    "keyless": [
        "<c><f=x><p!>1</p></f></c>",
        "<c><f=x><p=k>1</p><p!>2</p></f></c>",
        "<c><f=x><p=k>1</p><p=l>2</p></f></c>A",
    ],
    "label": ["<c><f=x></f></c>", "<c><f=x>7/f></c>", "<c><f=x><p=k>v</p>7/f></c>", "<c><f=x><p=k>v</p></f></c>A"],
    "loop": [
        "<c><f=x><m>a</m>Z</f></c>",
        "<c><f=x>Z</c>",
        "<c><f=x><m>a</m><m></m>{}</f></c>",
        "<c><f=x><m>a</m><",
        "<c><f=x><m>a</m>",
    ],
}


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_small_grammars(name: str, text: str) -> None:
    made = chatpeg.loads(textwrap.dedent(SMALL[name]).lstrip())
    unmade = without_chains(made)
    for tools in (None, STRINGS):
        one, other = made.bind(tools=tools), unmade.bind(tools=tools)
        whole = repr(one.parse(text))
        for at in range(len(text) + 1):
            chunks = [text[:at], text[at:]]
            assert_same(one, other, text, chunks)
            # So much text that each chain before it is taken as soon as it is there.
            assert_same(one, other, text + TAIL + text, [text[:at], text[at:] + TAIL, text])
            assert repr(replay(one, chunks, "").final) == whole
            assert repr(replay(one, chunks[1:], text[:at])) == repr(replay(other, chunks[1:], text[:at]))


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_arguments_that_are_handed_out_as_they_grow(name: str, text: str) -> None:
    """What has been handed out is the beginning of what the call holds in the end."""
    chat = chatpeg.loads(textwrap.dedent(SMALL[name]).lstrip()).bind(tools=STRINGS, tool_calls="incremental")
    whole = chat.parse(text, prompt="")
    for at in range(len(text) + 1):
        seen = replay(chat, [text[:at], text[at:]], "", snapshots=True)
        assert_calls_grow(seen.messages)
        assert seen.final == whole
        assert_argument_deltas_sum_up(seen)


STRINGS = [{"type": "function", "function": {"name": "x", "parameters": {"properties": {"k": {"type": "string"}}}}}]
TAIL = "." * 100


def test_a_copy_goes_on_as_the_parser_does() -> None:
    """Written functions tell rule instances by the places in the program that they were written for."""
    made = chatpeg.loads(
        'response = text (section text)*\ntext = content:until("<s>")\n'
        'section = "<s>" ("!" / "?") ^ "<a>" "<b>" thought "</s>"\nthought = "<d>" reasoning:([a-z]{2,3})\n'
    )
    text = "<s>!<a><b><d>?</s>zz"
    whole = made.parse(text, prompt="")
    begun = made.parser(prompt="")
    begun.feed(text[:3])
    for parser in (copy.deepcopy(begun), begun):
        parser.feed(text[3:])
        parser.finish()
        assert parser.message == whole


def test_a_refused_chain_is_not_read_from_each_head_on_the_way() -> None:
    """A call that ends as models wrongly end it, behind many parameters."""
    text = "<tool_call>\n<function=f>\n" + "<parameter=a>\nx\n</parameter>\n" * 200 + "</function></tool_call>"
    with_chains, without = (steps(chat, text, 0)[1] for chat in both("qwen3-coder", tools=TOOLS))
    assert with_chains < 4 * without


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
            assert_same(*both("qwen3-coder", **options), text, [text[: len(text) // 2], text[len(text) // 2 :]])


def test_what_a_plain_call_is_not() -> None:
    assert call_of(None, "f", [("a", BY_VALUE, "x")]) == chatpeg.ToolCall("f", '{"a": "x"}')
    assert call_of(None, "f", [("", BY_VALUE, "x")]) is None
    assert call_of({}, "f", []) is None


CALLS = {
    "qwen3-coder": "<tool_call>\n<function=f>\n<parameter=a>\nx\ny\n</parameter>\n</function>\n</tool_call>\n",
    "glm-4.7": "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>",
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>\n',
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}]


@pytest.mark.parametrize("format_id, most", [("qwen3-coder", 2), ("glm-4.7", 5), ("hermes", 19)])
def test_a_call_takes_few_steps(format_id: str, most: int) -> None:
    """What one more canonical call costs."""
    costs = []
    for made in (grammar(format_id), unchained(format_id)):
        chat = made.bind(tools=TOOLS)
        counts = []
        for calls in (10, 20):
            parser = chat.parser(prompt="")
            assert len(parser.whole(CALLS[format_id] * calls).tool_calls) == calls
            counts.append(parser.steps)
        costs.append((counts[1] - counts[0]) / 10)
    assert costs[0] <= most
    assert costs[0] * 2 < costs[1]
