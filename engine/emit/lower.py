"""Grammar expressions to lowered rules, for one request (DESIGN §6).

Labels, commits and tolerated forms go; the rule that frames a tool call is written once per offered tool, a parameter
once per property; free text is everything that holds no delimiter. A predicate is worked out from what follows it: it
holds and goes, or its alternative goes; it is never just left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from .. import charset, values
from ..delimiters import Rules, blank_run, reached
from ..errors import EmitError
from ..nodes import (
    And,
    Any,
    Call,
    Choice,
    Class,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Not,
    ParamValue,
    Permute,
    Reference,
    Repeat,
    Rule,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    children,
    rewrite,
    walk,
)
from ..openings import Continuation, Openings
from ..request import Tool
from . import beginnings
from .automaton import Automaton, TooLarge, until
from .automaton_rules import to_rules
from .library import dialect_of
from .nfa import nullable
from .regular import chars, delimiter, free_text
from .rules import EMPTY, NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text
from .schema import Relaxed, SchemaLowering
from .schema_facts import KINDS, Conj
from .schema_members import Members
from .tries import factored

_MOST_ORDERS = 5
"""Up to so many parameters may be written in any order."""


class Calls(Enum):
    """How many tool calls an expression is to be written with."""

    ANY = "any"
    NONE = "none"
    SOME = "at least one"
    ONE = "exactly one"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression is being written: for which tool and property, with how many calls, with content or not."""

    calls: Calls
    content: bool
    tool: Tool | None = None
    key: str | None = None
    value: Conj | None = None
    path: str = ""
    kinds: frozenset[str] = KINDS
    response: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What `Lowering` must know of a request."""

    tools: tuple[Tool, ...]
    strict: bool
    response_schema: object | None


Cache = dict[tuple[object, ...], Automaton]
"""Delimiters of a grammar as automata, kept from request to request; keys hold identities of its expressions."""


class Lowering:
    """Writes the rules of one request into ``builder``; what it relaxes is in ``warnings``."""

    def __init__(self, rules: Rules, fields: frozenset[str], triggers: tuple[str, ...], request: Request, cache: Cache) -> None:
        self.rules = rules
        self.triggers = frozenset(triggers)
        self.cache = cache
        self.written = {name: replace(rule, expression=written(rule.expression)) for name, rule in rules.items()}
        self.openings = Openings(self.written)
        self.fields = fields | {"content", "reasoning"}
        self.request = request
        self.builder = Builder()
        self.warnings: list[Relaxed] = []
        self.schemas = SchemaLowering(self.builder, warnings=self.warnings, strict=request.strict, most_extras=1)
        self.texts: set[Ref] = set()
        self.blanks: set[Ref] = set()
        self.refused: list[str] = []
        self._free: dict[Automaton, Ref] = {}
        self._holds: dict[tuple[object, ...], bool] = {}
        self._raw: dict[tuple[object, ...], Expr | None] = {}
        self._bodies: dict[tuple[str, str], Expr] = {}
        span = next(iter(rules.values())).span
        self._unknown: Continuation = (Until(Never(span), span), None)
        self._by_tool: dict[str, SchemaLowering] = {}
        self._dialects: dict[str, SchemaLowering] = {}
        self._open: dict[tuple[str, Place], Ref] = {}
        self._recursive = {name for name, rule in rules.items() if name in reached(rule.expression, rules)}
        self._calling = {name for name, rule in rules.items() if _holds(rule.expression, "tool_call", rules)}
        self._answering = {name for name, rule in rules.items() if _holds(rule.expression, "content", rules)}

    # -- expressions -------------------------------------------------------------------------------------------------

    def expression(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """``node`` before continuation ``k``."""
        if place.calls in (Calls.SOME, Calls.ONE) and not self.counted(node, place):
            return NOTHING
        match node:
            case Literal(text=text):
                return Text(text)
            case Class() | Any():
                return chars(node)
            case Sequence(items=items):
                return self.sequence(list(items), k, place)
            case Choice():
                return self.choice(node, k, place)
            case Repeat():
                return self.repeat(node, k, place)
            case And(item=item):
                return self.and_predicate(item, k, place)
            case Not(item=item):
                return self.not_predicate(item, k)
            case Label():
                return self.label(node, k, place)
            case Until():
                return self.text(node, "text")
            case Reference(name=name):
                return self.reference(self.rules[name], k, place)
            case Permute():
                return self.permute(node, k, place)
            case Terminal():
                return self.terminal(node, k, place)
            case ParamValue(delimiter=stop):
                return self.param_value(stop, place)
            case Same(label=label):
                return self.same(label, place)
            case Commit() | End():
                return EMPTY
            case Tolerate() | Drop() | Never():
                return NOTHING
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)

    def counted(self, node: Expression, place: Place) -> bool:
        """Whether ``node`` holds what ``place`` counts: tool calls, or the content that a response format asks for."""
        label, rules = ("content", self._answering) if place.response else ("tool_call", self._calling)
        return any(
            (isinstance(part, Label) and part.name == label) or (isinstance(part, Reference) and part.name in rules)
            for part in matched(node)
        )

    def sequence(self, items: list[Expression], k: Continuation, place: Place) -> Expr:
        if not items:
            return NOTHING if place.calls in (Calls.SOME, Calls.ONE) else EMPTY
        rest: list[Continuation] = [k]
        for item in reversed(items[1:]):
            rest.append((item, rest[-1]))
        rest.reverse()
        if place.calls in (Calls.ANY, Calls.NONE) or place.tool is not None:
            return self.joined([self.expression(item, after, place) for item, after in zip(items, rest, strict=True)])
        later = Calls.ANY if place.calls is Calls.SOME else Calls.NONE
        ways = []
        for first, one in enumerate(items):
            if self.counted(one, place):
                modes = [Calls.NONE] * first + [place.calls] + [later] * (len(items) - first - 1)
                parts = zip(items, rest, modes, strict=True)
                ways.append(self.joined([self.expression(i, after, replace(place, calls=mode)) for i, after, mode in parts]))
        return either(ways)

    def choice(self, node: Choice, k: Continuation, place: Place) -> Expr:
        """The alternatives; a type of a value that one of them spells is not spelled by a later one."""
        found: list[Expr] = []
        kinds = place.kinds
        for alternative in node.alternatives:
            part = self.expression(alternative, k, replace(place, kinds=kinds))
            if part != NOTHING:
                found.append(part)
                if place.value is not None and self.spells_text(alternative):
                    kinds -= {"string"}
        return either(found)

    def spells_text(self, node: Expression) -> bool:
        return any(isinstance(part, Label) and part.name == "text" for part in walk(node))

    def repeat(self, node: Repeat, k: Continuation, place: Place) -> Expr:
        run = blank_run(node, self.rules)
        if run is not None:
            return self.blank(run, node.min)
        if place.tool is not None and place.value is None and _holds(node.item, "key", self.rules):
            return self.parameters(node, k, place)
        again: Continuation = (node, k) if node.max is None else k
        if place.calls in (Calls.SOME, Calls.ONE):
            one = self.expression(node.item, again, place)
            if node.max is not None:
                return one
            later = Calls.ANY if place.calls is Calls.SOME else Calls.NONE
            none = self.repeated(node, again, replace(place, calls=Calls.NONE))
            more = self.repeated(node, again, replace(place, calls=later))
            return self.joined([none, one, more])
        return self.repeated(node, again, place, node.min)

    def repeated(self, node: Repeat, k: Continuation, place: Place, least: int = 0) -> Expr:
        item = without_empty(self.expression(node.item, k, place))
        if item in (NOTHING, EMPTY):
            return EMPTY if least == 0 or item == EMPTY else NOTHING
        if self.nullable(item):
            raise EmitError(f"{node.span.where}: what is repeated here may be empty, which no backend loads")
        return Rep(item, least, node.max)

    def nullable(self, expr: Expr) -> bool:
        """Whether ``expr`` matches the empty text, its rules looked up."""
        match expr:
            case Ref(name=name):
                return self.nullable(self.builder.rules[name])
            case Seq(items=items):
                return all(map(self.nullable, items))
            case Alt(alternatives=alternatives):
                return any(map(self.nullable, alternatives))
            case Rep(item=item, min=least):
                return least == 0 or self.nullable(item)
            case _:
                return nullable(expr)

    def blank(self, run: tuple[frozenset[str], int | None], least: int) -> Expr:
        """A run of blanks: bounded, so that no model writes blanks for ever."""
        blanks, most = run
        if least:
            return Rep(Chars(charset.normal(tuple((ord(c), ord(c)) for c in blanks))), least, max(least, min(most or 2, 2)))
        if " " in blanks and "\n" in blanks and most is None:
            lines = Seq((Rep(Text("\n"), 1, 2), Rep(Text(" "), 0, 20)))
            ref = self.builder.define("blank", Rep(Alt((Text(" "), lines)), 0, 1))
        else:
            one = "\n" if "\n" in blanks else min(blanks)
            ref = self.builder.define("lines", Rep(Text(one), 0, min(most or 2, 2)))
        self.blanks.add(ref)
        return ref

    def joined(self, parts: list[Expr]) -> Expr:
        """Parts in a row; blanks beside blanks or beside free text, which may hold them itself, are not written."""
        flat: list[Expr] = []
        for part in parts:
            flat += part.items if isinstance(part, Seq) else [part]
        if NOTHING in flat:
            return NOTHING
        flat = [part for part in flat if part != EMPTY]
        kept: list[Expr] = []
        for index, part in enumerate(flat):
            if part in self.blanks:
                beside = [*kept[-1:], *flat[index + 1 : index + 2]]
                if any(other in self.texts for other in beside) or (kept and kept[-1] in self.blanks):
                    continue
            if isinstance(part, Text) and kept and isinstance(kept[-1], Text):
                kept[-1] = Text(kept[-1].text + part.text)
            else:
                kept.append(part)
        return kept[0] if len(kept) == 1 else Seq(tuple(kept)) if kept else EMPTY

    # -- predicates --------------------------------------------------------------------------------------------------

    def and_predicate(self, item: Expression, k: Continuation, place: Place) -> Expr:
        """Nothing where the predicate surely holds before ``k``, else no match."""
        places = tuple(id(node) for node in listed(k))
        tool = place.tool.name if place.tool else None
        for name in (None, tool):
            key = (id(item), places, name)
            if key not in self._holds:
                self._holds[key] = self.surely(item, k, name)
            if self._holds[key]:
                return EMPTY
        self.refused.append(f"{item.span.where}: whether &({item.span.text}) holds cannot be told while emitting")
        return NOTHING

    def surely(self, item: Expression, k: Continuation, tool: str | None) -> bool:
        wanted = self.delimiter(item, Text(beginnings.END))
        found = beginnings.of(k, self.written, tool, lambda text: _begins_with(text, wanted))
        return found is not None and all(_begins_with(text, wanted) for text in found)

    def delimiter(self, node: Expression, at_end: Expr) -> Automaton:
        key = ("delimiter", id(node), at_end)
        if key not in self.cache:
            self.cache[key] = delimiter(node, self.rules, at_end)
        return self.cache[key]

    def not_predicate(self, item: Expression, k: Continuation) -> Expr:
        if isinstance(item, Literal) and not item.text:
            return NOTHING
        if self.openings.excludes([item], [k]):
            return EMPTY
        self.refused.append(f"{item.span.where}: whether !({item.span.text}) holds cannot be told while emitting")
        return NOTHING

    # -- rules, texts, calls -----------------------------------------------------------------------------------------

    def reference(self, rule: Rule, k: Continuation, place: Place) -> Expr:
        if rule.name in self._recursive and (place.tool is not None or place.response):
            return self.dialect_value(rule.name, place)
        if rule.name in self.triggers and place.calls is Calls.NONE:
            return NOTHING
        if rule.name in self.triggers and place.calls is Calls.ANY and place.tool is None:
            place = replace(place, calls=Calls.SOME)
        if place.tool is None and any(isinstance(n, Label) and n.name == "tool_call" for n in walk(rule.expression)):
            return self.calls(rule, k, place)
        if rule.name in self._recursive:
            return self.recursive(rule, k, place)
        return self.expression(rule.expression, k, place)

    def recursive(self, rule: Rule, k: Continuation, place: Place) -> Expr:
        key = (rule.name, place)
        if key not in self._open:
            self._open[key] = ref = self.builder.reserve(rule.name)
            self.builder.fill(ref, self.expression(rule.expression, k, place))
        return self._open[key]

    def calls(self, rule: Rule, k: Continuation, place: Place) -> Expr:
        """The rule that frames a call, once per offered tool."""
        if place.calls is Calls.NONE or place.response:
            return NOTHING
        found = [one for tool in self.request.tools if (one := self.call(rule, k, replace(place, calls=Calls.ANY, tool=tool))) != NOTHING]
        return self.builder.define("call", factored(found)) if found else NOTHING

    def call(self, rule: Rule, k: Continuation, place: Place) -> Expr:
        """The call of one tool; written once if nothing in it depends on what follows."""
        assert place.tool is not None
        key = (rule.name, place.tool.name)
        if key not in self._bodies:
            refused = len(self.refused)
            body = self.expression(rule.expression, self._unknown, place)
            if len(self.refused) > refused:
                del self.refused[refused:]
                return self.expression(rule.expression, k, place)
            self._bodies[key] = body
        return self._bodies[key]

    def label(self, node: Label, k: Continuation, place: Place) -> Expr:
        name = node.name
        if name == "content" and place.response and place.calls is not Calls.NONE:
            return self.response()
        if name in self.fields and place.tool is None:
            if name == "content" and (place.response or not place.content):
                return EMPTY if free_text(node.item, self.rules, exact=False).accepts_empty() else NOTHING
            return self.text(node.item, name)
        if name == "value" and place.value is not None and isinstance(node.item, Label) and node.item.name == "text":
            return self.raw_text(node.item.item, place)
        if name == "text" and place.value is not None:
            return self.raw_text(node.item, place)
        return self.expression(node.item, k, place)

    def text(self, node: Expression, hint: str) -> Expr:
        language = free_text(node, self.rules, exact=False)
        if language not in self._free:
            self._free[language] = ref = self.builder.define(hint, to_rules(language, self.builder, hint))
            self.texts.add(ref)
        return self._free[language]

    def response(self) -> Expr:
        schema = self.request.response_schema
        assert schema is not None
        return self.schemas.under(schema, "").value(schema)  # type: ignore[arg-type]  # checked where it was bound

    def terminal(self, node: Terminal, k: Continuation, place: Place) -> Expr:
        if place.tool is None:
            return NOTHING
        match node.name:
            case "TOOL_NAME":
                return Text(values.spelled(node.dialect, place.tool.name))
            case "TOOL_ARGUMENTS":
                return self.schema(place.tool).object(place.tool.parameters)
            case "JSON_VALUE":
                return NOTHING if place.value is None else self.json_value(place)
            case _:
                return NOTHING if place.key is None else self.param_name(values.spelled(node.dialect, place.key), k)

    def param_name(self, key: str, k: Continuation) -> Expr:
        """A parameter's name, if reading stops behind it and not before."""
        ends = [text for text in beginnings.of(k, self.written, None, bool) or () if text != beginnings.END]
        return NOTHING if any(text in key for text in ends if text) else Text(key)

    def same(self, label: str, place: Place) -> Expr:
        text = place.key if label == "key" else place.tool.name if label == "name" and place.tool else None
        return NOTHING if text is None else Text(text)

    def schema(self, tool: Tool) -> SchemaLowering:
        if tool.name not in self._by_tool:
            self._by_tool[tool.name] = self.schemas.under(tool.parameters, tool.name)
        return self._by_tool[tool.name]

    def permute(self, node: Permute, k: Continuation, place: Place) -> Expr:
        """The items in the order they are written in; those that may be missing may be missing."""
        parts: list[Expr] = []
        for item in node.items:
            if isinstance(item, Repeat) and item.max is None:
                continue
            maybe = isinstance(item, Repeat) and item.min == 0
            inner = item.item if isinstance(item, Repeat) else item
            one = self.expression(inner, (node.separator, k), place)
            if one == NOTHING and maybe:
                continue
            whole = one if not parts else self.joined([self.expression(node.separator, (inner, k), place), one])
            parts.append(Rep(whole, 0, 1) if maybe else whole)
        return self.joined(parts)

    # -- parameters --------------------------------------------------------------------------------------------------

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

    def declared(self, one: Expression, k: Continuation, members: Members, place: Place) -> tuple[tuple[Expr, bool], ...] | None:
        """Each property as a parameter, and whether it is required; None when a required one cannot be written."""
        assert place.tool is not None
        found: list[tuple[Expr, bool]] = []
        for member in members.declared:
            path = f"/properties/{member.name.replace('~', '~0').replace('/', '~1')}"
            body = self.expression(one, k, replace(place, key=member.name, value=member.value, path=path))
            if body == NOTHING and member.required:
                return None
            if body == NOTHING:
                self.warnings.append(Relaxed(place.tool.name, path, "properties", "left out: no value of it can be written"))
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
            raw = self.raw(place, self.stops(stop), others)
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
        raw = self.raw(place, language, frozenset())
        return NOTHING if raw is None else raw

    def stops(self, stop: Expression) -> Automaton:
        """Texts in front of delimiter ``stop``."""
        key = ("stops", id(stop))
        if key not in self.cache:
            try:
                self.cache[key] = until(self.delimiter(stop, NOTHING))
            except TooLarge as error:
                raise EmitError(f"{stop.span.where}: {error}") from None
        return self.cache[key]

    def raw(self, place: Place, within: Automaton, others: frozenset[str]) -> Expr | None:
        """A raw string by its schema; plain ones of one delimiter are one rule."""
        assert place.tool is not None
        assert place.value is not None
        schema = self.schema(place.tool)
        if not _plain(place.value):
            return schema.raw_text(place.value, within, place.path, others)
        key = (id(within), others)
        if key not in self._raw:
            self._raw[key] = schema.raw_text(place.value, within, place.path, others)
        return self._raw[key]

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


