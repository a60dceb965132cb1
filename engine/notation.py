"""Grammar text to syntax tree, and back: the notation, read by a parsimonious grammar.

Invariants: every node's span covers exactly its own text; a rule's span is its name, a directive's its ``%name``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

import regex
from parsimonious.exceptions import ParseError as NoMatch
from parsimonious.grammar import Grammar
from parsimonious.nodes import Node

from . import nodes
from .charset import normal
from .errors import GrammarError, Problem
from .slips import explain
from .source import Source, Span

NOTATION = r"""
# A file is rules and directives in any order.
file       = gap (entry gap)* end
entry      = directive / rule

# A directive goes on to the end of its line: strings and words.
directive  = mark (blank argument)* blank ~r"(?:#[^\n]*)?(?=\n|\Z)"
argument   = string / word

# A rule is its name, how errors call it, and an expression.
rule       = name parameters? (gap string)? gap equals gap choice

# Parameters follow the name with no blank between: a (x) would be two items.
parameters = open gap name (gap comma gap name)* gap close

# The first alternative that matches is taken.
choice     = sequence (gap slash gap sequence)*
sequence   = item (gap item)*
item       = commit / labelled / prefixed

# The name of a part of the message stands before what spells it.
labelled   = label gap prefixed

# At most one predicate, at most one suffix.
prefixed   = (prefix gap)? suffixed
suffixed   = primary (gap suffix)?
primary    = call / reference / string / characters / any / group
group      = open gap choice gap close

# A name that "=" follows begins the next rule, so newlines are free.
call       = !head path open gap choice (gap comma gap choice)* gap close
reference  = !head path

