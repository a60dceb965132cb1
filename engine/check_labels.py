"""What is wrong with the labels of a grammar: names, nesting, how often they come, and text that has none."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import assert_never

from .analysis import Facts, Rules, recursive_rules
from .directives import LABELS
from .errors import Problem
from .nodes import (
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
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    walk,
)

_VALUES = ("arguments", "value", "item")
PARENTS = {
    "name": ("tool_call", "id"),
    "id": ("tool_call",),
    "arguments": ("tool_call",),
    "key": _VALUES,
    "value": _VALUES,
    "item": _VALUES,
    "text": _VALUES,
}
"""The labels that each label stands directly in; one that is not listed stands in none."""


def report_unknown_labels(facts: Facts) -> Iterator[Problem]:
    """Labels that are no part of a message."""
    known = (*LABELS, *facts.loaded.fields)
    for rule in facts.rules.values():
        for node in walk(rule.expression):
            if isinstance(node, Label) and node.name not in known:
                close = get_close_matches(node.name, known, 1)
                declared = f"the labels are {' '.join(LABELS)}; a text of your own is declared: %fields {node.name}"
                yield Problem(
                    f'unknown label "{node.name}"', node.span, help=f"did you mean {close[0]}:?" if close else declared
                )


def report_misplaced_labels(facts: Facts) -> Iterator[Problem]:
    """Labels outside the label they are part of, or inside one that has no parts."""
    for place in facts.places:
        node = place.node
        if not isinstance(node, Label) or place.sheltered or (facts.library and not place.labels):
            continue
        wanted = PARENTS.get(node.name, ())
        inside = place.labels[-1] if place.labels else ""
        if inside not in wanted and (inside or wanted):
            where = f"inside {inside}:" if inside else "outside a call"
            help = (
                f"it stands directly inside {' or '.join(f'{name}:' for name in wanted)}"
                if wanted
                else "it stands in no other label"
            )
            yield Problem(f"{node.name}: {where}", node.span, help=help)


def report_counts(facts: Facts) -> Iterator[Problem]:
    """Calls without a name, or with two names, ids or arguments."""
    counts = _Counts(facts.rules)
    for place in facts.places:
        node = place.node
        if not isinstance(node, Label) or node.name != "tool_call" or place.sheltered:
            continue
        least, _ = counts.count(node.item, "name")
        if not least:
            yield Problem(
                "a tool_call that may have no name", node.span, help="every way through it needs name:TOOL_NAME"
            )
        for label in ("name", "id", "arguments"):
            if counts.count(node.item, label)[1] > 1:
                yield Problem(
                    f"a tool_call that may have two {label}: parts",
                    node.span,
                    help="one way through it has at most one",
                )


class _Counts:
    """How often a label comes on the ways through an expression: at least, and at most (2 stands for more)."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.recursive = recursive_rules(rules)

    def count(self, node: Expression, label: str) -> tuple[int, int]:
        match node:
            case Label(name=name, item=item):
                least, most = self.count(item, label)
                return (least + 1, most + 1) if name == label else (least, most)
            case Sequence(items=items) | Permute(items=items):
                found = [self.count(item, label) for item in items]
                return sum(least for least, _ in found), sum(most for _, most in found)
            case Choice(alternatives=alternatives):
                found = [self.count(item, label) for item in alternatives]
                return min(least for least, _ in found), max(most for _, most in found)
            case Repeat(item=item):
                least, most = self.count(item, label)
                return least * node.min, most * (2 if node.max is None else node.max)
            case Tolerate(item=item):
                return self.count(item, label)
            case Reference(name=name):
                return (0, 0) if name in self.recursive else self.count(self.rules[name].expression, label)
            case And() | Not() | Until() | Drop() | ParamValue():
                return 0, 0
            case Literal() | Class() | Any() | End() | Never() | Commit() | Same() | Terminal():
                return 0, 0
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)


def report_unlabelled_text(facts: Facts) -> Iterator[Problem]:
    """Free text that would belong to no part of the message."""
    for place in facts.places:
        node = place.node
        free = isinstance(node, Until | Any) or (isinstance(node, Class) and node.negated)
        lost = not place.labels and not facts.library
        if free and not place.sheltered and (lost or place.labels[-1:] == ("tool_call",)):
            help = "give it a label (content: …), or drop( … ) it if nobody needs it"
            yield Problem("free text without a label", node.span, help=help)
