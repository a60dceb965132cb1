"""Linear in the length of the text, whatever it is cut into: a text ten times as long takes about ten times as long."""

from __future__ import annotations

import time
from typing import Any

import pytest
from chatpeg.response_template import ResponseParser, load_response_template
from template_samples import BARE_KEYS, THINK_JSON, XML_CALLS

BOUNDED: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": ["<think>", "<think>\n"], "close_pattern": r"\n?</think>"},
        "calls": {"open_pattern": r"<call>\n?", "close": "</call>", "repeats": True},
        "content": {"close_pattern": r"<end>(?!<)"},
    },
}
CALL = "<tool_call><function=f><parameter=a>\nsome text, 1 < 2\n</parameter></function></tool_call>\n"
TEXTS = {
    "prose": "The quick brown fox, 1 < 2, jumps over the lazy dog.\n",
    "almost": "<thin",
    "openers": "<",
    "calls": "<call>x</call>",
    "tool calls": CALL,
    "reasoning": "<think>a</think>\n",
    "escaped": "é<t 漢字 ",
    "blanks": "\n",
    "blanks in text": "a" + " " * 999,
}


def seconds(template: Any, text: str, size: int) -> float:
    """The least time of a few runs."""
    loaded = load_response_template(template)
    best = float("inf")
    for _ in range(3):
        parser = ResponseParser(loaded, prefix="")
        start = time.process_time()
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finalize()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.timing
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [1, 4, 100, 10_000_000])
@pytest.mark.parametrize(
    "template", [BOUNDED, THINK_JSON, XML_CALLS, BARE_KEYS], ids=["bounded", "json", "xml", "bare"]
)
def test_a_longer_text_takes_as_much_longer(template: Any, size: int, name: str) -> None:
    short = TEXTS[name] * (10_000 // len(TEXTS[name]))
    assert seconds(template, short * 10, size) < 25 * seconds(template, short, size) + 0.02


@pytest.mark.timing
@pytest.mark.parametrize("size", [4, 10_000_000])
def test_a_megabyte(size: int) -> None:
    assert seconds(BOUNDED, TEXTS["prose"] * (1_000_000 // len(TEXTS["prose"])), size) < 5
