"""llama.cpp's own grammar engine and sampler, through ctypes.

Characters go through the functions of llama.cpp's ``test-gbnf-validator``, by their mangled names; tokens through
``llama.h`` alone. A C++ exception ends the process, so what may raise one runs in `isolated`.
"""

from __future__ import annotations

import ctypes as c
import functools
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fetched import llama_library

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an abort starts a debugger

_INIT = "_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim"
_ACCEPT = "_Z20llama_grammar_acceptP13llama_grammarj"
_FREE = "_Z23llama_grammar_free_implP13llama_grammar"
_STACKS = "_Z24llama_grammar_get_stacksP13llama_grammar"


class _Vector(c.Structure):
    _fields_ = [("begin", c.c_void_p), ("end", c.c_void_p), ("capacity", c.c_void_p)]


class _Token(c.Structure):
    _fields_ = [("id", c.c_int32), ("logit", c.c_float), ("p", c.c_float)]


class _Tokens(c.Structure):
    _fields_ = [("data", c.POINTER(_Token)), ("size", c.c_size_t), ("selected", c.c_int64), ("sorted", c.c_bool)]


class _ModelParameters(c.Structure):
    _fields_ = [
        ("head", c.c_char * 72),
        ("vocab_only", c.c_bool),
        ("rest", c.c_char * 71),
    ]


class _ContextParameters(c.Structure):
    _fields_ = [("sizes", c.c_uint32 * 7), ("threads", c.c_int32 * 2), ("rest", c.c_char * 400)]


