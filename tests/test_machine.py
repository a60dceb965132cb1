"""The machine and the parser on small grammars: what DESIGN §4 says, sentence by sentence."""

from __future__ import annotations

import functools
import pickle
import tracemalloc
from typing import Any

import chatpeg
import pytest
from chatpeg import DecodeError, ParseError, RegionChunk, RegionClose, RegionMalformed, RegionOpen, StateError
from chatpeg.grammar import Grammar
from chatpeg.loader import load_text
from replay import Replay, assert_append_only, assert_regions_tile, replay
from strategies import FORMATS


@functools.cache
def written(text: str) -> Grammar:
    """The grammar that `text` is."""
    return Grammar(load_text(text))


def tools(*names: str, **properties: Any) -> list[dict[str, Any]]:
    """Offered tools of these names, each with the same properties."""
    parameters = {"type": "object", "properties": properties}
    return [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in names]


def run(grammar: Grammar, text: str, prompt: str | None = "", **options: Any) -> Replay:
    """The parse of `text`: the same for one chunk, for every two and character by character (P1, P2)."""
    chat = grammar.bind(**options)
    whole = replay(chat, [text], prompt)
    for cut in range(1, len(text)):
        assert replay(chat, [text[:cut], text[cut:]], prompt).events == whole.events
    single = replay(chat, text, prompt, snapshots=True)
    assert (single.events, single.final) == (whole.events, whole.final)
    assert chat.parse(text, prompt=prompt) == whole.final
    assert_append_only(single.messages)
    return whole


def message(grammar: Grammar, text: str, prompt: str | None = "", **options: Any) -> Any:
    return run(grammar, text, prompt, **options).final


def content(text: str, input_: str, **options: Any) -> str | None:
    """The content that the grammar `text` finds in `input_`."""
    found: str | None = message(written(text), input_, **options).content
    return found


def calls(grammar: Grammar, text: str, prompt: str | None = "", **options: Any) -> list[tuple[str, str]]:
    """Names and arguments of the calls in `text`."""
    return [(call.name, call.arguments) for call in message(grammar, text, prompt, **options).tool_calls]


def released(text: str, input_: str) -> list[str]:
    """The content known after each character of `input_`."""
    parser = written(text).parser(prompt="")
    known = []
    for character in input_:
        parser.feed(character)
        known.append(parser.message.content or "")
    return known


# -- the operators --------------------------------------------------------------------------------------------------

MATCHES = [
    ('start = content:("a" / "ab") "c"?', "a", "a"),
    ('start = content:("a" "b" / "a" "c")', "ac", "ac"),
    ('start = content:"a"* "b"', "aaab", "aaa"),
    ('start = content:"a"? "b"', "b", None),
    ('start = content:"ab"+ "c"', "ababc", "abab"),
    ("start = content:[ab]{2,3} drop(until(!.))", "ababab", "aba"),
    ('start = content:"ab"{2} drop(until(!.))', "ababab", "abab"),
    ('start = content:[^<]* "<"', "a b\n<", "a b\n"),
    ("start = content:[a-c\\n] drop(until(!.))", "\nabc", "\n"),
    ("start = content:. drop(until(!.))", "🍸b", "🍸"),
    ('start = content:(!"b" .)* drop(until(!.))', "aaba", "aa"),
    ('start = content:(&"a" .)* drop(until(!.))', "aaba", "aa"),
    ('start = content:("a" !.) / "ab" content:"c"', "a", "a"),
    ('start = content:("a" !.) / "ab" content:"c"', "abc", "c"),
    ('start = content:until("<" / "[") drop(until(!.))', "a[<", "a"),
    ('start = content:until("<" &"b") drop(until(!.))', "<a<b", "<a"),
    ('start = content:until("<" !"b") drop(until(!.))', "<b<a", "<b"),
    ('start = content:until(&"<b") drop(until(!.))', "<a<b", "<a"),
    ('start = content:until([\\n]* "<") [\\n]* "<"', "a\n\n<", "a"),
    ('start = content:until("<") ("<" / !.)', "abc", "abc"),
    ('start = content:until("<") "<"', "<", None),
    ('start = "" content:"a"', "a", "a"),
]


@pytest.mark.parametrize("grammar, text, expected", MATCHES)
def test_each_operator_matches_what_the_notation_says(grammar: str, text: str, expected: str | None) -> None:
    """Ordered choice, greedy repeats without backing up, classes, predicates, the end of input, until."""
    assert content(grammar, text) == expected


REPEATS_DO_NOT_GIVE_BACK = [
    ("[a]* ", "aab"),
    ("[a]+ ", "aab"),
    ("[a]{0,2} ", "aab"),
    ('"a"* ', "aab"),
    ("(&[a] .)* ", "aab"),
]


@pytest.mark.parametrize("repeat, text", REPEATS_DO_NOT_GIVE_BACK)
def test_a_repeat_gives_nothing_back(repeat: str, text: str) -> None:
    """PEG: what a repeat took is not tried shorter."""
    assert message(written(f'start = "" {repeat} "ab"'), text).malformed


def test_recursion_is_on_an_explicit_stack() -> None:
    """20,000 levels of a recursive rule are no Python recursion."""
    grammar = written('start = content:nest\nnest = "(" nest ")" / "x"')
    text = "(" * 20_000 + "x" + ")" * 20_000
    assert grammar.parse(text, prompt="").content == text
    assert grammar.parse("(" * 20_000, prompt="").content == "(" * 20_000


def test_drop_is_consumed_and_listed() -> None:
    """It belongs to no label; an empty one is no entry."""
    found = message(written('start = content:until("<") "<" drop(until(">")) ">" content:until(!.)'), "a<bc>d")
    assert (found.content, [(span.start, span.end, span.text) for span in found.dropped]) == ("ad", [(2, 4, "bc")])
    assert message(written('start = content:until("<") "<" drop(until(">")) ">"'), "a<>").dropped == ()


