"""Faults of a template: each with its place, all at once, in the style of grammar files."""

from __future__ import annotations

from typing import Any

import pytest
from chatpeg import GrammarError
from chatpeg.response_template import TemplateError, load_response_template
from chatpeg.response_template.report import report
from template_samples import BARE_KEYS, CALL_LIST, THINK_JSON, XML_CALLS

GOOD: dict[str, Any] = {"start_anchor": "<bot>", "fields": {"a": {"open": "<a>"}}}


def field(**keys: Any) -> dict[str, Any]:
    return {"start_anchor": "<bot>", "fields": {"a": {"open": "<a>", **keys}}}


@pytest.mark.parametrize("template", [THINK_JSON, XML_CALLS, BARE_KEYS, CALL_LIST, GOOD])
def test_good_templates_load_without_warnings(template: dict[str, Any]) -> None:
    assert not load_response_template(template).warnings


@pytest.mark.parametrize(
    "template, message",
    [
        ([], "a response_template is a JSON object, not a list"),
        ({**GOOD, "version": 2}, "version 2 is not known"),
        ({**GOOD, "feilds": {}}, "unknown key 'feilds'"),
        ({**GOOD, "defaults": []}, "defaults must be an object, not a list"),
        ({"start_anchor": "<bot>"}, "fields must be an object with at least one field"),
        ({"start_anchor": "<bot>", "fields": {"a": 3}}, "field 'a' must be an object, not a number"),
        ({"fields": {"a": {}}}, "neither start_anchor nor start_anchor_pattern"),
        (
            {"start_anchor": "<bot>", "fields": {"a": {}, "b": {}}},
            "field 'b' has no open or open_pattern, and neither has 'a'",
        ),
        (field(opens="x"), "unknown key 'opens'"),
        (field(content="yaml"), "unknown content 'yaml'"),
        (field(content_args=[]), "content_args must be an object, not a list"),
        (field(open_pattern="x"), "both open and open_pattern"),
        (field(close=[]), "close must list at least one string"),
        (field(close=["x", 1]), "close must list strings only"),
        (field(close=["x", ""]), "close must not list an empty string"),
        (field(close=3), "close must be a string or a list of strings, not a number"),
        (field(close_pattern="("), "close_pattern is no regular expression: missing )"),
        (field(join=1, repeats=True), "join must be a string, not a number"),
        (field(join=""), "join without repeats"),
        (field(transform_each=1), "transform_each must be true or false, not a number"),
        (field(transform_each=True), "transform_each without a transform"),
        (
            field(transform={"x": ["call {name}"]}),
            "the transform string 'call {name}' mixes a placeholder with other text",
        ),
        (field(close_pattern="(?P<x>b)"), "close_pattern captures 'x', but the field has no transform"),
    ],
)
def test_what_is_refused(template: Any, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        load_response_template(template)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, GrammarError)


def test_all_faults_at_once_with_their_places() -> None:
    with pytest.raises(TemplateError) as caught:
        load_response_template(field(contnet="json", join="x"))
    assert str(caught.value) == (
        "error: unknown key 'contnet'\n"
        " --> response_template:6:7\n"
        "  |\n"
        '6 |       "contnet": "json",\n'
        "  |       ^^^^^^^^^\n"
        "help: did you mean 'content'?\n"
        "\n"
        "error: join without repeats\n"
        " --> response_template:7:7\n"
        "  |\n"
        '7 |       "join": "x"\n'
        "  |       ^^^^^^\n"
        'help: add "repeats": true'
    )


def test_a_file_is_named_and_shown(tmp_path: Any) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"start_anchor": "<bot>",\n "fields": {"a": {"content": "yaml"}}}', "utf-8")
    with pytest.raises(TemplateError) as caught:
        load_response_template(path)
    assert f"{path}:2:19" in str(caught.value)
    path.write_text("{", "utf-8")
    with pytest.raises(TemplateError, match="not JSON"):
        load_response_template(path)


def test_a_tag_pattern_that_can_not_work_is_a_warning() -> None:
    template = load_response_template(field(content="xml-inline"))
    assert [problem.message for problem in template.warnings] == [
        "xml-inline needs a tag_pattern: no region of this field will parse"
    ]


def test_what_delimiters_hold_back_is_reported() -> None:
    assert report(load_response_template(THINK_JSON)) == (
        "response_template: no errors\n"
        "  reasoning_content: open holds back 6 characters\n"
        "  reasoning_content: close holds back 7 characters\n"
        "  tool_calls: open_pattern holds back any number of characters ('\\\\s*<tool_call>')\n"
        "  tool_calls: close holds back 11 characters\n"
        "  content: close_pattern holds back any number of characters ('\\\\s*(?:<\\\\|im_end\\\\|>|<\\\\|endoftext\\\\|>)')"
    )


def test_a_pattern_that_is_not_read_is_held_back_to_the_end() -> None:
    assert "open_pattern holds back everything up to the end" in report(load_response_template(field_pattern(r"\X")))


def field_pattern(source: str) -> dict[str, Any]:
    return {"start_anchor": "<bot>", "fields": {"a": {"open_pattern": source}}}