class _Batch(c.Structure):
    _fields_ = [
        ("n_tokens", c.c_int32),
        *((name, c.c_void_p) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits")),
    ]


class _ChainParameters(c.Structure):
    _fields_ = [("no_perf", c.c_bool)]


_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class Library:
    """llama.cpp; its messages go to ``log``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (path,) = directory.glob("libllama.*so*")
        self.c = c.CDLL(str(path), mode=c.RTLD_GLOBAL)
        self.log: list[str] = []
        self._log = _LOG(lambda _level, text, _data: self.log.append(text.decode("utf-8", "replace")))
        self.c.llama_log_set(self._log, None)
        v, s, i, z = c.c_void_p, c.c_char_p, c.c_int32, c.c_size_t
        self.init = self.declared(_INIT, v, v, s, s, c.c_bool, c.POINTER(s), z, c.POINTER(i), z)
        self.accept = self.declared(_ACCEPT, None, v, c.c_uint32)
        self.free = self.declared(_FREE, None, v)
        self.stacks = self.declared(_STACKS, c.POINTER(_Vector), v)

    def declared(self, name: str, result: Any, *arguments: Any) -> Any:
        """The function of that name with its types."""
        function = self.c[name]
        function.restype, function.argtypes = result, list(arguments)
        return function

    def load_backends(self) -> None:
        """Needed before a model is loaded: the processors' variants are libraries of their own."""
        (path,) = self.directory.glob("libggml.*so*")
        ggml = c.CDLL(str(path), mode=c.RTLD_GLOBAL)
        ggml.ggml_backend_load_all_from_path.argtypes = [c.c_char_p]
        ggml.ggml_backend_load_all_from_path(str(self.directory).encode())
        self.c.llama_backend_init()


@functools.cache
def library() -> Library:
    """The fetched llama.cpp."""
    return Library(llama_library())


class Grammar:
    """A loaded grammar without a vocabulary. Raises `ValueError` where llama.cpp does not load it."""

    def __init__(self, text: str) -> None:
        self.lib = library()
        self.text = text
        self.grammar: Any = None
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.close()
        self.grammar = self.lib.init(None, self.text.encode(), b"root", False, None, 0, None, 0)
        if not self.grammar:
            raise ValueError(f"llama.cpp does not load the grammar: {''.join(self.lib.log[-3:])}\n{self.text[:2000]}")

    def close(self) -> None:
        if self.grammar:
            self.lib.free(self.grammar)
            self.grammar = None

    __del__ = close

    @property
    def stacks(self) -> int:
        """How many ways of going on are alive."""
        vector = self.lib.stacks(self.grammar).contents
        return ((vector.end or 0) - (vector.begin or 0)) // c.sizeof(_Vector)

    @property
    def may_end(self) -> bool:
        count = self.stacks
        stacks = c.cast(self.lib.stacks(self.grammar).contents.begin, c.POINTER(_Vector))
        return any(stacks[index].begin == stacks[index].end for index in range(count))

    def feed(self, text: str) -> bool:
        """Whether all of ``text`` may come next."""
        for character in text:
            self.lib.accept(self.grammar, ord(character))
            if not self.stacks:
                return False
        return True

    def matches(self, text: str) -> bool:
        """Whether ``text`` is a sentence of the grammar."""
        self.reset()
        return self.feed(text) and self.may_end


class Vocabulary:
    """The tokens of a GGUF file."""

    def __init__(self, path: Path, *, only: bool = True) -> None:
        self.lib = lib = library()
        lib.load_backends()
        v, s, i = c.c_void_p, c.c_char_p, c.c_int32
        parameters = lib.declared("llama_model_default_params", _ModelParameters)()
        parameters.vocab_only = only
        self.model = lib.declared("llama_model_load_from_file", v, s, _ModelParameters)(str(path).encode(), parameters)
        if not self.model:
            raise ValueError(f"llama.cpp does not load the model: {''.join(lib.log[-5:])}")
        self.vocab = lib.declared("llama_model_get_vocab", v, v)(self.model)
        self.size: int = lib.declared("llama_vocab_n_tokens", i, v)(self.vocab)
        self._piece = lib.declared("llama_token_to_piece", i, v, i, s, i, i, c.c_bool)
        self._is_end = lib.declared("llama_vocab_is_eog", c.c_bool, v, i)
        self._tokenize = lib.declared("llama_tokenize", i, v, s, i, c.POINTER(i), i, c.c_bool, c.c_bool)
        self.pieces = [self.piece(token) for token in range(self.size)]
        self.ids = {piece: token for token, piece in reversed(list(enumerate(self.pieces)))}
        self.ends = [token for token in range(self.size) if self.is_end(token)]

    def piece(self, token: int) -> bytes:
        """The bytes of a token."""
        buffer = c.create_string_buffer(256)
        size = self._piece(self.vocab, token, buffer, 256, 0, True)
        return buffer.raw[: max(size, 0)]

    def is_end(self, token: int) -> bool:
        return bool(self._is_end(self.vocab, token))

    def tokens(self, text: str) -> list[int]:
        """The text as the tokenizer cuts it."""
        raw = text.encode()
        buffer = (c.c_int32 * (len(raw) + 8))()
        count = self._tokenize(self.vocab, raw, len(raw), buffer, len(buffer), False, True)
        return list(buffer[:count])


class Sampler:
    """The grammar sampler over tokens; ``triggers``: patterns on which a lazy one wakes up."""

    def __init__(self, vocabulary: Vocabulary, grammar: str, triggers: Iterable[str] | None = None) -> None:
        self.vocabulary, self.lib = vocabulary, vocabulary.lib
        v, s, z, i = c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32
        self._apply = self.lib.declared("llama_sampler_apply", None, v, c.POINTER(_Tokens))
        self._accept = self.lib.declared("llama_sampler_accept", None, v, i)
        if triggers is None:
            make = self.lib.declared("llama_sampler_init_grammar", v, v, s, s)
            self.sampler = make(vocabulary.vocab, grammar.encode(), b"root")
        else:
            name = "llama_sampler_init_grammar_lazy_patterns"
            make = self.lib.declared(name, v, v, s, s, c.POINTER(s), z, c.POINTER(i), z)
            words = [trigger.encode() for trigger in triggers]
            listed = (s * len(words))(*words)
            self.sampler = make(vocabulary.vocab, grammar.encode(), b"root", listed, len(words), (i * 1)(), 0)
        if not self.sampler:
            raise ValueError(f"llama.cpp does not load the grammar: {''.join(self.lib.log[-3:])}")

    def allowed(self, tokens: Iterable[int]) -> list[int]:
        """Those of the tokens that may come next."""
        ids = list(tokens)
        data = (_Token * len(ids))()
        for entry, token in zip(data, ids, strict=True):
            entry.id = token
        self.mask(data)
        return [entry.id for entry in data if entry.logit != float("-inf")]

    def mask(self, data: Any) -> None:
        """Set the logits of those that may not come next to minus infinity."""
        self._apply(self.sampler, c.byref(_Tokens(data, len(data), -1, False)))

    def candidates(self) -> Any:
        """Every token of the vocabulary, for `mask`."""
        data = (_Token * self.vocabulary.size)()
        for token, entry in enumerate(data):
            entry.id = token
        return data

    def accept(self, token: int) -> None:
        """Go on behind a token that is allowed; any other ends the process."""
        self._accept(self.sampler, token)

    def close(self) -> None:
        self.lib.declared("llama_sampler_free", None, c.c_void_p)(self.sampler)
        self.sampler = None

    @property
    def may_end(self) -> bool:
        return bool(self.allowed(self.vocabulary.ends))

    def walks(self, tokens: Iterable[int]) -> bool:
        """Whether these tokens may be written and the reply be over, as a server decides it token by token."""
        for token in tokens:
            if not self.allowed([token]):
                return False
            self.accept(token)
        return self.may_end


class Model(Vocabulary):
    """A GGUF file to sample from."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, only=False)
        v, i = c.c_void_p, c.c_int32
        declared = self.lib.declared
        parameters = declared("llama_context_default_params", _ContextParameters)()
        parameters.sizes[0] = 4096
        parameters.threads[0] = parameters.threads[1] = 1
        self.context = declared("llama_init_from_model", v, v, _ContextParameters)(self.model, parameters)
        self._batch = declared("llama_batch_get_one", _Batch, c.POINTER(i), i)
        self._decode = declared("llama_decode", i, v, _Batch)
        self._memory = declared("llama_get_memory", v, v)
        self._clear = declared("llama_memory_clear", None, v, c.c_bool)
        self._chain = declared("llama_sampler_chain_init", v, _ChainParameters)
        self._add = declared("llama_sampler_chain_add", None, v, v)
        self._temperature = declared("llama_sampler_init_temp", v, c.c_float)
        self._dice = declared("llama_sampler_init_dist", v, c.c_uint32)
        self._sample = declared("llama_sampler_sample", i, v, v, i)
        self._free = declared("llama_sampler_free", None, v)

    def generate(self, prompt: str, grammar: Sampler, seed: int, most: int) -> tuple[str, bool]:
        """What the model writes under a grammar, which is used up, and whether it came to the end."""
        self._clear(self._memory(self.context), True)
        chain = self._chain(_ChainParameters(True))
        for part in (grammar.sampler, self._temperature(1.0), self._dice(seed)):
            self._add(chain, part)
        tokens, written, ended = self.tokens(prompt), b"", False
        for _ in range(most):
            listed = (c.c_int32 * len(tokens))(*tokens)
            if self._decode(self.context, self._batch(listed, len(tokens))):
                break
            token = self._sample(chain, self.context, -1)
            if self.is_end(token):
                ended = True
                break
            written += self.pieces[token]
            tokens = [token]
        self._free(chain)
        return written.decode("utf-8", "replace"), ended


class _Text(c.Structure):
    """libstdc++'s ``std::string``."""

    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t), ("room", c.c_size_t * 2)]


