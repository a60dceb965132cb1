"""The resumable JSON scan against the json module: the same end or the same failure for every split."""

from __future__ import annotations

import json
import string

import pytest
from chatpeg.jsonscan import MAX_DEPTH, JsonScan, whole_value
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
WRITTEN = st.tuples(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"])).map(
    lambda drawn: json.dumps(drawn[0], ensure_ascii=drawn[1], indent=drawn[2])
)
NOISE = st.text(st.sampled_from('{}[],:"\\ \n\t0123456789.eE+-truefalsn\x00é/u'), max_size=12)
# What may follow a value and could not be more of a number.
TAILS = st.sampled_from(["", "<", " ", "</arg_value>", "]", "}", ",", "x", "\n", '"'])


@st.composite
def broken(draw: st.DrawFn) -> str:
    """JSON with a piece cut out or some noise put in, or noise alone."""
    text = draw(WRITTEN | NOISE)
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(NOISE) + text[draw(st.integers(start, len(text))) :]


def scanned(text: str, cuts: tuple[int, ...] = (), *, at_end: bool = True) -> tuple[bool, int, int]:
    """Whether the scan decided, its end and where it failed, when `text` arrives in pieces that end at `cuts`."""
    scan = JsonScan(0)
    for cut in cuts:
        if scan.run(text[:cut], at_end=False):
            return True, scan.end, scan.failed
    return scan.run(text, at_end=at_end), scan.end, scan.failed


def accepted(text: str) -> bool:
    """Whether the json module reads all of `text` as one value, NaN and its like refused."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    if text != text.strip(" \t\r\n"):
        return False
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


@examples(150)
@given(WRITTEN, TAILS)
def test_the_end_of_a_value_is_found_for_every_split(text: str, tail: str) -> None:
    """A value ends where json.dumps ended, whatever follows and wherever the text is cut."""
    everything = text + tail
    for cut in range(len(everything) + 1):
        assert scanned(everything, (cut,)) == (True, len(text), -1)
    assert scanned(everything, tuple(range(len(everything)))) == (True, len(text), -1)


@examples(300)
@given(broken())
@example("")
@example("-")
@example("1.")
@example("01")
@example("[01]")
@example("-01")
@example("1e")
@example('"\\u12')
@example('"\\ud800"')
@example("[1,]")
@example('{"a":1,}')
@example("nul")
@example("NaN")
@example("[Infinity]")
@example("-Infinity")
@example('"\n"')
@example('"a\x00"')
@example("[] []")
def test_a_text_is_a_value_when_the_json_module_says_so(text: str) -> None:
    """The whole of a text is scanned as one value exactly when json.loads takes it."""
    assert (scanned(text)[1] == len(text) and text != "") == accepted(text)


@examples(300)
@given(broken(), st.data())
def test_every_split_decides_the_same(text: str, data: st.DataObject) -> None:
    """End and failure are those of the whole text for any split, single characters included."""
    whole = scanned(text)
    assert whole[0]
    for cut in range(len(text) + 1):
        assert scanned(text, (cut,)) == whole
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=5).map(sorted), label="cuts")
    assert scanned(text, tuple(cuts)) == whole
    assert scanned(text, tuple(range(len(text) + 1))) == whole


@examples(300)
@given(broken())
def test_the_failure_is_at_the_first_character_that_cannot_go_on(text: str) -> None:
    """What lies before the offending character is undecided, so nothing failed earlier and nothing failed late."""
    _, _, failed = scanned(text)
    if failed >= 0:
        assert scanned(text[:failed], at_end=False) == (False, -1, -1)
    if 0 <= failed < len(text):
        assert scanned(text[: failed + 1], at_end=False) == (True, -1, failed)


@examples(300)
@given(broken(), TAILS)
def test_the_short_cut_for_a_whole_value_agrees(text: str, tail: str) -> None:
    """`whole_value` gives the end that the scan gives, or says nothing."""
    end = whole_value(text + tail, 0) if text + tail else -1
    assert end in {-1, scanned(text + tail)[1]}


@examples(100)
@given(WRITTEN.filter(lambda text: text[0] in '{["' and text.count("[") + text.count("{") < MAX_DEPTH), TAILS)
def test_the_short_cut_takes_every_whole_container_and_string(text: str, tail: str) -> None:
    """An object, an array or a string that is all there is found by one C-level call."""
    assert whole_value(text + tail, 0) == len(text)


@examples(60)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), WRITTEN)
def test_a_scan_may_begin_anywhere(before: str, text: str) -> None:
    """Positions count in the text given, not from where the value begins."""
    scan = JsonScan(len(before))
    assert scan.run(before + text + "<", at_end=True)
    assert scan.end == len(before) + len(text)


@pytest.mark.parametrize("opener, closer", [("[", "]"), ('{"a":', "}")])
def test_nesting_is_bounded_by_our_own_constant(opener: str, closer: str) -> None:
    """MAX_DEPTH containers are a value, one more fails at its bracket; 20,000 are no crash."""
    inside = "1"
    deepest = opener * MAX_DEPTH + inside + closer * MAX_DEPTH
    assert scanned(deepest) == (True, len(deepest), -1)
    assert whole_value(deepest, 0) == len(deepest)
    for depth in (MAX_DEPTH + 1, 20_000):
        text = opener * depth + inside + closer * depth
        assert scanned(text) == (True, -1, len(opener) * MAX_DEPTH)
        assert whole_value(text, 0) == -1


@pytest.mark.parametrize(
    "text",
    ["9" * 50_000, "-0." + "1" * 50_000, "1e" + "9" * 50_000, '"' + "\\u0041" * 20_000 + '"', '"' + "a" * 10**6 + '"'],
)
def test_long_tokens_are_read(text: str) -> None:
    """Numbers keep any length, strings too; nothing is converted."""
    assert scanned(text) == (True, len(text), -1)


def test_no_character_is_scanned_twice() -> None:
    """A string that arrives a character at a time goes on from where the scan was, in time that grows with its length."""
    scan = JsonScan(0)
    text = '{"k": "' + string.ascii_letters * 50
    for size in range(1, len(text) + 1):
        assert not scan.run(text[:size], at_end=False)
        assert scan.pos == size
