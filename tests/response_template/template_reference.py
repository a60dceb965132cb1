"""What a template means: a function of the whole text, one `search` per delimiter and step."""

from __future__ import annotations

from typing import Any

from chatpeg.response_template import ResponseTemplate, load_response_template


def reference(template: Any, text: str) -> list[dict[str, Any]]:
    """The regions of ``text``: opens and closes with their spans, and the text of each region."""
    return list(_regions(load_response_template(template), text))


def _regions(template: ResponseTemplate, text: str) -> Any:
    implicit = template.implicit.name if template.implicit else None
    field, explicit, start, body, pos, empty_at = implicit, False, None, "", 0, -1
    while True:
        found = _next(template, None if not explicit else field, text, pos + (not explicit and pos == empty_at))
        end = found[0] if found else len(text)
        if end > pos and field is not None:
            start = (pos, pos) if start is None else start
            body += text[pos:end]
        if found is None:
            if start is not None:
                yield {"field": field, "open": start, "close": (end, end), "text": body}
            return
        at, negative_length, closes, name = found
        pos = at - negative_length
        if closes and start is None and pos == at:
            return
        if start is not None:
            yield {"field": field, "open": start, "close": (at, pos if closes else at), "text": body}
        explicit, body = not closes, ""
        field, start = (implicit, None) if closes else (name, (at, pos))
        if not closes and pos == at:
            empty_at = at


def _next(template: ResponseTemplate, inside: str | None, text: str, pos: int) -> Any:
    found = []
    for field in template.fields.values():
        looked_for = []
        if inside is None and field.opener is not None:
            looked_for.append((0, field.opener))
        if field.closer is not None and (field.name == inside or (inside is None and field.opener is None)):
            looked_for.append((1, field.closer))
        for closes, delimiter in looked_for:
            match = delimiter.pattern.search(text, pos)
            # An empty delimiter where the input ends is none.
            if match and match.start() < len(text):
                found.append((match.start(), match.start() - match.end(), closes, field.name))
    return min(found, default=None)
