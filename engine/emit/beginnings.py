"""The texts that the written forms of a continuation can begin with, as far as they are literal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .. import values
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
    Terminal,
    Tolerate,
)
from ..openings import Continuation

END = "\uffff"
"""Stands for the end of the input; no Unicode text holds this code point."""

_MOST = 200
_LONGEST = 60


class _TooMany(Exception):
    pass


def of(k: Continuation, rules: Rules, tool: str | None, enough: Callable[[str], bool]) -> list[str] | None:
    """Every literal beginning of ``k``, to its first part that is not literal; `END` where it can be over.

    The name of the tool being called is literal; a beginning that is ``enough`` goes no further. None when there are too many. A run of blanks is taken as none, a space and a newline.
    """
    found: list[str] = []
    try:
        for text in _Beginnings(rules, tool, enough).texts(k, "", 0):
            found.append(text)
            if len(found) > _MOST:
                return None
    except _TooMany:
        return None
    return found


@dataclass(frozen=True, slots=True)
class _Beginnings:
    rules: Rules
    tool: str | None
    enough: Callable[[str], bool]

    def texts(self, k: Continuation, text: str, depth: int) -> Iterator[str]:
        if k is None:
            yield text + END
            return
        if len(text) > _LONGEST or self.enough(text):
            yield text
            return
        if depth > _MOST:
            raise _TooMany
        node, rest = k
        run = blank_run(node, self.rules)
        if run is not None:
            for blank in ["", *sorted(run[0] & {" ", "\n"})]:
                yield from self.texts(rest, text + blank, depth + 1)
            return
        yield from self.of_node(node, rest, text, depth + 1)

    def of_node(self, node: Expression, rest: Continuation, text: str, depth: int) -> Iterator[str]:
        match node:
            case Literal(text=more):
                yield from self.texts(rest, text + more, depth)
            case Terminal(name="TOOL_NAME", dialect=dialect) if self.tool is not None:
                yield from self.texts(rest, text + values.spelled(dialect, self.tool), depth)
            case Terminal(name="TOOL_ARGUMENTS"):
                yield text + "{"
            case Sequence(items=items):
                for item in reversed(items):
                    rest = (item, rest)
                yield from self.texts(rest, text, depth)
            case Choice(alternatives=alternatives):
                for item in alternatives:
                    yield from self.texts((item, rest), text, depth)
            case Label(item=item) | Drop(item=item):
                yield from self.texts((item, rest), text, depth)
            case Reference(name=name):
                yield from self.texts((self.rules[name].expression, rest), text, depth)
            case Repeat(item=item, min=least):
                if not least:
                    yield from self.texts(rest, text, depth)
                yield from self.texts((item, rest), text, depth)
            case And() | Not() | Commit() | End():
                yield from self.texts(rest, text, depth)
            case Never() | Tolerate():
                return
            case _:
                yield text
