"""A split of the text changes nothing but where chunks are cut; and the text means what the reference says."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
import regex
from chatpeg.response_template.leads import lead_of
from chatpeg.response_template.patterns import Node, Unreadable, plain, read_pattern
from chatpeg.response_template.positions import BLANKS, Positions
from hypothesis import given, settings
from hypothesis import strategies as st
from template_events import parsed
from template_reference import reference
from template_samples import LITERALS, PATTERNS, REPLIES, regexes, splits, templates, texts


def regions(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The regions of a stream of events."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "region_open":
            found.append({"field": event["field"], "open": (event["start"], event["end"]), "text": ""})
        elif event["type"] == "region_chunk":
            found[-1]["text"] += event["text"]
        else:
            found[-1]["close"] = (event["start"], event["end"])
    return found


@given(st.data())
@settings(max_examples=200)
def test_every_split_gives_the_same_events(data: st.DataObject) -> None:
    template, text = data.draw(templates()), data.draw(texts)
    whole = parsed(template, [text])
    assert parsed(template, data.draw(splits(text))) == whole
    assert parsed(template, list(text)) == whole
    assert regions(whole[1]) == reference(template, text)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=5_000)
def test_every_split_gives_the_same_events_thoroughly(data: st.DataObject) -> None:
    template, text = data.draw(templates()), data.draw(texts)
    whole = parsed(template, [text])
    assert parsed(template, data.draw(splits(text))) == whole
    assert parsed(template, list(text)) == whole
    assert regions(whole[1]) == reference(template, text)


@pytest.mark.parametrize("template, text", REPLIES)
def test_replies_at_every_place_and_character_by_character(template: dict[str, Any], text: str) -> None:
    whole = parsed(template, [text])
    assert regions(whole[1]) == reference(template, text)
    for cut in range(len(text) + 1):
        assert parsed(template, [text[:cut], text[cut:]]) == whole
    assert parsed(template, list(text)) == whole


@given(st.data())
def test_a_prefix_is_fed_as_text_is(data: st.DataObject) -> None:
    template, text = data.draw(templates()), data.draw(texts)
    cut = data.draw(st.integers(0, len(text)))
    message, events = parsed(template, [text[cut:]], f"of old<bot>{text[:cut]}")
    whole_message, whole = parsed(template, [text])
    assert message == whole_message
    without_chunks = [[event for event in one if event["type"] != "region_chunk"] for one in (events, whole)]
    assert without_chunks[0] == without_chunks[1]


@pytest.mark.parametrize("delimiter", [*LITERALS, *PATTERNS])
@pytest.mark.parametrize("text", ["xaba<t>\n\nb", "ababab>bc>", "CALL<a CALL x>", "x\n", "<t>\n", "aab <t> ab"])
def test_every_delimiter_alone(delimiter: str, text: str) -> None:
    key = "open" if delimiter in LITERALS else "open_pattern"
    template = {"start_anchor": "<bot>", "fields": {"a": {key: delimiter, "close": "b"}, "m": {}}}
    whole = parsed(template, [text])
    assert regions(whole[1]) == reference(template, text)
    for cut in range(len(text) + 1):
        assert parsed(template, [text[:cut], text[cut:]]) == whole, cut
    assert parsed(template, list(text)) == whole


@pytest.mark.parametrize("examples", [150, pytest.param(5_000, marks=pytest.mark.slow)])
def test_any_two_regular_expressions(examples: int) -> None:
    @given(regexes, regexes, texts, st.booleans())
    @settings(max_examples=examples)
    def check(opener: str, closer: str, text: str, implicit: bool) -> None:
        fields: dict[str, Any] = {"a": {"open_pattern": opener, "close_pattern": closer}}
        fields["m"] = {"close_pattern": closer} if implicit else {}
        template = {"start_anchor": "<bot>", "fields": fields}
        whole = parsed(template, [text])
        assert regions(whole[1]) == reference(template, text)
        assert parsed(template, list(text)) == whole
        for cut in range(1, len(text), 3):
            assert parsed(template, [text[:cut], text[cut:]]) == whole

    check()


@pytest.mark.parametrize(
    "fields, text",
    [
        # What a closer looks behind at was read where nothing looked behind.
        ({"a": {"open": "b", "close_pattern": r"(?<=[^<]\s)"}}, "[1, 2]\nxb xb\n b"),
        ({"a": {"open": "<", "close_pattern": "(?<!(?:.+){2})"}, "m": {}}, "CALLaba<ab>b</t>[1, 2]<taba"),
        # Where the text ends, the regex module takes a repeat of two characters for decided.
        ({"a": {"open_pattern": "(?:ab)+", "close": "b"}, "m": {}}, "ababab>bc>"),
        # … and a lazy repeat before a look-behind.
        (
            {"r": {"open": ["CALL", "<"], "close_pattern": r"\w+?(?<=.b).(?:.)+?"}, "q": {"open_pattern": "(?:ab)+"}},
            "<t<t>\n\n<tCAabc1b1CA",
        ),
        # A delimiter that has ended may go on.
        ({"a": {"open": "<", "close_pattern": "[^a<]+>"}, "b": {"open": "<t>"}}, "</t>\n<"),
    ],
)
def test_cases_that_were_found(fields: dict[str, Any], text: str) -> None:
    template = {"start_anchor": "<bot>", "fields": fields}
    whole = parsed(template, [text])
    assert regions(whole[1]) == reference(template, text)
    assert parsed(template, list(text)) == whole
    for cut in range(len(text)):
        assert parsed(template, [text[:cut], text[cut:]]) == whole


def test_the_blanks_are_those_of_the_pattern() -> None:
    assert BLANKS == set(regex.findall(r"\s", "".join(map(chr, range(sys.maxunicode + 1)))))


def places(sources: list[str], only: Callable[[Node], bool] = lambda _: True) -> Positions:
    """Of the patterns that are read here, and of these ``only`` some."""
    positions = Positions()
    for source in sources:
        with contextlib.suppress(Unreadable):
            if only(node := read_pattern(source)):
                positions.add(node)
    return positions


@given(st.lists(regexes, min_size=1, max_size=3), texts)
def test_first_characters_are_those_that_start_a_delimiter(sources: list[str], text: str) -> None:
    positions = places(sources)
    starts, firsts = positions.starts(), positions.first_characters()
    if starts is not None and firsts is not None:
        assert firsts.isdisjoint(text) == (starts.search(text) is None)
        assert firsts or starts.search("a") is None


@given(st.lists(regexes, min_size=1, max_size=3), texts)
def test_what_is_open_is_the_same_from_both_ends(sources: list[str], text: str) -> None:
    """Going back from what was followed finds no earlier and no later place than going back from what is not known."""
    positions = places(sources, only=plain)
    state = positions.start()
    for character in text:
        state = state[character]
        if state.ended:
            return
    if state.bits:
        assert positions.alive(text, 0, state.bits) == positions.alive(text, 0)
    else:
        assert positions.alive(text, 0) == len(text)


RUNS = (r"\s*", r"[ \n]*", r"[^<]*", r"[ab]*")
RESTS = ("<a>", "<a>|<b>", "(?:<ab>|<ac>)", r"<\s*a>", "<<a", "<a|a", r"\n<", "b?<a", r"(?P<n><[^>]*>)")


@given(st.sampled_from(RUNS), st.sampled_from(RESTS), st.text("ab <>\nc", max_size=14), st.integers(0, 4))
@settings(max_examples=500)
def test_a_pattern_with_a_lead_is_found_where_it_is(run: str, rest: str, text: str, low: int) -> None:
    pattern = regex.compile(run + (rest if "|" not in rest else f"(?:{rest})"), regex.DOTALL)
    lead = lead_of(read_pattern(pattern.pattern))
    if lead is None:
        return
    found, expected = lead.search(pattern, text, low), pattern.search(text, low)
    assert (found and found.span()) == (expected and expected.span())


@pytest.mark.parametrize("run", RUNS[:2])
@pytest.mark.parametrize("rest, text", [("<a>", "<a>"), ("(?:<ab>|<ac>)", "<a"), ("(?P<n><[^>]*>)", "<")])
def test_patterns_that_have_a_lead(run: str, rest: str, text: str) -> None:
    lead = lead_of(read_pattern(run + rest))
    assert lead is not None
    assert lead.text == text
