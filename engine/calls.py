"""A tool call's captures to a `ToolCall`: keys, values and items joined to JSON text, each typed by its schema."""

from __future__ import annotations

from . import values
from .errors import DecodeError
from .jsonscan import MAX_DEPTH
from .message import ToolCall
from .program import BY_JSON, BY_VALUE
from .request import Tool
from .schema_types import Declared, declared
from .values import BadValue

_ANYTHING = declared(True, True)
_STRING = frozenset(("string",))
_TYPED = frozenset((BY_JSON, BY_VALUE))


class _Part:
    """A label that is open: where it began, what is inside it so far, and how its value is declared."""

    __slots__ = ("dialect", "items", "key", "keys", "label", "members", "start", "texts", "typed", "value")

    def __init__(self, label: str, dialect: str, start: int, value: Declared) -> None:
        self.label = label
        self.dialect = dialect
        self.start = start
        self.value = value
        self.members: list[str] = []
        self.keys: set[str] = set()
        self.items: list[str] | None = None
        self.texts: list[str] | None = None
        self.key: str | None = None
        self.typed = False


class CallReader:
    """Reads the log between a call's frame and its end.

    ``offered`` None: which tools there are is not known. Positions that it is given are absolute.
    """

    __slots__ = ("_offered", "_parts", "_tool", "arguments", "canonical", "captures", "name", "spelled")

    def __init__(self, offered: dict[str, Tool] | None) -> None:
        self.captures: dict[str, str] = {}
        self.name: str | None = None
        self.canonical = True
        self._offered = offered
        self._tool: Tool | None = None
        self._parts: list[_Part] = []
        self.arguments: str | None = None
        self.spelled: tuple[int, int] | None = None  # Where JSON arguments stand, also those that are refused.

    def close(self, text: str, base: int, pos: int) -> None:
        """The innermost label ends; raises `DecodeError` when its value is refused."""
        part = self._parts.pop()
        try:
            self._close(part, text[part.start - base : pos])
        except BadValue as error:
            raise DecodeError(str(error), part.start + error.at) from None

    def mark_typed(self) -> None:
        """The innermost label's text is read as its schema declares it."""
        if self._parts:
            self._parts[-1].typed = True

    def read_span(self, label: str, dialect: str, raw: str, start: int, how: int) -> None:
        """Take a whole label in that was read as ``how`` says; raises `DecodeError` when its value is refused."""
        parts = self._parts
        try:
            if label == "key" and parts:
                parts[-1].key = raw if dialect == "raw" else values.unspelled(dialect, raw)
            elif label == "value" and len(parts) == 1 and how == BY_VALUE:
                self._add(parts[-1], values.quoted(raw))  # It can only be a string, or it would have been read as JSON.
            elif label == "value" and parts and how in _TYPED:
                parent = parts[-1]
                typed = values.typed_json if how == BY_JSON else values.typed
                text, canonical = typed(raw, self._declared(parent))
                self.canonical = self.canonical and canonical
                self._add(parent, text)
            elif label == "arguments" and how == BY_JSON:
                self.arguments = values.strict_json(raw)
            elif label == "name":
                self._name(dialect, raw)
            else:
                self.open(label, dialect, start)
                self._close(parts.pop(), raw)
        except BadValue as error:
            raise DecodeError(str(error), start + error.at) from None

    def open(self, label: str, dialect: str, pos: int) -> None:
        """A label begins; raises `DecodeError` where it is nested too deeply."""
        parent = self._parts[-1] if self._parts else None
        value = _ANYTHING
        if label == "arguments":
            value = self._tool.whole if self._tool else _ANYTHING
        elif label == "value" and parent is not None:
            value = self._declared(parent)
        elif label == "item" and parent is not None:
            value = parent.value.items()
        if len(self._parts) >= MAX_DEPTH:
            raise DecodeError("nested too deeply", pos)
        self._parts.append(_Part(label, dialect, pos, value))

    def _declared(self, parent: _Part) -> Declared:
        key = parent.key or ""
        if parent.label == "arguments":
            return self._tool.parameter(key) if self._tool else _ANYTHING
        return parent.value.member(key)

    def _close(self, part: _Part, raw: str) -> None:
        match part.label:
            case "arguments":
                self.arguments = self._object(part, raw)
            case "name":
                self._name(part.dialect, raw)
            case "id":
                self.captures["id"] = values.unspelled(part.dialect, raw)
            case "key":
                if self._parts:
                    self._parts[-1].key = values.unspelled(part.dialect, raw)
            case "text":
                if self._parts:
                    parent = self._parts[-1]
                    parent.texts = parent.texts or []
                    parent.texts.append(values.unspelled(part.dialect, raw))
            case "value":
                self._member(part, raw)
            case "item":
                if self._parts:
                    parent = self._parts[-1]
                    parent.items = parent.items or []
                    parent.items.append(self._json(part, raw))
            case _:
                pass

    def _name(self, dialect: str, raw: str) -> None:
        self.name = self.captures["name"] = values.unspelled(dialect, raw)
        self._tool = self._offered.get(self.name) if self._offered else None

    def _member(self, part: _Part, raw: str) -> None:
        if self._parts:
            self._add(self._parts[-1], self._json(part, raw))

    @staticmethod
    def _add(parent: _Part, text: str) -> None:
        key = parent.key or ""
        if key in parent.keys:
            raise BadValue(f"the parameter {key!r} stands twice")
        parent.keys.add(key)
        parent.members.append(f"{values.quoted(key)}: {text}")

    def _json(self, part: _Part, raw: str) -> str:
        if part.members:
            return "{" + ", ".join(part.members) + "}"
        if part.items:
            return "[" + ", ".join(part.items) + "]"
        if part.texts:
            return values.quoted("".join(part.texts))
        if part.typed:
            text, canonical = values.typed(raw, part.value)
            self.canonical = self.canonical and canonical
            return text
        return values.scalar(raw)

    def _object(self, part: _Part, raw: str) -> str:
        if part.members or part.key is not None:
            return "{" + ", ".join(part.members) + "}"
        stripped = raw.strip()
        if not stripped.startswith("{"):
            return "{}"
        self.spelled = (part.start, part.start + len(raw))
        values.decode(stripped)
        return values.strict_json(raw)

    @property
    def open_arguments(self) -> _Part | None:
        """The arguments, while they are being read."""
        return self._parts[0] if self._parts and self._parts[0].label == "arguments" else None

    @property
    def begun_string(self) -> tuple[str, int] | None:
        """Key and start of the parameter being read, when its value can only be the raw text up to its end."""
        parts = self._parts
        if len(parts) < 2 or parts[0].label != "arguments" or parts[1].label != "value":
            return None
        if parts[1].dialect != "raw" or (len(parts) == 2 and not (parts[1].typed and parts[1].value.types == _STRING)):
            return None
        if len(parts) > 2 and (len(parts) > 3 or parts[2].label != "text" or parts[1].texts):
            return None
        key = parts[0].key or ""
        return None if key in parts[0].keys else (key, parts[-1].start)

    @property
    def offered(self) -> bool:
        """Whether the tool is one of those offered, or those are not known."""
        return self._offered is None or self.name in self._offered

    def call(self, end: int, unknown_is_call: bool) -> ToolCall:
        """The call whose frame has matched at ``end``; raises `DecodeError` when it is none."""
        if self.name is None:
            raise DecodeError("the call names no tool", end)
        known = self._offered is None or self.name in self._offered
        if not known and not unknown_is_call:
            raise DecodeError(f"the tool {self.name!r} was not offered", end)
        return ToolCall(self.name, self.arguments or "{}", self.captures.get("id"), True, known)


def call_of(offered: dict[str, Tool] | None, name: str, members: list[tuple[str, int, str]]) -> ToolCall | None:
    """The call of ``name`` with ``members``: each a key, how its value was taken, and its text.

    None where it takes a `CallReader` to tell what they are.
    """
    tool = None
    if offered is not None and (tool := offered.get(name)) is None:
        return None
    texts: dict[str, str] = {}
    for key, how, raw in members:
        if not key or key in texts:
            return None
        if how == BY_VALUE:
            texts[key] = values.quoted(raw)
            continue
        try:
            texts[key], canonical = values.typed_json(raw, tool.parameter(key) if tool is not None else _ANYTHING)
        except BadValue:
            return None
        if not canonical:
            return None
    arguments = ", ".join([f"{values.quoted(key)}: {text}" for key, text in texts.items()])
    return ToolCall(name, f"{{{arguments}}}")
