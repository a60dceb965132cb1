"""The notation's syntax tree: one frozen class per operator, and the two ways to walk it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from .source import Span


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly this text. E.g. ``"<tool_call>"``; ``""`` matches nothing, at once."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Class:
    """One character inside (or, negated, outside) the inclusive code point ranges. E.g. ``[a-z\\n]``, ``[^<]``."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Any:
    """Any one character. E.g. ``.``"""

    span: Span


@dataclass(frozen=True, slots=True)
class End:
    """The end of the input. E.g. ``!.``"""

    span: Span


@dataclass(frozen=True, slots=True)
class Never:
    """Matches nothing: what a trigger rule becomes when no tool was offered. Not written in files."""

    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after the other. E.g. ``open ^ body close``"""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """The first alternative that matches. E.g. ``analysis / final / call``"""

    alternatives: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Repeat:
    """Greedy repetition; ``max`` None is unbounded. E.g. ``call*``, ``"<think>"?``, ``[0-9]{4}``"""

    item: Expression
    min: int
    max: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    """Matches where ``item`` would, consuming nothing. E.g. ``&"{"``"""

    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """Matches where ``item`` would not, consuming nothing. E.g. ``!"</think>"``"""

    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Label:
    """The text of ``item`` is the message part ``name``. E.g. ``reasoning:until("</think>")``"""

    name: str
    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Commit:
    """Settles every open choice. E.g. ``"<tool_call>" ^ body``"""

    span: Span


@dataclass(frozen=True, slots=True)
class Until:
    """Shortest text before ``delimiter``, or all that is left. E.g. ``until("</think>")``"""

    delimiter: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Tolerate:
    """Read, never written. E.g. ``"</think>" / tolerate("")``"""

    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Drop:
    """Free text that belongs to no label. E.g. ``drop(until("<|start|>"))``"""

    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Permute:
    """The items in any order, separated; each at most once unless it is a ``*`` repeat. E.g. ``permute(",", name, args?)``"""

    separator: Expression
    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Same:
    """The text that ``label`` last captured in this rule instance. E.g. ``"</" same(key) ">"``"""

    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Terminal:
    """TOOL_NAME, TOOL_ARGUMENTS, PARAM_NAME or JSON_VALUE: text that the request decides, spelled as in ``dialect``."""

    name: str
    dialect: str
    span: Span


@dataclass(frozen=True, slots=True)
class ParamValue:
    """A value typed by its property's schema, up to ``delimiter``. E.g. ``PARAM_VALUE("</arg_value>")``"""

    delimiter: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Reference:
    """A rule by name; of an imported file as ``file.rule``. E.g. ``json.ws``"""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A parametrised rule with its arguments; expanded while loading. E.g. ``think.block(call)``"""

    name: str
    arguments: tuple[Expression, ...]
    span: Span


Expression = (
    Literal
    | Class
    | Any
    | End
    | Never
    | Sequence
    | Choice
    | Repeat
    | And
    | Not
    | Label
    | Commit
    | Until
    | Tolerate
    | Drop
    | Permute
    | Same
    | Terminal
    | ParamValue
    | Reference
    | Call
)


@dataclass(frozen=True, slots=True)
class Rule:
    """``name(parameters) "display" = expression``. E.g. ``call "tool call" = open ^ body``

    ``dialect`` is the ``%value`` of the rule's file: how keys, names and texts in it are spelled.
    """

    name: str
    parameters: tuple[str, ...]
    display: str
    expression: Expression
    span: Span
    dialect: str = "raw"


@dataclass(frozen=True, slots=True)
class Directive:
    """A ``%name`` line with its arguments: strings (unquoted here) and words. E.g. ``%stop "<|im_end|>"``"""

    name: str
    arguments: tuple[tuple[str, Span], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class File:
    """One grammar file as it was read."""

    directives: tuple[Directive, ...]
    rules: tuple[Rule, ...]
    span: Span


def children(node: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions of ``node``, in order of reading."""
    match node:
        case Sequence(items=items):
            return items
        case Choice(alternatives=alternatives):
            return alternatives
        case Repeat() | And() | Not() | Label() | Tolerate() | Drop():
            return (node.item,)
        case Until(delimiter=delimiter) | ParamValue(delimiter=delimiter):
            return (delimiter,)
        case Permute(separator=separator, items=items):
            return (separator, *items)
        case Call(arguments=arguments):
            return arguments
        case Literal() | Class() | Any() | End() | Never() | Commit() | Same() | Terminal() | Reference():
            return ()
        case _:
            assert_never(node)


def is_loop(node: Expression) -> bool:
    """Whether ``node`` may be matched any number of times."""
    return isinstance(node, Repeat) and node.max is None


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def rewrite(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A copy of ``node`` in which ``change`` was applied to every node, children first."""
    match node:
        case Sequence(items=items):
            return change(replace(node, items=tuple(rewrite(item, change) for item in items)))
        case Choice(alternatives=alternatives):
            return change(replace(node, alternatives=tuple(rewrite(item, change) for item in alternatives)))
        case Repeat() | And() | Not() | Label() | Tolerate() | Drop():
            return change(replace(node, item=rewrite(node.item, change)))
        case Until() | ParamValue():
            return change(replace(node, delimiter=rewrite(node.delimiter, change)))
        case Permute(separator=separator, items=items):
            new = tuple(rewrite(item, change) for item in items)
            return change(replace(node, separator=rewrite(separator, change), items=new))
        case Call(arguments=arguments):
            return change(replace(node, arguments=tuple(rewrite(item, change) for item in arguments)))
        case Literal() | Class() | Any() | End() | Never() | Commit() | Same() | Terminal() | Reference():
            return change(node)
        case _:
            assert_never(node)
