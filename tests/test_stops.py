"""%stop: a run of stop strings at the very end of the input is left out, for every chunking, and nowhere else."""

from __future__ import annotations

import json
import re

import pytest
from chatpeg.grammar import Grammar
from chatpeg.loader import load_text
from chatpeg.stops import Stops, StopStrings
from hypothesis import example, given
from hypothesis import strategies as st
from replay import grammar, replay
from strategies import FORMATS, chunkings, corpus, examples

STRINGS = ("<|im_end|>", "</s>", "[e~[")
# Strings that end as they or others begin, that begin others, and that stand in others.
OVERLAPPING = [
    STRINGS,
    ("<", "<call"),
    ("\n\n",),
    ("abc", "b"),
    ("ab", "ba"),
    ("aa", "aaa"),
    ("aab", "ab", "b"),
    ("aba",),
]


@st.composite
def texts(draw: st.DrawFn) -> tuple[tuple[str, ...], str]:
    """Stop strings, and a text of them, of their beginnings and ends, and of others."""
    strings = draw(st.sampled_from(OVERLAPPING))
    pieces = [
        *strings,
        *(string[:2] for string in strings),
        *(string[1:] for string in strings),
        "a",
        "<",
        " ",
        "\n",
        "x",
    ]
    return strings, "".join(draw(st.lists(st.sampled_from(pieces), max_size=8)))


def without_stops(text: str, strings: tuple[str, ...] = STRINGS) -> str:
    """`text` less the longest run of stop strings at its end, by the definition."""
    return re.sub("(?:" + "|".join(map(re.escape, strings)) + ")*\\Z", "", text, count=1)


def passed_on(chunks: list[str], strings: tuple[str, ...] = STRINGS) -> tuple[list[str], str]:
    """What comes through for each chunk, and at the end."""
    stops = Stops(StopStrings(strings))
    return [stops.pass_on(chunk) for chunk in chunks], stops.rest()


def may_still_be_cut(text: str, strings: tuple[str, ...]) -> str:
    """The longest end of `text` that further text could turn into a run of stop strings at the end of the input."""
    beginnings = {string[:size] for string in strings for size in range(len(string))}
    run = "|".join(map(re.escape, strings))
    begun = "|".join(map(re.escape, beginnings))
    found = re.search(f"(?:{run})*(?:{begun})\\Z", text)
    return found[0] if found else ""


@examples(300)
@given(texts())
@example((STRINGS, "Hi<|im_end|><|im_end|>"))
@example((STRINGS, "<|im_end|>Hi"))
@example((STRINGS, "Hi<|im_end|><|im"))
@example((STRINGS, "Hi<|im_end|>\n"))
@example((STRINGS, "<|im_end|></s>[e~["))
@example((("abc", "b"), "xab"))
def test_the_run_at_the_end_is_cut_and_no_other(drawn: tuple[tuple[str, ...], str]) -> None:
    """Stop strings elsewhere are ordinary text, a part of one at the end too."""
    strings, text = drawn
    passed, rest = passed_on([text], strings)
    assert "".join(passed) + rest == without_stops(text, strings)


@examples(200)
@given(st.data())
def test_every_chunking_passes_on_the_same_text(data: st.DataObject) -> None:
    """What comes out depends on the text, not on its pieces."""
    strings, text = data.draw(texts())
    for pieces in (data.draw(chunkings(text)), list(text)):
        passed, rest = passed_on(pieces, strings)
        assert "".join(passed) + rest == without_stops(text, strings)


@examples(200)
@given(st.data())
def test_no_more_is_held_than_may_be_a_stop_string(data: st.DataObject) -> None:
    """After each chunk everything has come through but what could belong to a run at the end."""
    strings, text = data.draw(texts())
    for pieces in (data.draw(chunkings(text)), list(text)):
        stops, came, size = Stops(StopStrings(strings)), "", 0
        for chunk in pieces:
            came += stops.pass_on(chunk)
            size += len(chunk)
            assert stops.held == may_still_be_cut(text[:size], strings)
            assert came + stops.held == text[:size]


def test_what_looked_like_a_stop_string_leaves_nothing_behind() -> None:
    """However often text ends nearly as one would."""
    stops = Stops(StopStrings(("</s>",)))
    for _ in range(100):
        assert stops.pass_on("a < b") == "a < b"
        assert stops.pass_on("a <") + stops.pass_on(" b") == "a < b"
    assert len(stops._held) <= 1


