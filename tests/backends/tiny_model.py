"""A tiny language model with random weights, which llama.cpp loads: every text that a grammar allows has a chance."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import chatpeg
from chatpeg.catalog import shipped
from fetched import cache, python_packages

CONTROL = ("<|endoftext|>", "<tiny-end>", "<pad>")
PIECES = (
    '{"', '"}', '":', '": ', '": "', '", "', '"}}', "}}", "},", ", ", '{"name": "', '", "arguments": {', "<function=",
    "</function>", "<parameter=", "</parameter>", ">\n", "\n\n", "  ", "\n ", "get", "_", "weather", "city", "Paris",
    "the", " the", "true", "false", "null", "123", "00", ".5", '\\"', "\\n", "\\u", "tool", "_call", "</", ">,", "[]",
    "{}", "é", "日本", "😀", "</tool", "_call>", "<invoke", "</invoke>", "<|", "|>", "](", ")]", "', '", "='", "<arg",
)  # fmt: skip
SPLIT = (b"\xc3", b"\xe6\x97", b"\xf0\x9f", b"\x98\x80", b"a\xc3", b"\xa9b")
"""Pieces that end or begin inside a character."""

BIAS = {'"': 3.0, "}": 3.0, "]": 2.0, ")": 2.0, "'": 2.0, ">": 1.5, "<": 1.5, "\\": -1.0, "{": -1.0, "[": -1.5}
DIM, HIDDEN, HEADS, LAYERS = 64, 128, 4, 2


def special_tokens() -> list[str]:
    """The special tokens of every format."""
    return sorted({token for name in shipped() for token in chatpeg.load(name).loaded.tokens})


def path(*, vocabulary_only: bool, words: Iterable[str] = ()) -> Path:
    """The model's file, made when it is first asked for; ``words`` are further tokens."""
    words = tuple(words)
    made_of = repr((special_tokens(), PIECES, SPLIT, BIAS, Path(__file__).read_bytes(), words))
    name = f"tiny-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}-{vocabulary_only}.gguf"
    found = cache() / name
    if not found.exists():
        python_packages()
        part = found.with_suffix(f".{os.getpid()}")  # another process may be making it too
        _write(part, words, vocabulary_only=vocabulary_only)
        part.rename(found)
    return found


@functools.cache
def _byte_names() -> dict[int, str]:
    """How byte-level tokenizers spell bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + index) for index, byte in enumerate(others)}


def _entries(words: tuple[str, ...]) -> dict[str, tuple[str, bytes]]:
    """The vocabulary: for each token's spelling its kind and its bytes."""
    plain: Iterable[bytes] = (
        *(bytes([byte]) for byte in range(256)),
        *(piece.encode() for piece in PIECES + words),
        *SPLIT,
    )
    found = {"".join(_byte_names()[byte] for byte in raw): ("NORMAL", raw) for raw in plain}
    found |= {text: ("CONTROL", text.encode()) for text in CONTROL}
    return found | {text: ("USER_DEFINED", text.encode()) for text in special_tokens()}


def _write(path: Path, words: tuple[str, ...], *, vocabulary_only: bool) -> None:
    import gguf  # noqa: PLC0415  # there when it was fetched

    entries = _entries(words)
    names = list(entries)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(4096)
    writer.add_embedding_length(DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(DIM // HEADS)
    writer.add_vocab_size(len(names))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType[kind] for kind, _ in entries.values()])
    writer.add_token_merges(["a b"])  # the loader refuses an empty list; there is no token "ab"
    writer.add_bos_token_id(names.index(CONTROL[0]))
    writer.add_eos_token_id(names.index(CONTROL[1]))
    writer.add_eot_token_id(names.index(CONTROL[1]))
    writer.add_pad_token_id(names.index(CONTROL[2]))
    writer.add_add_bos_token(value=False)
    writer.add_chat_template(
        "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
    )
    if not vocabulary_only:
        for name, tensor in _tensors([raw.decode("utf-8", "replace") for _, raw in entries.values()]).items():
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(texts: list[str]) -> dict[str, Any]:
    """Random weights; dimension 0 is a constant, so the output's column 0 is each token's own bias."""
    import numpy as np  # noqa: PLC0415  # there when it was fetched

    random = np.random.default_rng(0)

    def weights(*shape: int, scale: float = 1.0) -> Any:
        return (random.standard_normal(shape) * scale).astype(np.float32)  # float64 would load, and crash

    embedding, output = weights(len(texts), DIM), weights(len(texts), DIM, scale=DIM**-0.5)
    embedding[:, 0] = 8.0
    constant = 8.0 / np.sqrt((64.0 + DIM - 1) / DIM)
    output[:, 0] = [_bias(text) / constant for text in texts]
    made = {"token_embd.weight": embedding, "output.weight": output, "output_norm.weight": np.ones(DIM, np.float32)}
    for layer in range(LAYERS):
        block = {f"{name}_norm": np.ones(DIM, np.float32) for name in ("attn", "ffn")}
        block |= {f"attn_{name}": weights(DIM, DIM, scale=0.1) for name in ("q", "k", "v", "output")}
        block |= {name: weights(HIDDEN, DIM, scale=0.1) for name in ("ffn_gate", "ffn_up")}
        block |= {"ffn_down": weights(DIM, HIDDEN, scale=0.1)}
        block["attn_output"][0, :] = block["ffn_down"][0, :] = 0
        made |= {f"blk.{layer}.{name}.weight": tensor for name, tensor in block.items()}
    return made


def _bias(text: str) -> float:
    if text == CONTROL[1]:
        return 3.0
    if text.startswith("</") or "end" in text or "close" in text:
        return 3.0
    return BIAS.get(text, 1.0 if text in special_tokens() else 0.0)
