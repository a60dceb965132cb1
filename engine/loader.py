"""A grammar file to one flat table of rules: imports read, names resolved, parametrised rules expanded.

Plan: `Importer` reads the files; the ``report_*`` functions find what is wrong with names; only if every name means
something does `_Expansion` rewrite the rules that can be reached from the start rule and the triggers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from .errors import GrammarError, Problem
from .modules import Importer, Module, shipped_directory
from .nodes import Call, Expression, Reference, Rule, Terminal, rewrite, walk
from .notation import BUILT_IN, TERMINALS, write
from .source import Source, Span

__all__ = ["Loaded", "examine_file", "examine_text", "load_file", "load_text", "shipped_directory"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A grammar whose names are resolved: no `Call` is left, every `Reference` names one of ``rules``.

    A rule of an imported file is ``json.ws``, an instance of a parametrised one ``think.block(call)``. A ``%given``
    is a rule of its name, not qualified, whose expression is the default as a `Literal`; ``given`` holds the defaults.
    """

    name: str
    source: Source
    rules: Mapping[str, Rule]
    start: str
    triggers: tuple[str, ...]
    models: tuple[str, ...]
    aliases: tuple[str, ...]
    prompt: tuple[str, ...]
    prefill: str
    tokens: tuple[str, ...]
    stop: tuple[str, ...]
    fields: tuple[str, ...]
    given: Mapping[str, str]
    dialect: str


def load_file(path: str | Path) -> Loaded:
    """The grammar of a ``.peg`` file; `GrammarError` with every problem of it.

    >>> sorted(load_file(shipped_directory() / "lib" / "json.peg").rules)[:2]
    ['array', 'char']
    """
    return _sound(*examine_file(path))


def load_text(text: str, name: str = "<text>", search: Iterable[str | Path] = ()) -> Loaded:
    """The grammar that ``text`` is; imports are looked for in ``search``, then among the shipped files.

    >>> loaded = load_text('%import json\\nstart = json.ws greeting("you")\\ngreeting(x) = "hello " x')
    >>> list(loaded.rules)
    ['start', 'json.ws', 'greeting("you")']
    """
    return _sound(*examine_text(text, name, search))


def examine_file(path: str | Path) -> tuple[Loaded | None, list[Problem]]:
    """As `load_file`, but the problems are returned; None where some name means nothing."""
    path = Path(path)
    loading = _Loading(())
    return loading.result(path.stem, loading.importer.file(path), library=path.resolve().parent.name == "lib")


def examine_text(
    text: str, name: str = "<text>", search: Iterable[str | Path] = ()
) -> tuple[Loaded | None, list[Problem]]:
    """As `load_text`, but the problems are returned; None where some name means nothing."""
    loading = _Loading(tuple(map(Path, search)))
    return loading.result(Path(name).stem, loading.importer.text(Source(name, text), None), library=False)


def _sound(loaded: Loaded | None, problems: list[Problem]) -> Loaded:
    if loaded is None or any(problem.severity == "error" for problem in problems):
        raise GrammarError(tuple(problems))
    return loaded


class _Loading:
    """One load: its files, and the problems found so far."""

    def __init__(self, search: tuple[Path, ...]) -> None:
        self.problems: list[Problem] = []
        self.importer = Importer(search, self.problems.append)

    def result(self, name: str, main: Module | None, *, library: bool) -> tuple[Loaded | None, list[Problem]]:
        loaded = self._loaded(name, main, library=library) if main else None
        first = main.source if main else None
        order = sorted(self.problems, key=lambda p: (p.span.source is not first, p.span.source.name, p.span.start))
        return loaded, order

    def _loaded(self, name: str, main: Module, *, library: bool) -> Loaded | None:
        modules = self.importer.modules
        start = _library_start(main) if library else main.start()
        fatal = [*report_start(main, start), *report_endless(modules), *report_given(main, self.importer.given)]
        fatal += [problem for module in modules for problem in report_names(module)]
        self.problems += [*fatal, *report_triggers(main), *(() if library else report_unreachable(main))]
        if fatal or start is None or any(None in module.imports.values() for module in modules):
            return None
        expansion = _Expansion()
        root = expansion.instance(*start)
        triggers = tuple(expansion.instance(*found) for found in _triggers(main))
        for rule in main.rules.values() if library else ():
            if not rule.parameters:
                expansion.instance(main, rule)
        expansion.run()
        return _assembled(name, main, expansion.rules, (root, *triggers), self.importer.given)


def _assembled(
    name: str, main: Module, rules: dict[str, Rule], roots: tuple[str, ...], given: dict[str, str]
) -> Loaded:
    header = main.header
    return Loaded(
        name=name,
        source=main.source,
        rules=rules,
        start=roots[0],
        triggers=tuple(dict.fromkeys(roots[1:])),
        models=header.models,
        aliases=header.aliases,
        prompt=header.prompt,
        prefill=header.prefill,
        tokens=header.tokens,
        stop=header.stop,
        fields=header.fields,
        given=given,
        dialect=header.value,
    )