def test_a_long_run_is_held_in_linear_time() -> None:
    """100,000 stop strings in a row are one run; each chunk costs the same."""
    stops = Stops(StopStrings(("</s>",)))
    assert all(stops.pass_on("</s>") == "" for _ in range(100_000))
    assert stops.rest() == ""


def test_a_long_run_that_is_none_comes_through() -> None:
    """When text follows the run, it was ordinary."""
    stops = Stops(StopStrings(("</s>",)))
    for _ in range(1000):
        stops.pass_on("</s>")
    assert stops.pass_on("x") == "</s>" * 1000 + "x"


def test_a_run_that_can_be_read_in_more_than_one_way_comes_through_in_linear_time() -> None:
    """`abab…` is one run from its first character and another from its second; each goes when it ends."""
    stops = Stops(StopStrings(("ab", "ba")))
    assert all(stops.pass_on("ab") == "" for _ in range(50_000))
    assert stops.pass_on("a") == ""
    assert stops.pass_on("a") == "a"
    assert stops.held == "ba" * 50_000 + "a"
    assert stops.pass_on("x") == "ba" * 50_000 + "ax"


@pytest.mark.parametrize("chunks", [["Hi[e~["], list("Hi[e~[")])
def test_a_stop_string_that_ends_as_it_begins_is_cut(chunks: list[str]) -> None:
    """Its last character may begin it again, but it is whole already."""
    passed, rest = passed_on(chunks, ("[e~[",))
    assert "".join(passed) + rest == "Hi"


def test_a_stop_string_that_begins_another_is_cut() -> None:
    """`<|end|>` is complete although `<|end|>x` could come."""
    for chunks in (["Hi<|end|>"], list("Hi<|end|>")):
        passed, rest = passed_on(chunks, ("<|end|>", "<|end|>x"))
        assert "".join(passed) + rest == "Hi"


def test_without_stop_strings_everything_passes() -> None:
    assert passed_on(["a", "<|im_end|>"], ()) == (["a", "<|im_end|>"], "")


def test_regions_end_before_the_stop_string() -> None:
    """The closing span at the end of the input lies before the stop strings, and the input text keeps them."""
    chat = Grammar(load_text('%stop "</s>"\nstart = content:until(!.)')).bind()
    parser = chat.parser()
    events = parser.feed("Hi</s></s>") + parser.finish()
    assert (2, 2) == (events[-1].start, events[-1].end)
    assert parser.message.content == "Hi"
    assert parser.input_text == "Hi</s></s>"


@examples(200)
@given(st.data())
def test_a_parse_leaves_the_run_at_the_end_out(data: st.DataObject) -> None:
    """For every chunking, though plain text is handed on without the machine."""
    strings, text = data.draw(texts())
    quoted = " ".join(json.dumps(string) for string in strings)
    chat = Grammar(load_text(f'%stop {quoted}\nstart = content:until("<c") ("<c" content:until(!.))?')).bind()
    whole = chat.parse(text)
    assert whole == chat.parse(without_stops(text, strings))
    for pieces in (data.draw(chunkings(text)), list(text)):
        assert replay(chat, pieces, "", snapshots=True).final == whole


def test_a_prompt_is_never_cut() -> None:
    """Stop strings are looked for in what the model wrote; a prompt's are its own."""
    chat = Grammar(load_text('%stop "</s>"\nstart = content:until(!.)')).bind()
    assert replay(chat, ["b"], "a</s>").final.content == "a</s>b"


@pytest.mark.parametrize("format_id", FORMATS)
def test_every_format_leaves_its_stop_strings_out(format_id: str) -> None:
    """A case followed by any of the format's stop strings, once or twice, is the same message for every split of it."""
    for case in corpus(format_id).cases[:6]:
        chat = grammar(format_id).bind(tools=corpus(format_id).offered(case), **case.options)
        plain = replay(chat, [case.input], case.prompt).final
        for stop in grammar(format_id).loaded.stop:
            if case.input.endswith(grammar(format_id).loaded.stop):
                continue
            for run in (stop, stop * 2):
                for cut in range(len(run) + 1):
                    chunks = [case.input + run[:cut], run[cut:]]
                    assert replay(chat, chunks, case.prompt).final == plain
