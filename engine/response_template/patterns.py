"""Delimiter patterns as syntax trees: what in a regular expression looks at the edge of the text, and how far.

Only what the engine must know is read: every form of the ``regex`` module that has no class here raises `Unreadable`,
and its delimiter is decided at the end of the input alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import regex


class Unreadable(Exception):
    """A form that is not read here; its text says which and where."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character. ``source`` matches it alone; ``literal`` is set if only one will do. E.g. ``[^>]``, ``\\s``, ``a``."""

    source: str
    literal: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after the other. E.g. ``ab``"""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first alternative that leads to a match. E.g. ``a|b``"""

    alternatives: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``mode`` is ``""``, ``?`` (lazy) or ``+`` (possessive); ``end`` is its end in the pattern. E.g. ``a*``, ``a{2,3}?``"""

    item: Node
    min: int
    max: int | None
    mode: str
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """``name`` is None for a group without one. E.g. ``(?P<name>a)``, ``(?:a)``, ``(?>a)``"""

    item: Node
    name: str | None
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A look-around. E.g. ``(?=a)``, ``(?<!a)``"""

    item: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A place rather than a character: ``source`` is one of ``^ $ \\A \\Z \\b \\B``, at ``start`` of the pattern."""

    source: str
    start: int
    multiline: bool


@dataclass(frozen=True, slots=True)
class Back:
    """The text of a group, again. E.g. ``(?P=name)``, ``\\1``"""

    source: str


Node = Chars | Sequence | Choice | Repeat | Group | Look | Edge | Back

EMPTY = Sequence(())
_QUANTIFIER = regex.compile(r"([*+?]|\{(\d*)(,?)(\d*)\})([?+]?)")
_ESCAPE = regex.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[pP]\{[^}]*\}|N\{[^}]*\}|.)", regex.DOTALL
)
_CLASS = regex.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", regex.DOTALL)
_OPENING = regex.compile(
    r"\((?:\?(?:P?<(?P<name>[^\W\d]\w*)>|(?P<kind>:|>|=|!|<=|<!|#[^)]*|P=\w+)|(?P<flags>[a-zA-Z0-9-]+)(?P<scoped>[:)])))?"
)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_EDGES = {"A", "Z", "b", "B"}


class _Reader:
    """Recursive descent over one pattern."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.pos = 0
        self.ignore_case = False
        self.multiline = False

    def refuse(self, what: str) -> NoReturn:
        raise Unreadable(f"{what} at {self.pos}")

    def choice(self) -> Node:
        alternatives = [self.sequence()]
        while self.source.startswith("|", self.pos):
            self.pos += 1
            alternatives.append(self.sequence())
        return alternatives[0] if len(alternatives) == 1 else Choice(tuple(alternatives))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.pos < len(self.source) and self.source[self.pos] not in "|)":
            item = self.item()
            if item is not None:
                items.append(self.repeated(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def repeated(self, item: Node) -> Node:
        while match := _QUANTIFIER.match(self.source, self.pos):
            sign, low, comma, high, mode = match.groups()
            if sign == "{}" or (sign[0] == "{" and not low and not high):
                self.refuse("an odd repeat")
            self.pos = match.end()
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}
            least, most = bounds.get(sign) or (int(low or 0), int(high) if high else None if comma else int(low))
            item = Repeat(item, least, most, mode, self.pos)
        if self.source.startswith("{", self.pos) and "}" in self.source[self.pos :]:
            self.refuse("a fuzzy match")
        return item

    def item(self) -> Node | None:
        character = self.source[self.pos]
        match character:
            case "(":
                return self.group()
            case "[":
                return self.char_class()
            case "\\":
                return self.escape()
            case "^" | "$":
                self.pos += 1
                return Edge(character, self.pos - 1, self.multiline)
            case ".":
                self.pos += 1
                return Chars(r"[\s\S]")
            case _:
                if character in "*+?":
                    self.refuse("a repeat of nothing")
                self.pos += 1
                return self.literal(character)

    def literal(self, character: str) -> Chars:
        return Chars(regex.escape(character), None if self.ignore_case else character, self.ignore_case)

    def char_class(self) -> Node:
        match = _CLASS.match(self.source, self.pos)
        if match is None:
            self.refuse("an odd class")
        self.pos = match.end()
        return Chars(match[0], None, self.ignore_case)

    def escape(self) -> Node:
        start = self.pos
        match = _ESCAPE.match(self.source, start)
        if match is None:
            self.refuse("an odd escape")
        text = match[0]
        self.pos = match.end()
        kind = text[1]
        if kind in _EDGES and len(text) == 2:
            return Edge(text, start, self.multiline)
        if kind in _CONTROL:
            return self.literal(_CONTROL[kind])
        if kind in "xuU" and len(text) > 2:
            return self.literal(chr(int(text.lstrip("\\xuU"), base=16)))
        if kind in "dDwWsS" or (kind in "pPN" and len(text) > 2):
            return Chars(text, None, self.ignore_case)
        if kind in "123456789":
            while self.pos < len(self.source) and self.source[self.pos].isdigit():
                self.pos += 1
            return Back(self.source[start : self.pos])
        if kind.isalnum():
            self.refuse(f"the escape {text}")
        return self.literal(kind)

    def group(self) -> Node | None:
        match = _OPENING.match(self.source, self.pos)
        assert match is not None
        if match.end() - self.pos == 1 and self.source.startswith(("(?", "(*"), self.pos):
            self.refuse("the group")
        self.pos = match.end()
        kind = match["kind"] or ""
        flags, multiline, ignore_case = match["flags"], self.multiline, self.ignore_case
        if flags:
            self.set_flags(flags)
            if match["scoped"] == ")":
                # The regex module lets such flags hold for all of the pattern.
                if match.start() > 0:
                    self.refuse("flags inside the pattern")
                return None
        if kind.startswith("#"):
            self.close()
            return None
        if kind.startswith("P="):
            self.close()
            return Back(match[0] + ")")
        item = self.choice()
        self.close()
        self.multiline, self.ignore_case = multiline, ignore_case
        if "<" in kind and any(isinstance(part, Edge | Look | Back) for part in walk(item)):
            self.refuse("a look-behind that looks at more than characters")
        if kind in ("=", "!", "<=", "<!"):
            return Look(item, ahead="<" not in kind, negative="!" in kind)
        return Group(item, match["name"], atomic=kind == ">")

    def set_flags(self, flags: str) -> None:
        if set(flags) - set("ims"):
            self.refuse(f"the flags {flags}")
        self.ignore_case = self.ignore_case or "i" in flags
        self.multiline = self.multiline or "m" in flags

    def close(self) -> None:
        if not self.source.startswith(")", self.pos):
            self.refuse("an open group")
        self.pos += 1


def read_pattern(source: str) -> Node:
    """The tree of a pattern that the ``regex`` module has compiled; raises `Unreadable`.

    >>> read_pattern("ab?")
    Sequence(items=(Chars(source='a', literal='a', ignore_case=False), \
Repeat(item=Chars(source='b', literal='b', ignore_case=False), min=0, max=1, mode='', end=3)))
    """
    reader = _Reader(source)
    node = reader.choice()
    if reader.pos < len(source):
        reader.refuse("an odd bracket")
    return node


def children(node: Node) -> tuple[Node, ...]:
    """The direct parts of ``node``."""
    match node:
        case Sequence(items=items):
            return items
        case Choice(alternatives=alternatives):
            return alternatives
        case Repeat() | Group() | Look():
            return (node.item,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def looks_behind(node: Node) -> bool:
    """Whether a match can depend on the text before it."""
    return any(
        (isinstance(part, Look) and not part.ahead) or (isinstance(part, Edge) and part.source not in ("$", r"\Z"))
        for part in walk(node)
    )


def reach(node: Node) -> int | None:
    """How many characters at most are looked at for one match; None if there is no bound.

    >>> reach(read_pattern("<[^>]*>")), reach(read_pattern("</?p>"))
    (None, 4)
    """
    match node:
        case Chars():
            return 1
        case Sequence(items=items):
            return _sum([reach(item) for item in items])
        case Choice(alternatives=alternatives):
            found = [reach(one) for one in alternatives]
            return None if None in found else max(length or 0 for length in found)
        case Repeat(item=item, max=most):
            length = reach(item)
            return None if most is None or length is None else most * length
        case Group(item=item):
            return reach(item)
        case Look(item=item, ahead=ahead):
            return reach(item) if ahead else 0
        case Edge(source=source):
            return {"^": 0, r"\A": 0, "$": 2}.get(source, 1)
        case Back():
            return None


def _sum(lengths: list[int | None]) -> int | None:
    return None if None in lengths else sum(length or 0 for length in lengths)


def plain(node: Node) -> bool:
    """Whether nothing but the characters at hand decides what matches: no look-around, nothing atomic, no counting.

    >>> plain(read_pattern(r"\\s*<a>")), plain(read_pattern("a(?!b)"))
    (True, False)
    """
    return not any(
        isinstance(part, Look | Edge | Back)
        or (isinstance(part, Group) and part.atomic)
        or (isinstance(part, Repeat) and (part.mode == "+" or part.min > 1 or part.max not in {1, None}))
        for part in walk(node)
    )


# What a place is, spelled with look-arounds: those the regex module takes for undecided where the text so far ends.
_END = r"(?![\s\S])"
_SPELLED = {
    "$": rf"(?:(?=\n{_END})|{_END})",
    r"\Z": _END,
    r"\b": r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))",
    r"\B": r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))",
}
_LINE_END = rf"(?:(?=\n)|{_END})"
# Where the text so far ends, the regex module does not say that more could come when it leaves a repeat of more than a
# character, nor when a lazy repeat would have to go on because a look-behind after it failed.
_PEEK = r"(?=[\s\S]|)"


def open_ended(source: str, node: Node) -> str:
    r"""``source`` with every place that depends on what follows spelled as a look-ahead.

    >>> open_ended(r"a\Z", read_pattern(r"a\Z"))
    'a(?![\\s\\S])'
    """
    for start, end, text in sorted(_edits(node), reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _edits(node: Node) -> Iterator[tuple[int, int, str]]:
    behind = looks_behind(node)
    for part in walk(node):
        if isinstance(part, Edge) and part.source in _SPELLED:
            text = _LINE_END if part.source == "$" and part.multiline else _SPELLED[part.source]
            yield part.start, part.start + len(part.source), text
        elif isinstance(part, Repeat) and (behind if part.mode == "?" else _peeks(part)):
            yield part.end, part.end, _PEEK


def _peeks(repeat: Repeat) -> bool:
    return repeat.max != 1 and not isinstance(repeat.item, Chars)