# Tokens, each with a name: parsimonious prefers named ones when it says how far it came.
# Blanks and comments may stand between any two of them, where a "gap" is written.
head       = ~r"[A-Za-z_]\w*+(?:\([\w\s,]*+\))?(?:\s++|#[^\n]*+)*+(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')?(?:\s++|#[^\n]*+)*+="
path       = ~r"(?:[A-Za-z0-9_][\w.-]*\.)?[A-Za-z_]\w*"
name       = ~r"[A-Za-z_]\w*"
label      = ~r"[A-Za-z_]\w*:"
mark       = ~r"%[A-Za-z_][\w-]*"
word       = ~r"[^\s\"'#]+"
string     = ~r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
characters = ~r"\[\^?(?:[^\]\\\n]|\\.)*+\]"
prefix     = "&" / "!"
suffix     = "?" / "*" / "+" / ~r"\{ *[0-9]* *(?:, *[0-9]* *)?\}"
equals     = "="
open       = "("
close      = ")"
comma      = ","
slash      = "/"
any        = "."
commit     = "^"
blank      = ~r"[ \t]*"
gap        = ~r"(?:\s++|#[^\n]*+)*+"
end        = ~r"\Z"
"""

GRAMMAR = Grammar(NOTATION)

PUNCTUATION = frozenset(("equals", "open", "close", "comma", "slash", "blank", "gap", "end"))

TERMINALS = ("TOOL_NAME", "TOOL_ARGUMENTS", "PARAM_NAME", "JSON_VALUE")
BUILT_IN = ("until", "tolerate", "drop", "permute", "same", "PARAM_VALUE")
RESERVED = frozenset(TERMINALS + BUILT_IN)

ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{1,3}|.)"
ESCAPES = regex.compile(ESCAPE)
UNIT = regex.compile(ESCAPE + r"|[^\\]")
SIMPLE = dict(zip("nrtabfv\\\"'", "\n\r\t\a\b\f\v\\\"'", strict=True))
IN_CLASS = SIMPLE | {c: c for c in "[]^-"}


def read(source: Source) -> nodes.File:
    """The syntax tree of a grammar file; `GrammarError` if it is not one.

    >>> file = read(Source("x.peg", 'greeting = "hello" name'))
    >>> file.rules[0].name, write(file.rules[0].expression)
    ('greeting', '"hello" name')
    """
    reader = _Reader(source)
    try:
        file = reader.file(GRAMMAR.parse(source.text))
    except NoMatch as failure:
        raise GrammarError((explain(source, failure.pos),)) from None
    except RecursionError:
        raise GrammarError((Problem("expressions are nested too deeply", Span(source, 0, 1)),)) from None
    if reader.problems:
        raise GrammarError(tuple(reader.problems))
    return file


def _parts(node: Node) -> Iterator[Node]:
    """The nearest named nodes below ``node`` that mean something."""
    for child in node.children:
        if not child.expr_name:
            yield from _parts(child)
        elif child.expr_name not in PUNCTUATION:
            yield child


class _Reader:
    """Parse tree to syntax tree; a method per rule of NOTATION, named after it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def report(self, message: str, span: Span, help: str = "") -> None:
        self.problems.append(Problem(message, span, help=help))

    def span(self, node: Node) -> Span:
        return Span(self.source, node.start, node.end)

    def expression(self, node: Node) -> nodes.Expression:
        read: Callable[[Node], nodes.Expression] = getattr(self, node.expr_name)
        return read(node)

    # Entries

    def file(self, node: Node) -> nodes.File:
        entries = [child for entry in _parts(node) for child in entry.children]
        directives = tuple(self.directive(e) for e in entries if e.expr_name == "directive")
        rules = tuple(self.rule(e) for e in entries if e.expr_name == "rule")
        return nodes.File(directives, rules, self.span(node))

    def directive(self, node: Node) -> nodes.Directive:
        mark, *arguments = _parts(node)
        read = tuple((self.argument(argument.children[0]), self.span(argument)) for argument in arguments)
        return nodes.Directive(mark.text[1:], read, self.span(mark))

    def argument(self, node: Node) -> str:
        return self.unquote(node) if node.expr_name == "string" else str(node.text)

    def rule(self, node: Node) -> nodes.Rule:
        found = {part.expr_name: part for part in _parts(node)}
        name = found["name"].text
        if name in RESERVED:
            self.report(f'"{name}" is built in and cannot be defined', self.span(found["name"]), "use another name")
        parameters = self.parameters(found["parameters"]) if "parameters" in found else ()
        display = self.unquote(found["string"]) if "string" in found else ""
        return nodes.Rule(name, parameters, display, self.choice(found["choice"]), self.span(found["name"]))

    def parameters(self, node: Node) -> tuple[str, ...]:
        names: list[str] = []
        for part in _parts(node):
            if part.text in names:
                self.report(f'parameter "{part.text}" is named twice', self.span(part), "rename one of the two")
            names.append(part.text)
        return tuple(names)

    # Operators

    def choice(self, node: Node) -> nodes.Expression:
        alternatives = tuple(self.expression(part) for part in _parts(node))
        return alternatives[0] if len(alternatives) == 1 else nodes.Choice(alternatives, self.span(node))

    def sequence(self, node: Node) -> nodes.Expression:
        items = tuple(self.expression(part) for part in _parts(node))
        return items[0] if len(items) == 1 else nodes.Sequence(items, self.span(node))

    def only(self, node: Node) -> nodes.Expression:
        return self.expression(next(_parts(node)))

    item = primary = group = only

    def commit(self, node: Node) -> nodes.Expression:
        return nodes.Commit(self.span(node))

    def any(self, node: Node) -> nodes.Expression:
        return nodes.Any(self.span(node))

    def labelled(self, node: Node) -> nodes.Expression:
        label, item = _parts(node)
        return nodes.Label(label.text[:-1], self.expression(item), self.span(node))

    def prefixed(self, node: Node) -> nodes.Expression:
        *prefix, item = _parts(node)
        read = self.expression(item)
        if not prefix:
            return read
        if prefix[0].text == "&":
            return nodes.And(read, self.span(node))
        return nodes.End(self.span(node)) if isinstance(read, nodes.Any) else nodes.Not(read, self.span(node))

    def suffixed(self, node: Node) -> nodes.Expression:
        item, *suffix = _parts(node)
        read = self.expression(item)
        if not suffix:
            return read
        low, high = self.bounds(suffix[0])
        return nodes.Repeat(read, low, high, self.span(node))

    def bounds(self, node: Node) -> tuple[int, int | None]:
        if node.text in "?*+":
            return {"?": (0, 1), "*": (0, None), "+": (1, None)}[node.text]
        low, comma, high = (part.strip() for part in node.text[1:-1].partition(","))
        if not low and not high:
            self.report("a repeat without a number", self.span(node), "write {m}, {m,n}, {m,} or {,n}")
        least, most = int(low or 0), int(high) if high else None
        if not comma:
            return least, least
        if most is not None and most < least:
            self.report(f"at least {least} and at most {most}", self.span(node), f"write {{{most},{least}}}")
        return least, most

    # Names

    def reference(self, node: Node) -> nodes.Expression:
        name, span = str(node.text), self.span(node)
        if name in TERMINALS:
            return nodes.Terminal(name, "raw", span)
        if name in BUILT_IN:
            self.report(f'"{name}" without arguments', span, f'write {name}(…), with no blank before the "("')
        return nodes.Reference(name, span)

    def call(self, node: Node) -> nodes.Expression:
        path, *parts = _parts(node)
        name, span = str(path.text), self.span(node)
        arguments = tuple(self.expression(part) for part in parts)
        if name in BUILT_IN:
            return self.built_in(name, arguments, span, self.span(path))
        if name in TERMINALS:
            self.report(f'"{name}" takes no arguments', self.span(path), f"write {name}, a blank, and the group")
        return nodes.Call(name, arguments, span)

    def built_in(self, name: str, arguments: tuple[nodes.Expression, ...], span: Span, path: Span) -> nodes.Expression:
        if name == "permute":
            if len(arguments) == 1:
                self.report(
                    "permute needs a separator and items", path, 'write permute(",", a, b); "" if there is none'
                )
            return nodes.Permute(arguments[0], arguments[1:], span)
        if len(arguments) != 1:
            extra = Span(self.source, arguments[1].span.start, arguments[-1].span.end)
            self.report(f"{name} takes one argument, not {len(arguments)}", extra, 'alternatives are separated by "/"')
        if name == "same":
            return self.same(arguments[0], span)
        made: dict[str, Callable[[nodes.Expression, Span], nodes.Expression]]
        made = {"until": nodes.Until, "tolerate": nodes.Tolerate, "drop": nodes.Drop, "PARAM_VALUE": nodes.ParamValue}
        return made[name](arguments[0], span)

    def same(self, argument: nodes.Expression, span: Span) -> nodes.Expression:
        if not isinstance(argument, nodes.Reference) or "." in argument.name:
            self.report("same takes the name of a label", argument.span, "write same(key) where key:… stands before it")
        return nodes.Same(argument.span.text, span)

    # Text

    def string(self, node: Node) -> nodes.Expression:
        return nodes.Literal(self.unquote(node), self.span(node))

    def unquote(self, node: Node) -> str:
        start = node.start + 1
        return str(ESCAPES.sub(lambda m: self.character(m[0], start + m.start(), SIMPLE), node.text[1:-1]))

    def character(self, unit: str, start: int, simple: dict[str, str]) -> str:
        """The character that ``unit``, at ``start`` of the file, stands for."""
        decoded = unit if unit[0] != "\\" else _decode(unit[1:], simple)
        if decoded is None:
            span = Span(self.source, start, start + len(unit))
            digits = {"x": "two", "u": "four", "U": "eight"}.get(unit[1:])
            usual = r"a backslash itself is written \\; escapes are those of Python"
            help = f"{digits} hexadecimal digits follow {unit}" if digits else usual
            self.report(f"unknown escape {unit}", span, help)
        return decoded or "\0"

    def characters(self, node: Node) -> nodes.Expression:
        negated = node.text.startswith("[^")
        start = node.start + 1 + negated
        found = [(m[0], start + m.start()) for m in UNIT.finditer(node.text[1 + negated : -1])]
        if not found:
            self.report("an empty class", self.span(node), 'any character is ".", a "^" alone is [\\^]')
        return nodes.Class(normal(self.ranges(found)), negated, self.span(node))

    def ranges(self, units: list[tuple[str, int]]) -> Iterator[tuple[int, int]]:
        position = 0
        while position < len(units):
            low = ord(self.character(*units[position], IN_CLASS))
            if position + 2 < len(units) and units[position + 1][0] == "-":
                high = ord(self.character(*units[position + 2], IN_CLASS))
                if high < low:
                    self.reversed_range(units[position], units[position + 2])
                yield low, high
                position += 3
            else:
                yield low, low
                position += 1

    def reversed_range(self, low: tuple[str, int], high: tuple[str, int]) -> None:
        span = Span(self.source, low[1], high[1] + len(high[0]))
        self.report(f"the range {low[0]}-{high[0]} is reversed", span, f'write {high[0]}-{low[0]}; a "-" itself is \\-')


