"""One streamed parse as a client sees it, and what must hold of every such parse whatever the text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import chatpeg
from chatpeg import RegionChunk, RegionClose, RegionMalformed, RegionOpen

GRAMMARS = Path(__file__).parent.parent / "grammars"
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Replay:
    """The events of one parse with adjacent chunks merged, and the messages on the way."""

    events: tuple[Any, ...]
    messages: tuple[Any, ...]
    input_text: str

    @property
    def final(self) -> Any:
        """The message after `finish`."""
        return self.messages[-1]


def replay(chat: Any, chunks: Iterable[str], prompt: str | None, *, snapshots: bool = False) -> Replay:
    """Feeds `chunks` and finishes; with `snapshots` the message is read after every chunk."""
    parser = chat.parser(prompt=prompt)
    events = list(parser.initial_events)
    messages = [parser.message]
    for chunk in chunks:
        events += parser.feed(chunk)
        if snapshots:
            messages.append(parser.message)
    events += parser.finish()
    messages.append(parser.message)
    return Replay(merged(events), tuple(messages), parser.input_text)


def merged(events: Iterable[Any]) -> tuple[Any, ...]:
    """The events with adjacent chunks of the same label joined: what all chunkings have in common."""
    joined: list[Any] = []
    for event in events:
        last = joined[-1] if joined else None
        if isinstance(event, RegionChunk) and isinstance(last, RegionChunk) and _same_run(last, event):
            joined[-1] = last._replace(text=last.text + event.text)
        else:
            joined.append(event)
    return tuple(joined)


def assert_append_only(messages: Sequence[Any]) -> None:
    """P2: content and reasoning only grow at their end, and a delivered call stays as it is."""
    for before, after in pairwise(messages):
        assert (after.content or "").startswith(before.content or "")
        assert (after.reasoning_content or "").startswith(before.reasoning_content or "")
        assert list(after.tool_calls[: len(before.tool_calls)]) == list(before.tool_calls)


def assert_calls_grow(messages: Sequence[Any]) -> None:
    """P2 for incremental calls: text only grows, a call keeps its name and its argument text only grows."""
    for before, after in pairwise(messages):
        assert (after.content or "").startswith(before.content or "")
        assert (after.reasoning_content or "").startswith(before.reasoning_content or "")
        assert len(after.tool_calls) >= len(before.tool_calls)
        for old, new in zip(before.tool_calls, after.tool_calls, strict=False):
            assert new.name == old.name
            assert new.arguments.startswith(old.arguments)
            assert new == old or not old.complete


def assert_argument_deltas_sum_up(run: Replay) -> None:
    """Incremental calls: the argument chunks are, one call after the other, the argument text of the message."""
    assert _chunked(run, "arguments") == "".join(call.arguments for call in run.final.tool_calls)


def assert_deltas_sum_up(run: Replay) -> None:
    """P2: the message after the prompt, and every delta appended to it, is the final message."""
    before, final = run.messages[0], run.final
    assert (before.content or "") + _chunked(run, "content") == (final.content or "")
    assert (before.reasoning_content or "") + _chunked(run, "reasoning") == (final.reasoning_content or "")
    closed = [event for event in run.events if isinstance(event, RegionClose) and event.label == "tool_call"]
    assert [call.name for call in final.tool_calls] == [event.value.name for event in closed]


def assert_regions_tile(run: Replay) -> None:
    """P3: regions lie one after the other, text regions hold exactly their span, and nothing else loses a word."""
    position = 0
    for opened, closed, text in _regions(run.events):
        assert position <= opened.start <= opened.end <= closed.start <= closed.end <= len(run.input_text)
        if opened.label in ("content", "reasoning"):
            assert run.input_text[opened.end : closed.start].endswith(text)
            assert closed.value == run.input_text[opened.end : closed.start]
        _assert_markup(run, position, opened.start)
        position = closed.end
    _assert_markup(run, position, len(run.input_text))
    for span in (*run.final.dropped, *run.final.malformed):
        assert span.text == run.input_text[span.start : span.end]


def _same_run(first: Any, second: Any) -> bool:
    return bool(first.label == second.label and first.final == second.final)


def _chunked(run: Replay, label: str) -> str:
    return "".join(event.text for event in run.events if isinstance(event, RegionChunk) and event.label == label)


def _regions(events: Iterable[Any]) -> list[tuple[Any, Any, str]]:
    """The regions that closed, in order: their opening, their closing and what their chunks say."""
    done: list[tuple[Any, Any, str]] = []
    opened: dict[str, tuple[Any, list[str]]] = {}
    for event in events:
        if isinstance(event, RegionOpen):
            assert event.label not in opened, f"{event.label} opened twice"
            opened[event.label] = (event, [])
        elif isinstance(event, RegionChunk):
            if event.label in opened:
                opened[event.label][1].append(event.text)
        elif isinstance(event, RegionClose):
            start, texts = opened.pop(event.label)
            done.append((start, event, "".join(texts)))
        elif isinstance(event, RegionMalformed):
            opened.pop(event.label, None)
    assert not opened, f"never closed: {list(opened)}"
    return done


def _assert_markup(run: Replay, start: int, stop: int) -> None:
    """What lies between regions is blanks and literals of the grammars, or is listed as dropped or malformed."""
    listed = [*run.final.dropped, *run.final.malformed]
    for word in _WORD.finditer(run.input_text, start, stop):
        assert word[0] in _words() or any(span.start <= word.start() < span.end for span in listed), (
            f"lost between regions: {word[0]!r} in {run.input_text[start:stop]!r}"
        )


@functools.cache
def _words() -> frozenset[str]:
    """Every word in a literal of a shipped grammar."""
    texts = [path.read_text(encoding="utf-8") for path in GRAMMARS.rglob("*.peg")]
    lines = [line for text in texts for line in text.split("\n") if not line.startswith("#")]
    literals = [literal for line in lines for literal in _LITERAL.findall(line)]
    return frozenset(word for literal in literals for word in _WORD.findall(literal))


@functools.cache
def grammar(format_id: str) -> Any:
    """A shipped format, loaded once."""
    return chatpeg.load(format_id)
