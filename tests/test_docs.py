"""What the documentation shows is what happens: doctests, and every `pycon` and `console` block of the pages."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import chatpeg
import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = ["chatpeg", *(found.name for found in pkgutil.walk_packages(chatpeg.__path__, "chatpeg."))]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [text for tag, text in BLOCK.findall((ROOT / page).read_text("utf-8")) if tag == language]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_interpreter_sessions(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `pycon` blocks of a page are one session, run from the top of the checkout."""
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


COMMANDS = [
    pytest.param(command, output, id=f"{page}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "console"))
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize("command, output", COMMANDS)
def test_commands(command: str, output: str) -> None:
    """A `console` block shows a command behind `$` and all that it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.stdout == output


def one_line(start: str) -> str:
    """The README's line that begins the fresh virtual environment and goes on as said."""
    (line,) = [block.strip() for block in blocks("README.md", "sh") if start in block]
    assert "\n" not in line
    return line


def test_ci_runs_the_line_of_the_readme() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert one_line("pytest") in map(str.strip, lines)


@pytest.mark.slow
def test_the_first_lines_of_the_readme(tmp_path: Path) -> None:
    """On a clean checkout, with nothing but Python, they print what the README shows."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".*")
    shutil.copytree(ROOT, tmp_path / "checkout", ignore=ignored)
    for line in (one_line("chatpeg parse"), one_line("chatpeg emit")):
        done = subprocess.run(line, shell=True, cwd=tmp_path / "checkout", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == blocks("README.md", "json")[0] or done.stdout.startswith("root ::=")


class LlamaServer(BaseHTTPRequestHandler):
    """Answers as llama-server does: the prompt of the template, then the recorded reply in pieces."""

    reply = (ROOT / "examples" / "reply.txt").read_text("utf-8")
    asked: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:  # the base class calls it so
        self.asked[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        if self.path == "/apply-template":
            self.wfile.write(json.dumps({"prompt": "<|im_start|>assistant\n"}).encode())
            return
        for start in range(0, len(self.reply), 5):
            event = {"content": self.reply[start : start + 5], "stop": False}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b'data: {"content": "", "stop": true}\n\n')

    def log_message(self, *_: object) -> None:
        pass


def test_the_llama_server_example() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), LlamaServer) as server:
        threading.Thread(target=server.serve_forever).start()
        address = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "examples/llama_server.py", "qwen3-coder", "Which files?", "--server", address]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.stderr == ""
    assert done.stdout.endswith("using the glob tool.\ncall: glob {'pattern': '**/*.md'}\n")
    body = LlamaServer.asked["/completion"]
    assert body["prompt"] == "<|im_start|>assistant\n"
    assert body["grammar_lazy"] is True
    assert body["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]
    assert "<|im_end|>" in body["stop"]
