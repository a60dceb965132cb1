"""JSON schemas as lowered rules, in any dialect of values.

What a schema says is first brought into facts (`schema_expand`), alternatives of one conjunction each; then
each type's facts are written. What cannot be said is relaxed at that place alone and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import EmitError
from .automaton import Automaton, TooLarge, anything, texts
from .dialect import JSON, Dialect, Spelling, first_written
from .rules import EMPTY, NOTHING, Alt, Builder, Expr, Ref, Rep, Text
from .schema_expand import Expander, item_conj
from .schema_facts import ANYTHING, KINDS, NUMBERS, Bounds, Conj, Contains, Facts, Size, canonical, kind_of
from .schema_items import MOST_CONTAINING_RULES, Layout, containing_list, containing_rules, item_list
from .schema_keywords import ANNOTATIONS
from .schema_members import MOST_COUNTED_RULES, Extra, Member, MemberList, Members, either, joined_all, members
from .schema_numbers import INTEGER, NUMBER, exactly, number
from .schema_refs import Node, References, Schema
from .schema_texts import LARGEST_COUNT, TextRules, language, union, unlike

__all__ = ["JSON", "Dialect", "Member", "Members", "Relaxed", "SchemaLowering", "unlike"]

STRINGS = frozenset({"string"})


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A keyword that the emitted grammar does not enforce: of which tool, at which place of its schema, and what was done."""

    tool: str
    path: str
    keyword: str
    action: str


class Shared:
    """What the schemas of all tools write once: the rules of unrestricted values, texts of one language."""

    def __init__(self, builder: Builder, dialect: Dialect) -> None:
        self.builder = builder
        self.dialect = dialect
        self.texts = TextRules(builder)
        self.inside = self._blank(dialect.inside)
        self.separator = joined_all([Text(dialect.separator), self._blank(dialect.behind_separator)])
        self.colon_blank = self._blank(dialect.behind_colon)
        self._plain: dict[str, Expr] = {}

    def _blank(self, blank: Expr) -> Expr:
        return blank if blank == EMPTY else self.builder.define("blank", blank)

    def plain(self, name: str) -> Expr:
        """Any value of that type; of any type for "value"."""
        if name not in self._plain:
            # Reserved before it is written: the members of an object are values again.
            ref = self._plain[name] = self.builder.reserve(name)
            self.builder.fill(ref, self._unrestricted(name))
        return self._plain[name]

    def _unrestricted(self, name: str) -> Expr:
        match name:
            case "string":
                return either([self._any_text(spelling) for spelling in self.dialect.strings])
            case "key":
                return either([self._any_text(spelling) for spelling in self.dialect.keys])
            case "integer":
                return INTEGER
            case "number":
                return NUMBER
            case "boolean":
                return Alt((Text(self.dialect.true), Text(self.dialect.false)))
            case "null":
                return Text(self.dialect.null)
            case "object":
                pair = joined_all([self.plain("key"), Text(self.dialect.colon), self.colon_blank, self.plain("value")])
                return self.braced(self.dialect.braces, self._list(self.builder.define("member", pair)), True)
            case "array":
                return self.braced(self.dialect.brackets, self._list(self.plain("value")), True)
            case _:
                return Alt(
                    tuple(self.plain(each) for each in ("object", "array", "string", "number", "boolean", "null"))
                )

    def _any_text(self, spelling: Spelling) -> Expr:
        if spelling.limits() is not None:
            return self.texts.quoted(anything(), spelling)
        return self.texts.counted(spelling, Size())

    def _list(self, item: Expr) -> Expr:
        return joined_all([item, Rep(joined_all([self.separator, item]), 0, None)])

    def braced(self, brackets: tuple[str, str], inner: Expr, may_be_empty: bool) -> Expr:
        """Brackets around a list with at least one member, or none."""
        filled = joined_all([inner, self.inside])
        body = filled
        if may_be_empty:
            body = EMPTY if filled is NOTHING else Rep(filled, 0, 1)
        return joined_all([Text(brackets[0]), self.inside, body, Text(brackets[1])])


