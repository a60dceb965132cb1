"""Events of a template's parser, made comparable."""

from __future__ import annotations

from typing import Any

from chatpeg.response_template import ResponseParser


def merged(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with adjacent chunks as one, and errors by type and text."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "region_chunk" and found and found[-1]["type"] == "region_chunk":
            found[-1]["text"] += event["text"]
            continue
        found.append(dict(event))
        if "error" in event:
            found[-1]["error"] = (type(event["error"]), str(event["error"]))
    return found


def parsed(template: Any, chunks: list[str], prefix: str = "", **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Message and merged events of a reply fed in ``chunks``."""
    parser = ResponseParser(template, prefix, **options)
    events = list(parser.initial_events)
    for chunk in chunks:
        events += parser.feed(chunk)
    message, rest = parser.finalize()
    return message, merged(events + rest)