PERMUTE = 'start = permute(",", "a" content:[0-9], "b" reasoning:[0-9], ("c" note:[0-9])?, ("d" more:[0-9])*) "."\n'


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a1,b2.", ("1", "2", None, None)),
        ("b2,a1.", ("1", "2", None, None)),
        ("c3,b2,a1.", ("1", "2", "3", None)),
        ("d4,a1,d5,b2,c3,d6.", ("1", "2", "3", "456")),
    ],
)
def test_permute_takes_its_items_in_any_order(text: str, expected: tuple[str | None, ...]) -> None:
    """Each at most once unless it is a `*`, the optional ones or not."""
    found = message(written("%fields note more\n" + PERMUTE), text)
    assert found.malformed == ()
    assert (found.content, found.reasoning_content, found.fields.get("note"), found.fields.get("more")) == expected


@pytest.mark.parametrize("text", ["a1.", "b1.", "a1,a1,b2.", "a1,b2,c3,c3.", "a1,b2,.", ",a1,b2.", "a1b2."])
def test_permute_refuses_what_is_missing_or_twice(text: str) -> None:
    assert message(written("%fields note more\n" + PERMUTE), text).malformed


SAME = 'start = "<" ^ tool_call:(name:TOOL_NAME ">" arguments:parameter*) "</" same(name) ">"\n'
SAME += 'parameter = "<" !"/" key:PARAM_NAME ">" value:PARAM_VALUE("</") "</" same(key) ">"'
SAME_KEY = SAME.replace(' "</" same(name) ">"', ' "</f>"')


@pytest.mark.parametrize("text", ["<f><a>1</b></f>", "<f><a>1</a><b>1</a></f>", "<f><a>1</></f>", "<f><a>1</aa></f>"])
def test_same_refuses_any_other_text(text: str) -> None:
    assert written(SAME_KEY).parse(text, prompt="").tool_calls == ()


def test_same_is_the_text_captured_last_in_this_rule_instance() -> None:
    """Each parameter has its own key."""
    assert calls(written(SAME_KEY), "<f><a>1</a><b>2</b></f>") == [("f", '{"a": 1, "b": 2}')]


def test_same_sees_a_label_inside_another() -> None:
    """The call's name is captured in this rule instance although `tool_call` has closed."""
    assert calls(written(SAME), "<f><a>1</a><b>2</b></f>") == [("f", '{"a": 1, "b": 2}')]


def test_same_does_not_see_the_captures_of_another_rule() -> None:
    """A rule of its own that captures the same label in between is another instance."""
    grammar = written(
        'start = "<" ^ tool_call:(name:TOOL_NAME ":" id:[a-z] inner "/" same(id)) ">"\ninner = "(" id:[0-9] ")"'
    )
    assert len(message(grammar, "<f:a(1)/a>").tool_calls) == 1


@pytest.mark.parametrize(
    "text, malformed", [("<a>[1]</a>", []), ("<a>[x]</a>", ["[x]"]), ("<a>[x][1][y]</a>", ["[x]", "[y]"])]
)
def test_same_sees_past_what_was_given_up(text: str, malformed: list[str]) -> None:
    """A rule instance that recovery has given up is over: the captures before it are of the instance around it."""
    grammar = written('%fields tag\nstart = "<" tag:[a-z]+ ">" ^ bit* "</" same(tag) ">"\nbit = "[" ^ [0-9] "]"')
    found = message(grammar, text)
    assert [one.text for one in found.malformed] == malformed
    assert found.fields == {"tag": "a"}


@pytest.mark.parametrize("text", ["?", "<a>?", "<a></b>", "<a>x</a>?", "<a>x</a><b>?", "<a>x"])
def test_same_when_all_of_it_is_given_up(text: str) -> None:
    """No rule instance is left then to look for captures in."""
    grammar = written('%fields tag\nstart = e+\ne = "<" tag:[a-z]+ ">" content:until("</") "</" same(tag) ">"')
    found = message(grammar, text)
    assert "".join(c for c in text if c in "x?") in (found.content or "")


def test_same_outside_a_call_does_not_depend_on_chunks() -> None:
    """The capture is remembered although its region has been released."""
    grammar = written('%fields tag\nstart = e*\ne = "<" tag:[a-z]+ ">" ^ content:until("</") "</" same(tag) ">"')
    assert message(grammar, "<b>hi</b><i>x</i>").content == "hix"


# -- settling -------------------------------------------------------------------------------------------------------

SETTLES_AT_ONCE = [
    ("first literal", 'start = "<x" content:until(!.) / "[x" reasoning:until(!.)', "<xab", ["", "", "a", "ab"]),
    (
        "by a later literal",
        'start = "<" "ab" content:until(!.) / "<" "cd" reasoning:until(!.)',
        "<abx",
        ["", "", "", "x"],
    ),
    ("no alternative left", 'start = (content:"a" / "b")', "a", ["a"]),
    ("loop", 'start = ("<x" content:until(">") ">")* "."', "<xa>", ["", "", "a", "a"]),
]


@pytest.mark.parametrize("name, grammar, text, known", SETTLES_AT_ONCE, ids=[row[0] for row in SETTLES_AT_ONCE])
def test_a_choice_is_settled_by_what_excludes_the_others(name: str, grammar: str, text: str, known: list[str]) -> None:
    """Text comes out as soon as the opening strings read exclude other alternatives and the exit."""
    assert released(grammar, text) == known, name


OPENINGS_REASON = "openings.py _meet(): the last character of what was read is never compared"
LAST_CHARACTER_SETTLES = [
    ("literals of one character", 'start = "<" content:until(!.) / "[" reasoning:until(!.)', "<ab", ["", "a", "ab"]),
    ("an exit of one character", 'start = ("<" content:until(">") ">")* "."', "<a>", ["", "a", "a"]),
    (
        "literals that differ at their end",
        'start = "<a" content:until(!.) / "<b" reasoning:until(!.)',
        "<ax",
        ["", "", "x"],
    ),
]
END_IS_AN_EXIT = [
    ("of an optional", "start = content:(. until(!.))?", "abc", ["a", "ab", "abc"]),
    ("of a loop", 'start = ("<" content:until(">") ">" / content:(!"<" . until("<")))*', "abc", ["a", "ab", "abc"]),
]


