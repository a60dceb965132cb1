"""%stop: a run of stop strings at the very end of the input is left out, for every chunking, and nowhere else."""

from __future__ import annotations

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
PIECES = st.lists(st.sampled_from([*STRINGS, "<|im", "<", "</", "[", "a", " ", "\n", "_end|>", "s>"]), max_size=8)
TEXTS = PIECES.map("".join)


def without_stops(text: str, strings: tuple[str, ...] = STRINGS) -> str:
    """`text` less the longest run of stop strings at its end, by the definition."""
    return re.sub("(?:" + "|".join(map(re.escape, strings)) + ")*\\Z", "", text, count=1)


def passed_on(chunks: list[str], strings: tuple[str, ...] = STRINGS) -> tuple[list[str], str]:
    """What comes through for each chunk, and at the end."""
    stops = Stops(StopStrings(strings))
    return [stops.pass_on(chunk) for chunk in chunks], stops.rest()


def may_still_be_cut(text: str) -> str:
    """The end of `text` that further text could turn into a run of stop strings at the end of the input."""
    for start in range(len(text)):
        rest = text[start:]
        while string := next((string for string in STRINGS if rest.startswith(string)), ""):
            rest = rest[len(string) :]
        if any(string.startswith(rest) for string in STRINGS):
            return text[start:]
    return ""


@examples(300)
@given(TEXTS)
@example("Hi<|im_end|><|im_end|>")
@example("<|im_end|>Hi")
@example("Hi<|im_end|><|im")
@example("Hi<|im_end|>\n")
@example("<|im_end|></s>[e~[")
def test_the_run_at_the_end_is_cut_and_no_other(text: str) -> None:
    """Stop strings elsewhere are ordinary text, a part of one at the end too."""
    passed, rest = passed_on([text])
    assert "".join(passed) + rest == without_stops(text)


@examples(200)
@given(TEXTS.flatmap(lambda text: chunkings(text).map(lambda chunks: (text, chunks))))
def test_every_chunking_passes_on_the_same_text(drawn: tuple[str, list[str]]) -> None:
    """What comes out depends on the text, not on its pieces."""
    text, chunks = drawn
    for pieces in (chunks, list(text)):
        passed, rest = passed_on(pieces)
        assert "".join(passed) + rest == without_stops(text)


@examples(200)
@given(TEXTS)
def test_no_more_is_held_than_may_be_a_stop_string(text: str) -> None:
    """After each character everything has come through but what could belong to a run at the end."""
    stops, came = Stops(StopStrings(STRINGS)), ""
    for size, character in enumerate(text, 1):
        came += stops.pass_on(character)
        assert stops.held == may_still_be_cut(text[:size])
        assert came + stops.held == text[:size]


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


@pytest.mark.xfail(strict=True, reason="stops.py: the beginning of one stop string hides another that it ends with")
def test_a_stop_string_inside_the_beginning_of_another_is_cut() -> None:
    """`ab` begins `abc`, and its end is the stop string `b`."""
    passed, rest = passed_on(["xab"], ("abc", "b"))
    assert "".join(passed) + rest == "xa"


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
