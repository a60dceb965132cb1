"""What several tools have in common is written once; what only looks the same is not."""

from __future__ import annotations

from typing import Any

import chatpeg
import pytest
from chatpeg.emit.lower import Lowering
from recogniser import Recogniser
from rendered import RENDER

FORMATS = ("hermes", "qwen3-coder", "glm-4.7", "kimi-k3", "deepseek-v3.2")
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 1},
    {"enum": ["km", "mi"]},
    {"type": "array", "items": {"type": "string"}},
)
TEXT = {"type": "string"}

formats = pytest.mark.parametrize("format_id", FORMATS)


def tool(name: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def offered(count: int, parameters: int = 10) -> list[Any]:
    return [
        tool(f"tool_{n:03}", {f"p{i}": dict(KINDS[i % len(KINDS)]) for i in range(parameters)}, required=["p0"])
        for n in range(count)
    ]


class Allowed:
    """Which calls may be written for the tools, by one grammar."""

    def __init__(self, grammar: chatpeg.Grammar, tools: list[Any]) -> None:
        chat = grammar.bind(tools=tools, tool_choice="required", parallel_tool_calls=False)
        self.render = RENDER[grammar.name]
        self.matches = Recogniser(chat.gbnf(prompt="").grammar or "").matches

    def __call__(self, name: str, **arguments: Any) -> bool:
        return self.matches(self.render([(name, arguments)]))


@formats
def test_lowering_is_linear_in_the_tools_and_parameters_of_one_shape_cost_nothing(
    format_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, count = Lowering.opened, 0

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return opened(*arguments)

    monkeypatch.setattr(Lowering, "opened", counting)

    def work(tools: int, parameters: int) -> int:
        nonlocal count
        count = 0
        chatpeg.Grammar(chatpeg.load(format_id).loaded).bind(tools=offered(tools, parameters)).gbnf()
        return count

    few, some, many = (work(tools, 10) for tools in (25, 50, 100))
    assert many - some == 2 * (some - few)
    assert work(50, 20) - work(25, 20) == some - few
    assert (some - few) / 25 < 20


@formats
def test_rules_are_linear_in_the_tools(format_id: str) -> None:
    def rules(tools: int) -> int:
        return len((chatpeg.load(format_id).bind(tools=offered(tools)).gbnf().grammar or "").splitlines())

    few, some, many = map(rules, (25, 50, 100))
    assert many - some == 2 * (some - few)
    assert some - few <= 25 * 11


@formats
def test_equal_references_of_different_documents_lead_to_their_own(format_id: str) -> None:
    inner: dict[str, Any] = {"k": {"$ref": "#/$defs/n"}, "l": {"type": "array", "items": {"$ref": "#/$defs/n"}}}
    tools = [
        tool("number", inner, **{"$defs": {"n": {"type": "integer"}}}),
        tool("truth", inner, **{"$defs": {"n": {"type": "boolean"}}}),
    ]
    allowed = Allowed(chatpeg.load(format_id), tools)
    assert allowed("number", k=1)
    assert allowed("number", l=[1])
    assert allowed("truth", k=True)
    assert allowed("truth", l=[True])
    assert not allowed("number", k=True)
    assert not allowed("number", l=[True])
    assert not allowed("truth", k=1)
    assert not allowed("truth", l=[1])


@formats
def test_values_that_python_takes_for_equal_are_not(format_id: str) -> None:
    allowed = Allowed(
        chatpeg.load(format_id), [tool("one", {"k": {"enum": [1]}}), tool("yes", {"k": {"enum": [True]}})]
    )
    assert [allowed("one", k=1), allowed("one", k=True)] == [True, False]
    assert [allowed("yes", k=1), allowed("yes", k=True)] == [False, True]


@formats
def test_a_parameter_of_one_name_has_its_tool_s_schema(format_id: str) -> None:
    tools = [
        tool("one", {"k": {"enum": ["a"]}}),
        tool("two", {"k": {"enum": ["b"]}}),
        tool("three", {"l": {"enum": ["a"]}}),
    ]
    allowed = Allowed(chatpeg.load(format_id), tools)
    calls = [(name, key, text) for name in ("one", "two", "three") for key in "kl" for text in "ab"]
    assert [call for call in calls if allowed(call[0], **{call[1]: call[2]})] == [
        ("one", "k", "a"),
        ("two", "k", "b"),
        ("three", "l", "a"),
    ]


@formats
def test_a_schema_means_the_same_wherever_it_stands(format_id: str) -> None:
    either = {"type": ["string", "integer"]}
    tools = [tool("one", {"k": either, "l": {"type": "array", "items": dict(either)}, "m": {"type": "integer"}})]
    allowed = Allowed(chatpeg.load(format_id), tools)
    assert allowed("one", k="x", l=["x", 1], m=1)
    assert allowed("one", k=1, l=[1, "x"])
    assert not allowed("one", m="x")


@formats
def test_tools_that_were_changed_are_seen(format_id: str) -> None:
    grammar = chatpeg.load(format_id)
    kind = {"enum": ["a"]}
    tools = [tool("one", {"k": kind})]
    assert Allowed(grammar, tools)("one", k="a")
    kind["enum"].append("b")
    assert Allowed(grammar, tools)("one", k="b")
    kind["enum"][:] = ["c"]
    allowed = Allowed(grammar, tools)
    assert [allowed("one", k=text) for text in "abc"] == [False, False, True]


@formats
def test_what_one_grammar_was_asked_before_changes_nothing(format_id: str) -> None:
    used = chatpeg.load(format_id)
    for tools in (offered(3), offered(2, 3), [tool("one", {"p0": {"enum": ["x"]}})], offered(3, 12)):
        new = chatpeg.Grammar(used.loaded)
        assert used.bind(tools=tools).gbnf() == new.bind(tools=tools).gbnf()


@formats
def test_each_tool_is_told_what_is_not_enforced(format_id: str) -> None:
    loose = {"type": "string", "pattern": "(?=x)y"}
    tools = [tool("one", {"k": loose}), tool("two", {"k": dict(loose)}), tool("three", {"l": loose})]
    made = chatpeg.load(format_id).bind(tools=tools).gbnf()
    assert [(w.tool, w.path, w.keyword) for w in made.warnings] == [
        ("one", "/properties/k", "pattern"),
        ("two", "/properties/k", "pattern"),
        ("three", "/properties/l", "pattern"),
    ]


def test_a_parameter_that_names_its_tool_is_written_for_each() -> None:
    grammar = chatpeg.loads(
        """
        %tokens "<call>" "</call>"
        %trigger call
        response = content:until(call) call?
        call = "<call>" ^ tool_call:function "</call>"
        function = name:TOOL_NAME ":" arguments:("[" same(name) "." key:PARAM_NAME "=" value:PARAM_VALUE("]") "]")*
        """
    )
    tools = [tool("one", {"k": TEXT}), tool("two", {"k": TEXT})]
    made = grammar.bind(tools=tools, tool_choice="required", parallel_tool_calls=False).gbnf()
    matches = Recogniser(made.grammar or "").matches
    assert matches("<call>one:[one.k=x]</call>")
    assert matches("<call>two:[two.k=x]</call>")
    assert not matches("<call>two:[one.k=x]</call>")


def test_a_part_is_written_by_what_follows_it() -> None:
    grammar = chatpeg.loads(
        """
        %tokens "<call>" "</call>"
        %trigger call
        response = content:until(call) call?
        call = "<call>" ^ tool_call:function "</call>"
        function = name:TOOL_NAME mark ";" arguments:parameter* mark "."
        parameter = "[" key:PARAM_NAME "=" value:PARAM_VALUE("]") "]"
        mark = "-" &";" / "+"
        """
    )
    made = grammar.bind(tools=[tool("one", {})], tool_choice="required", parallel_tool_calls=False).gbnf()
    matches = Recogniser(made.grammar or "").matches
    texts = [f"<call>one{first};{second}.</call>" for first in "-+" for second in "-+"]
    assert [matches(text) for text in texts] == [False, True, False, True]
