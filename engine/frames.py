"""What is open while a log is read: rule instances, a text region, text that is being given up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .errors import ParseError


@dataclass(slots=True)
class Frame:
    """A rule instance that holds regions: ``mark`` is where the next opening delimiter begins."""

    site: Any
    scope: Any
    start: int
    mark: int


@dataclass(slots=True)
class Region:
    """A text region: its opening delimiter, what it holds so far, and, when its label has ended, where."""

    label: str
    start: int
    end: int
    opened: bool = False
    parts: list[str] = field(default_factory=list)
    closed_at: int = -1


@dataclass(slots=True)
class Recovery:
    """Text being given up: its label, where it starts, why, and whether it is shown as content."""

    label: str
    start: int
    error: ParseError
    parts: list[str] = field(default_factory=list)
    opened: bool = False
