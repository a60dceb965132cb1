"""Chunk invariance on texts nobody wrote: corpus pieces spliced at random, for every format."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from chatpeg import ParseError
from chatpeg.grammar import Grammar
from chatpeg.loader import load_text
from hypothesis import given
from hypothesis import strategies as st
from replay import (
    Replay,
    assert_append_only,
    assert_argument_deltas_sum_up,
    assert_calls_grow,
    assert_deltas_sum_up,
    assert_regions_tile,
    grammar,
    replay,
)
from strategies import FORMATS, chunkings, corpus, examples, spliced

every_format = pytest.mark.parametrize("format_id", FORMATS)

WHOLE_CALLS: list[dict[str, Any]] = [{}, {"unparsed": "drop"}, {"unknown_tools": "call"}, {"tool_choice": "none"}]
INCREMENTAL_CALLS: list[dict[str, Any]] = [
    {"tool_calls": "incremental"},
    {"tool_calls": "incremental", "unparsed": "drop"},
]


def prompts(format_id: str) -> st.SearchStrategy[str | None]:
    """A prompt that some case of the format starts from, the format's own, or none."""
    return st.sampled_from([None, "", *sorted({case.prompt or "" for case in corpus(format_id).cases})])


def drawn_chat(data: st.DataObject, format_id: str, bindings: list[dict[str, Any]]) -> Any:
    """A chat with the tools of some case of the format."""
    file = corpus(format_id)
    tools = data.draw(st.sampled_from([None, *(file.offered(case) for case in file.cases)]), label="tools")
    options = data.draw(st.sampled_from(bindings), label="options")
    return grammar(format_id).bind(tools=tools, **options)


def assert_same(run: Replay, whole: Replay) -> None:
    """Equal events and an equal message, the readable part first."""
    assert run.final.content == whole.final.content
    assert run.final.reasoning_content == whole.final.reasoning_content
    assert list(run.final.tool_calls) == list(whole.final.tool_calls)
    assert run.events == whole.events
    assert run.final == whole.final


@every_format
@examples(60)
@given(st.data())
def test_every_chunking_gives_the_same_events(format_id: str, data: st.DataObject) -> None:
    """P1: whatever the text, any chunking and single characters give the events and the message of the whole."""
    chat = drawn_chat(data, format_id, WHOLE_CALLS + INCREMENTAL_CALLS)
    prompt = data.draw(prompts(format_id), label="prompt")
    text = data.draw(spliced(format_id), label="text")
    whole = replay(chat, [text], prompt)
    assert whole.final == chat.parse(text, prompt=prompt)
    assert_same(replay(chat, data.draw(chunkings(text), label="chunks"), prompt), whole)
    assert_same(replay(chat, text, prompt), whole)


@every_format
@examples(30)
@given(st.data())
def test_nothing_is_withdrawn_and_nothing_is_lost(format_id: str, data: st.DataObject) -> None:
    """P2, P3: the message only grows, deltas sum up to it, and every word is in a region, markup or listed."""
    chat = drawn_chat(data, format_id, WHOLE_CALLS)
    prompt = data.draw(prompts(format_id), label="prompt")
    chunks = data.draw(spliced(format_id).flatmap(chunkings), label="chunks")
    run = replay(chat, chunks, prompt, snapshots=True)
    assert_append_only(run.messages)
    assert_deltas_sum_up(run)
    assert_regions_tile(run)


@every_format
@examples(30)
@given(st.data())
def test_incremental_calls_only_grow(format_id: str, data: st.DataObject) -> None:
    """P2 with `tool_calls="incremental"`: a call keeps its name, its arguments grow, and their chunks are all of them."""
    chat = drawn_chat(data, format_id, INCREMENTAL_CALLS)
    prompt = data.draw(prompts(format_id), label="prompt")
    chunks = data.draw(spliced(format_id).flatmap(chunkings), label="chunks")
    run = replay(chat, chunks, prompt, snapshots=True)
    assert_calls_grow(run.messages)
    assert_argument_deltas_sum_up(run)


@every_format
@examples(30)
@given(st.data())
def test_kept_text_is_the_input_without_markup(format_id: str, data: st.DataObject) -> None:
    """P3: with `unparsed="content"` content and reasoning are subsequences of the input, in its order."""
    chat = drawn_chat(data, format_id, WHOLE_CALLS)
    text = data.draw(spliced(format_id), label="text")
    message = chat.parse(text, prompt="")
    for kept in (message.content, message.reasoning_content):
        assert is_subsequence(kept or "", text)