@pytest.mark.parametrize(
    "name, grammar, text, known", LAST_CHARACTER_SETTLES, ids=[row[0] for row in LAST_CHARACTER_SETTLES]
)
def test_the_last_character_read_settles_a_choice(name: str, grammar: str, text: str, known: list[str]) -> None:
    """It excludes what cannot begin with what has been read."""
    assert released(grammar, text) == known, name


@pytest.mark.parametrize("name, grammar, text, known", END_IS_AN_EXIT, ids=[row[0] for row in END_IS_AN_EXIT])
def test_the_end_of_the_input_is_an_exit(name: str, grammar: str, text: str, known: list[str]) -> None:
    """One character read excludes it."""
    assert released(grammar, text) == known, name


def test_an_unsettled_choice_holds_back() -> None:
    """P2: what another alternative could still read is not released."""
    grammar = 'start = content:("ab" "c") / reasoning:("ab" "d")'
    assert released(grammar, "abc")[:2] == ["", ""]
    assert message(written(grammar), "abd").reasoning_content == "abd"


def test_an_alternative_that_matched_is_the_one() -> None:
    """Ordered choice: a longer alternative further on is not tried because text is left over; that is recovered."""
    found = message(written('start = content:"x" / content:"xy"'), "xy")
    assert (found.content, spans(found)) == ("xy", [("content", "y")])


