"""Grammar expressions as automata: what a delimiter is, and the free texts that hold none.

A delimiter is over-approximated (a predicate inside it is left out, names are any text), so a text that is emitted
never holds one; what is emitted is at worst a little less than what is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from .. import charset
from ..delimiters import Rules, before_commit
from ..errors import EmitError
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
)
from .automaton import Automaton, anything, excluding, until
from .charset import ANY
from .nfa import compiled, concat
from .rules import EMPTY, NOTHING, Alt, Chars, Expr, Rep, Seq, Text

_DEEPEST = 40


def delimiter(node: Expression, rules: Rules, at_end: Expr = EMPTY) -> Automaton:
    """The texts that delimiter ``node`` matches, whatever names the request has.

    ``at_end`` stands for the end of input: nothing where the text surely goes on.
    """
    return compiled(_Regular(rules, at_end).expr(before_commit(node, rules), last=True, depth=0))


def chars(node: Class | Any) -> Chars:
    """A class as lowered characters; never a surrogate."""
    if isinstance(node, Any):
        return Chars(ANY)
    return Chars(charset.intersection(charset.complement(node.ranges) if node.negated else node.ranges, ANY))


@dataclass(frozen=True, slots=True)
class _Regular:
    """Opens expressions up into lowered ones without references."""

    rules: Rules
    at_end: Expr

    def expr(self, node: Expression, last: bool, depth: int) -> Expr:
        """``node``; a predicate counts as text behind the delimiter when it is its ``last`` item."""
        if depth > _DEEPEST:
            raise EmitError(f"{node.span.where}: a delimiter that recurses cannot be emitted")
        match node:
            case Literal(text=text):
                return Text(text)
            case Class() | Any():
                return chars(node)
            case Sequence(items=items):
                return Seq(tuple(self.expr(item, last and item is items[-1], depth + 1) for item in items))
            case Choice(alternatives=alternatives):
                return Alt(tuple(self.expr(item, last, depth + 1) for item in alternatives))
            case Repeat(item=item, min=least, max=most):
                return Rep(self.expr(item, False, depth + 1), least, most)
            case And(item=item):
                return self.expr(item, True, depth + 1) if last else EMPTY
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return self.expr(item, last, depth + 1)
            case Reference(name=name):
                return self.expr(self.rules[name].expression, last, depth + 1)
            case Until() | ParamValue() | Same():
                return Rep(Chars(ANY), 0, None)
            case Terminal():
                return Rep(Chars(ANY), 1, None)
            case End():
                return self.at_end
            case Not(item=Literal(text="")):
                return NOTHING
            case Not() | Commit():
                return EMPTY
            case Never():
                return NOTHING
            case Permute() | Call():
                raise EmitError(f"{node.span.where}: a delimiter that holds this cannot be emitted")
            case _:
                assert_never(node)


def free_text(node: Expression, rules: Rules, exact: bool) -> Automaton:
    """The texts of a labelled ``node``. ``exact``: nothing at their end can be taken for a delimiter's beginning."""
    match node:
        case Until(delimiter=stop):
            return (until if exact else excluding)(delimiter(stop, rules))
        case Reference(name=name):
            return free_text(rules[name].expression, rules, exact)
        case Sequence(items=items):
            return _sequence(list(items), rules, exact)
        case Label(item=item):
            return free_text(item, rules, exact)
        case _:
            return compiled(_Regular(rules, EMPTY).expr(node, last=True, depth=0))


def _sequence(items: list[Expression], rules: Rules, exact: bool) -> Automaton:
    if not items:
        return compiled(EMPTY)
    node, rest = items[0], _sequence(items[1:], rules, exact)
    match node:
        case Not(item=item):
            return rest - concat(delimiter(item, rules), anything())
        case And():
            return rest
        case _:
            return concat(free_text(node, rules, exact), rest)
