"""What emitting must know of a format's rules, whatever a request offers."""

from __future__ import annotations

from dataclasses import replace

from ..delimiters import Rules, blank_run, recursive
from ..nodes import (
    And,
    Any,
    Call,
    Choice,
    Class,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Not,
    ParamValue,
    Permute,
    Reference,
    Repeat,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    children,
    rewrite,
    walk,
)
from .automaton import Automaton
from .place import holds
from .regular import free_text

#: Labels of what a property and its schema decide.
_BY_PROPERTY = frozenset({"key", "value", "text"})


class Format:
    """One rule table, looked at once. Sets and keys hold identities of its nodes, which live as long as it.

    ``recursive``, ``calling`` and ``answering`` name the rules that refer to themselves, that hold a tool call, and that
    hold content; ``framing`` those that are the frame of a call. ``fixed`` are the nodes that are written the same for
    each tool and property, their predicates left aside. ``automata`` are delimiters, kept from request to request.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.written = {name: replace(rule, expression=written(rule.expression)) for name, rule in rules.items()}
        self.automata: dict[tuple[object, ...], Automaton] = {}
        nodes = {name: list(walk(rule.expression)) for name, rule in rules.items()}
        self.recursive = recursive(rules)
        self.calling = frozenset(name for name, rule in rules.items() if holds(rule.expression, "tool_call", rules))
        self.answering = frozenset(name for name, rule in rules.items() if holds(rule.expression, "content", rules))
        self.framing = frozenset(name for name, found in nodes.items() if any(map(_is_call, found)))
        every = [node for found in nodes.values() for node in found]
        repeats = [node for node in every if isinstance(node, Repeat)]
        self._runs = {id(node): blank_run(node, rules) for node in repeats}
        self._lists = {id(node): holds(node.item, "key", rules) for node in repeats}
        self._texts = {id(node): _spells_text(node) for node in every}
        self._fixed: dict[int, bool] = {}
        self.fixed = frozenset(id(node) for node in every if self._is_fixed(node))

    def run(self, node: Repeat) -> tuple[frozenset[str], int | None] | None:
        """`blank_run` of a repeat."""
        return self._runs[id(node)] if id(node) in self._runs else blank_run(node, self.rules)

    def lists_parameters(self, node: Repeat) -> bool:
        """Whether a repeat is one of parameters."""
        return self._lists[id(node)] if id(node) in self._lists else holds(node.item, "key", self.rules)

    def spells_text(self, node: Expression) -> bool:
        """Whether a node is one that spells a string."""
        return self._texts[id(node)] if id(node) in self._texts else _spells_text(node)

    def free_text(self, node: Expression) -> Automaton:
        """The texts of a labelled node that hold no delimiter."""
        if id(node) not in self._fixed:
            return free_text(node, self.rules, exact=False)
        key = ("text", id(node))
        if key not in self.automata:
            self.automata[key] = free_text(node, self.rules, exact=False)
        return self.automata[key]

    def _is_fixed(self, node: Expression) -> bool:
        known = self._fixed.get(id(node))
        if known is None:
            known = self._fixed[id(node)] = self._holds_nothing_offered(node)
        return known

    def _holds_nothing_offered(self, node: Expression) -> bool:
        match node:
            case Terminal() | ParamValue() | Same() | Call():
                return False
            case Label(name=name) if name in _BY_PROPERTY:
                return False
            case Reference(name=name):
                return name not in self.recursive and self._is_fixed(self.rules[name].expression)
            case Until() | And() | Not() | Tolerate() | Drop():
                return True
            case Literal() | Class() | Any() | End() | Never() | Commit():
                return True
            case Sequence() | Choice() | Repeat() | Label() | Permute():
                return all(map(self._is_fixed, children(node)))


def _is_call(node: Expression) -> bool:
    return isinstance(node, Label) and node.name == "tool_call"


def _spells_text(node: Expression) -> bool:
    return any(isinstance(part, Label) and part.name == "text" for part in walk(node))


def written(node: Expression) -> Expression:
    """``node`` without its tolerated forms."""

    def without(part: Expression) -> Expression:
        return Never(part.span) if isinstance(part, Tolerate) else part

    return rewrite(node, without)
