"""An automaton as lowered rules: right-linear, unambiguous, and never a repeat of something that may be empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..charset import Ranges, normal
from .automaton import Automaton, TooLarge
from .rules import EMPTY, NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text

#: Deeper nesting becomes a rule of its own: backends read parentheses recursively.
DEEPEST_INLINE = 6
#: A grammar with more rules for one string is slow to load; the caller relaxes.
MOST_RULES = 1500


def to_rules(
    language: Automaton, builder: Builder, hint: str, spell: Callable[[Ranges], Expr] = Chars, end: Expr = EMPTY
) -> Expr:
    """The language as an expression over rules of ``builder``; ``spell`` writes one character of a set.

    What ``end`` matches follows each text: written into the rules, a closing quote costs no extra choice.

    >>> from .nfa import compiled
    >>> builder = Builder()
    >>> to_rules(compiled(Seq((Text("a"), Rep(Chars(((98, 99),)), 0, None)))), builder, "x")
    Seq(items=(Text(text='a'), Rep(item=Chars(ranges=((98, 99),)), min=0, max=None)))
    """
    if language.is_empty():
        return NOTHING
    return _Writer(language, builder, hint, spell, end).whole()


def rests(
    language: Automaton, builder: Builder, hint: str, spell: Callable[[Ranges], Expr], end: Expr
) -> Callable[[int], Expr]:
    """What the texts of the language go on with behind each of its states; a rule is written when it is asked for."""
    writer = _Writer(language, builder, hint, spell, end)
    return writer.rest


class _Writer:
    def __init__(
        self, language: Automaton, builder: Builder, hint: str, spell: Callable[[Ranges], Expr], end: Expr
    ) -> None:
        self.language = language
        self.builder = builder
        self.hint = hint
        self.spell = spell
        self.end = end
        self.exits = [self._exits(state) for state in range(len(language.edges))]
        self.entries = self._entries()
        self.rules: dict[int, Ref] = {}
        self.waiting: list[int] = []

    def _exits(self, state: int) -> dict[int, Ranges]:
        grouped: dict[int, list[tuple[int, int]]] = {}
        for low, high, target in self.language.edges[state]:
            grouped.setdefault(target, []).append((low, high))
        return {target: normal(ranges) for target, ranges in grouped.items()}

    def _entries(self) -> list[int]:
        """From how many other states each one is entered; the start once more, from outside."""
        count = [1] + [0] * (len(self.exits) - 1)
        for state, exits in enumerate(self.exits):
            for target in exits:
                count[target] += target != state
        return count

    def whole(self) -> Expr:
        if self.entries[0] > 1:
            body: Expr = self.rule(0)
        else:
            body = self.state(0, 0)
        self.write()
        return body

    def rest(self, state: int) -> Expr:
        body = self.rule(state) if self.exits[state] else self.end
        self.write()
        return body

    def write(self) -> None:
        """Bodies are written after the expression that needs them, so that no cycle recurses."""
        while self.waiting:
            state = self.waiting.pop()
            self.builder.fill(self.rules[state], self.state(state, 0))

    def rule(self, state: int) -> Ref:
        if state not in self.rules:
            if len(self.rules) >= MOST_RULES:
                raise TooLarge(f"more than {MOST_RULES} rules")
            self.rules[state] = self.builder.reserve(self.hint)
            self.waiting.append(state)
        return self.rules[state]

    def goto(self, state: int, depth: int) -> Expr:
        if not self.exits[state]:
            return self.end
        if self.entries[state] > 1 or depth > DEEPEST_INLINE:
            return self.rule(state)
        return self.state(state, depth)

    def state(self, state: int, depth: int) -> Expr:
        """What follows in a state, a chain of states without choice being one sequence."""
        items: list[Expr] = []
        first = state
        while True:
            run, state = self.run(state)
            items += run
            exits = self.exits[state]
            loop = exits.get(state)
            if loop is not None:
                items.append(Rep(self.spell(loop), 0, None))
            onward = [(target, ranges) for target, ranges in exits.items() if target != state]
            if len(onward) != 1 or state in self.language.accepting:
                break
            target, ranges = onward[0]
            items.append(self.spell(ranges))
            if self.entries[target] > 1 or not self.exits[target] or target == first:
                items.append(self.goto(target, depth))
                return sequence(items)
            state = target
        choices = [sequence([self.spell(ranges), self.goto(target, depth + 1)]) for target, ranges in onward]
        items.append(self.choice(choices, state in self.language.accepting))
        return sequence(items)

    def choice(self, choices: list[Expr], accepting: bool) -> Expr:
        if not choices:
            return self.end
        body = choices[0] if len(choices) == 1 else Alt(tuple(choices))
        if not accepting:
            return body
        return Rep(body, 0, 1) if self.end == EMPTY else Alt((self.end, *choices))

    def run(self, state: int) -> tuple[list[Expr], int]:
        """A stretch of states that each lead on by the same characters: one counted repeat, and the state behind."""
        accepting = state in self.language.accepting
        length, at, ranges = 0, state, self._only_exit(state)
        while ranges is not None and (target := next(iter(self.exits[at]))) != state:
            length, at = length + 1, target
            if self.entries[at] > 1 or (at in self.language.accepting) != accepting or self._only_exit(at) != ranges:
                break
        if ranges is None or length < 3:
            return [], state
        if not accepting:
            return [Rep(self.spell(ranges), length, length)], at
        # Up to here the text may end anywhere: only where it also must end can that be one repeat.
        if self.exits[at] or at not in self.language.accepting:
            return [], state
        return [Rep(self.spell(ranges), 0, length)], at

    def _only_exit(self, state: int) -> Ranges | None:
        exits = self.exits[state]
        return next(iter(exits.values())) if len(exits) == 1 and state not in exits else None


def sequence(items: Sequence[Expr]) -> Expr:
    """The items one after the other, neighbouring texts joined."""
    out: list[Expr] = []
    for item in items:
        for part in item.items if isinstance(item, Seq) else (item,):
            if isinstance(part, Text):
                text = part.text
            elif isinstance(part, Chars) and len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]:
                text = chr(part.ranges[0][0])
            else:
                out.append(part)
                continue
            before = out[-1] if out else None
            if isinstance(before, Text):
                out[-1] = Text(before.text + text)
            elif text:
                out.append(part if isinstance(part, Text) else Text(text))
    return out[0] if len(out) == 1 else Seq(tuple(out)) if out else EMPTY
