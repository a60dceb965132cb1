"""Strings of a schema as lowered rules: quoted in a dialect, or raw up to a delimiter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from ..charset import Ranges
from .automaton import Automaton, TooLarge, anything, lengths, texts
from .automaton_rules import sequence, to_rules
from .charset import ANY, charset, complement
from .dialect import Spelling
from .nfa import compiled
from .rules import NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text
from .schema_facts import Facts, Size
from .tries import factored

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


class TextRules:
    """Writes languages of strings as rules of one builder, each once.

    The spellings are those of one dialect, which lives as long as this: their identities are keys.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[tuple[Automaton, int, str], Expr] = {}
        self._characters: dict[tuple[int, Ranges], Expr] = {}
        self._any: dict[int, Expr] = {}
        self._tails: dict[tuple[int, str], Ref] = {}
        self._others: dict[tuple[str, ...], Automaton] = {}
        self._letters: dict[tuple[str, int], Expr] = {}
        self._buts: dict[tuple[tuple[str, ...], int, str], Expr] = {}
        self._frees: dict[tuple[str, int, str], Expr] = {}

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
        return sequence([Text(spelling.open), self._but(tuple(sorted(set(words))), spelling, behind)])

    def _but(self, words: tuple[str, ...], spelling: Spelling, behind: str) -> Expr:
        """What may follow where these are the forbidden rests; what many words end with is written once."""
        key = (words, id(spelling), behind)
        if key not in self._buts:
            self._buts[key] = self._all_but(words, spelling, behind)
        return self._buts[key]

    def _all_but(self, words: tuple[str, ...], spelling: Spelling, behind: str) -> Expr:
        heads: dict[str, list[str]] = {}
        for word in words:
            if word:
                heads.setdefault(word[0], []).append(word[1:])
        if not heads:
            return self._free("", spelling, behind)
        alike: dict[tuple[str, ...], str] = {}
        for head, tails in heads.items():
            alike[tuple(tails)] = alike.get(tuple(tails), "") + head
        choices: list[Expr] = [] if "" in words else [Text(spelling.close + behind)]
        choices.append(self._free("".join(sorted(heads)), spelling, behind))
        for rests, letters in alike.items():
            choices.append(sequence([self._one_of(letters, spelling), self._but(rests, spelling, behind)]))
        return Alt(tuple(choices))

    def _one_of(self, letters: str, spelling: Spelling) -> Expr:
        key = (letters, id(spelling))
        if key not in self._letters:
            self._letters[key] = self.character(spelling, charset(letters))
        return self._letters[key]

    def _free(self, heads: str, spelling: Spelling, behind: str) -> Expr:
        """A character that is none of ``heads`` and any rest."""
        key = (heads, id(spelling), behind)
        if key not in self._frees:
            first = self.character(spelling, _all_but(heads)) if heads else self.any_character(spelling)
            self._frees[key] = sequence([first, self._tail(spelling, behind)])
        return self._frees[key]

    def _tail(self, spelling: Spelling, behind: str) -> Ref:
        key = (id(spelling), behind)
        if key not in self._tails:
            rest = sequence([Rep(self.any_character(spelling), 0, None), Text(spelling.close + behind)])
            self._tails[key] = self.builder.define("text", rest)
        return self._tails[key]

    def others(self, words: tuple[str, ...]) -> Automaton:
        """Every text but these."""
        if words not in self._others:
            self._others[words] = texts(words).complement()
        return self._others[words]

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
def _all_but(characters: str) -> Ranges:
    return complement(charset(characters))


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
