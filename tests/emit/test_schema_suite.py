"""The official JSON-Schema-Test-Suite, through the emitted GBNF; prints the table that the README quotes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chatpeg.emit.gbnf import gbnf
from chatpeg.errors import ChatpegError, EmitError
from recogniser import Recogniser
from sampling import lowered

RELEASE = "jsonschema-4.26.0"
CACHE = Path(os.environ.get("CHATPEG_CACHE", Path(tempfile.gettempdir()) / "chatpeg-test-cache"))


def suite() -> Path:
    """The directory of the draft 2020-12 tests, fetched once."""
    tests = CACHE / RELEASE / "json" / "tests" / "draft2020-12"
    if not tests.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = RELEASE.replace("-", "==")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            ":all:",
            wanted,
            "-d",
            CACHE,
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
            with tarfile.open(CACHE / f"{RELEASE}.tar.gz") as archive:
                archive.extractall(CACHE, filter="data")
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"the test suite cannot be fetched: {error}")
    return tests


def spellings(value: Any) -> dict[str, None]:
    return dict.fromkeys(
        (json.dumps(value, separators=(",", ":")), json.dumps(value), json.dumps(value, ensure_ascii=False))
    )


def judged(group: dict[str, Any]) -> tuple[Counter[str], list[str]]:
    """How the tests of one schema come out, and the invalid instances that nothing warned of."""
    rules, warnings = lowered(group["schema"])
    try:
        recogniser = rules and Recogniser(gbnf(rules))
    except EmitError:
        recogniser = None  # no text satisfies the schema
    count, unwarned = Counter[str](), []
    for test in group["tests"]:
        accepted = recogniser is not None and any(recogniser.matches(text) for text in spellings(test["data"]))
        verdict = "accepted" if accepted else "refused"
        if accepted and not test["valid"]:
            verdict = "accepted, warned" if warnings else "accepted silently"
            unwarned += [] if warnings else [f"{group['description']}: {test['description']}"]
        count[f"{'valid' if test['valid'] else 'invalid'} {verdict}"] += 1
    return count, unwarned


@pytest.mark.slow
def test_the_official_suite(capsys: pytest.CaptureFixture[str]) -> None:
    total, unwarned = Counter[str](), []
    for file in sorted(suite().glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            try:
                count, silent = judged(group)
            except ChatpegError as error:
                count, silent = Counter({"schemas refused": 1}), [f"{group['description']}: {error}"]
            total += count
            unwarned += silent
    with capsys.disabled():
        print("\nJSON-Schema-Test-Suite, draft 2020-12:", dict(sorted(total.items())))
    assert unwarned == []
    assert total["schemas refused"] == total["invalid accepted silently"] == 0
    assert total["valid accepted"] >= 700
