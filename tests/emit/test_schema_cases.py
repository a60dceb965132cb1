"""The cases of public bug reports that are about schemas alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recogniser import Recogniser
from sampling import lowered, printed

FILE = Path(__file__).parents[1] / "cases" / "grammar.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
SCHEMAS = [case for case in CASES if "schema" in case and "format" not in case]


@pytest.mark.parametrize("case", SCHEMAS, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    recogniser = Recogniser(printed(case["schema"]))
    assert [text for text in case["must_accept"] if not recogniser.matches(text)] == []
    assert [text for text in case["must_reject"] if recogniser.matches(text)] == []


def test_the_large_variant_of_nested_groups() -> None:
    (case,) = (case for case in SCHEMAS if case["id"] == "pattern-deep-parens")
    large = case["raw_expand"]
    middle = large["open"] * large["count"] + large["middle"] + large["close"] * large["count"]
    rules, warnings = lowered({**case["schema"], "pattern": large["prefix"] + middle + large["suffix"]})
    assert rules is not None
    assert [(w.path, w.keyword) for w in warnings] == [("", "pattern")]
