"""Region events: spans, captures, malformed regions, prompts and independence, for every shipped format."""

from __future__ import annotations

from typing import Any

import pytest
from chatpeg import DecodeError, RegionChunk, RegionClose, RegionMalformed, RegionOpen
from replay import Replay, grammar, replay
from strategies import FORMATS, CorpusCase, corpus, corpus_cases
from test_unparsed_tail import SECTIONED, TOOLS, WIRES

GOOD_CASES = [case for case in corpus_cases() if not case.case.expected.get("malformed")]


def run(format_id: str, text: str, prompt: str | None = "", tools: Any = TOOLS, **options: Any) -> Replay:
    """The parse of `text`; whole event records are equal for every two chunks and for single characters."""
    chat = grammar(format_id).bind(tools=tools, **options)
    whole = replay(chat, [text], prompt)
    for cut in range(1, len(text)):
        assert replay(chat, [text[:cut], text[cut:]], prompt).events == whole.events
    assert replay(chat, text, prompt).events == whole.events
    return whole


def case_run(case: CorpusCase, text: str | None = None) -> Replay:
    chat = grammar(case.format).bind(tools=case.tools, **case.case.options)
    return replay(chat, [case.case.input if text is None else text], case.case.prompt)


# -- spans and captures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_spans_of_a_call_are_its_delimiters(format_id: str) -> None:
    """Content ends where the call's opener begins; the call's opening span ends before its name, its closing span at its end."""
    wire = WIRES[format_id]
    seen = run(format_id, "abc" + wire.whole())
    text = seen.input_text
    opened, closed = (event for event in seen.events if event.label == "tool_call")
    begins = text.index(wire.one().strip())
    assert opened.start in {begins, text.index(wire.section[0] or wire.one(), 3)}
    assert opened.start <= opened.end <= text.index("f", opened.end) < closed.start <= closed.end <= len(text)
    assert text[closed.start : closed.end].strip() == "" or wire.one().rstrip().endswith(
        text[closed.start : closed.end].strip()
    )
    content = next(event for event in seen.events if isinstance(event, RegionClose) and event.label == "content")
    assert (content.value, content.start) == ("abc", 3)


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_a_call_opens_when_its_name_has_closed(format_id: str) -> None:
    """Its captures are the labels up to then; nothing of it is seen before, nothing but its close after."""
    wire = WIRES[format_id]
    text = wire.whole()
    parser = grammar(format_id).bind(tools=TOOLS).parser(prompt="")
    events = [event for character in text for event in parser.feed(character)] + parser.finish()
    kinds = [type(event) for event in events if event.label == "tool_call"]
    assert kinds == [RegionOpen, RegionClose]
    opened = next(event for event in events if isinstance(event, RegionOpen))
    assert opened.captures["name"] == "f"
    assert set(opened.captures) <= {"name", "id"}


@pytest.mark.parametrize("format_id", FORMATS)
def test_text_regions_open_with_their_first_character(format_id: str) -> None:
    """An open is followed by a chunk of its region, unless the prompt wrote the first characters; its captures are empty."""
    for case in corpus(format_id).cases:
        chat = grammar(format_id).bind(tools=corpus(format_id).offered(case), **case.options)
        seen = replay(chat, case.input, "")
        for event, after in zip(seen.events, seen.events[1:], strict=False):
            if isinstance(event, RegionOpen) and event.label != "tool_call":
                assert isinstance(after, RegionChunk)
                assert after.label == event.label
                assert after.final
                assert after.text
                assert event.captures == {}


@pytest.mark.parametrize("case", GOOD_CASES, ids=str)
def test_values_are_the_text_between_the_spans(case: CorpusCase) -> None:
    """A text region's value is the input between its delimiters; at the end of the input the closing span is empty."""
    seen = case_run(case)
    opened: dict[str, RegionOpen] = {}
    for event in seen.events:
        if isinstance(event, RegionOpen):
            opened[event.label] = event
        elif isinstance(event, RegionClose) and event.label != "tool_call":
            assert event.value == seen.input_text[opened.pop(event.label).end : event.start]


# -- malformed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_id", SECTIONED)
def test_a_broken_call_between_two_good_ones(format_id: str) -> None:
    """In one section: both good calls come out, the broken one is malformed with its error, in place."""
    wire = WIRES[format_id]
    broken = wire.one("bad").replace('"v"', "tru").replace("</parameter>", "").replace(f"</｜DSML｜{'parameter'}>", "")
    if format_id.startswith("deepseek-v4.1"):
        broken = broken.replace("</｜DSML｜ parameter>", "")
    text = wire.section[0] + wire.one() + broken + wire.one("other") + wire.section[1] + "end"
    seen = run(format_id, text)
    refused = [event for event in seen.events if isinstance(event, RegionMalformed)]
    assert [event.label for event in refused] == ["tool_call"]
    assert [event.error for event in refused] == [entry.error for entry in seen.final.malformed]
    assert [call.name for call in seen.final.tool_calls][:1] == ["f"]
    assert seen.final.malformed[0].text.startswith(broken[:10])


