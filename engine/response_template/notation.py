"""Delimiter patterns in the notation of grammar files, where it has a word for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NoReturn

import regex

from ..errors import EmitError
from .patterns import Back, Chars, Choice, Edge, Group, Look, Node, Repeat, Sequence, reach
from .positions import Positions
from .scan import Delimiter

_CLASSES = {
    r"\s": r"[ \t\r\n\x0b\x0c]",
    r"\S": r"[^ \t\r\n\x0b\x0c]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[A-Za-z0-9_]",
    r"\W": "[^A-Za-z0-9_]",
    r"[\s\S]": ".",
}
_IN_CLASS = {r"\s": r" \t\r\n\x0b\x0c", r"\d": "0-9", r"\w": "A-Za-z0-9_"}
_CLASS_PART = regex.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", regex.DOTALL)
_KEPT = {r"\n", r"\t", r"\r", r"\\", r"\]", r"\-", r"\^"}
_TESTED = [chr(code) for code in range(128)]


@dataclass(frozen=True, slots=True)
class Place:
    """Whose pattern it is, for errors. E.g. field ``tool_calls``, key ``open_pattern``"""

    field: str
    key: str

    def refuse(self, what: str) -> NoReturn:
        """Say that the notation has no word for ``what``."""
        raise EmitError(f"field {self.field!r}: {self.key}: {what} cannot be written in a grammar file")


def quoted(text: str) -> str:
    r"""A literal of the notation.

    >>> print(quoted('a"\n'))
    "a\"\n"
    """
    return json.dumps(text, ensure_ascii=False)


def flattened(delimiter: Delimiter, place: Place) -> list[Node]:
    """The items of the delimiter's pattern, groups without names opened."""
    if delimiter.literals is not None:
        ordered = sorted(delimiter.literals, key=len, reverse=True)
        nodes = tuple(_literal(text) for text in ordered)
        return [nodes[0] if len(nodes) == 1 else Choice(nodes)]
    if delimiter.node is None:
        place.refuse(f"the pattern {delimiter.source!r}")
    return _items(delimiter.node)


def _literal(text: str) -> Node:
    return Sequence(tuple(Chars(regex.escape(character), character) for character in text))


def _items(node: Node) -> list[Node]:
    match node:
        case Sequence(items=items):
            return [part for item in items for part in _items(item)]
        case Group(name=None, atomic=False, item=item) if not isinstance(item, Choice):
            return _items(item)
        case Group(name=None, atomic=False, item=item):
            return [item]
        case _:
            return [node]


def is_blank_run(node: Node) -> bool:
    r"""Whether ``node`` reads any number of blanks. E.g. ``\s*``, ``\n*``"""
    if not (isinstance(node, Repeat) and node.max is None and isinstance(node.item, Chars)):
        return False
    read = regex.compile(node.item.source)
    return not any(read.fullmatch(character) for character in _TESTED if not character.isspace())


def literal_of(node: Node) -> str | None:
    """The only text that ``node`` matches; None if there are several."""
    match node:
        case Chars(literal=literal):
            return literal
        case Sequence(items=items):
            texts = [literal_of(item) for item in items]
            return None if None in texts else "".join(text or "" for text in texts)
        case Group(name=None, item=item):
            return literal_of(item)
        case _:
            return None


def expression(items: list[Node], place: Place) -> str:
    r"""``items`` as a sequence of the notation; raises `EmitError` where it has no word for one.

    >>> from .patterns import read_pattern
    >>> expression([read_pattern(r"<[^>]*>")], Place("call", "open_pattern"))
    '"<" drop([^>]*) ">"'
    """
    parts: list[str] = []
    text = ""
    flat = [part for item in items for part in _items(item)]
    for at, node in enumerate(flat):
        literal = literal_of(node)
        if literal is not None:
            text += literal
            continue
        if text:
            parts.append(quoted(text))
            text = ""
        parts.append(_one(node, flat[at + 1 :], place))
    if text:
        parts.append(quoted(text))
    return " ".join(parts)


BLANKS = r"[ \t\r\n\x0b\x0c]*"
"""The rule ``ws``, which stands for ``\\s*``."""


def settled(items: list[Node], place: Place) -> str:
    """`expression`, with a commit before a repeat that has no end: what is searched for is what stands before it."""
    flat = [part for item in items for part in _items(item)]
    for at, node in enumerate(flat):
        if at and reach(node) is None and not is_blank_run(node):
            return f"{expression(flat[:at], place)} ^ {expression(flat[at:], place)}"
    return expression(flat, place)


def _one(node: Node, after: list[Node], place: Place) -> str:
    match node:
        case Chars():
            return _chars(node, place)
        case Choice(alternatives=alternatives):
            return "(" + " / ".join(expression([one], place) or '""' for one in alternatives) + ")"
        case Repeat():
            return _repeat(node, after, place)
        case Group(item=item, atomic=False):
            return expression([item], place)
        case Group():
            return place.refuse("an atomic group")
        case Look(ahead=True, item=item, negative=negative):
            return f"{'!' if negative else '&'}({expression([item], place)})"
        case Look():
            return place.refuse("a look-behind")
        case Edge(source=source):
            return "!." if source == r"\Z" else place.refuse(f"{source!r}")
        case Back():
            return place.refuse("a back reference")
        case Sequence():
            return f"({expression([node], place)})"


def _repeat(node: Repeat, after: list[Node], place: Place) -> str:
    if (
        node.min == 0
        and not node.mode
        and node.max is None
        and isinstance(node.item, Chars)
        and node.item.source == r"\s"
    ):
        if overlap(node.item, after):
            place.refuse("a repeat that gives back what it has read")
        return "ws"
    if node.mode == "?":
        place.refuse("a lazy repeat")
    if not node.mode and overlap(node.item, after):
        place.refuse("a repeat that gives back what it has read")
    item = expression([node.item], place)
    if " " in item and not item.startswith(("(", "[")):
        item = f"({item})"
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    most = "" if node.max is None else node.max
    sign = signs.get((node.min, node.max)) or (f"{{{node.min}}}" if node.min == node.max else f"{{{node.min},{most}}}")
    return f"drop({item}{sign})" if item == "." or item.startswith("[^") else item + sign


def overlap(item: Node, after: list[Node]) -> bool:
    """Whether what follows ``item`` can begin with a character that ``item`` can begin with."""
    if not after:
        return False
    one, other = Positions(), Positions()
    one.add(item)
    other.add(Sequence(tuple(after)))
    first, then = one.starts(), other.starts()
    if first is None or then is None:
        return True
    return any(first.fullmatch(character) and then.fullmatch(character) for character in _TESTED)


def _chars(node: Chars, place: Place) -> str:
    if node.ignore_case:
        place.refuse("a pattern that ignores case")
    source = node.source
    if source in _CLASSES:
        return _CLASSES[source]
    if not source.startswith("["):
        place.refuse(f"the class {source}")
    negated = source.startswith("[^")
    inner = source[2 if negated else 1 : -1]
    if "[:" in inner:
        place.refuse(f"the class {source}")
    parts = [_class_part(part, source, place) for part in _CLASS_PART.findall(inner)]
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def _class_part(part: str, source: str, place: Place) -> str:
    if part in _IN_CLASS:
        return _IN_CLASS[part]
    if len(part) > 2 or part in _KEPT or not part.startswith("\\"):
        return {"\n": r"\n", "\t": r"\t", "\r": r"\r", "]": r"\]", "[": "["}.get(part, part)
    if part[1].isalnum():
        place.refuse(f"the class {source}")
    return part[1]
