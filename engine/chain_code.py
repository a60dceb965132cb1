"""A chain as two Python functions, written out: what it consists of is not looked up while they run.

(As dataclasses write `__init__`.) Their text holds no word of a grammar: what comes from one is a constant, a name in the text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

from . import program as op
from .jsonscan import whole_value
from .program import Effect, Link


@dataclass(frozen=True, eq=False)
class Chain:
    """A straight run of instructions: its links, how many characters must follow it, and where it leads.

    ``lead`` is the text that it begins with, if its first instruction says so.
    """

    links: tuple[Link, ...]
    slack: int
    target: int
    lead: str

    @functools.cached_property
    def run(self) -> Callable[..., tuple[int, Any] | int]:
        """``(machine, text, pos, at_end, calls, scopes, barrier)``: where the chain ends, and the scopes behind it.

        Nothing is done if what it reads does not stand there, and only the place that it had come to is returned.
        """
        return self._functions["run"]  # type: ignore[no-any-return]

    @functools.cached_property
    def tell(self) -> Callable[..., None]:
        """``(regions, kept, text, base)``: what its instructions would have logged one by one."""
        return self._functions["tell"]  # type: ignore[no-any-return]

    @functools.cached_property
    def _functions(self) -> dict[str, Any]:
        writer = _FunctionWriter(self)
        code = _compiled(writer.source())
        namespace = {"whole_value": whole_value, **writer.constants}
        exec(code, namespace)  # noqa: S102 - a text of our own words
        return namespace


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    """The code of a text; chains of one shape have the same."""
    return compile(source, "<chatpeg chain>", "exec")


_OF_LABELS = frozenset((op.TAKE, op.SCAN))
_OF_NO_PLACE = frozenset((op.COMMIT, op.POP, op.SETTLE, op.CHOICE))
_ABOUT_CHOICES = _OF_NO_PLACE | {op.OPEN}
_ABOUT_SCOPES = frozenset((op.ENTER, op.EXIT, op.COMMIT, op.OPEN))


class _Place(NamedTuple):
    """A span of a link, as the variables that it is kept in: from where to where, and how the label there was taken."""

    start: str
    end: str
    how: str = ""

    def needed(self, what: int) -> tuple[str, ...]:
        """The variables that an effect needs."""
        return self if what in _OF_LABELS else () if what in _OF_NO_PLACE else (self.start,)


def _places(link: Link, number: int) -> list[_Place]:
    """The spans of a link, in the order in which its steps give them."""
    places = [_Place(f"start{number}", "")]
    for step, (how, what, _) in enumerate(link.steps):
        name = f"{number}_{step}"
        if how == op.BY_PATTERN:
            places += [_Place(f"from{name}_{n}", f"to{name}_{n}") for n in range(what.__self__.groups + 1)]
        else:
            places.append(_Place(f"from{name}", f"to{name}", f"how{name}" if how == op.BY_VALUE else ""))
            places.append(_Place(f"to{name}", ""))
    return places


class _FunctionWriter:
    """Writes the functions of a chain.

    ``inner`` are the effects of scopes that end in the chain, and those on them: what gives up a scope never sees one.
    """

    def __init__(self, chain: Chain) -> None:
        links = chain.links
        self._chain = chain
        self.constants: dict[str, object] = {}
        self._lines: list[str] = []
        self._depth = 0
        self._links = links
        self._places = [_places(link, number) for number, link in enumerate(links)]
        self._kept = [
            sorted({name for what, _, at in (*link.state, *link.log) for name in places[at].needed(what)} - {""})
            for link, places in zip(links, self._places, strict=True)
        ]
        self._inner = _inner(links)
        steps = [step for link in links for step in link.steps]
        self._sets = any(how == op.BY_PATTERN and known for how, _, known in steps)
        self._asks = any(how == op.BY_VALUE for how, _, _ in steps)
        self._enters = any(
            what == op.ENTER and (number, index) not in self._inner
            for number, link in enumerate(links)
            for index, (what, _, _) in enumerate(link.state)
        )

    def source(self) -> str:
        """The text of the functions ``run`` and ``tell``."""
        with self._block("def run(machine, text, pos, at_end, calls, scopes, barrier)"):
            self._read()
            self._note()
        with self._block("def tell(regions, kept, text, base)"):
            self._tell()
        return "\n".join(self._lines) + "\n"

    # -- lines -------------------------------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._line(f"{head}:")
        self._depth += 1
        yield
        self._depth -= 1

    def _constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def _refuse_if(self, condition: str) -> None:
        self._line(f"if {condition}: return pos")

    def _all_kept(self) -> str:
        """What the log hands from one to the other, as a tuple to make or to take apart."""
        names = ["entered"] if self._enters else []
        for number, link in enumerate(self._links):
            names += [f"rounds{number}"] if link.literal else self._kept[number]
        return _tuple(names)

    # -- run ---------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._line("begin = pos")
        if self._sets or self._asks:
            self._line("names, tool, key = machine.names, machine.tool, machine.key")
        for number, link in enumerate(self._links):
            if not link.literal:
                self._steps(number, link)
                continue
            literal = self._constant(link.literal)
            self._line(f"rounds{number} = []")
            with self._block(f"while text.startswith({literal}, pos)"):
                self._steps(number, link)
                self._line(f"rounds{number}.append({_tuple(self._kept[number])})")
            # Whether it goes round once more is not settled, or the text ends in its literal.
            self._refuse_if(f"len(text) - pos < {len(link.literal)} and {literal}.startswith(text[pos:])")
        self._refuse_if(f"not at_end and pos + {self._chain.slack} > len(text)")

    def _steps(self, number: int, link: Link) -> None:
        kept = self._kept[number]
        if f"start{number}" in kept:
            self._line(f"start{number} = pos")
        for step, (how, what, more) in enumerate(link.steps):
            name = f"{number}_{step}"
            if how == op.BY_PATTERN:
                self._line(f"found = {self._constant(what)}(text, pos)")
                self._refuse_if("found is None")
                for group in range(what.__self__.groups + 1):
                    for side, method in (("from", "start"), ("to", "end")):
                        if f"{side}{name}_{group}" in kept:
                            self._line(f"{side}{name}_{group} = found.{method}({group})")
                self._line("pos = found.end()")
                for group, slot, dialect in more:
                    self._known(group, slot, dialect)
                continue
            self._line(f"from{name} = pos")
            self._take(how, what, more, name)
            if f"to{name}" in kept:
                self._line(f"to{name} = pos")

    def _known(self, group: int, slot: int, dialect: str) -> None:
        """A name or a key that decides how the rest is read."""
        self._line(f"word = found[{group}]")
        decoded = "word" if dialect == "raw" else f"names.decode({self._constant(dialect)}, word)"
        if slot < 0:
            with self._block("if word is not None"):  # Otherwise its alternative is not the one that was read.
                self._line(f"key = {decoded}")
            return
        self._line(f"whole = names.slots[{slot}].whole")
        self._refuse_if("whole is not None and word not in whole")
        self._line(f"tool = {decoded}")

    def _take(self, how: int, what: Any, more: Any, name: str) -> None:
        """A label's text, as `Shortcuts` reads it for the instruction TAKE (tests/test_chains.py compares them)."""
        refuse = f"if pos < 0: return from{name}"
        if how == op.BY_JSON:
            self._line('pos = whole_value(text, pos) if text.startswith("{", pos) else -1')
            self._line(refuse)
            return
        search = self._constant(what)
        until = f"{search}.candidate(text, pos, True, pos, at_end)"
        if not what.runs:
            until = f"{search}.hit(text, pos) if at_end else {until}"
        if how == op.BY_VALUE:
            with self._block("if names.only_text[tool, key]"):
                self._line(f"how{name} = {op.BY_VALUE}")
                self._line(f"pos = {until}")
            with self._block("else"):
                self._line(f"how{name} = {op.BY_JSON}")
                self._line("pos = whole_value(text, pos) if pos < len(text) else -1")
            self._line(refuse)
            return
        self._line(f"pos = {until}")
        with self._block("if pos < 0"):
            self._line(f"if not at_end: return from{name}")
            self._line("pos = len(text)")
        if more is not None:
            with self._block("else"):
                self._refuse_if(f"{self._constant(more)}(text, pos) is None")

    def _note(self) -> None:
        """What the instructions do besides reading."""
        if any(what in _ABOUT_CHOICES for link in self._links for what, _, _ in link.state):
            self._line("choices = machine.choices")
        if self._enters:
            self._line("entered = []")
        if self._sets:
            self._line("machine.tool, machine.key = tool, key")
        for number, link in enumerate(self._links):
            if not link.state:
                continue
            with self._rounds(number, link):
                for index, effect in enumerate(link.state):
                    place = self._places[number][effect[2]]
                    if (number, index) in self._inner:
                        self._inner_effect(effect, place, self._inner[number, index])
                    else:
                        self._state_effect(effect, place)
        if any(link.log for link in self._links):
            chain = self._constant(self._chain)
            self._line(f"machine.log.append(({op.LOG_CHAIN}, ({chain}, {self._all_kept()}), begin))")
        self._line("return pos, scopes")

    @contextmanager
    def _rounds(self, number: int, link: Link) -> Iterator[None]:
        if link.literal:
            with self._block(f"for {_tuple(self._kept[number])} in rounds{number}"):
                yield
        else:
            yield

    def _state_effect(self, effect: Effect, place: _Place) -> None:
        what, value, _ = effect
        match what:
            case op.COMMIT:
                self._line("del choices[barrier:]")
                with self._block(f"if scopes is not None and scopes.site is {self._constant(value)} and not barrier"):
                    self._line("scopes = scopes.changed(True, scopes.call, not choices)")
            case op.TAKE:
                self._line(f"machine.text_end = {place.end} + machine.base")
            case op.CLOSE:
                self._line(f"machine.text_end = {place.start} + machine.base")
            case op.ENTER:
                self._line(f"scopes = machine.enter({self._constant(value)}, {place.start}, calls, scopes, barrier)")
                self._line("entered.append(scopes.identity)")
            case op.EXIT:
                self._line("scopes = machine.exit(scopes, barrier)")
            case op.OPEN:
                self._line("if scopes is not None: scopes = scopes.changed(scopes.committed, True, not choices)")
            case op.TEST:
                self._line(f"if not barrier: machine.missed({place.start}, {self._constant(value)})")
            case op.CHOICE:
                other = self._constant(value)
                self._line(f"choices.append(({other}, begin, len(machine.log), calls, scopes, barrier))")
            case _:
                other = self._constant(value)
                self._line(f"if choices and choices[-1][0] == {other} and choices[-1][3] is calls: choices.pop()")

    def _inner_effect(self, effect: Effect, place: _Place, scope: str) -> None:
        """What is left of a scope that ends in the chain: which failures count around it."""
        match effect[0]:
            case op.ENTER:
                self._line(f"farthest{scope}, failed{scope} = machine.farthest, machine.failed")
                self._line(f"if not barrier: machine.farthest, machine.failed = {place.start}, []")
            case op.EXIT:
                with self._block(f"if not barrier and farthest{scope} > machine.farthest"):
                    self._line(f"machine.farthest, machine.failed = farthest{scope}, failed{scope}")
            case op.COMMIT:
                self._line("del choices[barrier:]")
            case _:
                pass

    # -- tell --------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        self._line(f"{self._all_kept()} = kept")
        if self._enters:
            self._line("scopes = iter(entered)")
        logged = [number for number, link in enumerate(self._links) if link.log]
        links = [self._links[number] for number in logged]
        if _is_plain_call(links):
            self._tell_plain_call(*logged)
        elif _is_plain_text(links):
            self._tell_plain_text(*logged)
        for number, link in enumerate(self._links):
            if not link.log:
                continue
            entered = (
                "None" if (number, index) in self._inner else "next(scopes)"
                for index, (what, _, _) in enumerate(link.state)
                if what == op.ENTER
            )
            with self._rounds(number, link):
                for effect in link.log:
                    self._log_effect(effect, self._places[number][effect[2]], entered)

    def _tell_plain_call(self, head: int, loop: int, foot: int) -> None:
        """Try to make the call at once."""
        entered, opened, name, begun = (self._places[head][at] for _, _, at in self._links[head].log)
        key, value = (self._places[loop][at] for _, _, at in self._links[loop].log)
        ended, closed, left = (self._places[foot][at] for _, _, at in self._links[foot].log)
        names = _tuple(self._kept[loop])
        member = f"(text[{key.start}:{key.end}], {value.how}, text[{value.start}:{value.end}])"
        self._line(f"members = [{member} for {names} in rounds{loop}]")
        places = ", ".join(f"{place.start} + base" for place in (entered, opened, closed, left))
        # Arguments without parameters are what their text says.
        bare = f"(members or {begun.start} == {ended.start})"
        self._line(f"if {bare} and regions.plain_call(text[{name.start}:{name.end}], members, {places}): return")

    def _tell_plain_text(self, link: int) -> None:
        """Try to make the region at once."""
        (_, _, entered), (_, (label, _, _), taken), (_, _, left) = self._links[link].log
        mark, (start, end, _), after = (self._places[link][at] for at in (entered, taken, left))
        places = f"{mark.start} + base, {start} + base, {end} + base, {after.start} + base"
        self._line(f"if regions.plain_text({self._constant(label)}, text[{start}:{end}], {places}): return")

    def _log_effect(self, effect: Effect, place: _Place, entered: Iterator[str]) -> None:
        what, value, _ = effect
        start, end, how = place
        match what:
            case op.TAKE | op.SCAN:
                label, dialect = map(self._constant, value[:2])
                call = f"regions.span({label}, {dialect}, {how or value[2]}, {start}, {end}, text, base)"
                # A label in an alternative that is not the one that was read has no place.
                self._line(f"if {start} >= 0: {call}" if what == op.SCAN else call)
            case op.OPEN:
                label, dialect = map(self._constant, value)
                self._line(f"regions.open({label}, {dialect}, {start}, text, base)")
            case op.CLOSE:
                self._line(f"regions.close({self._constant(value[0])}, {start}, text, base)")
            case op.ENTER:
                scope = next(entered) if value.scope else None
                self._line(f"regions.enter({self._constant(value)}, {scope}, {start} + base)")
            case op.EXIT:
                self._line(f"regions.exit({start} + base, text, base)")
            case _:
                self._line(f"regions.mark({self._constant(value)}, {start}, text, base)")


def _tuple(names: list[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names).strip()})"


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


def _inner(links: tuple[Link, ...]) -> dict[tuple[int, int], str]:
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
