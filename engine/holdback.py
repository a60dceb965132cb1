"""How much of a text label the parser keeps to itself while more may come, read off the program it runs.

Text is held back while a delimiter has half arrived, and while a choice is open that could still read it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import program as op
from .errors import Problem
from .flow import NOTHING, Flow, Origin, Reading, Stack, State, consumed, flow, silent, waiting
from .loader import Loaded
from .nodes import Rule
from .source import Span

TEXTS = ("reasoning", "content")
_WAITS = frozenset((
    op.LIT, op.SPAN, op.UNTIL, op.RETRY, op.TEST, op.SET, op.RUN, op.JSON, op.NAME, op.PROPERTY, op.AT_END, op.CLOSER,
    op.SAME, op.ACCEPT, op.SKIP,
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class HoldBack:
    """The most that is held back of ``label``, and the rule that holds it: ``bound`` characters, None without end.

    ``blanks``: runs of blanks come on top, however long. ``text`` says it in words.
    """

    label: str
    rule: str
    text: str
    bound: int | None
    blanks: bool

    def __str__(self) -> str:
        remark = ", which only incremental calls notice" if self.label == "arguments" else ""
        return f"{self.label} holds back {self.text}{remark}"


@dataclass(frozen=True, slots=True)
class Held:
    """How much of a label is held back, and the state that is to blame."""

    label: str
    reading: Reading
    state: State


def holdback(loaded: Loaded) -> list[HoldBack]:
    """What each label of ``loaded`` holds back at most.

    >>> from .loader import load_text
    >>> [held.text for held in holdback(load_text('a = content:until("</a>")'))]
    ['3 characters']
    """
    found = program_flow(loaded)
    return [_printed(found, held) for held in worst(found, (*TEXTS, *loaded.fields))]


def program_flow(loaded: Loaded) -> Flow:
    """The flow of the program that a request with tools runs."""
    return flow(_table(loaded.rules), loaded.start, frozenset((*TEXTS, *loaded.fields)))


def _table(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    return dict(rules)


def worst(found: Flow, texts: tuple[str, ...]) -> list[Held]:
    """For each label, in the order of their names here, the most that is held back, and the state that holds most."""
    kept: dict[str, Held] = {}
    for held in every(found, texts):
        before = kept.get(held.label, held)
        most = max(before, held, key=lambda one: (one.reading.endless, one.reading.count, one.reading.blanks))
        kept[held.label] = Held(held.label, before.reading | held.reading, most.state)
    return [kept[label] for label in (*texts, "arguments", "drop") if label in kept]


def every(found: Flow, texts: tuple[str, ...]) -> Iterator[Held]:
    """What each state holds back of each label."""
    for state, reading in found.read.items():
        for label in _labels(found, state, texts):
            yield Held(label, _held(found, state, reading), state)


def _held(found: Flow, state: State, read: Reading) -> Reading:
    pc, stack = state
    return (read if stack else NOTHING) + waiting(found.program.code[pc], bool(stack))


def _labels(found: Flow, state: State, texts: tuple[str, ...]) -> Iterator[str]:
    """The labels that what is held back in ``state`` may turn out to belong to."""
    pc, stack = state
    if found.program.code[pc][0] not in _WAITS:
        return
    here = found.origins[pc]
    opener = found.origins[stack[0][1]] if stack else here
    if "drop" in here.labels or (not opener.labels and any(_drops(found, other) for other in _others(stack))):
        yield "drop"
    elif opener.labels:
        yield from (label for label in opener.labels[:1] if label in texts)
    else:
        yield from _outside(here, texts)
    if stack and "arguments" in here.labels and "arguments" not in opener.labels:
        yield "arguments"


def _outside(here: Origin, texts: tuple[str, ...]) -> Iterator[str]:
    """Text that no label holds yet becomes content where it does not parse; and what a label holds may be its own."""
    if "content" in texts:
        yield "content"
    yield from (label for label in here.labels[:1] if label in texts and label != "content")


def _others(stack: Stack) -> Iterator[State]:
    """Where each open choice goes on when it fails."""
    for index, (other, _) in enumerate(stack):
        yield other, stack[:index]


def _drops(found: Flow, other: State) -> bool:
    """Whether what is read so far is dropped where a choice goes on at ``other``."""
    code = found.program.code
    return any(code[pc][:2] == (op.MARK, op.DROP_OPEN) for pc, _ in silent([other], found.edges, code))


def _printed(found: Flow, held: Held) -> HoldBack:
    pc, _ = held.state
    reading = held.reading
    bound = None if reading.endless else reading.count
    return HoldBack(
        held.label, found.origins[pc].rule, _words(found, held), bound, reading.blanks and bound is not None
    )


def _words(found: Flow, held: Held) -> str:
    reading = held.reading
    if reading.endless:
        where = Path(_choice(found, held.state).where).name
        return f"unbounded until the choice is settled ({where})"
    characters = f"{reading.count} character{'s' * (reading.count != 1)}"
    if not reading.blanks:
        return characters if reading.count else "nothing"
    return f"{characters} and a run of blanks" if reading.count else "a run of blanks"


def _choice(found: Flow, state: State) -> Span:
    pc, stack = state
    return found.origins[stack[0][1] if stack else pc].span


def report_holdback(loaded: Loaded) -> Iterator[Problem]:
    """Text or calls that a choice can take back however long they are, unless it opens the message."""
    found = program_flow(loaded)
    later = _later(found)
    blamed: set[Span] = set()
    texts = (*TEXTS, *loaded.fields)
    order = {label: place for place, label in enumerate((*texts, "arguments", "drop"))}
    for held in sorted(every(found, texts), key=lambda held: order[held.label]):
        choice = _choice(found, held.state)
        if choice not in blamed and _too_much(found, held, later):
            blamed.add(choice)
            notes = (("this is read before the choice is settled", _endless(found, held.state)),)
            help = "put ^ behind the first marker that only this alternative has"
            yield Problem(f"{held.label} may be held back without end", choice, notes, help)


def _too_much(found: Flow, held: Held, later: set[State]) -> bool:
    """Whether what is held back is endless, and more than a call, the noise around it or the whole message."""
    _, stack = held.state
    if not held.reading.endless or held.label == "drop" or not stack:
        return False
    opener = stack[0][1]
    return "tool_call" not in found.origins[opener].labels and (opener, ()) in later


def _later(found: Flow) -> set[State]:
    """The states that are reached after a character of the message has been read."""
    code = found.program.code
    reached: set[State] = set()
    todo = [
        target
        for state in found.at_start
        for target, reading in found.edges[state]
        if reading.count or reading.endless or consumed(code[state[0]]).count or consumed(code[state[0]]).endless
    ]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += [target for target, _ in found.edges[state]]
    return reached


def _endless(found: Flow, state: State) -> Span:
    """The first expression in the file that reads without end while the oldest choice of ``state`` is open."""
    _, stack = state
    code = found.program.code
    readers = [
        found.origins[pc].span
        for pc, other in found.read
        if other[:1] == stack[:1] and (code[pc][0] in (op.UNTIL, op.RETRY) or consumed(code[pc]).endless)
    ]
    return min(readers, key=lambda span: (span.source.name, span.start), default=_choice(found, state))