def _decode(escape: str, simple: dict[str, str]) -> str | None:
    """The character that the text after a backslash stands for, as in Python; None if none."""
    if escape in simple:
        return simple[escape]
    try:
        if escape[0] in "xuU":
            return chr(int(escape[1:], 16))
        return unicodedata.lookup(escape[2:-1]) if escape[0] == "N" else chr(int(escape, 8))
    except (ValueError, KeyError, OverflowError):
        return None


def write(node: nodes.Expression) -> str:
    """``node`` in the notation, on one line; equal trees are written alike wherever they stand."""
    match node:
        case nodes.Choice(alternatives=alternatives):
            return " / ".join(_write_in(item, nodes.Choice) for item in alternatives)
        case nodes.Sequence(items=items):
            return " ".join(_write_in(item, nodes.Choice, nodes.Sequence) for item in items)
        case nodes.Label(name=name, item=item):
            return f"{name}:{_write_in(item, *LOOSE, nodes.Label, nodes.Commit)}"
        case nodes.And(item=item):
            return f"&{_write_in(item, *LOOSE, *PREFIXED)}"
        case nodes.Not(item=item):
            return f"!{_write_in(item, *LOOSE, *PREFIXED)}"
        case nodes.Repeat(item=item):
            return _write_in(item, *LOOSE, *PREFIXED, nodes.Repeat) + _suffix(node.min, node.max)
        case nodes.Until() | nodes.ParamValue():
            return f"{'until' if isinstance(node, nodes.Until) else 'PARAM_VALUE'}({write(node.delimiter)})"
        case nodes.Tolerate() | nodes.Drop():
            return f"{'tolerate' if isinstance(node, nodes.Tolerate) else 'drop'}({write(node.item)})"
        case nodes.Permute(separator=separator, items=items):
            return f"permute({', '.join(map(write, (separator, *items)))})"
        case nodes.Call(name=name, arguments=arguments):
            return f"{name}({', '.join(map(write, arguments))})"
        case _:
            return _write_leaf(node)


