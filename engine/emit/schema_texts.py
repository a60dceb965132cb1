"""Strings of a schema as lowered rules: quoted in a dialect, or raw up to a delimiter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from .automaton import Automaton, TooLarge, anything, excluding, lengths, text, texts
from .automaton_rules import sequence, to_rules
from .charset import ANY, Ranges
from .dialect import Spelling
from .nfa import compiled
from .rules import Alt, Builder, Chars, Expr, Rep, Seq, Text
from .schema_facts import Facts, Size

#: A longer bound makes a grammar that no backend loads in good time.
LARGEST_COUNT = 100_000
#: Lengths up to here are multiplied with another language, state by state.
MOST_COUNTED_STATES = 2000


#: Told which keyword is not enforced, and why.
Reports = Callable[[str, str], None]


def language(facts: Facts, within: Automaton, report: Reports) -> Automaton:
    """The strings that satisfy the facts (their values aside) and lie in ``within``."""
    found = within
    for part in sorted(facts.languages, key=lambda part: len(part.edges)):
        found = _narrowed(found, part, "pattern", report)
    left_out = [value for value in facts.excluded if isinstance(value, str)]
    if left_out:
        found = _narrowed(found, texts(left_out).complement(), "not", report)
    return _counted(found, facts.length, report)


def _narrowed(found: Automaton, part: Automaton, keyword: str, report: Reports) -> Automaton:
    try:
        return found & part
    except TooLarge as error:
        report(keyword, f"not enforced together with the rest: {error}")
        return found


def _counted(found: Automaton, length: Size, report: Reports) -> Automaton:
    """The texts of that length; a bound that costs too many states is dropped alone."""
    for size, keyword in ((Size(length.minimum), "minLength"), (Size(0, length.maximum), "maxLength")):
        if size == Size():
            continue
        bound = size.minimum if size.maximum is None else size.maximum
        try:
            if bound * len(found.edges) > 4 * MOST_COUNTED_STATES:
                raise TooLarge(f"{bound} characters times {len(found.edges)} states")
            found = found & lengths(size.minimum, size.maximum)
        except TooLarge as error:
            report(keyword, f"not enforced: {error}")
    return found


class TextRules:
    """Writes languages of strings as rules of one builder, each once."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[tuple[Automaton, Spelling | None, str], Expr] = {}
        self._characters: dict[tuple[Spelling, Ranges], Expr] = {}

    def character(self, spelling: Spelling, ranges: Ranges) -> Expr:
        """One character of the set as written, a rule of its own where that takes a choice."""
        key = (spelling, ranges)
        if key not in self._characters:
            body = spelling.one_of(ranges)
            self._characters[key] = body if isinstance(body, Chars) else self.builder.define("char", body)
        return self._characters[key]

    def counted(self, spelling: Spelling, size: Size) -> Expr:
        """Any text of that many characters, in its quotes."""
        item = Rep(self.character(spelling, ANY), size.minimum, size.maximum)
        return sequence([Text(spelling.open), item, Text(spelling.close)])

    def quoted(self, found: Automaton, spelling: Spelling, behind: str = "") -> Expr:
        """A text of the language in its quotes, and what stands behind."""
        key = (found, spelling, behind)
        if key not in self._known:
            inner = found if spelling.excluding is None else found & spelling.excluding
            spell = lambda ranges: self.character(spelling, ranges)  # noqa: E731
            rest = to_rules(inner, self.builder, "text", spell, Text(spelling.close + behind))
            self._known[key] = sequence([Text(spelling.open), rest]) if rest != Alt(()) else rest
        return self._known[key]

    def raw(self, found: Automaton) -> Expr:
        """A text of the language, as it is."""
        key = (found, None, "")
        if key not in self._known:
            body = to_rules(found, self.builder, "raw")
            self._known[key] = self.builder.define("raw", body) if len(found.edges) > 1 else body
        return self._known[key]


def union(languages: Iterable[Automaton]) -> Automaton:
    """Texts of any of the languages."""
    first, *rest = languages
    for other in rest:
        first = first | other
    return first


_BLANKS = Rep(Chars(((9, 10), (13, 13), (32, 32))), 0, None)
_STARTS: dict[str, Sequence[Expr]] = {
    "object": (Text("{"),),
    "array": (Text("["),),
    "number": (Chars(((45, 45), (48, 57))),),
    "integer": (Chars(((45, 45), (48, 57))),),
    "boolean": (Text("true"), Text("false")),
    "null": (Text("null"),),
    "string": (Text('"'),),
}


@lru_cache(maxsize=64)
def unlike(types: frozenset[str]) -> Automaton:
    """Texts that do not start like JSON of one of these types, blanks in front of it left aside.

    >>> unlike(frozenset({"array"})).matches(" [x"), unlike(frozenset({"array"})).matches("x[")
    (False, True)
    """
    starts = [start for name in sorted(types) for start in _STARTS[name]]
    if not starts:
        return anything()
    rest = Rep(Chars(ANY), 0, None)
    return compiled(Seq((_BLANKS, Alt(tuple(starts)), rest))).complement()


@lru_cache(maxsize=64)
def without(delimiter: str) -> Automaton:
    """Texts that do not contain the delimiter."""
    return excluding(text(delimiter))
