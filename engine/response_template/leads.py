"""Delimiters that begin with any number of some characters, blanks most often, and then a text that must follow.

Such a pattern by itself is tried at each of many blanks, and reads all that follow each time. What must follow is
searched for instead, and the run before it is found by going back.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import commonprefix

import regex

from .patterns import Chars, Choice, Group, Node, Repeat, Sequence, plain


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """How such a pattern begins: ``run`` reads backwards what may stand before ``text``, whose first character it does not."""

    run: regex.Pattern[str]
    text: str

    def search(self, pattern: regex.Pattern[str], text: str, low: int) -> regex.Match[str] | None:
        """`pattern.search`, for the pattern that begins so: runs before two texts do not meet, so the first is leftmost.

        >>> from chatpeg.response_template.patterns import read_pattern
        >>> lead = lead_of(read_pattern(r"\\s*<a>"))
        >>> lead.search(regex.compile(r"\\s*<a>"), "x  <b>  <a>", 0).span()
        (6, 11)
        """
        at = text.find(self.text, low)
        while at >= 0:
            before = self.run.match(text, low, at)
            found = pattern.match(text, at if before is None else before.start())
            if found is not None:
                return found
            at = text.find(self.text, at + 1)
        return None


def lead_of(node: Node) -> Lead | None:
    """How the pattern begins, if it is of this kind.

    >>> from chatpeg.response_template.patterns import read_pattern
    >>> lead_of(read_pattern(r"\\s*(?:<ab>|<ac>)")).text, lead_of(read_pattern("<a>")), lead_of(read_pattern(r"\\s*\\n"))
    ('<a', None, None)
    """
    match node:
        case Sequence(items=(Repeat(item=Chars() as one, min=0, max=None, mode=""), *rest)) if plain(node):
            text = _text(Sequence(tuple(rest)))[0]
            if text and one.literal is None and not one.ignore_case and not regex.match(one.source, text):
                return Lead(regex.compile(f"(?r){one.source}*"), text)
    return None


def _text(node: Node) -> tuple[str, bool]:
    """A text that all matches of ``node`` begin with, and whether each is no more than that."""
    match node:
        case Chars(literal=str() as literal, ignore_case=False):
            return literal, True
        case Sequence(items=items):
            found = ""
            for item in items:
                text, whole = _text(item)
                found += text
                if not whole:
                    return found, False
            return found, True
        case Choice(alternatives=alternatives):
            texts = [_text(one) for one in alternatives]
            same = len(set(texts)) == 1
            return commonprefix([text for text, _ in texts]), same and texts[0][1]  # noqa: RUF071 - texts, not paths
        case Group(item=item):
            return _text(item)
        case _:
            return "", False
