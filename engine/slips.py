"""What stopped the reading of a grammar file, in words: the usual slips first, else what was found and what fits."""

from __future__ import annotations

import regex

from .errors import Problem
from .source import Source, Span

# What stands where reading stopped -> what is wrong with it, what to write instead.
SLIPS = tuple(
    (regex.compile(pattern), message, help)
    for pattern, message, help in (
        (r"::?=|<-|<=|←|->|=>|==", 'a rule is not written with "{}"', "write name = expression"),
        (r"\|+", 'choices are not written with "{}"', 'alternatives are separated by "/"'),
        (r"//|/\*", 'comments are not written with "{}"', 'a comment begins with "#" and ends with its line'),
        (r"[\"'][^\n]*", "this string is not closed on its line", "add the missing quote"),
        (r"\[[^\n]*", "this class is not closed on its line", r'add the missing "]"; a "]" of the class is written \]'),
        (r"~\S*", "the notation has no regular expressions", "use classes, repeats and until(…)"),
        (r";", 'found ";"', 'leave it out: a rule ends where the next one, "name =", begins'),
        (r"\{[^}\n]*\}?", "this is not a repeat", "repeats are ? * + {m} {m,n} {m,} {,n}; a grammar has no actions"),
        (r"\([\w\s,]*\)\s*=", "these parameters stand apart from their rule", 'leave out the blank before the "("'),
        (r"-\w+", "names have no hyphen", "names are letters, digits and _; only a file's name may have hyphens"),
        (r"[?*+]", '"{}" has nothing to repeat', "one suffix follows an expression; write (…) around it for another"),
        (r"\^", "a commit is an item of its own", "put it between two items of a sequence"),
    )
)

NOTHING = 'an expression that matches nothing is written ""'
HEAD = regex.compile(r"([A-Za-z_]\w*)(?:\([^()]*\))?\s*(?:\"[^\"\n]*\"|'[^'\n]*')?\s*=(?!=)")
WORD = regex.compile(r"\w++|.")
TOKEN = regex.compile(
    r"(?<gap>(?:\s++|#[^\n]*+)++)|%[^\n]*+|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|\[(?:[^\]\\\n]|\\.)*+\]|\w++|."
)


def explain(source: Source, stop: int) -> Problem:
    """The one problem of a file in which nothing fits at offset ``stop``."""
    text = source.text
    start = _start(text, stop)
    for pattern, message, help in SLIPS:
        if found := pattern.match(text, start):
            span = Span(source, start, found.end())
            return Problem(message.format(found[0]), span, help=help)
    if text.startswith("=", start):
        help = 'a rule is written name = …, name "shown in errors" = … or name(x) = …, with no blank before the "("'
        return Problem('found "=" where no rule begins', Span(source, start, start + 1), help=help)
    return _unexpected(source, start)


def _start(text: str, stop: int) -> int:
    """Where what stopped the reading begins: ``:=`` stops it at its ``=``."""
    while stop and text[stop - 1 : stop + 1] in {":=", "::", "//", "/*", "=="}:
        stop -= 1
    return stop


def _unexpected(source: Source, start: int) -> Problem:
    last, opened = _before(source, start)
    found = _found(source.text, start)
    span = Span(source, start, start + 1) if start < len(source.text) else Span(source, last.end, last.end)
    notes = ((f'the "(" at {opened[-1].where.rpartition(":")[2]} is not closed', opened[-1]),) if opened else ()
    expected, help = _expected(last.text, found, opened=bool(opened))
    return Problem(f"found {found}, expected {expected}", span, notes, help)


def _before(source: Source, stop: int) -> tuple[Span, list[Span]]:
    """The last token before ``stop``, and the parentheses that are open there."""
    last, opened = Span(source, 0, 0), []
    for token in TOKEN.finditer(source.text, 0, stop):
        if token["gap"]:
            continue
        last = Span(source, token.start(), token.end())
        if token[0] == "(":
            opened.append(last)
        elif token[0] == ")" and opened:
            opened.pop()
    return last, opened


def _found(text: str, start: int) -> str:
    if start >= len(text):
        return "the end of the file"
    if head := HEAD.match(text, start):
        return f'the rule "{head[1]}"'
    return f'"{WORD.findall(text, start, start + 40)[0]}"'


def _expected(last: str, found: str, *, opened: bool) -> tuple[str, str]:
    """What fits after the token ``last``, and what to do about ``found``."""
    if not last:
        return "a rule or a directive", "write name = expression, or %name and its arguments"
    if last in {"&", "!", ":", ","}:
        return "an expression", f'something has to follow "{last}"'
    if last in {"=", "/", "("}:
        nothing = found[0] != '"' or found[1] in "/),"
        return "an expression", NOTHING if nothing else f"text stands in quotes: {found}"
    if opened:
        return 'an item, "/" or ")"', 'add the missing ")"'
    if last.startswith("%"):
        return "a word or a string", "a directive's arguments end with its line"
    return 'an item, "/" or the next rule', 'there is no "(" that it closes' if found == '")"' else ""
