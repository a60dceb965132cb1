"""Transforms: templates of JSON data whose ``"{name}"`` strings stand for what a region captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

from .errors import UnknownPlaceholder, WrongValue

Build = Callable[[Mapping[str, Any]], Any]
PLACEHOLDER = regex.compile(r"\{(\w+(?:\.\w+)*)\}")


def strings(transform: Any) -> Iterator[str]:
    """Every string value in a transform."""
    if isinstance(transform, str):
        yield transform
    elif isinstance(transform, dict):
        for value in transform.values():
            yield from strings(value)
    elif isinstance(transform, list):
        for value in transform:
            yield from strings(value)


def mixed(text: str) -> bool:
    """Whether a placeholder stands beside other text. E.g. ``"call {name}"``"""
    return PLACEHOLDER.search(text) is not None and PLACEHOLDER.fullmatch(text) is None


def builder(transform: Any) -> Build:
    """What makes a value of a transform, new each time.

    >>> builder({"function": {"name": "{name}"}})({"name": "ping"})
    {'function': {'name': 'ping'}}
    """
    if isinstance(transform, dict):
        members = [(key, builder(value)) for key, value in transform.items()]
        return lambda scope: {key: build(scope) for key, build in members}
    if isinstance(transform, list):
        items = [builder(value) for value in transform]
        return lambda scope: [build(scope) for build in items]
    whole = PLACEHOLDER.fullmatch(transform) if isinstance(transform, str) else None
    if whole is None:
        return lambda _: transform
    root, *keys = whole[1].split(".")
    return _looked_up(whole[1], root, keys)


def _looked_up(path: str, root: str, keys: list[str]) -> Build:
    def look_up(scope: Mapping[str, Any]) -> Any:
        if root not in scope:
            raise UnknownPlaceholder(f"nothing is captured for '{{{path}}}'; there is {', '.join(sorted(scope))}")
        value = scope[root]
        for key in keys:
            if not isinstance(value, dict):
                raise WrongValue(f"'{{{path}}}': no {key!r} in a {type(value).__name__}")
            if key not in value:
                raise WrongValue(f"'{{{path}}}': no {key!r}; there is {', '.join(sorted(map(str, value)))}")
            value = value[key]
        return value

    return look_up
