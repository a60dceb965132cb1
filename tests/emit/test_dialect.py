"""Values in other spellings than JSON: all that a grammar library can ask for is a `Dialect` value."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from chatpeg.emit.automaton import lengths, text, until
from chatpeg.emit.charset import ANY, charset, difference
from chatpeg.emit.dialect import JSON, Dialect, Spelling
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.rules import Rep, Text
from hypothesis import given
from hypothesis import strategies as st
from recogniser import Recogniser
from sampling import Sampler, lowered

CONTROLS = charset(*range(32))
SPACE = Rep(Text(" "), 0, 1)


def quoted(quote: str) -> Spelling:
    escapes = ((quote, "\\" + quote), ("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
    return Spelling(quote, quote, difference(ANY, (*CONTROLS, *charset(quote + "\\"))), escapes, "\\u", paired=False)


PYTHON = Dialect(
    strings=(quoted("'"), quoted('"')),
    keys=(quoted("'"), quoted('"')),
    behind_separator=SPACE,
    behind_colon=SPACE,
    true="True",
    false="False",
    null="None",
)
QUOTE = '<|"|>'
WORD = charset(("a", "z"), ("A", "Z"), ("0", "9"), "_")
TOKENS = Dialect(
    strings=(Spelling(QUOTE, QUOTE, excluding=until(text(QUOTE))),),
    keys=(Spelling("", "", WORD, excluding=lengths(1, None)), Spelling(QUOTE, QUOTE, excluding=until(text(QUOTE)))),
)

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.characters(codec="utf-8"), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab_", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(values)
def test_json_is_written_as_json(value: Any) -> None:
    written = JSON.write(value)
    assert written is not None
    assert json.loads(written) == value
    rules, _ = lowered({"const": value})
    assert rules is not None
    assert Recogniser(gbnf(rules)).matches(written)


@given(values)
def test_python_literals(value: Any) -> None:
    written = PYTHON.write(value)
    assert written is not None
    assert ast.literal_eval(written) == value
    rules, _ = lowered({"const": value}, PYTHON)
    assert rules is not None
    assert Recogniser(gbnf(rules)).matches(written)


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 3},
        "two words": {"type": ["boolean", "null"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z<|]+$"}},
    },
    "required": ["name"],
    "additionalProperties": {"type": "integer"},
}


@given(st.randoms(use_true_random=False))
def test_sampled_python_literals_satisfy_the_schema(random: Any) -> None:
    rules, _ = lowered(SCHEMA, PYTHON)
    assert rules is not None
    value = ast.literal_eval(Sampler(rules, random).sentence())
    assert len(value["name"]) <= 3
    assert value.get("two words") in {True, False, None}
    assert set(map(type, value.values())) <= {str, bool, type(None), list, int}


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("{name:«a\"'«}", True),
        ("{name:«a<|«}", True),
        ("{name:«abcd«}", False),
        ("{name:«a«,«two words«:true,tags:[«a<|«],n:5}", True),
        ("{name:«a«,name:5}", False),
        ("{name:«a«,:5}", False),
        ("{«name«:«a«}", False),
    ],
)
def test_dictionaries_with_bare_keys(text: str, accepted: bool) -> None:
    rules, warnings = lowered(SCHEMA, TOKENS)
    assert rules is not None
    assert warnings == []
    assert Recogniser(gbnf(rules)).matches(text.replace("«", QUOTE)) == accepted


def test_a_listed_value_that_cannot_be_written_is_left_out() -> None:
    rules, warnings = lowered({"enum": ["a", QUOTE]}, TOKENS)
    assert rules is not None
    assert [w.keyword for w in warnings] == ["enum"]
    assert Recogniser(gbnf(rules)).matches('<|"|>a<|"|>')


def test_unrestricted_texts_keep_out_of_their_quotes() -> None:
    rules, _ = lowered({"type": "string"}, TOKENS)
    assert rules is not None
    matches = Recogniser(gbnf(rules)).matches
    assert [matches(f"{QUOTE}{inner}{QUOTE}") for inner in ("", 'x"|>', f"a{QUOTE}b")] == [True, True, False]
