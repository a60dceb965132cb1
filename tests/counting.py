"""A parser that counts: the machine's steps, and the characters its instructions look at."""

from __future__ import annotations

import functools
import json
import json.decoder
import re
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import chatpeg.machine
from chatpeg.chain_code import Chain
from chatpeg.machine import Machine
from chatpeg.program import Link, Program
from chatpeg.search import Search


@dataclass
class Tally:
    """Characters looked at."""

    characters: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class CountedSearch(Search):
    """A search that counts how far it looks: forward for literals, back over blanks, and along the end of the text."""

    tally: Tally = field(default_factory=Tally)

    def hit(self, text: str, start: int) -> int:
        found = Search.hit(self, text, start)
        self.tally.characters += max(0, (len(text) if found < 0 else found) - start) + 1
        return found

    def candidate(self, text: str, low: int, fresh: bool, start: int = -1, *rest: bool) -> int:
        found = Search.candidate(self, text, low, fresh, start, *rest)
        if found >= 0:
            hit = Search.hit(self, text, max(low, start))
            self.tally.characters += (hit - found) * max(1, len(self.runs))
        return found

    def hold(
        self, text: str, low: int, start: int, known: tuple[int, int] = (0, 0)
    ) -> tuple[int, int, tuple[int, int]]:
        found = Search.hold(self, text, low, start, known)
        begin, begun, _ = found
        fresh = begun - begin if known[1] <= begin or known[0] != begin else begun - known[1]
        self.tally.characters += self.longest + max(0, fresh)
        return found


@dataclass
class CountedLog:
    """A log that counts the entries looked at."""

    log: list[Any]
    tally: Tally

    def __len__(self) -> int:
        return len(self.log)

    def __getitem__(self, index: int) -> Any:
        self.tally.characters += 1
        return self.log[index]


class CountingMachine(Machine):
    """The machine, counting what it copies as well."""

    def __init__(self, program: Program, names: Any) -> None:
        program, self.tally = counted(program)
        super().__init__(program, names)
        self.tally.characters = 0

    def _last(self, log: Any, text: str, label: str) -> str:
        return super()._last(CountedLog(log, self.tally), text, label)

    def _begun(self, log: Any) -> int:
        return super()._begun(CountedLog(log, self.tally))

    def _given_up(self, log: Any) -> int:
        return super()._given_up(CountedLog(log, self.tally))

    def forget(self, upto: int) -> None:
        self.tally.characters += len(self.text) - upto
        super().forget(upto)


@functools.cache
def counted(program: Program) -> tuple[Program, Tally]:
    """``program`` with every instruction that reads counting, and what counts.

    A fused pattern that does not match is not counted: the instructions behind it look at the same characters.
    """
    tally = Tally()
    code = tuple(tuple(_counted(part, tally) for part in instruction) for instruction in program.code)
    return replace(program, code=code), tally


def _counted(part: object, tally: Tally) -> object:
    if isinstance(part, Search):
        values = {name: getattr(part, name) for name in Search.__slots__}
        return CountedSearch(**values, tally=tally)
    if isinstance(part, Chain):
        return replace(part, links=_counted(part.links, tally))
    if isinstance(part, Link):
        return part._replace(steps=_counted(part.steps, tally))
    if isinstance(part, tuple):
        return tuple(_counted(inner, tally) for inner in part)
    if callable(part):

        def match(text: str, pos: int, *rest: Any, **more: Any) -> Any:
            found = part(text, pos, *rest, **more)
            tally.characters += 1 + (found.end() - pos if found else 0)
            return found

        if isinstance(pattern := getattr(part, "__self__", None), re.Pattern):
            match.__self__ = pattern  # A chain asks how many groups it has.
        return match
    return part


class CountedScan(chatpeg.machine.JsonScan):  # type: ignore[misc]
    """A JSON scan that counts; the C scanner's attempt before it looks no further."""

    __slots__ = ()
    tally = Tally()

    def run(self, text: str, at_end: bool) -> bool:
        before = self.pos
        done = super().run(text, at_end)
        self.tally.characters += 2 * max(0, max(self.pos, self.failed) - before) + 1
        return bool(done)


def counted_error(tally: Tally) -> type[json.JSONDecodeError]:
    """The C scanner's error, which counts the lines before it when it is made."""

    class CountedError(json.JSONDecodeError):
        def __init__(self, message: str, text: str, pos: int) -> None:
            tally.characters += pos
            super().__init__(message, text, pos)

    return CountedError


def steps(chat: Any, text: str, size: int, *, errors: bool = False) -> tuple[int, int]:
    """Machine steps, and characters looked at, when ``text`` is fed in chunks of ``size`` (0: whole) and finished.

    ``errors``: what the C scanner's errors look at counts as well.
    """
    parser = chat.parser(prompt="")
    parser._machine = CountingMachine(parser._machine.program, parser._machine.names)
    tally = CountedScan.tally = parser._machine.tally
    with (
        mock.patch.object(chatpeg.machine, "JsonScan", CountedScan),
        mock.patch.object(json.decoder, "JSONDecodeError", counted_error(tally) if errors else json.JSONDecodeError),
    ):
        for start in range(0, len(text), size or max(1, len(text))):
            parser.feed(text[start : start + (size or len(text))])
        parser.finish()
    return parser.steps, tally.characters
