"""Loading a template: a dict or a JSON file, checked as a whole; every fault is reported with its place."""

from __future__ import annotations

import copyreg
import functools
import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..source import Source
from .checks import problems_of
from .contents import content_reader
from .errors import TemplateError
from .places import Places
from .scan import Delimiter, literal_delimiter, pattern_delimiter
from .template import Field, ResponseTemplate, template_of
from .transforms import builder

_CACHED = 64
_UNNAMED = "response_template"


def load_response_template(template: Mapping[str, Any] | str | Path | ResponseTemplate) -> ResponseTemplate:
    """The checked template of a dict, or of a JSON file: one that is a template, or has one as ``response_template``.

    Raises `TemplateError` with every fault. Equal dicts give the same template.

    >>> load_response_template({"start_anchor": "<bot>", "fields": {"content": {}}}).implicit.name
    'content'
    """
    if isinstance(template, ResponseTemplate):
        return template
    inner = getattr(template, "template", None)
    if isinstance(inner, ResponseTemplate):
        return inner
    if isinstance(template, str | Path):
        return _load_file(Path(template))
    try:
        key = json.dumps(template)
    except (TypeError, ValueError, RecursionError):
        return load_spec(deepcopy(template), _UNNAMED)
    return _load_json(key)


@functools.lru_cache(maxsize=_CACHED)
def _load_json(text: str) -> ResponseTemplate:
    return load_spec(json.loads(text), _UNNAMED)


def _load_file(path: Path) -> ResponseTemplate:
    text = path.read_text("utf-8")
    source = Source(str(path), text)
    try:
        spec = json.loads(text)
    except json.JSONDecodeError as error:
        span = Places(Source(str(path), "{}")).of(())
        raise TemplateError((Problem(f"not JSON: {error}", span),)) from None
    inner = spec.get("response_template") if isinstance(spec, dict) else None
    if isinstance(inner, dict):
        return load_spec(inner, str(path))
    return load_spec(spec, str(path), source)


def load_spec(spec: Any, name: str, source: Source | None = None) -> ResponseTemplate:
    """The template of decoded JSON, which is kept; ``source`` is its text, if there is one."""
    if source is None:
        source = Source(name, json.dumps(spec, indent=2, ensure_ascii=False, default=repr, skipkeys=True))
    problems = tuple(problems_of(spec, Places(source)))
    if any(problem.severity == "error" for problem in problems):
        raise TemplateError(tuple(problem for problem in problems if problem.severity == "error"))
    fields = {key: _field(key, value) for key, value in spec["fields"].items()}
    anchor = _delimiter(spec, "start_anchor")
    assert anchor is not None
    return template_of(name, spec, anchor, fields, problems)


def _reduced(template: ResponseTemplate) -> tuple[Any, ...]:
    return load_spec, (template.spec, template.name)


copyreg.pickle(ResponseTemplate, _reduced)


def _field(name: str, spec: Mapping[str, Any]) -> Field:
    content, args, transform = spec.get("content", "text"), spec.get("content_args", {}), spec.get("transform")
    return Field(
        name=name,
        opener=_delimiter(spec, "open"),
        closer=_delimiter(spec, "close"),
        content=content,
        content_args=args,
        repeats=bool(spec.get("repeats", False)),
        join=spec.get("join"),
        optional=bool(spec.get("optional", True)),
        transform=transform,
        transform_each=spec.get("transform_each", False),
        read=content_reader(content, args),
        build=None if transform is None else builder(transform),
    )


def _delimiter(spec: Mapping[str, Any], key: str) -> Delimiter | None:
    if key in spec:
        literals = spec[key]
        return literal_delimiter((literals,) if isinstance(literals, str) else tuple(literals))
    source = spec.get(f"{key}_pattern")
    return None if source is None else pattern_delimiter(source)
