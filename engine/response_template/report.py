"""What there is to say of a template that loads: its warnings, and how much text each of its delimiters holds back."""

from __future__ import annotations

from collections.abc import Iterator

from .scan import Delimiter
from .template import ResponseTemplate


def report(template: ResponseTemplate) -> str:
    """The text that ``chatpeg check`` prints.

    >>> from .loading import load_response_template
    >>> spec = {"start_anchor": "<bot>", "fields": {"call": {"open": "<call>", "close_pattern": "</call *>"}}}
    >>> print(report(load_response_template(spec)))
    response_template: no errors
      call: open holds back 5 characters
      call: close_pattern holds back any number of characters ('</call *>')
    """
    lines = [
        f"{template.name}: no errors",
        *(f"  {field}: {key} holds back {text}" for field, key, text in held(template)),
    ]
    return "\n\n".join([*(problem.render() for problem in template.warnings), "\n".join(lines)])


def held(template: ResponseTemplate) -> Iterator[tuple[str, str, str]]:
    """Field, key and how much is held back, of each delimiter."""
    for field in template.fields.values():
        for key, delimiter in (("open", field.opener), ("close", field.closer)):
            if delimiter is not None:
                yield field.name, key if delimiter.literals is not None else f"{key}_pattern", _amount(delimiter)


def _amount(delimiter: Delimiter) -> str:
    if delimiter.node is None:
        return f"everything up to the end of the reply: {delimiter.source!r} has a form that cannot be decided before"
    if delimiter.holds_back is None:
        return f"any number of characters ({delimiter.source!r})"
    return f"{delimiter.holds_back} characters"
