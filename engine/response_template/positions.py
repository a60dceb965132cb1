"""The places in a set of patterns and what may follow what (after Glushkov): where could a delimiter be open, or end?

A bit per character that a pattern can read. ``alive`` goes back from the end of the text for as long as what it reads
can be the beginning of a delimiter whose next character is not there yet; `State` goes forward, a character at a time.
Both may say so too often (of a repeat they forget the bounds, of a look-around whether it holds), never too rarely, and
are exact for `plain` patterns of which none has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import regex

from .patterns import Back, Chars, Choice, Edge, Group, Look, Node, Repeat, Sequence

_MOST_NEXT = 4096
_ANY = Chars(r"[\s\S]")
_MOST_STEPS = 20_000
BLANKS = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
"""What ``\\s`` reads (Unicode: White_Space)."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: whether it can be empty, and the bits it can begin and end with."""

    empty: bool
    first: int
    last: int


class State(dict[str, "State"]):
    """What could be open after some text: the next state by the next character, worked out when it is asked for.

    ``ended`` says that a delimiter may have ended, somewhere: nothing leads out of that state.
    """

    __slots__ = ("bits", "ended", "positions")

    def __init__(self, positions: Positions, bits: int) -> None:
        super().__init__()
        self.positions = positions
        self.bits = bits
        self.ended = bool(bits & positions.last)

    def __bool__(self) -> bool:
        return True

    def __missing__(self, character: str) -> State:
        if len(self) >= _MOST_NEXT:
            self.clear()
        state = self[character] = self.positions.after(self.bits, character)
        return state


@dataclass(slots=True, eq=False)
class Positions:
    """The places of some patterns. Its tables grow as texts are read; they hold nothing of a text but its characters."""

    chars: list[Chars] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)
    first: int = 0
    last: int = 0
    empty: bool = False
    _states: dict[int, State] = field(default_factory=dict)
    _steps: dict[int, dict[str, int]] = field(default_factory=dict)
    _count: int = 0

    def add(self, node: Node) -> None:
        """One more pattern."""
        part = self._part(node)
        self.first |= part.first
        self.last |= part.last
        self.empty = self.empty or part.empty

    def starts(self) -> regex.Pattern[str] | None:
        """A pattern for one character that a delimiter can begin with; None if a delimiter can be empty."""
        if self.empty:
            return None
        sources = []
        for place, chars in enumerate(self.chars):
            if self.first >> place & 1:
                sources.append(f"(?i:{chars.source})" if chars.ignore_case else chars.source)
        return regex.compile("|".join(dict.fromkeys(sources)) or "(?!)")

    def first_characters(self) -> frozenset[str] | None:
        """The characters that a delimiter can begin with, where they are few and known."""
        found: set[str] = set()
        for place, chars in enumerate(self.chars):
            if self.first >> place & 1:
                if chars.source == r"\s":
                    found |= BLANKS
                elif chars.literal is not None and not chars.ignore_case:
                    found.add(chars.literal)
                else:
                    return None
        return frozenset(found)

    def alive(self, text: str, low: int, bits: int = 0) -> int:
        """The first place from ``low`` on at which a delimiter may begin that needs more text than there is.

        ``bits`` are those of the `State` behind the text, where it was followed from ``low`` on.
        """
        place = found = len(text)
        steps, first = self._steps, self.first
        if bits:
            place -= 1
            state = bits
            if state & first:
                found = place
        else:
            state = (1 << len(self.chars)) - 1
        while place > low:
            place -= 1
            try:
                state = steps[state][text[place]]
            except KeyError:
                state = self._step(state, text[place])
            if not state:
                break
            if state & first:
                found = place
        return found

    def start(self) -> State:
        """The state in which nothing is open."""
        return self._state(0)

    def after(self, state: int, character: str) -> State:
        """The state after one more character."""
        if state & self.last:
            return self._state(self.last)
        allowed = self.first
        for place, follow in enumerate(self.follow):
            if state >> place & 1:
                allowed |= follow
        bits = 0
        for place, chars in enumerate(self.chars):
            if allowed >> place & 1 and _reads(chars, character):
                bits |= 1 << place
        return self._state(self.last if bits & self.last else bits)

    def _state(self, bits: int) -> State:
        if bits not in self._states:
            self._states[bits] = State(self, bits)
        return self._states[bits]

    def _step(self, state: int, character: str) -> int:
        before = 0
        for place, chars in enumerate(self.chars):
            if self.follow[place] & state and _reads(chars, character):
                before |= 1 << place
        if self._count >= _MOST_STEPS:
            self._steps, self._count = {}, 0
        self._steps.setdefault(state, {})[character] = before
        self._count += 1
        return before

    # -- building ----------------------------------------------------------------------------------------------------

    def _place(self, chars: Chars) -> _Part:
        bit = 1 << len(self.chars)
        self.chars.append(chars)
        self.follow.append(0)
        return _Part(empty=False, first=bit, last=bit)

    def _link(self, last: int, first: int) -> None:
        for place in range(last.bit_length()):
            if last >> place & 1:
                self.follow[place] |= first

    def _joined(self, parts: list[_Part]) -> _Part:
        empty, first, last = True, 0, 0
        for part in parts:
            self._link(last, part.first)
            first |= part.first if empty else 0
            last = part.last | (last if part.empty else 0)
            empty = empty and part.empty
        return _Part(empty, first, last)

    def _part(self, node: Node) -> _Part:
        match node:
            case Chars():
                return self._place(node)
            case Sequence(items=items):
                return self._joined([self._part(item) for item in items])
            case Choice(alternatives=alternatives):
                return _either([self._part(item) for item in alternatives])
            case Repeat(item=item, min=least, max=most):
                part = self._part(item)
                if most != 1:
                    self._link(part.last, part.first)
                return _Part(part.empty or least == 0, part.first, part.last)
            case Group(item=item):
                return self._part(item)
            case Look(item=item, ahead=ahead):
                # What is looked at is read by the way: nothing comes after it.
                return _Part(empty=True, first=self._part(item).first if ahead else 0, last=0)
            case Edge(source=source):
                return _Part(empty=True, first=self._edge(source), last=0)
            case Back():
                return self._part(Repeat(_ANY, 0, None, "", 0))

    def _edge(self, source: str) -> int:
        if source in ("^", r"\A"):
            return 0
        after = self._place(_ANY)
        if source != "$":
            return after.first
        newline = self._place(Chars(r"\n", "\n"))
        self._link(newline.last, after.first)
        return after.first | newline.first


def _either(parts: list[_Part]) -> _Part:
    first = last = 0
    for part in parts:
        first |= part.first
        last |= part.last
    return _Part(any(part.empty for part in parts), first, last)


def _reads(chars: Chars, character: str) -> bool:
    if chars.literal is not None:
        return chars.literal == character
    flags = regex.DOTALL | (regex.IGNORECASE if chars.ignore_case else 0)
    return regex.compile(chars.source, flags).fullmatch(character) is not None
