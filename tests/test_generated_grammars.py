"""The promises on grammars nobody wrote: small ones made at random, and texts near their language."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import chatpeg
import pytest
import replay as replays
from chatpeg import RegionChunk, nodes
from chatpeg.program import CHAIN
from hypothesis import assume, event, given
from hypothesis import strategies as st
from replay import (
    assert_append_only,
    assert_argument_deltas_sum_up,
    assert_calls_grow,
    assert_deltas_sum_up,
    assert_regions_tile,
    replay,
)
from strategies import chunkings, examples
from test_chains import TAIL, assert_same, without_chains
from test_linear import assert_linear, rates

pytestmark = pytest.mark.slow

Draw = Callable[[st.SearchStrategy[Any]], Any]

# Literals that begin as others do, end as they do, stand inside them, or are blank; none ends in the middle of a word.
ALIKE = ("<c>", "</c>", "[", "]", "<c=", "<", "<<", "-", "--", "->", "<-", "<-c->", "-c-", "|", ">", ";")
MARKERS = [*ALIKE, "\n", "\n\n", "\n<c>"]
WORDS = ("", "a", "so", "zz ", " x\n", "\n", " ", "a < b", '"q', "{", "0")
OBJECTS = ("{}", '{"k": "v"}', '{"l": 1}', '{"k": "]<c>"}', '{"k"', '{"k": 1, "k": 2}')
VALUES = ("1", "v", '"v"', "[1]", "true", "", "[1", "a\nb")
SUPPLIED = {
    "TOOL_NAME": ("f", "ff", "g"),
    "TOOL_ARGUMENTS": OBJECTS,
    "PARAM_NAME": ("k", "l", "kk"),
    "JSON_VALUE": VALUES,
}
PROPERTIES = {"k": {"type": "string"}, "kk": {"type": "boolean"}, "l": {"type": ["integer", "string"]}}
TOOLS = [{"type": "function", "function": {"name": n, "parameters": {"properties": PROPERTIES}}} for n in ("f", "ff")]
OFFERED = [{"tools": TOOLS, **more} for more in ({}, {"unknown_tools": "call"}, {"unparsed": "drop"})]


class Sketch:
    """The rules of a grammar while it is made; what is drawn first is a plain format."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.rules: dict[str, str] = {}
        self.unused = MARKERS

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def rule(self, name: str, expression: str) -> str:
        name += str(len(self.rules))
        self.rules[name] = expression
        return name

    def marker(self) -> str:
        """A literal, most of the time one that is new to the grammar."""
        text = self.choose(*self.unused, *MARKERS[:3])
        self.unused = [marker for marker in self.unused if marker != text]
        return json.dumps(text)

    def delimiter(self) -> str:
        """One literal or two that are alike, perhaps behind blanks."""
        first = json.loads(self.marker())
        alike = [marker for marker in MARKERS if marker != first and (marker in first or first in marker)]
        one, other = map(json.dumps, sorted((first, self.choose(*alike, *ALIKE)), key=len, reverse=True))
        either = one if one == other else f"({one} / {other})"
        return self.choose(one, either, either, rf"[ \n]* {one}", rf"({one} / [ \n]* {other})")

    def end(self, opener: str) -> str:
        """What ends a text that another may follow."""
        one = self.delimiter()
        return self.choose(one, one, f"{one} &({opener} / !.)", f'{one} !"0"', f"({one} / tolerate(&{opener}))")

    def closer(self, opener: str) -> str:
        """What ends a call or a section, if the model writes it."""
        one = self.delimiter()
        left_out = self.choose('""', f"&{opener}")
        return self.choose(one, one, f"({one} / tolerate({left_out}))", f"{one} {self.marker()}?")

    def parameter(self, depth: int = 0) -> str:
        opener, after, sure = self.marker(), self.marker(), self.choose("", "", "^")
        end = self.rule("end", self.end(opener))
        name, any_name = "key:PARAM_NAME", "key:[a-z]+"
        key = self.choose(name, name, any_name, f'({any_name} / "!")', f"&[a-z] ^ key:until({after})")
        typed, text = f"value:PARAM_VALUE({end}) {end}", f"value:(text:until({end})) {end}"
        spelled = self.choose("JSON_VALUE", "([0-9]+ / [a-z]+)", '("[" (item:[0-9]+ ";")* "]")', f"until({end})")
        value = self.choose(typed, typed, text, f"value:{spelled} {end}")
        if not depth and self.choose(0, 0, 0, 1):
            nested = f"value:({self.parameter(1)}+ / text:[0-9]*) {end}"
            value = self.choose(nested, 'value:PARAM_VALUE("</") "</" same(key) ">"')
        return self.rule("parameter", f"{opener} {sure} {key} {after} {value}")

    def arguments(self) -> str:
        if self.choose("parameters", "parameters", "object") == "object":
            return self.choose("arguments:TOOL_ARGUMENTS", "arguments:TOOL_ARGUMENTS", "")
        one, between = self.parameter(), self.marker()
        listed, noise = f"({one} ({between} {one})*)?", f"({between} [.]*)*"
        several = self.choose(f"{one}*", f"{one}*", f"{one}+", one, listed, f'"" {noise} {one} {noise}')
        return f"arguments:({several})"

    def call(self) -> str:
        opener, end, arguments = self.marker(), self.choose(";", ">", "\\n", "|", " "), self.arguments()
        before, after = self.choose(("", f'"{end}"'), ("", f'"{end}"'), ('"f="', f'"{end}"'), ("'\"'", "'\"'"))
        name, look = f"{before} name:TOOL_NAME {after}", f"&({before} TOOL_NAME {after} / !.)"
        last = self.choose("", "", self.delimiter(), '("!" / id:[0-9]+ "/f>")', 'drop([a-z]*) "!"')
        plain = f"^ tool_call:({name} {arguments} {last})"
        inside = self.choose(
            plain,
            plain,
            f"{look} {plain}",
            f"tool_call:({name} ^ {arguments} {last})",
            f'^ tool_call:(id:("i." name:TOOL_NAME ":" [0-9]+) {after} {arguments})',
            f'^ tool_call:permute({self.marker()}, ({name}), ("=" arguments:TOOL_ARGUMENTS)?)',
        )
        blanks = self.choose("", "", r"[ \n]*")
        return self.rule("call", f"{blanks} {opener} {inside} {self.closer(opener)}")

    def section(self) -> str:
        opener, call = self.marker(), self.call()
        several = self.choose(f"{call}*", f"{call}+", rf"({call} [ \n]*)*", f"({call} / {self.note()})*")
        return self.rule("section", f"{opener} ^ {several} {self.closer(opener)}")

    def note(self, sure: str = "^", also: str = "") -> str:
        """A text between markers, or two kinds of it, or noise; `also` ends it, too."""
        opener, close = self.marker(), self.rule("close", self.end(self.marker()))
        text = f"until({close}{also and f' / tolerate({also})'})"
        label, other = self.choose("reasoning", "plan", "content"), self.choose("content", "reasoning")
        one, two = f"{label}:{text}", f"({self.marker()} ^ {label}:{text} / {other}:{text})"
        left_out = f'({close} / tolerate(""))'
        body = f"{self.choose(one, one, two, f'drop({text})')} {left_out if also else self.choose(close, left_out)}"
        return self.rule("note", f"{opener} {sure} {body}")

    def mark(self) -> str:
        more = self.choose("^", "^ [.]*", '&"a"', '!"a" ^')
        return self.rule("mark", f"{self.marker()} {more}")

    def source(self) -> str:
        """The grammar, without the rules that nothing refers to."""
        kinds = [self.call, self.section, self.note, self.mark]
        items = [self.choose(*kinds[:2]), *self.draw(st.lists(st.sampled_from(kinds), max_size=2))]
        item = self.rule("item", " / ".join(make() for make in items))
        text = self.rule("text", f"content:until({item})")
        loose = self.rule("text", f"content:(!{item} . ^ until({item}))")
        several, gaps = f"{text} ({item} {text})*", rf'{text} ({item} ("\n" [ ]*)? {text})*'
        thought = self.choose("", "", f"{self.note(self.choose('^', ''))}?", f"{self.note('^', item)}?")
        body = self.choose(several, several, gaps, f"({item} / {loose})*", f"{text} {item}* !.")
        lines = [f"response = {thought} {body}"]
        for name, expression in reversed(self.rules.items()):
            if re.search(rf"\b{name}\b", " ".join(lines)):
                lines.append(f"{name} = {expression}")
        stops, triggers = self.choose("", "", '%stop "<c" "<|end|>"'), self.choose("", f"%trigger {item}")
        return "\n".join(["%fields plan", *filter(None, (stops, triggers)), *lines])


