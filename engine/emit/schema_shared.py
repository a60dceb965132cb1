"""What the schemas of all tools write once: unrestricted values, blanks, brackets, given values."""

from __future__ import annotations

from collections.abc import Callable

from .automaton import Automaton, TooLarge, anything
from .dialect import Dialect, Spelling, first_written
from .rules import EMPTY, NOTHING, Alt, Builder, Expr, Rep, Text
from .schema_facts import NUMBERS, Bounds, Facts, Size
from .schema_members import either, joined_all
from .schema_numbers import INTEGER, NUMBER, exactly, number
from .schema_shape import Shape
from .schema_texts import TextRules, bounded, language, union


class Shared:
    """The rules of one builder for one dialect."""

    def __init__(self, builder: Builder, dialect: Dialect) -> None:
        self.builder = builder
        self.dialect = dialect
        self.texts = TextRules(builder)
        self.inside = self._blank(dialect.inside)
        self.separator = joined_all([Text(dialect.separator), self._blank(dialect.behind_separator)])
        self.colon_blank = self._blank(dialect.behind_colon)
        self._plain: dict[str, Expr] = {}
        #: How often it was reported that something is not enforced, also the same again.
        self.reports = 0
        #: By shape, what was written without a report: its values of some kinds, its types, its texts in a language.
        self.values: dict[tuple[Shape, frozenset[str]], Expr] = {}
        self.types: dict[Shape, frozenset[str]] = {}
        self.raw: dict[tuple[Shape, Automaton, frozenset[str]], Expr | None] = {}

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

    def list_of(self, name: str) -> Expr:
        """Any array of values of one unrestricted type."""
        key = f"{name}-list"
        if key not in self._plain:
            body = self.braced(self.dialect.brackets, self._list(self.plain(name)), may_be_empty=True)
            self._plain[key] = self.builder.define(key, body)
        return self._plain[key]

    def _list(self, item: Expr) -> Expr:
        return joined_all([item, Rep(joined_all([self.separator, item]), 0, None)])

    def braced(self, brackets: tuple[str, str], inner: Expr, may_be_empty: bool) -> Expr:
        """Brackets around a list with at least one member, or none."""
        filled = joined_all([inner, self.inside])
        body = filled
        if may_be_empty:
            body = EMPTY if filled is NOTHING else Rep(filled, 0, 1)
        return joined_all([Text(brackets[0]), self.inside, body, Text(brackets[1])])

    def literal(self, value: object) -> Expr | None:
        """The value as written, with the blanks that its dialect allows."""
        match value:
            case float() if value == int(value) and abs(value) < 1e15:
                return Alt((Text(str(int(value))), Text(f"{int(value)}.0")))
            case dict() if value:
                pairs = [(first_written(self.dialect.keys, key), self.literal(item)) for key, item in value.items()]
                parts = [self.pair(key, item) for key, item in pairs if key is not None and item is not None]
                return self._literal_list(self.dialect.braces, parts) if len(parts) == len(pairs) else None
            case list() | tuple() if value:
                items = [item for item in map(self.literal, value) if item is not None]
                return self._literal_list(self.dialect.brackets, items) if len(items) == len(value) else None
            case _:
                written = self.dialect.write(value)
                return None if written is None else Text(written)

    def _literal_list(self, brackets: tuple[str, str], parts: list[Expr]) -> Expr:
        listed = [part for item in parts for part in (self.separator, item)][1:]
        return self.braced(brackets, joined_all(listed), False)

    def pair(self, key: str, value: Expr) -> Expr:
        """A member whose key is written already."""
        return joined_all([Text(key + self.dialect.colon), self.colon_blank, value])


Report = Callable[[str, str], None]


def strings_rule(shared: Shared, found: list[Facts], report: Report) -> Expr:
    """The strings that satisfy any of the facts."""
    plain = [facts for facts in found if not facts.languages and not any(isinstance(v, str) for v in facts.excluded)]
    if any(facts.length == Size() for facts in plain):
        return shared.plain("string")
    if len(plain) == len(found) == 1 and all(spelling.limits() is None for spelling in shared.dialect.strings):
        size = bounded(plain[0].length, "Length", report)
        return either([shared.texts.counted(spelling, size) for spelling in shared.dialect.strings])
    languages = [language(facts, anything(), report) for facts in found]
    try:
        return string_rule(shared, union(languages))
    except TooLarge:
        # Together too much; a text that several describe is then written in several ways.
        return either([string_rule(shared, each) for each in languages])


def string_rule(shared: Shared, allowed: Automaton) -> Expr:
    """The strings of a language, in each of the dialect's spellings."""
    return either([shared.texts.quoted(allowed, spelling) for spelling in shared.dialect.strings])


def number_rule(shared: Shared, facts: Facts, report: Report) -> Expr:
    """The numbers that satisfy the facts."""
    kinds = facts.kinds & NUMBERS
    left_out = [v for v in facts.excluded if isinstance(v, int | float) and not isinstance(v, bool)]
    if not left_out and facts.bounds == Bounds() and not facts.multiples | facts.not_multiples and "integer" in kinds:
        return shared.plain("number" if "fraction" in kinds else "integer")
    try:
        allowed = number(facts.bounds, facts.multiples, facts.not_multiples, kinds)
    except TooLarge as error:
        report("multipleOf" if facts.multiples else "not", f"not enforced: {error}")
        allowed = number(facts.bounds, frozenset(), frozenset(), kinds)
    for value in left_out:
        allowed -= exactly(value)
    return shared.texts.raw(allowed)
