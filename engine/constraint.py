"""A constrained-decoding grammar made for one request, and what a backend must be told with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .emit.schema import Relaxed


@dataclass(frozen=True, slots=True)
class Constraint:
    """A grammar and how to use it. ``grammar`` None: nothing constrains this request.

    ``lazy``: the grammar starts when the model writes one of ``triggers``, which are strings of the output. What the
    grammar does not enforce is listed in ``warnings``.
    """

    target: str
    grammar: str | None
    lazy: bool = False
    triggers: tuple[str, ...] = ()
    preserved_tokens: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    warnings: tuple[Relaxed, ...] = ()

    def llama_server(self) -> dict[str, Any]:
        """The fields of a llama-server ``/completion`` request (not of ``/v1/chat/completions``, which ignores lazy ones).

        Trigger type 1 is a word; ``grammar_triggers`` is there also when it is empty, else the server never constrains.
        """
        if self.grammar is None:
            return {}
        return {
            "grammar": self.grammar,
            "grammar_lazy": self.lazy,
            "grammar_triggers": [{"type": 1, "value": word} for word in self.triggers],
            "preserved_tokens": list(self.preserved_tokens),
        }
