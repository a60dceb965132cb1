"""until(d) against its definition, by brute force: where it stops, and what it holds back, for every split."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from chatpeg.grammar import Grammar
from chatpeg.loader import load_text
from chatpeg.search import Opening as Prepared
from chatpeg.search import Search
from hypothesis import assume, example, given
from hypothesis import strategies as st
from replay import merged
from strategies import examples

LITERALS = ("<", "</a>", "</b>", "<a", "a>", "b", "/")
ALPHABET = "<>/ab \n"


@dataclass(frozen=True)
class Opening:
    """One alternative of a delimiter: a run of at most `most` (None: any number) of `blanks`, then `literal`."""

    blanks: str
    most: int | None
    literal: str
    unless: str = ""

    def written(self) -> str:
        """The alternative in the notation."""
        repeat = {None: "*", 0: "", 1: "?"}.get(self.most, f"{{0,{self.most}}}")
        run = f"[{self.blanks}]{repeat} ".replace("\n", "\\n") if self.most != 0 else ""
        return run + f'"{self.literal}"' + (f' !"{self.unless}"' if self.unless else "")

    def matches(self, text: str, start: int) -> bool:
        """Whether the alternative matches at `start`; repeats are greedy."""
        end = self.after_blanks(text, start)
        found = text.startswith(self.literal, end)
        return found and not (self.unless and text.startswith(self.unless, end + len(self.literal)))

    def may_match(self, text: str, start: int) -> bool:
        """Whether some continuation of `text` makes the alternative match at `start`."""
        end = self.after_blanks(text, start)
        rest = text[end:]
        if len(rest) < len(self.literal):
            return self.literal.startswith(rest)
        after = rest[len(self.literal) :]
        return rest.startswith(self.literal) and not (self.unless and after.startswith(self.unless))

    def after_blanks(self, text: str, start: int) -> int:
        end = start
        while end < len(text) and text[end] in self.blanks and (self.most is None or end - start < self.most):
            end += 1
        return end


OPENINGS = st.builds(
    Opening,
    blanks=st.sampled_from([" ", "\n", " \n"]),
    most=st.sampled_from([0, 0, 1, 2, None]),
    literal=st.sampled_from(LITERALS),
    unless=st.sampled_from(["", "", "", "a", ">"]),
)
DELIMITERS = st.lists(OPENINGS, min_size=1, max_size=3, unique=True)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=12) | st.lists(
    st.sampled_from([*LITERALS, "\n", " ", "\n\n"]), max_size=7
).map("".join)


def loaded(openings: list[Opening]) -> Grammar:
    """A grammar whose content ends at the delimiter and that drops the rest."""
    delimiter = " / ".join(opening.written() for opening in openings)
    return Grammar(load_text(f"start = content:until({delimiter}) drop(until(!.))"))


def first_match(openings: list[Opening], text: str) -> int:
    """Where the delimiter first matches, or the end: the definition."""
    places = range(len(text))
    return next((at for at in places if any(one.matches(text, at) for one in openings)), len(text))


def first_possible(openings: list[Opening], text: str) -> int:
    """The first place where the delimiter matches or, with more text, may match; the end if there is none."""
    places = range(len(text))
    return next((at for at in places if any(one.may_match(text, at) for one in openings)), len(text))


def first_untried(search: Search, text: str, low: int, fresh: bool) -> int:
    """`Search.candidate` by its definition: a run of blanks that could begin before `low` has been tried there."""
    hit = next((at for at in range(low, len(text)) if text.startswith(search.literals, at)), -1)
    if hit < 0:
        return -1
    found = {hit}
    for blanks, most in search.runs:
        begins = [at for at in range(hit + 1) if set(text[at:hit]) <= blanks and (most is None or hit - at <= most)]
        if fresh or low == 0 or low - 1 not in begins:
            found.update(at for at in begins if at >= low)
    return min(found)


def content(grammar: Grammar, chunks: list[str]) -> str:
    """The content of `chunks`; the events agree with it."""
    parser = grammar.parser(prompt="")
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    events += parser.finish()
    kept = parser.message.content or ""
    assert "".join(event.text for event in merged(events) if hasattr(event, "text")) == kept
    return kept


@examples(400)
@given(DELIMITERS, TEXTS)
@example([Opening("\n", None, "</a>")], "x\n\n</a>")
@example([Opening("\n", 1, "</a>")], "x\n\n</a>")
@example([Opening("\n", None, "</a>", "a")], "\n\n</a>a\n</a>")
@example([Opening("\n", None, "<"), Opening("\n", 1, "b")], "\n\nb")
def test_it_stops_at_the_first_match(openings: list[Opening], text: str) -> None:
    """The whole text at once."""
    assert content(loaded(openings), [text]) == text[: first_match(openings, text)]


RUNS = pytest.mark.parametrize(
    "runs",
    [
        [(" ", None)],
        [(" ", 1)],
        [(" \n", 2)],
        [(" ", 3)],
        [(" ", None), ("\n", 1)],
        [(" \n", 2), (" ", None)],
        [(" ", 1), (" ", None)],
    ],
)


@RUNS
def test_a_candidate_takes_no_more_blanks_than_the_delimiter(runs: list[tuple[str, int | None]]) -> None:
    """Each run of blanks before a literal on its own: its characters, its bound, and whether it has been tried."""
    search = Search.of([Prepared(frozenset(blanks), most, "<") for blanks, most in runs])
    for text in map("".join, product(" \n<x", repeat=5)):
        for low in range(len(text) + 1):
            for fresh in (True, False):
                expected = first_untried(search, text, low, fresh)
                assert search.candidate(text, low, fresh, at_end=True) == expected, (text, low, fresh)


@RUNS
def test_no_more_blanks_are_held_than_may_belong_to_the_delimiter(runs: list[tuple[str, int | None]]) -> None:
    """Nor any before the place from which it is looked for."""
    search = Search.of([Prepared(frozenset(blanks), most, "<a") for blanks, most in runs])
    held = frozenset().union(*(blanks for blanks, _ in runs))
    most = None if any(most is None for _, most in runs) else max(most or 0 for _, most in runs)
    for text in map("".join, product(" \n<x", repeat=5)):
        for low in range(len(text) + 1):
            begun = len(text) - text.endswith("<", low)
            begins = [at for at in range(low, begun + 1) if set(text[at:begun]) <= held]
            begin = min(at for at in begins if most is None or begun - at <= most)
            assert search.hold(text, low, low) == (begin, begun, (begin, begun)), (text, low)


@pytest.mark.parametrize("blanks, kept", [("", 3), (" ?", 2), (" {0,2}", 1), (" *", 0)])
@pytest.mark.parametrize("size", [1, 100])
def test_a_name_keeps_the_blanks_that_its_delimiter_does_not_take(blanks: str, kept: int, size: int) -> None:
    """Nothing verifies the end of a name: it is where the search says."""
    grammar = Grammar(
        load_text(
            "%value raw\n"
            'start = content:until("<call>") "<call>" ^ tool_call:(name:TOOL_NAME ":" arguments:pair) ";"\n'
            f'pair = key:PARAM_NAME {blanks.replace(" ", "[ ]")} "=" value:PARAM_VALUE(";")'
        )
    )
    parser = grammar.parser(prompt="")
    text = "<call>f:a   =1;"
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish()
    assert [call.args for call in parser.message.tool_calls] == [{"a" + " " * kept: 1}]


def overlapping(openings: list[Opening]) -> bool:
    """Whether a literal lies inside another and ends before it: the known fault of `test_a_literal_inside_another`."""
    literals = [opening.literal for opening in openings]
    return any(one in other[:-1] for one in literals for other in literals if one != other)


@examples(400)
@given(DELIMITERS, TEXTS)
def test_it_stops_there_for_every_split(openings: list[Opening], text: str) -> None:
    """Two chunks cut anywhere, and single characters."""
    assume(not overlapping(openings))
    expected = text[: first_match(openings, text)]
    grammar = loaded(openings)
    assert content(grammar, list(text)) == expected
    for cut in range(len(text) + 1):
        assert content(grammar, [text[:cut], text[cut:]]) == expected


@pytest.mark.parametrize("outer, inner", [("<a>", "a"), ("</a>", "/"), ("</a>", "a"), ("<|x|>", "|x")])
def test_a_literal_inside_another(outer: str, inner: str) -> None:
    """The outer literal begins earlier, so it is the match, though the inner one is complete before it."""
    grammar = loaded([Opening("", 0, outer), Opening("", 0, inner)])
    assert content(grammar, list("x" + outer)) == "x"


@examples(300)
@given(OPENINGS, TEXTS)
def test_no_more_is_held_back_than_the_delimiter_may_take(opening: Opening, text: str) -> None:
    """After every character, all text before the first place where the delimiter may still match has come out."""
    parser = loaded([opening]).parser(prompt="")
    for size in range(1, len(text) + 1):
        parser.feed(text[size - 1])
        assert (parser.message.content or "") == text[: first_possible([opening], text[:size])]


@examples(300)
@given(DELIMITERS, TEXTS)
def test_what_may_be_the_delimiter_never_comes_out(openings: list[Opening], text: str) -> None:
    """P2: nothing is released that the delimiter may still take."""
    assume(not overlapping(openings))
    parser = loaded(openings).parser(prompt="")
    for size in range(1, len(text) + 1):
        parser.feed(text[size - 1])
        assert len(parser.message.content or "") <= first_possible(openings, text[:size])


@pytest.mark.parametrize("blanks", ["\n", " \n"])
def test_a_long_run_of_blanks_is_read_once(blanks: str) -> None:
    """100,000 blanks, a character a chunk: one step each, all held, and one text when they turn out to be content."""
    grammar = loaded([Opening(" \n", None, "</a>")])
    parser = grammar.parser(prompt="")
    run = (blanks * 100_000)[:100_000]
    for character in "x" + run:
        parser.feed(character)
    assert parser.message.content == "x"
    assert parser.steps < 3 * len(run)
    parser.feed("y")
    assert parser.message.content == "x" + run + "y"


def test_many_near_misses_are_linear() -> None:
    """Text made of the beginnings of a delimiter costs a constant number of steps per character."""
    text = "\n\n</a>a" * 5_000
    grammar = loaded([Opening("\n", None, "</a>", "a")])
    for chunks in ([text], list(text)):
        parser = grammar.parser(prompt="")
        for chunk in chunks:
            parser.feed(chunk)
        parser.finish()
        assert parser.message.content == text
        assert parser.steps < 12 * len(text)
