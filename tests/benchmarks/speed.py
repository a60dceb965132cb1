"""How fast: ratios within one run, and the growth from 10 kB to 1 MB. Run by hand: python tests/benchmarks/speed.py"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import chatpeg

PLAIN = ("The quick brown fox jumps over the lazy dog; 3 < 4, and so on. " * 200)[:8192]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}},
        },
    }
]
OPENER = "<tool_call>"


def xml_call(text: str) -> str:
    return (
        f"{OPENER}\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n"
        f"<parameter=text>\n{text}\n</parameter>\n</function>\n</tool_call>\n"
    )


def json_call(text: str) -> str:
    arguments = {"path": "a.txt", "text": text}
    return f"{OPENER}\n{json.dumps({'name': 'write_file', 'arguments': arguments})}\n</tool_call>"


def least_loop(chunks: list[str]) -> list[tuple[str, str]]:
    """The least that any streaming parser does: append, one find, hold back a partial tail, emit a tuple."""
    emitted, held = [], ""
    for chunk in chunks:
        text = held + chunk
        if text.find(OPENER) >= 0:
            break
        tail = text.rfind("<")
        held = text[tail:] if tail >= 0 and OPENER.startswith(text[tail:]) else ""
        if len(text) > len(held):
            emitted.append(("content", text[: len(text) - len(held)]))
    return emitted


def streamed(chat: Any, chunks: list[str]) -> Any:
    parser = chat.parser()
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish()
    return parser.message


def cut(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def fastest(run: Callable[[], object], seconds: float = 0.5) -> float:
    """Seconds of the fastest of as many runs as fit, three at least."""
    best, runs, end = float("inf"), 0, perf_counter() + seconds
    while runs < 3 or perf_counter() < end:
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
        runs += 1
    return best


def report_one_reply(chat: Any) -> None:
    chunks = cut(PLAIN)
    least = fastest(lambda: least_loop(chunks))
    stream = fastest(lambda: streamed(chat, chunks))
    whole = fastest(lambda: chat.parse(PLAIN))
    calls = "Ten.\n\n" + "".join(xml_call("word " * 160) for _ in range(10))
    assert len(chat.parse(calls).tool_calls) == 10
    ten = fastest(lambda: chat.parse(calls))
    print(f"{'plain reply, 8,192 characters, 4 a chunk':52} {stream / least:6.1f} times the least loop")
    print(f"{'the same as one text':52} {whole * 1e6:6.1f} µs  ({stream / whole:.0f} times less than streamed)")
    print(f"{f'ten XML calls in {len(calls):,} characters, as one text':52} {ten * 1e6:6.1f} µs")


def report_growth(name: str, chat: Any, text_of: Callable[[str], str]) -> None:
    """Nanoseconds a character at three sizes, and how many times the least loop on as many plain chunks.

    The least loop itself gets slower on longer lists of chunks (memory); constant multiples mean linear.
    """
    shown, multiples = [], []
    for size in (10_000, 100_000, 1_000_000):
        text = text_of("lorem ipsum " * (size // 12))
        message = chat.parse(text)
        assert message.complete
        assert not message.malformed
        chunks = cut(text)
        cost = fastest(lambda chunks=chunks: streamed(chat, chunks), 1.0)  # type: ignore[misc]
        plain = cut("lorem ipsum " * (len(text) // 12))
        least = fastest(lambda plain=plain: least_loop(plain), 1.0)  # type: ignore[misc]
        multiples.append(cost / least)
        shown.append(f"{cost / len(text) * 1e9:6.0f} ({cost / least:4.1f})")
    print(f"{name:28} {'  '.join(shown)}   {multiples[-1] / multiples[0]:.2f}")


def main() -> None:
    xml = chatpeg.load("qwen3-coder").bind(tools=TOOLS)
    hermes = chatpeg.load("hermes").bind(tools=TOOLS)
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {sys.platform}\n")
    report_one_reply(xml)
    print(f"\n{'ns a character, 4 a chunk':28} {'10 kB':>13}  {'100 kB':>13}  {'1 MB':>13}   1 MB : 10 kB")
    print(f"{'(times the least loop)':28}")
    report_growth("content", xml, lambda text: text)
    report_growth("a JSON string argument", hermes, json_call)
    report_growth("an XML string value", xml, xml_call)


if __name__ == "__main__":
    main()
