"""A small vocabulary for engines that take one from Python: every byte, pieces that split characters, special tokens."""

from __future__ import annotations

import functools
from random import Random

from tiny_model import PIECES, SPLIT, special_tokens

END = "<tiny-end>"


@functools.cache
def plain() -> tuple[bytes, ...]:
    """Tokens that are text: the first 256 are the bytes."""
    pieces = (piece.encode() for piece in PIECES)
    return tuple(dict.fromkeys((*(bytes([byte]) for byte in range(256)), *pieces, *SPLIT)))


@functools.cache
def special() -> tuple[bytes, ...]:
    """The special tokens of every format, and the end of a reply first."""
    return END.encode(), *(token.encode() for token in special_tokens())


@functools.cache
def numbers(*, with_special: bool) -> dict[bytes, int]:
    """The token of each piece; special tokens are numbered behind the plain ones."""
    tokens = plain() + (special() if with_special else ())
    return {piece: token for token, piece in enumerate(tokens)}


def cut(text: str, random: Random, *, with_special: bool) -> list[int]:
    """The text in tokens of random lengths, delimiters and characters split."""
    raw, known, at, tokens = text.encode(), numbers(with_special=with_special), 0, []
    while at < len(raw):
        longest = min(len(raw) - at, 40)
        sizes = [size for size in range(1, longest + 1) if raw[at : at + size] in known]
        size = random.choice(sizes)
        tokens.append(known[raw[at : at + size]])
        at += size
    return tokens