def sentence(node: nodes.Expression, rules: dict[str, nodes.Rule], draw: Draw) -> str:
    """What `node` matches, or would if no delimiter stood in the texts."""
    match node:
        case nodes.Literal(text=text):
            return text
        case nodes.Class(ranges=ranges):
            return chr(draw(st.sampled_from(ranges))[0])
        case nodes.Label(name="key", item=nodes.Until() | nodes.Repeat()) | nodes.Terminal(name="PARAM_NAME"):
            return draw(st.sampled_from(SUPPLIED["PARAM_NAME"]))
        case nodes.Terminal(name=name):
            return draw(st.sampled_from(SUPPLIED[name]))
        case nodes.ParamValue() | nodes.Label(name="value" | "text", item=nodes.Until()):
            return draw(st.sampled_from(VALUES))
        case nodes.Until():
            return draw(st.sampled_from(WORDS))
        case nodes.Same():
            return SUPPLIED["PARAM_NAME"][0]
        case nodes.Sequence(items=items):
            return "".join(sentence(item, rules, draw) for item in items)
        case nodes.Permute(separator=separator, items=items):
            between = sentence(separator, rules, draw)
            return between.join(sentence(item, rules, draw) for item in draw(st.permutations(items)))
        case nodes.Choice(alternatives=alternatives):
            return sentence(draw(st.sampled_from(alternatives)), rules, draw)
        case nodes.Repeat(item=item, min=least, max=most):
            counts = [count for count in (1, 1, 2, 0, 3) if least <= count <= (most or 3)]
            return "".join(sentence(item, rules, draw) for _ in range(draw(st.sampled_from(counts))))
        case nodes.Label(item=item) | nodes.Tolerate(item=item) | nodes.Drop(item=item):
            return sentence(item, rules, draw)
        case nodes.Reference(name=name):
            return sentence(rules[name].expression, rules, draw)
        case _:
            return ""


