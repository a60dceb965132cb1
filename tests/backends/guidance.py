"""llguidance's engine, which reads Lark."""

from __future__ import annotations

import functools
from typing import Any

from fetched import python_packages
from pieces import plain, special


class _Tokenizer:
    """What llguidance asks of a tokenizer."""

    def __init__(self) -> None:
        self.tokens = [*plain(), *special()]
        self.special_token_ids = list(range(len(plain()), len(self.tokens)))
        self.eos_token_id = self.special_token_ids[0]
        self.bos_token_id = None

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@functools.cache
def _tokenizer() -> Any:
    python_packages()
    import llguidance  # noqa: PLC0415  # there when it was fetched

    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Tokenizer()))


class Lark:
    """A loaded grammar. Raises `ValueError` where llguidance does not load it."""

    def __init__(self, text: str) -> None:
        tokenizer = _tokenizer()
        import llguidance  # noqa: PLC0415

        source = llguidance.LLMatcher.grammar_from_lark(text)
        self.matcher = llguidance.LLMatcher(tokenizer, source, log_level=0)
        if self.matcher.is_error():
            raise ValueError(f"llguidance does not load the grammar: {self.matcher.get_error()[:500]}\n{text[:2000]}")

    def walks(self, tokens: list[int]) -> bool:
        """Whether these tokens may be written and the reply be over."""
        self.matcher.reset()
        taken = self.matcher.try_consume_tokens(tokens)
        if self.matcher.is_error():
            raise ValueError(f"llguidance gives up: {self.matcher.get_error()[:500]}")
        return taken == len(tokens) and self.matcher.is_accepting()
