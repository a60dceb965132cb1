"""Where a piece of grammar text stands: a named source, a span in it, and its excerpt with carets."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A named text with line arithmetic.

    >>> Source("x.peg", "a = b\\nb = c").position(6)
    (2, 1)
    """

    name: str
    text: str
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        for offset, character in enumerate(self.text):
            if character == "\n":
                starts.append(offset + 1)
        object.__setattr__(self, "_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of ``offset``, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line ``number`` (from 1) without its newline."""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """The code points ``start`` to ``end`` of ``source``."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def where(self) -> str:
        """``name:line:column`` of the first code point."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def excerpt(self) -> str:
        """The line of ``start`` under a gutter, with carets below what the span covers of it."""
        line, column = self.source.position(self.start)
        text = self.source.line(line)
        width = max(1, min(self.end - self.start, len(text) - column + 1))
        gutter = " " * len(str(line))
        shown = text.replace("\t", " ")
        return f"{gutter} |\n{line} | {shown}\n{gutter} | {' ' * (column - 1)}{'^' * width}"
