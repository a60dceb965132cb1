"""Whether what may come next in a grammar surely takes a given text on.

Texts are witnesses: some that an expression matches, each literal spelling in turn. `Follow` says no only where a
witness is refused, so what is reported is so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from . import charset
from .analysis import Rules
from .delimiters import before_commit
from .nodes import (
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
from .openings import Continuation
from .source import Source, Span


@dataclass(frozen=True, slots=True)
class Witness:
    """A text that an expression matches, its first ``size`` characters, what it looks at behind them included.

    ``holds`` are predicates known to hold, by offset; ``over``: the input ends behind ``text``.
    """

    text: str = ""
    size: int = 0
    holds: tuple[tuple[int, Expression], ...] = ()
    over: bool = False

    def then(self, other: Witness) -> Witness:
        """The two in a row. What the first only looked at, the second is taken to be."""
        moved = tuple((self.size + offset, node) for offset, node in other.holds)
        text = max(self.text, self.text[: self.size] + other.text, key=len)
        return Witness(text, self.size + other.size, self.holds + moved, other.over or self.over)


_NAME = "f"
_DEEPEST = 200
_MOST = 64
"""More texts than this of one delimiter are not tried."""


def witnesses(node: Expression, rules: Rules, inside: frozenset[str] = frozenset()) -> list[Witness]:
    """Some texts that ``node`` matches: every literal spelling, with and without what may be missing.

    Of a rule that is in itself, the rules that it is ``inside``, only those that it matches without.
    """
    match node:
        case Literal(text=text):
            return [Witness(text, len(text))]
        case Class(ranges=ranges, negated=negated):
            low = (charset.complement(ranges) if negated else ranges)[0][0]
            return [Witness(chr(low), 1)]
        case Any() | Terminal():
            return [Witness(_NAME, 1)]
        case End():
            return [Witness(over=True)]
        case Never():
            return []
        case Commit():
            return [Witness()]
        case Not():
            return [Witness(holds=((0, node),))]
        case And(item=item):
            return [Witness(w.text, 0, ((0, node), *w.holds), w.over) for w in witnesses(item, rules, inside)]
        case Sequence(items=items):
            return _joined([witnesses(item, rules, inside) for item in items])
        case Choice(alternatives=items):
            return [w for item in items for w in witnesses(item, rules, inside)][:_MOST]
        case Repeat(item=item, min=least):
            once = witnesses(item, rules, inside)
            return [*([Witness()] if least == 0 else []), *once]
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            return witnesses(item, rules, inside)
        case Reference(name=name):
            return [] if name in inside else witnesses(rules[name].expression, rules, inside | {name})
        case Until() | ParamValue() | Permute() | Same():
            return []
        case Call():
            raise AssertionError("calls are expanded by the loader")
        case _:
            assert_never(node)


def _joined(parts: list[list[Witness]]) -> list[Witness]:
    found = []
    for chosen in product(*parts):
        whole = Witness()
        for part in chosen:
            whole = whole.then(part)
        found.append(whole)
        if len(found) >= _MOST:
            break
    return found


CLOSED = Literal("", Span(Source("", ""), 0, 0))
"""Stands in a continuation where a choice that was opened on the way is closed again."""


class Follow:
    """Whether what follows a text surely commits on, or takes as text, what the text stopped at."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def matches(self, node: Expression, text: Witness, pos: int = 0) -> bool:
        """Whether ``node`` matches ``text``, or may match it when more text comes."""
        return self.safe((node, (Commit(node.span), None)), pos, text)

    def safe(self, after: Continuation, pos: int, text: Witness, open_: int = 0, depth: int = 0) -> bool:
        """Some way through ``after`` gets past ``text`` whatever comes behind it. Says yes where it is not sure.

        ``open_`` choices of that way are open: past is a commit, or the end of ``text`` with none of them open.
        """
        while after is not None and after[0] is CLOSED:
            open_, after = open_ - 1, after[1]
        if depth > _DEEPEST or (text.text and not open_ and pos >= (text.size or len(text.text)) and not text.over):
            return True
        if after is None:
            return text.over and pos == len(text.text)
        node, rest = after
        return self._at(node, rest, pos, text, (open_, depth + 1))

    def _at(self, node: Expression, rest: Continuation, pos: int, text: Witness, so_far: tuple[int, int]) -> bool:
        open_, depth = so_far

        def go_on(*items: Expression, opened: int = 0, at: int = pos) -> bool:
            after = rest
            for item in (*reversed(items[1:]), *items[:1]) if opened else reversed(items):
                after = (item, after)
            return self.safe(after, at, text, open_ + opened, depth)

        match node:
            case Literal(text=wanted):
                return text.text.startswith(wanted, pos) and go_on(at=pos + len(wanted))
            case Class(ranges=ranges, negated=negated):
                if pos >= len(text.text):
                    return False
                inside = charset.overlap(ranges, ((ord(text.text[pos]),) * 2,))
                return inside is not negated and (negated or go_on(at=pos + 1))
            case Any():
                return pos < len(text.text)
            case End():
                return text.over and pos == len(text.text)
            case Never():
                return False
            case Commit() | Same() | Permute():
                return True
            case Sequence(items=items):
                return go_on(*items)
            case Choice(alternatives=items):
                return any(go_on(item, CLOSED, opened=1) for item in items[:-1]) or go_on(items[-1])
            case Repeat(item=item, min=least, max=most):
                again = (replace(node, min=0),) if most is None else ()
                once = go_on(item, *again) if least else go_on(item, CLOSED, *again, opened=1)
                return once or (least == 0 and go_on())
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return go_on(item)
            case Reference(name=name):
                return go_on(self.rules[name].expression)
            case And(item=item):
                return ((pos, node) in text.holds or self.matches(item, text, pos)) and go_on()
            case Not():
                return go_on()
            case Until(delimiter=delimiter) | ParamValue(delimiter=delimiter):
                return not self.matches(before_commit(delimiter, self.rules), text, pos) or go_on()
            case Terminal():
                return not text.text.startswith(_NAME, pos) or go_on(at=pos + 1)
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)

    def empty(
        self, node: Expression, text: Witness | None, active: frozenset[str] = frozenset()
    ) -> Iterator[Witness | None]:
        """The ways in which ``node`` matches nothing: each what it has seen of the text, None where nothing is known."""
        match node:
            case Literal(text=wanted):
                yield from () if wanted else (text,)
            case Not(item=Literal(text="")) | Class() | Any() | Never():
                return
            case And(item=item):
                yield from witnesses(item, self.rules) if text is None else (text,)
            case Sequence(items=items) | Permute(items=items):
                worlds: list[Witness | None] = [text]
                for item in items:
                    worlds = [after for world in worlds for after in self.empty(item, world, active)][:_MOST]
                yield from worlds
            case Choice(alternatives=items):
                for item in items:
                    yield from self.empty(item, text, active)
                    if text is not None and self.matches(item, text):
                        return
            case Repeat(item=item, min=least):
                if least == 0 and (text is None or not self.matches(item, text)):
                    yield text
                yield from self.empty(item, text, active)
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                yield from self.empty(item, text, active)
            case Reference(name=name):
                if name not in active:
                    yield from self.empty(self.rules[name].expression, text, active | {name})
            case Terminal(name=name, dialect=dialect):
                yield from (text,) if name == "PARAM_NAME" and dialect != "python" else ()
            case End() | Not() | Commit() | Until() | ParamValue() | Same():
                yield text
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)
