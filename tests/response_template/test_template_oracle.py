"""The same message and events as transformers' own parser when that is fed the whole text at once.

Where it is not the same a difference is listed in `DIFFERENCES`, each with its test. Needs the extra ``transformers``:
``pip install -e '.[test,transformers]' && pytest -m transformers``.
"""

from __future__ import annotations

import ast
import copy
import enum
import importlib.util
from pathlib import Path
from typing import Any, Literal

import pytest
from chatpeg.response_template import MissingFields, TemplateError, parse_response
from chatpeg.response_template.coerce import properties_of, types
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from template_events import merged, parsed
from template_samples import REPLIES, XML_CALLS, regexes, templates, texts

pytestmark = pytest.mark.transformers

MOST_REGIONS = 60


class Endless(Exception):
    """The original would open empty regions for ever."""


def original() -> Any:
    """Their module; imported late, because it takes seconds."""
    from transformers.utils import chat_parsing  # noqa: PLC0415 - an extra

    return chat_parsing


def theirs(template: Any, text: str, tools: Any = None) -> tuple[Any, list[dict[str, Any]]]:
    """Message and merged events of the original, fed ``text`` at once."""

    class Counted(original().ResponseParser):  # type: ignore[misc]
        opened = 0

        def _open_explicit(self, *arguments: Any) -> None:
            self.opened += 1
            if self.opened > MOST_REGIONS:
                raise Endless
            super()._open_explicit(*arguments)

    parser = Counted(copy.deepcopy(template), prefix="", tools=tools)
    events = parser.feed(text)
    message, rest = parser.finalize()
    return message, merged(events + rest)


def plain(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events without what the original does not tell: spans and captures; `dirty` differs (see `DIFFERENCES`)."""
    return [{key: event[key] for key in ("type", "field", "text", "value") if key in event} for event in events]


def assert_same(template: Any, text: str, tools: Any = None) -> None:
    try:
        expected = theirs(template, text, tools)
    except Endless:
        assume(False)
    except Exception as error:  # noqa: BLE001 - whatever it raises
        with pytest.raises(type(error) if not isinstance(error, AttributeError) else Exception):
            parse_response(text, template, prefix="", tools=tools)
        return
    message, events = parsed(template, [text], tools=tools)
    assert message == expected[0]
    assert list(message) == list(expected[0])
    assert plain(events) == plain(expected[1])


@pytest.mark.parametrize("template, text", REPLIES)
def test_real_templates(template: dict[str, Any], text: str) -> None:
    assert_same(template, text)


@pytest.mark.parametrize("examples", [500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_any_template(examples: int) -> None:
    @given(templates(), texts)
    @settings(max_examples=examples)
    def check(template: dict[str, Any], text: str) -> None:
        assert_same(template, text)

    check()


@pytest.mark.parametrize("examples", [200, pytest.param(3_000, marks=pytest.mark.slow)])
def test_any_two_regular_expressions(examples: int) -> None:
    @given(regexes, regexes, texts, st.booleans())
    @settings(max_examples=examples)
    def check(opener: str, closer: str, text: str, implicit: bool) -> None:
        fields: dict[str, Any] = {"a": {"open_pattern": opener, "close_pattern": closer}}
        fields["m"] = {"close_pattern": closer} if implicit else {}
        assert_same({"start_anchor": "<bot>", "fields": fields}, text)

    check()


def fallbacks() -> list[dict[str, Any]]:
    """The templates that ``transformers serve`` brings, read from its source: importing it needs a server's libraries."""
    root = importlib.util.find_spec("transformers")
    assert root is not None
    assert root.origin is not None
    source = (Path(root.origin).parent / "cli" / "serving" / "utils.py").read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_RESPONSE_TEMPLATE_FALLBACKS":
            return list(ast.literal_eval(node.value).values())
    raise AssertionError("transformers has no fallback templates")


MARKERS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<function=f>",
    "</function>",
    "<parameter=a>",
    "</parameter>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|tool_call>call:f",
    "<tool_call|>",
    "<|channel>thought\n",
    "<channel|>",
    "<turn|>",
    '{"name": "f", "arguments": {"a": "1"}}',
    '{a:<|"|>x<|"|>}',
    "\n",
    " text ",
    "3.0",
]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}]


def test_the_templates_of_its_server() -> None:
    served = fallbacks()

    @given(st.sampled_from(served), st.lists(st.sampled_from(MARKERS), max_size=16).map("".join))
    @settings(max_examples=1500)
    def check(template: dict[str, Any], text: str) -> None:
        assert_same(template, text)
        assert_same(template, text, TOOLS)

    check()