def converted(schema: str) -> str:
    """The grammar that llama.cpp itself makes of a JSON schema. One that it refuses ends the process."""
    (path,) = library().directory.glob("libllama-common.so*")
    common = c.CDLL(str(path), mode=c.RTLD_GLOBAL)
    parse = common["_ZN11common_json5parseERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"]
    convert = common["_Z22json_schema_to_grammarB5cxx11RK11common_jsonb"]
    parse.restype = convert.restype = None
    raw = schema.encode()
    buffer, json, out = c.create_string_buffer(raw), c.create_string_buffer(256), _Text()
    text = _Text(c.addressof(buffer), len(raw))
    parse(c.byref(json), c.byref(text))
    convert(c.byref(out), c.byref(json), c.c_bool(True))
    return c.string_at(out.data, out.size).decode()


def isolated(work: Callable[[], Any], seconds: float = 60) -> Any:
    """What ``work`` returns in a process of its own with bounded memory; `RuntimeError` if that dies."""

    def run(pipe: Any) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            pipe.send((True, work()))
        except Exception as error:  # noqa: BLE001  # told to the parent
            pipe.send((False, repr(error)))
        os._exit(0)

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(theirs,))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise RuntimeError("llama.cpp did not come to an end")
        good, result = ours.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"llama.cpp ended the process: {process.exitcode}") from None
    finally:
        if process.is_alive():
            process.kill()
        process.join()
    if not good:
        raise RuntimeError(result)
    return result
