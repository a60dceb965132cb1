"""What is wrong with delimiters: how they begin, how far they read, and what stands where a text has stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from . import charset
from .analysis import Facts, Place, Rules
from .delimiters import NoLiteral, before_commit, blank_run, name_ends, openings
from .errors import Problem
from .follow import Follow, Witness, witnesses
from .loader import Loaded
from .nodes import (
    And,
    Any,
    Call,
    Choice,
    Class,
    Commit,
    Drop,
    End,
    Expression,
    Label,
    Literal,
    Never,
    Not,
    ParamValue,
    Permute,
    Reference,
    Repeat,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    walk,
)
from .notation import write
from .openings import Openings, listed


def report_delimiters_without_literal(loaded: Loaded) -> Iterator[Problem]:
    """Delimiters that begin with something that cannot be searched for."""
    rules = dict(loaded.rules)
    for rule in rules.values():
        for node in walk(rule.expression):
            if isinstance(node, Until | ParamValue):
                yield from _delimiter_faults(node.delimiter, rules)


def _delimiter_faults(delimiter: Expression, rules: Rules) -> Iterator[Problem]:
    part = before_commit(delimiter, rules)
    help = "begin each alternative with a literal; a run of blanks may come before it"
    try:
        openings(part, rules)
    except NoLiteral as failure:
        note = (("this comes before any literal", failure.node.span),)
        yield Problem("a delimiter without a literal to search for", delimiter.span, note, help)
        return
    if _matches_nothing(part, rules):
        yield Problem("a delimiter that matches the empty text", delimiter.span, help=help)
    elif (far := _unbounded(part, rules)) is not None:
        note = (("this reads on without end", far.span),)
        help = "after its literal a delimiter has predicates, blanks and names; put ^ before what goes on"
        yield Problem("a delimiter that reads without end", delimiter.span, note, help)


def _matches_nothing(node: Expression, rules: Rules) -> bool:
    """Whether ``node`` can match without any text, predicates aside: they look at some."""
    match node:
        case Literal(text=text):
            return not text
        case Sequence(items=items):
            return all(_matches_nothing(item, rules) for item in items)
        case Choice(alternatives=items):
            return any(_matches_nothing(item, rules) for item in items)
        case Repeat(item=item, min=least):
            return least == 0 or _matches_nothing(item, rules)
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            return _matches_nothing(item, rules)
        case Reference(name=name):
            return _matches_nothing(rules[name].expression, rules)
        case Commit():
            return True
        case _:
            return False


def _unbounded(node: Expression, rules: Rules) -> Expression | None:
    """What in a delimiter may read any amount of text that is not blank; None if nothing does."""
    todo, seen = [node], set[str]()
    while todo:
        part = todo.pop()
        match part:
            case Until() | ParamValue() | Same() | Permute() | Terminal(name="TOOL_ARGUMENTS" | "JSON_VALUE"):
                return part
            case Repeat(max=None) if blank_run(part, rules) is None:
                return part
            case Reference(name=name):
                if name not in seen:
                    seen.add(name)
                    todo.append(rules[name].expression)
            case Sequence(items=items) | Choice(alternatives=items):
                todo += reversed(items)
            case (
                Repeat(item=item)
                | And(item=item)
                | Not(item=item)
                | Label(item=item)
                | Tolerate(item=item)
                | Drop(item=item)
            ):
                todo.append(item)
            case Literal() | Class() | Any() | End() | Never() | Commit() | Terminal():
                continue
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(part)
    return None


def report_names_without_end(facts: Facts) -> Iterator[Problem]:
    """Names of tools and parameters that nothing ends."""
    first = Openings(facts.rules).first
    for place in facts.places:
        node = place.node
        if (
            not isinstance(node, Terminal)
            or node.name not in ("TOOL_NAME", "PARAM_NAME")
            or (facts.library and place.after is None)
        ):
            continue
        if node.name == "TOOL_NAME" and first(place.after)[0] in (charset.ALL, ()):
            yield _endless_name(node)
        elif node.name == "PARAM_NAME" and not place.sheltered and node.dialect != "python":
            try:
                name_ends(node, listed(place.after), facts.rules)
            except NoLiteral:
                yield _endless_name(node)


def _endless_name(node: Terminal) -> Problem:
    return Problem(f"nothing ends this {node.name}", node.span, help="put a literal or a class behind it")


# Stuck: what follows a text must take on the delimiter that it stopped at


def report_stuck(facts: Facts) -> Iterator[Problem]:
    """Texts that can stop where nothing goes on: all that is left would be recovered as one piece of content."""
    follow = Follow(facts.rules)
    openings_of = Openings(facts.rules)
    for place in facts.places:
        node = place.node
        if not isinstance(node, Until | ParamValue) or place.sheltered or facts.library:
            continue
        for alternative in _alternatives(before_commit(node.delimiter, facts.rules), facts.rules):
            witness = next((w for w in witnesses(alternative, facts.rules) if not follow.safe(place.after, 0, w)), None)
            if witness is not None:
                hopeless = openings_of.excludes([alternative], [place.after])
                yield _stuck(place, alternative, witness, "error" if hopeless else "warning")


def _stuck(place: Place, alternative: Expression, witness: Witness, severity: str) -> Problem:
    shown = write(Literal(witness.text, alternative.span)) + (" and the end of the text" if witness.over else "")
    note = ((f"what follows may refuse {shown}", place.node.span),)
    help = "let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs"
    return Problem("a text that can get stuck at its delimiter", alternative.span, note, help, severity)


def _alternatives(node: Expression, rules: Rules) -> Iterator[Expression]:
    match node:
        case Choice(alternatives=items):
            for item in items:
                yield from _alternatives(item, rules)
        case Tolerate(item=item):
            yield from _alternatives(item, rules)
        case Reference(name=name) if isinstance(rules[name].expression, Choice | Reference | Tolerate):
            yield from _alternatives(rules[name].expression, rules)
        case _:
            yield node
