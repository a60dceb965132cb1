"""constrained=True: closers inside JSON values and opening tags are content, for every split; and only then."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from chatpeg.response_template import ResponseParser, constrained, parse_response
from chatpeg.response_template.tags import json_tags, tag_of
from hypothesis import given, settings
from hypothesis import strategies as st
from template_events import parsed
from template_samples import REPLIES, XML_CALLS, splits

JSON_CALLS: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {"calls": {"open": "<c>", "close_pattern": r"\s*</c>", "content": "json", "repeats": True}, "text": {}},
}
TAG_CALLS: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "calls": {
            "open_pattern": r"<f (?P<name>\w+)>",
            "close_pattern": r"\s*</f>",
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</(?P=key)>"},
            "repeats": True,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "text": {},
    },
}
TYPES: dict[str, Any] = {
    "o": {"type": "object"},
    "o+": {"type": "object"},
    "l": {"anyOf": [{"type": "array"}, {"type": "null"}]},
    "n": {"type": "integer"},
    "s": {"type": "string"},
    "u": {"type": ["string", "object"]},
    "x": {},
}


def tools(*, strict: bool) -> list[dict[str, Any]]:
    """The tool ``f`` with a parameter of each kind."""
    return [{"type": "function", "function": {"name": "f", "strict": strict, "parameters": {"properties": TYPES}}}]


def regions(template: Any, text: str, **options: Any) -> list[tuple[str, str, str]]:
    """How each region ended, and its text and that of its closer; the same for every split into two and one by one."""
    whole = parsed(template, [text], **options)
    for chunks in (list(text), *([text[:cut], text[cut:]] for cut in range(len(text) + 1))):
        assert parsed(template, chunks, **options) == whole, chunks
    found = []
    for event in whole[1]:
        if event["type"] == "region_open":
            body = ""
        elif event["type"] == "region_chunk":
            body += event["text"]
        else:
            found.append((event["type"].removeprefix("region_"), body, text[event["start"] : event["end"]]))
    return found


# -- json -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '{"a": "</c>"}',
        '{"</c>": 1}',
        '\n ["</c>", "</c></c>"]',
        '"</c>"',
        r'{"a": "\"</c>", "b": "\\"}',
        r'"\u00e9</c>\\"',
        '{"a": [{"b": "  </c>"}]}',
        "12",
        "-1.5e3",
        "true",
        "null",
        "[]",
        '{"a": 1, "a": "</c>"}',
        "[" * 200 + '"</c>"' + "]" * 200,
    ],
)
@pytest.mark.parametrize("blanks", ["", " \n"])
def test_a_closer_inside_the_json_of_a_region_is_content(body: str, blanks: str) -> None:
    found = regions(JSON_CALLS, f"<c>{body}{blanks}</c>tail</c>", constrained=True)
    assert found == [("close", body, f"{blanks}</c>"), ("close", "tail</c>", "")]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "{",
        '{"a": 1',
        '{"a": 1, ',
        '["x" 1, "',
        '{"a": "\t',
        r'{"a": "\x',
        "nul",
        "x",
        "-",
        '{"a": NaN, "b": "',
        "[" * 300 + '"',
    ],
)
def test_from_where_the_json_is_broken_a_closer_counts_again(body: str) -> None:
    """Also the one that breaks it; a reply that was cut off or is no JSON does not swallow what follows."""
    found = regions(JSON_CALLS, f"<c>{body}</c>tail", constrained=True)
    kept = body.rstrip()
    assert found == [("malformed", kept, body[len(kept) :] + "</c>"), ("close", "tail", "")]


def test_a_closer_that_only_the_end_of_a_value_can_hold_counts_behind_it() -> None:
    """Blanks and brackets may be a closer, and may be part of a value."""
    for closer, body in (("\n", '\n{\n"a":\n1\n}'), ("]", '["]", []]'), ("}\n", '{"a":{}\n}')):
        template = {"start_anchor": "<bot>", "fields": {"calls": {"open": "<c>", "close": closer, "content": "json"}}}
        assert regions(template, f"<c>{body}{closer}", constrained=True) == [("close", body, closer)]


def test_an_empty_closer_is_content_too() -> None:
    template = {
        "start_anchor": "<bot>",
        "fields": {"calls": {"open": "<c>", "close_pattern": "(?=</c>)", "content": "json"}, "text": {}},
    }
    found = regions(template, '<c>["</c>"]</c>', constrained=True)
    assert found == [("close", '["</c>"]', ""), ("close", "</c>", "")]
    assert regions(template, '<c>["a"</c>', constrained=True)[0] == ("malformed", '["a"', "")


def test_a_reply_that_is_json_as_a_whole() -> None:
    """The text outside of all regions may be of content json; openers count in it as ever."""
    template = {
        "start_anchor": "<bot>",
        "fields": {"calls": {"open": "<", "close": ">"}, "text": {"content": "json", "close": ["<end>"]}},
    }
    assert regions(template, '["<end>"]<end>', constrained=True)[0] == ("malformed", '["', "")
    template["fields"]["calls"]["open"] = "<call>"
    assert regions(template, '["<end>"]<end>', constrained=True) == [("close", '["<end>"]', "<end>")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.lists(st.sampled_from(["</c>", '"', "\\", "\n", "a"])).map("".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "</c>", '"']), inner, max_size=3),
)


@given(st.data(), st.lists(JSON, min_size=1, max_size=3), st.sampled_from([None, 1]))
def test_any_json_is_read_whole(data: st.DataObject, values: list[Any], indent: int | None) -> None:
    text = "".join(f"<c>{json.dumps(value, indent=indent, ensure_ascii=False)}</c>" for value in values)
    for chunks in ([text], list(text), data.draw(splits(text))):
        assert parsed(JSON_CALLS, chunks, constrained=True)[0] == {"calls": values}


def test_a_dialect_of_json_is_not_followed() -> None:
    """With content_args it is not known what a string is."""
    template = json.loads(json.dumps(JSON_CALLS))
    template["fields"]["calls"]["content_args"] = {"allow_non_json": True}
    assert regions(template, '<c>["</c>"]</c>', constrained=True)[0] == ("close", '["', "</c>")


# -- xml-inline -----------------------------------------------------------------------------------------------------


def arguments(body: str, *, strict: bool = True, template: Any = TAG_CALLS, **options: Any) -> Any:
    """The arguments of a call with this body, that ends where the text does."""
    text = f"<f f>{body}</f>"
    options = {"tools": tools(strict=strict), "constrained": True} | options
    ((kind, whole, _),) = regions(template, text, **options)
    assert (kind, whole) == ("close", body)
    return parse_response(text, template, prefix="", **options)["calls"][0]["function"]["arguments"]


@pytest.mark.parametrize(
    "body, expected",
    [
        ('<o>{"a": "</f>"}</o>', {"o": {"a": "</f>"}}),
        ('<o>\n{"a": "</o></f>"}\n</o>', {"o": {"a": "</o></f>"}}),
        ('<l>["</l>", "<n>", " </f>"]</l><n>3</n>', {"l": ["</l>", "<n>", " </f>"], "n": 3}),
        ('<l>null</l><o>{"a": "\\"</o></f>"}</o>', {"l": None, "o": {"a": '"</o></f>'}}),
        ('<n>3</n>\n<o>{"</f>": {}}</o>', {"n": 3, "o": {"</f>": {}}}),
        ('<o>{"a": "</o>"}</o><o>{"b": 1}</o>', {"o": {"b": 1}}),
        ('<o+>{"a": "</o+></f>"}</o+>', {"o+": {"a": "</o+></f>"}}),
        ('<s>"</s>', {"s": '"'}),
        ('<u>{"a": "b"}</u>', {"u": {"a": "b"}}),
        ("<x>[</x>", {"x": "["}),
        ("<o>[</o>", {"o": "["}),
        ('<o>{"a": "</o>", b}</o>', {"o": '{"a": "</o>", b}'}),
        ("", {}),
    ],
)
def test_a_parameter_of_a_strict_tool_that_is_no_string_holds_json(body: str, expected: Any) -> None:
    assert arguments(body) == expected


def test_the_key_may_hold_a_closer() -> None:
    """Inside of an opening tag nothing ends the call; that needs no tool."""
    template = json.loads(json.dumps(TAG_CALLS))
    template["fields"]["calls"]["close_pattern"] = "</f"
    template["fields"]["calls"]["content_args"]["tag_pattern"] = r"<(?P<key>[^>\n]+)>(?P<value>.*?)</>"
    found = regions(template, "<f f><a</f>1</>\n<b></f></></f", constrained=True)
    assert found == [("close", "<a</f>1</>\n<b>", "</f"), ("close", "></></f", "")]


@pytest.mark.parametrize(
    "body, rest",
    [
        ("<s>", "</s>"),
        ("<x>[", "</x>"),
        ('<x>["', '"]</x>'),
        ('<s>{"a": "', '"}</s>'),
        ('<u>{"a": "', '"}</u>'),
        ("<a\n", "</a>"),
        ("<o>{", "}</o>"),
        ('<o>{"a": "\t', '"}</o>'),
        ('<o>{"a": 1} x', "</o>"),
        ("<n>", "3</n>"),
        ("<n>3", "</n>"),
        ("<n>\n", "</n>"),
        ("<s>1</s> text ", ""),
        ("<" + "a" * 300, "</f>"),
    ],
)
def test_elsewhere_in_a_call_a_closer_counts(body: str, rest: str) -> None:
    """In a string that may hold anything, in JSON that is broken or over, between tags, in what is too long for a tag."""
    found = regions(TAG_CALLS, f"<f f>{body}</f>{rest}", tools=tools(strict=True), constrained=True)
    assert found[0][1] + found[0][2] == body + "</f>"


@pytest.mark.parametrize("body", ["<o>{", '<o>{"a": 1', "<o>", "<l>[]", "<s>1</s>", "<s>1"])
def test_the_blanks_of_a_closer_are_no_content(body: str) -> None:
    """Though more of the value, or a value, might come behind them."""
    found = regions(TAG_CALLS, f"<f f>{body} </f>", tools=tools(strict=True), constrained=True)
    assert found == [("close", body, " </f>")]


def test_a_closer_that_begins_with_the_end_of_a_value_is_content() -> None:
    template = json.loads(json.dumps(TAG_CALLS))
    template["fields"]["calls"]["close_pattern"] = r"\]</l>|</f>"
    found = regions(template, "<f f><l>[1]</l>\n</f>", tools=tools(strict=True), constrained=True)
    assert found[0] == ("close", "<l>[1]</l>\n", "</f>")


@pytest.mark.parametrize("length, content", [(10, True), (200, True), (255, False), (1000, False)])
def test_an_opening_tag_is_only_so_long(length: int, content: bool) -> None:
    text = "<f f><" + "a" * length + "\x20" + "</f>"
    (first, *_) = regions(TAG_CALLS, text, constrained=True)
    assert (first[2] == "") is content


@pytest.mark.parametrize(
    "options",
    [
        {"constrained": False},
        {"tools": None},
        {"tools": tools(strict=False)},
        {"tools": [{"name": "g", "strict": True, "parameters": {"properties": TYPES}}]},
    ],
)
def test_without_a_strict_tool_every_value_is_a_text(options: dict[str, Any]) -> None:
    options = {"tools": tools(strict=True), "constrained": True} | options
    found = regions(TAG_CALLS, '<f f><o>{"a": "</f>"}</o></f>', **options)
    assert found[0] == ("close", '<o>{"a": "', "</f>")
    message = parse_response('<f f><o>["</o>"]</o></f>', TAG_CALLS, prefix="", **options)
    assert message["calls"][0]["function"]["arguments"] == {"o": '["'}


def test_with_a_value_parser_of_json_all_parameters_hold_json() -> None:
    """Those that are declared, strings as well."""
    template = json.loads(json.dumps(TAG_CALLS))
    args = template["fields"]["calls"]["content_args"]
    args["value_parser"] = {"name": "json", "args": {"allow_non_json": True}}
    body = '<s>"</s></f>"</s><x>["</x>"]</x><n>3</n>'
    assert arguments(body, template=template) == {"s": "</s></f>", "x": ["</x>"], "n": 3}
    found = regions(template, '<f f><y>"</f>"</y></f>', tools=tools(strict=True), constrained=True)
    assert found[0] == ("close", '<y>"', "</f>")


def f(o: dict[str, int]) -> None: ...


def test_a_closer_is_asked_about_when_it_is_settled() -> None:
    """Before, another that begins earlier may come of the text."""
    template = json.loads(json.dumps(TAG_CALLS))
    template["fields"]["calls"]["close_pattern"] = r">\[xy|\["
    found = regions(template, "<f f><o>[xy", tools=tools(strict=True), constrained=True)
    assert found[0] == ("close", "<o>", "[")


@pytest.mark.parametrize("schema", [None, 5, {"type": 5}, {"anyOf": 5}, {"oneOf": [5]}, {"type": [5]}])
def test_a_schema_that_is_none_declares_nothing(schema: Any) -> None:
    tool = {"name": "f", "strict": True, "parameters": {"properties": {"o": schema}}}
    found = regions(TAG_CALLS, '<f f><o>["</f>"]</o></f>', tools=[tool], constrained=True)
    assert found[0] == ("close", '<o>["', "</f>")


def test_a_function_is_no_strict_tool() -> None:
    found = regions(TAG_CALLS, '<f f><o>{"</f>": 1}</o></f>', tools=[f], constrained=True)
    assert found[0] == ("close", '<o>{"', "</f>")


VALUES = st.dictionaries(st.sampled_from(["</f>", "</o>", '"', "<l>"]), JSON, max_size=3)


@given(st.data(), VALUES, st.lists(JSON | st.sampled_from(["</f>", "</l>", " </o>"]), max_size=3))
def test_any_json_of_a_parameter_is_read_whole(data: st.DataObject, table: Any, items: Any) -> None:
    text = f"<f f><o>{json.dumps(table)}</o>\n<l>\n{json.dumps(items, indent=1)}</l>\n</f>"
    for chunks in ([text], list(text), data.draw(splits(text))):
        message, _ = parsed(TAG_CALLS, chunks, tools=tools(strict=True), constrained=True)
        assert message["calls"][0]["function"]["arguments"] == {"o": table, "l": items}


@pytest.mark.parametrize(
    "source, head, tail",
    [
        (r"<p=(?P<key>\w+)>\s*(?P<value>.*?)\s*</p>", r"<p=(?P<key>\w+)>\s*", r"\s*</p>"),
        (r"<(?P<key>\w+)>(?<value>.*?)</(?P=key)>", r"<(?P<key>\w+)>", "</k>"),
        (r"<(?P<key>\w)>(?P<value>(?:[)\]]|\)|(a)|\\)*)(?:b|$)", r"<(?P<key>\w)>", "(?:b|$)"),
        (r"<(?P<key>\w)>(?P<value>[^<]*)", r"<(?P<key>\w)>", ""),
        (r"(?i)<p (?P<key>\w)>(?P<value>.*?)</p>", r"(?i)<p (?P<key>\w)>", "</p>"),
    ],
)
def test_the_parts_of_a_tag(source: str, head: str, tail: str) -> None:
    tag = tag_of(source)
    assert tag is not None
    assert (tag.whole.pattern, tag.head.pattern, tag.tail("k").pattern) == (source, head, tail)
    assert tag.tail("k").flags == tag.head.flags == tag.whole.flags


@pytest.mark.parametrize(
    "source",
    [
        "",
        "(",
        r"<(?P<key>\w+)>",
        r"(?P<value>.*?)=(?P<key>\w+);",
        r"<(?P<value>.*?)=(?P<key>\w+);",
        r"(?P<key>\w*)(?P<value>x)",
        r"(?:<(?P<key>\w+)>(?P<value>.*?))</a>",
        r"<(?P<key>\w)>(?P<value>.*?)?</a>",
        r"<(?P<key>(\w))>(?P<value>.*?)</\2>",
        r"<(?P<key>\w)>(?P<value>.*?)</(a)\1>",
        r"<(?P<key>\w)><(?P<b>b)>(?P<value>.*?)</(?P=b)>",
        r"<\X(?P<key>\w)>(?P<value>.*?)</a>",
    ],
)
def test_of_other_tags_all_closers_count(source: str) -> None:
    """Also of a pattern that is none: the region is malformed, and nothing is raised."""
    assert tag_of(source) is None
    for pattern in (source, 5, ["a"], None):
        template = json.loads(json.dumps(TAG_CALLS))
        template["fields"]["calls"]["content_args"] = {"tag_pattern": pattern}
        found = regions(template, '<f f><o>["</f>"]</o></f>', tools=tools(strict=True), constrained=True)
        assert found[0][1:] == ('<o>["', "</f>")


def test_blanks_before_json_are_part_of_the_text() -> None:
    tag = tag_of("<(?P<key>[a-z])>(?P<value>.*?)</>")
    assert tag is not None
    assert list(json_tags(tag, '<a>\n ["</>"]</>', frozenset("a"))) == [("a", '\n ["</>"]')]


def test_tags_are_read_as_they_are_without_keys() -> None:
    text = '<a>1</><b>["</>"]</><c></><d>'
    tag = tag_of("<(?P<key>[a-z])>(?P<value>.*?)</>")
    assert tag is not None
    assert list(json_tags(tag, text, frozenset())) == tag.whole.findall(text)


# -- every split, all sizes -----------------------------------------------------------------------------------------

LOOKING: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "calls": {"open": "<c>", "close_pattern": r"(?<=[\]}\"])\s*</c>|</c>(?!x)|</f>", "content": "json"},
        "text": {"content": "json", "close_pattern": r"</?f>|\]$"},
    },
}
PIECES = ["<c>", "</c>", "<f f>", "</f>", "<o>", "</o>", "<l>", "</l>", "<s>", "</s>", "<n>", "<", ">", "</", "x", "\n"]
PIECES += ["{", "}", "[", "]", '"', "\\", ",", ":", " ", "1", "tru", "true", '{"a": "', '"a"', r"\u00", "a"]


@pytest.mark.parametrize("examples", [300, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("template", [JSON_CALLS, TAG_CALLS, LOOKING], ids=["json", "tags", "looking"])
def test_every_split_gives_the_same_events(template: Any, examples: int) -> None:
    @given(st.data(), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
    @settings(max_examples=examples)
    def check(data: st.DataObject, middle: str) -> None:
        start = data.draw(st.sampled_from(["<c>", '<c>{"a": "', "<f f>", '<f f><o>{"a": "', "<f f><s>", ""]))
        text = start + middle + data.draw(st.sampled_from(["", "</c>", "</f>", '"}</c>', '"}</o></f>']))
        options: dict[str, Any] = {"tools": tools(strict=True), "constrained": True}
        whole = parsed(template, [text], **options)
        assert parsed(template, list(text), **options) == whole
        assert parsed(template, data.draw(splits(text)), **options) == whole

    check()


@pytest.mark.parametrize("template, text", REPLIES)
def test_what_has_no_closer_in_its_content_is_read_as_ever(template: Any, text: str) -> None:
    assert parsed(template, [text], constrained=True) == parsed(template, [text])


def test_without_constrained_the_first_closer_counts() -> None:
    assert regions(JSON_CALLS, '<c>["</c>"]</c>') == [("malformed", '["', "</c>"), ("close", '"]</c>', "")]
    with pytest.raises(ValueError, match="json"):
        parse_response('<c>["</c>"]</c>', JSON_CALLS, prefix="")
    assert parse_response('<c>["</c>"]</c>', JSON_CALLS, prefix="", constrained=True) == {"calls": [["</c>"]]}


def test_a_closer_that_is_content_is_handed_on_at_once() -> None:
    parser = ResponseParser(JSON_CALLS, "", constrained=True)
    assert [event.get("text") for event in parser.feed('<c>{"a": "</c> and </c>.')] == [None, '{"a": "</c> and </c>.']
    assert [event.get("text") for event in parser.feed("</c> </")] == ["</c>"]


BLOCKS: dict[str, tuple[Any, Callable[[int], str]]] = {
    "a string of closers": (JSON_CALLS, lambda n: '<c>["' + "</c>" * (n // 4) + '"]</c>'),
    "strings of closers": (JSON_CALLS, lambda n: "<c>[" + '"</c>",' * (n // 7) + "1]</c>"),
    "calls": (JSON_CALLS, lambda n: '<c>["</c>"]</c>' * (n // 15)),
    "blanks": (JSON_CALLS, lambda n: '<c>["</c>"' + " " * n + "]</c>"),
    "a parameter of closers": (TAG_CALLS, lambda n: '<f f><o>{"a": "' + "</f>" * (n // 4) + '"}</o></f>'),
    "parameters of closers": (TAG_CALLS, lambda n: "<f f>" + '<l>["</l></f>"]</l>' * (n // 19) + "</f>"),
    "parameters": (TAG_CALLS, lambda n: "<f f>" + "<s>abc</s>" * (n // 10) + "</f>"),
    "opening tags": (TAG_CALLS, lambda n: "<f f>" + ("<" + "</f " * 50 + ">1</a>") * (n // 208) + "</f>"),
    "prose before a tag": (TAG_CALLS, lambda n: "<f f>" + "some prose " * (n // 11) + "<" + "</f>"[:-1] * 80),
    "half a tag": (TAG_CALLS, lambda n: "<f f><" + "</f>"[:-1] * (n // 3)),
}


@pytest.mark.parametrize("size", [4, 1000, 1_000_000])
@pytest.mark.parametrize("name", BLOCKS)
def test_linear(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at of 100 kB: every call reads no more than what its body has when it begins."""
    seen = 0
    take = constrained._Body.take

    def counted(body: constrained._Body, *given: Any) -> None:
        nonlocal seen
        take(body, *given)
        seen += len(body.text)

    monkeypatch.setattr(constrained._Body, "take", counted)
    template, written = BLOCKS[name]
    template = json.loads(json.dumps(template))
    if "tag" in name or "blanks" in name:
        template["fields"]["calls"]["close_pattern"] = "</c>" if "blanks" in name else "</f"
    allowed = {"opening tags": 130}.get(name, 3)
    text = written(100_000)
    parser = ResponseParser(template, "", tools=tools(strict=True), constrained=True)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finalize()
    assert seen < allowed * len(text)


def test_json_that_is_there_as_a_whole_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most closers are the first of their region: the C scanner has read its value before a scan takes a step."""
    steps = 0

    class Counted(constrained.JsonScan):
        def _step(self, *given: Any) -> bool:
            nonlocal steps
            steps += 1
            return bool(super()._step(*given))

    monkeypatch.setattr(constrained, "JsonScan", Counted)
    value = [{"a": [1, "b"]}] * 50
    assert parse_response(f"<c>\n{json.dumps(value)}</c>", JSON_CALLS, prefix="", constrained=True) == {
        "calls": [value]
    }
    assert steps == 0
    parse_response(f"<c>{json.dumps(['</c>', *value])}</c>", JSON_CALLS, prefix="", constrained=True)
    assert steps > 100


def test_real_templates_read_code_that_holds_their_own_delimiters() -> None:
    code = "</parameter></function></tool_call>"
    text = f'<tool_call><function=f><parameter=o>\n{{"code": "{code}"}}\n</parameter></function></tool_call>'
    message = parse_response(text, XML_CALLS, prefix="", tools=tools(strict=True), constrained=True)
    assert message["tool_calls"][0]["function"]["arguments"] == {"o": {"code": code}}
