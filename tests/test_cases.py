"""The cases of public bug reports (cases/parse.jsonl), each under its own id; keys as their README explains them."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import chatpeg
import pytest
from chatpeg import RegionChunk
from replay import assert_append_only, assert_deltas_sum_up, grammar, replay

Record = dict[str, Any]

CASES: list[Record] = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "parse.jsonl").read_text(encoding="utf-8").splitlines()
]

# What the reports call a format, where that is not the name it has here.
OUR_NAME = {
    "qwen3": "qwen3-hermes",
    "llama-3": "llama3-json",
    "llama-4": "llama4-pythonic",
    "mistral": "mistral-v13",
    "magistral": "mistral-v13-think",
}

# Formats of the reports that have no grammar yet, with the number of their cases.
UNSHIPPED = {
    "apertus": 1,
    "cohere2-moe": 1,
    "command-r-plus": 1,
    "command-r7b": 1,
    "ernie-4.5": 2,
    "functionary-v3.1": 1,
    "functionary-v3.2": 1,
    "granite-20b-fc": 1,
    "granite-3.3": 1,
    "granite-4": 1,
    "hunyuan-a13b": 2,
    "internlm2": 2,
    "jamba": 1,
    "ling-3": 1,
    "minimax-m3": 1,
    "muse-glimmer": 1,
    "nemotron-v2": 1,
    "olmo3": 1,
    "phi-4-mini": 1,
    "seed-oss": 2,
    "step3": 2,
    "xlam": 1,
}

# Cases whose expectation is not ours, with the reason.
NOT_OURS: dict[str, str] = {
    "gemma4-missing-comma": (
        "without its comma a bare key cannot be told from the text behind a broken value; the call is kept as content, "
        "which loses nothing and runs nothing"
    ),
    "llama3-prose-with-braces-after": (
        "this format has no marker: the whole reply is a call or it is text, and a reply that goes on in prose is text"
    ),
}

SHIPPED_CASES = [case for case in CASES if case["format"] not in UNSHIPPED]


@pytest.mark.parametrize("case", SHIPPED_CASES, ids=lambda case: case["id"])
def test_case(case: Record) -> None:
    """The result is the expected one or an alternative, under one value of `unparsed`, in every chunking."""
    failures = [failure for variant in variants(case) for failure in [failure_of(variant)] if failure]
    if case["id"] in NOT_OURS:
        assert failures, f"passes, so it is ours after all: {NOT_OURS[case['id']]}"
    elif failures:
        pytest.fail("\n".join(failures))


def test_unshipped_formats_are_listed() -> None:
    """No case is dropped in silence: every format is shipped or listed with its number of cases."""
    unshipped = Counter(case["format"] for case in CASES if case["format"] in UNSHIPPED)
    assert unshipped == UNSHIPPED
    for name in UNSHIPPED:
        with pytest.raises(chatpeg.ChatpegError):
            chatpeg.load(OUR_NAME.get(name, name))


def test_reasons_name_cases() -> None:
    """NOT_OURS holds ids of cases that are run."""
    assert set(NOT_OURS) <= {case["id"] for case in SHIPPED_CASES}


def variants(case: Record) -> Iterator[Record]:
    """The case, and its large form where it has one."""
    yield case
    if "raw_expand" in case:
        yield expanded(case)


def expanded(case: Record) -> Record:
    """The large form: what is repeated in the small raw text is repeated `count` times, in the expectation too."""
    recipe = case["raw_expand"]
    prefix, suffix, count = recipe["prefix"], recipe["suffix"], recipe["count"]
    if "unit" in recipe:
        repeated, closers = recipe["unit"], ""
    else:
        repeated, closers = recipe["open"], recipe.get("close", "")
    small = next(n for n in range(100) if prefix + repeated * n + closers * n + suffix == case["raw"])
    large = {**case, "raw": prefix + repeated * count + closers * count + suffix}
    del large["raw_expand"]
    large["chunk_size"] = recipe.get("chunk_size", 64)
    for key in ("expected", "alternatives"):
        if key in case:
            large[key] = grown(case[key], {repeated * small: repeated * count, closers * small: closers * count})
    return large


def grown(value: Any, repeats: dict[str, str]) -> Any:
    """`value` with the small repeats in its strings made large."""
    if isinstance(value, dict):
        return {key: grown(member, repeats) for key, member in value.items()}
    if isinstance(value, list):
        return [grown(item, repeats) for item in value]
    if isinstance(value, str):
        for small, large in repeats.items():
            value = value.replace(small, large) if small else value
    return value


def failure_of(case: Record) -> str | None:
    """Why the case fails under each way to bind, or None if it passes under one."""
    failures = [failure_under(case, options) for options in option_sets(case)]
    return None if None in failures else "\n".join(str(failure) for failure in failures)


def option_sets(case: Record) -> list[Record]:
    """The ways to bind of which one has to give what the case expects."""
    options: list[Record] = [{"unparsed": "content"}, {"unparsed": "drop"}]
    if any("arguments_prefix" in call for wanted in accepted(case) for call in wanted.get("tool_calls", [])):
        options.append({"tool_calls": "incremental"})
    return options


def failure_under(case: Record, options: Record) -> str | None:
    """Why the case fails with `options`, or None. A broken invariant is no matter of options: it raises."""
    chat = grammar(OUR_NAME.get(case["format"], case["format"])).bind(
        tools=case["tools"], tool_choice=case["tool_choice"], **options
    )
    prompt, text = case.get("generation_prompt", ""), raw_text(case)
    message = chat.parse(text, prompt=prompt)
    for chunks in chunkings(case, text):
        run = replay(chat, chunks, prompt, snapshots=len(text) < 5000)
        assert run.final == message
        if "tool_calls" not in options:
            assert_append_only(run.messages)
            assert_deltas_sum_up(run)
        if case.get("no_content_delta") and content_deltas(run.events):
            return f"content deltas: {content_deltas(run.events)}"
    assert_incremental(case, text, prompt)
    if not any(matches(message, wanted, case["compare"]) for wanted in accepted(case)):
        return f"{options}: {shortened(message)}, wanted {shortened(accepted(case))}"
    return None


def shortened(value: Any) -> str:
    """`value` for a failure message: the large cases are very large."""
    text = str(value)
    return text if len(text) <= 2000 else f"{text[:2000]}… ({len(text)} characters)"


def assert_incremental(case: Record, text: str, prompt: str) -> None:
    """`args-incremental`: the arguments come in at least so many deltas, which join to the JSON text."""
    if case.get("invariant") != "args-incremental":
        return
    chat = grammar(OUR_NAME.get(case["format"], case["format"])).bind(tools=case["tools"], tool_calls="incremental")
    parser = chat.parser(prompt=prompt)
    chunks = next(iter(chunkings(case, text)))
    events = [event for chunk in chunks for event in parser.feed(chunk)] + list(parser.finish())
    deltas = [event.text for event in events if isinstance(event, RegionChunk) and event.label == "arguments"]
    assert len(deltas) >= case.get("min_argument_deltas", 1)
    assert "".join(deltas) == "".join(call.arguments for call in parser.message.tool_calls)


def raw_text(case: Record) -> str:
    """The model's output as text; bytes that are not UTF-8 become U+FFFD."""
    if "raw_bytes_hex" in case:
        return bytes.fromhex(case["raw_bytes_hex"]).decode("utf-8", "replace")
    return str(case["raw"])


