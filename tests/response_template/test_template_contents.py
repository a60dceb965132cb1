"""What the content parsers make of texts."""

from __future__ import annotations

from typing import Any

import pytest
from chatpeg.response_template.contents import content_reader


@pytest.mark.parametrize(
    "name, args, text, value",
    [
        ("text", {}, " a ", "a"),
        ("text", {"strip": False}, " a ", " a "),
        ("int", {}, " 5\n", 5),
        ("float", {}, "1e2", 100.0),
        ("bool", {}, "TRUE", True),
        ("bool", {}, "1", True),
        ("bool", {}, "yes", False),
        ("json", {}, ' {"a": [1]} ', {"a": [1]}),
        ("json", {"unquoted_keys": True}, '{a: 1, b : "{c: 2}"}', {"a": 1, "b": "{c: 2}"}),
        ("json", {"string_delims": [["<|", "|>"]]}, '[<|a "b"|>]', ['a "b"']),
        ("json", {"allow_non_json": True}, " not json ", "not json"),
        (
            "xml-inline",
            {"tag_pattern": r"<(?P<key>\w)>(?P<value>.*?)</\w>"},
            "<a>1</a><b>2\n</b>",
            {"a": "1", "b": "2\n"},
        ),
        (
            "xml-inline",
            {
                "tag_pattern": r"<(?P<key>\w)>(?P<value>[^<]*)",
                "merge_duplicates": True,
                "value_parser": {"name": "json"},
            },
            "<a>1<a>[2]<a>3",
            {"a": [1, [2], 3]},
        ),
        ("kv-lines", {}, "a: 1\nnone\n b:2:3", {"a": "1", "b": "2:3"}),
        ("kv-lines", {"line_sep": ";", "kv_sep": "=", "value_parser": {"name": "int"}}, "a=1;b=2", {"a": 1, "b": 2}),
        ("python-call-list", {}, "[]", []),
        (
            "python-call-list",
            {},
            " [ a.b-c ( x = 1 , y = 'q\\n\\u00e9' ) , d ( z = [True, None, {'k': -1.5e1}] ) ] ",
            [
                {"name": "a.b-c", "arguments": {"x": 1, "y": "q\né"}},
                {"name": "d", "arguments": {"z": [True, None, {"k": -15.0}]}},
            ],
        ),
        ("python-call-list", {}, r"[f(a='\ud83d\ude00')]", [{"name": "f", "arguments": {"a": "😀"}}]),
    ],
)
def test_values(name: str, args: dict[str, Any], text: str, value: Any) -> None:
    assert content_reader(name, args)(text) == value


@pytest.mark.parametrize(
    "name, args, text",
    [
        ("int", {}, "x"),
        ("json", {}, "{"),
        ("json", {"string_delims": [["<", ">"]]}, "[<\x01>]"),
        ("xml-inline", {}, ""),
        ("xml-inline", {"tag_pattern": "(?P<value>a)"}, "a"),
        *(
            ("python-call-list", {}, text)
            for text in [
                "",
                "f(a=1)",
                "[f(1)]",
                "[f(a=1,)]",
                "[f(a=1, a=2)]",
                "[f(a={'b': 1, 'b': 2})]",
                "[f(a=9007199254740992)]",
                "[f(a=1e999)]",
                "[f(a='x\n')]",
                "[f(a='\\x')]",
                "[f(a='\\ud800')]",
                "[f(a=" + "[" * 101 + "]" * 101 + ")]",
                "[f()] more",
                "[f(a=nan)]",
                "[f(a=",
            ]
        ),
    ],
)
def test_refusals(name: str, args: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        content_reader(name, args)(text)