def _library_start(main: Module) -> tuple[Module, Rule] | None:
    """The first rule that can stand alone: a library begins nowhere, and each of its rules is for others to use."""
    plain = (rule for rule in main.rules.values() if not rule.parameters)
    return next(((main, rule) for rule in plain), main.start())


def _triggers(main: Module) -> list[tuple[Module, Rule]]:
    """The rules that ``%trigger`` names, as far as they are ones."""
    found = [main.find(name) for name, _ in main.header.trigger]
    return [(module, rule) for module, rule in filter(None, found) if not rule.parameters]


# What can be wrong with names


def report_start(main: Module, start: tuple[Module, Rule] | None) -> Iterator[Problem]:
    """A file with nothing to start from."""
    top = Span(main.source, 0, 0)
    if start and start[1].parameters:
        yield Problem(
            "the start rule has parameters", start[1].span, help="the first rule is the start rule: move it down"
        )
    elif not start and len(main.imports) > 1:
        yield Problem("a file without rules imports exactly one grammar", top, help="write a start rule: response = …")
    elif not start and None not in main.imports.values():
        yield Problem("a file without rules", top, help="write name = expression; the first rule is the start rule")


def report_given(main: Module, given: dict[str, str]) -> Iterator[Problem]:
    """A rule of the main file under the name of an imported file's ``%given``."""
    own = {name for name, _, _ in main.header.given}
    for rule in main.rules.values():
        if rule.name in given and rule.name not in own:
            help = f'to change the default write %given {rule.name} "…"'
            yield Problem(f'"{rule.name}" is a given literal of an imported file', rule.span, help=help)


def report_names(module: Module) -> Iterator[Problem]:
    """References to nothing, and calls that do not fit what they call."""
    for rule in module.rules.values():
        for node in walk(rule.expression):
            if isinstance(node, Reference) and node.name not in rule.parameters:
                yield from _reference_faults(module, node)
            elif isinstance(node, Call):
                yield from _call_faults(module, rule, node)


def _reference_faults(module: Module, node: Reference) -> Iterator[Problem]:
    found = module.find(node.name)
    if found is None:
        yield from _undefined(module, node, TERMINALS)
    elif found[1].parameters:
        shown = f"{node.name}({', '.join(found[1].parameters)})"
        help = f'write {shown}, with no blank before the "("'
        yield Problem(f'rule "{node.name}" needs arguments', node.span, _defined(found[1]), help)


def _call_faults(module: Module, rule: Rule, node: Call) -> Iterator[Problem]:
    span = replace(node.span, end=node.span.start + len(node.name))
    if node.name in rule.parameters:
        yield Problem(f'"{node.name}" is a parameter, not a rule', span, help=f"write {node.name} without arguments")
        return
    found = module.find(node.name)
    if found is None:
        yield from _undefined(module, replace(node, span=span), BUILT_IN)
        return
    wanted, given = len(found[1].parameters), len(node.arguments)
    if not wanted:
        help = f'put a blank before the "(" if {node.name} and a group were meant'
        yield Problem(f'rule "{node.name}" has no parameters', span, _defined(found[1]), help)
    elif wanted != given:
        help = f"write {node.name}({', '.join(found[1].parameters)})"
        yield Problem(f'rule "{node.name}" takes {_count(wanted)}, not {given}', span, _defined(found[1]), help)


def _count(number: int) -> str:
    return f"{number} argument" + ("s" if number != 1 else "")


def _defined(rule: Rule) -> tuple[tuple[str, Span | None], ...]:
    return (("it is defined here", rule.span),)


def _undefined(module: Module, node: Reference | Call, others: tuple[str, ...]) -> Iterator[Problem]:
    file, _, plain = node.name.rpartition(".")
    if file and file not in module.imports:
        yield Problem(f'"{file}" is not imported', node.span, help=f"add the line %import {file}")
    elif file:
        # An import that failed has been reported; what its rules are is not known.
        if imported := module.imports[file]:
            help = _suggestion(module, node.name) or f"its rules are {' '.join(imported.names())}"
            yield Problem(f'"{file}" has no rule "{plain}"', node.span, help=help)
    else:
        literal = f'a literal that the request supplies is declared: %given {plain} "default"'
        help = _suggestion(module, plain, others) or (literal if plain.isupper() else f"define it: {plain} = …")
        yield Problem(f'rule "{plain}" is not defined', node.span, help=help)


def _suggestion(module: Module, name: str, others: tuple[str, ...] = ()) -> str:
    close = _close(module, name, others)
    return f"did you mean {close}?" if close else ""


def _close(module: Module, name: str, others: tuple[str, ...] = ()) -> str:
    return next(iter(get_close_matches(name, [*module.names(), *others], 1)), "")


