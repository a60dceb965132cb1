"""From schemas to facts: a conjunction of schemas becomes alternatives, each of which is one conjunction of keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .automaton import Automaton, TooLarge
from .pattern import PatternError, PatternUnsupported, pattern
from .schema_applicators import APPLICATORS, unevaluated_fields, unevaluated_items
from .schema_facts import ANYTHING, Conj, Facts, Size, canonical, kind_of
from .schema_keywords import READERS, checked, fraction
from .schema_refs import Node, References

#: More alternatives than this for one value, and the keyword that makes them is relaxed.
MOST_ALTERNATIVES = 48
Report = Callable[[Node, str, str], None]


class Expander:
    """Facts of schemas, each computed once. ``report(node, keyword, action)`` is told what is relaxed."""

    def __init__(self, references: References, report: Report) -> None:
        self.references = references
        self.report = report
        self._known: dict[frozenset[int], Sequence[Facts]] = {}
        self._open: set[int] = set()
        self._kept: list[object] = []

    def facts(self, conj: Conj) -> Sequence[Facts]:
        """The alternatives of a conjunction; none if nothing satisfies it."""
        key = frozenset(id(node.schema) for node in conj)
        if key not in self._known:
            self._kept.append(conj)  # so that no id is used again
            found: Sequence[Facts] = (ANYTHING,)
            for node in conj:
                found = self.both(found, self.node(node), node, "allOf")
            self._known[key] = found
        return self._known[key]

    def keep(self, conj: Conj) -> None:
        """Hold on to the schemas, whose identities are keys."""
        self._kept.append(conj)

    def node(self, node: Node) -> Sequence[Facts]:
        """The alternatives of one schema."""
        if isinstance(node.schema, bool):
            return (ANYTHING,) if node.schema else ()
        if id(node.schema) in self._open:
            self.report(node, "$ref", "a reference that leads to itself, taken as any value")
            return (ANYTHING,)
        self._open.add(id(node.schema))
        try:
            return self._mapping(node, checked(node))
        finally:
            self._open.discard(id(node.schema))

    def _mapping(self, node: Node, schema: Mapping[str, Any]) -> Sequence[Facts]:
        found: Sequence[Facts] = (self.own(node, schema),)
        for keyword, apply in APPLICATORS.items():
            if keyword in schema:
                found = self.both(found, apply(self, node, schema), node, keyword)
        if "unevaluatedProperties" in schema:
            found = [unevaluated_fields(node, schema, facts) for facts in found]
        if "unevaluatedItems" in schema:
            found = [unevaluated_items(node, schema, facts) for facts in found]
        return [facts for facts in found if facts.kinds]

    def both(self, left: Sequence[Facts], right: Sequence[Facts], node: Node, keyword: str) -> Sequence[Facts]:
        """The alternatives of "left and right"."""
        if len(right) == 1 and right[0] is ANYTHING:
            return left
        if len(left) == 1 and left[0] is ANYTHING:
            return right
        found = [facts for a in left for b in right if (facts := a & b).kinds and facts.values != ()]
        if len(found) > 8:
            found = [facts for facts in found if not self.is_void(facts)]
        if len(found) > MOST_ALTERNATIVES:
            self.report(node, keyword, f"{len(found)} alternatives are too many: not enforced")
            return left
        return found

    def own(self, node: Node, schema: Mapping[str, Any]) -> Facts:
        """What the assertions of a schema say, its applicators left aside."""
        facts = ANYTHING
        for keywords, read in READERS:
            if not keywords.isdisjoint(schema):
                found = read(self.pattern, node, schema)
                facts = found if facts is ANYTHING else facts if found is ANYTHING else facts & found
        return facts

    def pattern(self, node: Node, source: str, keyword: str) -> Automaton | None:
        """The language of a pattern, None and reported if it has no automaton."""
        try:
            return pattern(source)
        except (PatternError, PatternUnsupported, TooLarge) as error:
            self.report(node, keyword, f"not enforced: {error}")
            return None

    def is_void(self, facts: Facts, depth: int = 2) -> bool:
        """Whether evidently nothing satisfies the facts. False says nothing."""
        kinds = {kind for kind in facts.kinds if not self.void_kind(facts, kind, depth)}
        if facts.values is not None:
            return not any(self.satisfies(facts, value, listed=True) for value in facts.values)
        return not kinds

    def void_kind(self, facts: Facts, kind: str, depth: int = 0) -> bool:
        """Whether evidently no value of that kind satisfies the facts."""
        match kind:
            case "integer" | "fraction":
                low, high = facts.bounds.lower, facts.bounds.upper
                return (
                    low is not None and high is not None and (low > high or (low == high and facts.bounds.lower_open))
                )
            case "string":
                return facts.length.is_empty() or _disjoint(facts.languages)
            case "array":
                return facts.item_count.is_empty()
            case "object":
                return facts.members.is_empty() or (depth > 0 and self._void_object(facts, depth))
            case _:
                return False

    def _void_object(self, facts: Facts, depth: int) -> bool:
        return any(
            all(self.is_void(part, depth - 1) for part in self.facts(member_conj(facts, name)))
            for name in facts.required
            if sum(name in fields.named for fields in facts.fields) > 1 or _forbids(facts, name)
        )

    def disjoint(self, left: Sequence[Facts], right: Sequence[Facts]) -> bool:
        """Whether evidently no value satisfies both."""
        return all(self.is_void(a & b) for a in left for b in right)

    def accepts(self, conj: Conj, value: object) -> bool:
        """Whether the value satisfies all the schemas, as far as they can be said."""
        return any(self.satisfies(facts, value) for facts in self.facts(conj))

    def satisfies(self, facts: Facts, value: object, listed: bool = False) -> bool:
        """Whether the value satisfies the facts; ``listed``: it is known to be one of their values."""
        kind = kind_of(value)
        if kind not in facts.kinds:
            return False
        if not listed and facts.values is not None and not _is_among(value, facts.values):
            return False
        if facts.excluded and _is_among(value, facts.excluded):
            return False
        match value:
            case str():
                return _has(facts.length, len(value)) and all(language.matches(value) for language in facts.languages)
            case bool() | None:
                return True
            case int() | float():
                return _is_within(facts, value)
            case dict():
                return self._satisfies_members(facts, value)
            case list() | tuple():
                return self._satisfies_items(facts, value)
            case _:
                return False

    def _satisfies_members(self, facts: Facts, value: Mapping[str, object]) -> bool:
        return (
            _has(facts.members, len(value))
            and all(name in value for name in facts.required)
            and all(self.accepts(facts.names, name) for name in value)
            and all(self.accepts(member_conj(facts, name), item) for name, item in value.items())
        )

    def _satisfies_items(self, facts: Facts, value: Sequence[object]) -> bool:
        unique = any(keyword == "uniqueItems" for _, keyword, _ in facts.unsaid)
        return (
            _has(facts.item_count, len(value))
            and (not unique or len({canonical(item) for item in value}) == len(value))
            and all(self.accepts(item_conj(facts, i), item) for i, item in enumerate(value))
            and all(_has(c.size, sum(self.accepts((c.item,), item) for item in value)) for c in facts.contains)
        )


def _is_among(value: object, values: tuple[object, ...]) -> bool:
    known = canonical(value)
    return any(canonical(other) == known for other in values)


def _has(size: Size, count: int) -> bool:
    return size.minimum <= count and (size.maximum is None or count <= size.maximum)


def _is_within(facts: Facts, value: float) -> bool:
    exact, bounds = fraction(value), facts.bounds
    return (
        (bounds.lower is None or (exact > bounds.lower if bounds.lower_open else exact >= bounds.lower))
        and (bounds.upper is None or (exact < bounds.upper if bounds.upper_open else exact <= bounds.upper))
        and all((exact / divisor).denominator == 1 for divisor in facts.multiples)
        and all((exact / divisor).denominator != 1 for divisor in facts.not_multiples)
    )


def _forbids(facts: Facts, name: str) -> bool:
    return any(node.schema is False for node in member_conj(facts, name))


def member_conj(facts: Facts, name: str) -> Conj:
    """What the facts say about the member of that name."""
    found: dict[int, Node] = {}
    for fields in facts.fields:
        mine = [node for language, node in fields.patterns if language.matches(name)]
        if name in fields.named:
            mine.append(fields.named[name])
        if not mine and fields.rest is not None:
            mine.append(fields.rest)
        found |= {id(node.schema): node for node in mine}
    return tuple(found.values())


def item_conj(facts: Facts, index: int) -> Conj:
    """What the facts say about the item at that index."""
    nodes = [items.front[index] if index < len(items.front) else items.rest for items in facts.items]
    return tuple({id(node.schema): node for node in nodes if node is not None}.values())


def _disjoint(languages: frozenset[Automaton]) -> bool:
    both: Automaton | None = None
    try:
        for language in languages:
            both = language if both is None else both & language
    except TooLarge:
        return False
    return both is not None and both.is_empty()
