"""What the functions of a chain have in common: lines, constants, and the variables that spans are kept in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from . import program as op
from .program import Link

_OF_LABELS = frozenset((op.TAKE, op.SCAN))
ABOUT_CHOICES = frozenset((op.COMMIT, op.POP, op.SETTLE, op.CHOICE))
_ABOUT_SCOPES = frozenset((op.ENTER, op.EXIT, op.COMMIT, op.OPEN))


class Place(NamedTuple):
    """A span of a link, as the variables that it is kept in: from where to where, and how the label there was taken."""

    start: str
    end: str
    how: str = ""

    def needed(self, what: int) -> tuple[str, ...]:
        """The variables that an effect needs."""
        return self if what in _OF_LABELS else () if what in ABOUT_CHOICES else (self.start,)


def places_of(link: Link, number: int) -> list[Place]:
    """The spans of a link, in the order in which its steps give them."""
    places = [Place(f"start{number}", "")]
    for step, (how, what, _) in enumerate(link.steps):
        name = f"{number}_{step}"
        if how == op.BY_PATTERN:
            places += [Place(f"from{name}_{n}", f"to{name}_{n}") for n in range(what.__self__.groups + 1)]
        else:
            places.append(Place(f"from{name}", f"to{name}", f"how{name}" if how == op.BY_VALUE else ""))
            places.append(Place(f"to{name}", ""))
    return places


class ChainText:
    """The text of a function in the making, and the constants in it.

    ``inner`` are the effects of scopes that end in the chain, and those on them: what gives up a scope never sees one.
    """

    def __init__(self, links: tuple[Link, ...]) -> None:
        self.links = links
        self.constants: dict[str, object] = {}
        self.places = [places_of(link, number) for number, link in enumerate(links)]
        self.kept = [
            sorted({name for what, _, at in (*link.state, *link.log) for name in places[at].needed(what)} - {""})
            for link, places in zip(links, self.places, strict=True)
        ]
        self.inner = inner_scopes(links)
        self.enters = any(
            what == op.ENTER and (number, index) not in self.inner
            for number, link in enumerate(links)
            for index, (what, _, _) in enumerate(link.state)
        )
        self._lines: list[str] = []
        self._depth = 0

    @property
    def source(self) -> str:
        """The text."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(f"{head}:")
        self._depth += 1
        yield
        self._depth -= 1

    def constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def all_kept(self) -> str:
        """What the log hands from one function to the other."""
        names = ["entered"] if self.enters else []
        for number, link in enumerate(self.links):
            names += [f"rounds{number}"] if link.literal else self.kept[number]
        return tuple_of(names)

    @contextmanager
    def rounds(self, number: int, link: Link) -> Iterator[None]:
        if link.literal:
            with self.block(f"for {tuple_of(self.kept[number])} in rounds{number}"):
                yield
        else:
            yield


def tuple_of(names: list[str]) -> str:
    """A tuple of variables, to make or to take apart."""
    return f"({''.join(f'{name}, ' for name in names).strip()})"


def inner_scopes(links: tuple[Link, ...]) -> dict[tuple[int, int], str]:
    """The effects, by link and place in it, on scopes that end in the chain, and on which scope.

    No choice can restore such a scope: the only one that a chain opens is its first effect, before any scope.
    """
    found: dict[tuple[int, int], str] = {}
    opened: list[list[tuple[int, int]]] = []
    for number, link in enumerate(links):
        for index, (what, _, _) in enumerate(link.state):
            if what == op.ENTER:
                opened.append([])
            if what in _ABOUT_SCOPES and opened:
                opened[-1].append((number, index))
            if what == op.EXIT and opened:
                effects = opened.pop()
                found |= dict.fromkeys(effects, "{}_{}".format(*effects[0]))
    return found
