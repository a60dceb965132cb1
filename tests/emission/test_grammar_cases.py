"""The cases of public bug reports about grammars for whole replies (cases/grammar.jsonl); the rest is in tests/emit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import chatpeg
import pytest
from chatpeg.errors import ParseError
from recogniser import Recogniser

FILE = Path(__file__).parents[1] / "cases" / "grammar.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
REPLIES = [case for case in CASES if "format" in case]


def bound(case: dict[str, Any]) -> chatpeg.Chat:
    options = {key: case[key] for key in ("tools", "tool_choice", "parallel_tool_calls") if key in case}
    if case.get("response_format"):
        options["response_format"] = case["schema"]
    return chatpeg.load(case["format"]).bind(**options)


class Allowed:
    """Which replies a case's constraint allows, as a backend does: a lazy grammar judges from its trigger on."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.constraint = bound(case).gbnf(prompt=case.get("generation_prompt", ""))
        self.recogniser = Recogniser(self.constraint.grammar or "")

    def __call__(self, text: str) -> bool:
        if not self.constraint.lazy:
            return self.recogniser.matches(text)
        starts = [text.find(word) for word in self.constraint.triggers if word in text]
        return not starts or self.recogniser.matches(text[min(starts) :])


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    allowed = Allowed(case)
    assert [text for text in case["must_accept"] if not allowed(text)] == []
    assert [text for text in case["must_reject"] if allowed(text)] == []


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["id"])
def test_what_a_case_allows_is_read_strictly(case: dict[str, Any]) -> None:
    chat, prompt = bound(case), case.get("generation_prompt", "")
    for text in case["must_accept"]:
        try:
            chat.parse(text, strict=True, prompt=prompt)
        except ParseError as error:
            raise AssertionError(text) from error
