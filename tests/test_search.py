"""until(d) against its definition, by brute force: where it stops, and what it holds back, for every split."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from chatpeg.grammar import Grammar
from chatpeg.loader import load_text
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
