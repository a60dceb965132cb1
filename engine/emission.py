"""From a bound chat to the grammar a backend constrains its output with (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .constraint import Constraint
from .emit.ebnf import ebnf
from .emit.format import Format
from .emit.gbnf import gbnf
from .emit.joining import either
from .emit.lark import lark
from .emit.lower import Lowering
from .emit.place import Calls, Place, Request
from .emit.root import Roots, behind, trigger_words
from .emit.rules import NOTHING, Expr, Rules
from .emit.schema import Relaxed
from .emit.structural_tag import structural_tag
from .errors import EmitError
from .loader import Loaded
from .program import Program
from .request import Tool
from .state import Names

PRINTERS: dict[str, Callable[[Rules], str]] = {
    "gbnf": gbnf,
    "lark": lark,
    "ebnf": ebnf,
    "structural_tag": structural_tag,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything of a bound chat that its emitted grammar depends on; ``machinery`` reads a prompt."""

    loaded: Loaded
    tools: tuple[Tool, ...] | None
    tool_choice: str
    named: str
    parallel: bool
    response_schema: Any
    strict: bool
    format: Format
    machinery: Callable[[], tuple[Program, Names]]


def constraint(wanted: Wanted, target: str, prompt: str, special: Mapping[str, int]) -> Constraint:
    """The constraint for output that follows ``prompt`` (what the parser is fed of it).

    ``special``: the numbers of special tokens, for a target that tells them from text.
    """
    made = Emission(wanted, prompt).made()
    stop, tokens = wanted.loaded.stop, wanted.loaded.tokens
    if made.root is None:
        return Constraint(target, None, stop=stop, warnings=made.warnings)
    rules = Rules(made.rules, made.root)
    if target == "structural_tag":
        # It says itself what it waits for, so it holds from the beginning of the output.
        return Constraint(target, structural_tag(rules, made.triggers), False, (), tokens, stop, made.warnings)
    text = lark(rules, special) if target == "lark" else PRINTERS[target](rules)
    return Constraint(target, text, made.lazy, made.triggers, tokens, stop, made.warnings)


@dataclass(frozen=True, slots=True)
class Made:
    """Lowered rules with their start rule (None: nothing to constrain), and what goes with them."""

    rules: Mapping[str, Expr]
    root: str | None
    lazy: bool
    triggers: tuple[str, ...]
    warnings: tuple[Relaxed, ...]


class Emission:
    """One grammar being made."""

    def __init__(self, wanted: Wanted, prompt: str) -> None:
        self.wanted = wanted
        self.start = behind(wanted.machinery, wanted.loaded, prompt)
        tools = wanted.tools or ()
        if wanted.tool_choice == "named":
            tools = tuple(tool for tool in tools if tool.name == wanted.named)
        request = Request(tools, wanted.strict, wanted.response_schema)
        loaded = wanted.loaded
        self.lowering = Lowering(wanted.format, frozenset(loaded.fields), loaded.triggers, request)
        self.roots = Roots(self.lowering, wanted.format.rules, wanted.loaded.triggers)

    def made(self) -> Made:
        calls = self.wanted.tool_choice != "none" and bool(self.wanted.tools)
        if self.wanted.response_schema is not None:
            return self.eager(self.answer(calls and self.wanted.tool_choice == "auto", calls))
        if not calls:
            return self.nothing()
        if self.wanted.tool_choice in ("required", "named"):
            return self.eager(self.behind_prompt(self.many, content=False))
        if self.start.in_section or self.triggered():
            return self.eager(self.behind_prompt(Calls.ANY if self.wanted.parallel else Calls.ONE, content=True))
        if self.start.in_call:
            return self.eager(self.behind_prompt(self.many, content=True))
        return self.lazy()

    def triggered(self) -> bool:
        """Whether the prompt ends with a trigger, and what it begins is not settled."""
        words, _ = trigger_words(self.wanted.loaded, self.wanted.format.rules)
        return any(word in self.start.read for word in words)

    @property
    def many(self) -> Calls:
        return Calls.SOME if self.wanted.parallel else Calls.ONE

    def answer(self, optional_calls: bool, calls: bool) -> Expr:
        """The response format's JSON; where tools may be called as well, that or calls."""
        place = Place(Calls.ONE, content=True, response=True)
        ways = [] if calls and not optional_calls else [self.roots.continued(self.start, place)]
        if calls:
            ways.append(self.behind_prompt(self.many, content=False))
        return either(ways)

    def behind_prompt(self, calls: Calls, content: bool) -> Expr:
        return self.roots.continued(self.start, Place(calls, content))

    def lazy(self) -> Made:
        words, others = trigger_words(self.wanted.loaded, self.wanted.format.rules)
        for word in others:
            self.relax(f"a call that begins with {word!r} is not constrained: no special token is in that")
        if not words:
            return self.nothing()
        place = Place(self.many, content=True)
        root = self.define(self.roots.lazy(self.wanted.loaded.start, place))
        return Made(self.lowering.builder.rules, root, True, words, self.warnings)

    def relax(self, action: str) -> None:
        if self.wanted.strict:
            raise EmitError(f"{self.wanted.loaded.name}: {action}")
        self.lowering.warnings.append(Relaxed("", "", "tool_choice", action))

    @property
    def warnings(self) -> tuple[Relaxed, ...]:
        return tuple(dict.fromkeys(self.lowering.warnings))

    def eager(self, body: Expr) -> Made:
        root = self.define(body)
        return Made(self.lowering.builder.rules, root, False, (), self.warnings)

    def define(self, body: Expr) -> str:
        if body == NOTHING:
            reasons = "; ".join(dict.fromkeys(self.lowering.refused)) or "no offered tool can be called in it"
            raise EmitError(f"{self.wanted.loaded.name}: nothing can be emitted for this request: {reasons}")
        root = self.lowering.builder.reserve("root")
        self.lowering.builder.fill(root, body)
        return root.name

    def nothing(self) -> Made:
        return Made({}, None, False, (), self.warnings)
