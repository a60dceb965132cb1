"""A call's parameters: their order, and each one's value by its schema, in the spelling of its place."""

from __future__ import annotations

from dataclasses import replace

from ..errors import EmitError
from ..nodes import Expression, Repeat, Sequence, Until
from ..openings import Continuation
from ..request import Tool
from .automaton import Automaton, TooLarge, until
from .format import Format
from .joining import Joining, either
from .library import dialect_of
from .place import Place, Request
from .regular import delimiter, free_text
from .rules import EMPTY, NOTHING, Expr, Rep, Text
from .schema import Relaxed, SchemaLowering, unlike
from .schema_members import Member, Members
from .schema_shape import Shape, shape

_MOST_ORDERS = 5
"""Up to so many parameters may be written in any order."""


class Parameters(Joining):
    """Writes the parameters of the tool that is being called."""

    def __init__(self, known: Format, request: Request) -> None:
        super().__init__()
        self.known = known
        self.rules = known.rules
        self.cache = known.automata
        self.request = request
        self.warnings: list[Relaxed] = []
        self.schemas = SchemaLowering(self.builder, warnings=self.warnings, strict=request.strict, most_extras=1)
        self.refused: list[str] = []
        #: How often something was written that is of one tool alone: its name, all its arguments.
        self.tool_uses = 0
        self._by_tool: dict[tuple[str, str], SchemaLowering] = {}
        self._dialects: dict[str, SchemaLowering] = {}
        # Keys hold the identities of nodes and continuations, which the values hold, so that none is used again.
        self._cells: dict[tuple[int, int], tuple[Expression, Continuation]] = {}
        self._lists: dict[int, tuple[Repeat, Expression, Expression | None]] = {}
        self._parameters: dict[tuple[int, int, str, Shape], tuple[Expression, Continuation, Expr]] = {}

    def expression(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """``node`` before continuation ``k``."""
        raise NotImplementedError

    # -- lists -------------------------------------------------------------------------------------------------------

    def parameters(self, node: Repeat, k: Continuation, place: Place) -> Expr:
        """A list of parameters: each property at most once, required ones always."""
        assert place.tool is not None
        schema = self.schema(place.tool)
        alternatives = schema.members(place.tool.parameters)
        one, separator = self.list_of(node)
        after = self.then(node, k)
        ways = []
        for members in alternatives:
            declared = self.declared(one, after, members, place)
            if declared is not None:
                between = EMPTY if separator is None else self.expression(separator, self.then(one, k), place)
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
            body = self.parameter(one, k, member, replace(place, key=member.name, value=member.value, path=path))
            if body == NOTHING and member.required:
                return None
            if body == NOTHING:
                self.warnings.append(
                    Relaxed(place.tool.name, path, "properties", "left out: no value of it can be written")
                )
            else:
                found.append((self.builder.define(f"{place.tool.name}-{member.name}", body), member.required))
        return tuple(found)

    def list_of(self, node: Repeat) -> tuple[Expression, Expression | None]:
        """One parameter and the separator, if any, of a list; the same objects for the same list."""
        if id(node) not in self._lists:
            self._lists[id(node)] = (node, *_list_of(node))
        return self._lists[id(node)][1:]

    def then(self, node: Expression, k: Continuation) -> Continuation:
        """``node`` and then ``k``; the same object for the same two, so that it can be a key."""
        return self._cells.setdefault((id(node), id(k)), (node, k))

    def parameter(self, one: Expression, k: Continuation, member: Member, place: Place) -> Expr:
        """One parameter; written once for all tools that have it with a schema of that shape."""
        known = shape(member.value[0].schema) if len(member.value) == 1 else None
        if known is None:
            return self.expression(one, k, place)
        key = (id(one), id(k), member.name, known)
        if key in self._parameters:
            return self._parameters[key][2]
        before = self.told()
        body = self.expression(one, k, place)
        if self.told() == before:
            self._parameters[key] = (one, k, body)
        return body

    def told(self) -> tuple[int, ...]:
        """Changes whenever something is written or reported of one tool, that is not the same for others."""
        lowerings = (self.schemas, *self._dialects.values())
        return len(self.refused), self.tool_uses, *(each.shared.reports for each in lowerings)

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
        return self.document(self.schemas, tool)

    def document(self, lowering: SchemaLowering, tool: Tool, dialect: str = "") -> SchemaLowering:
        """What lowers the tool's schema in the dialect of ``lowering``."""
        key = (tool.name, dialect)
        if key not in self._by_tool:
            self._by_tool[key] = lowering.under(tool.parameters, tool.name)
        return self._by_tool[key]

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
            raw = schema.raw_text(place.value, self.stops(stop, others), place.path)
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
        raw = schema.raw_text(place.value, language, place.path)
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

    def dialect_value(self, name: str, place: Place) -> Expr:
        """A value, or the whole arguments, in the dialect of a library."""
        assert place.tool is not None
        if name not in self._dialects:
            self._dialects[name] = SchemaLowering(
                self.builder,
                dialect_of(name, self.rules, Rep(Text(" "), 0, 1)),
                warnings=self.warnings,
                strict=self.request.strict,
                most_extras=1,
            )
        lowering = self.document(self._dialects[name], place.tool, name)
        if place.value is not None:
            return lowering.value(place.value, place.path)
        self.tool_uses += 1
        return lowering.object(place.tool.parameters)

    def delimiter(self, node: Expression, at_end: Expr) -> Automaton:
        key = ("delimiter", id(node), at_end)
        if key not in self.cache:
            self.cache[key] = delimiter(node, self.rules, at_end)
        return self.cache[key]


def _list_of(node: Repeat) -> tuple[Expression, Expression | None]:
    """One parameter of a list ``p*``, ``(p sep)*`` or ``(p (sep p)*)?``, and the separator of the last form."""
    if node.max is None:
        return node.item, None
    items = node.item.items if isinstance(node.item, Sequence) else (node.item,)
    if len(items) == 2 and isinstance(items[1], Repeat) and isinstance(items[1].item, Sequence):
        inner = items[1].item.items
        return items[0], Sequence(inner[:-1], node.span)
    raise EmitError(f"{node.span.where}: a parameter list is p*, (p sep)* or (p (sep p)*)?")
