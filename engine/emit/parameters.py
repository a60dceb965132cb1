"""A call's parameters: their order, and each one's value by its schema, in the spelling of its place."""

from __future__ import annotations

from dataclasses import replace

from ..delimiters import Rules
from ..errors import EmitError
from ..nodes import Expression, Repeat, Sequence, Until
from ..openings import Continuation
from ..request import Tool
from .automaton import Automaton, TooLarge, until
from .joining import Joining, either
from .library import dialect_of
from .place import Place, Request
from .regular import delimiter, free_text
from .rules import EMPTY, NOTHING, Expr, Rep, Text
from .schema import Relaxed, SchemaLowering, unlike
from .schema_facts import Conj
from .schema_members import Members

_MOST_ORDERS = 5
"""Up to so many parameters may be written in any order."""


Cache = dict[tuple[object, ...], Automaton]
"""Delimiters of a grammar as automata, kept from request to request; keys hold identities of its expressions."""


class Parameters(Joining):
    """Writes the parameters of the tool that is being called."""

    def __init__(self, rules: Rules, request: Request, cache: Cache) -> None:
        super().__init__()
        self.rules = rules
        self.request = request
        self.cache = cache
        self.warnings: list[Relaxed] = []
        self.schemas = SchemaLowering(self.builder, warnings=self.warnings, strict=request.strict, most_extras=1)
        self._raw: dict[Automaton, Expr | None] = {}
        self._by_tool: dict[str, SchemaLowering] = {}
        self._dialects: dict[str, SchemaLowering] = {}

    def expression(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """``node`` before continuation ``k``."""
        raise NotImplementedError

    # -- lists -------------------------------------------------------------------------------------------------------

    def parameters(self, node: Repeat, k: Continuation, place: Place) -> Expr:
        """A list of parameters: each property at most once, required ones always."""
        assert place.tool is not None
        schema = self.schema(place.tool)
        alternatives = schema.members(place.tool.parameters)
        one, separator = _list_of(node)
        after: Continuation = (node, k)
        ways = []
        for members in alternatives:
            declared = self.declared(one, after, members, place)
            if declared is not None:
                between = EMPTY if separator is None else self.expression(separator, (one, k), place)
                ways.append(self.ordered(declared, between, place.tool.name))
        return either(ways)

    def declared(
        self, one: Expression, k: Continuation, members: Members, place: Place
    ) -> tuple[tuple[Expr, bool], ...] | None:
        """Each property as a parameter, and whether it is required; None when a required one cannot be written."""
        assert place.tool is not None
        found: list[tuple[Expr, bool]] = []
        for member in members.declared:
            path = f"/properties/{member.name.replace('~', '~0').replace('/', '~1')}"
            body = self.expression(one, k, replace(place, key=member.name, value=member.value, path=path))
            if body == NOTHING and member.required:
                return None
            if body == NOTHING:
                self.warnings.append(
                    Relaxed(place.tool.name, path, "properties", "left out: no value of it can be written")
                )
            else:
                found.append((self.builder.define(f"{place.tool.name}-{member.name}", body), member.required))
        return tuple(found)

    def ordered(self, members: tuple[tuple[Expr, bool], ...], between: Expr, hint: str) -> Expr:
        if len(members) > _MOST_ORDERS:
            return self.in_order(members, between, hint)
        made: dict[tuple[frozenset[int], bool], Expr] = {}

        def rest(left: frozenset[int], first: bool) -> Expr:
            key = (left, first)
            if key not in made:
                ways = []
                for index in sorted(left):
                    lead = EMPTY if first else between
                    ways.append(self.joined([lead, members[index][0], rest(left - {index}, False)]))
                if not any(members[index][1] for index in left):
                    ways.append(EMPTY)
                body = either(ways)
                made[key] = body if not left else self.builder.define(f"{hint}-parameters", body)
            return made[key]

        return rest(frozenset(range(len(members))), True)

    def in_order(self, members: tuple[tuple[Expr, bool], ...], between: Expr, hint: str) -> Expr:
        """In schema order; one rule per property and whether another went before it."""
        behind: dict[bool, Expr] = {True: EMPTY, False: EMPTY}
        for body, required in reversed(members):
            made: dict[bool, Expr] = {}
            for first in (True, False):
                whole = self.joined([EMPTY if first else between, body, behind[False]])
                ways = [whole] if required else [whole, behind[first]]
                made[first] = self.builder.define(f"{hint}-parameters", either(ways))
                if between == EMPTY:
                    made[not first] = made[first]
                    break
            behind = made
        return behind[True]

    # -- values ------------------------------------------------------------------------------------------------------

    def schema(self, tool: Tool) -> SchemaLowering:
        if tool.name not in self._by_tool:
            self._by_tool[tool.name] = self.schemas.under(tool.parameters, tool.name)
        return self._by_tool[tool.name]

    def param_value(self, stop: Expression, place: Place) -> Expr:
        """A value by its schema: strings raw up to the delimiter, other types as JSON."""
        if place.tool is None or place.value is None:
            return NOTHING
        schema = self.schema(place.tool)
        kinds = schema.types(place.value, place.path)
        found: list[Expr] = []
        others = kinds - {"string"}
        if others:
            found.append(schema.without_strings(place.value, place.path))
        if "string" in kinds & place.kinds:
            raw = self.raw(place, self.stops(stop, others))
            found += [] if raw is None else [raw]
        return either([part for part in found if part != NOTHING])

    def json_value(self, place: Place) -> Expr:
        assert place.tool is not None
        assert place.value is not None
        schema = self.schema(place.tool)
        if "string" in place.kinds:
            return schema.value(place.value, place.path)
        return schema.without_strings(place.value, place.path)

    def raw_text(self, node: Expression, place: Place) -> Expr:
        """A string by its schema, raw up to what its `until` stops at."""
        assert place.tool is not None
        assert place.value is not None
        schema = self.schema(place.tool)
        if "string" not in schema.types(place.value, place.path) & place.kinds:
            return NOTHING
        language = self.stops(node.delimiter) if isinstance(node, Until) else free_text(node, self.rules, exact=True)
        raw = self.raw(place, language)
        return NOTHING if raw is None else raw

    def stops(self, stop: Expression, others: frozenset[str] = frozenset()) -> Automaton:
        """Texts in front of delimiter ``stop`` that do not start like JSON of the ``others``, so are not read as that."""
        key = ("stops", id(stop), others)
        if key not in self.cache:
            try:
                self.cache[key] = self.stops(stop) & unlike(others) if others else until(self.delimiter(stop, NOTHING))
            except TooLarge as error:
                raise EmitError(f"{stop.span.where}: {error}") from None
        return self.cache[key]

    def raw(self, place: Place, within: Automaton) -> Expr | None:
        """A raw string by its schema; plain ones of one delimiter are one rule."""
        assert place.tool is not None
        assert place.value is not None
        schema = self.schema(place.tool)
        if not _plain(place.value):
            return schema.raw_text(place.value, within, place.path)
        if within not in self._raw:
            self._raw[within] = schema.raw_text(place.value, within, place.path)
        return self._raw[within]

    def dialect_value(self, name: str, place: Place) -> Expr:
        """A value, or the whole arguments, in the dialect of a library."""
        assert place.tool is not None
        key = f"{place.tool.name}\0{name}"
        if key not in self._dialects:
            shared = self._dialects.get(name)
            if shared is None:
                blank = Rep(Text(" "), 0, 1)
                dialect = dialect_of(name, self.rules, blank)
                shared = SchemaLowering(
                    self.builder, dialect, warnings=self.warnings, strict=self.request.strict, most_extras=1
                )
                self._dialects[name] = shared
            self._dialects[key] = shared.under(place.tool.parameters, place.tool.name)
        lowering = self._dialects[key]
        if place.value is not None:
            return lowering.value(place.value, place.path)
        return lowering.object(place.tool.parameters)

    def delimiter(self, node: Expression, at_end: Expr) -> Automaton:
        key = ("delimiter", id(node), at_end)
        if key not in self.cache:
            self.cache[key] = delimiter(node, self.rules, at_end)
        return self.cache[key]


_ANNOTATIONS = frozenset(("type", "description", "title", "default", "examples", "example"))


def _plain(value: Conj) -> bool:
    """Whether the value is declared by its type alone."""
    return len(value) == 1 and isinstance(value[0].schema, dict) and set(value[0].schema) <= _ANNOTATIONS


def _list_of(node: Repeat) -> tuple[Expression, Expression | None]:
    """One parameter of a list ``p*``, ``(p sep)*`` or ``(p (sep p)*)?``, and the separator of the last form."""
    if node.max is None:
        return node.item, None
    items = node.item.items if isinstance(node.item, Sequence) else (node.item,)
    if len(items) == 2 and isinstance(items[1], Repeat) and isinstance(items[1].item, Sequence):
        inner = items[1].item.items
        return items[0], Sequence(inner[:-1], node.span)
    raise EmitError(f"{node.span.where}: a parameter list is p*, (p sep)* or (p (sep p)*)?")
