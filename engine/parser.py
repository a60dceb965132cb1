"""A parse of one reply: text in, events out, no I/O of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ParseError, StateError
from .events import Event, RegionChunk
from .machine import Machine
from .message import Message
from .program import Program
from .regions import Regions
from .request import Tool
from .state import Names
from .stops import Stops, StopStrings


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What a bound chat hands to each of its parsers."""

    program: Program
    names: Names
    offered: dict[str, Tool] | None
    stops: StopStrings | None
    drop: bool
    unknown_is_call: bool
    incremental: bool
    looks_back: bool


@dataclass(slots=True)
class Plain:
    """Text of region ``label`` in which no character of ``firsts`` stands can be handed on, but for blanks at its end."""

    label: str
    first: str
    firsts: frozenset[str]
    blanks: str
    held: str
    sent: list[str]


_MOST_HELD = 32
"""A longer run of blanks is the machine's business: it does not look at it again for each chunk."""

_new_chunk = tuple.__new__  # What a NamedTuple calls; its own constructor costs half of a short feed.


class Parser:
    """Parses one reply as it arrives (after h11: sans-I/O, one way in, one way out).

    >>> import chatpeg
    >>> parser = chatpeg.load("hermes").bind().parser()
    >>> [event.text for event in parser.feed("Hello") + parser.finish() if hasattr(event, "text")]
    ['Hello']
    """

    def __init__(self, setup: Setup, prompt: str) -> None:
        self._setup = setup
        self._machine = Machine(setup.program, setup.names)
        self._regions = Regions(setup.offered, setup.drop, setup.unknown_is_call, setup.incremental)
        self._stops = Stops(setup.stops) if setup.stops else None
        self._pieces: list[str] = []
        self._read = 0
        self._done = False
        self._plain: Plain | None = None
        self.initial_events: list[Event] = []
        if prompt:
            self._regions.prompt_end = len(prompt)
            self._pieces.append(prompt)
            self.initial_events = self._advance(prompt)

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the reply; returns what it settles.

        Raises `TypeError` for anything but a str and `StateError` after `finish`. Never raises for what a model wrote.

        >>> import chatpeg
        >>> chatpeg.load("hermes").parser().feed("Hi <tool")[1:]
        [RegionChunk(label='content', text='Hi', final=True)]
        """
        plain = self._plain
        if plain is not None and type(chunk) is str and chunk:
            if plain.first not in chunk if plain.first else plain.firsts.isdisjoint(chunk):
                self._pieces.append(chunk)
                piece = plain.held + chunk if plain.held else chunk
                if chunk[-1] in plain.blanks:
                    shown = piece.rstrip(plain.blanks)
                    plain.held = piece[len(shown) :]
                    if len(plain.held) > _MOST_HELD:
                        plain.sent.append(shown)
                        self._resume(plain)
                        return [_new_chunk(RegionChunk, (plain.label, shown, True))] if shown else []
                    piece = shown
                    if not piece:
                        return []
                elif plain.held:
                    plain.held = ""
                plain.sent.append(piece)
                return [_new_chunk(RegionChunk, (plain.label, piece, True))]
            self._resume(plain)
        if self._done:
            raise StateError("feed() after finish(): make a new parser for the next reply")
        if not isinstance(chunk, str):
            raise TypeError(f"feed() takes a str, not {type(chunk).__name__}; decode bytes first")
        self._pieces.append(chunk)
        if self._stops is not None:
            chunk = self._stops.pass_on(chunk)
        return self._advance(chunk) if chunk else []

    def finish(self) -> list[Event]:
        """Say that the reply is over; returns the remaining events. Raises `StateError` when called twice.

        >>> import chatpeg
        >>> parser = chatpeg.load("hermes").parser()
        >>> [type(event).__name__ for event in (*parser.feed("Hi"), *parser.finish())]
        ['RegionOpen', 'RegionChunk', 'RegionClose']
        """
        if self._done:
            raise StateError("finish() was called before")
        if self._plain is not None:
            self._resume(self._plain)
        rest = self._stops.rest() if self._stops is not None else ""
        return [*(self._advance(rest) if rest else ()), *self._end()]

    def whole(self, text: str) -> Message:
        """The message of a whole reply: `feed` and `finish` at once, the same run of the machine without the events.

        >>> import chatpeg
        >>> chatpeg.load("hermes").parser().whole("Hi").content
        'Hi'
        """
        if self._plain is not None:
            self._resume(self._plain)
        self._pieces.append(text)
        if self._stops is not None:
            text = self._stops.pass_on(text) + self._stops.rest()
        self._machine.text += text
        self._end()
        return self._regions.message(complete=True)

    @property
    def message(self) -> Message:
        """What is known so far; a new value each time."""
        if self._plain is not None:
            self._resume(self._plain)
        return self._regions.message(complete=self._done)

    @property
    def input_text(self) -> str:
        """All of the input: the part of the prompt that was fed, then every chunk. Offsets of events count in it."""
        return "".join(self._pieces)

    @property
    def steps(self) -> int:
        """How many instructions the machine has run."""
        return self._machine.steps

    def _extend(self, chunk: str) -> None:
        machine = self._machine
        # Only a text that nothing else refers to is extended in place; a long call would cost the square otherwise.
        text = machine.text
        machine.text = ""
        text += chunk
        machine.text = text
        del text
        machine.run(at_end=False)

    def _end(self) -> list[Event]:
        self._done = True
        machine, regions = self._machine, self._regions
        machine.run(at_end=True)
        regions.read(machine.log, self._read, len(machine.log), machine.text, machine.base, upto=machine.pos)
        regions.end(machine.pos + machine.base)
        events, regions.events = regions.events, []
        return events

    def _advance(self, chunk: str) -> list[Event]:
        self._extend(chunk)
        machine, regions = self._machine, self._regions
        log = machine.log
        if machine.choices:
            count, upto = machine.final()
            regions.read(log, self._read, count, machine.text, machine.base, upto=upto)
            self._read = count
        else:
            regions.read(log, self._read, len(log), machine.text, machine.base, upto=machine.pos)
            self._read = len(log)
            if self._setup.incremental:
                regions.stream(machine.text, machine.base, machine.pos, machine.scanned)
            if regions.quiet and not self._setup.looks_back:
                log.clear()
                self._read = 0
                done = min(regions.released - machine.base, machine.pos)
                if done > 0 and (machine.memo is None or type(machine.memo) is tuple):
                    machine.forget(done)
                self._plain = self._in_plain_text()
        events = regions.events
        regions.events = []
        return events

    # -- text of an open region that cannot hold a delimiter is handed on without the machine ---------------------------

    def _in_plain_text(self) -> Plain | None:
        """What `feed` needs to hand text on, when the machine waits for a delimiter with nothing but blanks held back."""
        machine, regions = self._machine, self._regions
        search = machine.searching
        sent = regions.growing
        if search is None or sent is None or (self._stops is not None and self._stops.held):
            return None
        blanks = "".join(search.held_blanks)
        if machine.pos or search.bounded or len(machine.text) > _MOST_HELD or machine.text.strip(blanks):
            return None
        firsts = search.firsts + "".join(self._setup.stops.firsts if self._setup.stops is not None else ())
        single = firsts[0] if len(set(firsts)) == 1 else ""
        return Plain(sent[0], single, frozenset(firsts), blanks, machine.text, [])

    def _resume(self, plain: Plain) -> None:
        """Bring the machine to where the text handed on has come."""
        self._plain = None
        self._regions.grown(plain.sent)
        self._machine.skipped(sum(map(len, plain.sent)), plain.held)

    def veto(self) -> ParseError | None:
        """The first place that a strict parse refuses, with line and column; None if there is none."""
        error = self._regions.veto
        if error is None and self._regions.incomplete:
            error = ParseError("the output ends too early", len(self.input_text))
        if error is None:
            return None
        before = self.input_text[: error.pos]
        line = before.count("\n") + 1
        column = error.pos - (before.rfind("\n") + 1) + 1
        return ParseError(error.message, error.pos, line, column, error.expected)