class SchemaLowering:
    """Lowers the schemas of one document into the rules of ``builder``.

    >>> builder = Builder()
    >>> SchemaLowering(builder).value({"enum": ["on", 1]})
    Alt(alternatives=(Text(text='"on"'), Text(text='1')))
    """

    def __init__(
        self,
        builder: Builder,
        dialect: Dialect = JSON,
        root_schema: Schema = True,
        warnings: list[Relaxed] | None = None,
        strict: bool = False,
        open_objects: bool = True,
        tool: str = "",
        shared: Shared | None = None,
    ) -> None:
        self.shared = shared or Shared(builder, dialect)
        self.builder = builder
        self.dialect = dialect
        self.warnings = [] if warnings is None else warnings
        self.strict = strict
        self.open_objects = open_objects
        self.tool = tool
        self.expander = Expander(References(root_schema), self._report)
        self._values: dict[tuple[frozenset[int], frozenset[str]], Expr] = {}
        self._open: dict[tuple[frozenset[int], frozenset[str]], Ref | None] = {}
        self._reported: set[Relaxed] = set()

    def under(self, root_schema: Schema, tool: str) -> SchemaLowering:
        """The same for another document: rules of unrestricted values are shared."""
        return SchemaLowering(
            self.builder, self.dialect, root_schema, self.warnings, self.strict, self.open_objects, tool, self.shared
        )

    def value(self, schema: Schema | Conj, path: str = "", kinds: frozenset[str] = KINDS) -> Expr:
        """Any value that satisfies the schema, of those kinds; `NOTHING` if there is none."""
        conj = self.conj(schema, path)
        plain = self._plain_type(conj) if kinds == KINDS else None
        if plain is not None:
            return self.shared.plain(plain)
        key = (frozenset(id(node.schema) for node in conj), kinds)
        if key in self._values:
            return self._values[key]
        if key in self._open:
            self._open[key] = again = self._open[key] or self.builder.reserve(self._hint(conj))
            return again
        self._open[key] = None
        found: Expr = self._lowered(conj, self._facts(conj, kinds))
        # Only a value that holds itself needs a rule of its own.
        ref = self._open.pop(key)
        if ref is not None:
            self.builder.fill(ref, found)
            found = ref
        self._values[key] = found
        self.expander.keep(conj)
        return found

    def object(self, schema: Schema | Conj, path: str = "") -> Expr:
        """Any object that satisfies the schema, which may forget to say that it describes one."""
        return self.value(schema, path, frozenset({"object"}))

    def without_strings(self, schema: Schema | Conj, path: str = "") -> Expr:
        """The values of the other types alone: what is left of a union when its strings are written raw."""
        return self.value(schema, path, KINDS - STRINGS)

    def types(self, schema: Schema | Conj, path: str = "") -> frozenset[str]:
        """The JSON types that a value may have; "number" if not each number is an integer.

        >>> sorted(SchemaLowering(Builder()).types({"enum": [1, None]}))
        ['integer', 'null']
        """
        kinds: set[str] = set()
        for facts in self.expander.facts(self.conj(schema, path)):
            if facts.values is None:
                kinds |= facts.kinds if not self.expander.is_void(facts) else set()
            else:
                kinds |= {kind_of(value) for value in facts.values if self.expander.satisfies(facts, value)}
        return frozenset(kinds - NUMBERS | ({"number"} if "fraction" in kinds else kinds & {"integer"}))

    def raw_text(
        self, schema: Schema | Conj, within: Automaton, path: str = "", unlike_types: Iterable[str] = ()
    ) -> Expr | None:
        """The strings of the schema as raw text that lies in ``within`` (`excluding` the delimiter), None if there is none.

        No such text starts like JSON of one of ``unlike_types``, so that it is not read as that.
        """
        conj = self.conj(schema, path)
        within = within & unlike(frozenset(unlike_types))
        parts = [
            self._raw_language(conj, facts, within) for facts in self.expander.facts(conj) if "string" in facts.kinds
        ]
        found = union(parts) if parts else None
        return None if found is None or found.is_empty() else self.shared.texts.raw(found)

    def members(self, schema: Schema | Conj, path: str = "") -> list[Members]:
        """The members of the objects that satisfy the schema, one entry for each alternative."""
        conj = self.conj(schema, path)
        found = [facts for facts in self.expander.facts(conj) if "object" in facts.kinds]
        return [self._members(conj, facts) for facts in found]

    def conj(self, schema: Schema | Conj, path: str = "") -> Conj:
        """The schema as a conjunction, which members of `Members` are already."""
        return schema if isinstance(schema, tuple) else (Node(schema, path),)

    def _facts(self, conj: Conj, kinds: frozenset[str]) -> Sequence[Facts]:
        found = self.expander.facts(conj)
        return found if kinds == KINDS else [facts if facts.kinds <= kinds else facts.only(kinds) for facts in found]

    def _hint(self, conj: Conj) -> str:
        step = conj[0].path.rpartition("/")[2] if conj else "value"
        return f"{self.tool}-{step or 'value'}"

    def _report(self, node: Node, keyword: str, action: str) -> None:
        relaxed = Relaxed(self.tool, node.path, keyword, action)
        if relaxed in self._reported:
            return
        if self.strict:
            raise EmitError(f"{self.tool or 'schema'} at {node.path or 'the root'}: {keyword}: {action}")
        self._reported.add(relaxed)
        self.warnings.append(relaxed)

    def _reporter(self, conj: Conj) -> Callable[[str, str], None]:
        node = conj[0] if conj else Node(True, "")
        return lambda keyword, action: self._report(node, keyword, action)

    @staticmethod
    def _plain_type(conj: Conj) -> str | None:
        """The type of a schema that says no more than that; "value" if it says nothing."""
        if len(conj) != 1:
            return None if conj else "value"
        schema = conj[0].schema
        if isinstance(schema, bool):
            return "value" if schema else None
        if not isinstance(schema, Mapping):
            return None  # which is an error that the expander names
        if any(keyword != "type" and keyword not in ANNOTATIONS for keyword in schema):
            return None
        found = schema.get("type", "value")
        return found if isinstance(found, str) and found in _PLAIN else None

    # Values, by type

    def _lowered(self, conj: Conj, found: Sequence[Facts]) -> Expr:
        if any(facts is ANYTHING or facts == ANYTHING for facts in found):
            return self.shared.plain("value")
        choices: list[Expr] = []
        free = [facts for facts in found if facts.values is None]
        for kinds, write in _WRITERS:
            mine = [facts for facts in free if facts.kinds & kinds]
            if mine:
                choices.append(write(self, conj, mine))
        choices += self._listed(conj, [facts for facts in found if facts.values is not None])
        return either(choices)

    def _listed(self, conj: Conj, found: Sequence[Facts]) -> list[Expr]:
        values = [value for facts in found for value in facts.values or () if self.expander.satisfies(facts, value)]
        written = [self._literal(value) for value in {canonical(value): value for value in values}.values()]
        if None in written:
            self._reporter(conj)("enum", "a value that cannot be written here is left out")
        return [literal for literal in written if literal is not None]

    def _literal(self, value: Any) -> Expr | None:
        """The value as written, with the blanks that its dialect allows."""
        match value:
            case float() if value == int(value) and abs(value) < 1e15:
                return Alt((Text(str(int(value))), Text(f"{int(value)}.0")))
            case dict() if value:
                pairs = [(first_written(self.dialect.keys, key), self._literal(item)) for key, item in value.items()]
                parts = [self._pair(key, item) for key, item in pairs if key is not None and item is not None]
                return self._literal_list(self.dialect.braces, parts) if len(parts) == len(pairs) else None
            case list() | tuple() if value:
                items = [item for item in map(self._literal, value) if item is not None]
                return self._literal_list(self.dialect.brackets, items) if len(items) == len(value) else None
            case _:
                written = self.dialect.write(value)
                return None if written is None else Text(written)

    def _literal_list(self, brackets: tuple[str, str], parts: list[Expr]) -> Expr:
        listed = [part for item in parts for part in (self.shared.separator, item)][1:]
        return self.shared.braced(brackets, joined_all(listed), False)

    def _pair(self, key: str, value: Expr) -> Expr:
        return joined_all([Text(key + self.dialect.colon), self.shared.colon_blank, value])

    def _scalars(self, conj: Conj, found: list[Facts]) -> Expr:
        values = [
            value for value in (True, False, None) if any(self.expander.satisfies(facts, value) for facts in found)
        ]
        return either([Text(self.dialect.write(value) or "") for value in values])

    def _numbers(self, conj: Conj, found: list[Facts]) -> Expr:
        choices = [self._number(conj, facts) for facts in found]
        every = self.shared.plain("number")
        return every if every in choices else either(choices)

    def _number(self, conj: Conj, facts: Facts) -> Expr:
        kinds = facts.kinds & NUMBERS
        left_out = [v for v in facts.excluded if isinstance(v, int | float) and not isinstance(v, bool)]
        whole = kinds == {"integer"} and not (facts.multiples | facts.not_multiples)
        if (
            not left_out
            and facts.bounds == Bounds()
            and (whole or (kinds == NUMBERS and not facts.multiples | facts.not_multiples))
        ):
            return self.shared.plain("integer" if whole else "number")
        try:
            allowed = number(facts.bounds, facts.multiples, facts.not_multiples, kinds)
        except TooLarge as error:
            self._reporter(conj)("multipleOf" if facts.multiples else "not", f"not enforced: {error}")
            allowed = number(facts.bounds, frozenset(), frozenset(), kinds)
        for value in left_out:
            allowed -= exactly(value)
        return self.shared.texts.raw(allowed)

    def _strings(self, conj: Conj, found: list[Facts]) -> Expr:
        for facts in found:
            self._unsaid(facts, "string")
        plain = [
            facts for facts in found if not facts.languages and not any(isinstance(v, str) for v in facts.excluded)
        ]
        if any(facts.length == Size() for facts in plain):
            return self.shared.plain("string")
        if len(plain) == len(found) == 1 and all(spelling.limits() is None for spelling in self.dialect.strings):
            size = self._bounded(conj, plain[0].length, "Length")
            return either([self.shared.texts.counted(spelling, size) for spelling in self.dialect.strings])
        allowed = union(language(facts, anything(), self._reporter(conj)) for facts in found)
        return either([self.shared.texts.quoted(allowed, spelling) for spelling in self.dialect.strings])

    def _bounded(self, conj: Conj, size: Size, what: str) -> Size:
        """The size without bounds that are too large for any backend."""
        if size.minimum > LARGEST_COUNT:
            self._reporter(conj)(f"min{what}", f"{size.minimum} is too much: not enforced")
            size = replace(size, minimum=0)
        if size.maximum is not None and size.maximum > LARGEST_COUNT:
            self._reporter(conj)(f"max{what}", f"{size.maximum} is too much: not enforced")
            size = replace(size, maximum=None)
        return size

    def _raw_language(self, conj: Conj, facts: Facts, within: Automaton) -> Automaton:
        if facts.values is None:
            self._unsaid(facts, "string")
            return language(facts, within, self._reporter(conj))
        strings = [v for v in facts.values if isinstance(v, str) and self.expander.satisfies(facts, v)]
        for value in strings:
            if not within.matches(value):
                self._reporter(conj)("enum", f"{value!r} cannot be written here and is left out")
        return texts(strings) & within

    def _unsaid(self, facts: Facts, kind: str) -> None:
        for restricted, keyword, node in facts.unsaid:
            if restricted == kind:
                self._report(node, keyword, "not enforced")

    # Objects

    def _objects(self, conj: Conj, found: list[Facts]) -> Expr:
        return either([self._object(conj, facts) for facts in found])

    def _members(self, conj: Conj, facts: Facts) -> Members:
        names = None
        if facts.names:
            allowed = [f for f in self.expander.facts(facts.names) if "string" in f.kinds]
            names = union([texts([]), *(self._raw_language(conj, f, anything()) for f in allowed)])
        return members(facts, names, self.open_objects, self._reporter(conj))

    def _object(self, conj: Conj, facts: Facts) -> Expr:
        self._unsaid(facts, "object")
        size = facts.members
        if any(isinstance(value, dict) for value in facts.excluded):
            size = self._without_some(conj, [v for v in facts.excluded if isinstance(v, dict)], size)
        found = self._members(conj, replace(facts, members=size) if size != facts.members else facts)
        pairs = []
        for member in found.declared:
            pair = self._member(conj, member)
            if pair is not NOTHING:
                pairs.append((pair, member.required, f"{self._hint(conj)}-{member.name}"))
            elif member.required:
                return NOTHING
        needed = set(facts.required) - {member.name for member in found.declared}
        if needed:
            return NOTHING  # a required name that propertyNames forbids
        extra = self._extra(conj, found)
        if (
            not pairs
            and extra
            == joined_all(
                [
                    self.shared.plain("key"),
                    Text(self.dialect.colon),
                    self.shared.colon_blank,
                    self.shared.plain("value"),
                ]
            )
            and size == Size()
        ):
            return self.shared.plain("object")
        if extra is not NOTHING:
            extra = self.builder.define(f"{self._hint(conj)}-more", extra)
        listed = MemberList(self.builder, self.shared.separator, pairs, extra, size)
        if listed.rules() > MOST_COUNTED_RULES:
            self._reporter(conj)("minProperties" if size.minimum else "maxProperties", "not enforced: too many members")
            size = Size()
            listed = MemberList(self.builder, self.shared.separator, pairs, extra, size)
        may_be_empty = not any(required for _, required, _ in pairs) and size.minimum == 0
        return self.shared.braced(self.dialect.braces, listed.entry(), may_be_empty)

    def _member(self, conj: Conj, member: Member) -> Expr:
        key = first_written(self.dialect.keys, member.name)
        if key is None:
            self._reporter(conj)("properties", f"the name {member.name!r} cannot be written here")
            return NOTHING
        if any(node.schema is False for node in member.value):
            return NOTHING
        return self._pair(key, self.value(member.value))

    def _extra(self, conj: Conj, found: Members) -> Expr:
        choices = []
        for extra in found.extras:
            value = self.value(extra.value)
            if value is not NOTHING:
                choices += [joined_all([key, self.shared.colon_blank, value]) for key in self._keys(extra)]
        return either(choices)

    def _keys(self, extra: Extra) -> list[Expr]:
        """The keys of those names, with what separates them from their values."""
        colon, spellings = self.dialect.colon, self.dialect.keys
        if extra.names is not None:
            return [self.shared.texts.quoted(extra.names, spelling, colon) for spelling in spellings]
        if not extra.but:
            return [joined_all([self.shared.plain("key"), Text(colon)])]
        if all(spelling.limits() is None for spelling in spellings):
            return [self.shared.texts.all_but(extra.but, spelling, colon) for spelling in spellings]
        return [self.shared.texts.quoted(texts(extra.but).complement(), spelling, colon) for spelling in spellings]

    def _without_some(self, conj: Conj, excluded: list[Any], size: Size) -> Size:
        """The size without that of an excluded empty container; others cannot be excluded."""
        if any(excluded):
            self._reporter(conj)("not", "an excluded object or array is not excluded")
        return size if all(excluded) else size & Size(1)

    # Arrays

    def _arrays(self, conj: Conj, found: list[Facts]) -> Expr:
        return either([self._array(conj, facts) for facts in found])

    def _array(self, conj: Conj, facts: Facts) -> Expr:
        size = self._bounded(conj, facts.item_count, "Items")
        lists = [value for value in facts.excluded if isinstance(value, list)]
        size = self._without_some(conj, lists, size) if lists else size
        if size.maximum is None or size.maximum > 1:
            self._unsaid(facts, "array")
        inner, may_be_empty = self._item_list(conj, facts, size)
        return self.shared.braced(self.dialect.brackets, inner, may_be_empty)

    def _item_list(self, conj: Conj, facts: Facts, size: Size) -> tuple[Expr, bool]:
        positions = max((len(items.front) for items in facts.items), default=0)
        conjs = [item_conj(facts, i) for i in range(positions + 1)]
        if len(facts.contains) == 1:
            wanted = facts.contains[0]
            if containing_rules(positions, wanted.size, size) <= MOST_CONTAINING_RULES:
                return self._containing(conjs, wanted, size)
        if facts.contains:
            self._reporter(conj)("contains", "not enforced: too many states")
        *front, rest = [self.value(each) for each in conjs]
        return item_list(Layout(tuple(front), rest, size), self.shared.separator)

    def _containing(self, conjs: list[Conj], wanted: Contains, size: Size) -> tuple[Expr, bool]:
        def kinds(index: int) -> tuple[Expr, Expr]:
            conj = conjs[min(index, len(conjs) - 1)]
            other = conj
            if wanted.size.maximum is not None:
                # Where the count has an upper bound, what does not count has to be told apart.
                other = (*conj, opposite)
            return self.value(other), self.value((*conj, wanted.item))

        opposite = wanted.item.below({"not": wanted.item.schema})
        return containing_list(self.builder, self.shared.separator, kinds, len(conjs) - 1, wanted.size, size)


_PLAIN = frozenset({"value", "string", "integer", "number", "boolean", "null", "object", "array"})
_WRITERS: tuple[tuple[frozenset[str], Callable[[SchemaLowering, Conj, list[Facts]], Expr]], ...] = (
    (frozenset({"object"}), SchemaLowering._objects),
    (frozenset({"array"}), SchemaLowering._arrays),
    (STRINGS, SchemaLowering._strings),
    (NUMBERS, SchemaLowering._numbers),
    (frozenset({"boolean", "null"}), SchemaLowering._scalars),
)
