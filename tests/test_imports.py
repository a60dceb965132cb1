"""The layers of the engine: which files there are, who may import whom, and what no file may know."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatchcase
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent / "engine"
GRAMMARS = ENGINE.parent / "grammars"

# Layer -> its files, and the layers it may import beside itself.
LAYERS = {
    "source": ("source errors", ""),
    "notation": ("nodes charset slips notation directives modules loader", "source"),
    "json": ("jsonscan", ""),
    "schema": ("schema_types request", "source"),
    "values": ("values", "json schema"),
    "search": ("search", ""),
    "analysis": ("openings delimiters analysis follow", "source notation search"),
    "program": ("program", "search analysis"),
    "compiler": (
        "fusion settling terminals markup compiler chains chain_code chain_text chain_run chain_tell",
        "source notation json search analysis program",
    ),
    "checks": ("flow holdback checks check_*", "source notation search analysis program compiler"),
    "machine": ("state captures shortcuts machine", "json search program"),
    "message": ("message events", "source"),
    "parser": (
        "stops calls argument_stream frames regions parser",
        "source json schema values search program machine message",
    ),
    "emit": ("emit.* emission constraint", "source notation schema values search analysis program machine"),
    "bind": (
        "tool_names grammar",
        "source notation schema values analysis program compiler machine message parser emit",
    ),
    "names": ("catalog __init__", "source notation message parser checks emit bind template template_grammar"),
    "template_grammar": ("response_template.grammar", "source notation schema message emit bind names template"),
    "template": ("response_template.*", "source json"),
    "commands": ("trace __main__", "source notation message parser checks emit bind names template template_grammar"),
}


def files() -> dict[str, Path]:
    """Every module of the engine by its name: ``machine``, ``emit.rules``."""
    found = {}
    for path in sorted(ENGINE.rglob("*.py")):
        found[".".join(path.relative_to(ENGINE).with_suffix("").parts)] = path
    return found


FILES = files()


def layer_of(module: str) -> str | None:
    """The layer a module is listed in."""
    for layer, (members, _) in LAYERS.items():
        if any(fnmatchcase(module, member) for member in members.split()):
            return layer
    return None


@functools.cache
def imported(module: str) -> frozenset[str]:
    """The modules of the engine that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = module.split(".")[: -node.level]
            base = [*package, *(node.module.split(".") if node.module else ())]
            for alias in node.names:
                name = ".".join([*base, alias.name])
                found.add(name if name in FILES else ".".join(base) or "__init__")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not any(name.split(".")[0] in {"engine", "chatpeg"} for name in names), "imports are relative"
    return frozenset(f"{name}.__init__" if (ENGINE / name.replace(".", "/")).is_dir() else name for name in found)


every_module = pytest.mark.parametrize("module", FILES)


@every_module
def test_only_the_arrows(module: str) -> None:
    layer = layer_of(module)
    assert layer, f"{module} is in no layer of this table"
    allowed = {layer, *LAYERS[layer][1].split()}
    wrong = {name for name in imported(module) if layer_of(name) not in allowed and name != "__init__"}
    assert not wrong, f"{layer} may not import these"


def test_only_the_command_line_imports_the_package_itself() -> None:
    assert {module for module in FILES if "__init__" in imported(module)} <= {"__main__"}


def test_no_cycle() -> None:
    TopologicalSorter({module: imported(module) for module in FILES}).prepare()


def test_the_machine_knows_nothing_of_messages_and_the_message_nothing_of_grammars() -> None:
    assert not reached("machine") & {"message", "events", "regions", "parser", "request", "errors"}
    assert reached("message") == reached("events") == {"source", "errors"}


def test_reading_does_not_import_emission() -> None:
    assert not {name for name in reached("parser") | reached("compiler") if name.startswith("emit")}


def reached(module: str) -> set[str]:
    """What a module imports, directly or not."""
    found: set[str] = set()
    left = [module]
    while left:
        for name in imported(left.pop()) - found:
            found.add(name)
            left.append(name)
    return found


@every_module
def test_begins_with_a_sentence_of_purpose(module: str) -> None:
    path = FILES[module]
    if path.read_text("utf-8").strip():
        first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0]
        assert first.endswith((".", ":", "?")), path


@every_module
def test_names_no_format(module: str) -> None:
    """Comments and docstrings may give examples; names, texts and help may not."""
    found = [(line, text) for line, text in code_words(FILES[module]) if format_names().search(text)]
    assert not found


def code_words(path: Path) -> Iterator[tuple[int, str]]:
    """Names and strings of a file, without docstrings."""
    text = path.read_text("utf-8")
    documentation = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.add(node.value.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in {tokenize.NAME, tokenize.STRING} and token.start[0] not in documentation:
            yield token.start[0], token.string


@functools.cache
def format_names() -> re.Pattern[str]:
    """The families of the shipped formats; a backend may be called after a model."""
    families = {re.split(r"[\d.-]", path.stem)[0] for path in GRAMMARS.glob("*.peg")} - {"llama", "gpt"}
    return re.compile("|".join([*sorted(families), "gpt.?oss", "harmony", r"llama.?\d"]), re.IGNORECASE)


@pytest.mark.parametrize(
    "text, named", [("Qwen3", True), ("is_gpt_oss", True), ("llama4", True), ("llama_server", False)]
)
def test_what_names_a_format(text: str, named: bool) -> None:
    assert bool(format_names().search(text)) is named
