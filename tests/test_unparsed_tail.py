"""Unparsed tail: what does not parse stays, in place, as content; what parsed before and after it stays a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from chatpeg import RegionClose, RegionMalformed
from replay import Replay, assert_append_only, assert_deltas_sum_up, grammar, replay
from strategies import FORMATS, corpus

QWEN = ["qwen3-coder", "qwen3.5"]
PLAIN = "It is sunny, 21 degrees, and f32 = 1."


@dataclass(frozen=True)
class Wire:
    """How a format writes one call of `f` with `{"k": "v"}`: what opens it, the call, what closes it."""

    call: str
    opener: str
    before: str = ""
    section: tuple[str, str] = ("", "")
    """Markers around all calls."""

    def whole(self, name: str = "f") -> str:
        """A complete call of `name`, with the markers around it."""
        return self.section[0] + self.call.replace("NAME", name) + self.section[1]

    def one(self, name: str = "f") -> str:
        """The call alone."""
        return self.call.replace("NAME", name)


DSEEK = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
KIMI = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
CODER = "<tool_call>\n<function=NAME>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>"
HERMES = '<tool_call>\n{"name": "NAME", "arguments": {"k": "v"}}\n</tool_call>'
GLM = "<tool_call>NAME<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>"
MISTRAL = '[TOOL_CALLS]NAME[ARGS]{"k": "v"}'


def dsml(space: str, section: str) -> Wire:
    """DeepSeek's markup language."""
    call = f'<｜DSML｜{space}invoke name="NAME">\n<｜DSML｜{space}parameter name="k" string="true">v</｜DSML｜{space}parameter>\n'
    return Wire(
        call + f"</｜DSML｜{space}invoke>\n",
        f"<｜DSML｜{space}invoke",
        section=(f"<｜DSML｜{space}{section}>\n", f"</｜DSML｜{space}{section}>"),
    )


