"""What the documentation shows is what happens: doctests, and every `pycon` and `console` block of the pages."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

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
    assert one_line("pytest") in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


@pytest.mark.slow
def test_the_first_line_of_the_readme(tmp_path: Path) -> None:
    """On a clean checkout, with nothing but Python, the line prints what the README shows."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".*")
    shutil.copytree(ROOT, tmp_path / "checkout", ignore=ignored)
    line = one_line("chatpeg parse")
    done = subprocess.run(line, shell=True, cwd=tmp_path / "checkout", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == blocks("README.md", "json")[0]
    emit = shlex.join([".venv/bin/chatpeg", "emit", *shlex.split(line)[-4:-3], "--tools", shlex.split(line)[-1]])
    emitted = subprocess.run(emit, shell=True, cwd=tmp_path / "checkout", capture_output=True, text=True, check=False)
    assert emitted.returncode == 0, emitted.stderr
    assert emitted.stdout.startswith("root ::=")
