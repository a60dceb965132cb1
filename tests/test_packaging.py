"""What is installed from a wheel, from an sdist and from a checkout: everything finds its grammars."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import chatpeg
import pytest
from chatpeg.catalog import shipped

ROOT = Path(__file__).parent.parent
FORMATS = {path.stem for path in (ROOT / "grammars").glob("*.peg")}
LOAD_ALL = """
import chatpeg, json, pathlib
from chatpeg.catalog import shipped
for name in shipped():
    chatpeg.load(name)
print(json.dumps([sorted(shipped()), str(pathlib.Path(chatpeg.__file__).parent)]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh_python(where: Path) -> Path:
    """The interpreter of a new virtual environment."""
    venv.create(where, with_pip=True)
    return where / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist of a copy of this checkout, and the wheel made from that sdist."""
    where = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".*")
    shutil.copytree(ROOT, where / "source", ignore=ignored)
    python = fresh_python(where / "venv")
    run(python, "-m", "pip", "install", "--quiet", "build", cwd=where)
    run(python, "-m", "build", "--outdir", where / "dist", where / "source", cwd=where)
    return where / "dist"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_installed_into_a_fresh_environment(distributions: Path, tmp_path: Path, kind: str) -> None:
    (archive,) = distributions.glob(kind)
    python = fresh_python(tmp_path / "venv")
    run(python, "-m", "pip", "install", "--quiet", archive, cwd=tmp_path)
    loaded, package = json.loads(run(python, "-c", LOAD_ALL, cwd=tmp_path))
    assert loaded == sorted(FORMATS)
    assert Path(package).is_relative_to(tmp_path)
    (tmp_path / "reply.txt").write_text('<tool_call>{"name": "ping", "arguments": {}}</tool_call>', encoding="utf-8")
    parsed = run(python.with_name("chatpeg"), "parse", "hermes", "reply.txt", cwd=tmp_path)
    assert '"name": "ping"' in parsed
    run(python, "-m", "chatpeg", "list", cwd=tmp_path)


@pytest.mark.slow
def test_a_wheel_is_typed_and_brings_nothing_else(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path, "zip")
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    packaged = {name for name in names if name.startswith("chatpeg/")}
    assert {"chatpeg/py.typed", "chatpeg/grammars/lib/json.peg"} < packaged
    assert {name for name in names - packaged if ".dist-info/" not in name} == set()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    engine = distributions.parent / "source" / "engine"
    modules = {path.relative_to(engine).as_posix() for path in engine.rglob("*.py")}
    assert {f"chatpeg/{module}" for module in modules} <= packaged


def test_the_editable_install_finds_every_grammar() -> None:
    assert set(shipped()) == FORMATS


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == chatpeg.__version__
    assert f"## {chatpeg.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_types_are_public() -> None:
    assert (Path(chatpeg.__file__).parent / "py.typed").is_file()
    assert sorted(chatpeg.__all__) == [name for name in sorted(chatpeg.__all__) if hasattr(chatpeg, name)]