@pytest.mark.parametrize("format_id", SECTIONED)
def test_an_unoffered_call_between_two_good_ones(format_id: str) -> None:
    """The error is a DecodeError that says which tool; both neighbours are calls."""
    wire = WIRES[format_id]
    seen = run(format_id, wire.section[0] + wire.one() + wire.one("bad") + wire.one("other") + wire.section[1])
    assert [call.name for call in seen.final.tool_calls] == ["f", "other"]
    (refused,) = [event for event in seen.events if isinstance(event, RegionMalformed)]
    assert isinstance(refused.error, DecodeError)
    assert "'bad'" in refused.error.message
    order = [
        event.value.name if isinstance(event, RegionClose) and event.label == "tool_call" else type(event).__name__
        for event in seen.events
        if event.label == "tool_call" and not isinstance(event, RegionOpen)
    ]
    assert order == ["f", "RegionMalformed", "other"]


@pytest.mark.parametrize("depth", [300, 20_000])
@pytest.mark.parametrize("format_id", sorted(WIRES))
@pytest.mark.parametrize("opener, closer", [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_a_malformed_region_or_text(format_id: str, opener: str, closer: str, depth: int) -> None:
    """As a value, as arguments, closed or not: never an exception, and what was a call before it still is one."""
    wire = WIRES[format_id]
    deep = opener * depth + closer * depth
    for nested in (deep, opener * depth):
        broken = wire.one().replace('{"k": "v"}', nested).replace("v", nested)
        text = wire.whole() + wire.section[0] + broken + wire.section[1]
        message = grammar(format_id).bind(tools=TOOLS).parse(text, prompt="")
        assert message.tool_calls[0].args == {"k": "v"}
        for call in message.tool_calls:
            assert isinstance(call.args, dict)


# -- prompt ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_id", FORMATS)
def test_prompt_bytes_are_never_emitted_again(format_id: str) -> None:
    """Every chunk's text is the model's: chunks and the prompt's part of the regions add up to the message."""
    for case in corpus(format_id).cases:
        chat = grammar(format_id).bind(tools=corpus(format_id).offered(case), **case.options)
        for cut in range(0, len(case.input) + 1, 5):
            parser = chat.parser(prompt=case.input[:cut])
            assert not [event for event in parser.initial_events if isinstance(event, RegionChunk)]
            size = 0
            for event in parser.feed(case.input[cut:]) + parser.finish():
                size += len(event.text) if isinstance(event, RegionChunk) else 0
            assert size <= len(case.input) - cut


@pytest.mark.parametrize("case", [case for case in GOOD_CASES if len(case.case.input) < 400], ids=str)
def test_a_prompt_is_the_beginning_of_the_text(case: CorpusCase) -> None:
    """The events of `parser(prompt=p)` fed t equal those of p + t with an empty prompt; chunks lack the prompt's part."""
    loaded = grammar(case.format).loaded
    text = case.case.input
    if any(anchor in text for anchor in loaded.prompt) or any(stop in text for stop in loaded.stop):
        return
    chat = grammar(case.format).bind(tools=case.tools, **case.case.options)
    whole = replay(chat, [text], "")
    if whole.final.malformed:
        return
    for cut in range(0, len(text), 3):
        split = replay(chat, [text[cut:]], text[:cut])
        assert split.final == whole.final
        assert unchunked(split) == unchunked(whole)


def unchunked(seen: Replay) -> list[Any]:
    return [event for event in seen.events if not isinstance(event, RegionChunk)]


# -- independence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_what_a_consumer_does_to_an_event_changes_nothing(format_id: str) -> None:
    """Captures of calls are dicts of their own, and so is each `.args`."""
    chat = grammar(format_id).bind(tools=TOOLS)
    text = WIRES[format_id].whole()
    first = replay(chat, [text], "")
    for event in first.events:
        if event.label == "tool_call" and isinstance(event, RegionOpen):
            event.captures["name"] = "changed"
        elif event.label == "tool_call":
            event.value.args["k"] = "changed"
    again = replay(chat, [text], "")
    assert again.final.tool_calls[0].args == {"k": "v"}
    assert next(event for event in again.events if event.label == "tool_call").captures["name"] == "f"


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_events_are_immutable_records(format_id: str) -> None:
    for event in replay(grammar(format_id).bind(tools=TOOLS), ["abc" + WIRES[format_id].whole()], "").events:
        with pytest.raises(AttributeError):
            event.label = "changed"


@pytest.mark.parametrize("format_id", ["hermes", "kimi-k2"])
def test_captures_of_text_regions_are_not_shared(format_id: str) -> None:
    parsers = [grammar(format_id).bind(tools=TOOLS).parser(prompt="") for _ in range(2)]
    first, second = (parser.feed("abc def")[0] for parser in parsers)
    try:
        first.captures["x"] = "y"
    except TypeError:  # read-only will do
        return
    try:
        assert second.captures == {}
    finally:
        del first.captures["x"]


@pytest.mark.parametrize("kind", ["whole", "incremental"])
@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "f"}}]])
def test_a_call_that_is_none_before_its_name_never_opens(tools: Any, kind: str) -> None:
    """Arguments that are refused stand before the name: there is nothing to announce."""
    text = '<tool_call>\n{"arguments": {"a": 1, "a": 2}, "name": "f"}\n</tool_call>'
    chat = grammar("hermes").bind(tools=tools, tool_calls=kind, unknown_tools="call")
    for at in range(len(text)):
        seen = replay(chat, [text[:at], text[at:]], "", snapshots=True)
        assert [(type(event), event.label) for event in seen.events if not isinstance(event, RegionChunk)] == [
            (RegionOpen, "content"),
            (RegionClose, "content"),
        ]
        assert seen.final.content == text
