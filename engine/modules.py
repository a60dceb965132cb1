"""The files of a grammar: the one that was asked for and what it imports, each read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from .directives import Header, read_header
from .errors import GrammarError, Problem
from .nodes import File, Literal, Rule
from .notation import read
from .source import Source, Span


@dataclass(slots=True)
class Module:
    """One file with its imports resolved; None stands for an import that failed and was reported.

    ``prefix`` tells its rules from those of other files: ``json.`` for ``%import json``, nothing for the main file.
    ``base`` is the only import of a file without rules of its own: such a file takes over the rules of that one.
    """

    prefix: str
    source: Source
    header: Header
    rules: dict[str, Rule]
    imports: dict[str, Module | None] = field(default_factory=dict)
    base: Module | None = None

    def find(self, name: str) -> tuple[Module, Rule] | None:
        """The rule that ``name`` means in this file, with the file that defines it."""
        file, _, plain = name.rpartition(".")
        if file:
            target = self.imports.get(file)
            return target.find(plain) if target else None
        if plain in self.rules:
            return self, self.rules[plain]
        return self.base.find(plain) if self.base else None

    def names(self) -> Iterator[str]:
        """Every rule that can be named in this file."""
        yield from self.rules
        if self.base:
            yield from self.base.names()
        for name, module in self.imports.items():
            yield from (f"{name}.{rule}" for rule in (module.rules if module else ()))

    def start(self) -> tuple[Module, Rule] | None:
        """The first rule, with the file that defines it; a given literal is none."""
        given = {name for name, _, _ in self.header.given}
        for name, rule in self.rules.items():
            if name not in given:
                return self, rule
        return self.base.start() if self.base else None

    def key(self, rule: Rule) -> str:
        """The name of ``rule`` among the rules of all files. A given literal has one name everywhere."""
        given = any(name == rule.name for name, _, _ in self.header.given)
        return rule.name if given else self.prefix + rule.name


def shipped_directory() -> Path:
    """Where the grammar files that come with the package are: inside it, or beside it in a checkout."""
    here = Path(__file__).parent
    installed = here / "grammars"
    return installed if installed.is_dir() else here.parent / "grammars"


def open_source(path: Path) -> Source:
    """The text of a grammar file; `GrammarError` where it is not UTF-8."""
    data = path.read_bytes()
    try:
        return Source(str(path), data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as fault:
        source = Source(str(path), data.decode("utf-8", "replace"))
        start = len(data[: fault.start].decode("utf-8", "replace"))
        problem = Problem("this is not UTF-8", Span(source, start, start + 1), help="save the file as UTF-8")
        raise GrammarError((problem,)) from None


class Importer:
    """Reads a file and, depth first, its imports; every file once. Faults are reported, never raised."""

    def __init__(self, search: tuple[Path, ...], report: Callable[[Problem], None]) -> None:
        self.search = (*search, shipped_directory())
        self.report = report
        self.modules: list[Module] = []
        self.given: dict[str, str] = {}
        self._by_path: dict[Path, Module | None] = {}
        self._open: list[Path] = []

    def file(self, path: Path, prefix: str = "") -> Module | None:
        """The module of the file ``path``, which has not been read yet."""
        try:
            source = open_source(path)
        except GrammarError as error:
            for problem in error.problems:
                self.report(problem)
            return None
        self._open.append(path.resolve())
        module = self._by_path[path.resolve()] = self.text(source, path.parent, prefix)
        self._open.pop()
        return module

    def text(self, source: Source, directory: Path | None, prefix: str = "") -> Module | None:
        """The module of ``source``, whose imports are looked for in ``directory`` first."""
        try:
            file = read(source)
        except GrammarError as error:
            for problem in error.problems:
                self.report(problem)
            return None
        header, problems = read_header(file)
        for problem in problems:
            self.report(problem)
        module = Module(prefix, source, header, self._rules(file, header))
        self.modules.append(module)
        self._import(module, directory, adopts=not file.rules and len(header.imports) == 1)
        return module

    def _rules(self, file: File, header: Header) -> dict[str, Rule]:
        rules: dict[str, Rule] = {}
        for name, value, span in header.given:
            # The first file that gives a name is the outermost: its default holds for all.
            self.given.setdefault(name, value)
            self._add(rules, Rule(name, (), "", Literal(self.given[name], span), span))
        for rule in file.rules:
            self._add(rules, rule)
        return rules

    def _add(self, rules: dict[str, Rule], rule: Rule) -> None:
        first = rules.setdefault(rule.name, rule)
        if first is not rule:
            note = (("it is defined here", first.span),)
            self.report(
                Problem(f'rule "{rule.name}" is defined twice', rule.span, note, "rename or delete one of the two")
            )

    def _import(self, module: Module, directory: Path | None, *, adopts: bool) -> None:
        directories = (*((directory,) if directory else ()), *self.search)
        for name, span in module.header.imports:
            prefix = module.prefix if adopts else self._prefix(module, name)
            module.imports[name] = self._imported(name, span, directories, prefix)
        if adopts:
            module.base = next(iter(module.imports.values()))

    def _prefix(self, module: Module, name: str) -> str:
        """``name.``, unless another file of that name came first."""
        prefix = f"{name}."
        while any(prefix == other.prefix for other in self.modules):
            prefix = (module.prefix or "main.") + prefix
        return prefix

    def _imported(self, name: str, span: Span, directories: tuple[Path, ...], prefix: str) -> Module | None:
        current = self._open[-1] if self._open else None
        # A file that imports its own name means the next file of that name.
        places = [place for place in _places(name, directories) if place.resolve() != current]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            self.report(_missing(name, span, places))
            return None
        if path.resolve() in self._open:
            self.report(self._cycle(path, span))
            return None
        known = path.resolve() in self._by_path
        return self._by_path[path.resolve()] if known else self.file(path, prefix)

    def _cycle(self, path: Path, span: Span) -> Problem:
        chain = [*self._open[self._open.index(path.resolve()) :], path]
        shown = " -> ".join(step.stem for step in chain)
        return Problem(f"import cycle: {shown}", span, help="move the rules that both need to a file of their own")


def _places(name: str, directories: tuple[Path, ...]) -> list[Path]:
    """Where ``%import name`` looks, in order."""
    return [
        place for directory in directories for place in (directory / "lib" / f"{name}.peg", directory / f"{name}.peg")
    ]


def _missing(name: str, span: Span, places: list[Path]) -> Problem:
    there = {file.stem for place in places for file in place.parent.glob("*.peg")}
    close = get_close_matches(name, sorted(there), 1)
    help = f"did you mean {close[0]}?" if close else f"files are looked for as {' '.join(map(str, places))}"
    return Problem(f'no grammar file "{name}" to import', span, help=help)
