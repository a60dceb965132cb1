"""Lowered rules as Lark, in the dialect of llguidance.

Its lexer takes the longest terminal and never goes back by more than one character, so each terminal is one
character: then every rule means what it says. Its parser is Earley without a short cut for right recursion and
gives up after some 2000 open items, so rules that call themselves last are turned round (`turned`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import assert_never

from ..charset import Ranges
from .automaton_rules import sequence
from .rules import EMPTY, Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text, quantifier
from .simplify import choice, simplified

Spell = Callable[[str], str]


def lark(rules: Rules, special: Mapping[str, int] = MappingProxyType({})) -> str:
    """The rules as Lark text with the start rule ``start``; ``special`` are texts that are one special token each.

    Such a token is no text to llguidance: it is written by its number, and only then may the model write it.

    >>> print(lark(Rules({"main": Seq((Text("ab"), Rep(Chars(((97, 99),)), 0, None)))}, "main")), end="")
    start: "a" "b" /[a-c]/*
    >>> print(lark(Rules({"main": Text("<x>a")}, "main"), {"<x>": 7}), end="")
    start: <[7]> "a"
    """
    rules = simplified(turned(simplified(rules)))
    spell = _speller(special)
    names = {name: f"r_{name.replace('-', '_')}" for name in rules.rules} | {rules.root: "start"}
    order = [rules.root, *(name for name in rules.rules if name != rules.root)]
    return "".join(f"{names[name]}: {_body(rules.rules[name], names, spell)}\n" for name in order)


def _speller(special: Mapping[str, int]) -> Spell:
    """How texts are written: a character each, but for what is a token."""
    if not special:
        return lambda text: " ".join(map(_character, text)) or '""'
    pieces = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))) + "|.", re.DOTALL)

    def spell(text: str) -> str:
        found = pieces.findall(text)
        return " ".join(f"<[{special[one]}]>" if one in special else _character(one) for one in found) or '""'

    return spell


def _body(expr: Expr, names: dict[str, str], spell: Spell) -> str:
    match expr:
        case Alt(alternatives):
            return " | ".join(_item(alternative, names, spell) for alternative in alternatives)
        case _:
            return _item(expr, names, spell)


def _item(expr: Expr, names: dict[str, str], spell: Spell) -> str:
    match expr:
        case Text(text):
            return spell(text)
        case Chars(ranges):
            return _set(ranges)
        case Ref(name):
            return names[name]
        case Seq(items):
            return " ".join(_item(item, names, spell) for item in items)
        case Alt():
            return f"({_body(expr, names, spell)})"
        case Rep(item, minimum, maximum):
            atom = _item(item, names, spell)
            many = isinstance(item, Seq | Rep) or (isinstance(item, Text) and len(item.text) > 1)
            return (f"({atom})" if many else atom) + quantifier(minimum, maximum)
        case _:
            assert_never(expr)


def _character(character: str) -> str:
    if character in '\\"':
        return f'"\\{character}"'
    return f'"{character}"' if 0x20 <= ord(character) < 0x7F else f"/{_code(ord(character))}/"


def _set(ranges: Ranges) -> str:
    return "/[" + "".join(_in_set(low) + ("" if low == high else f"-{_in_set(high)}") for low, high in ranges) + "]/"


def _in_set(point: int) -> str:
    return chr(point) if chr(point).isascii() and chr(point).isalnum() else _code(point)


def _code(point: int) -> str:
    return f"\\x{point:02x}" if point < 0x80 else f"\\u{{{point:x}}}"


# Turning right recursion round


def turned(rules: Rules) -> Rules:
    """Groups of rules that call each other in last place alone, as left recursion.

    For each rule of such a group that is called from outside, a rule for each member says what may be read on the
    way from the one to the other: ``a = "x" b | "y"`` and ``b = "z" a`` become ``a = to_a "y"``, ``to_a = "" |
    to_b "z"``, ``to_b = to_a "x"``.
    """
    out = dict(rules.rules)
    for group in _groups(rules):
        steps = {name: _steps(rules.rules[name], group) for name in rules.rules if name in group}
        if any(found is None for found in steps.values()):
            continue
        for entry in _entries(rules, group):
            way = {name: f"{entry}-to-{name}" for name in steps}
            leading: dict[str, list[Expr]] = {name: [EMPTY] if name == entry else [] for name in steps}
            ends: list[Expr] = []
            for name, found in steps.items():
                for before, target in found or ():
                    step = sequence([Ref(way[name]), before])
                    if target is None:
                        ends.append(step)
                    else:
                        leading[target].append(step)
            out |= {way[name]: choice(alternatives) for name, alternatives in leading.items()}
            out[entry] = choice(ends)
    return Rules(out, rules.root)


def _steps(body: Expr, group: set[str]) -> list[tuple[Expr, str | None]] | None:
    """The alternatives of a body: what is read, and which rule of the group follows. None if one stands elsewhere."""
    match body:
        case Ref(name) if name in group:
            return [(EMPTY, name)]
        case Alt(alternatives):
            parts = [_steps(alternative, group) for alternative in alternatives]
            return None if any(part is None for part in parts) else [step for part in parts for step in part or ()]
        case Rep(item, 0, 1):
            optional = _steps(item, group)
            return None if optional is None else [(EMPTY, None), *optional]
        case Seq(items) if items and not any(_calls(item, group) for item in items[:-1]):
            last = _steps(items[-1], group)
            return None if last is None else [(sequence([*items[:-1], before]), target) for before, target in last]
        case _:
            return None if _calls(body, group) else [(body, None)]


def _calls(expr: Expr, group: set[str]) -> bool:
    match expr:
        case Ref(name):
            return name in group
        case Seq(parts) | Alt(parts):
            return any(_calls(part, group) for part in parts)
        case Rep(item, _, _):
            return _calls(item, group)
        case _:
            return False


def _references(expr: Expr) -> list[str]:
    match expr:
        case Ref(name):
            return [name]
        case Seq(parts) | Alt(parts):
            return [name for part in parts for name in _references(part)]
        case Rep(item, _, _):
            return _references(item)
        case _:
            return []


def _entries(rules: Rules, group: set[str]) -> list[str]:
    called = {n for name, body in rules.rules.items() if name not in group for n in _references(body)}
    return sorted(group & (called | {rules.root}))


def _groups(rules: Rules) -> list[set[str]]:
    """The strongly connected components with a cycle (Tarjan's algorithm, without recursion)."""
    calls = {name: list(dict.fromkeys(_references(body))) for name, body in rules.rules.items()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[set[str]] = []
    for root, called in calls.items():
        if root in index:
            continue
        work = [(root, iter(called))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, following = work[-1]
            target = next(following, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = set(stack[stack.index(name) :])
                    del stack[stack.index(name) :]
                    on_stack -= group
                    if len(group) > 1 or name in calls[name]:
                        groups.append(group)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(calls[target])))
            elif target in on_stack:
                low[name] = min(low[name], index[target])
    return groups
