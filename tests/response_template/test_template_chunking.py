"""A split of the text changes nothing but where chunks are cut; and the text means what the reference says."""

from __future__ import annotations

from typing import Any

import pytest
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
