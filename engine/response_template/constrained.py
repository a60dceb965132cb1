"""Closers that are content, where a grammar held the sampler to well-formed tool calls (``constrained=True``).

In a region of plain ``json``, a closer that begins inside the value is content. In one of ``xml-inline`` it is one that
begins inside the opening tag of a parameter, or inside the value of a parameter that is JSON: one of a tool that is
``strict`` whose schema has no string, or whose ``value_parser`` is json. From where a value is no JSON any more (RFC
8259) closers count again, the one included that breaks it off outside of a string; so do they in a tag of more than
`_LONGEST_HEAD` characters.

What is decided of a closer depends on the text of its region up to the closer's end and on the closers before, never on
chunks. A scan goes on where it was when the closer before was looked at, and only when one is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..jsonscan import JsonScan, whole_value
from .coerce import properties_of, types
from .contents import Read, xml_inline
from .tags import BLANKS, Tag, tag_of
from .template import Field

_LONGEST_HEAD = 256


class _Body:
    """The text of a region as far as it is known: ``text`` is that from ``base`` on, and read up to ``pos``."""

    __slots__ = ("_count", "base", "pos", "released", "text")

    def __init__(self) -> None:
        self.text = ""
        self.base = self.pos = 0
        self.released = 0
        self._count = 0

    def take(self, parts: Sequence[str], window: str, pos: int, end: int) -> None:
        """The region is ``parts`` and, behind them, ``window`` from ``pos`` to ``end``: add what is new, forget what is read."""
        fresh = "".join(parts[self._count :])
        self._count = len(parts)
        known = self.base + len(self.text) - self.released
        self.released += len(fresh)
        self.text = self.text[self.pos :] + fresh[known:] + window[pos + max(0, known - len(fresh)) : end]
        self.base += self.pos
        self.pos = 0


class _Json:
    """A JSON value, and blanks before it. ``stop``: where it ends or, if it is ``broken``, is none any more; else -1."""

    __slots__ = ("_scan", "broken", "stop")

    def __init__(self) -> None:
        self._scan: JsonScan | None = None
        self.stop = -1
        self.broken = False

    def run(self, body: _Body) -> bool:
        """Read what there is of it in ``body``; whether that is all of it."""
        if self.stop >= 0:
            return True
        scan = self._scan
        if scan is None:
            body.pos = BLANKS.match(body.text, body.pos).end()  # type: ignore[union-attr]  # matches everywhere
            if body.pos == len(body.text):
                return False
            self._scan = scan = JsonScan(body.pos)
            scan.end = whole_value(body.text, body.pos)
        scan.pos = body.pos
        scan.run(body.text, at_end=False)
        self.broken = scan.failed >= 0
        stop = max(scan.end, scan.failed)
        if stop < 0:
            body.pos = scan.pos
            return False
        body.pos = stop
        self.stop = body.base + stop
        return True


class Content:
    """Which closers in a region are content: none, if it is of any text."""

    __slots__ = ()

    def holds(self, parts: Sequence[str], window: str, pos: int, span: tuple[int, int]) -> bool:  # noqa: ARG002
        """Whether the closer at ``span`` of ``window`` is content; the region is ``parts``, then that from ``pos`` on.

        Asked of one closer after the other, each beginning behind the last.
        """
        return False


class JsonContent(Content):
    """Those inside of the JSON that the region is.

    >>> content = JsonContent()
    >>> content.holds(['["'], "</c>", 0, (0, 4)), content.holds(['["', '</c>"]'], "</c>", 0, (0, 4))
    (True, False)
    """

    __slots__ = ("_body", "_json")

    def __init__(self) -> None:
        self._body = _Body()
        self._json = _Json()

    def holds(self, parts: Sequence[str], window: str, pos: int, span: tuple[int, int]) -> bool:
        start, end = span
        self._body.take(parts, window, pos, max(end, start + 1))
        if not self._json.run(self._body):
            return True
        return not self._json.broken and self._body.released + start - pos < self._json.stop


class TagContent(Content):
    """Those inside of the opening tags of parameters, and of the JSON values that those of ``keys`` have.

    >>> content = TagContent(tag_of("<p (?P<key>[^>]+)>(?P<value>.*?)</p>"), frozenset("n"))
    >>> content.holds([], "<p </f>1</p></f>", 0, (3, 7)), content.holds([], "<p </f>1</p></f>", 0, (12, 16))
    (True, False)
    """

    __slots__ = ("_body", "_json", "_key", "_keys", "_tag")

    def __init__(self, tag: Tag, keys: frozenset[str]) -> None:
        self._tag = tag
        self._keys = keys
        self._body = _Body()
        self._json: _Json | None = None
        self._key = ""

    def holds(self, parts: Sequence[str], window: str, pos: int, span: tuple[int, int]) -> bool:
        start, end = span
        self._body.take(parts, window, pos, max(end, start + 1))
        at = self._body.released + start - pos
        held = None
        while held is None:
            held = self._at_a_tag(at) if self._json is None else self._in_a_value(self._json, at)
        return held

    def _in_a_value(self, json: _Json, at: int) -> bool | None:
        """Whether the closer at ``at`` of the region is content; None if the tag of the value ends before it."""
        body = self._body
        if not json.run(body):
            return True
        if at < json.stop:
            return not json.broken
        tail = self._tag.tail(self._key).search(body.text, body.pos)
        if tail is None:
            return False
        body.pos = tail.end()
        self._json = None
        return None

    def _at_a_tag(self, at: int) -> bool | None:
        """As `_in_a_value`, where no tag is open; None, too, if a JSON value begins before it."""
        body, limit = self._body, at - self._body.base
        head = self._tag.head.search(body.text, body.pos, limit)
        if head is None:
            begun = self._tag.head.search(body.text, body.pos, partial=True)
            if begun is None or begun.start() >= limit:
                return False
            body.pos = begun.start()
            return limit - begun.start() < _LONGEST_HEAD
        if head["key"] in self._keys:
            self._key, self._json = head["key"], _Json()
            body.pos = head.end()
            return None
        tag = self._tag.whole.match(body.text, head.start())
        if tag is None:
            return False
        body.pos = tag.end()
        return None


class Constrained:
    """How the regions of a reply are read that a grammar held to ``tools``.

    >>> from .loading import load_response_template
    >>> field = load_response_template({"start_anchor": "<bot>", "fields": {"content": {"content": "json"}}}).implicit
    >>> type(Constrained([]).content(field, {})).__name__
    'JsonContent'
    """

    __slots__ = ("_strict",)

    def __init__(self, tools: Sequence[Any] | None) -> None:
        self._strict = properties_of(tools, strict_only=True)

    def content(self, field: Field, captures: Mapping[str, str]) -> Content:
        """What tells which closers are content in a region of ``field``."""
        if field.content == "json" and not field.content_args:
            return JsonContent()
        if field.content != "xml-inline":
            return Content()
        source = field.content_args.get("tag_pattern")
        tag = tag_of(source) if isinstance(source, str) else None
        return Content() if tag is None else TagContent(tag, self._json_keys(field, captures))

    def reader(self, field: Field, captures: Mapping[str, str]) -> Read:
        """The parser of a region's text."""
        keys = self._json_keys(field, captures)
        return xml_inline(field.content_args, keys) if keys else field.read

    def _json_keys(self, field: Field, captures: Mapping[str, str]) -> frozenset[str]:
        """The parameters of the tool that was captured whose values are JSON."""
        if field.content != "xml-inline":
            return frozenset()
        properties = self._strict.get(captures.get("name", ""), {})
        declared = {key: types(schema) for key, schema in properties.items()}
        return frozenset(
            key for key, names in declared.items() if field.json_values or (names and "string" not in names)
        )
