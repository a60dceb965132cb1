"""What a request's tools are called, as the machine looks for it."""

from __future__ import annotations

import re

import regex

from . import values
from .program import NameSlot, Program
from .request import MOST_KNOWN, Tool
from .state import Names, Slot

_STRING = frozenset(("string",))


class _OnlyText(dict[tuple[str, str], bool]):
    """Whether a tool's property can only be a string."""

    def __init__(self, tools: dict[str, Tool]) -> None:
        self._tools = tools

    def __missing__(self, place: tuple[str, str]) -> bool:
        tool = self._tools.get(place[0])
        only = tool is not None and tool.parameter(place[1]).types == _STRING
        if len(self) < MOST_KNOWN:
            self[place] = only
        return only


def names_of(program: Program, tools: tuple[Tool, ...] | None) -> Names:
    """What the machine must know of the tools; None: it is not known which were offered.

    >>> import chatpeg
    >>> names_of(chatpeg.load("hermes").program, ()).only_text["f", "a"]
    False
    """
    by_name = {tool.name: tool for tool in tools or ()}
    properties = (
        None if tools is None else {tool.name: tuple(sorted(tool.names, key=len, reverse=True)) for tool in tools}
    )
    return Names(tuple(_slot(slot, tools) for slot in program.names), _OnlyText(by_name), properties, values.unspelled)


def _slot(slot: NameSlot, tools: tuple[Tool, ...] | None) -> Slot:
    shape = re.compile(f"{slot.shape}{{1,128}}+")
    if tools is None:
        return Slot(None, shape, None, None)
    spelled = sorted((values.spelled(slot.dialect, tool.name) for tool in tools), key=len, reverse=True)
    if not spelled:
        return Slot(re.compile("(?!)"), shape, None, frozenset())
    offered = re.compile(f"(?:{'|'.join(map(re.escape, spelled))}){slot.follow}")
    odd = [name for name in spelled if not shape.fullmatch(name)]
    if not odd:
        return Slot(offered, shape, None, frozenset(spelled))
    growing = regex.compile(f"(?>{'|'.join(map(regex.escape, odd))}{slot.follow})(?!)")
    return Slot(offered, shape, growing, frozenset())
