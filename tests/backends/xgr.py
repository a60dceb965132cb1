"""xgrammar's engine, which reads EBNF and structural tags, without torch and transformers: it needs their names alone."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any

from fetched import python_packages
from pieces import numbers, plain, special


@functools.cache
def _compiler() -> Any:
    python_packages()
    importlib.import_module("tvm_ffi")  # first: it looks closely at a torch that is there
    _stand_in("torch", Tensor=object, LongTensor=object, FloatTensor=object, int32=0, device=object, tensor=_value)
    _stand_in("transformers", PreTrainedTokenizerBase=object, PreTrainedTokenizerFast=object, LogitsProcessor=object)
    xgrammar = importlib.import_module("xgrammar")
    tokens = [*plain(), *special()]
    info = xgrammar.TokenizerInfo(
        tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[len(plain())]
    )
    return xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)


def _value(value: Any, dtype: Any = None) -> Any:  # noqa: ARG001  # torch's name for it
    return value


def _stand_in(name: str, **members: Any) -> None:
    # Also where the real one is installed: with it comes the other, and gigabytes.
    if name not in sys.modules:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


class Grammar:
    """A loaded grammar. Raises `ValueError` where xgrammar does not load it."""

    def __init__(self, text: str, *, tag: bool) -> None:
        compiler = _compiler()
        xgrammar = sys.modules["xgrammar"]
        try:
            compiled = (compiler.compile_structural_tag if tag else compiler.compile_grammar)(text)
        except RuntimeError as error:
            raise ValueError(f"xgrammar does not load the grammar: {str(error)[-500:]}\n{text[:2000]}") from None
        self.matcher = xgrammar.GrammarMatcher(compiled)

    def walks(self, tokens: list[int]) -> bool:
        """Whether these tokens may be written and the reply be over."""
        self.matcher.reset()
        end = numbers(with_special=True)[special()[0]]
        return all(map(self.matcher.accept_token, (*tokens, end)))
