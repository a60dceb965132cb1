"""What became of each character of a reply: its regions, coloured on a terminal, under a gutter elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import IO

import regex
from rich.console import Console
from rich.text import Text

from .events import Event, RegionClose, RegionOpen
from .message import Message

MARKUP = "markup"
_STYLES = {
    "content": "",
    "reasoning": "italic yellow",
    "tool_call": "bold cyan",
    "dropped": "magenta",
    "malformed": "white on red",
    MARKUP: "dim",
}
_OTHER = "green"
_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_UNSEEN = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters: a reply must not steer the terminal that shows it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the input that one region holds; ``label`` is `MARKUP` for what the grammar itself consumed."""

    label: str
    start: int
    end: int
    text: str


def pieces(text: str, events: Iterable[Event], message: Message) -> list[Piece]:
    """``text`` in pieces that tile it.

    >>> import chatpeg
    >>> parser = chatpeg.load("hermes").bind().parser()
    >>> events = parser.feed("Hi <tool_call>{}</tool_call>") + parser.finish()
    >>> [(piece.label, piece.text) for piece in pieces(parser.input_text, events, parser.message)]
    [('content', 'Hi'), ('malformed', ' <tool_call>{}</tool_call>')]
    """
    owners = [(MARKUP, -1)] * len(text)
    for label, start, end in (*_regions(events), *_listed(message)):
        owners[start:end] = [(label, start)] * (end - start)
    found, start = [], 0
    for (label, _), run in groupby(owners):
        end = start + len(list(run))
        found.append(Piece(label, start, end, text[start:end]))
        start = end
    return found


def _regions(events: Iterable[Event]) -> list[tuple[str, int, int]]:
    """Label, start and end of each region that closed, without its delimiters."""
    opened: dict[str, int] = {}
    found = []
    for event in events:
        if isinstance(event, RegionOpen):
            opened[event.label] = event.end
        elif isinstance(event, RegionClose):
            found.append((event.label, opened.pop(event.label), event.start))
    return found


def _listed(message: Message) -> list[tuple[str, int, int]]:
    """What lies in no field of the message, or is there as it stands because it did not parse."""
    dropped = [("dropped", span.start, span.end) for span in message.dropped]
    return dropped + [("malformed", region.start, region.end) for region in message.malformed]


def show(found: list[Piece], message: Message, stream: IO[str]) -> None:
    """Print the pieces: coloured under a legend if ``stream`` is a terminal, else each line behind its label."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    if console.is_terminal and not console.no_color:
        console.print(_legend(found))
        console.print(_coloured(found))
    else:
        stream.write(gutter(found))
    for note in _notes(message):
        console.print(note, markup=False)


def _notes(message: Message) -> list[str]:
    notes = [f"malformed {one.label}, {one.start} to {one.end}: {one.error}" for one in message.malformed]
    if not message.complete:
        notes.append("the output ended inside a construct")
    return ["", *notes] if notes else []


def _style(label: str) -> str:
    return _STYLES.get(label, _OTHER)


def _legend(found: list[Piece]) -> Text:
    labels = dict.fromkeys(piece.label for piece in found)
    return Text(" ").join(Text(f" {label} ", f"{_style(label)} reverse") for label in labels).append("\n")


def _coloured(found: list[Piece]) -> Text:
    return Text.assemble(*((_visible(piece.text), _style(piece.label)) for piece in found))


def _visible(text: str) -> str:
    return _UNSEEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def gutter(found: list[Piece]) -> str:
    """The pieces as plain text: the label of each once, line ends made visible.

    >>> print(gutter([Piece("content", 0, 4, "a\\nb\\n"), Piece("markup", 4, 7, "<x>")]), end="")
    content | a⏎
            | b⏎
    markup  | <x>
    """
    width = max((len(piece.label) for piece in found), default=0)
    lines = []
    for piece in found:
        for index, line in enumerate(_LINE.findall(piece.text)):
            shown = _visible(line).replace("\n", "⏎")
            lines.append(f"{piece.label if index == 0 else '':{width}} | {shown}\n")
    return "".join(lines)
