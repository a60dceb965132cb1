"""A real llama-server under the fields that chatpeg sends it; skipped where there is no such program.

`CHATPEG_LLAMA_SERVER` names it, or it is on the PATH. It serves the tiny model with random weights.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from judged import problems
from modes import CALLING
from replies import asked
from tiny_model import path

PROGRAM = os.environ.get("CHATPEG_LLAMA_SERVER") or shutil.which("llama-server")
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "llama_server.py"
TRIED = 4
TOKENS = 300

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no llama-server here (CHATPEG_LLAMA_SERVER)")


class Server:
    """One that is running; ``address`` is its URL."""

    def __init__(self, program: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        options = ["-c", "4096", "-np", "1", "-t", "1", "--no-warmup", "--no-ui", "--host", "127.0.0.1"]
        model = str(path(vocabulary_only=False))
        self.process = subprocess.Popen(
            [program, "-m", model, "--port", str(port), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self) -> None:
        for _ in range(600):
            try:
                with urlopen(f"{self.address}/health", timeout=1) as response:
                    if json.load(response).get("status") == "ok":
                        return
            except (URLError, ConnectionError, HTTPError, TimeoutError):
                assert self.process.poll() is None, "llama-server ended when it was started"
            time.sleep(0.1)
        raise AssertionError("llama-server does not get ready")

    def complete(self, **body: Any) -> dict[str, Any]:
        """What it answers; raises `HTTPError` where it refuses."""
        whole = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "cache_prompt": False} | body
        request = Request(
            f"{self.address}/completion", json.dumps(whole).encode(), {"Content-Type": "application/json"}
        )
        with urlopen(request, timeout=120) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    assert PROGRAM is not None
    running = Server(PROGRAM)
    try:
        running.wait()
        yield running
    finally:
        running.process.terminate()
        running.process.wait(20)


@pytest.mark.parametrize("format_id", CALLING)
def test_a_required_call_is_valid(format_id: str, server: Server) -> None:
    wanted = asked(format_id, "required", "")
    fields = wanted.chat.gbnf(prompt="").llama_server()
    ended, wrong = 0, []
    for seed in range(TRIED * 10):
        answer = server.complete(prompt="Go:", n_predict=TOKENS, seed=seed, **fields)
        if answer["stop_type"] != "eos":
            continue
        ended += 1
        if found := problems(wanted.chat, wanted.mode, "", wanted.made, answer["content"]):
            wrong.append((answer["content"], found))
        if ended == TRIED:
            break
    assert wrong == []
    assert ended == TRIED


@pytest.mark.parametrize("format_id", CALLING)
def test_a_lazy_grammar_is_taken_and_starts_at_its_trigger(format_id: str, server: Server) -> None:
    """The model is pushed into a call by a bias on its opener, which takes effect where that is one token."""
    wanted = asked(format_id, "auto", "")
    constraint = wanted.chat.gbnf(prompt="")
    if constraint.grammar is None:
        pytest.skip("nothing says where a call of this format begins")
    fields = constraint.llama_server()
    assert fields["grammar_lazy"] is True
    triggered = 0
    for seed in range(TRIED):
        bias = [[trigger, 8.0] for trigger in constraint.triggers]
        answer = server.complete(prompt="Go:", n_predict=TOKENS, seed=seed, logit_bias=bias, **fields)
        text = answer["content"]
        starts = [text.index(trigger) for trigger in constraint.triggers if trigger in text]
        if not starts:
            continue
        triggered += 1
        message = wanted.chat.parse(text, partial=answer["stop_type"] != "eos", prompt="")
        assert not [one for one in message.malformed if one.start >= min(starts)], text
    if not set(wanted.chat.grammar.loaded.tokens).isdisjoint(constraint.triggers):
        assert triggered, "no reply got to a call"


def test_the_example_talks_to_it(server: Server) -> None:
    command = [sys.executable, str(EXAMPLE), "qwen3-coder", "Which files?", "--server", server.address]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
