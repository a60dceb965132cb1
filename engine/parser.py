"""A parse of one reply: text in, events out, no I/O of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ParseError, StateError
from .events import Event
from .machine import Machine, Names
from .message import Message
from .program import Program
from .regions import Regions
from .request import Tool
from .stops import Stops


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What a bound chat hands to each of its parsers."""

    program: Program
    names: Names
    offered: dict[str, Tool] | None
    stops: tuple[str, ...]
    drop: bool
    unknown_is_call: bool
    incremental: bool


class Parser:
    """Parses one reply as it arrives (after h11: sans-I/O, one way in, one way out).

    >>> import chatpeg
    >>> parser = chatpeg.load("hermes").bind().parser()
    >>> [event.text for event in parser.feed("Hello") + parser.finish() if hasattr(event, "text")]
    ['Hello']
    """

    def __init__(self, setup: Setup, prompt: str) -> None:
        self._machine = Machine(setup.program, setup.names)
        self._regions = Regions(setup.offered, setup.drop, setup.unknown_is_call)
        self._stops = Stops(setup.stops) if setup.stops else None
        self._pieces: list[str] = []
        self._read = 0
        self._done = False
        self.initial_events: list[Event] = []
        if prompt:
            self._regions.prompt_end = len(prompt)
            self._pieces.append(prompt)
            self.initial_events = self._advance(prompt)

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the reply; returns what it settles.

        Raises `TypeError` for anything but a str and `StateError` after `finish`. Never raises for what a model wrote.
        """
        if self._done:
            raise StateError("feed() after finish(): make a new parser for the next reply")
        if not isinstance(chunk, str):
            raise TypeError(f"feed() takes a str, not {type(chunk).__name__}; decode bytes first")
        self._pieces.append(chunk)
        if self._stops is not None:
            chunk = self._stops.pass_on(chunk)
        return self._advance(chunk) if chunk else []

    def finish(self) -> list[Event]:
        """Say that the reply is over; returns the remaining events. Raises `StateError` when called twice."""
        if self._done:
            raise StateError("finish() was called before")
        rest = self._stops.rest() if self._stops is not None else ""
        events = self._advance(rest) if rest else []
        self._done = True
        machine, regions = self._machine, self._regions
        machine.run(at_end=True)
        regions.read(machine.log, self._read, len(machine.log), machine.text, machine.base, machine.pos)
        regions.end(machine.pos + machine.base)
        events += regions.events
        regions.events = []
        return events

    @property
    def message(self) -> Message:
        """What is known so far; a new value each time."""
        return self._regions.message(complete=self._done)

    @property
    def input_text(self) -> str:
        """All of the input: the part of the prompt that was fed, then every chunk. Offsets of events count in it."""
        return "".join(self._pieces)

    @property
    def steps(self) -> int:
        """How many instructions the machine has run."""
        return self._machine.steps

    def _advance(self, chunk: str) -> list[Event]:
        machine, regions = self._machine, self._regions
        # Only a text that nothing else refers to is extended in place; a long call would cost the square otherwise.
        text = machine.text
        machine.text = ""
        text += chunk
        machine.text = text
        del text
        machine.run(at_end=False)
        log = machine.log
        if machine.choices:
            count, upto = machine.final()
            regions.read(log, self._read, count, machine.text, machine.base, upto)
            self._read = count
        else:
            regions.read(log, self._read, len(log), machine.text, machine.base, machine.pos)
            self._read = len(log)
            if regions.quiet:
                log.clear()
                self._read = 0
                done = min(regions.released - machine.base, machine.pos)
                if done > 0 and (machine.memo is None or type(machine.memo) is tuple):
                    machine.forget(done)
        events = regions.events
        regions.events = []
        return events

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
