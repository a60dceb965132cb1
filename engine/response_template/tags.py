"""The tags of ``xml-inline`` content in their parts, and what they hold where values are JSON: no string ends a tag."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from ..jsonscan import JsonScan, whole_value
from .patterns import Back, Unreadable, read_pattern, walk
from .positions import Positions

BLANKS = regex.compile(r"[ \t\n\r]*+")
"""What may stand before a JSON value."""
_VALUE = regex.compile(
    r"(?<!\\)\(\?P?<value>(?P<inner>(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|[^()\[\]\\]|\((?&inner)\))*+)\)", regex.DOTALL
)
_KEY_AGAIN = "(?P=key)"
_CACHED = 64


@dataclass(frozen=True, slots=True, eq=False)
class Tag:
    """A ``tag_pattern``: ``head`` is what stands before the value, which takes at least a character; a tail follows it.

    >>> tag = tag_of("<(?P<key>[a-z]+)>(?P<value>.*?)</(?P=key)>")
    >>> tag.head.pattern, tag.tail("n").pattern
    ('<(?P<key>[a-z]+)>', '</n>')
    """

    whole: regex.Pattern[str]
    head: regex.Pattern[str]
    _tail: str

    def tail(self, key: str) -> regex.Pattern[str]:
        """What stands behind the value of a tag with this key."""
        return regex.compile(self._tail.replace(_KEY_AGAIN, regex.escape(key)), self.whole.flags)


@functools.lru_cache(maxsize=_CACHED)
def tag_of(source: str) -> Tag | None:
    """The parts of a ``tag_pattern``; None if it has others, or its key is not in the first of them.

    >>> tag_of("(?P<value>.*?)=(?P<key>[a-z]+)") is None
    True
    """
    value = _VALUE.search(source)
    if value is None:
        return None
    head, tail = source[: value.start()], source[value.end() :]
    try:
        whole = regex.compile(source, regex.DOTALL)
        tag = Tag(whole, regex.compile(head, whole.flags), tail)
        tag.tail("")
        again = any(isinstance(part, Back) for part in walk(read_pattern(tail.replace(_KEY_AGAIN, ""))))
        positions = Positions()
        positions.add(read_pattern(head))
    except (regex.error, Unreadable):
        return None
    return None if again or positions.empty or "key" not in tag.head.groupindex else tag


def json_tags(tag: Tag, text: str, keys: frozenset[str]) -> Iterator[tuple[str | None, str]]:
    """Key and value of each tag in ``text``. The values of ``keys`` are JSON: a tag does not end inside one.

    >>> tag = tag_of("<(?P<key>[a-z])>(?P<value>.*?)</>")
    >>> list(json_tags(tag, '<a>["</>"]</><b>["</>"]</>', frozenset("a")))
    [('a', '["</>"]'), ('b', '["')]
    """
    pos = 0
    while (match := tag.whole.search(text, pos)) is not None:
        key, (start, end), pos = match["key"], match.span("value"), match.end()
        if key in keys and (stop := _json_end(text, start)) > end:
            tail = tag.tail(key).search(text, stop)
            if tail is not None:
                end, pos = tail.span()
        yield key, text[start:end]


def _json_end(text: str, start: int) -> int:
    """Where the JSON value from ``start`` on ends, or is no JSON any more."""
    start = BLANKS.match(text, start).end()  # type: ignore[union-attr]  # matches everywhere
    end = whole_value(text, start) if start < len(text) else -1
    if end < 0:
        scan = JsonScan(start)
        scan.run(text, at_end=True)
        end = max(scan.end, scan.failed)
    return end