@functools.lru_cache(256)
def loaded(source: str) -> Any:
    """The grammar, or None if it is refused."""
    try:
        return chatpeg.loads(source)
    except chatpeg.GrammarError:
        return None


def literals(made: Any) -> list[str]:
    found = (node for rule in made.loaded.rules.values() for node in nodes.walk(rule.expression))
    return sorted({node.text for node in found if isinstance(node, nodes.Literal) and node.text}, key=len)


def pieces(made: Any) -> st.SearchStrategy[str]:
    """A literal of the grammar, the beginning of one, a word, or part of a call."""
    whole = st.sampled_from(literals(made))
    others = (*SUPPLIED.values(), WORDS, ("f=", "i.", "<|end|>"))
    return st.one_of(whole, whole, whole.map(lambda text: text[:-1]), *map(st.sampled_from, others))


@st.composite
def cases(draw: Draw) -> tuple[str, str]:
    """A grammar that loads, and a sentence of it, whole or with pieces put in and characters left out, or pieces only."""
    source = Sketch(draw).source()
    made = loaded(source)
    event("accepted" if made else "refused")
    assume(made)
    piece, rules = pieces(made), made.loaded.rules
    if draw(st.integers(0, 4)) == 4:
        return source, "".join(draw(st.lists(piece, max_size=12)))
    text = sentence(rules["response"].expression, rules, draw)
    for _ in range(draw(st.integers(0, 2))):
        at, left = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:at] + draw(piece) + text[at + left :]
    return source, text


def rereads(source: str) -> bool:
    """Whether an item may begin with a run of blanks and another be one blank: each of them looks through the run."""
    return r"[ \n]*" in source and any(text[0].isspace() for text in literals(loaded(source)))


