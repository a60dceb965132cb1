"""The value dialect of a grammar library, read off the rules that read it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..charset import Ranges
from ..delimiters import Rules, blank_run, reached
from ..errors import EmitError
from ..nodes import Choice, Expression, Label, Literal, Reference, Repeat, Sequence, Tolerate, Until, rewrite, walk
from .automaton import Automaton, text, until
from .charset import ANY, charset, difference
from .dialect import JSON, Dialect, Spelling
from .nfa import compiled
from .regular import delimiter
from .rules import EMPTY, Chars, Expr, Rep, Seq, Text

# What a key without quotes may hold: no bracket, separator, quote, blank but the space, or what a marker begins with.
_BARE = difference(ANY, charset(("\x00", "\x1f"), "{}[],:\"'`<>|\\\x7f\x85\xa0\u2028\u2029"))
_PYTHON_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
_WORDS = {"true": "true", "false": "false", "null": "null", "none": "null"}


@dataclass(slots=True)
class _Found:
    strings: list[Spelling] = field(default_factory=list)
    keys: list[Spelling] = field(default_factory=list)
    braces: tuple[str, str] = ("{", "}")
    brackets: tuple[str, str] = ("[", "]")
    separator: str = ","
    colon: str = ":"
    words: dict[str, str] = field(default_factory=dict)


def dialect_of(name: str, rules: Rules, blank: Expr) -> Dialect:
    """How the recursive rule ``name``, or the value rule it leads to, spells values. ``blank`` stands where blanks may."""
    rule = rules[_value_rule(name, rules)]
    if rule.dialect == "json":
        return JSON
    found = _Found()
    for alternative in _alternatives(rule.expression):
        _read(alternative, rules, found)
    if not found.keys or not found.strings:
        raise EmitError(f"{rule.span.where}: no strings or keys can be told in this value rule, so it is not emitted")
    words = found.words
    return Dialect(
        tuple(found.strings),
        tuple(found.keys),
        found.braces,
        found.brackets,
        found.separator,
        found.colon,
        EMPTY,
        blank,
        blank,
        words.get("true", "true"),
        words.get("false", "false"),
        words.get("null", "null"),
    )


def _value_rule(name: str, rules: Rules) -> str:
    """The rule that the members of ``name`` have as their value."""
    for candidate in [name, *sorted(reached(rules[name].expression, rules))]:
        for node in walk(rules[candidate].expression):
            if isinstance(node, Label) and node.name == "value" and isinstance(node.item, Reference):
                return node.item.name
    raise EmitError(f"{rules[name].span.where}: a recursive rule without a labelled value is not emitted")


def _alternatives(node: Expression) -> list[Expression]:
    items = node.alternatives if isinstance(node, Choice) else (node,)
    return [
        part
        for item in items
        if not isinstance(item, Tolerate)
        for part in ([item] if not isinstance(item, Choice) else _alternatives(item))
    ]


def _read(node: Expression, rules: Rules, found: _Found) -> None:
    """One shape of a value: a string, an object, an array, or a word."""
    body = rules[node.name].expression if isinstance(node, Reference) else node
    labels = {part.name for part in walk(_opened(body, rules)) if isinstance(part, Label)}
    if "key" in labels:
        _read_object(body, rules, found)
    elif "item" in labels:
        literals = _literals(body)
        found.brackets = (literals[0], literals[-1])
    elif "text" in labels:
        for alternative in _alternatives(body):
            found.strings += _spellings(alternative, "text", rules)
    elif isinstance(body, Literal) and body.text.lower() in _WORDS:
        found.words.setdefault(_WORDS[body.text.lower()], body.text)


def _opened(node: Expression, rules: Rules) -> Expression:
    """``node`` with the references that do not lead to a value opened once, so that its labels are in sight."""

    def opened(part: Expression) -> Expression:
        if isinstance(part, Reference):
            inner = rules[part.name].expression
            if any(isinstance(below, Label) for below in walk(inner)) and part.name not in reached(inner, rules):
                return inner
            if any(isinstance(below, Label) and below.name == "key" for below in walk(inner)):
                return inner
        return part

    return node if isinstance(node, Label) else rewrite(node, opened)


def _read_object(body: Expression, rules: Rules, found: _Found) -> None:
    literals = _literals(body)
    found.braces = (literals[0], literals[-1])
    for node in walk(_opened(body, rules)):
        if isinstance(node, Repeat) and node.max is None and isinstance(node.item, Sequence):
            separators = [text for item in node.item.items for text in _literals(item)]
            found.separator = separators[0] if separators else found.separator
        if isinstance(node, Sequence) and any(isinstance(item, Label) and item.name == "value" for item in node.items):
            _read_member(node, rules, found)


def _read_member(node: Sequence, rules: Rules, found: _Found) -> None:
    before = [item for item in node.items[: _index(node, "value")] if blank_run(item, rules) is None]
    if not before or not isinstance(before[-1], Literal):
        return
    found.colon = before[-1].text
    keys = before[:-1]
    choice = keys[0] if len(keys) == 1 else Sequence(tuple(keys), node.span)
    for alternative in _alternatives(choice):
        # The first member and those behind a separator are written apart, and alike.
        found.keys += [spelling for spelling in _spellings(alternative, "key", rules) if spelling not in found.keys]
    found.keys.sort(key=lambda spelling: len(spelling.open))


def _index(node: Sequence, label: str) -> int:
    return next(i for i, item in enumerate(node.items) if isinstance(item, Label) and item.name == label)


def _literals(node: Expression) -> list[str]:
    """The literals of a sequence in order, blanks left out."""
    items = node.items if isinstance(node, Sequence) else (node,)
    return [item.text for item in items if isinstance(item, Literal) and item.text]


def _spellings(node: Expression, label: str, rules: Rules) -> list[Spelling]:
    items = list(node.items) if isinstance(node, Sequence) else [node]
    at = next((i for i, item in enumerate(items) if isinstance(item, Label) and item.name == label), None)
    if at is None:
        return []
    opening = "".join(_literals(Sequence(tuple(items[:at]), node.span)))
    closing = "".join(_literals(Sequence(tuple(items[at + 1 :]), node.span)))
    labelled = items[at]
    assert isinstance(labelled, Label)
    if isinstance(labelled.item, Until):
        return [Spelling(opening, closing, ANY, (), "", until(delimiter(labelled.item.delimiter, rules)))]
    if not opening:
        return [Spelling("", "", _BARE, (), "", _bare_keys())]
    if isinstance(labelled.item, Repeat):
        return [
            Spelling(
                opening, closing, _unescaped(opening), (*_PYTHON_ESCAPES, (opening, "\\" + opening)), "\\u", None, False
            )
        ]
    return [Spelling(opening, closing, ANY, (), "", until(text(closing)))]


def _bare_keys() -> Automaton:
    """Keys that need no quotes: not empty, and not beginning or ending with a blank."""
    ends = Chars(difference(_BARE, charset(" ")))
    return compiled(Seq((ends, Rep(Seq((Rep(Text(" "), 0, None), ends)), 0, None))))


def _unescaped(quote: str) -> Ranges:
    return difference(ANY, charset("\\", quote, ("\x00", "\x1f")))