LOOSE = (nodes.Choice, nodes.Sequence)
PREFIXED = (nodes.And, nodes.Not, nodes.End, nodes.Never, nodes.Label, nodes.Commit)


def _write_in(node: nodes.Expression, *grouped: type) -> str:
    return f"({write(node)})" if isinstance(node, grouped) else write(node)


def _suffix(low: int, high: int | None) -> str:
    usual = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    return usual.get((low, high)) or (f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}")


def _write_leaf(node: nodes.Expression) -> str:
    match node:
        case nodes.Literal(text=text):
            return '"' + "".join(_escaped(c, '"') for c in text) + '"'
        case nodes.Class(ranges=ranges, negated=negated):
            shown = ((_escaped(chr(low), "[]^-"), _escaped(chr(high), "[]^-")) for low, high in ranges)
            return ("[^" if negated else "[") + "".join(a if a == b else f"{a}-{b}" for a, b in shown) + "]"
        case nodes.Same(label=label):
            return f"same({label})"
        case nodes.Reference(name=name) | nodes.Terminal(name=name):
            return name
        case _:
            return {nodes.Any: ".", nodes.End: "!.", nodes.Commit: "^", nodes.Never: '!""'}[type(node)]


def _escaped(character: str, special: str) -> str:
    if character in special or character == "\\":
        return "\\" + character
    return character if character.isprintable() else repr(character)[1:-1]
