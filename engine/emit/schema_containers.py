"""Objects and arrays of a schema as lowered rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from .automaton import Automaton, TooLarge
from .dialect import first_written
from .rules import NOTHING, Builder, Expr, Text
from .schema_expand import Expander, item_conj
from .schema_facts import Conj, Contains, Facts, Size
from .schema_items import MOST_CONTAINING_RULES, Counts, Layout, containing_list, item_list
from .schema_members import MOST_COUNTED_RULES, Extra, Member, MemberList, Members, either, joined_all, members
from .schema_shared import Shared
from .schema_texts import bounded

Report = Callable[[str, str], None]
_ANY_MEMBER = Extra(None, ())


class Lowers(Protocol):
    """What containers ask of the lowering of values."""

    builder: Builder
    shared: Shared
    expander: Expander
    open_objects: bool
    most_extras: int | None

    def value(self, schema: Conj) -> Expr: ...
    def hint(self, conj: Conj) -> str: ...
    def reporter(self, conj: Conj) -> Report: ...
    def unsaid(self, facts: Facts, kind: str) -> None: ...
    def names(self, conj: Conj, names: Conj) -> Automaton | None: ...


def members_of(lowers: Lowers, conj: Conj, facts: Facts) -> Members:
    """The members of the objects that satisfy the facts."""
    return members(facts, lowers.names(conj, facts.names), lowers.open_objects, lowers.reporter(conj))


def object_rule(lowers: Lowers, conj: Conj, facts: Facts) -> Expr:
    """The objects that satisfy the facts."""
    lowers.unsaid(facts, "object")
    size = _without_some(lowers, conj, [value for value in facts.excluded if isinstance(value, dict)], facts.members)
    found = members_of(lowers, conj, facts if size == facts.members else replace(facts, members=size))
    written = {member.name: _member(lowers, conj, member) for member in found.declared}
    # A required name that cannot be written, or that propertyNames forbids.
    if any(written.get(name, NOTHING) is NOTHING for name in facts.required):
        return NOTHING
    possible = [member for member in found.declared if written[member.name] is not NOTHING]
    pairs = [(written[m.name], m.required, f"{lowers.hint(conj)}-{m.name}") for m in possible]
    if not pairs and size == Size() and found.extras == (_ANY_MEMBER,):
        return lowers.shared.plain("object")
    listed = _member_list(lowers, conj, pairs, _extras(lowers, conj, found), size)
    may_be_empty = not any(required for _, required, _ in pairs) and listed.size.minimum == 0
    return lowers.shared.braced(lowers.shared.dialect.braces, listed.entry(), may_be_empty)


def _member_list(
    lowers: Lowers, conj: Conj, pairs: list[tuple[Expr, bool, str]], extra: Expr, size: Size
) -> MemberList:
    # A name that is not declared may be repeated, unless there is but one.
    most = lowers.most_extras if pairs else None
    listed = MemberList(lowers.builder, lowers.shared.separator, pairs, extra, size, most_extras=most)
    if listed.rules() <= MOST_COUNTED_RULES:
        return listed
    for keyword, bound in (("minProperties", size.minimum), ("maxProperties", size.maximum)):
        if bound:
            lowers.reporter(conj)(keyword, "not enforced: too many members to count")
    return MemberList(lowers.builder, lowers.shared.separator, pairs, extra, Size(), most_extras=most)


def _member(lowers: Lowers, conj: Conj, member: Member) -> Expr:
    if any(node.schema is False for node in member.value):
        return NOTHING
    key = first_written(lowers.shared.dialect.keys, member.name)
    if key is None:
        lowers.reporter(conj)("properties", f"the name {member.name!r} cannot be written here and is left out")
        return NOTHING
    return lowers.shared.pair(key, lowers.value(member.value))


def _extras(lowers: Lowers, conj: Conj, found: Members) -> Expr:
    choices: list[Expr] = []
    for extra in found.extras:
        value = lowers.value(extra.value)
        if value is NOTHING:
            continue
        try:
            keys = _keys(lowers, extra)
        except TooLarge as error:
            lowers.reporter(conj)("additionalProperties", f"such members are left out: {error}")
            continue
        choices += [joined_all([key, lowers.shared.colon_blank, value]) for key in keys]
    body = either([choice for choice in choices if choice is not NOTHING])
    return body if body is NOTHING else lowers.builder.define(f"{lowers.hint(conj)}-more", body)


def _keys(lowers: Lowers, extra: Extra) -> list[Expr]:
    """The keys of those names, with what separates them from their values."""
    shared, colon, spellings = lowers.shared, lowers.shared.dialect.colon, lowers.shared.dialect.keys
    if extra.names is not None:
        return [shared.texts.quoted(extra.names, spelling, colon) for spelling in spellings]
    if not extra.but:
        return [joined_all([shared.plain("key"), Text(colon)])]
    return [shared.texts.all_but(extra.but, spelling, colon) for spelling in spellings]


def _without_some(lowers: Lowers, conj: Conj, excluded: list[object], size: Size) -> Size:
    """The size without that of an excluded empty container; others cannot be excluded."""
    if any(excluded):
        lowers.reporter(conj)("not", "an excluded object or array is not excluded")
    return size if all(excluded) else size & Size(1)


def array_rule(lowers: Lowers, conj: Conj, facts: Facts) -> Expr:
    """The arrays that satisfy the facts."""
    size = bounded(facts.item_count, "Items", lowers.reporter(conj))
    size = _without_some(lowers, conj, [value for value in facts.excluded if isinstance(value, list)], size)
    if size.maximum is None or size.maximum > 1:
        lowers.unsaid(facts, "array")
    inner, may_be_empty = _items(lowers, conj, facts, size)
    return lowers.shared.braced(lowers.shared.dialect.brackets, inner, may_be_empty)


def _items(lowers: Lowers, conj: Conj, facts: Facts, size: Size) -> tuple[Expr, bool]:
    positions = max((len(items.front) for items in facts.items), default=0)
    conjs = [item_conj(facts, i) for i in range(positions + 1)]
    if len(facts.contains) == 1:
        wanted = facts.contains[0]
        counts = Counts(positions, wanted.size, size)
        if counts.states() <= MOST_CONTAINING_RULES:
            return _containing(lowers, conjs, wanted, counts)
    if facts.contains:
        lowers.reporter(conj)("contains", "not enforced: too many counts at once")
    *front, rest = [lowers.value(each) for each in conjs]
    return item_list(Layout(tuple(front), rest, size), lowers.shared.separator)


def _containing(lowers: Lowers, conjs: list[Conj], wanted: Contains, counts: Counts) -> tuple[Expr, bool]:
    opposite = wanted.item.below({"not": wanted.item.schema})

    def kinds(index: int) -> tuple[Expr, Expr]:
        conj = conjs[min(index, len(conjs) - 1)]
        # Only where the count has an upper bound, what does not count has to be told apart.
        other = conj if wanted.size.maximum is None else (*conj, opposite)
        return lowers.value(other), lowers.value((*conj, wanted.item))

    return containing_list(lowers.builder, lowers.shared.separator, kinds, counts)