@every_format
@examples(30)
@given(st.data())
def test_without_tools_nothing_but_text_comes_out(format_id: str, data: st.DataObject) -> None:
    """`tools=[]` and `tool_choice="none"` never give a call, and mean the same."""
    text = data.draw(spliced(format_id), label="text")
    offered = corpus(format_id).offered(corpus(format_id).cases[0])
    none_offered = grammar(format_id).bind(tools=[]).parse(text, prompt="")
    none_wanted = grammar(format_id).bind(tools=offered, tool_choice="none").parse(text, prompt="")
    assert not none_offered.tool_calls
    assert none_offered == none_wanted


@every_format
@examples(30)
@given(st.data())
def test_strict_parse_never_reads_a_text_differently(format_id: str, data: st.DataObject) -> None:
    """Strict is the final parse with a veto: the same message, or ParseError."""
    chat = drawn_chat(data, format_id, WHOLE_CALLS)
    text = data.draw(spliced(format_id), label="text")
    try:
        strict = chat.parse(text, strict=True, prompt="")
    except ParseError:
        return
    assert strict == chat.parse(text, prompt="")
    assert strict.complete
    assert not strict.malformed


def is_subsequence(part: str, text: str) -> bool:
    """Whether `part` is `text` with some characters left out."""
    rest = iter(text)
    return all(character in rest for character in part)


LOOKED_AT = {
    # A delimiter that is blank itself: what is held back may be its beginning, and is no mere run of blanks.
    "blank": (
        (
            'response = text (call text)*\ntext = content:until(call / "\\n\\n")\n'
            'call = ws "<c>" ^ tool_call:(name:TOOL_NAME ";") ">"\nws = [ \\n]*'
        ),
        ["<[c\n\n> a", " <<\n\n/c>", "a\n <c>f;>b", "\n\n", "a\n\n<c>f;>\n"],
    ),
    # What a loop's end expected is nothing against what is expected further on.
    "loop": (
        (
            "response = (call / text (call text)*) !.\ntext = content:until(call)\n"
            'call = [ ]* "<c" ^ tool_call:("f:" name:TOOL_NAME "\\n" arguments:argument* "<e>" ("[/C]" / tolerate("")))\n'
            'argument = "<p=" key:[a-z]+ ">" value:(text:until("</p>")) "</p>"'
        ),
        [" <cf:f\n<p=a></p><e>[/C]1x y<cf:f\n<e>", "<cf:f\n<e>x<c", " <cf:f\n<p=a>v</p>Z<e>b"],
    ),
    # A stop string that begins as a delimiter does.
    "stop": (
        (
            '%stop "<c" "<|end|>"\nresponse = text (call text)*\ntext = content:until(call)\n'
            'call = [ \\n]* "<c>" ^ tool_call:(name:TOOL_NAME ";") ">"'
        ),
        ["Hi <c", "Hi <c>f;>", "a <|en", "a <|end|>", "a < b <c>f;> <|end|><c"],
    ),
}


@pytest.mark.parametrize("name, text", [(name, text) for name, (_, texts) in LOOKED_AT.items() for text in texts])
def test_reading_the_message_changes_nothing(name: str, text: str) -> None:
    made = Grammar(load_text(LOOKED_AT[name][0]))
    whole = replay(made, [text], "")
    for at in range(len(text) + 1):
        for chunks in ([text[:at], text[at:]], [text[:at], *text[at:]], [*text[:at], text[at:]]):
            for snapshots in (False, True):
                replayed = replay(made, chunks, "", snapshots=snapshots)
                assert repr(replayed.events) == repr(whole.events), chunks
                assert repr(replayed.final) == repr(whole.final), chunks
    assert repr(made.parse(text)) == repr(whole.final)


