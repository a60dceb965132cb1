"""A loaded template: its fields with their delimiters, and how the text of each becomes a value."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from ..errors import Problem
from .contents import Read
from .errors import WrongValue
from .scan import Delimiter, Watch, watches
from .transforms import Build


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A part of the message. ``opener`` None: it holds what is outside all others; ``closer`` None: up to the end.

    ``verbatim`` says that its chunks are part of its value as they are.
    """

    name: str
    opener: Delimiter | None
    closer: Delimiter | None
    content: str
    content_args: Mapping[str, Any]
    repeats: bool
    join: str | None
    optional: bool
    transform: Any
    transform_each: bool
    read: Read = field(repr=False)
    build: Build | None = field(repr=False)

    @property
    def verbatim(self) -> bool:
        return self.content == "text" and self.transform is None

    @property
    def is_call(self) -> bool:
        """Whether its value is made a tool call."""
        return isinstance(self.transform, dict) and "function" in self.transform

    @property
    def json_values(self) -> bool:
        """Whether its values are decoded from JSON, where a string says that it is one."""
        inner = self.content_args.get("value_parser") or {}
        return self.content == "json" or inner.get("name") == "json"

    def value(self, body: str, captures: Mapping[str, str], read: Read | None = None) -> Any:
        """The value of a region with this text, or of what ``read`` makes of it; what that or the transform raises is raised."""
        value = (read or self.read)(body)
        if self.build is None:
            return value
        if not self.transform_each:
            return self.build({**captures, "content": value})
        if not isinstance(value, list):
            raise WrongValue(f"field {self.name!r}: transform_each needs a list, not {type(value).__name__}")
        for item in value:
            if not isinstance(item, dict):
                raise WrongValue(f"field {self.name!r}: transform_each needs dicts, not {type(item).__name__}")
        return [self.build({**captures, **item}) for item in value]


@dataclass(frozen=True, slots=True, eq=False)
class ResponseTemplate:
    """A checked template; immutable. ``warnings`` are faults that a reply may or may not run into.

    ``outside`` and ``inside`` are what the machine looks for.
    """

    name: str
    anchor: Delimiter
    fields: Mapping[str, Field]
    implicit: Field | None
    warnings: tuple[Problem, ...]
    spec: Mapping[str, Any] = field(repr=False)
    outside: Watch = field(repr=False)
    inside: Mapping[str, Watch] = field(repr=False)

    def defaults(self) -> dict[str, Any]:
        """The members of the message that are there before anything is read; a new dict each time."""
        return deepcopy(dict(self.spec.get("defaults", {})))

    @property
    def looks_behind(self) -> bool:
        """Whether a delimiter can depend on text before it, which is kept then."""
        both = [one for field in self.fields.values() for one in (field.opener, field.closer)]
        return any(delimiter is not None and delimiter.looks_behind for delimiter in both)

    def behind_anchor(self, prompt: str) -> str:
        """The text behind the last start anchor; all of ``prompt`` if there is none in it."""
        end = 0
        for match in self.anchor.pattern.finditer(prompt):
            end = match.end()
        return prompt[end:]


def template_of(
    name: str, spec: Mapping[str, Any], anchor: Delimiter, fields: Mapping[str, Field], warnings: tuple[Problem, ...]
) -> ResponseTemplate:
    """The template of checked parts."""
    implicit = next((one for one in fields.values() if one.opener is None), None)
    openers = {key: one.opener for key, one in fields.items() if one.opener is not None}
    closers = {key: one.closer for key, one in fields.items() if one.closer is not None}
    outside, inside = watches(openers, closers, implicit.name if implicit else None)
    return ResponseTemplate(name, anchor, fields, implicit, warnings, spec, outside, inside)