def chunkings(case: Record, text: str) -> Iterator[Iterable[str]]:
    """The case's own chunks, or pieces of its size, and single characters where that is not too many."""
    if "chunks" in case and "".join(case["chunks"]) == text:
        yield case["chunks"]
    if "byte_chunk_size" in case:
        yield decoded(raw_bytes(case), case["byte_chunk_size"])
    size = case.get("chunk_size", 1)
    yield (text[start : start + size] for start in range(0, len(text), size))


def raw_bytes(case: Record) -> bytes:
    """The model's output as bytes."""
    return bytes.fromhex(case["raw_bytes_hex"]) if "raw_bytes_hex" in case else case["raw"].encode()


def decoded(data: bytes, size: int) -> list[str]:
    """`data` in pieces of `size` bytes, decoded as a client does that keeps an unfinished character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = [decoder.decode(data[start : start + size]) for start in range(0, len(data), size)]
    return [*pieces, decoder.decode(b"", final=True)]


def accepted(case: Record) -> list[Record]:
    """Every result that is right."""
    return [case["expected"], *case.get("alternatives", [])]


def matches(message: Any, wanted: Record, compare: str) -> bool:
    """Whether `message` is the result `wanted`, as closely as `compare` says."""
    return (
        same_text(message.content, wanted.get("content"), compare)
        and same_text(message.reasoning_content, wanted.get("reasoning_content"), compare)
        and len(message.tool_calls) == len(wanted["tool_calls"])
        and all(same_call(call, want) for call, want in zip(message.tool_calls, wanted["tool_calls"], strict=True))
    )


def same_text(got: str | None, wanted: str | None, compare: str) -> bool:
    """`strip`: equal but for outer whitespace, and empty is absent."""
    if compare == "strip":
        return (got or "").strip() == (wanted or "").strip()
    return (got or "") == (wanted or "")


def same_call(call: Any, wanted: Record) -> bool:
    """Whether `call` is the wanted one: decoded arguments, their text, the beginning of it, or anything encodable."""
    if call.name != wanted["name"]:
        return False
    if "arguments_prefix" in wanted:
        return not call.complete and call.arguments.startswith(wanted["arguments_prefix"])
    if not call.complete:
        return False
    if "arguments" not in wanted:
        return bool(call.arguments.encode("utf-8"))
    return same_json(call.args, wanted["arguments"]) or call.arguments == wanted["arguments"]


def same_json(got: Any, wanted: Any) -> bool:
    """Equal as JSON: `true` is not 1, and 1.0 is 1."""
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same_json(got[key], wanted[key]) for key in got)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same_json, got, wanted))
    return bool(got == wanted)


def content_deltas(events: Iterable[Any]) -> list[str]:
    """The content that was streamed."""
    return [event.text for event in events if isinstance(event, RegionChunk) and event.label == "content"]