STRINGS = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "ab": {"type": "boolean"}, "b": {"type": "string"}},
}
FOO = [{"type": "function", "function": {"name": name, "parameters": STRINGS}} for name in ("foo", "f")]
SPLIT = {
    # The text may end, or be split, inside the literal that says whether a loop goes round once more.
    "begun": (
        """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* close) "</c>"
        argument = "<parameter=" key:PARAM_NAME ">" value:(text:until("</p>")) "</p>"
        close    = "<" ("/f>" / drop("x") ">")
        """,
        ["<c><f=x><parameter=k>v</p><parameter=l>w</p></f></c>", "<c><f=x><par", "<c><f=x><parameter=k>v</p><param"],
    ),
    # A chain that is read and then refused leaves no key behind.
    "key": (
        """
        response = text call*
        text     = content:until(call)
        argument = "<a" &[a-z] key:PARAM_NAME ">" value:PARAM_VALUE("</p>") "</p>"
        call     = "[C]" ^ tool_call:("{" name:TOOL_NAME " " arguments:argument+ ("</f>" / "<e" id:[0-9]+ ">")) ("</c>" / tolerate(""))
        """,
        ["[C]{foo <ad>1</p><aa>></p><e2></c>", "[C]{foo <aa>1</p><ab>true</p></f>"],
    ),
    # A value that is always JSON is no text, whatever its schema says.
    "json": (
        """
        response = text (call text)*
        text     = content:until("<c>")
        call     = "<c>" ^ tool_call:("<f=" name:TOOL_NAME ">" arguments:argument* "</f>") "</c>"
        argument = "<p=" key:PARAM_NAME ">" value:JSON_VALUE "</p>"
        """,
        ["x<c><f=f><p=b>12</p></f></c>", 'x<c><f=f><p=b>"1"</p></f></c>'],
    ),
    # An empty thought is read, and what is recovered begins behind it.
    "empty": (
        """
        response = think? text (call text)* !.
        text     = content:until(call)
        think    = "<t>" reasoning:until([\\n]* "</t>") "</t>" [\\n]*
        call     = "<c>" &"a" ^ tool_call:(name:TOOL_NAME ";")
        """,
        ["<t></t><c>fo", "<t></t>x", "<t>a</t><c>af;"],
    ),
    # Recovery waits for a closer that begins as the opener does.
    "closer": (
        """
        response = think? text (call text)* !.
        text     = content:until(call)
        think    = "<" ^ reasoning:until("</" / "<c>") ("</" / !. / &call)
        call     = "<c>" ^ tool_call:("zz" name:TOOL_NAME ";") "</f>"
        """,
        ["<a<c>zz</f>", "<a<c>zz<", "<a<c>zz</f>b"],
    ),
    # A rule that is sure of itself before it has read anything does not recover nothing for ever.
    "sure": (
        """
        response = x*
        x        = "<b>"? ^ "<a>" content:until("</a>") "</a>"
        """,
        ["<a>b</a>", "<b><a>b</a>", "<a>b", "x"],
    ),
}


@pytest.mark.parametrize("name, text", [(name, text) for name, (_, texts) in SPLIT.items() for text in texts])
@pytest.mark.parametrize("tool_calls", ["whole", "incremental"])
def test_small_grammars(name: str, text: str, tool_calls: str) -> None:
    made = Grammar(load_text(textwrap.dedent(SPLIT[name][0]).lstrip()))
    chat = made.bind(tools=FOO, unknown_tools="call", tool_calls=tool_calls)
    whole = replay(chat, [text], "")
    assert repr(chat.parse(text, prompt="")) == repr(whole.final)
    for chunks in ([*text], *([text[:at], text[at:]] for at in range(len(text)))):
        replayed = replay(chat, chunks, "", snapshots=True)
        assert repr(replayed.final) == repr(whole.final), chunks
        if tool_calls == "whole":
            assert repr(replayed.events) == repr(whole.events), chunks
        else:
            assert_argument_deltas_sum_up(replayed)


KEYS = '<minimax:tool_call>\n<invoke name="f">\n<parameter name={}>1</parameter>\n</invoke>\n</minimax:tool_call>'


@pytest.mark.parametrize("key", ['"b"', '"b" ', '"q"\'', '"b', '"b"x', "'b'", "b"])
@pytest.mark.parametrize("cut", [None, 58])
def test_where_a_key_ends(key: str, cut: int | None) -> None:
    text = KEYS.format(key)[:cut]
    chat = grammar("minimax-m2").bind(tools=FOO)
    whole = replay(chat, [text], "")
    assert repr(chat.parse(text, prompt="")) == repr(whole.final)
    for chunks in ([*text], *([text[:at], text[at:]] for at in range(len(text)))):
        assert repr(replay(chat, chunks, "").events) == repr(whole.events)
