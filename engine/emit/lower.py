"""Grammar expressions to lowered rules, for one request (DESIGN §6).

Labels, commits and tolerated forms go; the rule that frames a tool call is written once per offered tool, a parameter
once per property; free text is everything that holds no delimiter. A predicate is worked out from what follows it: it
holds and goes, or its alternative goes; it is never just left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from .. import values
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
)
from ..openings import Continuation, Openings, listed
from . import beginnings
from .automaton import Automaton
from .automaton_rules import to_rules
from .format import Format
from .joining import either, without_empty
from .parameters import Parameters
from .place import Calls, Place, Request, matched
from .regular import chars
from .rules import EMPTY, NOTHING, Expr, Ref, Rep, Text
from .tries import factored

Items = tuple[Expression, ...] | list[Expression]


class Lowering(Parameters):
    """Writes the rules of one request into ``builder``; what it relaxes is in ``warnings``."""

    def __init__(self, known: Format, fields: frozenset[str], triggers: tuple[str, ...], request: Request) -> None:
        super().__init__(known, request)
        self.triggers = frozenset(triggers)
        self.openings = Openings(known.written)
        self.fields = fields | {"content", "reasoning"}
        self._free: dict[Automaton, Ref] = {}
        self._holds: dict[tuple[object, ...], bool] = {}
        self._bodies: dict[tuple[str, str], Expr] = {}
        span = next(iter(known.rules.values())).span
        self._unknown: Continuation = (Until(Never(span), span), None)
        self._open: dict[tuple[str, Place], Ref] = {}
        # Keys are identities of nodes and continuations, which the values hold, so that none is used again.
        self._fixed: dict[tuple[int, int], tuple[Expression, Continuation, Expr]] = {}
        self._behind: dict[tuple[int, int], tuple[object, Continuation, list[Continuation]]] = {}
        self._ends: dict[int, tuple[Continuation, list[str]]] = {}

    # -- expressions -------------------------------------------------------------------------------------------------

    def expression(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """``node`` before continuation ``k``."""
        if place.calls in (Calls.SOME, Calls.ONE) and not self.counted(node, place):
            return NOTHING
        if place.tool is not None and id(node) in self.known.fixed:
            return self.fixed(node, k, place)
        return self.opened(node, k, place)

    def fixed(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """A node that is the same in each call, written once unless a predicate in it is settled by the tool's name."""
        key = (id(node), id(k))
        if key in self._fixed:
            return self._fixed[key][2]
        before = self.told()
        body = self.opened(node, k, place)
        if self.told() == before:
            self._fixed[key] = (node, k, body)
        return body

    def opened(self, node: Expression, k: Continuation, place: Place) -> Expr:
        """``node`` by its operator."""
        match node:
            case Literal(text=text):
                return Text(text)
            case Class() | Any():
                return chars(node)
            case Sequence(items=items):
                return self.sequence(items, k, place)
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
        label, rules = ("content", self.known.answering) if place.response else ("tool_call", self.known.calling)
        return any(
            (isinstance(part, Label) and part.name == label) or (isinstance(part, Reference) and part.name in rules)
            for part in matched(node)
        )

    def sequence(self, items: Items, k: Continuation, place: Place) -> Expr:
        if not items:
            return NOTHING if place.calls in (Calls.SOME, Calls.ONE) else EMPTY
        rest = self.behind(items, k)
        if place.calls in (Calls.ANY, Calls.NONE) or place.tool is not None:
            return self.joined([self.expression(item, after, place) for item, after in zip(items, rest, strict=True)])
        later = Calls.ANY if place.calls is Calls.SOME else Calls.NONE
        ways = []
        for first, one in enumerate(items):
            if self.counted(one, place):
                modes = [Calls.NONE] * first + [place.calls] + [later] * (len(items) - first - 1)
                parts = zip(items, rest, modes, strict=True)
                ways.append(
                    self.joined([self.expression(i, after, replace(place, calls=mode)) for i, after, mode in parts])
                )
        return either(ways)

    def behind(self, items: Items, k: Continuation) -> list[Continuation]:
        """What follows each of the items; the same object for the same items, so that it can be a key."""
        key = (id(items), id(k))
        if key not in self._behind:
            rest: list[Continuation] = [k]
            for item in reversed(items[1:]):
                rest.append(self.then(item, rest[-1]))
            self._behind[key] = (items, k, rest[::-1])
        return self._behind[key][2]

    def choice(self, node: Choice, k: Continuation, place: Place) -> Expr:
        """The alternatives; a type of a value that one of them spells is not spelled by a later one."""
        found: list[Expr] = []
        kinds = place.kinds
        for alternative in node.alternatives:
            part = self.expression(alternative, k, place if kinds is place.kinds else replace(place, kinds=kinds))
            if part != NOTHING:
                found.append(part)
                if place.value is not None and "string" in kinds and self.known.spells_text(alternative):
                    kinds -= {"string"}
        return either(found)

    def repeat(self, node: Repeat, k: Continuation, place: Place) -> Expr:
        run = self.known.run(node)
        if run is not None:
            return self.blank(run, node.min)
        if place.tool is not None and place.value is None and self.known.lists_parameters(node):
            return self.parameters(node, k, place)
        again = self.then(node, k) if node.max is None else k
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
                self.tool_uses += name is not None
                return EMPTY
        self.refused.append(f"{item.span.where}: whether &({item.span.text}) holds cannot be told while emitting")
        return NOTHING

    def surely(self, item: Expression, k: Continuation, tool: str | None) -> bool:
        wanted = self.delimiter(item, Text(beginnings.END))
        found = beginnings.of(k, self.known.written, tool, lambda text: _begins_with(text, wanted))
        return found is not None and all(_begins_with(text, wanted) for text in found)

    def not_predicate(self, item: Expression, k: Continuation) -> Expr:
        if isinstance(item, Literal) and not item.text:
            return NOTHING
        if self.openings.excludes([item], [k]):
            return EMPTY
        self.refused.append(f"{item.span.where}: whether !({item.span.text}) holds cannot be told while emitting")
        return NOTHING

    # -- rules, texts, calls -----------------------------------------------------------------------------------------

    def reference(self, rule: Rule, k: Continuation, place: Place) -> Expr:
        if rule.name in self.known.recursive and (place.tool is not None or place.response):
            return self.dialect_value(rule.name, place)
        if rule.name in self.triggers and place.calls is Calls.NONE:
            return NOTHING
        if rule.name in self.triggers and place.calls is Calls.ANY and place.tool is None:
            place = replace(place, calls=Calls.SOME)
        if place.tool is None and rule.name in self.known.framing:
            return self.calls(rule, k, place)
        if rule.name in self.known.recursive:
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
        found = [
            one
            for tool in self.request.tools
            if (one := self.call(rule, k, replace(place, calls=Calls.ANY, tool=tool))) != NOTHING
        ]
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
                return EMPTY if self.known.free_text(node.item).accepts_empty() else NOTHING
            return self.text(node.item, name)
        if name == "value" and place.value is not None and isinstance(node.item, Label) and node.item.name == "text":
            return self.raw_text(node.item.item, place)
        if name == "text" and place.value is not None:
            return self.raw_text(node.item, place)
        return self.expression(node.item, k, place)

    def text(self, node: Expression, hint: str) -> Expr:
        language = self.known.free_text(node)
        if language not in self._free:
            self._free[language] = ref = self.builder.define(hint, to_rules(language, self.builder, hint))
            self.texts.add(ref.name)
        return self._free[language]

    def response(self) -> Expr:
        schema = self.request.response_schema
        assert schema is not None
        return self.schemas.under(schema, "").value(schema)

    def terminal(self, node: Terminal, k: Continuation, place: Place) -> Expr:
        if place.tool is None:
            return NOTHING
        match node.name:
            case "TOOL_NAME":
                self.tool_uses += 1
                return Text(values.spelled(node.dialect, place.tool.name))
            case "TOOL_ARGUMENTS":
                self.tool_uses += 1
                return self.schema(place.tool).object(place.tool.parameters)
            case "JSON_VALUE":
                return NOTHING if place.value is None else self.json_value(place)
            case _:
                return NOTHING if place.key is None else self.param_name(node.dialect, place.key, k)

    def param_name(self, dialect: str, name: str, k: Continuation) -> Expr:
        """A parameter's name, if reading stops behind it and not before."""
        if dialect == "python" and not name.isidentifier():
            return NOTHING
        key = values.spelled(dialect, name)
        return NOTHING if any(text in key for text in self.ends(k)) else Text(key)

    def ends(self, k: Continuation) -> list[str]:
        """The texts that end what stands before ``k``."""
        if id(k) not in self._ends:
            # As the machine has it: the literal behind it, not what follows that.
            first = k[0] if k is not None and isinstance(k[0], Literal) else None
            found = (first.text,) if first and first.text else beginnings.of(k, self.known.written, None, bool) or ()
            self._ends[id(k)] = (k, [text for text in found if text and text != beginnings.END])
        return self._ends[id(k)][1]

    def same(self, label: str, place: Place) -> Expr:
        self.tool_uses += label == "name"
        text = place.key if label == "key" else place.tool.name if label == "name" and place.tool else None
        return NOTHING if text is None else Text(text)

    def permute(self, node: Permute, k: Continuation, place: Place) -> Expr:
        """The items in the order they are written in; those that may be missing may be missing."""
        parts: list[Expr] = []
        for item in node.items:
            if isinstance(item, Repeat) and item.max is None:
                continue
            maybe = isinstance(item, Repeat) and item.min == 0
            inner = item.item if isinstance(item, Repeat) else item
            one = self.expression(inner, self.then(node.separator, k), place)
            if one == NOTHING and maybe:
                continue
            whole = (
                one if not parts else self.joined([self.expression(node.separator, self.then(inner, k), place), one])
            )
            parts.append(Rep(whole, 0, 1) if maybe else whole)
        return self.joined(parts)


def _begins_with(text: str, language: Automaton) -> bool:
    """Whether a match of the language begins ``text``."""
    return any(language.matches(text[:end]) for end in range(len(text) + 1))
