"""What is wrong with the rules of a grammar as such: recursion, repeats, alternatives, and where it begins and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from . import charset
from .analysis import (
    Facts,
    Rules,
    leftmost,
    nullable,
    nullable_rules,
    opening_literals,
    recursive_rules,
    sure,
    sure_rules,
)
from .delimiters import NoLiteral, spellings
from .errors import Problem
from .follow import Follow
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
from .openings import Openings

# Recursion


def report_left_recursion(loaded: Loaded) -> Iterator[Problem]:
    """Rules that come round to themselves before they have read a character: the machine would never stop."""
    rules = dict(loaded.rules)
    empty = nullable_rules(rules)
    edges = {name: list(leftmost(rule.expression, empty)) for name, rule in rules.items()}
    done: set[str] = set()
    for name in rules:
        cycle = [] if name in done else _cycle(edges, name)
        if cycle and not done.intersection(node.name for node in cycle):
            names = [name, *(node.name for node in cycle)]
            notes = tuple(
                (f"{before} begins with {node.name}", node.span)
                for before, node in zip(names[1:], cycle[1:], strict=False)
            )
            help = "read something before the rule comes round, or write a repeat"
            yield Problem(f"left recursion: {' -> '.join(names)}", cycle[0].span, notes, help)
        done.update(node.name for node in cycle)


def _cycle(edges: dict[str, list[Reference]], start: str) -> list[Reference]:
    """The shortest way from ``start`` back to it; [] if there is none."""
    paths: list[list[Reference]] = [[node] for node in edges[start]]
    seen: set[str] = set()
    for path in paths:
        last = path[-1].name
        if last == start:
            return path
        if last not in seen:
            seen.add(last)
            paths += [[*path, node] for node in edges.get(last, ())]
    return []


# Repeats and alternatives


def report_empty_repeats(facts: Facts) -> Iterator[Problem]:
    """A repeat of something that may match nothing goes round for ever."""
    follow = Follow(facts.rules)
    for rule in facts.rules.values():
        for node in walk(rule.expression):
            if isinstance(node, Repeat) and node.max is None and any(True for _ in follow.empty(node.item, None)):
                help = "make the repeated part read at least one character"
                yield Problem("a repeat of something that may match nothing", node.span, help=help)


def report_dead_alternatives(facts: Facts) -> Iterator[Problem]:
    """Alternatives that are never tried, since one before them always matches."""
    always = sure_rules(facts.rules)
    for node in _choices(facts):
        for before, after in zip(node.alternatives, node.alternatives[1:], strict=False):
            if sure(before, always):
                note = (("this matches whatever the text is", before.span),)
                yield Problem("an alternative that is never tried", after.span, note, "put it before the other")
                break


def report_shadowed_alternatives(facts: Facts) -> Iterator[Problem]:
    """Alternatives that never match, since an earlier one matches how they begin."""
    for node in _choices(facts):
        texts = [spellings(item, facts.rules) for item in node.alternatives]
        for index, own in enumerate(texts):
            earlier = [(text, other) for text, other in zip(texts, node.alternatives[:index], strict=False) if text]
            shadow = next((other for text, other in earlier if own and all(_begins(word, text) for word in own)), None)
            if shadow is not None:
                note = (("this matches how it begins", shadow.span),)
                yield Problem(
                    "an alternative that never matches", node.alternatives[index].span, note, "put the longer one first"
                )


def _begins(word: str, texts: frozenset[str]) -> bool:
    return any(text and word.startswith(text) for text in texts)


def _choices(facts: Facts) -> Iterator[Choice]:
    for rule in facts.rules.values():
        for node in walk(rule.expression):
            if isinstance(node, Choice):
                yield node


def report_tolerated_first(facts: Facts) -> Iterator[Problem]:
    """A tolerated form before one that is written: what is written would be read as the slip."""
    for node in _choices(facts):
        written = [item for item in node.alternatives if not isinstance(item, Tolerate)]
        for item in node.alternatives[: node.alternatives.index(written[-1])] if written else ():
            if isinstance(item, Tolerate):
                note = (("this is written as well", written[-1].span),)
                yield Problem(
                    "a tolerated form that is not last in its choice", item.span, note, "put it behind the others"
                )


def report_permuted_blanks(facts: Facts) -> Iterator[Problem]:
    """An item of a ``permute`` that may match nothing stands everywhere and nowhere."""
    for rule in facts.rules.values():
        for node in walk(rule.expression):
            for item in node.items if isinstance(node, Permute) else ():
                inner = item.item if isinstance(item, Repeat) else item
                if nullable(inner, facts.empty):
                    help = "let it read at least one character; an item that may be missing is written x?"
                    yield Problem("an item of permute that may match nothing", item.span, help=help)


def report_unknown_same(facts: Facts) -> Iterator[Problem]:
    """``same(label)`` of a label that the rule does not capture itself."""
    for rule in facts.rules.values():
        own = {node.name for node in walk(rule.expression) if isinstance(node, Label)}
        for node in walk(rule.expression):
            if isinstance(node, Same) and node.label not in own:
                help = f"capture it in the same rule: {node.label}:…"
                yield Problem(f'rule "{rule.name}" captures no {node.label}', node.span, help=help)


# Beginning and end


def report_triggers_without_literal(facts: Facts) -> Iterator[Problem]:
    """A trigger rule that begins with no literal: there is nothing that constrained decoding could start at."""
    for name in facts.loaded.triggers:
        rule = facts.rules[name]
        found = opening_literals(rule.expression, facts.rules)
        if isinstance(found, NoLiteral):
            note = (("this may come first", found.node.span),)
            yield Problem(
                f'trigger rule "{name}" does not begin with a literal', rule.span, note, "begin it with its marker"
            )
        elif not found:
            yield Problem(
                f'trigger rule "{name}" does not begin with a literal', rule.span, help="begin it with its marker"
            )


def report_early_end(facts: Facts) -> Iterator[Problem]:
    """A start rule that can be over while there is text left, which is then read as no call (a warning)."""
    rule = facts.rules[facts.loaded.start]
    found = _Ends(facts.rules)
    last, passes = found.ends(rule.expression)
    if (last or passes) and not facts.library:
        here = facts.loaded.source
        node = min(last, key=lambda node: (node.span.source is not here, node.span.start), default=rule.expression)
        note = ((f"it can end with {write(node)}", node.span),)
        help = "end it with text that takes what is left, or with !."
        yield Problem("the start rule can end before the text does", rule.span, note, help, "warning")


class _Ends:
    """What an expression can end with, other than text up to a delimiter or the end of the input."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.recursive = recursive_rules(rules)
        self.openings = Openings(rules)

    def ends(self, node: Expression) -> tuple[tuple[Expression, ...], bool]:
        """The last expressions of the paths through ``node`` that read something; whether one path reads nothing."""
        match node:
            case Literal(text=""):
                return (), True
            case Literal() | Class() | Any() | Permute() | Terminal() | Same():
                return (node,), False
            case End() | Never() | Until() | ParamValue():
                return (), False
            case And() | Not() | Commit():
                return (), True
            case Sequence(items=items):
                return self.sequence(items)
            case Choice(alternatives=alternatives):
                found = [self.ends(item) for item in alternatives]
                return tuple(end for ends, _ in found for end in ends), any(passes for _, passes in found)
            case Repeat(item=item, min=least, max=most):
                if most is None and self.openings.first((item, None))[0] == charset.ALL:
                    return (), False
                ends, passes = self.ends(item)
                return ends, passes or least == 0
            case Label(item=item) | Tolerate(item=item) | Drop(item=item):
                return self.ends(item)
            case Reference(name=name):
                return ((node,), False) if name in self.recursive else self.ends(self.rules[name].expression)
            case Call():
                raise AssertionError("calls are expanded by the loader")
            case _:
                assert_never(node)

    def sequence(self, items: tuple[Expression, ...]) -> tuple[tuple[Expression, ...], bool]:
        found: tuple[Expression, ...] = ()
        for item in reversed(items):
            ends, passes = self.ends(item)
            found += ends
            if not passes:
                return found, False
        return found, True