@st.composite
def bad_templates(draw: st.DrawFn) -> Any:
    """A template with something changed that may make it bad."""
    template = draw(templates())
    where = draw(st.sampled_from([template, template["fields"], *template["fields"].values()]))
    keys = [
        "open",
        "open_pattern",
        "close",
        "close_pattern",
        "content",
        "repeats",
        "join",
        "transform",
        "transform_each",
    ]
    keys += ["version", "fields", "start_anchor", "start_anchor_pattern", "defaults", "optional", "nonsense"]
    values = [
        None,
        "",
        "a",
        [],
        ["a"],
        ["a", ""],
        ["a", 1],
        3,
        {},
        True,
        "(",
        "(?P<x>a)",
        "{a} b",
        {"k": ["{a}{b}"]},
        "json",
    ]
    where[draw(st.sampled_from(keys))] = draw(st.sampled_from(values))
    if draw(st.booleans()):
        where.pop(draw(st.sampled_from(sorted(where))))
    return template


@given(bad_templates())
@settings(max_examples=1500)
def test_the_same_templates_load(template: Any) -> None:
    from transformers.utils.chat_parsing.response_templates import load_response_template  # noqa: PLC0415 - an extra

    try:
        load_response_template(copy.deepcopy(template))
        loads = True
    except (ValueError, TypeError, AttributeError):
        loads = False
    try:
        parse_response("", template, prefix="")
    except TemplateError:
        assert not loads
    except (MissingFields, ValueError, KeyError):
        assert loads
    else:
        assert loads


# -- listed differences ----------------------------------------------------------------------------------------------

DIFFERENCES = {
    "union": "a union with string is cast only from exactly the JSON of another declared type",
    "json strings": "a string decoded from JSON stays one where the schema allows strings",
    "exact": "large numbers are exact",
    "dirty": "chunks are clean only where they are the value: text without transform",
    "endless": "a region opened and closed by nothing is opened once at a place; the original never comes back",
    "malformed": "a region that does not parse is one event, and parsing goes on; the original raises out of feed",
    "split": "a split of the text changes nothing",
}


def arguments(schema: Any, value: str, template: Any = XML_CALLS) -> tuple[Any, Any]:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": schema}}}}]
    text = f"<tool_call><function=f><parameter=a>{value}</parameter></function></tool_call>"
    both = theirs(template, text, tools)[0], parse_response(text, template, prefix="", tools=tools)
    old, new = (message["tool_calls"][0]["function"]["arguments"]["a"] for message in both)
    return old, new


@pytest.mark.parametrize(
    "types, value, old, new",
    [
        (["string", "boolean"], "1", True, "1"),
        (["string", "null"], "None", None, "None"),
        (["integer", "string"], "1.0", 1, "1.0"),
        ("number", str(2**60 + 1), 2**60, 2**60 + 1),
        ("integer", "3.0", 3, 3),
        ("boolean", "0", False, False),
        (["integer", "string"], "7", 7, 7),
    ],
)
def test_difference_union_and_exact(types: Any, value: str, old: Any, new: Any) -> None:
    assert arguments({"type": types}, value) == (old, new)


def test_difference_endless() -> None:
    template = {"start_anchor": "<bot>", "fields": {"a": {"open_pattern": "(?=x)", "close_pattern": "(?=x)"}}}
    with pytest.raises(Endless):
        theirs(template, "x")
    assert [event["type"] for event in parsed(template, ["x"])[1]] == ["region_open", "region_close"]


@pytest.mark.parametrize(
    "opener, text", [({"open": ["<t>", "<t>\n\n"]}, "<t>\n\nx"), ({"open_pattern": "(?:ab)+"}, "ababx")]
)
def test_difference_split(opener: dict[str, Any], text: str) -> None:
    template = {"start_anchor": "<bot>", "fields": {"a": opener}}
    whole = theirs(template, text)
    assert parsed(template, list(text))[0] == whole[0]


class Unit(enum.Enum):
    KM = "km"
    STEPS = 1


def every_hint(  # noqa: PLR0917 - a parameter for each kind of hint, which is all it is for
    text: str,
    count: int,
    share: float,
    on: bool,
    anything: Any,
    either: str | int | bool | None,
    maybe: int | None,
    many: list[int],
    mixed: list[int] | str,
    pair: tuple[int, str],
    table: dict[str, int],
    unit: Unit,
    word: Literal["a", 2] | None,
    perhaps: list | dict | None = None,
) -> list[str]:
    """Takes all.

    Args:
        text: …
        count: …
        share: …
        on: …
        anything: …
        either: …
        maybe: …
        many: …
        mixed: …
        pair: …
        table: …
        unit: …
        word: …
        perhaps: …
    """
    return [
        str(value)
        for value in (text, count, share, on, anything, either, maybe, many, mixed, pair, table, unit, word, perhaps)
    ]


class Toolbox:
    def method(self, count: int) -> None:
        """Takes one.

        Args:
            count: …
        """
        raise NotImplementedError(count)


@pytest.mark.parametrize("function", [every_hint, Toolbox().method])
def test_functions_have_the_types_of_their_schema(function: Any) -> None:
    from transformers.utils import get_json_schema  # noqa: PLC0415 - an extra

    described = get_json_schema(function)["function"]
    declared = described["parameters"]["properties"]
    ours = properties_of([function])[described["name"]]
    assert {name: types(schema) for name, schema in ours.items()} == {
        name: types(schema) for name, schema in declared.items()
    }
