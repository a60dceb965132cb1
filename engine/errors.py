"""The exceptions chatpeg raises; every one of them is a `ChatpegError`."""

from __future__ import annotations

from dataclasses import dataclass

from .source import Span


class ChatpegError(Exception):
    """Base of all errors that chatpeg raises for bad input."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a grammar file: what was found, where, and what to write instead."""

    message: str
    span: Span
    notes: tuple[tuple[str, Span | None], ...] = ()
    help: str = ""
    severity: str = "error"

    def render(self) -> str:
        """The problem as rustc prints one: headline, place, excerpt with carets, notes, help."""
        line, _ = self.span.source.position(self.span.start)
        gutter = " " * len(str(line))
        parts = [f"{self.severity}: {self.message}", f"{gutter}--> {self.span.where}", self.span.excerpt()]
        for text, span in self.notes:
            parts.append(f"note: {text}" + (f" ({span.where})" if span else ""))
        if self.help:
            parts.append(f"help: {self.help}")
        return "\n".join(parts)


class GrammarError(ChatpegError):
    """A grammar file with faults; ``problems`` lists every one of them."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n\n".join(problem.render() for problem in problems))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


class UnknownFormat(ChatpegError):
    """No shipped grammar has this name, or no format lists this model."""


class RequestError(ChatpegError):
    """Tools, a schema or an option of a request that chatpeg cannot use."""


class StateError(ChatpegError):
    """A parser used out of order: ``feed`` or ``finish`` after ``finish``."""


_FIELDS = frozenset(("message", "pos", "line", "column", "expected"))


class ParseError(ChatpegError):
    """Why a text, or a region of it, did not parse.

    ``pos`` counts code points of ``Parser.input_text``; ``line`` and ``column`` count from 1.
    Two errors are equal when type, position and message are.

    >>> print(ParseError("expected '{'", 11, line=1, column=12))
    expected '{' at line 1, column 12
    """

    def __init__(self, message: str, pos: int, line: int = 0, column: int = 0, expected: tuple[str, ...] = ()) -> None:
        self.message = message
        self.pos = pos
        self.line = line
        self.column = column
        self.expected = expected
        place = f" at line {line}, column {column}" if line else f" at {pos}"
        super().__init__(message + place)

    def __setattr__(self, name: str, value: object) -> None:
        # One error is handed out in an event and in messages: what one holder does to it, no other sees.
        if name in _FIELDS and name in self.__dict__:
            raise AttributeError(f"{name} of an error cannot be changed")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.pos, self.message) == (other.pos, other.message)

    def __hash__(self) -> int:
        return hash((type(self), self.pos, self.message))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.pos, self.line, self.column, self.expected)


class DecodeError(ParseError):
    """A region whose syntax matched but whose value is refused: a duplicate key, NaN, a tool that was not offered."""


class EmitError(ChatpegError):
    """A grammar that cannot be emitted as asked."""