WIRES = {
    "qwen3-coder": Wire(CODER, "<tool_call>\n<function="),
    "qwen3.5": Wire(CODER, "<tool_call>\n<function="),
    "hermes": Wire(HERMES, "<tool_call>\n{"),
    "qwen3-hermes": Wire(HERMES, "<tool_call>\n{"),
    "glm-4.5": Wire(GLM, "<tool_call>"),
    "glm-4.7": Wire(GLM, "<tool_call>"),
    "deepseek-v3.1": Wire(
        '<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{"k": "v"}<｜tool▁call▁end｜>', "<｜tool▁call▁begin｜>", section=DSEEK
    ),
    "deepseek-v3": Wire(
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{"k": "v"}\n```<｜tool▁call▁end｜>',
        "<｜tool▁call▁begin｜>",
        section=DSEEK,
    ),
    "deepseek-v3.2": dsml("", "function_calls"),
    "deepseek-v4": dsml("", "tool_calls"),
    "deepseek-v4.1": dsml(" ", "calls"),
    "kimi-k2": Wire(
        '<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{"k": "v"}<|tool_call_end|>',
        "<|tool_call_begin|>",
        section=KIMI,
    ),
    "minimax-m2": Wire(
        '<invoke name="NAME">\n<parameter name="k">v</parameter>\n</invoke>\n',
        "<invoke name=",
        section=("<minimax:tool_call>\n", "</minimax:tool_call>"),
    ),
    "mistral-v13": Wire(MISTRAL, "[TOOL_CALLS]"),
    "mistral-v13-think": Wire(MISTRAL, "[TOOL_CALLS]"),
    "mistral-v11": Wire(MISTRAL, "[TOOL_CALLS]"),
    "mistral-v11-think-text": Wire(MISTRAL, "[TOOL_CALLS]"),
    "mistral-v3": Wire('{"name": "NAME", "arguments": {"k": "v"}}', "{", section=("[TOOL_CALLS] [", "]")),
    "gemma-4": Wire('<|tool_call>call:NAME{k:<|"|>v<|"|>}<tool_call|>', "<|tool_call>call:"),
    "functiongemma": Wire(
        "<start_function_call>call:NAME{k:<escape>v<escape>}<end_function_call>", "<start_function_call>call:"
    ),
    "lfm2": Wire("NAME(k='v')", "NAME(", section=("<|tool_call_start|>[", "]<|tool_call_end|>")),
}
"""The formats whose calls stand in prose."""

SELF_CONTAINED = sorted(name for name, wire in WIRES.items() if not wire.section[0])
SECTIONED = sorted(name for name, wire in WIRES.items() if wire.section[0] and name not in {"mistral-v3", "lfm2"})


def offered(*names: str) -> list[dict[str, Any]]:
    parameters = {"type": "object", "properties": {"k": {"type": "string"}}}
    return [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in names]


TOOLS = offered("f", "other")


def seen(format_id: str, text: str, prompt: str | None = "", tools: Any = TOOLS, **options: Any) -> Replay:
    """The parse of `text`, the same in one chunk and character by character; deltas add up to the final message."""
    chat = grammar(format_id).bind(tools=tools, **options)
    whole = replay(chat, [text], prompt)
    single = replay(chat, text, prompt, snapshots=True)
    assert (single.events, single.final) == (whole.events, whole.final)
    for run in (whole, single):
        assert_append_only(run.messages)
        assert_deltas_sum_up(run)
    return whole


def names(run: Replay) -> list[str]:
    return [call.name for call in run.final.tool_calls]


# -- the reports this project was created from ----------------------------------------------------------------------


@pytest.mark.parametrize("format_id", QWEN)
@pytest.mark.parametrize(
    "tail", ["\n<tool_call>\n<function=", "\n<tool_call>", "\n<tool_call>\n", "\n<tool_call>\n<func", "\n<tool"]
)
def test_an_opener_at_the_end_stays_content(format_id: str, tail: str) -> None:
    """With tools offered, `…f32 =\\n<tool_call>\\n<function=` and its beginnings keep the whole text."""
    run = seen(format_id, "The type is f32 =" + tail)
    assert (run.final.content, names(run)) == ("The type is f32 =" + tail, [])


@pytest.mark.parametrize("format_id", QWEN)
def test_a_call_that_breaks_half_way_never_contradicts_itself(format_id: str) -> None:
    """`<parameter=query>PIPE` without newline, then the end: no result goes back on an earlier one."""
    text = "So:\n<tool_call>\n<function=f>\n<parameter=k>PIPE"
    run = seen(format_id, text)
    assert (run.final.content, names(run), run.final.complete) == (text, [], False)


# -- every format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_a_call_in_prose_is_a_call(format_id: str) -> None:
    """What the other tests break is whole to begin with."""
    run = seen(format_id, WIRES[format_id].whole())
    assert (names(run), run.final.content, run.final.malformed) == (["f"], None, ())
    assert run.final.tool_calls[0].args == {"k": "v"}


BEGINNINGS = sorted(WIRES)


@pytest.mark.parametrize("format_id", BEGINNINGS)
def test_every_beginning_of_a_call_at_the_end_stays_content(format_id: str) -> None:
    """Cut anywhere before the call's end, no call comes out and no character is lost."""
    wire = WIRES[format_id]
    chat = grammar(format_id).bind(tools=TOOLS)
    text = wire.section[0] + wire.one()
    last = len(text.rstrip()) - (0 if format_id != "lfm2" else -1)
    for size in range(1, last):
        message = chat.parse("abc" + text[:size], prompt="")
        if message.tool_calls:
            assert format_id in {"lfm2", "mistral-v3"}, text[:size]
            continue
        if not message.dropped:
            assert message.content == "abc" + text[:size]


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_a_call_of_a_tool_that_was_not_offered_stays_content(format_id: str) -> None:
    """Its frame's whole text is content and malformed; `unknown_tools="call"` makes it a call."""
    wire = WIRES[format_id]
    run = seen(format_id, "abc" + wire.whole("unknown"))
    assert names(run) == []
    assert (run.final.content or "").startswith("abc")
    assert wire.one("unknown").strip() in run.final.content
    wanted = seen(format_id, "abc" + wire.whole("unknown"), unknown_tools="call")
    assert [(call.name, call.known) for call in wanted.final.tool_calls] == [("unknown", False)]


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_a_valid_call_after_an_unoffered_one_is_a_call(format_id: str) -> None:
    wire = WIRES[format_id]
    run = seen(format_id, "abc" + wire.whole("unknown") + wire.whole())
    assert names(run) == ["f"]
    assert wire.one("unknown").strip() in run.final.content


@pytest.mark.parametrize("format_id", SELF_CONTAINED)
@pytest.mark.parametrize("between", ["", " "])
def test_a_valid_call_after_a_broken_opener_is_a_call(format_id: str, between: str) -> None:
    """The broken opener stays content, the next call is parsed."""
    wire = WIRES[format_id]
    run = seen(format_id, "abc" + wire.opener + between + wire.whole())
    assert names(run) == ["f"]
    assert (run.final.content or "").replace(" ", "").startswith(("abc" + wire.opener).replace(" ", ""))


@pytest.mark.parametrize("format_id", SELF_CONTAINED)
def test_a_valid_call_before_a_broken_tail_stays_a_call(format_id: str) -> None:
    """Parallel calls: the call, then the tail as content."""
    wire = WIRES[format_id]
    run = seen(format_id, wire.whole() + wire.opener)
    assert names(run) == ["f"]
    assert run.final.content == wire.opener
    assert run.final.complete is False or not run.final.malformed


@pytest.mark.parametrize("format_id", SECTIONED)
def test_a_valid_call_before_a_broken_one_of_its_section_stays_a_call(format_id: str) -> None:
    wire = WIRES[format_id]
    run = seen(format_id, wire.section[0] + wire.one() + wire.opener)
    assert (names(run), run.final.content, run.final.complete) == (["f"], wire.opener, False)


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_dropping_what_does_not_parse_leaves_it_in_the_list(format_id: str) -> None:
    """`unparsed="drop"`: the same malformed entries, and none of their text in content."""
    wire = WIRES[format_id]
    text = "abc" + wire.whole("unknown")
    kept, dropped = (seen(format_id, text, unparsed=how).final for how in ("content", "drop"))
    assert kept.malformed == dropped.malformed
    assert (dropped.content, len(dropped.malformed)) == ("abc", 1)


@pytest.mark.parametrize("format_id", sorted(WIRES))
def test_an_unoffered_call_is_opened_and_malformed(format_id: str) -> None:
    """A client that saw the region open sees it refused, with the error of the list; no call is ever delivered."""
    run = seen(format_id, WIRES[format_id].whole("unknown"))
    refused = [event for event in run.events if isinstance(event, RegionMalformed)]
    assert [event.error for event in refused] == [entry.error for entry in run.final.malformed]
    assert not [event for event in run.events if isinstance(event, RegionClose) and event.label == "tool_call"]


# -- reasoning ------------------------------------------------------------------------------------------------------

THINKERS = {
    **dict.fromkeys(
        ["qwen3-hermes", "qwen3.5", "qwen3-coder", "glm-4.5", "glm-4.7", "minimax-m2", "deepseek-r1", "lfm2"],
        ("<think>\n", "\n</think>\n\n"),
    ),
    **dict.fromkeys(
        ["deepseek-v3.1", "deepseek-v3.2", "deepseek-v4", "deepseek-v4.1", "kimi-k2"], ("<think>", "</think>")
    ),
    "deepseek-v3": ("<think>\n", "\n</think>\n\n"),
    "mistral-v13-think": ("[THINK]", "[/THINK]"),
    "mistral-v11-think-text": ("<think>\n", "\n</think>\n"),
    "gemma-4": ("<|channel>thought\n", "\n<channel|>"),
    "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "kimi-k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
}


@pytest.mark.parametrize("prompted", [False, True])
@pytest.mark.parametrize("format_id", sorted(THINKERS))
def test_reasoning_cut_before_its_closer_stays_reasoning(format_id: str, prompted: bool) -> None:
    """At every place within the closer, whoever wrote the opener; no part of it becomes content."""
    opener, closer = THINKERS[format_id]
    for size in range(len(closer.split("<|start|>")[0].strip("\n"))):
        cut = "Need both." + closer[:size]
        text, prompt = (cut, opener) if prompted else (opener + cut, "")
        run = seen(format_id, text, prompt)
        assert run.final.content is None
        assert (run.final.reasoning_content or "").startswith("Need both.")
        assert names(run) == []


@pytest.mark.parametrize("format_id", sorted(set(THINKERS) - {"gpt-oss", "kimi-k3"}))
def test_a_closer_without_opener_is_no_reason_to_move_text(format_id: str) -> None:
    """Text is never reclassified: content before a lone closer stays content."""
    _, closer = THINKERS[format_id]
    run = seen(format_id, "Some text." + closer + "More.")
    assert run.final.reasoning_content is None
    assert run.final.content.startswith("Some text.")
    assert run.final.content.endswith("More.")


# -- a plain reply --------------------------------------------------------------------------------------------------

HARMONY = "<|channel|>final<|message|>"
STARTS = {"gpt-oss": HARMONY, "kimi-k3": "<|open|>response<|sep|>"}


@pytest.mark.parametrize("format_id", FORMATS)
def test_the_final_parse_of_a_plain_reply_is_not_done_twice(format_id: str) -> None:
    """Machine steps: `finish` adds a constant few, whatever the length."""
    extra = []
    for size in (10, 1000):
        parser = grammar(format_id).bind(tools=TOOLS).parser(prompt="")
        parser.feed(STARTS.get(format_id, "") + PLAIN * size)
        before = parser.steps
        parser.finish()
        extra.append(parser.steps - before)
        assert parser.message.content == PLAIN * size
    assert extra[0] == extra[1] < 40


@pytest.mark.parametrize(
    "format_id",
    FORMATS,
)
def test_a_plain_reply_streams(format_id: str) -> None:
    """No more than a marker and a run of blanks is ever held back."""
    parser = grammar(format_id).bind(tools=TOOLS).parser(prompt="")
    parser.feed(STARTS.get(format_id, ""))
    text = PLAIN * 20
    for size, character in enumerate(text, 1):
        parser.feed(character)
        assert size - len(parser.message.content or "") <= 40


@pytest.mark.parametrize("format_id", FORMATS)
def test_every_cut_of_every_case_adds_up(format_id: str) -> None:
    """Cut anywhere, streamed deltas sum up to the final message and nothing is withdrawn."""
    for case in corpus(format_id).cases[:12]:
        chat = grammar(format_id).bind(tools=corpus(format_id).offered(case), **case.options)
        for size in range(0, len(case.input), 7):
            run = replay(chat, [case.input[: size // 2], case.input[size // 2 : size]], case.prompt, snapshots=True)
            assert_append_only(run.messages)
            assert_deltas_sum_up(run)