def report_triggers(main: Module) -> Iterator[Problem]:
    """``%trigger`` of something that is not a rule."""
    for name, span in main.header.trigger:
        found = main.find(name)
        if found is None:
            help = _suggestion(main, name)
            yield Problem(f'trigger "{name}" is not a rule', span, help=help or "name a rule of this file")
        elif found[1].parameters:
            yield Problem(
                f'trigger "{name}" has parameters', span, _defined(found[1]), "name a rule without parameters"
            )


def report_unreachable(main: Module) -> Iterator[Problem]:
    """Rules of the main file that no path from the start rule or a trigger leads to."""
    given = {name for name, _, _ in main.header.given}
    start = main.start()
    reached = _reached(main, [*([start[1].name] if start else ()), *(name for name, _ in main.header.trigger)])
    for rule in main.rules.values():
        if rule.name not in reached and rule.name not in given:
            yield Problem(f'rule "{rule.name}" is never used', rule.span, help="delete it, or refer to it")


def _reached(main: Module, names: list[str]) -> set[str]:
    reached: set[str] = set()
    while names:
        name = names.pop()
        if name not in main.rules:
            # A misspelled name is one problem: the rule that was meant is not unused as well.
            name = "" if main.find(name) else _close(main, name)
        if name in main.rules and name not in reached:
            reached.add(name)
            names += [n.name for n in walk(main.rules[name].expression) if isinstance(n, Reference | Call)]
    return reached


Parameter = tuple[int, str, str]


def report_endless(modules: list[Module]) -> Iterator[Problem]:
    """Calls that would make ever more instances: a parameter that comes back to itself inside a larger expression."""
    grows = [edge for module in modules for rule in module.rules.values() for edge in _flows(module, rule)]
    flows: dict[Parameter, list[Parameter]] = {}
    for source, target, _, _ in grows:
        flows.setdefault(source, []).append(target)
    reported: set[Span] = set()
    for source, target, larger, span in grows:
        if larger and span not in reported and source in _downstream(flows, target):
            reported.add(span)
            help = "give the call the parameter itself, or something without it"
            yield Problem("this call never ends: its argument grows each time round", span, help=help)


def _flows(module: Module, rule: Rule) -> Iterator[tuple[Parameter, Parameter, bool, Span]]:
    """Each parameter of ``rule``, the parameter it is passed to, whether as part of something larger, and where."""
    for call in walk(rule.expression):
        found = module.find(call.name) if isinstance(call, Call) else None
        if not isinstance(call, Call) or found is None:
            continue
        for target, argument in zip(found[1].parameters, call.arguments, strict=False):
            for part in walk(argument):
                if isinstance(part, Reference) and part.name in rule.parameters:
                    source = (id(module), rule.name, part.name)
                    yield source, (id(found[0]), found[1].name, target), part is not argument, call.span


def _downstream(flows: dict[Parameter, list[Parameter]], start: Parameter) -> set[Parameter]:
    reached, left = {start}, [start]
    while left:
        for target in flows.get(left.pop(), ()):
            if target not in reached:
                reached.add(target)
                left.append(target)
    return reached


# Expansion


class _Expansion:
    """Rules under their final names, each made when something first refers to it."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self._left: deque[tuple[str, Module, dict[str, Expression]]] = deque()

    def instance(self, module: Module, rule: Rule, arguments: tuple[Expression, ...] = ()) -> str:
        """The final name of ``rule`` with these arguments, whose own names are final."""
        key = module.key(rule)
        if arguments:
            key += f"({', '.join(_spelled(argument) for argument in arguments)})"
        if key not in self.rules:
            self.rules[key] = replace(rule, name=key, parameters=(), dialect=module.header.value)
            self._left.append((key, module, dict(zip(rule.parameters, arguments, strict=True))))
        return key

    def run(self) -> None:
        while self._left:
            key, module, values = self._left.popleft()
            rule = self.rules[key]
            self.rules[key] = replace(rule, expression=self._resolved(rule.expression, module, values))

    def _resolved(self, expression: Expression, module: Module, values: dict[str, Expression]) -> Expression:
        def final(node: Expression) -> Expression:
            match node:
                case Reference(name=name) if name in values:
                    return values[name]
                case Reference():
                    return replace(node, name=self.instance(*_known(module, node.name)))
                case Call():
                    # `rewrite` goes bottom up: the arguments are final already.
                    return Reference(self.instance(*_known(module, node.name), node.arguments), node.span)
                case Terminal():
                    return replace(node, dialect=module.header.value)
                case _:
                    return node

        return rewrite(expression, final)


def _known(module: Module, name: str) -> tuple[Module, Rule]:
    found = module.find(name)
    if found is None:
        raise AssertionError(name)  # report_names has seen to it
    return found


def _spelled(argument: Expression) -> str:
    """``argument`` as part of an instance's name: terminals of two dialects are two things."""

    def told_apart(node: Expression) -> Expression:
        if isinstance(node, Terminal) and node.dialect != "raw":
            return Reference(f"{node.dialect}:{node.name}", node.span)
        return node

    return write(rewrite(argument, told_apart))
