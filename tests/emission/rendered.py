"""Calls as a format's chat template renders them: a small writer for each family of syntax."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Call = tuple[str, dict[str, Any]]
Render = Callable[[Sequence[Call]], str]

DELIMITERS = ("<", ">", "｜", "[", "]", "|", "`")
"""Characters that delimiters are made of; texts without them hold no delimiter of any format."""


def as_json(value: Any) -> str:
    """JSON as templates print it: a space behind each comma and colon, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str:
    """A parameter: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def _call_object(call: Call, arguments: str = "arguments", **more: str) -> str:
    return as_json({"name": call[0], arguments: call[1], **more})


def _hermes(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_call_object(call)}\n</tool_call>" for call in calls)


def _qwen_coder(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        inner = "".join(f"<parameter={key}>\n{as_text(value)}\n</parameter>\n" for key, value in call[1].items())
        return f"<tool_call>\n<function={call[0]}>\n{inner}</function>\n</tool_call>"

    return "\n".join(map(one, calls))


def _glm(line: str) -> Render:
    def one(call: Call) -> str:
        pairs = (
            f"<arg_key>{key}</arg_key>{line}<arg_value>{as_text(value)}</arg_value>{line}"
            for key, value in call[1].items()
        )
        return f"<tool_call>{call[0]}{line}{''.join(pairs)}</tool_call>"

    return lambda calls: line.join(map(one, calls))


def _minimax(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        inner = "".join(f'<parameter name="{key}">{as_text(value)}</parameter>\n' for key, value in call[1].items())
        return f'<invoke name="{call[0]}">\n{inner}</invoke>\n'

    return f"<minimax:tool_call>\n{''.join(map(one, calls))}</minimax:tool_call>"


def _deepseek(between: str, opener: Callable[[str], str], closer: str) -> Render:
    def render(calls: Sequence[Call]) -> str:
        ones = (
            f"<｜tool▁call▁begin｜>{opener(name)}{as_json(args)}{closer}<｜tool▁call▁end｜>" for name, args in calls
        )
        return f"<｜tool▁calls▁begin｜>{between.join(ones)}<｜tool▁calls▁end｜>"

    return render


def _dsml(tag: str, invoke: str, parameter: str) -> Render:
    def value(key: str, found: Any) -> str:
        kind = "true" if isinstance(found, str) else "false"
        return f'<｜DSML｜{parameter} name="{key}" string="{kind}">{as_text(found)}</｜DSML｜{parameter}>\n'

    def one(call: Call) -> str:
        inner = "".join(value(key, found) for key, found in call[1].items())
        return f'<｜DSML｜{invoke} name="{call[0]}">\n{inner}</｜DSML｜{invoke}>\n'

    return lambda calls: f"\n\n<｜DSML｜{tag}>\n{''.join(map(one, calls))}</｜DSML｜{tag}>"


def _kimi_k2(calls: Sequence[Call]) -> str:
    ones = (
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{as_json(args)}<|tool_call_end|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{''.join(ones)}<|tool_calls_section_end|>"


def _kimi_k3(calls: Sequence[Call]) -> str:
    kinds = {
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
        type(None): "null",
    }

    def escaped(name: str) -> str:
        return name.replace("&", "&amp;").replace('"', "&quot;")

    def value(key: str, found: Any) -> str:
        kind = kinds[type(found)]
        return f'<|open|>argument key="{escaped(key)}" type="{kind}"<|sep|>{as_text(found)}<|close|>argument<|sep|>'

    ones = (
        f'<|open|>call tool="{escaped(name)}" index="{index}"<|sep|>'
        + "".join(value(key, found) for key, found in args.items())
        + "<|close|>call<|sep|>"
        for index, (name, args) in enumerate(calls, 1)
    )
    return f"<|open|>tools<|sep|>{''.join(ones)}<|close|>tools<|sep|><|close|>message<|sep|>"


def as_python(value: Any) -> str:
    """A Python literal in single quotes."""
    match value:
        case None | bool():
            return str(value)
        case str():
            inner = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
            return f"'{inner}'"
        case dict():
            return "{" + ", ".join(f"{as_python(key)}: {as_python(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_python, value)) + "]"
        case _:
            return as_json(value)


def _python(opener: str, closer: str) -> Render:
    def one(call: Call) -> str:
        return f"{call[0]}({', '.join(f'{key}={as_python(value)}' for key, value in call[1].items())})"

    return lambda calls: f"{opener}[{', '.join(map(one, calls))}]{closer}"


def as_gemma(value: Any, quote: str) -> str:
    """Gemma's dictionary dialect: bare keys, strings between two quote tokens, no blanks."""
    match value:
        case str():
            return quote + value + quote
        case dict():
            return "{" + ",".join(f"{key}:{as_gemma(item, quote)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(as_gemma(item, quote) for item in value) + "]"
        case _:
            return as_json(value)


def _gemma(opener: str, closer: str, quote: str) -> Render:
    return lambda calls: "".join(f"{opener}call:{name}{as_gemma(args, quote)}{closer}" for name, args in calls)


def _gpt_oss(calls: Sequence[Call]) -> str:
    ones = (
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{as_json(args)}" for name, args in calls
    )
    return "<|end|><|start|>assistant".join(ones)


def _mistral(between: str) -> Render:
    return lambda calls: "".join(f"[TOOL_CALLS]{name}{between}{as_json(args)}" for name, args in calls)


def _mistral_v3(calls: Sequence[Call]) -> str:
    return f"[TOOL_CALLS] [{', '.join(_call_object(call, id='aB3dE5gH7') for call in calls)}]"


RENDER: Mapping[str, Render] = {
    "deepseek-v3": _deepseek("\n", lambda name: f"function<｜tool▁sep｜>{name}\n```json\n", "\n```"),
    "deepseek-v3.1": _deepseek("", lambda name: f"{name}<｜tool▁sep｜>", ""),
    "deepseek-v3.2": _dsml("function_calls", "invoke", "parameter"),
    "deepseek-v4": _dsml("tool_calls", "invoke", "parameter"),
    "deepseek-v4.1": _dsml(" calls", " invoke", " parameter"),
    "functiongemma": _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma-4": _gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
    "glm-4.5": _glm("\n"),
    "glm-4.7": _glm(""),
    "gpt-oss": _gpt_oss,
    "hermes": _hermes,
    "kimi-k2": _kimi_k2,
    "kimi-k3": _kimi_k3,
    "lfm2": _python("<|tool_call_start|>", "<|tool_call_end|>"),
    "llama3-json": lambda calls: "; ".join(_call_object(call, "parameters") for call in calls),
    "llama4-pythonic": _python("", ""),
    "minimax-m2": _minimax,
    "mistral-v11": _mistral("[CALL_ID]aB3dE5gH7[ARGS]"),
    "mistral-v11-think-text": _mistral("[CALL_ID]aB3dE5gH7[ARGS]"),
    "mistral-v13": _mistral("[ARGS]"),
    "mistral-v13-think": _mistral("[ARGS]"),
    "mistral-v3": _mistral_v3,
    "qwen3-coder": _qwen_coder,
    "qwen3-hermes": _hermes,
    "qwen3.5": _qwen_coder,
}
"""The calls of one reply, for every format that has calls."""
