"""Where an expression is being written, and what it holds there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..delimiters import Rules
from ..nodes import And, Expression, Label, Not, ParamValue, Reference, Until, children
from ..request import Tool
from .schema_facts import KINDS, Conj


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
    response_schema: Any


def matched(node: Expression) -> Iterator[Expression]:
    """``node`` and what is below it, without delimiters and predicates: they match no text of their own."""
    yield node
    if not isinstance(node, Until | ParamValue | And | Not):
        for child in children(node):
            yield from matched(child)


def holds(node: Expression, label: str, rules: Rules) -> bool:
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
