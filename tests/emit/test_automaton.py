"""Regular languages: operations against sets of short texts, rules against the automaton they are made from."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from chatpeg.emit.automaton import (
    Automaton,
    TooLarge,
    any_of,
    anything,
    excluding,
    lengths,
    nothing,
    text,
    texts,
    until,
)
from chatpeg.emit.automaton_rules import to_rules
from chatpeg.emit.charset import ANY, charset
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.nfa import compiled, concat, repeat
from chatpeg.emit.rules import NOTHING, Alt, Builder, Chars, Expr, Rep, Rules, Seq, Text
from hypothesis import given
from hypothesis import strategies as st
from recogniser import Recogniser
from sampling import Sampler

SHORT = ["".join(word) for length in range(5) for word in product("abc", repeat=length)]

letters = st.sampled_from("abc").map(Text) | st.sampled_from(["ab", "bc", "abc"]).map(lambda s: Chars(charset(*s)))
regulars: st.SearchStrategy[Expr] = st.recursive(
    letters,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: Seq(tuple(items)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda items: Alt(tuple(items)))
        | st.tuples(inner, st.integers(0, 2), st.none() | st.integers(2, 3)).map(lambda rep: Rep(*rep))
    ),
    max_leaves=8,
)
languages = regulars.map(compiled)


def members(language: Automaton) -> set[str]:
    return {word for word in SHORT if language.matches(word)}


@given(languages, languages)
def test_operations_are_those_of_sets(left: Automaton, right: Automaton) -> None:
    assert members(left & right) == members(left) & members(right)
    assert members(left | right) == members(left) | members(right)
    assert members(left - right) == members(left) - members(right)
    assert members(left.complement()) == set(SHORT) - members(left)
    assert (left - left).is_empty()


@given(languages, languages)
def test_equal_languages_are_equal_values(left: Automaton, right: Automaton) -> None:
    assert (left | right) == (right | left)
    assert left.complement().complement() == left
    assert (left - right).is_empty() == ((left & right) == left)


@given(languages)
def test_concatenation_and_repeats(language: Automaton) -> None:
    pairs = {a + b for a in members(language) for b in members(language) if len(a + b) < 5}
    assert members(concat(language, language)) == pairs
    assert members(repeat(language, 0, 2)) == pairs | members(language) | {""}
    assert members(repeat(language, 1, None)) >= members(language)


@given(languages.filter(lambda language: not language.accepts_empty()))
def test_excluded_delimiters(delimiter: Automaton) -> None:
    free = excluding(delimiter)
    for word in SHORT:
        parts = {word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1)}
        assert free.matches(word) == (not any(delimiter.matches(part) for part in parts))


@pytest.mark.parametrize("delimiter", ["ab", "aa", "aba", "\n--\n"])
def test_until_stops_at_the_first_delimiter(delimiter: str) -> None:
    before = until(text(delimiter))
    for length in range(7):
        for word in map("".join, product(sorted(set(delimiter)), repeat=length)):
            assert before.matches(word) == ((word + delimiter).find(delimiter) == length)


@given(languages, st.randoms(use_true_random=False))
def test_rules_are_the_automaton(language: Automaton, random: Random) -> None:
    builder = Builder()
    start = to_rules(language, builder, "x", end=Text("!"))
    if language.is_empty():
        assert start == NOTHING
        return
    rules = Rules({**builder.rules, "start": start}, "start")
    recogniser = Recogniser(gbnf(rules))
    for word in SHORT[::3]:
        assert recogniser.matches(word + "!") == language.matches(word)
    for _ in range(3):
        sentence = Sampler(rules, random).sentence()
        assert sentence.endswith("!")
        assert language.matches(sentence[:-1])


def test_small_rules_are_readable() -> None:
    builder = Builder()
    start = to_rules(compiled(Seq((Text("v"), Rep(Chars(charset(("0", "9"))), 1, 64)))), builder, "x")
    assert gbnf(Rules({**builder.rules, "start": start}, "start")) == 'root ::= "v" [0-9] [0-9]{0,63}\n'


def test_surrogates_are_no_characters() -> None:
    assert anything() == any_of(ANY).complement() | any_of(ANY)
    assert all(not 0xD800 <= low <= 0xDFFF for low, _, _ in anything().edges[0])
    assert any_of(((0xD800, 0xDFFF),)) == nothing()


def test_words() -> None:
    names = texts(["get", "get_all", "put"])
    assert [names.matches(word) for word in ("get", "get_", "get_all", "put", "")] == [True, False, True, True, False]
    assert texts([]) == nothing()


def test_a_bound_is_a_named_error() -> None:
    with pytest.raises(TooLarge, match="5000 characters"):
        lengths(0, 5000)
    with pytest.raises(TooLarge):
        compiled(Seq((Rep(Chars(ANY), 0, None), Text("a"), Rep(Chars(ANY), 20, 20))))
