"""Where the parts of a JSON text stand, so that errors can point at them."""

from __future__ import annotations

from json.decoder import scanstring  # type: ignore[attr-defined]  # public in all but the type stubs

import regex

from ..source import Source, Span

Path = tuple[str | int, ...]
_BLANKS = regex.compile(r"[ \t\n\r]*+")
_SCALAR = regex.compile(r"[^\s,\]}]++")


class _Walk:
    """One pass over a valid JSON text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.found: dict[Path, tuple[int, int]] = {}

    def next(self) -> str:
        self.pos = _BLANKS.match(self.text, self.pos).end()  # type: ignore[union-attr]  # matches everywhere
        return self.text[self.pos]

    def value(self, path: Path) -> None:
        opener = self.next()
        start = self.pos
        if opener == '"':
            self.string()
        elif opener in "[{":
            self.items(path, keyed=opener == "{")
        else:
            self.pos = _SCALAR.match(self.text, start).end()  # type: ignore[union-attr]  # a value stands here
        self.found.setdefault(path, (start, self.pos))

    def string(self) -> str:
        text, self.pos = scanstring(self.text, self.pos + 1)
        return str(text)

    def items(self, path: Path, keyed: bool) -> None:
        self.pos += 1
        count = 0
        while self.next() not in "]}":
            if self.text[self.pos] == ",":
                self.pos += 1
                self.next()
            step: str | int = count
            start = self.pos
            if keyed:
                step = self.string()
                self.found[*path, step] = (start, self.pos)
                self.next()
                self.pos += 1
            self.value((*path, step))
            count += 1
        self.pos += 1


class Places:
    """Spans of a JSON text: a member's is that of its key.

    >>> Places(Source("x.json", '{"a": [1, 22]}')).of(("a", 1)).text
    '22'
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        walk = _Walk(source.text)
        walk.value(())
        self._found = walk.found

    def of(self, path: Path) -> Span:
        """The part at ``path``, or the closest one that holds it."""
        while path not in self._found and path:
            path = path[:-1]
        start, end = self._found.get(path, (0, 1))
        return Span(self.source, start, end if path else start + 1)
