"""Tool-call fields of a template as rules of a grammar file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import EmitError
from .notation import Place, expression, is_blank_run, quoted
from .patterns import Chars, Group, Node, Repeat, Unreadable, read_pattern
from .template import Field

# The dialect of JSON with bare keys and strings between quotes of its own, written for QUOTE.
_DIALECT = {
    "object": '"{" ws (pair (ws "," ws pair)*)? ws "}"',
    "pair": '(QUOTE key:PARAM_NAME QUOTE / &[^{}\\[\\],:] key:PARAM_NAME) ":" ws value:value',
    "value": 'QUOTE text:until(QUOTE) QUOTE / object / array / "true" / "false" / "null" / json.number',
    "array": '"[" ws (item:value (ws "," ws item:value)*)? ws "]"',
}


@dataclass(frozen=True, slots=True)
class Body:
    """The rule of a call, the rules it needs, and the files."""

    rule: str
    rules: dict[str, str] = field(default_factory=dict)
    imports: tuple[str, ...] = ()


def call_body(spec: Field, opener: list[Node], closer: list[Node]) -> Body:
    """The rules of a tool-call field; raises `EmitError` that names it where it is of another shape."""
    function = spec.transform["function"]
    open_place, close_place = Place(spec.name, "open_pattern"), Place(spec.name, "close")
    if spec.closer is None:
        _refuse(spec, "without a close")
    end = expression(closer, close_place)
    end = end if is_blank_run(closer[0]) else f"ws {end}"
    if function == "{content}" and spec.content == "json" and not _dialect(spec):
        start = expression(opener, open_place)
        body = 'json.call(\'"name"\', \'"arguments"\', nothing, "")'
        return Body(f"{start} ^ ws tool_call:call {end}", {"call": body, "nothing": '!""'}, ("json",))
    if not isinstance(function, dict) or function.get("name") != "{name}" or function.get("arguments") != "{content}":
        _refuse(spec, 'whose transform is not {"name": "{name}", "arguments": "{content}"} or "{content}"')
    before, after = _around_name(spec, opener)
    start = expression(before, open_place)
    behind = expression(after, open_place)
    if after and is_blank_run(after[-1]):
        behind = expression(after[:-1], open_place)
    head = f"{start} ^ tool_call:(name:TOOL_NAME{' ' + behind if behind else ''} ws"
    if spec.content == "json":
        arguments, rules, imports = _json(spec)
    elif spec.content == "xml-inline":
        arguments, rules, imports = "arguments:parameter*", _parameters(spec, end), ()
        end = "closed"
    else:
        _refuse(spec, f"with content {spec.content!r}")
    return Body(f"{head} {arguments}) {end}", rules, imports)


def _refuse(spec: Field, what: str) -> NoReturn:
    raise EmitError(f"field {spec.name!r}: a tool call {what} has no counterpart in a grammar file")


def _dialect(spec: Field) -> bool:
    return bool(spec.content_args.get("unquoted_keys") or spec.content_args.get("string_delims"))


def _json(spec: Field) -> tuple[str, dict[str, str], tuple[str, ...]]:
    if not _dialect(spec):
        return "arguments:TOOL_ARGUMENTS", {}, ()
    pairs: Any = spec.content_args.get("string_delims") or []
    if len(pairs) != 1 or pairs[0][0] != pairs[0][1] or not spec.content_args.get("unquoted_keys"):
        _refuse(spec, "in a JSON dialect without bare keys, or with other than one kind of quote")
    quote = quoted(pairs[0][0])
    return "arguments:object", {name: rule.replace("QUOTE", quote) for name, rule in _DIALECT.items()}, ("json",)


def _around_name(spec: Field, opener: list[Node]) -> tuple[list[Node], list[Node]]:
    at = [place for place, item in enumerate(opener) if isinstance(item, Group) and item.name == "name"]
    if len(at) != 1:
        _refuse(spec, "whose open_pattern has no group 'name' of its own")
    return opener[: at[0]], opener[at[0] + 1 :]


def _parameters(spec: Field, end: str) -> dict[str, str]:
    """The rules of ``tag_pattern``: text, the key, text, the value, text."""
    place = Place(spec.name, "tag_pattern")
    if spec.content_args.get("value_parser") not in (None, {"name": "json", "args": {"allow_non_json": True}}):
        _refuse(spec, "with a value_parser")
    try:
        node = read_pattern(spec.content_args.get("tag_pattern") or "")
    except Unreadable as error:
        place.refuse(str(error))
    items = list(getattr(node, "items", (node,)))
    groups = [(item.name, at) for at, item in enumerate(items) if isinstance(item, Group) and item.name]
    if [name for name, _ in groups] != ["key", "value"]:
        place.refuse("a pattern that is not text, key, text, value, text")
    key, value = groups[0][1], groups[1][1]
    if not _is_text(items[value]):
        place.refuse("a value that is not .*?")
    start, middle, close = items[:key], items[key + 1 : value], items[value + 1 :]
    stripped = bool(middle) and is_blank_run(middle[-1])
    blank = "ws " if stripped else ""
    closer = expression(close[1:] if close and is_blank_run(close[0]) else close, place)
    return {
        "parameter": f"{expression(start, place)} key:PARAM_NAME {expression(middle[:-1] if stripped else middle, place)} "
        f"{blank}value:PARAM_VALUE(end / tolerate(closed)) (end ws / tolerate(&closed))",
        "end": f"{blank}{closer}",
        "closed": end,
    }


def _is_text(node: Node) -> bool:
    inner = node.item if isinstance(node, Group) else node
    return isinstance(inner, Repeat) and inner.mode == "?" and isinstance(inner.item, Chars)
