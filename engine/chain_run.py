"""The function that reads a chain: what its instructions match in a row, and what the machine has to do for it."""

from __future__ import annotations

from typing import Any

from . import program as op
from .chain_text import ABOUT_CHOICES, ChainText, Place, tuple_of
from .program import Effect, Link


class RunText(ChainText):
    """``run(machine, text, pos, at_end, calls, scopes, barrier)`` of `Chain`; the log names it by ``chain``."""

    def __init__(self, links: tuple[Link, ...], slack: int, chain: object) -> None:
        super().__init__(links)
        steps = [step for link in links for step in link.steps]
        self._sets = any(how == op.BY_PATTERN and known for how, _, known in steps)
        self._asks = any(how == op.BY_VALUE for how, _, _ in steps)
        with self.block("def run(machine, text, pos, at_end, calls, scopes, barrier)"):
            self._read(slack)
            self._note(chain)

    def _refuse_if(self, condition: str) -> None:
        self.line(f"if {condition}: return pos")

    def _read(self, slack: int) -> None:
        self.line("begin = pos")
        if self._sets or self._asks:
            self.line("names, tool, key = machine.names, machine.tool, machine.key")
        for number, link in enumerate(self.links):
            if not link.literal:
                self._steps(number, link)
                continue
            literal = self.constant(link.literal)
            self.line(f"rounds{number} = []")
            with self.block(f"while text.startswith({literal}, pos)"):
                self._steps(number, link)
                self.line(f"rounds{number}.append({tuple_of(self.kept[number])})")
            # Whether it goes round once more is not settled, or the text ends in its literal.
            self._refuse_if(f"len(text) - pos < {len(link.literal)} and {literal}.startswith(text[pos:])")
        self._refuse_if(f"not at_end and pos + {slack} > len(text)")

    def _steps(self, number: int, link: Link) -> None:
        kept = self.kept[number]
        if f"start{number}" in kept:
            self.line(f"start{number} = pos")
        for step, (how, what, more) in enumerate(link.steps):
            name = f"{number}_{step}"
            if how == op.BY_PATTERN:
                self.line(f"found = {self.constant(what)}(text, pos)")
                self._refuse_if("found is None")
                for group in range(what.__self__.groups + 1):
                    for side, method in (("from", "start"), ("to", "end")):
                        if f"{side}{name}_{group}" in kept:
                            self.line(f"{side}{name}_{group} = found.{method}({group})")
                self.line("pos = found.end()")
                for group, slot, dialect in more:
                    self._known(group, slot, dialect)
                continue
            self.line(f"from{name} = pos")
            self._take(how, what, more, name)
            if f"to{name}" in kept:
                self.line(f"to{name} = pos")

    def _known(self, group: int, slot: int, dialect: str) -> None:
        """A name or a key that decides how the rest is read."""
        self.line(f"word = found[{group}]")
        decoded = "word" if dialect == "raw" else f"names.decode({self.constant(dialect)}, word)"
        if slot < 0:
            with self.block("if word is not None"):  # Otherwise its alternative is not the one that was read.
                self.line(f"key = {decoded}")
            return
        self.line(f"whole = names.slots[{slot}].whole")
        self._refuse_if("whole is not None and word not in whole")
        self.line(f"tool = {decoded}")

    def _take(self, how: int, what: Any, more: Any, name: str) -> None:
        """A label's text, as `Shortcuts` reads it for the instruction TAKE (tests/test_chains.py compares them)."""
        refuse = f"if pos < 0: return from{name}"
        if how == op.BY_JSON:
            self.line('pos = whole_value(text, pos) if text.startswith("{", pos) else -1')
            self.line(refuse)
            return
        search = self.constant(what)
        until = f"{search}.candidate(text, pos, True, pos, at_end)"
        if not what.runs:
            until = f"{search}.hit(text, pos) if at_end else {until}"
        if how == op.BY_VALUE:
            with self.block("if names.only_text[tool, key]"):
                self.line(f"how{name} = {op.BY_VALUE}")
                self.line(f"pos = {until}")
            with self.block("else"):
                self.line(f"how{name} = {op.BY_JSON}")
                self.line("pos = whole_value(text, pos) if pos < len(text) else -1")
            self.line(refuse)
            return
        self.line(f"pos = {until}")
        with self.block("if pos < 0"):
            self.line(f"if not at_end: return from{name}")
            self.line("pos = len(text)")
        if more is not None:
            with self.block("else"):
                self._refuse_if(f"{self.constant(more)}(text, pos) is None")

    def _note(self, chain: object) -> None:
        """What the instructions do besides reading."""
        if any(what in ABOUT_CHOICES or what == op.OPEN for link in self.links for what, _, _ in link.state):
            self.line("choices = machine.choices")
        if self.enters:
            self.line("entered = []")
        if self._sets:
            self.line("machine.tool, machine.key = tool, key")
        for number, link in enumerate(self.links):
            if not link.state:
                continue
            with self.rounds(number, link):
                for index, effect in enumerate(link.state):
                    place = self.places[number][effect[2]]
                    if (number, index) in self.inner:
                        self._inner_effect(effect, place, self.inner[number, index])
                    else:
                        self._state_effect(effect, place)
        if any(link.log for link in self.links):
            entry = f"({op.LOG_CHAIN}, ({self.constant(chain)}, {self.all_kept()}), begin)"
            self.line(f"machine.log.append({entry})")
        self.line("return pos, scopes")

    def _state_effect(self, effect: Effect, place: Place) -> None:
        what, value, _ = effect
        match what:
            case op.COMMIT:
                self.line("del choices[barrier:]")
                with self.block(f"if scopes is not None and scopes.site is {self.constant(value)} and not barrier"):
                    self.line("scopes = scopes.changed(True, scopes.call, not choices)")
            case op.TAKE:
                self.line(f"machine.text_end = {place.end} + machine.base")
            case op.CLOSE:
                self.line(f"machine.text_end = {place.start} + machine.base")
            case op.ENTER:
                self.line(f"scopes = machine.enter({self.constant(value)}, {place.start}, calls, scopes, barrier)")
                self.line("entered.append(scopes.identity)")
            case op.EXIT:
                self.line("scopes = machine.exit(scopes, barrier)")
            case op.OPEN:
                self.line("if scopes is not None: scopes = scopes.changed(scopes.committed, True, not choices)")
            case op.TEST:
                self.line(f"if not barrier: machine.missed({place.start}, {self.constant(value)})")
            case op.CHOICE:
                other = self.constant(value)
                self.line(f"choices.append(({other}, begin, len(machine.log), calls, scopes, barrier))")
            case _:
                other = self.constant(value)
                self.line(f"if choices and choices[-1][0] == {other} and choices[-1][3] is calls: choices.pop()")

    def _inner_effect(self, effect: Effect, place: Place, scope: str) -> None:
        """What is left of a scope that ends in the chain: which failures count around it."""
        match effect[0]:
            case op.ENTER:
                self.line(f"farthest{scope}, failed{scope} = machine.farthest, machine.failed")
                self.line(f"if not barrier: machine.farthest, machine.failed = {place.start}, []")
            case op.EXIT:
                with self.block(f"if not barrier and farthest{scope} > machine.farthest"):
                    self.line(f"machine.farthest, machine.failed = farthest{scope}, failed{scope}")
            case op.COMMIT:
                self.line("del choices[barrier:]")
            case _:
                pass