@pytest.mark.parametrize("size", [1_000, 20_000])
def test_a_plain_reply_is_read_once(size: int) -> None:
    """Its final parse is not done twice: `finish` adds no steps that grow with the text."""
    grammar = written(
        'start = content:until(call) (call content:until(call))*\ncall = "<" ^ tool_call:(name:TOOL_NAME) ">"'
    )
    parser = grammar.parser(prompt="")
    parser.feed("word " * (size // 5))
    before = parser.steps
    parser.finish()
    assert before < 20
    assert parser.steps - before < 20


# -- commit ---------------------------------------------------------------------------------------------------------


def test_a_commit_settles_every_open_choice() -> None:
    """In this rule, its callers and the loops around it: there is no way back past it."""
    grammar = written(
        """
        start  = (outer / "<" content:until(!.))*
        outer  = inner "]"
        inner  = ("<" "a" ^ reasoning:until(">") ">") / "<" "a" content:until(!.)
        """
    )
    assert message(grammar, "<ab>]").reasoning_content == "b"
    found = replay(grammar.bind(), ["<ab>x"], "").final
    assert (found.reasoning_content, found.content) == ("b", "x")
    assert found.malformed
    assert released('start = ("<" ^ content:until(">") ">" / "<" content:until(!.))*', "<ab") == ["", "a", "ab"]


def test_a_loop_opens_its_next_choice_when_it_comes_round() -> None:
    """A commit in one round does not bind the next."""
    grammar = 'start = ("<" ^ content:until(">") ">")* reasoning:until(!.)'
    found = message(written(grammar), "<a><b>c")
    assert (found.content, found.reasoning_content, found.malformed) == ("ab", "c", ())


@pytest.mark.parametrize("predicate", ["&", "!"])
def test_a_commit_has_no_effect_outside_its_predicate(predicate: str) -> None:
    """The alternative that the predicate stands in is still left when it fails behind it."""
    grammar = written(f'start = ({predicate}mark "<" reasoning:"b") / "<" content:"c"\nmark = "<" ^ "c"')
    assert message(grammar, "<c").content == "c"


def test_only_the_part_before_the_commit_is_a_delimiter() -> None:
    """`until(call)` stops where a call would be committed, be its body what it may."""
    grammar = written(
        'start = content:until(call) call content:until(!.)\ncall = "<" &"a" ^ tool_call:(name:TOOL_NAME) ">"'
    )
    found = message(grammar, "x<b<a>y")
    assert (found.content, [call.name for call in found.tool_calls]) == ("x<by", ["a"])
    found = message(grammar, "x<a!>y")
    assert (found.content, found.tool_calls) == ("x<a!>y", ()) or found.tool_calls[0].name == "a!"


def test_a_broken_committed_rule_is_not_read_as_another_alternative() -> None:
    """Whatever fails after the commit recovers."""
    grammar = written('start = ("<" ^ reasoning:[0-9]+ ">") / content:until(!.)')
    found = message(grammar, "<1x>")
    assert (found.reasoning_content, found.content) == ("1", "x>")
    assert [(entry.start, entry.end) for entry in found.malformed] == [(2, 4)]


# -- tolerate -------------------------------------------------------------------------------------------------------


def test_a_tolerated_missing_closer_does_not_count_at_the_end() -> None:
    """Reasoning cut before its closer stays reasoning, and the message is incomplete."""
    found = message(written('start = "<" ^ reasoning:until(">" / &"!") (">" / tolerate("")) content:until(!.)'), "<ab")
    assert (found.reasoning_content, found.content, found.complete) == ("ab", None, False)
    found = message(
        written('start = "<" ^ reasoning:until(">" / &"!") (">" / tolerate("")) content:until(!.)'), "<ab!c"
    )
    assert (found.reasoning_content, found.content, found.complete) == ("ab", "!c", True)


def test_tolerated_blanks_are_no_closer() -> None:
    """`nl = "\\n" / tolerate("")` may be nothing at the end of the input."""
    found = message(written('start = content:until("\\n" !.) ("\\n" / tolerate(""))'), "ab")
    assert (found.content, found.complete, found.malformed) == ("ab", True, ())


# -- names ----------------------------------------------------------------------------------------------------------

CALL = """
start = text (call text)*
text  = content:until(call)
call  = "<" &(TOOL_NAME ":") ^ tool_call:(name:TOOL_NAME ":" arguments:TOOL_ARGUMENTS) ">"
"""
AFTER = """
start = text (call text)*
text  = content:until(call)
call  = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:TOOL_ARGUMENTS) ">"
"""


@pytest.mark.parametrize(
    "text, offered, count",
    [
        ("<f:{}>", ["f"], 1),
        ("<g:{}>", ["f"], 0),
        ("<ff:{}>", ["f", "ff"], 1),
        ("<f:{}>", ["f", "ff"], 1),
        ("<fff:{}>", ["f", "ff"], 0),
    ],
)
def test_before_a_commit_a_name_is_an_offered_one(text: str, offered: list[str], count: int) -> None:
    """The longest that what follows accepts; anything else is no call, but text and not malformed."""
    found = message(written(CALL), text, tools=tools(*offered))
    assert (len(found.tool_calls), found.malformed) == (count, ())
    assert found.content == (None if count else text)


def test_after_a_commit_any_name_is_read_and_refused_at_the_close() -> None:
    """So the end of the call is found by its syntax."""
    text = 'a<g:{"k": ">"}>b<f:{}>'
    found = message(written(AFTER), text, tools=tools("f"))
    assert found.content == 'a<g:{"k": ">"}>b'
    assert [call.name for call in found.tool_calls] == ["f"]
    assert [(type(entry.error), entry.text) for entry in found.malformed] == [(DecodeError, '<g:{"k": ">"}>')]
    assert calls(written(AFTER), text, tools=tools("f"), unknown_tools="call") == [("g", '{"k": ">"}'), ("f", "{}")]


@pytest.mark.parametrize("name", ["a b", "", 'a"b', "a>b", "x" * 129, "a\nb"])
def test_a_name_has_the_shape_of_one(name: str) -> None:
    """1 to 128 characters, no blanks, quotes, <> and nothing that can begin what follows."""
    found = message(written(AFTER), f"<{name}:{{}}>")
    assert (found.tool_calls, found.content) == ((), f"<{name}:{{}}>")


def test_a_name_is_as_long_as_128_characters() -> None:
    assert calls(written(AFTER), "<" + "x" * 128 + ":{}>") == [("x" * 128, "{}")]


@pytest.mark.parametrize("name", ["get weather", 'a"b', "naïve:tool", "x" * 200])
def test_an_offered_name_needs_no_shape(name: str) -> None:
    """What was offered is taken as it is."""
    assert calls(written(AFTER), f"<{name}:{{}}>", tools=tools(name, "f")) == [(name, "{}")]


def test_a_name_is_spelled_as_its_place_spells_it() -> None:
    """In a JSON string an offered name is JSON-escaped."""
    grammar = written('%value json\nstart = "<" ^ tool_call:(\'"\' name:TOOL_NAME \'"\') ">"')
    assert calls(grammar, '<"a\\"b">', tools=tools('a"b')) == [('a"b', "{}")]


@pytest.mark.parametrize("options", [{"tools": []}, {"tools": tools("f"), "tool_choice": "none"}])
def test_with_no_tools_offered_trigger_rules_match_nothing(options: Any) -> None:
    """They delimit nothing either: call syntax is verbatim content."""
    grammar = written("%trigger call\n" + AFTER)
    found = run(grammar, "a<f:{}>b", **options)
    assert (found.final.content, found.final.tool_calls, found.final.malformed) == ("a<f:{}>b", (), ())
    assert [type(event) for event in found.events] == [RegionOpen, RegionChunk, RegionClose]


# -- arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["[1]", '"a"', "1", "null"])
def test_arguments_are_an_object_for_every_chunking(value: str) -> None:
    """TOOL_ARGUMENTS takes no other JSON, also when its first character comes alone."""
    found = message(written(AFTER), f"<f:{value}>")
    assert (found.tool_calls, found.content) == ((), f"<f:{value}>")


@pytest.mark.parametrize(
    "value", ['{"a": 1, "a": 2}', '{"a": NaN}', "{'a': 1}", '{"a": 01}', "{", '{"a": "\n"}', "[" * 20_000]
)
def test_broken_arguments_are_a_malformed_call(value: str) -> None:
    """Strict JSON: duplicate keys, NaN and the like are errors of the region, and the text is content."""
    grammar = written(AFTER)
    text = f"<f:{value}>"
    for chunks in ([text], [text[:4], text[4:]]):
        found = replay(grammar.bind(), chunks, "").final
        assert (found.tool_calls, found.content, len(found.malformed)) == ((), text, 1)


VALUE = """
start = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:parameter*) ">"
parameter = "[" key:PARAM_NAME "=" value:PARAM_VALUE("]") "]"
"""


@pytest.mark.parametrize(
    "value, properties, expected",
    [
        ('{"k": "]"}', {}, {"a": {"k": "]"}}),
        ('{"k": "]"}', {"a": {"type": "object"}}, {"a": {"k": "]"}}),
        ("x", {"a": {"type": "string"}}, {"a": "x"}),
        ("x", {}, {"a": "x"}),
        ("1", {}, {"a": 1}),
        ("1", {"a": {"type": "string"}}, {"a": "1"}),
        ('"a" b', {}, {"a": '"a" b'}),
        ("", {"a": {"type": "string"}}, {"a": ""}),
    ],
)
def test_a_value_is_first_a_whole_json_value(value: str, properties: Any, expected: Any) -> None:
    """Where a type other than string is possible and the delimiter follows directly, else the text up to it."""
    found = message(written(VALUE), f"<f:[a={value}]>", tools=tools("f", **properties))
    assert [call.args for call in found.tool_calls] == [expected]


def test_a_value_that_can_only_be_a_string_is_never_read_as_json() -> None:
    """Its first delimiter ends it, in quotes or not."""
    offered = tools("f", a={"type": "string"})
    assert calls(written(VALUE), '<f:[a="]>', tools=offered) == [("f", '{"a": "\\""}')]
    found = replay(written(VALUE).bind(tools=offered), ['<f:[a="]"]>'], "").final
    assert (found.tool_calls, len(found.malformed) > 0) == ((), True)


def test_a_broken_value_never_yields_a_call() -> None:
    """The scope is the frame of the open call, though a rule inside it has passed a commit of its own."""
    grammar = written(
        """
        start = text (call text)*
        text  = content:until(call)
        call  = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:parameter*) ">"
        parameter = "[" ^ key:PARAM_NAME "=" value:PARAM_VALUE("]") "]" "."
        """
    )
    found = message(grammar, "a<f:[k=1].[j=2]x]>b")
    assert (found.tool_calls, found.content) == ((), "a<f:[k=1].[j=2]x]>b")


STRING_ONLY_REASON = (
    "tool_names.py names_of(): looks at the properties member alone, not at allOf, $ref, additionalProperties"
)


@pytest.mark.parametrize(
    "parameters",
    [
        {"additionalProperties": {"type": "string"}},
        {"allOf": [{"properties": {"a": {"type": "string"}}}]},
        {"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {"type": "string"}}}}},
    ],
)
def test_a_string_declared_elsewhere_is_one_too(parameters: Any) -> None:
    """The schema of a property is found through $ref, allOf and additionalProperties."""
    offered = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", **parameters}}}]
    found = replay(written(VALUE).bind(tools=offered), ['<f:[a="]>"]>'], "").final
    assert [call.args for call in found.tool_calls] == [{"a": '"'}]


KNOWN = """
start = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:parameter*) ">"
parameter = "[" key:PARAM_NAME "=" value:PARAM_VALUE(end) end
end = "]" / tolerate(&("[" PARAM_NAME "="))
"""


def test_in_a_delimiter_a_parameter_name_is_one_of_the_schema() -> None:
    """Only a declared name ends the value; elsewhere unknown parameters are kept."""
    offered = tools("f", a={"type": "string"}, b={"type": "string"})
    assert calls(written(KNOWN), "<f:[a=x[b=y]>", tools=offered) == [("f", '{"a": "x", "b": "y"}')]
    assert calls(written(KNOWN), "<f:[a=x[c=y]>", tools=offered) == [("f", '{"a": "x[c=y"}')]
    assert calls(written(KNOWN), "<f:[c=y]>", tools=offered) == [("f", '{"c": "y"}')]


NESTED = """
start = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:parameter*) ">"
parameter = "[" key:PARAM_NAME "=" value:value "]"
value = "{" inner* "}" / PARAM_VALUE("]")
inner = &("(" PARAM_NAME "=") "(" key:PARAM_NAME "=" value:PARAM_VALUE(")") ")"
"""


@pytest.mark.xfail(strict=True, reason="machine.py _property() knows the tool's own parameters only")
def test_inside_a_value_a_parameter_name_is_one_of_that_property() -> None:
    """PARAM_NAME: a property name of the schema in scope."""
    offered = tools("f", o={"type": "object", "properties": {"x": {"type": "string"}}})
    assert calls(written(NESTED), "<f:[o={(x=1)}]>", tools=offered) == [("f", '{"o": {"x": "1"}}')]


SEVERAL = 'a = content:until("<") ("<" ^ tool_call:(name:TOOL_NAME ";") ">" content:until("<"))*'
THOUGHTS = 'a = reasoning:until("|") "|" content:until("<") ("<" ^ tool_call:(name:TOOL_NAME ";") tool_call:(name:TOOL_NAME "."))?'


@pytest.mark.parametrize(
    "grammar, text, content, names",
    [
        (SEVERAL, "Hi<a;>x<b;>y<c;>", "Hixy", ["a", "b", "c"]),
        (SEVERAL, "<a;><b;>z", "z", ["a", "b"]),
        (THOUGHTS, "Hm|Hi<a;b.", "Hi", ["a", "b"]),
    ],
)
def test_a_rule_may_hold_several_regions(grammar: str, text: str, content: str, names: list[str]) -> None:
    """Each call is one, text between them is content, and what stands between belongs to one of the two."""
    made = written(grammar)
    for at in range(len(text) + 1):
        replayed = replay(made, [text[:at], text[at:]], "", snapshots=True)
        assert (replayed.final.content, [call.name for call in replayed.final.tool_calls]) == (content, names)
        assert_append_only(replayed.messages)
        assert_regions_tile(replayed)
    assert replay(made, list(text), "").events == replay(made, [text], "").events
    only_b = made.bind(tools=tools("b"))
    for chunks in ([text], list(text)):
        found = replay(only_b, chunks, "").final
        assert [call.name for call in found.tool_calls] == ["b"]
        assert "a" in (found.content or "")


def test_a_parameter_name_before_no_literal_is_a_grammar_error() -> None:
    """Never an exception that is not chatpeg's."""
    with pytest.raises(chatpeg.GrammarError, match="nothing ends this PARAM_NAME"):
        chatpeg.loads('start = "<" ^ tool_call:(name:TOOL_NAME arguments:(key:PARAM_NAME [a-z])) ">"')


# -- recovery -------------------------------------------------------------------------------------------------------

START_REASON = "machine.py _recover(): the start rule's start is taken to be the start of the buffer: P1"


@pytest.mark.parametrize("text", ["abc?", "abc?def"])
def test_recovery_of_the_start_rule_does_not_depend_on_chunks(text: str) -> None:
    """The start rule began at the input's start, however much of it has been released."""
    found = message(written('start = content:[a-z]* "!"'), text)
    assert found.content == text


LABEL_REASON = "regions.py _recover(): text of a region still open is released up to the scope's start only: P1"


def test_a_region_that_fails_inside_keeps_its_text() -> None:
    """Open text regions close where they stand and keep their text, for every chunking."""
    found = message(written('start = "<<" ^ reasoning:("ab" "cd") ">" content:until(!.)'), "<<abx>y")
    assert (found.reasoning_content, found.content) == ("ab", "x>y")


SECTION = """
%trigger section
start   = text (section text)*
text    = content:until(section)
section = "[[" ^ call* "]]"
call    = "<" ^ tool_call:(name:TOOL_NAME ":" arguments:TOOL_ARGUMENTS) ">"
"""


def spans(found: Any) -> list[tuple[str, str]]:
    """Label and text of each malformed region."""
    return [(entry.label, entry.text) for entry in found.malformed]


RECOVERIES = [
    ("the call alone, to its closer", "a[[<f:{}><g:x><h:{}>]]b", ["f", "h"], "a<g:x>b", [("tool_call", "<g:x>")]),
    ("to its next opener", "[[<f:{}><g:x<h:{}>]]", ["f", "h"], "<g:x", [("tool_call", "<g:x")]),
    ("to the end", "[[<f:{}><g:x", ["f"], "<g:x", [("tool_call", "<g:x")]),
    ("no name", "[[<f:{}><:{}>]]b", ["f"], "<:{}>b", [("tool_call", "<:{}>")]),
    ("the section behind its calls", "[[<f:{}>oops]]b", ["f"], "oops]]b", [("content", "oops]]")]),
    ("the section to its opener", "[[<f:{}>oops[[<g:{}>]]", ["f", "g"], "oops", [("content", "oops")]),
    ("before the first call", "a[[oops]]b", [], "a[[oops]]b", [("content", "[[oops]]")]),
    ("a quoted call in a broken one", "[[<f:{}><g:x [[<h:{}>]]b", ["f", "h"], "<g:x [[b", None),
]


@pytest.mark.parametrize("name, text, names, kept, malformed", RECOVERIES, ids=[row[0] for row in RECOVERIES])
def test_recovery_gives_up_the_scope_and_goes_on(
    name: str, text: str, names: list[str], kept: str, malformed: list[tuple[str, str]] | None
) -> None:
    """The frame of the open call, else the innermost committed rule: to F, then to its closer, opener or the end."""
    found = message(written(SECTION), text)
    assert [call.name for call in found.tool_calls] == names, name
    assert found.content == kept
    assert malformed is None or spans(found) == malformed


def test_the_markers_of_an_outer_rule_that_has_released_nothing_are_recovered_too() -> None:
    """A broken first call takes the section's opener with it."""
    found = message(written(SECTION), "a[[<f:x>]]b")
    assert found.content == "a[[<f:x>b"


def test_unparsed_drop_lists_recovered_text_only() -> None:
    """`unparsed="drop"`: it is in `malformed` and nowhere else."""
    kept, dropped = (message(written(SECTION), "a[[<f:{}><g:x>]]b", unparsed=how) for how in ("content", "drop"))
    assert (kept.content, dropped.content) == ("a<g:x>b", "ab")
    assert kept.malformed == dropped.malformed


@pytest.mark.parametrize(
    "text, pos",
    [
        ("[[<f:x>]]", 5),
        ('[[<f:{"a": tru}>]]', 14),
        ("[[<f:{}]]", 7),
        ("[[<f:{", 6),
        ("[[<f", 4),
        ('[[<f:{"a":"\n"}>]]', 11),
    ],
)
def test_the_failure_point_is_the_farthest_failed_terminal(text: str, pos: int) -> None:
    """A natively scanned value fails at the offending character, the end of input is the end."""
    found = message(written(SECTION), text)
    assert [entry.error.pos for entry in found.malformed] == [pos]


def test_a_failure_inside_a_predicate_is_no_failure_point() -> None:
    """Only terminals outside predicates count."""
    grammar = written('start = "<" ^ content:[a-z]* !("!" "b") &("!" / ".") "." ">"')
    assert message(grammar, "<a!a").malformed[0].error.pos == 2


def test_a_scope_that_is_backtracked_out_of_keeps_the_failure_point() -> None:
    """F is the farthest position at which a terminal failed since the failing scope began."""
    grammar = written(
        """
        start = "<" ^ (("ab" "cd" "e") / inner / "x") ">" content:until(!.)
        inner = "ab" &"Z" ^ "cde"
        """
    )
    assert replay(grammar.bind(), ["<abcdX>y"], "").final.malformed[0].error.pos == 5


def test_recovered_text_is_a_content_region_of_its_own() -> None:
    """It is released as it comes, opens and closes, and is one entry of `malformed`."""
    parser = written(SECTION).parser(prompt="")
    parser.feed("a[[<f:x")
    assert parser.feed("yz") == [RegionChunk("content", "yz", True)]
    events = parser.feed(">]]b")
    assert [type(event) for event in events] == [RegionChunk, RegionClose, RegionOpen, RegionChunk]
    assert events[1].value.endswith("<f:xyz>")


def test_recovered_text_is_never_read_again() -> None:
    """A call quoted before F in a broken call is not a call."""
    found = message(written(SECTION), '[[<f:{"a": "<g:{}>" oops}>]]b')
    assert found.tool_calls == ()
    assert found.content.endswith("b")


EMPTY_REASON = "machine.py _recover(): nothing is recovered when F is where the scope has released to"


@pytest.mark.parametrize("text", ["w<ab<b>z", "w<<b>z"])
def test_what_is_recovered_is_at_least_one_character(text: str) -> None:
    """What strict refuses is listed in `malformed`, and a marker that released nothing is not lost."""
    grammar = written('start = text (mark text)*\ntext = content:until(mark)\nmark = "<" ^ content:[ab]* ">"')
    found = message(grammar, text)
    with pytest.raises(ParseError):
        grammar.parse(text, strict=True, prompt="")
    assert found.malformed


def test_a_marker_before_an_empty_region_is_not_lost() -> None:
    """The opener of a rule that has released nothing belongs to what is recovered."""
    grammar = written('start = text (mark text)*\ntext = content:until(mark)\nmark = "<" ^ content:[ab]* "\\n"')
    assert message(grammar, "w<k").content == "w<k"


# -- events, errors, strict -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a[[<f:{}><g:x>]]b", "[[<f:{}>oops]]b", '[[<f:{"a":1,"a":2}>', "a[[", "[[<f"])
def test_each_open_is_closed_or_malformed_once(text: str) -> None:
    """Regions do not nest, and chunks lie inside a region of their label."""
    opened = None
    for event in run(written(SECTION), text).events:
        if isinstance(event, RegionOpen):
            assert opened is None
            opened = event.label
        else:
            assert event.label == opened
            opened = opened if isinstance(event, RegionChunk) else None
    assert opened is None


def test_errors_compare_by_type_position_and_message() -> None:
    assert ParseError("a", 1, 1, 2) == ParseError("a", 1)
    assert ParseError("a", 1) != ParseError("a", 2)
    assert ParseError("a", 1) != ParseError("b", 1)
    assert ParseError("a", 1) != DecodeError("a", 1)
    assert len({ParseError("a", 1), ParseError("a", 1, 3, 4)}) == 1
    assert pickle.loads(pickle.dumps(DecodeError("a", 1, 2, 3, ("x",)))) == DecodeError("a", 1)


STRICT = """
start = text (call text)*
text  = content:until(call)
call  = ("<" / tolerate("{")) ^ tool_call:(name:TOOL_NAME ":" arguments:parameter*) ">"
parameter = "[" key:PARAM_NAME "=" value:PARAM_VALUE("]") "]"
"""
VETOED = [
    ("tolerate", "ab{f:>c", 3),
    ("the first of two", "a{f:>b{f:>", 2),
    ("recovered", "a<f:x>", 4),
    ("retyped", "a<f:[n=x]>", 1),
    ("incomplete", "a<f:", 4),
    ("not offered", "a<g:>", 5),
    ("repeated", "a<f:[n=1][n=2]>", None),
]


@pytest.mark.parametrize("name, text, pos", VETOED, ids=[row[0] for row in VETOED])
def test_strict_refuses_what_was_not_canonical_and_complete(name: str, text: str, pos: int | None) -> None:
    """The same reading with a veto: position, line and column of the first such place."""
    chat = written(STRICT).bind(tools=tools("f", n={"type": "integer"}))
    chat.parse(text, prompt="")
    with pytest.raises(ParseError) as caught:
        chat.parse(text, strict=True, prompt="")
    assert pos is None or (caught.value.pos, caught.value.line, caught.value.column) == (pos, 1, pos + 1), name


def test_strict_refuses_left_over_text() -> None:
    grammar = written('start = "<" content:until(">") ">"')
    assert grammar.parse("<a>", strict=True, prompt="").content == "a"
    with pytest.raises(ParseError, match="end of the output") as caught:
        grammar.parse("<a>\nb", strict=True, prompt="")
    assert (caught.value.pos, caught.value.line, caught.value.column) == (3, 1, 4)


def test_a_strict_error_says_what_was_expected() -> None:
    """ParseError (position, line, expected)."""
    with pytest.raises(ParseError) as caught:
        written(STRICT).parse("a<f:x>", strict=True, prompt="")
    assert caught.value.expected == ("'['", "'>'")


# -- prompt ---------------------------------------------------------------------------------------------------------

PROMPTED = """
%prompt "<|a|>" "<|b|>"
%prefill "<think>"
start = (think content:until(!.)) / content:until(!.)
think = "<think>" ^ reasoning:until("</think>") "</think>"
"""


@pytest.mark.parametrize(
    "prompt, fed",
    [
        (None, "<think>"),
        ("", ""),
        ("no anchor", "no anchor"),
        ("x<|a|>", ""),
        ("x<|a|>y<|b|>z", "z"),
        ("x<|b|>y<|a|><think>", "<think>"),
        ("<|a|>1<|a|>2", "2"),
    ],
)
def test_the_text_after_the_last_anchor_is_fed_first(prompt: str | None, fed: str) -> None:
    """No anchor in it: all of it; None means %prefill, "" nothing."""
    assert written(PROMPTED).parser(prompt=prompt).input_text == fed


def test_what_the_prompt_opened_goes_on() -> None:
    """A region's value includes its prompt part; deltas and chunks never contain prompt bytes."""
    seen = replay(written(PROMPTED).bind(), ["b</think>c"], "<|a|><think>a")
    assert (seen.final.reasoning_content, seen.final.content) == ("ab", "c")
    assert [event.text for event in seen.events if isinstance(event, RegionChunk)] == ["b", "c"]
    parser = written(PROMPTED).parser(prompt="<think>a")
    assert parser.initial_events == [RegionOpen("reasoning", 0, 7, {})]
    assert [event.value for event in parser.feed("b</think>") if isinstance(event, RegionClose)] == ["ab"]


@pytest.mark.parametrize("cut", range(len("<think>ab</think>c")))
def test_a_prompt_is_the_beginning_of_the_text(cut: int) -> None:
    """P1: the events of `parser(prompt=p)` fed t are those of p + t with an empty prompt, chunks aside."""
    text = "<think>ab</think>c"
    whole, split = (replay(written(PROMPTED).bind(), [t], p) for p, t in (("", text), (text[:cut], text[cut:])))
    assert split.final == whole.final
    assert split.input_text == whole.input_text
    kept = [[event for event in seen.events if not isinstance(event, RegionChunk)] for seen in (whole, split)]
    assert kept[0] == kept[1]


def test_recovered_content_holds_no_prompt_bytes() -> None:
    """What the prompt began and the model broke: only the model's part is content."""
    found = replay(written(SECTION).bind(), ["x>]]b"], "[[<f:").final
    assert found.content == "x>b"


def test_recovery_that_began_in_the_prompt_opens_its_region() -> None:
    seen = replay(written(SECTION).bind(), ["y>]]b"], "[[<f:x")
    assert [type(event) for event in seen.events] == [
        *(RegionOpen, RegionMalformed),
        *(RegionOpen, RegionChunk, RegionClose),
        *(RegionOpen, RegionChunk, RegionClose),
    ]


@pytest.mark.parametrize("format_id", FORMATS)
def test_a_dump_is_an_instruction_a_line(format_id: str) -> None:
    """And it is the same for the same grammar."""
    program = chatpeg.load(format_id).program
    assert len(program.dump().splitlines()) == len(program.code)
    assert " at 0x" not in program.dump()


# -- memory, independence, state ------------------------------------------------------------------------------------


def test_the_buffer_holds_unreleased_text_only() -> None:
    """P4: 1 MB of text in chunks leaves neither text, log nor choices in the machine."""
    parser = written(SECTION).parser(prompt="")
    for _ in range(10_000):
        parser.feed("some words and < signs\n")
        assert len(parser._machine.text) <= 4
    assert (parser._machine.log, parser._machine.choices) == ([], [])


def test_made_up_names_are_not_kept() -> None:
    """A chat that reads reply after reply, each with parameters of new names, does not grow."""
    schema = {"additionalProperties": {"type": "string"}}
    chat = chatpeg.load("qwen3-coder").bind(
        tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]
    )

    def read(first: int) -> int:
        names = range(first, first + 10_000)
        parameters = "".join(f"<parameter=p{name}>\nv\n</parameter>\n" for name in names)
        assert chat.parse(f"<tool_call>\n<function=f>\n{parameters}</function>\n</tool_call>").tool_calls
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = read(0)
        assert read(10_000) - before < 100_000
    finally:
        tracemalloc.stop()


def test_text_left_over_is_released_as_it_comes() -> None:
    """Behind the end of the grammar nothing is held back."""
    parser = written('start = content:"x" / content:"xy"').parser(prompt="")
    for chunk in ("x", "?", "some text" * 100):
        parser.feed(chunk)
    assert parser.message.content == "x?" + "some text" * 100
    assert len(parser._machine.text) < 10


def test_parses_share_nothing() -> None:
    """P5: two parsers of a chat, fed in turn, read as they would alone."""
    chat = written(SECTION).bind()
    texts = ("a[[<f:{}><g:x>]]b", "[[<h:{}>oops]]c")
    parsers = [chat.parser(prompt="") for _ in texts]
    for first, second in zip(*texts, strict=False):
        parsers[0].feed(first)
        parsers[1].feed(second)
    for parser, text in zip(parsers, texts, strict=True):
        parser.feed(text[min(map(len, texts)) :])
        parser.finish()
        assert parser.message == chat.parse(text, prompt="")


def test_captures_are_the_consumers_own() -> None:
    """P5: a consumer that writes into the captures of an event changes no other event."""
    grammar = written("start = content:until(!.)")
    first, second = (grammar.parser(prompt="").feed("a")[0] for _ in range(2))
    try:
        first.captures["x"] = "y"
    except TypeError:  # read-only will do
        return
    try:
        assert second.captures == {}
    finally:
        del first.captures["x"]


def test_the_captures_of_a_call_are_its_own() -> None:
    chat = written(AFTER).bind()
    for _ in range(2):
        events = chat.parser(prompt="").feed("<f:{}>")
        assert events[0].captures == {"name": "f"}
        events[0].captures.clear()
        assert events[1].value.name == "f"
        events[1].value.args["x"] = 1
        assert events[1].value.args == {}


def test_fields_and_tools_are_not_aliased() -> None:
    """The message's fields are a dict of their own, the tools list may change after `bind`."""
    offered = tools("f")
    chat = written("%fields note\n" + AFTER.replace("text  = ", 'text  = ("!" note:. "!")? ')).bind(tools=offered)
    parser = chat.parser(prompt="")
    parser.feed("!n!a")
    parser.message.fields.clear()
    assert parser.message.fields == {"note": "n"}
    offered[0]["function"]["name"] = "g"
    offered.clear()
    assert [call.name for call in chat.parse("<f:{}>", prompt="").tool_calls] == ["f"]


def test_an_error_is_the_consumers_own() -> None:
    parser = written(SECTION).parser(prompt="")
    events = parser.feed("[[<f:x>]]") + parser.finish()
    error = next(event.error for event in events if isinstance(event, RegionMalformed))
    try:
        error.message = "mine"
    except AttributeError:  # immutable will do
        return
    assert parser.message.malformed[0].error.message != "mine"


def test_a_chat_is_cached_and_picklable() -> None:
    """Equal arguments give the same chat; a pickled one parses the same."""
    grammar = written(AFTER)
    chat = grammar.bind(tools=tools("f"), unknown_tools="call")
    assert chat is grammar.bind(tools=tools("f"), unknown_tools="call")
    assert chat is not grammar.bind(tools=tools("g"), unknown_tools="call")
    again = pickle.loads(pickle.dumps(chat))
    assert again.parse("a<f:{}>", prompt="") == chat.parse("a<f:{}>", prompt="")
    assert again.options == chat.options


def test_a_parser_says_when_it_is_over() -> None:
    """`feed` and `finish` after `finish` are a StateError, anything but text a TypeError."""
    parser = written(AFTER).parser(prompt="")
    for wrong in (None, b"a", 1):
        with pytest.raises(TypeError, match="takes a str"):
            parser.feed(wrong)
        with pytest.raises(TypeError, match="takes a str"):
            written(AFTER).parse(wrong)
    parser.finish()
    with pytest.raises(StateError):
        parser.feed("a")
    with pytest.raises(StateError):
        parser.finish()


def test_partial_is_feed_then_message() -> None:
    """Half-seen delimiters are held back, nothing is resolved, and it is not complete."""
    parser = written(SECTION).parser(prompt="")
    parser.feed("ab[")
    partial = written(SECTION).parse("ab[", partial=True, prompt="")
    assert partial == parser.message
    assert (partial.content, partial.complete) == ("ab", False)
    assert written(SECTION).parse("ab[", prompt="").content == "ab["
