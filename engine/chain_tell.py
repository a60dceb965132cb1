"""The function that tells what a chain has read: what its instructions would have logged one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import program as op
from .chain_text import ChainText, Place, tuple_of
from .program import Effect, Link


class TellText(ChainText):
    """``tell(regions, kept, text, base)`` of `Chain`."""

    def __init__(self, links: tuple[Link, ...]) -> None:
        super().__init__(links)
        with self.block("def tell(regions, kept, text, base)"):
            self._tell()

    def _tell(self) -> None:
        self.line(f"{self.all_kept()} = kept")
        if self.enters:
            self.line("scopes = iter(entered)")
        logged = [number for number, link in enumerate(self.links) if link.log]
        links = [self.links[number] for number in logged]
        if _is_plain_call(links):
            self._tell_plain_call(*logged)
        elif _is_plain_text(links):
            self._tell_plain_text(*logged)
        for number, link in enumerate(self.links):
            if not link.log:
                continue
            entered = (
                "None" if (number, index) in self.inner else "next(scopes)"
                for index, (what, _, _) in enumerate(link.state)
                if what == op.ENTER
            )
            with self.rounds(number, link):
                for effect in link.log:
                    self._log_effect(effect, self.places[number][effect[2]], entered)

    def _tell_plain_call(self, head: int, loop: int, foot: int) -> None:
        """Try to make the call at once."""
        entered, opened, name, begun = (self.places[head][at] for _, _, at in self.links[head].log)
        key, value = (self.places[loop][at] for _, _, at in self.links[loop].log)
        ended, closed, left = (self.places[foot][at] for _, _, at in self.links[foot].log)
        names = tuple_of(self.kept[loop])
        member = f"(text[{key.start}:{key.end}], {value.how}, text[{value.start}:{value.end}])"
        self.line(f"members = [{member} for {names} in rounds{loop}]")
        places = ", ".join(f"{place.start} + base" for place in (entered, opened, closed, left))
        # Arguments without parameters are what their text says.
        bare = f"(members or {begun.start} == {ended.start})"
        self.line(f"if {bare} and regions.plain_call(text[{name.start}:{name.end}], members, {places}): return")

    def _tell_plain_text(self, link: int) -> None:
        """Try to make the region at once."""
        (_, _, entered), (_, (label, _, _), taken), (_, _, left) = self.links[link].log
        mark, (start, end, _), after = (self.places[link][at] for at in (entered, taken, left))
        places = f"{mark.start} + base, {start} + base, {end} + base, {after.start} + base"
        self.line(f"if regions.plain_text({self.constant(label)}, text[{start}:{end}], {places}): return")

    def _log_effect(self, effect: Effect, place: Place, entered: Iterator[str]) -> None:
        what, value, _ = effect
        start, end, how = place
        match what:
            case op.TAKE | op.SCAN:
                label, dialect = map(self.constant, value[:2])
                call = f"regions.span({label}, {dialect}, {how or value[2]}, {start}, {end}, text, base)"
                # A label in an alternative that is not the one that was read has no place.
                self.line(f"if {start} >= 0: {call}" if what == op.SCAN else call)
            case op.OPEN:
                label, dialect = map(self.constant, value)
                self.line(f"regions.open({label}, {dialect}, {start}, text, base)")
            case op.CLOSE:
                self.line(f"regions.close({self.constant(value[0])}, {start}, text, base)")
            case op.ENTER:
                scope = next(entered) if value.scope else None
                self.line(f"regions.enter({self.constant(value)}, {scope}, {start} + base)")
            case op.EXIT:
                self.line(f"regions.exit({start} + base, text, base)")
            case _:
                self.line(f"regions.mark({self.constant(value)}, {start}, text, base)")


def _label(value: Any) -> tuple[Any, ...]:
    """The label that an effect is about, and what of how it is read counts."""
    match value:
        case (label, dialect, how):
            return (label, dialect, how)
        case (label, _):
            return (label,)
        case _:
            return ()


_PLAIN_CALL = [
    [(op.ENTER,), (op.OPEN, "tool_call"), (op.TAKE, "name", "raw", op.BY_NAME), (op.OPEN, "arguments")],
    [(op.SCAN, "key", "raw", op.BY_UNTIL), (op.TAKE, "value", "raw", op.BY_VALUE)],
    [(op.CLOSE, "arguments"), (op.CLOSE, "tool_call"), (op.EXIT,)],
]


def _is_plain_call(links: list[Link]) -> bool:
    """Whether the links tell of a rule that is a call whose parameters are read in a loop."""
    told = [[(what, *_label(value)) for what, value, _ in link.log] for link in links]
    return told == _PLAIN_CALL and [bool(link.literal) for link in links] == [False, True, False]


def _is_plain_text(links: list[Link]) -> bool:
    """Whether the links tell of a rule that is a text region and nothing else."""
    told = [[what for what, _, _ in link.log] for link in links]
    return told == [[op.ENTER, op.TAKE, op.EXIT]] and not links[0].literal
