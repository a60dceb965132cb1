"""How the expressions of a grammar begin and end in literal text: what `until` searches, what recovery stops at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import assert_never

from . import charset
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
    Rule,
    Same,
    Sequence,
    Terminal,
    Tolerate,
    Until,
    walk,
)
from .search import Opening

Rules = dict[str, Rule]
_MOST = 32
"""More literal spellings than this of one piece of markup are not enumerated."""


_BLANK = "".join(charset.BLANKS)


class NoLiteral(Exception):
    """A delimiter's alternative that does not begin with a literal; ``node`` is where."""

    def __init__(self, node: Expression) -> None:
        self.node = node
        super().__init__(node)


def before_commit(node: Expression, rules: Rules) -> Expression:
    """The part of ``node`` before its commit: what tells a construct from text. All of it if it has no commit."""
    return _cut(node, rules)[0]


def _cut(node: Expression, rules: Rules) -> tuple[Expression, bool]:
    match node:
        case Commit():
            return Literal("", node.span), True
        case Sequence(items=items, span=span):
            kept: list[Expression] = []
            for item in items:
                part, cut = _cut(item, rules)
                if not isinstance(item, Commit):
                    kept.append(part)
                if cut:
                    return Sequence(tuple(kept), span), True
            return node, False
        case Choice(alternatives=alternatives, span=span):
            parts = [_cut(alternative, rules) for alternative in alternatives]
            if any(cut for _, cut in parts):
                return Choice(tuple(part for part, _ in parts), span), True
            return node, False
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            part, cut = _cut(item, rules)
            return (part, True) if cut else (node, False)
        case Reference(name=name):
            part, cut = _cut(rules[name].expression, rules) if not _recursive(name, rules) else (node, False)
            return (part, True) if cut else (node, False)
        case _:
            return node, False


def _recursive(name: str, rules: Rules) -> bool:
    return name in reached(rules[name].expression, rules)


def reached(node: Expression, rules: Rules) -> set[str]:
    """The names of all rules that ``node`` refers to, directly or through others."""
    found: set[str] = set()
    todo = [node]
    while todo:
        for part in walk(todo.pop()):
            if isinstance(part, Reference) and part.name not in found and part.name in rules:
                found.add(part.name)
                todo.append(rules[part.name].expression)
    return found


def recursive(rules: Rules) -> frozenset[str]:
    """The names of all rules that refer to themselves, directly or through others."""
    direct = {
        name: {part.name for part in walk(rule.expression) if isinstance(part, Reference)}
        for name, rule in rules.items()
    }
    return frozenset(name for name in rules if name in _behind(name, direct))


