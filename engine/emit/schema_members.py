"""The members of an object: the declared ones in order, each at most once, then those that are not declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .automaton import Automaton, TooLarge, anything, texts
from .automaton_rules import sequence
from .rules import EMPTY, NOTHING, Alt, Builder, Expr, Rep
from .schema_expand import member_conj
from .schema_facts import Conj, Facts, Size
from .schema_refs import Node

#: Rules of one object are counted members times members; above this the count is not enforced.
MOST_COUNTED_RULES = 2000


@dataclass(frozen=True, slots=True)
class Member:
    """A declared member: its name, what its value has to satisfy, and whether it may be left out."""

    name: str
    value: Conj
    required: bool


@dataclass(frozen=True, slots=True)
class Extra:
    """Members that are not declared: their names (None is any) but for some, and their value."""

    names: Automaton | None
    value: Conj
    but: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Members:
    """All that the facts say about the members of an object."""

    declared: tuple[Member, ...]
    extras: tuple[Extra, ...]
    size: Size


Report = Callable[[str, str], None]


def members(facts: Facts, names: Automaton | None, is_open: bool, report: Report) -> Members:
    """The members of an object that satisfies the facts. ``names``: what a name has to be part of."""
    declared = dict.fromkeys(name for fields in facts.fields for name in fields.named) | dict.fromkeys(facts.required)
    found = tuple(
        Member(name, member_conj(facts, name), name in facts.required)
        for name in declared
        if names is None or names.matches(name)
    )
    # Without any member in sight a closed object could only be empty, which nobody means by "type": "object".
    silent = all(fields.rest is None for fields in facts.fields)
    closed = not is_open and silent and any(fields.named or fields.patterns for fields in facts.fields)
    return Members(found, _extras(facts, tuple(declared), names, not closed, report), facts.members)


def _extras(
    facts: Facts, declared: tuple[str, ...], names: Automaton | None, is_open: bool, report: Report
) -> tuple[Extra, ...]:
    patterns = list(dict.fromkeys(language for fields in facts.fields for language, _ in fields.patterns))
    if not is_open and not patterns:
        return ()
    if not patterns and names is None:
        return (Extra(None, _extra_conj(facts, ()), declared),)
    try:
        free = anything() if names is None else names
        classes = _classes(free - texts(declared) if declared else free, patterns)
    except TooLarge as error:
        report("patternProperties" if patterns else "additionalProperties", f"no further members: {error}")
        return ()
    return tuple(Extra(names, _extra_conj(facts, hit)) for names, hit in classes if is_open or hit)


def _classes(names: Automaton, patterns: Sequence[Automaton]) -> list[tuple[Automaton, tuple[Automaton, ...]]]:
    """The names, split by which patterns they match."""
    classes: list[tuple[Automaton, tuple[Automaton, ...]]] = [(names, ())]
    for language in patterns:
        split = [
            part for names, hit in classes for part in ((names & language, (*hit, language)), (names - language, hit))
        ]
        classes = [(names, hit) for names, hit in split if not names.is_empty()]
    return classes


def _extra_conj(facts: Facts, hit: tuple[Automaton, ...]) -> Conj:
    found: dict[int, Node] = {}
    for fields in facts.fields:
        mine = [node for language, node in fields.patterns if language in hit]
        if not mine and fields.rest is not None:
            mine = [fields.rest]
        found |= {id(node.schema): node for node in mine}
    return tuple(found.values())


class MemberList:
    """Writes members as a list with separators, as few rules as members.

    ``entry(i, n)`` is "one of the members from i on, then the rest", n members being written before.
    Optional members share the entry behind them; a run of required ones is one sequence.
    """

    def __init__(
        self,
        builder: Builder,
        separator: Expr,
        pairs: Sequence[tuple[Expr, bool, str]],
        extra: Expr,
        size: Size,
        *,
        most_extras: int | None = None,
    ) -> None:
        self.builder = builder
        self.separator = separator
        self.pairs = pairs
        self.extra = extra
        self.size = size
        self.most_extras = most_extras
        needed = sum(required for _, required, _ in pairs)
        unbounded = size.maximum is None or (extra is NOTHING and size.maximum >= len(pairs))
        #: How far counting matters: not at all in most objects.
        self.cap = 0 if size.minimum <= needed and unbounded else max(size.minimum, size.maximum or 0)
        self.maximum = None if self.cap == 0 and unbounded else size.maximum
        self.minimum = size.minimum if self.cap else 0

    def rules(self) -> int:
        """How many rules there will be at most."""
        return len(self.pairs) * (min(self.cap, len(self.pairs)) + 1)

    def entry(self) -> Expr:
        """One or more members."""
        counts = range(min(self.cap, len(self.pairs)) + 1)
        entries = {count: self._last_entry(count) for count in counts}
        tails = {count: self._last_tail(count) for count in counts}
        required_behind = False
        for i in range(len(self.pairs) - 1, -1, -1):
            pair, required, hint = self.pairs[i]
            required_behind = required_behind or required
            behind = entries
            entries = {}
            for count in range(min(self.cap, i) + 1):
                entries[count] = self._entry(pair, required, count, behind[count], tails)
                if i > 0 and (self.cap or not self.pairs[i - 1][1]):
                    entries[count] = self._named(hint, entries[count])
            tails = {count: self._tail(entries[count], count, required_behind) for count in entries}
        return entries[0]

    def _entry(self, pair: Expr, required: bool, count: int, behind: Expr, tails: dict[int, Expr]) -> Expr:
        following = min(count + 1, self.cap) if self.cap else 0
        full = self.maximum is not None and count >= self.maximum
        taken = NOTHING if full else joined_all([pair, tails.get(following, NOTHING)])
        if required or behind is NOTHING:
            return taken
        if taken is NOTHING:
            return behind
        return Alt((taken, *behind.alternatives)) if isinstance(behind, Alt) else Alt((taken, behind))

    def _tail(self, entry: Expr, count: int, required_behind: bool) -> Expr:
        further = joined_all([self.separator, entry])
        if required_behind or count < self.minimum:
            return further
        return EMPTY if further is NOTHING else Rep(further, 0, 1)

    def _last_entry(self, count: int) -> Expr:
        if self.extra is NOTHING or self._room(count, 0) == 0:
            return NOTHING
        return joined_all([self.extra, self._last_tail(count + 1, 1)])

    def _last_tail(self, count: int, extras: int = 0) -> Expr:
        least, most = max(0, self.minimum - count), self._room(count, extras)
        if self.extra is NOTHING or most == 0:
            return EMPTY if least == 0 else NOTHING
        return (
            NOTHING if most is not None and most < least else Rep(joined_all([self.separator, self.extra]), least, most)
        )

    def _room(self, count: int, extras: int) -> int | None:
        """How many members may follow that are not declared, so many members and of those being written."""
        rooms = [(self.maximum, count), (self.most_extras, extras)]
        return min((most - taken for most, taken in rooms if most is not None), default=None)

    def _named(self, hint: str, body: Expr) -> Expr:
        if body is NOTHING:
            return body
        ref = self.builder.reserve(hint)
        self.builder.fill(ref, body)
        return ref


def joined_all(items: Sequence[Expr]) -> Expr:
    """The items one after the other; nothing if one of them is."""
    for item in items:
        if item is NOTHING:
            return NOTHING
    return sequence(items)


def either(choices: Sequence[Expr]) -> Expr:
    """Any of the choices, each once; those that match nothing left out."""
    if len(choices) == 1:
        return choices[0]
    flat = [part for choice in choices for part in (choice.alternatives if type(choice) is Alt else (choice,))]
    found = tuple(dict.fromkeys(flat))
    return NOTHING if not found else found[0] if len(found) == 1 else Alt(found)
