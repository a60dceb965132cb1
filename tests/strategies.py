"""What the tests feed: the corpus, ways to cut a text into chunks, and texts made of pieces of the corpus."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from corpus_file import Case, CorpusFile, Tools, read
from hypothesis import settings
from hypothesis import strategies as st

CORPUS = Path(__file__).parent / "corpus"

FORMATS = sorted(path.stem for path in CORPUS.glob("*.txt"))

# What delimiters are made of, in any format: <…>, </…>, <|…|>, […], "quotes", braces, and the blanks around them.
_MARKER = re.compile(
    r"</?[^\s<>]{1,40}>|<[|｜][^<>]{1,40}[|｜]>|<\|\"\|>|\[/?[A-Z_]{3,}\]|```json|[{}\[\](),:\"'\\]|\n+"
)


def examples(count: int) -> settings:
    """So many examples, forty times as many under `--hypothesis-profile explore`."""
    return settings(max_examples=count * 40 if settings.get_current_profile_name() == "explore" else count)


@functools.cache
def corpus(format_id: str) -> CorpusFile:
    """The corpus file of a format."""
    return read(CORPUS / f"{format_id}.txt")


@dataclass(frozen=True)
class CorpusCase:
    """A case with the format it belongs to."""

    format: str
    case: Case
    tools: Tools | None

    def __str__(self) -> str:
        return f"{self.format}-{self.case.name.replace(' ', '-')}"


def corpus_cases() -> list[CorpusCase]:
    """Every case of every corpus file."""
    return [CorpusCase(name, case, corpus(name).offered(case)) for name in FORMATS for case in corpus(name).cases]


def cut(text: str, cuts: Sequence[int]) -> list[str]:
    """`text` in chunks that end at `cuts` (any order, repeats make empty chunks)."""
    edges = [0, *sorted(cuts), len(text)]
    return [text[start:stop] for start, stop in pairwise(edges)]


def seeded_chunkings(text: str, seeds: range) -> Iterator[list[str]]:
    """Reproducible chunkings of `text`, the finer ones first."""
    for seed in seeds:
        choose = random.Random(f"{seed} {text}")
        count = choose.randint(0, max(1, len(text) // (1 + seed)))
        yield cut(text, [choose.randint(0, len(text)) for _ in range(count)])


def chunkings(text: str) -> st.SearchStrategy[list[str]]:
    """Any way to cut `text` into chunks, empty ones included; shrinks to few cuts."""
    return st.lists(st.integers(0, len(text)), max_size=12).map(lambda cuts: cut(text, cuts))


@functools.cache
def markers(format_id: str) -> tuple[str, ...]:
    """The delimiters that a format's corpus inputs contain, most of them whole."""
    inputs = (case.input for case in corpus(format_id).cases)
    return tuple(sorted({marker for text in inputs for marker in _MARKER.findall(text)}))


def pieces(format_id: str) -> st.SearchStrategy[str]:
    """A slice of a corpus input of the format, a marker of it or the beginning of one, or a little free text."""
    inputs = st.sampled_from([case.input for case in corpus(format_id).cases])
    slices = st.tuples(inputs, st.integers(0, 400), st.integers(0, 400)).map(_slice)
    marker = st.sampled_from(markers(format_id) or ("<",))
    beginnings = st.tuples(marker, st.integers(1, 40)).map(lambda drawn: drawn[0][: drawn[1]])
    free = st.text(st.sampled_from("a1 \n\t<>[]{}\"'\\|/_:=,é🍸\x00"), max_size=4)
    return st.one_of(inputs, slices, marker, beginnings, free)


def spliced(format_id: str) -> st.SearchStrategy[str]:
    """Up to five pieces of the format's corpus, one after the other: broken in every way its delimiters allow."""
    return st.lists(pieces(format_id), min_size=1, max_size=5).map("".join)


def _slice(drawn: tuple[str, int, int]) -> str:
    text, start, length = drawn
    start %= len(text) + 1
    return text[start : start + length]
