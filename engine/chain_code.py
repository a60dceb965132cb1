"""A chain as two Python functions, written out: what it consists of is not looked up while they run.

Dataclasses write `__init__` in this way. The text holds no word of a grammar: what comes from one is a constant in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from .chain_run import RunText
from .chain_tell import TellText
from .chain_text import ChainText
from .jsonscan import whole_value
from .program import Link


@dataclass(frozen=True, eq=False)
class Chain:
    """A straight run of instructions: its links, how many characters must follow it, and where it leads.

    ``lead`` is the text that it begins with, if its first instruction says so.
    """

    links: tuple[Link, ...]
    slack: int
    target: int
    lead: str

    @functools.cached_property
    def run(self) -> Callable[..., tuple[int, Any] | int]:
        """``(machine, text, pos, at_end, calls, scopes, barrier)``: where the chain ends, and the scopes behind it.

        Nothing is done if what it reads does not stand there, and only the place that it had come to is returned.
        """
        run: Callable[..., tuple[int, Any] | int] = _function("run", RunText(self.links, self.slack, self))
        return run

    @functools.cached_property
    def tell(self) -> Callable[..., None]:
        """``(regions, kept, text, base)``: what its instructions would have logged one by one."""
        tell: Callable[..., None] = _function("tell", TellText(self.links))
        return tell


def _function(name: str, text: ChainText) -> Any:
    namespace = {"whole_value": whole_value, **text.constants}
    exec(_compiled(text.source), namespace)  # noqa: S102 - a text of our own words
    return namespace[name]


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    """The code of a text; chains of one shape have the same."""
    return compile(source, "<chatpeg chain>", "exec")
