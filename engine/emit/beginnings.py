"""The texts that the written forms of a continuation can begin with, as far as they are literal."""

from __future__ import annotations

from collections.abc import Iterator

from ..delimiters import Rules, blank_run
from ..nodes import (
    And,
    Choice,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Not,
    Reference,
    Repeat,
    Sequence,
    Tolerate,
)
from ..openings import Continuation

END = "\uffff"
"""Stands for the end of the input; no Unicode text holds this code point."""

_MOST = 200
_LONGEST = 60


class _TooMany(Exception):
    pass


def of(k: Continuation, rules: Rules) -> list[str] | None:
    """Every literal beginning of ``k``, to its first part that is not literal; `END` where it can be over.

    None when there are too many. A run of blanks is taken as none, a space and a newline.
    """
    found: list[str] = []
    try:
        for text in _texts(k, rules, "", 0):
            found.append(text)
            if len(found) > _MOST:
                return None
    except _TooMany:
        return None
    return found


def _texts(k: Continuation, rules: Rules, text: str, depth: int) -> Iterator[str]:
    if k is None:
        yield text + END
        return
    if len(text) > _LONGEST:
        yield text
        return
    if depth > _MOST:
        raise _TooMany
    node, rest = k
    run = blank_run(node, rules)
    if run is not None:
        for blank in ["", *sorted(run[0] & {" ", "\n"})]:
            yield from _texts(rest, rules, text + blank, depth + 1)
        return
    yield from _node_texts(node, rest, rules, text, depth + 1)


def _node_texts(node: Expression, rest: Continuation, rules: Rules, text: str, depth: int) -> Iterator[str]:
    match node:
        case Literal(text=more):
            yield from _texts(rest, rules, text + more, depth)
        case Sequence(items=items):
            for item in reversed(items):
                rest = (item, rest)
            yield from _texts(rest, rules, text, depth)
        case Choice(alternatives=alternatives):
            for item in alternatives:
                yield from _texts((item, rest), rules, text, depth)
        case Label(item=item) | Drop(item=item):
            yield from _texts((item, rest), rules, text, depth)
        case Reference(name=name):
            yield from _texts((rules[name].expression, rest), rules, text, depth)
        case Repeat(item=item, min=least):
            if not least:
                yield from _texts(rest, rules, text, depth)
            yield from _texts((item, rest), rules, text, depth)
        case And() | Not() | Commit() | End():
            yield from _texts(rest, rules, text, depth)
        case Never() | Tolerate():
            return
        case _:
            yield text
