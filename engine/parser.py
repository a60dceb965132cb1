"""A parse of one reply: text in, events out, no I/O of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import ParseError, StateError
from .events import Event, RegionChunk
from .machine import Machine
from .message import Message
from .program import Program
from .regions import Regions
from .request import Tool
from .search import Search
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
    _searches: dict[Search, Search] = field(default_factory=dict)

    def with_stops(self, search: Search) -> Search:
        """The search for a delimiter or a stop string."""
        if search not in self._searches:
            stops = self.stops.strings if self.stops is not None else ()
            self._searches[search] = search.and_for(stops)
        return self._searches[search]


@dataclass(slots=True)
class Plain:
    """Text of region ``label`` that the machine is not needed for: no delimiter, nor stop string, is in it.

    ``held`` is what is not handed on yet: blanks that would belong to a delimiter and, from ``begun`` on, what may be its
    beginning. Text without one of the characters ``firsts`` (``first``, if it is one) needs no ``search``.
    """

    label: str
    first: str
    firsts: frozenset[str]
    blanks: str
    search: Search
    held: str
    begun: int
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
            held = plain.held
            if plain.first not in chunk if plain.first else plain.firsts.isdisjoint(chunk):
                if plain.begun == len(held):
                    self._pieces.append(chunk)
                    piece = held + chunk if held else chunk
                    if chunk[-1] in plain.blanks:
                        shown = piece.rstrip(plain.blanks)
                        return self._passed_on(plain, shown, piece[len(shown) :], len(piece) - len(shown))
                    if held:
                        plain.held, plain.begun = "", 0
                    plain.sent.append(piece)
                    return [_new_chunk(RegionChunk, (plain.label, piece, True))]
            else:
                piece = held + chunk
                if plain.search.hit(piece, 0) < 0:
                    self._pieces.append(chunk)
                    cut, begun, _ = plain.search.hold(piece, 0, 0)
                    return self._passed_on(plain, piece[:cut], piece[cut:], begun - cut)
            self._pieces.append(chunk)
            return self._wake(plain, chunk)
        if self._done:
            raise StateError("feed() after finish(): make a new parser for the next reply")
        if not isinstance(chunk, str):
            raise TypeError(f"feed() takes a str, not {type(chunk).__name__}; decode bytes first")
        self._pieces.append(chunk)
        return self._pass_on(chunk)

    def finish(self) -> list[Event]:
        """Say that the reply is over; returns the remaining events. Raises `StateError` when called twice.

        >>> import chatpeg
        >>> parser = chatpeg.load("hermes").parser()
        >>> [type(event).__name__ for event in (*parser.feed("Hi"), *parser.finish())]
        ['RegionOpen', 'RegionChunk', 'RegionClose']
        """
        if self._done:
            raise StateError("finish() was called before")
        events = self._wake(self._plain) if self._plain is not None else []
        rest = self._stops.rest() if self._stops is not None else ""
        return [*events, *(self._advance(rest) if rest else ()), *self._end()]

    def whole(self, text: str) -> Message:
        """The message of a whole reply: `feed` and `finish` at once, the same run of the machine without the events.

        >>> import chatpeg
        >>> chatpeg.load("hermes").parser().whole("Hi").content
        'Hi'
        """
        if self._plain is not None:
            self._wake(self._plain)
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
            self._regions.events = self._wake(self._plain)
        return self._regions.message(complete=self._done)

    @property
    def input_text(self) -> str:
        """All of the input: the part of the prompt that was fed, then every chunk. Offsets of events count in it."""
        return "".join(self._pieces)

    @property
    def steps(self) -> int:
        """How many instructions the machine has run."""
        return self._machine.steps

    def _pass_on(self, chunk: str) -> list[Event]:
        if self._stops is not None:
            chunk = self._stops.pass_on(chunk)
        return self._advance(chunk) if chunk else []

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
        """What `feed` needs to hand text on, when the machine waits for a delimiter and holds back what may begin it."""
        machine, regions = self._machine, self._regions
        search = machine.searching
        sent = regions.growing
        if search is None or sent is None or (self._stops is not None and self._stops.held):
            return None
        if machine.pos or search.bounded or len(machine.text) > _MOST_HELD:
            return None
        both, held = self._setup.with_stops(search), machine.text
        cut, begun, _ = both.hold(held, 0, 0)
        if cut:
            return None
        firsts, blanks = both.firsts, "".join(search.held_blanks)
        return Plain(sent[0], firsts if len(firsts) == 1 else "", frozenset(firsts), blanks, both, held, begun, [])

    def _passed_on(self, plain: Plain, shown: str, held: str, begun: int) -> list[Event]:
        """``shown`` is handed on without the machine; ``held`` is not."""
        plain.held, plain.begun = held, begun
        if shown:
            plain.sent.append(shown)
        events: list[Event] = [_new_chunk(RegionChunk, (plain.label, shown, True))] if shown else []
        return events + self._wake(plain) if len(held) > _MOST_HELD else events

    def _wake(self, plain: Plain, chunk: str = "") -> list[Event]:
        """Bring the machine to where the text handed on has come, and on through what may begin a delimiter."""
        self._plain = None
        self._regions.grown(plain.sent)
        self._machine.skipped(sum(map(len, plain.sent)), plain.held[: plain.begun])
        chunk = plain.held[plain.begun :] + chunk
        return self._pass_on(chunk) if chunk else []

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
