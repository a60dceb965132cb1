"""Where a ``$ref`` leads: pointers, anchors and ids within one schema document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

Schema = Mapping[str, Any] | bool

_LITERAL_KEYWORDS = {"enum", "const", "default", "examples", "example"}


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A schema and where it stands, as a JSON pointer. Two nodes are the same if their ``schema`` is one object."""

    schema: Schema
    path: str

    def below(self, schema: Schema, *steps: str | int) -> Node:
        """A schema inside this one."""
        return Node(schema, "/".join((self.path, *(str(step).replace("~", "~0").replace("/", "~1") for step in steps))))


class References:
    """The named places of one schema document, found on the first look-up."""

    def __init__(self, root: Schema) -> None:
        self.root = Node(root, "")
        self._named: dict[str, Node] | None = None
        self._bases: dict[int, str] = {}

    def target(self, node: Node, reference: str) -> Node | None:
        """The node that the reference leads to, None if it leads out of the document.

        >>> refs = References({"$defs": {"a/b": {"type": "null"}}})
        >>> refs.target(refs.root, "#/$defs/a~1b").schema
        {'type': 'null'}
        """
        named = self._index()
        uri = urljoin(self._bases.get(id(node.schema), ""), reference)
        if uri in named:
            return named[uri]
        base, fragment = urldefrag(uri)
        start = named.get(base)
        if start is None or (fragment and not fragment.startswith("/")):
            return None
        return _follow(start, unquote(fragment))

    def is_ambiguous(self, reference: str) -> bool:
        """Whether several places carry the dynamic anchor, so that the way here decides."""
        anchor = urldefrag(reference).fragment
        named = self._index()
        places = {id(n.schema) for uri, n in named.items() if urldefrag(uri).fragment == anchor and anchor}
        return len(places) > 1

    def _index(self) -> dict[str, Node]:
        if self._named is None:
            self._named = {}
            self._visit(self.root, "", self._named)
        return self._named

    def _visit(self, start: Node, base: str, named: dict[str, Node]) -> None:
        named[base] = start
        stack: list[tuple[Node, object, str]] = [(start, start.schema, base)]
        while stack:
            node, value, base = stack.pop()
            if isinstance(value, Mapping):
                base = self._name(Node(value, node.path), value, base, named)
                children = [(key, item) for key, item in value.items() if key not in _LITERAL_KEYWORDS]
            elif isinstance(value, list):
                children = [(str(i), item) for i, item in enumerate(value)]
            else:
                continue
            stack += [(node.below(item, key), item, base) for key, item in children]

    def _name(self, node: Node, schema: Mapping[str, Any], base: str, named: dict[str, Node]) -> str:
        identifier = schema.get("$id")
        if isinstance(identifier, str):
            base = urldefrag(urljoin(base, identifier)).url
            named.setdefault(base, node)
        self._bases[id(schema)] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                named.setdefault(f"{base}#{anchor}", node)
        return base


def _follow(node: Node, pointer: str) -> Node | None:
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        value: object = node.schema
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
        node = node.below(value, step)  # type: ignore[arg-type]  # on the way it may be a container of schemas
    return node if isinstance(node.schema, Mapping | bool) else None