def bound(source: str, request: dict[str, Any], kind: str) -> Any:
    return loaded(source).bind(**request, tool_calls=kind)


anything = (
    cases(),
    st.sampled_from([{}, *OFFERED, {"tools": []}]),
    st.sampled_from(["whole", "incremental"]),
    st.data(),
)


@examples(250)
@given(*anything)
def test_every_chunking_gives_the_same(case: Any, request: Any, kind: str, data: st.DataObject) -> None:
    """P1: single characters, every single cut and any chunking give the events and the message of the whole."""
    text, chat = case[1], bound(case[0], request, kind)
    whole = replay(chat, [text], "")
    assert repr(chat.parse(text, prompt="")) == repr(whole.final)
    for chunks in ([*text], data.draw(chunkings(text)), *([text[:at], text[at:]] for at in range(len(text) + 1))):
        for snapshots in (False, True):
            run = replay(chat, chunks, "", snapshots=snapshots)
            assert repr(run.final) == repr(whole.final), chunks
            assert repr(run.events) == repr(whole.events), chunks


@examples(100)
@given(*anything)
def test_a_prompt_is_the_beginning_of_the_text(case: Any, request: Any, kind: str, data: st.DataObject) -> None:
    """P1: what the prompt began goes on as if it had been read with the rest, chunks and stop strings aside."""
    text, chat = case[1], bound(case[0], request, kind)
    at = data.draw(st.integers(0, len(text)))
    prompt, text = text[:at], text[at:]
    whole, unsplit = replay(chat, [text], prompt), replay(chat, [prompt + text], "")
    for chunks in ([*text], data.draw(chunkings(text))):
        assert repr(replay(chat, chunks, prompt, snapshots=True).events) == repr(whole.events), chunks
    # What is recovered has no bytes of the prompt, and no stop string begins in it.
    if not unsplit.final.malformed and not chat.grammar.loaded.stop:
        kept = [[event for event in run.events if not isinstance(event, RegionChunk)] for run in (whole, unsplit)]
        assert repr((kept[0], whole.final)) == repr((kept[1], unsplit.final))


@examples(250)
@given(*anything)
def test_nothing_is_withdrawn_and_nothing_is_lost(case: Any, request: Any, kind: str, data: st.DataObject) -> None:
    """P2, P3: the message only grows, deltas sum up to it, and every word is in a region, markup or listed."""
    text, chat = case[1], bound(case[0], request, kind)
    markup = " ".join([*literals(chat.grammar), *chat.grammar.loaded.stop])
    for chunks in ([*text], data.draw(chunkings(text))):
        run = replay(chat, chunks, "", snapshots=True)
        if chat.options.tool_calls == "whole":
            assert_append_only(run.messages)
        else:
            assert_calls_grow(run.messages)
            assert_argument_deltas_sum_up(run)
        assert_deltas_sum_up(run)
        with mock.patch.object(replays, "_words", return_value=frozenset(re.findall(r"[^\W_]+", markup))):
            assert_regions_tile(run)


@examples(250)
@given(*anything)
def test_chains_change_nothing(case: Any, request: Any, kind: str, data: st.DataObject) -> None:
    text, chat = case[1], bound(case[0], request, kind)
    assume(any(instruction[0] == CHAIN for instruction in chat.grammar.program.code))
    other = chatpeg.Chat(without_chains(chat.grammar), chat.options)
    for chunks in (data.draw(chunkings(text)), [*text]):
        assert_same(chat, other, text, chunks)
        assert_same(chat, other, text + TAIL + text, [*chunks, TAIL, text])


@examples(40)
@given(cases(), st.sampled_from([0, 1, 7]), st.data())
def test_steps_are_bounded(case: Any, size: int, data: st.DataObject) -> None:
    """P4: what is run and looked at for a character does not grow with the text."""
    source, text = case
    assume(not rereads(source))
    unit = data.draw(st.lists(pieces(loaded(source)), min_size=1, max_size=4).map("".join)) or "x"
    beginning = text[: data.draw(st.integers(0, 40))]
    assert_linear(rates(loaded(source).bind(), beginning, unit, size), (beginning, unit))
