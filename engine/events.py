"""What a parser reports: immutable records (NamedTuples: they are made on the hot path)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .errors import ParseError


class RegionOpen(NamedTuple):
    """A region begins. ``start`` to ``end`` is its opening delimiter in ``Parser.input_text``, in code points.

    A text region opens with its first character; a tool call when its name is known, ``captures`` holding the labels
    captured up to then.

    >>> RegionOpen("tool_call", 0, 11, {"name": "now"}).captures["name"]
    'now'
    """

    label: str
    start: int
    end: int
    captures: Mapping[str, str]


class RegionChunk(NamedTuple):
    """More of an open region. ``final`` says that ``text`` is part of the region's value verbatim.

    >>> RegionChunk("content", "Hi", True).text
    'Hi'
    """

    label: str
    text: str
    final: bool


class RegionClose(NamedTuple):
    """A region ends. ``start`` to ``end`` is its closing delimiter; ``value`` a str, or the `ToolCall`.

    >>> RegionClose("content", 2, 2, "Hi").value
    'Hi'
    """

    label: str
    start: int
    end: int
    value: Any


class RegionMalformed(NamedTuple):
    """An open region did not parse after all; what it read follows as a content region of its own.

    >>> RegionMalformed("tool_call", 11, 11, ParseError("expected '{'", 11)).error.message
    "expected '{'"
    """

    label: str
    start: int
    end: int
    error: ParseError


Event = RegionOpen | RegionChunk | RegionClose | RegionMalformed