def _behind(name: str, direct: dict[str, set[str]]) -> set[str]:
    """All that can be reached from ``name``; ``name`` itself only round a loop."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = direct.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def openings(delimiter: Expression, rules: Rules) -> list[Opening]:
    """How each alternative of a delimiter begins; one that is the end of input has no opening.

    Raises `NoLiteral` for an alternative that does not begin, after at most one run of blanks, with a literal.
    """
    found: list[Opening] = []
    for blanks, literal in _paths([delimiter], rules, None, ""):
        chars, most = blanks or (frozenset(), 0)
        found.append(Opening(frozenset(chars), most, literal))
    return list(dict.fromkeys(found))


def name_ends(node: Expression, behind: list[Expression], rules: Rules) -> list[Opening]:
    """What ends the parameter's name ``node``: the literal behind it, as in a fused pattern, else how what follows begins.

    Raises `NoLiteral` where nothing does.
    """
    if behind and isinstance(behind[0], Literal) and behind[0].text:
        return openings(behind[0], rules)
    return openings(Sequence(tuple(behind), node.span), rules)


_Blanks = tuple[frozenset[str], int | None] | None


def _paths(items: list[Expression], rules: Rules, blanks: _Blanks, literal: str) -> Iterator[tuple[_Blanks, str]]:
    """Every way through ``items`` up to and including the first literal run; nothing for the end of input."""
    if not items:
        if literal:
            yield blanks, literal
        return
    node, rest = items[0], items[1:]
    match node:
        case Literal(text=text):
            yield from _paths(rest, rules, blanks, literal + text)
        case Sequence(items=parts):
            yield from _paths([*parts, *rest], rules, blanks, literal)
        case Label(item=item) | Tolerate(item=item) | Drop(item=item):
            yield from _paths([item, *rest], rules, blanks, literal)
        case Reference(name=name):
            yield from _paths([rules[name].expression, *rest], rules, blanks, literal)
        case And(item=item) if literal and not literal.strip(_BLANK):
            # A line end alone would be found at every line: what must stand behind it belongs to what is searched for.
            yield from _paths([item], rules, blanks, literal)
        case _ if literal:
            yield blanks, literal
        case Choice(alternatives=alternatives):
            for alternative in alternatives:
                yield from _paths([alternative, *rest], rules, blanks, literal)
        case And(item=item):
            yield from _paths([item], rules, blanks, literal)
        case Not() | Commit():
            yield from _paths(rest, rules, blanks, literal)
        case Repeat():
            yield from _repeat_paths(node, rest, rules, blanks)
        case End() | Never():
            return
        case Class() | Any() | Until() | Permute() | Same() | Terminal() | ParamValue():
            raise NoLiteral(node)
        case Call():
            raise AssertionError("calls are expanded by the loader")
        case _:
            assert_never(node)


def _repeat_paths(node: Repeat, rest: list[Expression], rules: Rules, blanks: _Blanks) -> Iterator[tuple[_Blanks, str]]:
    run = blank_run(node, rules)
    if run is not None and blanks is None:
        yield from _paths(rest, rules, run, "")
        return
    if run is not None or node.max is None or node.max > 1:
        raise NoLiteral(node)
    if node.min == 0:
        yield from _paths(rest, rules, blanks, "")
    yield from _paths([node.item, *rest], rules, blanks, "")


def blank_run(node: Expression, rules: Rules) -> tuple[frozenset[str], int | None] | None:
    """The blanks and the largest count of a repeat of a blank class; None for anything else."""
    while isinstance(node, Reference):
        node = rules[node.name].expression
    if not isinstance(node, Repeat):
        return None
    item = node.item
    while isinstance(item, Reference):
        item = rules[item.name].expression
    if isinstance(item, Literal) and len(item.text) == 1 and item.text in charset.BLANKS:
        return frozenset(item.text), node.max
    if isinstance(item, Class) and not item.negated and charset.blank(item.ranges):
        return frozenset(chr(c) for low, high in item.ranges for c in range(low, high + 1)), node.max
    return None


def spellings(node: Expression, rules: Rules) -> frozenset[str] | None:
    """All texts that ``node`` matches when they are few and it is not a tolerated form; else None."""
    match node:
        case Literal(text=text):
            return frozenset((text,))
        case Commit() | And() | Not():
            return frozenset(("",))
        case Sequence(items=items):
            parts = [spellings(item, rules) for item in items]
            return (
                None if any(part is None for part in parts) else _joined([part for part in parts if part is not None])
            )
        case Choice(alternatives=alternatives):
            known = [spellings(item, rules) for item in alternatives if not isinstance(item, Tolerate)]
            if not known or any(part is None for part in known):
                return None
            return frozenset().union(*(part for part in known if part is not None))
        case Repeat(item=item, min=0, max=1):
            inner = spellings(item, rules)
            return None if inner is None else inner | {""}
        case Reference(name=name):
            return None if _recursive(name, rules) else spellings(rules[name].expression, rules)
        case _:
            return None


def _joined(parts: list[frozenset[str]]) -> frozenset[str] | None:
    count = 1
    for part in parts:
        count *= len(part)
    return frozenset(map("".join, product(*parts))) if count <= _MOST else None


def flat(node: Expression, rules: Rules) -> list[Expression]:
    """The items of ``node`` in a row: sequences, labels and plain references opened up."""
    match node:
        case Sequence(items=items):
            return [part for item in items for part in flat(item, rules)]
        case Label(item=item):
            return flat(item, rules)
        case Reference(name=name) if not _recursive(name, rules):
            return flat(rules[name].expression, rules)
        case _:
            return [node]


def edge_literals(node: Expression, rules: Rules, closing: bool) -> tuple[str, ...]:
    """The literals ``node`` begins with (or, ``closing``, ends with), without outer blanks; () if it does not."""
    items = flat(node, rules)
    run: list[frozenset[str]] = []
    for item in reversed(items) if closing else items:
        if not run and blank_run(item, rules) is not None:
            continue
        if not run and (isinstance(item, Tolerate) or (isinstance(item, Repeat) and item.min == 0 and closing)):
            continue
        texts = spellings(item, rules)
        if texts is None and not run and isinstance(item, Choice):
            return _choice_edges(item, rules, closing)
        if texts is None:
            break
        run.insert(0 if closing else len(run), texts)
    texts = _joined([part for part in run if part])
    found = {text.strip(_BLANK) for text in texts or ()} - {""}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _choice_edges(node: Choice, rules: Rules, closing: bool) -> tuple[str, ...]:
    kept = [item for item in node.alternatives if not isinstance(item, Tolerate)]
    return tuple(dict.fromkeys(text for item in kept for text in edge_literals(item, rules, closing)))
