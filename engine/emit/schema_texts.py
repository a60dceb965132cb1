"""Strings of a schema as lowered rules: quoted in a dialect, or raw up to a delimiter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from ..charset import Ranges, normal
from .automaton import Automaton, TooLarge, anything, lengths, texts
from .automaton_rules import rests, sequence, to_rules
from .charset import ANY, charset, difference
from .dialect import Spelling
from .nfa import compiled
from .rules import NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text
from .schema_facts import Facts, Size
from .tries import factored

#: A longer bound makes a grammar that no backend loads in good time.
LARGEST_COUNT = 100_000
#: Lengths up to here are multiplied with another language, state by state.
MOST_COUNTED_STATES = 2000


#: Letters of a word in one rule: backends read parentheses recursively.
_DEEPEST = 32

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


def bounded(size: Size, what: str, report: Reports) -> Size:
    """The size without bounds that are too large for any backend; ``what`` is "Length" or "Items"."""
    if size.minimum > LARGEST_COUNT:
        report(f"min{what}", f"{size.minimum} is too much: not enforced")
        size = replace(size, minimum=0)
    if size.maximum is not None and size.maximum > LARGEST_COUNT:
        report(f"max{what}", f"{size.maximum} is too much: not enforced")
        size = replace(size, maximum=None)
    return size


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


class _Left(NamedTuple):
    """The rests of forbidden words, and how far what can be spelled has come: a state of its automaton."""

    words: tuple[str, ...]
    state: int


class TextRules:
    """Writes languages of strings as rules of one builder, each once.

    The spellings are those of one dialect, which lives as long as this: their identities are keys.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[tuple[Automaton, int, str], Expr] = {}
        self._characters: dict[tuple[int, Ranges], Expr] = {}
        self._any: dict[int, Expr] = {}
        self._rests: dict[tuple[int, str], Callable[[int], Expr]] = {}
        self._letters: dict[tuple[str, int], Expr] = {}
        self._buts: dict[tuple[_Left, int, str], Expr] = {}
        self._waiting: list[tuple[Ref, _Left, Spelling, str]] = []
        self._frees: dict[tuple[str, int, int, str], list[Expr]] = {}

    def character(self, spelling: Spelling, ranges: Ranges) -> Expr:
        """One character of the set as written, a rule of its own where that takes a choice."""
        key = (id(spelling), ranges)
        if key not in self._characters:
            body = spelling.one_of(ranges)
            self._characters[key] = self._shared(body) if isinstance(body, Alt) else body
        return self._characters[key]

    def _shared(self, body: Alt) -> Expr:
        """Plain characters here, the escapes as a rule that most sets share: they begin alike, so one way leads in."""
        plain, *escapes = body.alternatives
        return Alt((plain, self.builder.define("escape", factored(escapes))))

    def counted(self, spelling: Spelling, size: Size) -> Expr:
        """Any text of that many characters, in its quotes."""
        item = Rep(self.any_character(spelling), size.minimum, size.maximum)
        return sequence([Text(spelling.open), item, Text(spelling.close)])

    def any_character(self, spelling: Spelling) -> Expr:
        """One character as written, as a rule."""
        if id(spelling) not in self._any:
            body = self.character(spelling, ANY)
            self._any[id(spelling)] = body if isinstance(body, Chars) else self.builder.define("char", body)
        return self._any[id(spelling)]

    def all_but(self, words: Iterable[str], spelling: Spelling, behind: str) -> Expr:
        """Any text but these words in its quotes, and what stands behind: one choice for each beginning of a word."""
        body = self._but(_Left(tuple(sorted(set(words))), 0), spelling, behind, 0)
        while self._waiting:
            ref, left, quotes, end = self._waiting.pop()
            self.builder.fill(ref, self._all_but(left, quotes, end, 0))
        return sequence([Text(spelling.open), body])

    def _but(self, left: _Left, spelling: Spelling, behind: str, depth: int) -> Expr:
        """What may follow; what many words end with is written once. A long word is rules, not one deep nest."""
        key = (left, id(spelling), behind)
        if key not in self._buts:
            if depth < _DEEPEST:
                self._buts[key] = self._all_but(left, spelling, behind, depth)
            else:
                ref = self._buts[key] = self.builder.reserve("text")
                self._waiting.append((ref, left, spelling, behind))
        return self._buts[key]

    def _all_but(self, left: _Left, spelling: Spelling, behind: str, depth: int) -> Expr:
        spellable = spelling.limits() or _ANYTHING
        heads: dict[str, list[str]] = {}
        for word in left.words:
            if word:
                heads.setdefault(word[0], []).append(word[1:])
        alike: dict[_Left, str] = {}
        for head, rest in heads.items():
            state = spellable.step(left.state, ord(head))
            if state >= 0:
                further = _Left(tuple(rest), state)
                alike[further] = alike.get(further, "") + head
        ends = left.state in spellable.accepting and "" not in left.words
        choices: list[Expr] = [Text(spelling.close + behind)] if ends else []
        choices += self._free("".join(sorted(heads)), left.state, spelling, behind)
        for further, letters in alike.items():
            body = self._but(further, spelling, behind, depth + 1)
            if body is not NOTHING:
                choices.append(sequence([self._one_of(letters, spelling), body]))
        return Alt(tuple(choices)) if len(choices) > 1 else choices[0] if choices else NOTHING

    def _one_of(self, letters: str, spelling: Spelling) -> Expr:
        key = (letters, id(spelling))
        if key not in self._letters:
            self._letters[key] = self.character(spelling, charset(letters))
        return self._letters[key]

    def _free(self, heads: str, state: int, spelling: Spelling, behind: str) -> list[Expr]:
        """A character that is none of ``heads`` and any rest: one choice for each state that it leads to."""
        key = (heads, state, id(spelling), behind)
        if key not in self._frees:
            led: dict[int, list[tuple[int, int]]] = {}
            for low, high, target in (spelling.limits() or _ANYTHING).edges[state]:
                led.setdefault(target, []).append((low, high))
            self._frees[key] = [
                sequence([self._spelled(spelling, free), self._rest(spelling, behind)(target)])
                for target, ranges in led.items()
                if (free := _without(tuple(ranges), heads))
            ]
        return self._frees[key]

    def _rest(self, spelling: Spelling, behind: str) -> Callable[[int], Expr]:
        key = (id(spelling), behind)
        if key not in self._rests:
            end, spell = Text(spelling.close + behind), partial(self._spelled, spelling)
            self._rests[key] = rests(spelling.limits() or _ANYTHING, self.builder, "text", spell, end)
        return self._rests[key]

    def quoted(self, found: Automaton, spelling: Spelling, behind: str = "") -> Expr:
        """A text of the language in its quotes, and what stands behind."""
        key = (found, id(spelling), behind)
        if key not in self._known:
            limits = spelling.limits()
            inner = found if limits is None else found & limits
            rest = to_rules(
                inner, self.builder, "text", partial(self._spelled, spelling), Text(spelling.close + behind)
            )
            self._known[key] = sequence([Text(spelling.open), rest]) if rest is not NOTHING else rest
        return self._known[key]

    def _spelled(self, spelling: Spelling, ranges: Ranges) -> Expr:
        return self.any_character(spelling) if ranges == ANY else self.character(spelling, ranges)

    def raw(self, found: Automaton) -> Expr:
        """A text of the language, as it is."""
        key = (found, 0, "")
        if key not in self._known:
            body = to_rules(found, self.builder, "raw")
            simple = body is NOTHING or isinstance(body, Ref | Text | Chars)
            self._known[key] = body if simple else self.builder.define("raw", body)
        return self._known[key]


def union(languages: Iterable[Automaton]) -> Automaton:
    """Texts of any of the languages."""
    first, *rest = languages
    for other in rest:
        first = first | other
    return first


_ANYTHING = anything()
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


@lru_cache(maxsize=4096)
def _without(ranges: Ranges, characters: str) -> Ranges:
    return difference(normal(ranges), charset(*characters))


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
