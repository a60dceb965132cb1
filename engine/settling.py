"""Code in the making, and when its choices are settled: as soon as what has been read excludes what else could match."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import charset
from . import program as op
from .delimiters import edge_literals, recursive
from .fusion import Fusion
from .nodes import (
    Choice,
    Class,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Reference,
    Repeat,
    Rule,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    walk,
)
from .openings import Continuation, Openings
from .program import NameSlot, Site

_SPINE = 16
"""Items of an alternative looked at to settle it."""


class Target:
    """A place in the code that is not known yet."""

    __slots__ = ("pc",)

    def __init__(self) -> None:
        self.pc = -1


@dataclass(slots=True)
class Open:
    """A choice that is open where code is being written: what has been read since, and what else could match it."""

    target: Target
    others: list[Continuation]
    prefix: list[Expression] = field(default_factory=list)
    settled: bool = False

    def copy(self) -> Open:
        return Open(self.target, self.others, list(self.prefix), self.settled)


class Settling:
    """The state of a compilation, instructions one by one, and the choices that are open where they are written."""

    def __init__(self, rules: dict[str, Rule], text_labels: frozenset[str]) -> None:
        self.rules = rules
        self.regions = text_labels | {"tool_call"}
        self.openings = Openings(rules)
        self.code: list[op.Instruction] = []
        self.names: list[NameSlot] = []
        self.shows: dict[int, str] = {}
        self.places: dict[int, Continuation] = {}
        self.choices: list[tuple[Target, Continuation]] = []
        self.subroutines: dict[str, Target] = {}
        self.pending: list[str] = []
        self.recursive = recursive(rules)
        # Labels whose text is matched again: a rule instance of its own holds each.
        self.again = {n.label for rule in rules.values() for n in walk(rule.expression) if isinstance(n, Same)}
        self.fusion = Fusion(rules, self.recursive)
        self.sites: list[Site] = []
        self._bounds: dict[str, tuple[bool, bool, bool, tuple[str, ...], tuple[str, ...]]] = {}
        self.dialect = "raw"
        self.site: Site | None = None
        self.committed = False
        self.in_call = False
        self.ahead = False
        self.predicate = 0
        self.plain = False
        self.tolerating = 0
        self.beginning = ""
        self.text_label: Label | None = None
        span = next(iter(rules.values())).span
        self.anything: Continuation = (Until(Never(span), span), None)

    def expression(self, node: Expression, k: Continuation, opened: list[Open]) -> None:
        """Write the code that matches ``node`` before continuation ``k``."""
        raise NotImplementedError

    # -- instructions ------------------------------------------------------------------------------------------------

    def emit(self, *instruction: object) -> None:
        self.code.append(instruction)

    def terminal(self, node: Expression, *instruction: object) -> None:
        """Write an instruction that can fail, with the words an error uses for it."""
        # Blanks and tolerated forms are not what a model should have written; a fused pattern does not see them fail.
        if not self.tolerating and not (isinstance(node, Class) and not node.negated and charset.blank(node.ranges)):
            # A rule that has a name for errors is what was expected where it could not even begin.
            self.shows[len(self.code)] = self.beginning or shown(node)
        self.beginning = ""
        self.code.append(instruction)

    def place(self, target: Target) -> None:
        target.pc = len(self.code)

    def make_site(self, rule: Rule, is_start: bool = False) -> Site:
        site = Site(rule.name, *self.bounds(rule))
        if not is_start:
            self.sites.append(site)
        return site

    def bounds(self, rule: Rule) -> tuple[bool, bool, bool, tuple[str, ...], tuple[str, ...]]:
        """What every site of the rule has: whether it is a frame, a scope, a call; its closers and openers."""
        if rule.name not in self._bounds:
            own = list(walk(rule.expression))
            labels = {node.name for node in own if isinstance(node, Label)}
            commits = any(isinstance(node, Commit) for node in own)
            call = "tool_call" in labels
            marked = bool(labels & self.again) or any(isinstance(node, Same) for node in own)
            closers = edge_literals(rule.expression, self.rules, closing=True) if commits or call else ()
            starts = edge_literals(rule.expression, self.rules, closing=False) if closers else ()
            frame = bool(labels & self.regions) or marked
            self._bounds[rule.name] = (frame, commits or call, call, closers, starts)
        return self._bounds[rule.name]

    def marked(self, rule: Rule) -> bool:
        """Whether the rule is a frame or a scope."""
        frame, scope, *_ = self.bounds(rule)
        return frame or scope

    # -- open choices ------------------------------------------------------------------------------------------------

    def advance(self, opened: list[Open], node: Expression) -> None:
        """``node`` has been read: settle the choices, innermost first, that it decides."""
        for choice in opened:
            choice.prefix.append(node)
        for choice in reversed(opened):
            if choice.settled:
                continue
            if len(choice.prefix) > _SPINE or not self.openings.excludes(choice.prefix, choice.others):
                return
            self.emit(op.SETTLE, choice.target)
            choice.settled = True

    def settle_outer(self, opened: list[Open]) -> None:
        for choice in reversed(opened):
            if choice.settled:
                continue
            if not self.openings.excludes(choice.prefix, choice.others):
                return
            self.emit(op.SETTLE, choice.target)
            choice.settled = True

    def join(self, node: Expression, opened: list[Open], states: list[list[Open]]) -> None:
        for index, choice in enumerate(opened):
            choice.prefix.append(node)
            choice.settled = all(state[index].settled for state in states)

    def commits(self, node: Expression) -> bool:
        """Whether ``node`` cannot match without passing a commit."""
        match node:
            case Commit():
                return True
            case Sequence(items=items):
                return any(map(self.commits, items))
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return self.commits(item)
            case Choice(alternatives=alternatives):
                return all(map(self.commits, alternatives))
            case Repeat(item=item, min=least):
                return least > 0 and self.commits(item)
            case Reference(name=name):
                return name not in self.recursive and self.commits(self.rules[name].expression)
            case _:
                return False


def shown(node: Expression) -> str:
    """How an error message names what ``node`` would match."""
    match node:
        case Literal(text=text):
            return repr(text)
        case End():
            return "the end of the output"
        case Terminal(name="TOOL_NAME"):
            return "the name of a tool"
        case Terminal(name="TOOL_ARGUMENTS"):
            return "a JSON object"
        case Terminal(name="JSON_VALUE"):
            return "a JSON value"
        case Terminal():
            return "a parameter's name"
        case _:
            return node.span.text
