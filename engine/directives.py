"""The ``%`` lines of a grammar file, checked and gathered into a `Header`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

import regex

from .errors import Problem
from .nodes import Directive, File
from .notation import RESERVED
from .source import Span

DIALECTS = ("raw", "python", "xml", "json")
LABELS = ("reasoning", "content", "tool_call", "name", "id", "arguments", "key", "value", "item", "text")

Words = tuple[tuple[str, Span], ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What the directives of one file say. E.g. ``%stop "<|end|>"`` gives ``stop == ("<|end|>",)``."""

    models: tuple[str, ...]
    aliases: tuple[str, ...]
    prompt: tuple[str, ...]
    prefill: str
    tokens: tuple[str, ...]
    stop: tuple[str, ...]
    trigger: Words
    imports: Words
    given: tuple[tuple[str, str, Span], ...]
    fields: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class _Form:
    """What may follow a directive's name: ``pattern`` for its words, None where it takes strings."""

    example: str
    pattern: str | None = None
    single: bool = False
    either: bool = False
    empty: bool = False


NAME = r"[A-Za-z_]\w*"
FILE = r"[A-Za-z0-9_][\w.-]*"

FORMS = {
    "models": _Form('%models "org/name-*"'),
    "aliases": _Form("%aliases other-name", either=True),
    "prompt": _Form(r'%prompt "<|assistant|>"'),
    "prefill": _Form(r'%prefill "<think>\n"', single=True, empty=True),
    "tokens": _Form('%tokens "<tool_call>" "</tool_call>"'),
    "stop": _Form('%stop "<|end|>"'),
    "trigger": _Form("%trigger call", rf"(?:{FILE}\.)?{NAME}"),
    "import": _Form("%import json", FILE),
    "given": _Form('%given SUFFIX ":x"', "[A-Z][A-Z0-9_]*"),
    "fields": _Form("%fields plan", NAME),
    "value": _Form("%value json", "|".join(DIALECTS), single=True),
}


def read_header(file: File) -> tuple[Header, list[Problem]]:
    """The header of ``file`` without what is wrong in it, and what is wrong in it."""
    problems: list[Problem] = []
    sound: dict[str, Words] = dict.fromkeys(FORMS, ())
    seen: dict[str, Directive] = {}
    for directive in file.directives:
        found = list(_faults(directive, seen.get(directive.name)))
        problems += found
        if not found:
            sound[directive.name] += directive.arguments
        seen.setdefault(directive.name, directive)
    return _header(sound), problems


def _header(arguments: dict[str, Words]) -> Header:
    text = {name: tuple(dict.fromkeys(text for text, _ in words)) for name, words in arguments.items()}
    given = arguments["given"]
    return Header(
        models=text["models"],
        aliases=text["aliases"],
        prompt=text["prompt"],
        prefill="".join(text["prefill"]),
        tokens=text["tokens"],
        stop=text["stop"],
        trigger=arguments["trigger"],
        imports=arguments["import"],
        given=tuple((name, value, span) for (name, span), (value, _) in zip(given[::2], given[1::2], strict=True)),
        fields=text["fields"],
        value="".join(text["value"]) or "raw",
    )


def _faults(directive: Directive, earlier: Directive | None) -> Iterator[Problem]:
    form = FORMS.get(directive.name)
    if form is None:
        yield _unknown(directive)
    elif not directive.arguments:
        yield Problem(f"%{directive.name} without arguments", directive.span, help=f"e.g. {form.example}")
    elif form.single and earlier:
        note = (("it is set here", earlier.span),)
        yield Problem(f"%{directive.name} is set twice", directive.span, note, "keep one of the two")
    elif form.single and len(directive.arguments) > 1:
        yield Problem(f"%{directive.name} takes one argument", directive.arguments[1][1], help=f"e.g. {form.example}")
    elif directive.name == "given":
        yield from _given_faults(directive, form)
    else:
        for text, span in directive.arguments:
            yield from _argument_faults(directive.name, form, text, span)


def _unknown(directive: Directive) -> Problem:
    close = get_close_matches(directive.name, FORMS, 1)
    help = f"did you mean %{close[0]}?" if close else "the directives are " + " ".join(f"%{name}" for name in FORMS)
    return Problem(f"unknown directive %{directive.name}", directive.span, help=help)


def _given_faults(directive: Directive, form: _Form) -> Iterator[Problem]:
    quoted = [_quoted(span) for _, span in directive.arguments]
    if quoted != [False, True]:
        yield Problem("%given takes a name and its default string", directive.span, help=f"e.g. {form.example}")
    else:
        yield from _word_faults("given", form, *directive.arguments[0])


def _argument_faults(name: str, form: _Form, text: str, span: Span) -> Iterator[Problem]:
    if not text and not form.empty:
        yield Problem(f"an empty string for %{name}", span, help="leave it out")
    elif form.either:
        return
    elif form.pattern is None and not _quoted(span):
        yield Problem(f"%{name} takes strings", span, help=f'write "{text}"')
    elif form.pattern is not None and _quoted(span):
        yield Problem(f"%{name} takes words", span, help=f"write {text}")
    elif form.pattern is not None:
        yield from _word_faults(name, form, text, span)


def _word_faults(name: str, form: _Form, text: str, span: Span) -> Iterator[Problem]:
    if name == "value" and text not in DIALECTS:
        close = get_close_matches(text, DIALECTS, 1)
        help = f"did you mean {close[0]}?" if close else "the dialects are " + " ".join(DIALECTS)
        yield Problem(f'unknown dialect "{text}"', span, help=help)
    elif not regex.fullmatch(form.pattern or "", text):
        yield Problem(f'"{text}" is no name for %{name}', span, help=f"e.g. {form.example}")
    elif (name == "given" and text in RESERVED) or (name == "fields" and text in LABELS):
        yield Problem(f'"{text}" is built in', span, help="use another name")


def _quoted(span: Span) -> bool:
    return span.text[0] in "\"'"
