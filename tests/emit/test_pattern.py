"""Patterns against Python's ``re``, and the ECMA-262 constructs in which the two differ."""

from __future__ import annotations

import re

import pytest
from chatpeg.emit.pattern import PatternError, PatternUnsupported, matching, pattern
from hypothesis import given, settings
from hypothesis import strategies as st

atoms = st.sampled_from(["a", "b", "1", "[ab]", "[^a]", r"\d", r"\W", "x", "-", "^", "$", "(?:ab)", "[a-x]"])
patterns: st.SearchStrategy[str] = st.recursive(
    atoms,
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map("|".join)
        | inner.map(lambda p: f"({p})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])).map(
            lambda t: f"(?:{t[0]}){t[1]}"
        )
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(patterns, st.lists(st.text("ab1x-", max_size=6), min_size=5, max_size=5))
def test_as_re_searches(source: str, words: list[str]) -> None:
    language, expected = pattern(source), re.compile(source.replace("$", r"\Z"))
    for word in words:
        assert language.matches(word) == bool(expected.search(word))


@pytest.mark.parametrize(
    ("source", "accepted", "refused"),
    [
        (r"^hello\!$", ["hello!"], ["hello"]),
        (r"^[\w-]+(\.[\d]{1,3})*$", ["ab_c-9", "v1.20.3"], ["a b", "x.", "x.1234"]),
        (r"^.*\S.*$", ["x", "  x y "], ["", "  "]),
        (r"^\/a\/$", ["/a/"], ["\\/a/"]),
        (r"^\u00e9\x41\t\cA$", ["éA\t\x01"], ["eA"]),
        (r"^\ud83d\ude00$", ["😀"], []),
        (r"^\u{1F600}$", ["😀"], []),
        (r"^[😀-😂]$", ["😁"], ["a"]),
        ("^a.c$", ["abc", "a\x85c"], ["a\nc", "a\u2028c"]),
        (r"^\w$", ["a"], ["é", "ⅷ"]),
        (r"^\s$", ["\ufeff", "\u00a0"], ["x"]),
        (r"^\p{Lu}\p{L}+$", ["Éa"], ["éa"]),
        (r"^(?<year>\d{4})$", ["2024"], ["24"]),
        ("^x{,3}$", ["x{,3}"], ["xx"]),
        ("^[]$", [], ["", "a"]),
        ("^[^]$", ["\n"], [""]),
        ("^[a-]$", ["a", "-"], ["b"]),
        (r"[\b]", ["\b"], ["b"]),
        ("", ["", "x"], []),
    ],
)
def test_ecma_constructs(source: str, accepted: list[str], refused: list[str]) -> None:
    language = pattern(source)
    assert [word for word in accepted if not language.matches(word)] == []
    assert [word for word in refused if language.matches(word)] == []


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("(?=x)a", r"look-around '\(\?='"),
        ("(?<!x)a", "look-around"),
        (r"(a)\1", r"the back reference '\\1'"),
        (r"\bword", "the word border"),
        ("(" * 20000 + "a" + ")" * 20000, "nested more than 200 deep"),
        ("a{1,99999}", "more than 5000 repeats"),
        (r"\p{Script=Greek}", "the Unicode property 'Greek'"),
    ],
)
def test_unsupported_constructs_are_named(source: str, what: str) -> None:
    with pytest.raises(PatternUnsupported, match=what):
        pattern(source)


@pytest.mark.parametrize("source", ["(", ")", "[", "a**", "*", "a{3,2}", "[z-a]", "\\", r"\u12", r"\p"])
def test_what_is_no_pattern(source: str) -> None:
    with pytest.raises(PatternError, match="of the pattern"):
        pattern(source)


def test_matching_is_anchored() -> None:
    assert [matching("a|b").matches(word) for word in ("a", "b", "ab")] == [True, True, False]