def _begins_with(text: str, language: Automaton) -> bool:
    """Whether a match of the language begins ``text``."""
    return any(language.matches(text[:end]) for end in range(len(text) + 1))


def matched(node: Expression) -> Iterator[Expression]:
    """``node`` and what is below it, without delimiters and predicates: they match no text of their own."""
    yield node
    if not isinstance(node, Until | ParamValue | And | Not):
        for child in children(node):
            yield from matched(child)


def _holds(node: Expression, label: str, rules: Rules) -> bool:
    """Whether a match of ``node`` may have the label."""
    seen: set[str] = set()
    todo = [node]
    while todo:
        for part in matched(todo.pop()):
            if isinstance(part, Label) and part.name == label:
                return True
            if isinstance(part, Reference) and part.name not in seen:
                seen.add(part.name)
                todo.append(rules[part.name].expression)
    return False


_ANNOTATIONS = frozenset(("type", "description", "title", "default", "examples", "example"))


def _plain(value: Conj) -> bool:
    """Whether the value is declared by its type alone."""
    return len(value) == 1 and isinstance(value[0].schema, dict) and set(value[0].schema) <= _ANNOTATIONS


def listed(k: Continuation) -> list[Expression]:
    """The expressions of a continuation in order."""
    items: list[Expression] = []
    while k is not None:
        items.append(k[0])
        k = k[1]
    return items


