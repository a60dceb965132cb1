"""What `check` prints of hold-back is what the parser holds back at most, for every format and every text."""

from __future__ import annotations

import functools
from typing import Any

import chatpeg
import pytest
from chatpeg import charset
from chatpeg.holdback import HoldBack, holdback
from chatpeg.loader import load_text
from chatpeg.nodes import Literal, walk
from hypothesis import given
from hypothesis import strategies as st
from replay import grammar
from strategies import FORMATS, corpus, examples, spliced

CALL = ' c = "<c>" ^ tool_call:(name:TOOL_NAME "</c>")'
TABLE = [
    ('a = content:until("</a>") ("</a>" / tolerate("")) content:until(!.)', {"content": "3 characters"}),
    ("a = content:until(!.)", {"content": "nothing"}),
    (
        'a = content:until(" "* "</a>") (" "* "</a>" / tolerate("")) content:.*',
        {"content": "3 characters and a run of blanks"},
    ),
    ('a = content:until([\\n]{0,2} "</a>") ([\\n]{0,2} "</a>" / "") content:.*', {"content": "5 characters"}),
    # A predicate is part of the delimiter: what it looks at is held back, too.
    (
        'a = t (c t)* t = content:until(c) c = "<c>" &("x=" / !.) ^ tool_call:("x=" name:TOOL_NAME "</c>")',
        {"content": "4 characters"},
    ),
    ("a = t (c t)* t = content:until(c)" + CALL, {"content": "3 characters"}),
    (
        'a = ("<r>" ^ reasoning:until("</r>" / c) ("</r>" / tolerate("")))? t (c t)* t = content:until(c)' + CALL,
        {"reasoning": "3 characters", "content": "3 characters"},
    ),
    # Without a commit the whole thought may still be content.
    (
        'a = ("<r>" reasoning:until("</r>") "</r>")? content:until(!.)',
        {
            "reasoning": "unbounded until the choice is settled (x.peg:1:5)",
            "content": "unbounded until the choice is settled (x.peg:1:5)",
        },
    ),
    (
        '%fields plan\na = "<p>" ^ plan:until("</p>") "</p>" content:until(!.)',
        {"plan": "3 characters", "content": "3 characters"},
    ),
    ('a = content:("x" [0-9]{2,8} "y" / until(!.))', {"content": "9 characters"}),
    (
        'a = content:until("<") ("<" drop([^>]*) ">" / drop("<" .*))',
        {"content": "nothing", "drop": "unbounded until the choice is settled (x.peg:1:25)"},
    ),
]


@pytest.mark.parametrize("text, expected", TABLE, ids=[text for text, _ in TABLE])
def test_in_words(text: str, expected: dict[str, str]) -> None:
    text = text.replace(" t = ", "\nt = ").replace(" c = ", "\nc = ")

    assert expected == {held.label: held.text for held in holdback(load_text(text, "x.peg"))}


def test_text_is_held_back_without_end_only_where_the_message_begins_with_a_choice() -> None:
    """A bare call is told from text at its end; nowhere else may that be so."""
    unbounded = {
        name for name in FORMATS for held in bounds(name).values() if held.label == "content" and held.bound is None
    }

    assert {"llama3-json", "llama4-pythonic"} == unbounded


@functools.cache
def bounds(format_id: str) -> dict[str, HoldBack]:
    """What `check` prints of a format, by label."""
    return {held.label: held for held in holdback(grammar(format_id).loaded)}


@functools.cache
def fragments(format_id: str) -> tuple[str, ...]:
    """The literals of a format."""
    nodes = (node for rule in grammar(format_id).loaded.rules.values() for node in walk(rule.expression))
    return tuple(dict.fromkeys(node.text for node in nodes if isinstance(node, Literal) and node.text))


def texts(format_id: str) -> st.SearchStrategy[str]:
    """Markers of a format, whole, begun, repeated, with blanks and words between, and pieces of its corpus."""
    marker = st.sampled_from(fragments(format_id))
    begun = st.tuples(marker, st.integers(1, 30)).map(lambda drawn: drawn[0][: drawn[1]])
    blanks = st.sampled_from(["\n", " ", "\n\n", " \t\n ", "\n" * 20])
    words = st.sampled_from(["x", "get_weather", "so ", "=", "0", "a" * 150])
    many = st.tuples(marker, blanks, st.integers(2, 4)).map(lambda drawn: (drawn[0] + drawn[1]) * drawn[2])
    piece = st.one_of(marker, begun, blanks, words, many)
    return st.one_of(st.lists(piece, max_size=10).map("".join), spliced(format_id))


def size(text: str, held: HoldBack) -> int:
    """How much of a held text counts: runs of blanks come on top where the bound says so."""
    return sum(character not in charset.BLANKS for character in text) if held.blanks else len(text)


def allowed(parser: Any, format_id: str) -> list[HoldBack]:
    """The bounds of which one holds now: of the open text, else of any; none while a call is read."""
    region, printed = parser._regions._region, bounds(format_id)
    scope = parser._machine.scopes
    while scope is not None:
        if scope.call:
            return []
        scope = scope.parent
    if parser._regions._call is not None:
        return []
    if region is not None and region.closed_at < 0:
        return [printed[region.label], *([printed["drop"]] if parser._regions._drop_start >= 0 else [])]
    return list(printed.values())


@pytest.mark.parametrize("format_id", FORMATS)
@examples(60)
@given(st.data())
def test_no_more_is_held_back_than_printed(format_id: str, data: st.DataObject) -> None:
    """P4: whatever comes, character by character."""
    offered = data.draw(st.sampled_from([None, *(corpus(format_id).offered(c) for c in corpus(format_id).cases)]))
    parser = grammar(format_id).bind(tools=offered).parser(prompt="")
    for character in data.draw(texts(format_id), label="text"):
        parser.feed(character)
        machine = parser._machine
        held = machine.text[machine.final()[1] :]
        limits = allowed(parser, format_id)
        assert not limits or any(limit.bound is None or size(held, limit) <= limit.bound for limit in limits), held


def test_a_format_that_holds_back_nothing_streams_every_character() -> None:
    parser = chatpeg.loads("a = content:until(!.)").parser()

    assert ["H", "i"] == [
        event.text for character in "Hi" for event in parser.feed(character) if hasattr(event, "text")
    ]
