"""P4: steps and characters looked at per character of input are bounded on adversarial input, for every chunking."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Iterator
from typing import Any

import chatpeg
import pytest
from chatpeg.loader import load_text
from chatpeg.nodes import Literal, walk
from counting import steps
from hypothesis import given
from hypothesis import strategies as st
from replay import grammar
from strategies import FORMATS, corpus, examples

STEPS = 40
"""Machine steps per character: the most that one character costs is a try of every alternative of a choice."""
CHARACTERS = 150
"""Characters looked at per character: a name is tried from its beginning in every chunk, and has at most 128."""
SIZE = 240
"""Characters of the smallest of three texts that double."""

FILL = ("\n", " ", "\n \t", "<", "[", "{", '"', "'", "\\", "a", "x ", "0", ",", ":", "=", "(", "}{", "é🍸")

every_format = pytest.mark.parametrize("format_id", FORMATS)


@functools.cache
def literals(format_id: str) -> tuple[str, ...]:
    """The literals of a format."""
    nodes = (node for rule in grammar(format_id).loaded.rules.values() for node in walk(rule.expression))
    return tuple(dict.fromkeys(node.text for node in nodes if isinstance(node, Literal) and node.text))


def beginnings(format_id: str) -> list[str]:
    """What the reply has come to when the adversary takes over: nothing, or somewhere in a call of the corpus."""
    inputs = sorted({case.input for case in corpus(format_id).cases if case.expected.get("tool_calls")}, key=len)
    whole = inputs[len(inputs) // 2] if inputs else ""
    return ["", *(whole[: len(whole) * part // 8] for part in range(1, 8))]


def units(format_id: str) -> Iterator[str]:
    """What is repeated: markers, begun markers, markers with garbage or blanks, broken calls, and single characters."""
    yield from FILL
    for text in literals(format_id):
        yield text
        yield text[:-1] or text
        yield text + "x"
        yield text + "\n" * 30
    for beginning in beginnings(format_id):
        yield beginning or "<"
        yield beginning + "n" * 200
        yield beginning + '"'
        yield beginning + "{["


def rates(chat: Any, beginning: str, unit: str, size: int) -> list[tuple[float, float]]:
    """Steps and characters per character for a text, its double and its fourfold."""
    found = []
    for times in (1, 2, 4):
        text = beginning + unit * (times * max(1, SIZE // len(unit)))
        ran, looked = steps(chat, text, size)
        found.append((ran / len(text), looked / len(text)))
    return found


def assert_linear(found: list[tuple[float, float]], shown: object) -> None:
    """Bounded, and not growing: where the double costs the square, the fourfold costs nearly twice as much a character.

    The smallest text may end before the adversary's part has begun to cost anything.
    """
    _, double, fourfold = found
    assert fourfold[0] <= STEPS, (shown, found)
    assert fourfold[1] <= CHARACTERS, (shown, found)
    assert fourfold[0] <= 1.4 * double[0] + 2, (shown, found)
    assert fourfold[1] <= 1.4 * double[1] + 4, (shown, found)


@every_format
@pytest.mark.parametrize("size", [0, 1], ids=["whole", "character by character"])
def test_repeated(format_id: str, size: int) -> None:
    """Every unit again and again, from the beginning of the reply."""
    chat = grammar(format_id).bind()
    for unit in dict.fromkeys(units(format_id)):
        assert_linear(rates(chat, "", unit, size), unit)


@every_format
@pytest.mark.parametrize("size", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["whole", "character by character"])
def test_repeated_inside_a_call(format_id: str, size: int) -> None:
    """The cheap units from every eighth of a call on: long names, unterminated strings, deep nesting, long blanks."""
    chat = grammar(format_id).bind()
    for beginning in dict.fromkeys(beginnings(format_id)):
        for unit in (*FILL, *literals(format_id)[:6]):
            assert_linear(rates(chat, beginning, unit, size), (beginning, unit))


@every_format
@examples(25)
@given(st.data())
def test_repeated_splices(format_id: str, data: st.DataObject) -> None:
    """Units nobody wrote, behind any beginning, in any chunk size, with the tools of some case."""
    offered = data.draw(st.sampled_from([None, *(corpus(format_id).offered(c) for c in corpus(format_id).cases)]))
    inputs = st.sampled_from([case.input for case in corpus(format_id).cases])
    cut = st.tuples(inputs, st.integers(0, 300), st.integers(1, 60)).map(lambda t: t[0][t[1] : t[1] + t[2]])
    marker = st.sampled_from(literals(format_id))
    piece = st.one_of(
        marker, st.sampled_from(FILL), cut, st.tuples(marker, st.integers(1, 20)).map(lambda t: t[0][: t[1]])
    )
    unit = data.draw(st.lists(piece, min_size=1, max_size=4).map("".join), label="unit") or "x"
    beginning = data.draw(st.tuples(inputs, st.integers(0, 300)).map(lambda t: t[0][: t[1]]), label="beginning")
    size = data.draw(st.sampled_from([0, 1, 7]), label="size")
    assert_linear(rates(grammar(format_id).bind(tools=offered), beginning, unit, size), (beginning, unit))


# Kinds of values in one call, and many calls: any grammar that uses them.

ELEMENTS = """
a = t (c t)*
t = content:until(c)
c = "<c>" ^ tool_call:(name:TOOL_NAME arguments:p*) "</c>"
p = "<k>" key:PARAM_NAME "</k><v>" value:PARAM_VALUE("</v>") "</v>"
"""
OBJECTS = """
a = t (c t)*
t = content:until(c)
c = "<c>" ^ tool_call:(name:TOOL_NAME arguments:TOOL_ARGUMENTS) "</c>"
"""
NESTED = """
a = t (c t)*
t = content:until(c)
c = "<c>" ^ tool_call:(name:TOOL_NAME "|" arguments:e*) "</c>"
e = "<" key:[a-z]+ ">" value:(e+ / text:[0-9]*) "</" same(key) ">"
"""
MARKS = r"""
a = t (i t)*
t = content:until(i)
i = c / "\n" ^
c = [ \n]* "<c>" ^ tool_call:(name:TOOL_NAME ";") "</c>"
"""
BLANKS = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="an item behind blanks, and another that is one: each blank is tried as both",
)
VALUES = [
    (ELEMENTS, 0, "<c>f", "<k>a</k><v>1</v>", ""),
    (ELEMENTS, 1, "<c>f", "<k>a</k><v>1</v>", ""),
    (ELEMENTS, 0, "<c>f", "<k>a</k><v>x</v>", ""),
    (ELEMENTS, 1, "<c>f", "<k>a</k><v>x</v>", ""),
    (ELEMENTS, 0, "<c>f", "<k>a</k><v>[1</v>", ""),
    (ELEMENTS, 1, "<c>f", '<k>a</k><v>"x</v>', ""),
    (OBJECTS, 0, "", '<c>f{"a" 1}</c>', ""),
    (OBJECTS, 1, "", '<c>f{"a" 1}</c>', ""),
    (OBJECTS, 0, "", '<c>f{"a": 1}</c>', ""),
    (NESTED, 0, "<c>f|", "<k>1</k>", "</c>"),
    (NESTED, 1, "<c>f|" + "<k>" * 20, "<k>1</k>", "</k>" * 20 + "</c>"),
    (NESTED, 0, "<c>f|", "<k>", "</k>"),
    (NESTED, 1, "<c>f|", "<k>", "</k>"),
    pytest.param(MARKS, 0, "", "\n", "", marks=BLANKS),
]


@pytest.mark.parametrize("source, size, beginning, unit, end", VALUES)
def test_values(source: str, size: int, beginning: str, unit: str, end: str) -> None:
    """Values that are JSON, that only begin like it, and nested elements."""
    chat = chatpeg.loads(source).bind()
    found = []
    for times in (60, 120, 240):
        text = beginning + unit * times + end * (times if end == "</k>" else 1)
        found.append(tuple(count / len(text) for count in steps(chat, text, size, errors=True)))
    assert_linear(found, unit)


# What is not counted: what a single instruction, a call's values and the events cost.


@pytest.mark.timing
@every_format
@pytest.mark.parametrize("size", [0, 1], ids=["whole", "character by character"])
def test_time(format_id: str, size: int) -> None:
    """Eight times the text takes at most twenty times as long."""
    chat = grammar(format_id).bind()
    for beginning in list(dict.fromkeys(beginnings(format_id)))[::2]:
        for unit in (*FILL, *literals(format_id)[:4]):
            texts = [beginning + unit * (length // len(unit)) for length in (2_000, 16_000)]
            if not quick(*(elapsed(chat, text, size) for text in texts)):
                best = [min(elapsed(chat, text, size) for _ in range(5)) for text in texts]
                assert quick(*best), (beginning, unit, best)


def quick(short: float, long: float) -> bool:
    """Whether the second time is at most twenty times the first, or no time to speak of."""
    return long < 0.02 or long <= 20 * short


def test_counting_finds_the_square() -> None:
    """A grammar that reads again and again is caught, in steps and in characters."""
    loops = ['a = content:(link / .)*\nlink = "<" [^>]* ">"', 'a = content:(link / .)*\nlink = "<" ("<" / "x")* ">"']
    for text, column in zip(loops, (1, 0), strict=True):
        chat = chatpeg.Grammar(load_text(text)).bind()
        found = rates(chat, "", "<", 0)
        assert found[2][column] > 1.8 * found[1][column]


def elapsed(chat: Any, text: str, size: int) -> float:
    """Processor seconds to parse ``text`` in chunks of ``size``."""
    gc.collect()
    start = time.process_time()
    parser = chat.parser(prompt="")
    for at in range(0, len(text), size or len(text)):
        parser.feed(text[at : at + (size or len(text))])
    parser.finish()
    return time.process_time() - start