def _list_of(node: Repeat) -> tuple[Expression, Expression | None]:
    """One parameter of a list ``p*``, ``(p sep)*`` or ``(p (sep p)*)?``, and the separator of the last form."""
    if node.max is None:
        return node.item, None
    items = node.item.items if isinstance(node.item, Sequence) else (node.item,)
    if len(items) == 2 and isinstance(items[1], Repeat) and isinstance(items[1].item, Sequence):
        inner = items[1].item.items
        return items[0], Sequence(inner[:-1], node.span)
    raise EmitError(f"{node.span.where}: a parameter list is p*, (p sep)* or (p (sep p)*)?")


def written(node: Expression) -> Expression:
    """``node`` without its tolerated forms."""

    def without(part: Expression) -> Expression:
        return Never(part.span) if isinstance(part, Tolerate) else part

    return rewrite(node, without)


def either(ways: list[Expr]) -> Expr:
    """Any of the expressions, each once."""
    kept = [way for way in dict.fromkeys(ways) if way != NOTHING]
    if EMPTY in kept and len(kept) > 1:
        others = tuple(way for way in kept if way != EMPTY)
        return Rep(others[0] if len(others) == 1 else Alt(others), 0, 1)
    return kept[0] if len(kept) == 1 else Alt(tuple(kept))


def without_empty(expr: Expr) -> Expr:
    """An expression without its empty match, where that is one of its alternatives."""
    match expr:
        case Rep(item=item, min=0, max=most) if not nullable_inline(item):
            return item if most == 1 else Rep(item, 1, most)
        case Alt(alternatives=alternatives):
            return either([without_empty(part) for part in alternatives if part != EMPTY])
        case _:
            return expr


def nullable_inline(expr: Expr) -> bool:
    """Whether ``expr`` matches the empty text without a look at its rule."""
    return False if isinstance(expr, Ref) else nullable(expr)
