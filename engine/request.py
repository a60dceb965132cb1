"""What a request offers: tools, and which of them may be called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import RequestError
from .schema_types import Declared, declared, member_names

MOST_KNOWN = 4096
"""Parameters of a tool, or of all, kept in mind: a model can make up any number of names."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """An offered tool: its name and its parameters' JSON schema."""

    name: str
    parameters: Mapping[str, Any]
    _known: dict[str, Declared] = field(default_factory=dict, repr=False)

    @property
    def whole(self) -> Declared:
        """The parameters as one declared object."""
        known = self._known.get("")
        if known is None:
            known = self._known[""] = declared(self.parameters, self.parameters)
        return known

    def parameter(self, name: str) -> Declared:
        """The declared value of parameter ``name``."""
        known = self._known.get("." + name)
        if known is None:
            known = self.whole.member(name)
            if len(self._known) < MOST_KNOWN:
                self._known["." + name] = known
        return known

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the schema names, in its order."""
        return tuple(member_names(self.parameters, self.parameters))


def read_tools(tools: Any) -> tuple[Tool, ...] | None:
    """The tools of an OpenAI-style list, or None for None. Raises `RequestError` with what is wrong where.

    >>> read_tools([{"type": "function", "function": {"name": "ping"}}])[0].name
    'ping'
    """
    if tools is None:
        return None
    if isinstance(tools, str | bytes) or not isinstance(tools, Sequence):
        raise RequestError(f"tools must be a list of OpenAI-style tools, not {type(tools).__name__}")
    read = tuple(_tool(tool, index) for index, tool in enumerate(tools))
    names = [tool.name for tool in read]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise RequestError(f"tools[{index}]: the name {name!r} is used twice; names must differ")
    return read


def _tool(tool: Any, index: int) -> Tool:
    where = f"tools[{index}]"
    if not isinstance(tool, Mapping):
        raise RequestError(f"{where} must be a dict, not {type(tool).__name__}")
    function = tool.get("function")
    if tool.get("type", "function") != "function" or not isinstance(function, Mapping):
        example = '{"type": "function", "function": {"name": …, "parameters": {…}}}'
        raise RequestError(f"{where} is not an OpenAI-style tool; write {example}")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise RequestError(f"{where}: function.name must be a text that is not empty, not {name!r}")
    parameters = function.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping):
        raise RequestError(f"{where} ({name}): function.parameters must be a JSON schema, a dict, not {parameters!r}")
    _check_properties(parameters, f"{where} ({name})")
    return Tool(name, parameters)


def _check_properties(parameters: Mapping[str, Any], where: str) -> None:
    properties = parameters.get("properties", {})
    if not isinstance(properties, Mapping):
        raise RequestError(f"{where}: parameters.properties must be a dict, not {properties!r}")
    for name, schema in properties.items():
        if not isinstance(schema, Mapping | bool):
            raise RequestError(f"{where}: the schema of {name!r} must be a dict or a bool, not {schema!r}")
    required = parameters.get("required", [])
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        raise RequestError(f"{where}: parameters.required must be a list of names, not {required!r}")


def read_response_format(value: Any) -> Any:
    """The JSON schema of an OpenAI-style response_format, or of a bare schema; None for text.

    Raises `RequestError` for anything else.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        match value.get("type"):
            case "text":
                return None
            case "json_object" if set(value) <= {"type", "schema"}:
                return value.get("schema", {"type": "object"})
            case "json_schema":
                inner = value.get("json_schema", {})
                if isinstance(inner, Mapping) and isinstance(inner.get("schema"), Mapping | bool):
                    return inner["schema"]
            case _:
                return value
    elif isinstance(value, bool):
        return value
    example = '{"type": "json_schema", "json_schema": {"schema": {…}}}'
    raise RequestError(f"response_format must be a JSON schema or {example}, not {json.dumps(value)[:80]}")
