"""JSON schemas as lowered rules, in any dialect of values.

What a schema says is first brought into facts (`schema_expand`), alternatives of one conjunction each; then
each type's facts are written. What cannot be said is relaxed at that place alone and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import EmitError
from .automaton import Automaton, TooLarge, anything, nothing, texts
from .dialect import JSON, Dialect
from .rules import Builder, Expr, Ref, Text
from .schema_containers import array_rule, members_of, object_rule
from .schema_expand import Expander
from .schema_facts import ANYTHING, KINDS, NUMBERS, Conj, Facts, canonical, kind_of
from .schema_keywords import ANNOTATIONS
from .schema_members import Extra, Member, Members, either
from .schema_refs import Node, References, Schema
from .schema_shape import Shape, shape
from .schema_shared import Shared, number_rule, string_rule, strings_rule
from .schema_texts import language, union, unlike

__all__ = ["JSON", "Dialect", "Extra", "Member", "Members", "Relaxed", "SchemaLowering", "unlike"]

STRINGS = frozenset({"string"})
#: So many listed strings are written by their beginnings, not each as an alternative: a backend follows them all.
MANY_TEXTS = 8

Key = TypeVar("Key")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A keyword that the emitted grammar does not enforce: of which tool, at which place of its schema, and what was done."""

    tool: str
    path: str
    keyword: str
    action: str


