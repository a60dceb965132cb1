"""Where an emitted grammar begins: at a trigger, or behind the prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..delimiters import Rules, edge_literals
from ..loader import Loaded
from ..machine import Machine
from ..nodes import Choice, Drop, Expression, Label, Literal, Reference, Repeat, Sequence, walk
from ..openings import Continuation, listed
from ..program import Program
from ..state import Names
from .derivative import derivative
from .joining import either
from .lower import Lowering
from .place import Calls, Place
from .rules import EMPTY, NOTHING, Alt, Expr, Ref, Seq


@dataclass(frozen=True, slots=True)
class Start:
    """What is still to be matched behind a prompt: ``rest``, of which ``read`` has been written.

    ``in_call``: a call is open; ``in_section``: a trigger rule is, so no trigger will come.
    """

    rest: Continuation
    read: str
    in_call: bool
    in_section: bool = False


def behind(machinery: Callable[[], tuple[Program, Names]], loaded: Loaded, prompt: str) -> Start:
    """Where the machine stands when it has read ``prompt``; without one it is not even made."""
    if not prompt:
        return Start((Reference(loaded.start, loaded.rules[loaded.start].span), None), "", False)
    program, names = machinery()
    machine = Machine(program, names)
    machine.text = prompt
    machine.run(at_end=False)
    scope = machine.scopes
    in_section = False
    while scope is not None and not scope.call:
        in_section = in_section or (scope.committed and scope.site.name in loaded.triggers)
        scope = scope.parent
    if scope is not None:
        return Start(program.places[scope.site.enters[0]], prompt[scope.start :], True)
    if machine.choices:
        other, pos = machine.choices[0][:2]
        k = program.choices.get(other) or program.places.get(other - 1)
        return Start(k, prompt[pos:], False, in_section)
    return Start(program.places.get(machine.pc), prompt[machine.pos :], False, in_section)


class Roots:
    """Writes the start rule of an emitted grammar with a `Lowering`."""

    def __init__(self, lowering: Lowering, rules: Rules, triggers: tuple[str, ...]) -> None:
        self.lowering = lowering
        self.rules = rules
        self.triggers = frozenset(triggers)

    def continued(self, start: Start, place: Place) -> Expr:
        """All of what may follow the prompt, with as many calls as ``place`` says."""
        whole = self.lowering.sequence(listed(start.rest), None, place)
        return derivative(whole, start.read, self.lowering.builder) if start.read else whole

    def lazy(self, start: str, place: Place) -> Expr:
        """What may follow from the first trigger rule on."""
        return self.trigger(self.rules[start].expression, None, place)

    def trigger(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """The ends of matches of ``node`` that begin with a trigger rule."""
        match node:
            case Reference(name=name) if name in self.triggers:
                calls = Calls.ONE if place.calls is Calls.ONE else Calls.SOME
                body = self.lowering.reference(self.rules[name], k, replace(place, calls=calls))
                return self.without_blanks(body)
            case Reference(name=name):
                return self.trigger(self.rules[name].expression, k, place)
            case Label(item=item) | Drop(item=item):
                return self.trigger(item, k, place)
            case Sequence(items=items):
                return self.trigger_sequence(list(items), k, place)
            case Choice(alternatives=alternatives):
                return either([self.trigger(item, k, place) for item in alternatives])
            case Repeat():
                once = self.trigger(node.item, (node, k), place)
                if once == NOTHING:
                    return NOTHING
                later = replace(place, calls=Calls.NONE if place.calls is Calls.ONE else Calls.ANY)
                more = EMPTY if node.max == 1 else self.lowering.repeated(node, (node, k), later)
                return self.lowering.joined([once, more])
            case _:
                return NOTHING

    def trigger_sequence(self, items: list[Expression], k: Continuation, place: Place) -> Expr:
        later = replace(place, calls=Calls.NONE if place.calls is Calls.ONE else Calls.ANY)
        ways = []
        for index, item in enumerate(items):
            rest: Continuation = k
            for follower in reversed(items[index + 1 :]):
                rest = (follower, rest)
            first = self.trigger(item, rest, place)
            if first == NOTHING:
                continue
            tail = self.lowering.sequence(items[index + 1 :], k, later)
            ways.append(self.lowering.joined([first, tail]))
        return either(ways)

    def without_blanks(self, body: Expr) -> Expr:
        """``body`` without the blanks it begins with: the grammar starts at the very opener."""
        match body:
            case Ref(name=name) if name in self.lowering.blanks:
                return EMPTY
            case Ref(name=name):
                inner = self.lowering.builder.rules[name]
                bare = self.without_blanks(inner)
                return body if bare == inner else bare
            case Seq(items=items):
                head = self.without_blanks(items[0])
                return body if head == items[0] else self.lowering.joined([head, *items[1:]])
            case Alt(alternatives=alternatives):
                return either([self.without_blanks(item) for item in alternatives])
            case _:
                return body


def trigger_words(loaded: Loaded, rules: Rules) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The openers of the trigger rules that hold a special token, and those that do not.

    One that begins with a token that stands nowhere else is cut behind it: the grammar then starts at that token.
    """
    words: list[str] = []
    for name in loaded.triggers:
        words += edge_literals(rules[name].expression, rules, closing=False) or ("…",)
    elsewhere = _literals_outside(loaded, rules)
    special = []
    for word in words:
        token = next((token for token in loaded.tokens if word.startswith(token)), "")
        if token and not any(token in text for text in elsewhere):
            special.append(token)
        elif any(token in word for token in loaded.tokens):
            special.append(word)
    others = [word for word in words if not any(token in word for token in loaded.tokens)]
    return tuple(dict.fromkeys(special)), tuple(dict.fromkeys(others))


def _literals_outside(loaded: Loaded, rules: Rules) -> set[str]:
    """The literals that can stand in the output without a trigger rule."""
    found: set[str] = set()
    seen = set(loaded.triggers)
    todo = [loaded.start]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in walk(rules[name].expression):
            if isinstance(node, Literal):
                found.add(node.text)
            elif isinstance(node, Reference):
                todo.append(node.name)
    return found
