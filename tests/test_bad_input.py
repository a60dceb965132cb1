"""Bad input of every kind: a `ChatpegError` or a `TypeError` that says what to do."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chatpeg
import pytest
from chatpeg import ChatpegError, GrammarError, ParseError, RequestError, StateError, UnknownFormat


def tool(name: Any = "ping", parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def bind(**options: Any) -> Callable[[], Any]:
    return lambda: chatpeg.load("hermes").bind(**options)


def with_parameters(parameters: Any) -> Callable[[], Any]:
    return bind(tools=[tool(parameters=parameters)])


def with_property(schema: Any) -> Callable[[], Any]:
    return with_parameters({"type": "object", "properties": {"x": schema}})


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)

FORMATS = [
    (lambda: chatpeg.load("hermse"), UnknownFormat, "there is no format 'hermse'; did you mean hermes"),
    (lambda: chatpeg.load("xyzzy"), UnknownFormat, "shipped formats: deepseek-"),
    (lambda: chatpeg.load(""), UnknownFormat, "shipped formats"),
    (lambda: chatpeg.load("no/such.peg"), UnknownFormat, "there is no grammar file 'no/such.peg'"),
    (lambda: chatpeg.load(Path("no/such.peg")), UnknownFormat, "there is no grammar file"),
    (lambda: chatpeg.load("/"), UnknownFormat, "there is no grammar file '/'"),
    (lambda: chatpeg.load(None), TypeError, "a str or a path, not NoneType"),
    (lambda: chatpeg.load(b"hermes"), TypeError, "a str or a path, not bytes"),
    (lambda: chatpeg.load("a\0b"), UnknownFormat, "there is no format"),
    (lambda: chatpeg.for_model("acme/frobnicator-7b"), UnknownFormat, "no format lists the model"),
    (lambda: chatpeg.for_model("Quen3-Coder-30B"), UnknownFormat, "formats that come close: qwen3-coder"),
    (lambda: chatpeg.for_model(""), UnknownFormat, "no format lists the model ''"),
    (lambda: chatpeg.for_model(None), TypeError, "a model's name is a str, not NoneType"),
]

TOOLS = [
    (bind(tools="ping"), RequestError, "tools must be a list of OpenAI-style tools, not str"),
    (bind(tools={"name": "ping"}), RequestError, "tools must be a list of OpenAI-style tools, not dict"),
    (bind(tools=7), RequestError, "not int"),
    (bind(tools=[lambda: 0]), RequestError, "tools must be JSON data: Object of type function"),
    (bind(tools=RECURSIVE), RequestError, "tools must be JSON data"),
    (with_property({"const": float("nan")}), RequestError, "tools must be JSON data: .*not JSON compliant"),
    (bind(tools=[deep(100_000)]), RequestError, "tools must be JSON data"),
    (bind(tools=["ping"]), RequestError, r"tools\[0\] must be a dict, not str"),
    (bind(tools=[tool(), {"name": "ping"}]), RequestError, r"tools\[1\] is not an OpenAI-style tool; write \{"),
    (bind(tools=[{"type": "function", "function": []}]), RequestError, r"tools\[0\] is not an OpenAI-style tool"),
    (bind(tools=[tool("")]), RequestError, r"tools\[0\]: function.name must be a text that is not empty, not ''"),
    (bind(tools=[tool(None)]), RequestError, "function.name must be a text that is not empty, not None"),
    (bind(tools=[tool(), tool()]), RequestError, r"tools\[1\]: the name 'ping' is used twice"),
]

SCHEMAS = [
    (
        with_parameters([]),
        RequestError,
        r"tools\[0\] \(ping\): function.parameters must be a JSON schema, a dict, not \[\]",
    ),
    (with_parameters("object"), RequestError, "must be a JSON schema, a dict, not 'object'"),
    (with_parameters({"properties": []}), RequestError, r"parameters.properties must be a dict, not \[\]"),
    (with_parameters({"required": "x"}), RequestError, "parameters.required must be a list of names, not 'x'"),
    (with_property("string"), RequestError, "the schema of 'x' must be a dict or a bool, not 'string'"),
    (with_property(None), RequestError, "the schema of 'x' must be a dict or a bool, not None"),
]

OPTIONS = [
    (bind(tool_choice="always"), RequestError, "tool_choice must be 'auto', 'required', 'none' or {.*, not 'always'"),
    (bind(tool_choice=3), RequestError, "tool_choice must be .* not 3"),
    (bind(tool_choice={"function": "ping"}), RequestError, "tool_choice must be"),
    (
        bind(tools=[tool()], tool_choice={"type": "function", "function": {"name": "pong"}}),
        RequestError,
        "tool_choice names 'pong', which is not offered; offered: ping",
    ),
    (bind(unparsed="keep"), RequestError, "unparsed must be 'content' or 'drop', not 'keep'"),
    (bind(unparsed=[]), RequestError, r"unparsed must be 'content' or 'drop', not \[\]"),
    (bind(unknown_tools="drop"), RequestError, "unknown_tools must be 'content' or 'call', not 'drop'"),
    (bind(tool_calls="partial"), RequestError, "tool_calls must be 'whole' or 'incremental', not 'partial'"),
    (bind(response_format=lambda: 0), RequestError, "response_format must be JSON data"),
    (bind(given={"X": "y"}), RequestError, "hermes has no %given 'X'; it has none"),
    (bind(given="X"), RequestError, "given must be a dict"),
    (bind(parallel_tool_calls=None), RequestError, "parallel_tool_calls must be True or False, not None"),
    (bind(strict_schema="no"), RequestError, "strict_schema must be True or False, not 'no'"),
    (bind(temperature=1), TypeError, "temperature"),
]

TEXTS = [
    (lambda: chatpeg.load("hermes").parse(None), TypeError, r"parse\(\) takes a str, not NoneType"),
    (lambda: chatpeg.load("hermes").parse(b"Hi"), TypeError, r"parse\(\) takes a str, not bytes; decode bytes first"),
    (lambda: chatpeg.load("hermes").parse("Hi", prompt=b""), TypeError, "prompt must be a str or None, not bytes"),
    (lambda: chatpeg.load("hermes").parser().feed(None), TypeError, r"feed\(\) takes a str, not NoneType"),
    (lambda: chatpeg.load("hermes").parser().feed(b"Hi"), TypeError, r"feed\(\) takes a str, not bytes"),
    (lambda: finished().feed("more"), StateError, r"feed\(\) after finish\(\): make a new parser"),
    (lambda: finished().finish(), StateError, r"finish\(\) was called before"),
    (
        lambda: chatpeg.load("hermes").parse("<tool_call>{}</tool_call>", strict=True),
        ParseError,
        r"at line 1, column \d+$",
    ),
]


def finished() -> Any:
    parser = chatpeg.load("hermes").parser()
    parser.finish()
    return parser


@pytest.mark.parametrize("act, error, says", [*FORMATS, *TOOLS, *SCHEMAS, *OPTIONS, *TEXTS])
def test_bad_input_is_refused_with_advice(act: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        act()
    assert re.search(says, str(caught.value)), str(caught.value)
    assert isinstance(caught.value, ChatpegError | TypeError)


def test_a_text_that_is_no_unicode_is_parsed_all_the_same() -> None:
    assert chatpeg.load("hermes").parse("a\ud800b\0").content == "a\ud800b\0"


@pytest.mark.parametrize(
    "parameters", [None, {}, {"type": "object"}, {"properties": {"x": True}}, {"properties": {"x": {"type": "fish"}}}]
)
def test_parameters_that_say_little_are_fine(parameters: Any) -> None:
    """A schema may be absent or open, and an unknown type is nothing a reader has to enforce."""
    chat = chatpeg.load("qwen3-coder").bind(tools=[tool(parameters=parameters)])
    text = "<tool_call>\n<function=ping>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"
    assert chat.parse(text).tool_calls[0].args == {"x": 1}


@pytest.mark.parametrize(
    "reference", ["#/$defs/none", "#/%zz", "http://example.com/x", "#nowhere", "#/properties/x", 7]
)
def test_a_reference_that_leads_nowhere_declares_nothing(reference: Any) -> None:
    parameters = {"type": "object", "properties": {"x": {"$ref": reference}}}
    chat = chatpeg.load("qwen3-coder").bind(tools=[tool(parameters=parameters)])
    text = "<tool_call>\n<function=ping>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"
    assert chat.parse(text).tool_calls[0].args == {"x": 1}


NO_SCHEMAS = [
    {"type": 7},
    {"type": [7, None]},
    {"type": {}},
    {"enum": 3},
    {"enum": [[], {}]},
    {"anyOf": 5},
    {"anyOf": ["string"]},
    {"allOf": {"a": 1}},
    {"oneOf": [None]},
    {"items": "string"},
    {"items": [1]},
    {"properties": []},
    {"properties": {"k": 3}},
    {"$defs": 4, "$ref": "#/$defs/x"},
    {"$ref": "#/properties/x"},
    {"anyOf": [{"$ref": "#/properties/x"}, {"type": "string"}]},
    {"nullable": "yes"},
]


@pytest.mark.parametrize("schema", NO_SCHEMAS)
@pytest.mark.parametrize("value", ["1", "text", '{"k": [1]}', "[[]]", "", "None"])
def test_nonsense_inside_a_schema_does_not_stop_a_parse(schema: Any, value: str) -> None:
    chat = chatpeg.load("qwen3-coder").bind(tools=[tool(parameters={"properties": {"x": schema}})])
    text = f"<tool_call>\n<function=ping>\n<parameter=x>\n{value}\n</parameter>\n</function>\n</tool_call>"
    assert list(chat.parse(text).tool_calls[0].args) == ["x"]


def test_a_grammar_file_with_errors_reports_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.peg"
    path.write_text("response = conten:until(call) call\ncall = <\n", encoding="utf-8")
    with pytest.raises(GrammarError) as caught:
        chatpeg.load(path)
    assert "mine.peg:2:8" in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"\0"])
def test_a_file_that_is_no_grammar(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.peg"
    path.write_bytes(content)
    with pytest.raises(ChatpegError, match=re.escape("mine.peg")):
        chatpeg.load(path)


def test_what_is_passed_in_later_changes_nothing() -> None:
    """The tools are copied: a caller that changes its list has bound what it was."""
    offered = [tool()]
    chat = chatpeg.load("hermes").bind(tools=offered)
    offered.append("nonsense")
    assert [one.name for one in chat.tools] == ["ping"]


def test_errors_survive_a_process_boundary() -> None:
    for error in (UnknownFormat("x"), RequestError("y"), ParseError("z", 3, 1, 4, ("a",))):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))


def test_a_grammar_error_survives_a_process_boundary(tmp_path: Path) -> None:
    path = tmp_path / "mine.peg"
    path.write_text("a = b\n", encoding="utf-8")
    with pytest.raises(GrammarError) as caught:
        chatpeg.load(path)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.problems == caught.value.problems
    assert str(copy) == str(caught.value)
