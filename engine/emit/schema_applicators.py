"""The keywords that apply other schemas to the same value, as alternatives; and the negation that some of them need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Protocol

from .automaton import TooLarge
from .schema_facts import ANYTHING, KINDS, NUMBERS, Bounds, Conj, Contains, Facts, Fields, Items, Size
from .schema_keywords import checked
from .schema_refs import Node, References

Alternatives = Sequence[Facts]


class Expands(Protocol):
    """What an applicator asks of the expander."""

    references: References
    report: Callable[[Node, str, str], None]

    def facts(self, conj: Conj) -> Alternatives: ...
    def node(self, node: Node) -> Alternatives: ...
    def own(self, node: Node, schema: Mapping[str, Any]) -> Facts: ...
    def both(self, left: Alternatives, right: Alternatives, node: Node, keyword: str) -> Alternatives: ...
    def disjoint(self, left: Alternatives, right: Alternatives) -> bool: ...


class NoComplement(Exception):
    """A keyword whose negation cannot be said."""


def _parts(node: Node, schema: Mapping[str, Any], keyword: str) -> list[Node]:
    return [node.below(part, keyword, i) for i, part in enumerate(schema[keyword])]


def _ref(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    target = expands.references.target(node, schema["$ref"])
    return _referred(expands, node, "$ref", target)


def _dynamic_ref(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    reference = schema["$dynamicRef"]
    if expands.references.is_ambiguous(reference):
        return _referred(expands, node, "$dynamicRef", None)
    return _referred(expands, node, "$dynamicRef", expands.references.target(node, reference))


def _referred(expands: Expands, node: Node, keyword: str, target: Node | None) -> Alternatives:
    if target is None:
        expands.report(node, keyword, "leads out of this schema or to several places: not enforced")
        return (ANYTHING,)
    return expands.node(target)


def _all_of(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    found: Alternatives = (ANYTHING,)
    for part in _parts(node, schema, "allOf"):
        found = expands.both(found, expands.node(part), node, "allOf")
    return found


def _any_of(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    return _union(expands.node(part) for part in _parts(node, schema, "anyOf"))


def _union(choices: Any) -> Alternatives:
    found = [facts for choice in choices for facts in choice]
    return (ANYTHING,) if any(facts is ANYTHING for facts in found) and len(found) == 1 else found


def _one_of(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    parts = _parts(node, schema, "oneOf")
    sides = [expands.node(part) for part in parts]
    found: list[Facts] = []
    for i, side in enumerate(sides):
        for j, other in enumerate(sides):
            if i != j and side and not expands.disjoint(side, other):
                side = expands.both(side, _not(expands, parts[j], node, "oneOf"), node, "oneOf")
        found += side
    return found


def _not(expands: Expands, part: Node, node: Node, keyword: str) -> Alternatives:
    """What does not satisfy the schema; anything, and reported for ``node``, if that cannot be said."""
    try:
        return negated(expands, part)
    except NoComplement as error:
        expands.report(node, keyword, f"{error} cannot be negated: not enforced")
        return (ANYTHING,)


def _negation(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    return _not(expands, node.below(schema["not"], "not"), node, "not")


def _if(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    if not _IF_MATTERS & schema.keys():
        return (ANYTHING,)
    condition = node.below(schema["if"], "if")
    then = expands.both(expands.node(condition), _optional(expands, node, schema, "then"), node, "if")
    otherwise = _optional(expands, node, schema, "else")
    if "else" not in schema or otherwise:
        otherwise = expands.both(_not(expands, condition, node, "if"), otherwise, node, "if")
    return [*then, *otherwise]


#: Without one of these a condition has no effect: the last two ask which members and items it evaluated.
_IF_MATTERS = frozenset({"then", "else", "unevaluatedProperties", "unevaluatedItems"})


def _optional(expands: Expands, node: Node, schema: Mapping[str, Any], keyword: str) -> Alternatives:
    return expands.node(node.below(schema[keyword], keyword)) if keyword in schema else (ANYTHING,)


def _absent(name: str, node: Node) -> Facts:
    """Not an object with that member."""
    return Facts(fields=(Fields({name: node.below(False, name)}, evaluates=False),))


def _dependent_required(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    found: Alternatives = (ANYTHING,)
    for name, needed in schema["dependentRequired"].items():
        present = Facts(required=(name, *needed), kinds=frozenset({"object"}))
        found = expands.both(found, [present, _absent(name, node)], node, "dependentRequired")
    return found


def _dependent_schemas(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    found: Alternatives = (ANYTHING,)
    for name, below in schema["dependentSchemas"].items():
        present = Facts(required=(name,), kinds=frozenset({"object"}))
        applied = expands.both(
            (present,), expands.node(node.below(below, "dependentSchemas", name)), node, "dependentSchemas"
        )
        found = expands.both(found, [*applied, _absent(name, node)], node, "dependentSchemas")
    return found


APPLICATORS: dict[str, Callable[[Expands, Node, Mapping[str, Any]], Alternatives]] = {
    "$ref": _ref,
    "$dynamicRef": _dynamic_ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _negation,
    "if": _if,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
}


def unevaluated_fields(node: Node, schema: Mapping[str, Any], facts: Facts) -> Facts:
    """The facts of one alternative, with what they leave unevaluated under ``unevaluatedProperties``.

    Each alternative knows which schemas applied, so this is exact but for values that satisfy several at once.
    """
    seen = [fields for fields in facts.fields if fields.evaluates]
    if any(fields.rest is not None for fields in seen):
        return facts
    anything = node.below(True, "unevaluatedProperties")
    named = {name: anything for fields in seen for name in fields.named}
    patterns = tuple((language, anything) for fields in seen for language, _ in fields.patterns)
    rest = node.below(schema["unevaluatedProperties"], "unevaluatedProperties")
    return replace(facts, fields=(*facts.fields, Fields(named, patterns, rest)))


def unevaluated_items(node: Node, schema: Mapping[str, Any], facts: Facts) -> Facts:
    """The same for ``unevaluatedItems``."""
    seen = [items for items in facts.items if items.evaluates]
    if any(items.rest is not None for items in seen):
        return facts
    if facts.contains:
        return replace(facts, unsaid=(*facts.unsaid, ("array", "unevaluatedItems", node)))
    anything = node.below(True, "unevaluatedItems")
    front = (anything,) * max((len(items.front) for items in seen), default=0)
    rest = node.below(schema["unevaluatedItems"], "unevaluatedItems")
    return replace(facts, items=(*facts.items, Items(front, rest)))


def negated(expands: Expands, node: Node) -> Alternatives:
    """The alternatives of what does not satisfy the schema: one for each keyword that may fail."""
    if isinstance(node.schema, bool):
        return () if node.schema else (ANYTHING,)
    schema = checked(node)
    found: list[Facts] = []
    for keyword in schema:
        found += _failing(expands, node, schema, keyword)
    return found


def _failing(expands: Expands, node: Node, schema: Mapping[str, Any], keyword: str) -> Alternatives:
    value = schema[keyword]
    match keyword:
        case "$ref" | "$dynamicRef":
            target = expands.references.target(node, value)
            if target is None or target.schema is node.schema:
                raise NoComplement(keyword)
            return negated(expands, target)
        case "allOf":
            return [facts for part in _parts(node, schema, keyword) for facts in negated(expands, part)]
        case "anyOf":
            return _none_of(expands, _parts(node, schema, keyword), node)
        case "oneOf":
            return _not_one_of(expands, _parts(node, schema, keyword), node)
        case "not":
            return [facts.unseen() for facts in expands.node(node.below(value, "not"))]
        case "if":
            return _failing_if(expands, node, schema)
        case "properties":
            return [_member_failing(node, name, below) for name, below in value.items() if below is not True]
        case "dependentRequired":
            return [
                Facts(frozenset({"object"}), required=(name,)) & _absent(other, node)
                for name, needed in value.items()
                for other in needed
            ]
        case "dependentSchemas":
            present = {name: Facts(frozenset({"object"}), required=(name,)) for name in value}
            parts = {name: node.below(below, keyword, name) for name, below in value.items()}
            return [fact & facts for name, fact in present.items() for facts in negated(expands, parts[name])]
        case _:
            return _failing_assertion(expands, node, schema, keyword)


def _none_of(expands: Expands, parts: list[Node], node: Node) -> Alternatives:
    found: Alternatives = (ANYTHING,)
    for part in parts:
        found = expands.both(found, negated(expands, part), node, "not")
    return found


def _not_one_of(expands: Expands, parts: list[Node], node: Node) -> Alternatives:
    found = list(_none_of(expands, parts, node))
    for left, right in combinations(parts, 2):
        found += expands.both(expands.node(left), expands.node(right), node, "not")
    return found


def _failing_if(expands: Expands, node: Node, schema: Mapping[str, Any]) -> Alternatives:
    condition = node.below(schema["if"], "if")
    found: list[Facts] = []
    if "then" in schema:
        not_then = negated(expands, node.below(schema["then"], "then"))
        found += expands.both(expands.node(condition), not_then, node, "not")
    if "else" in schema:
        not_else = negated(expands, node.below(schema["else"], "else"))
        found += expands.both(negated(expands, condition), not_else, node, "not")
    return found


def _member_failing(node: Node, name: str, below: object) -> Facts:
    fields = Fields({name: node.below({"not": below}, "properties", name)}, evaluates=False)
    return Facts(frozenset({"object"}), required=(name,), fields=(fields,))


def _failing_assertion(expands: Expands, node: Node, schema: Mapping[str, Any], keyword: str) -> Alternatives:
    """The negation of one assertion, from what it says when it stands alone."""
    own = expands.own(node, {keyword: schema[keyword]})
    object_only, array_only, string_only = (frozenset({kind}) for kind in ("object", "array", "string"))
    match keyword:
        case "type":
            return [Facts(KINDS - own.kinds)]
        case "enum" | "const":
            return [Facts(excluded=own.values or ())]
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return [Facts(NUMBERS, bounds=_outside(own.bounds))]
        case "multipleOf":
            return [Facts(NUMBERS, not_multiples=own.multiples)]
        case "minLength" | "maxLength":
            return [Facts(string_only, length=size) for size in _other_sizes(own.length)]
        case "format" if own is ANYTHING:
            return []
        case "pattern" | "format":
            return [Facts(string_only, languages=frozenset({_complement(own, keyword)}))]
        case "required":
            return [Facts(object_only) & _absent(name, node) for name in own.required]
        case "minProperties" | "maxProperties":
            return [Facts(object_only, members=size) for size in _other_sizes(own.members)]
        case "minItems" | "maxItems":
            return [Facts(array_only, item_count=size) for size in _other_sizes(own.item_count)]
        case "items" if "prefixItems" not in schema and not isinstance(schema["items"], list):
            failing = node.below({"not": schema["items"]}, "items")
            return [] if schema["items"] is True else [Facts(array_only, contains=(Contains(failing, Size(1)),))]
        case "contains" if "minContains" not in schema and "maxContains" not in schema:
            failing = node.below({"not": schema["contains"]}, "contains")
            return [Facts(array_only, items=(Items((), failing, evaluates=False),))]
        case "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "propertyNames" if (
            schema[keyword] is True
        ):
            return []
        case _ if keyword in _UNSAID_NEGATIONS:
            raise NoComplement(keyword)
        case _:
            return []  # an annotation


_UNSAID_NEGATIONS = frozenset(
    {
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "propertyNames",
        "patternProperties",
        "prefixItems",
        "items",
        "contains",
        "uniqueItems",
    }
)


def _outside(bounds: Bounds) -> Bounds:
    if bounds.lower is not None:
        return Bounds(upper=bounds.lower, upper_open=not bounds.lower_open)
    return Bounds(lower=bounds.upper, lower_open=not bounds.upper_open)


def _other_sizes(size: Size) -> list[Size]:
    fewer = [Size(0, size.minimum - 1)] if size.minimum else []
    return fewer if size.maximum is None else [*fewer, Size(size.maximum + 1)]


def _complement(own: Facts, keyword: str) -> Any:
    if not own.languages:
        raise NoComplement(keyword)
    try:
        return next(iter(own.languages)).complement()
    except TooLarge:
        raise NoComplement(keyword) from None
