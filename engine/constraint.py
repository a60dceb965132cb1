"""A constrained-decoding grammar made for one request, and what a backend must be told with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import EmitError

if TYPE_CHECKING:
    from .emit.schema import Relaxed


@dataclass(frozen=True, slots=True)
class Constraint:
    """A grammar and how to use it. ``grammar`` None: nothing constrains this request.

    ``lazy``: the grammar starts when the model writes one of ``triggers``, which are strings of the output; a structural
    tag waits for them by itself and is not lazy. What the grammar does not enforce is listed in ``warnings``.
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
        if self.target != "gbnf":
            raise EmitError(f"llama-server takes no {self.target}; use gbnf")
        return {
            "grammar": self.grammar,
            "grammar_lazy": self.lazy,
            "grammar_triggers": [{"type": 1, "value": word} for word in self.triggers],
            "preserved_tokens": list(self.preserved_tokens),
        }

    def vllm(self) -> dict[str, Any]:
        """The fields of a vLLM request (checked with 0.33; ``extra_body`` of an OpenAI client), chat or completion.

        A structural tag and EBNF are for its xgrammar backend, Lark for ``guidance``. EBNF does not let the model write
        special tokens there, and Lark those alone that it was given numbers of: where the delimiters of a format are
        such, use a structural tag, or `Chat.lark` with ``special_tokens``. Send ``skip_special_tokens: False`` with it,
        else the reply comes without them.
        """
        if self.grammar is None:
            return {}
        field = {"structural_tag": "structural_tag", "ebnf": "grammar", "lark": "grammar"}.get(self.target)
        return {"structured_outputs": {self._accepted("vLLM", field): self.grammar}}

    def sglang(self) -> dict[str, Any]:
        """The ``sampling_params`` of an SGLang ``/generate`` request (checked with 0.5.23), for its xgrammar backend.

        Its OpenAI routes take ``ebnf`` as it is, and a structural tag as the object that its JSON is in
        ``response_format``. Send ``skip_special_tokens: False`` with it, else the reply comes without them.
        """
        if self.grammar is None:
            return {}
        field = {"structural_tag": "structural_tag", "ebnf": "ebnf"}.get(self.target)
        return {self._accepted("SGLang", field): self.grammar}

    def _accepted(self, server: str, field: str | None) -> str:
        if field is None:
            raise EmitError(f"{server} takes no {self.target}; use structural_tag")
        if self.lazy:
            raise EmitError(f"{server} has no lazy {self.target}: it would allow nothing but calls; use structural_tag")
        return field