class SchemaLowering:
    """Lowers the schemas of one document into the rules of ``builder``.

    Objects are open as the standard says. ``open_objects=False`` closes those that name members and do not say what
    further ones are. ``most_extras``: how many members that are not declared an object with declared ones may have;
    no grammar can keep their names apart, so two may be the same, which a strict reader refuses.

    >>> builder = Builder()
    >>> SchemaLowering(builder).value({"enum": ["on", 1]})
    Alt(alternatives=(Text(text='"on"'), Text(text='1')))
    """

    def __init__(
        self,
        builder: Builder,
        dialect: Dialect = JSON,
        root_schema: Schema = True,
        *,
        warnings: list[Relaxed] | None = None,
        strict: bool = False,
        open_objects: bool = True,
        most_extras: int | None = None,
        tool: str = "",
        shared: Shared | None = None,
    ) -> None:
        self.shared = shared or Shared(builder, dialect)
        self.builder = builder
        self.dialect = dialect
        self.warnings = [] if warnings is None else warnings
        self.strict = strict
        self.open_objects = open_objects
        self.most_extras = most_extras
        self.tool = tool
        self.expander = Expander(References(root_schema), self._report)
        self._values: dict[tuple[frozenset[int], frozenset[str]], Expr] = {}
        self._open: dict[tuple[frozenset[int], frozenset[str]], Ref | None] = {}
        self._reported: set[Relaxed] = set()
        self._writers: tuple[tuple[frozenset[str], Callable[[Conj, list[Facts]], Expr]], ...] = (
            (frozenset({"object"}), self._objects),
            (frozenset({"array"}), self._arrays),
            (STRINGS, self._strings),
            (NUMBERS, self._numbers),
            (frozenset({"boolean", "null"}), self._others),
        )

    def under(self, root_schema: Schema, tool: str) -> SchemaLowering:
        """The same for another document: rules of unrestricted values are shared."""
        return SchemaLowering(
            self.builder,
            self.dialect,
            root_schema,
            warnings=self.warnings,
            strict=self.strict,
            open_objects=self.open_objects,
            most_extras=self.most_extras,
            tool=tool,
            shared=self.shared,
        )

    def value(self, schema: Schema | Conj, path: str = "", kinds: frozenset[str] = KINDS) -> Expr:
        """Any value that satisfies the schema, of those kinds; `NOTHING` if there is none."""
        conj = self.conj(schema, path)
        known = _shape(conj)
        if known is not None:
            return self._once(self.shared.values, (known, kinds), lambda: self._value(conj, kinds))
        return self._value(conj, kinds)

    def _once(self, known: dict[Key, Made], key: Key, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, once for all documents unless it reports: a report is of one place."""
        if key in known:
            return known[key]
        before = self.shared.reports
        found = make()
        if self.shared.reports == before:
            known[key] = found
        return found

    def _value(self, conj: Conj, kinds: frozenset[str]) -> Expr:
        usual = self._usual(conj) if kinds == KINDS else None
        if usual is not None:
            return usual
        key = (frozenset(id(node.schema) for node in conj), kinds)
        if key in self._values:
            return self._values[key]
        if key in self._open:
            self._open[key] = again = self._open[key] or self.builder.reserve(self.hint(conj))
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
        conj = self.conj(schema, path)
        known = _shape(conj)
        return self._types(conj) if known is None else self._once(self.shared.types, known, lambda: self._types(conj))

    def _types(self, conj: Conj) -> frozenset[str]:
        kinds: set[str] = set()
        for facts in self.expander.facts(conj):
            if facts.values is None:
                kinds |= {kind for kind in facts.kinds if not self.expander.void_kind(facts, kind, depth=2)}
            else:
                kinds |= {
                    kind_of(value) for value in facts.values if self.expander.satisfies(facts, value, listed=True)
                }
        return frozenset(kinds - NUMBERS | ({"number"} if "fraction" in kinds else kinds & {"integer"}))

    def raw_text(
        self, schema: Schema | Conj, within: Automaton, path: str = "", unlike_types: Iterable[str] = ()
    ) -> Expr | None:
        """The strings of the schema as raw text that lies in ``within`` (`excluding` the delimiter), None if there is none.

        No such text starts like JSON of one of ``unlike_types``, so that it is not read as that.
        """
        conj = self.conj(schema, path)
        known, types = _shape(conj), frozenset(unlike_types)
        if known is None:
            return self._raw_text(conj, within, types)
        return self._once(self.shared.raw, (known, within, types), lambda: self._raw_text(conj, within, types))

    def _raw_text(self, conj: Conj, within: Automaton, unlike_types: frozenset[str]) -> Expr | None:
        if unlike_types:
            within = within & unlike(unlike_types)
        parts = [
            self._raw_language(conj, facts, within) for facts in self.expander.facts(conj) if "string" in facts.kinds
        ]
        found = union(parts) if parts else None
        return None if found is None or found.is_empty() else self.shared.texts.raw(found)

    def members(self, schema: Schema | Conj, path: str = "") -> list[Members]:
        """The members of the objects that satisfy the schema, one entry for each alternative."""
        conj = self.conj(schema, path)
        found = [facts for facts in self.expander.facts(conj) if "object" in facts.kinds]
        return [members_of(self, conj, facts) for facts in found]

    def conj(self, schema: Schema | Conj, path: str = "") -> Conj:
        """The schema as a conjunction, which members of `Members` are already."""
        return schema if isinstance(schema, tuple) else (Node(schema, path),)

    def _facts(self, conj: Conj, kinds: frozenset[str]) -> Sequence[Facts]:
        found = self.expander.facts(conj)
        return found if kinds == KINDS else [facts if facts.kinds <= kinds else facts.only(kinds) for facts in found]

    def _report(self, node: Node, keyword: str, action: str) -> None:
        self.shared.reports += 1
        relaxed = Relaxed(self.tool, node.path, keyword, action)
        if relaxed in self._reported:
            return
        if self.strict:
            raise EmitError(f"{self.tool or 'schema'} at {node.path or 'the root'}: {keyword}: {action}")
        self._reported.add(relaxed)
        self.warnings.append(relaxed)

    def _usual(self, conj: Conj) -> Expr | None:
        """The values of the schemas that most parameters have, without their facts: what `_lowered` would write."""
        plain = _plain_type(conj)
        if plain is not None:
            return self.shared.plain(plain)
        schema = conj[0].schema if len(conj) == 1 else None
        if not isinstance(schema, Mapping):
            return None
        stated = schema.keys() - ANNOTATIONS
        if schema.get("type") == "array" and stated == {"type", "items"}:
            item = _plain_type((Node(schema["items"], ""),))
            return None if item is None else self.shared.list_of(item)
        if stated == {"enum"} or (stated == {"type", "enum"} and schema["type"] == "string"):
            return self._usual_enum(schema["enum"])
        return None

    def _usual_enum(self, values: Any) -> Expr | None:
        if not isinstance(values, list) or len(values) >= MANY_TEXTS or not all(isinstance(v, str) for v in values):
            return None
        written = [self.shared.literal(value) for value in values]
        return None if None in written else either([literal for literal in written if literal is not None])

    def hint(self, conj: Conj) -> str:
        """What rules of this schema are called."""
        step = conj[0].path.rpartition("/")[2] if conj else "value"
        return f"{self.tool}-{step or 'value'}"

    def reporter(self, conj: Conj) -> Callable[[str, str], None]:
        """What is told which keyword of this schema is not enforced."""
        node = conj[0] if conj else Node(True, "")
        return lambda keyword, action: self._report(node, keyword, action)

    def unsaid(self, facts: Facts, kind: str) -> None:
        """Report what the facts could not take up about values of that kind."""
        for restricted, keyword, node in facts.unsaid:
            if restricted == kind:
                self._report(node, keyword, "not enforced")

    def names(self, conj: Conj, names: Conj) -> Automaton | None:
        """The texts that a name may be; None if any."""
        allowed = [facts for facts in self.expander.facts(names) if "string" in facts.kinds] if names else []
        if not names:
            return None
        try:
            return union([nothing(), *(self._raw_language(conj, facts, anything()) for facts in allowed)])
        except TooLarge as error:
            self.reporter(conj)("propertyNames", f"not enforced: {error}")
            return None

    def _lowered(self, conj: Conj, found: Sequence[Facts]) -> Expr:
        if any(facts is ANYTHING for facts in found):
            return self.shared.plain("value")
        free = [facts for facts in found if facts.values is None]
        choices: list[Expr] = []
        for kinds, write in self._writers:
            mine = [facts for facts in free if any(not self.expander.void_kind(facts, k) for k in facts.kinds & kinds)]
            if mine:
                choices.append(write(conj, mine))
        choices += self._listed(conj, [facts for facts in found if facts.values is not None])
        return either(choices)

    def _listed(self, conj: Conj, found: Sequence[Facts]) -> list[Expr]:
        values = [
            value
            for facts in found
            for value in facts.values or ()
            if self.expander.satisfies(facts, value, listed=True)
        ]
        values = list({canonical(value): value for value in values}.values())
        strings = [value for value in values if isinstance(value, str)]
        written = [self.shared.literal(v) for v in values if len(strings) < MANY_TEXTS or not isinstance(v, str)]
        if len(strings) >= MANY_TEXTS:
            written.append(string_rule(self.shared, texts(strings)))
        if None in written:
            self.reporter(conj)("enum", "a value that cannot be written here is left out")
        return [literal for literal in written if literal is not None]

    def _objects(self, conj: Conj, found: list[Facts]) -> Expr:
        return either([object_rule(self, conj, facts) for facts in found])

    def _arrays(self, conj: Conj, found: list[Facts]) -> Expr:
        return either([array_rule(self, conj, facts) for facts in found])

    def _strings(self, conj: Conj, found: list[Facts]) -> Expr:
        for facts in found:
            self.unsaid(facts, "string")
        try:
            return strings_rule(self.shared, found, self.reporter(conj))
        except TooLarge as error:
            self._too_large(conj, error)
            return self.shared.plain("string")

    def _too_large(self, conj: Conj, error: TooLarge) -> None:
        """Report that a text is written without its restrictions, under the keyword that makes most of them."""
        stated = {keyword for node in conj if isinstance(node.schema, Mapping) for keyword in node.schema}
        keyword = next((keyword for keyword in _RESTRICTING if keyword in stated), "type")
        self.reporter(conj)(keyword, f"not enforced: {error}")

    def _numbers(self, conj: Conj, found: list[Facts]) -> Expr:
        choices = [number_rule(self.shared, facts, self.reporter(conj)) for facts in found]
        every = self.shared.plain("number")
        return every if every in choices else either(choices)

    def _others(self, _: Conj, found: list[Facts]) -> Expr:
        values = [v for v in (True, False, None) if any(self.expander.satisfies(facts, v) for facts in found)]
        return either([Text(self.dialect.write(value) or "") for value in values])

    def _raw_language(self, conj: Conj, facts: Facts, within: Automaton) -> Automaton:
        if facts.values is None:
            self.unsaid(facts, "string")
            return language(facts, within, self.reporter(conj))
        strings = [v for v in facts.values if isinstance(v, str) and self.expander.satisfies(facts, v, listed=True)]
        for value in strings:
            if not within.matches(value):
                self.reporter(conj)("enum", f"{value!r} cannot be written here and is left out")
        return texts([value for value in strings if within.matches(value)])


_RESTRICTING = ("pattern", "maxLength", "minLength", "enum", "format", "allOf", "anyOf", "oneOf", "not")
_PLAIN = frozenset({"value", "string", "integer", "number", "boolean", "null", "object", "array"})


def _shape(conj: Conj) -> Shape | None:
    return shape(conj[0].schema) if len(conj) == 1 else None


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
