"""A template with the interface of a grammar: bound to a request it parses to messages and emits grammars.

All texts of a field are kept, where the template's own message has the last one: nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..catalog import loads
from ..constraint import Constraint
from ..errors import DecodeError, EmitError, GrammarError, ParseError
from ..events import Event, RegionChunk, RegionClose, RegionMalformed, RegionOpen
from ..grammar import Chat, Grammar
from ..message import Malformed, Message, Span, ToolCall
from ..request import Tool, read_tools
from .loading import load_response_template
from .parser import ResponseParser
from .template import Field, ResponseTemplate
from .to_peg import LABELS, to_peg

_CALL = "tool_call"


class TemplateGrammar:
    """A response template as a grammar.

    >>> import chatpeg
    >>> grammar = chatpeg.load_response_template({"start_anchor": "<bot>", "fields": {"content": {}}})
    >>> grammar.parse("Hello").content
    'Hello'
    """

    def __init__(self, template: ResponseTemplate) -> None:
        self.template = template
        self.name = template.name

    def __repr__(self) -> str:
        return f"<TemplateGrammar {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return TemplateGrammar, (self.template,)

    def to_peg(self) -> str:
        """The text of a grammar file for the same format; raises `EmitError` that names the field that has none."""
        return to_peg(self.template)

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of that file, which constraints are emitted from."""
        try:
            return loads(self.to_peg(), self.name)
        except GrammarError as error:
            raise EmitError(f"{self.name}: the grammar file of this template does not load:\n{error}") from error

    def bind(self, *, tools: Any = None, **options: Any) -> TemplateChat:
        """One request; ``options`` are those of `chatpeg.Grammar.bind` and matter for emission alone."""
        return TemplateChat(self, tools, options)

    def parse(self, text: str, *, partial: bool = False, strict: bool = False, prompt: str | None = None) -> Message:
        """`TemplateChat.parse` of a request whose tools are not known."""
        return self.bind().parse(text, partial=partial, strict=strict, prompt=prompt)

    def parser(self, prompt: str | None = None) -> TemplateParser:
        """`TemplateChat.parser` of a request whose tools are not known."""
        return self.bind().parser(prompt)

    def gbnf(self, *, prompt: str | None = None, **options: Any) -> Constraint:
        """The GBNF grammar of a request with these ``options``, of which ``tools`` is one."""
        return self.bind(**options).gbnf(prompt=prompt)


class TemplateChat:
    """A template bound to one request."""

    def __init__(self, grammar: TemplateGrammar, tools: Any, options: Mapping[str, Any]) -> None:
        self.grammar = grammar
        self.tools: tuple[Tool, ...] | None = read_tools(tools)
        self._given = tools
        self._options = dict(options)

    def parser(self, prompt: str | None = None) -> TemplateParser:
        """A parser for one reply; what stands behind the last start anchor of ``prompt`` is fed first."""
        return TemplateParser(self, prompt or "")

    def parse(self, text: str, *, partial: bool = False, strict: bool = False, prompt: str | None = None) -> Message:
        """The message of a reply; raises `ParseError` only if ``strict``, and something of it did not parse."""
        parser = self.parser(prompt)
        parser.feed(text)
        if partial:
            return parser.message
        parser.finish()
        message = parser.message
        if strict and message.malformed:
            raise message.malformed[0].error
        if strict and not message.complete:
            raise ParseError("the output ends too early", len(parser.input_text))
        if strict and message.dropped:
            raise ParseError("text that is in no field", message.dropped[0].start)
        return message

    def bound(self) -> Chat:
        """The same request of the template's grammar file."""
        tools = self._given
        if tools is not None and any(
            one.content_args.get("unquoted_keys") for one in self.grammar.template.fields.values()
        ):
            tools = _closed(tools)
        return self.grammar.grammar.bind(tools=tools, **self._options)

    def gbnf(self, *, prompt: str | None = None) -> Constraint:
        """The GBNF grammar; raises `EmitError` that names the field for which there is none."""
        return self._warned(self.bound().gbnf(prompt=prompt or ""))

    def lark(self, *, prompt: str | None = None) -> Constraint:
        """The same for llguidance."""
        return self._warned(self.bound().lark(prompt=prompt or ""))

    def ebnf(self, *, prompt: str | None = None) -> Constraint:
        """The same for XGrammar."""
        return self._warned(self.bound().ebnf(prompt=prompt or ""))

    def _warned(self, constraint: Constraint) -> Constraint:
        """The template ends a call at the first closer, wherever it stands; a grammar cannot keep it out of JSON strings."""
        from ..emit.schema import Relaxed  # noqa: PLC0415 - reading does not need emission

        if constraint.grammar is None:
            return constraint
        warnings = [
            Relaxed(
                "",
                "",
                "close",
                f"a string that holds the closer {field.closer.source!r} of {field.name!r} ends the call early",
            )
            for field in self.grammar.template.fields.values()
            if field.is_call and field.content == "json" and field.closer is not None
        ]
        return replace(constraint, warnings=(*constraint.warnings, *warnings))


class TemplateParser:
    """Parses one reply as it arrives, to the events and the message of other formats' parsers."""

    def __init__(self, chat: TemplateChat, prompt: str) -> None:
        tools = [{"name": tool.name, "parameters": dict(tool.parameters)} for tool in chat.tools or ()]
        self._parser = ResponseParser(chat.grammar.template, prompt, tools=tools)
        self._fields = chat.grammar.template.fields
        self._offered = None if chat.tools is None else {tool.name for tool in chat.tools}
        self._open: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._shown: list[str] = []
        self._calls: list[ToolCall] = []
        self._malformed: list[Malformed] = []
        self._regions: list[tuple[int, int]] = []
        self._cut = False
        self._done = False
        self.initial_events = self._read(self._parser.initial_events)

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the reply; returns what it settles."""
        return self._read(self._parser.feed(chunk))

    def finish(self) -> list[Event]:
        """Say that the reply is over; returns the remaining events. A missing field is no error here."""
        try:
            _, events = self._parser.finalize()
        except ValueError:
            events = self._parser.last_events
        self._done = True
        return self._read(events)

    @property
    def input_text(self) -> str:
        """All of the input, in which the offsets of events count."""
        return self._parser.input_text

    @property
    def message(self) -> Message:
        """What is known so far; a new value each time. Texts are as they will be once their region has closed."""
        texts = {label: "".join(parts) for label, parts in self._texts.items()}
        if self._shown and self._open:
            label = self._label(self._open["field"])
            texts[label] = texts.get(label, "") + "".join(self._shown)
        content, reasoning = texts.pop("content", None) or None, texts.pop("reasoning", None) or None
        complete = self._done and not self._cut
        return Message(content, reasoning, tuple(self._calls), texts, tuple(self._malformed), self._dropped(), complete)

    def _label(self, name: str) -> str:
        return _CALL if self._fields[name].is_call else LABELS.get(name, name)

    def _dropped(self) -> tuple[Span, ...]:
        if not self._done:
            return ()
        text, end, found = self.input_text, 0, []
        for start, stop in [*self._regions, (len(text), len(text))]:
            if start > end and self._parser.template.implicit is None:
                found.append(Span(end, start, text[end:start]))
            end = stop
        return tuple(found)

    def _read(self, events: list[dict[str, Any]]) -> list[Event]:
        return [event for one in events for event in self._one(one)]

    def _one(self, event: dict[str, Any]) -> list[Event]:
        label = self._label(event["field"])
        match event["type"]:
            case "region_open":
                self._open, self._shown = event, []
                return [RegionOpen(label, event["start"], event["end"], dict(event.get("captures", {})))]
            case "region_chunk":
                if not event["dirty"]:
                    self._shown.append(event["text"])
                return [RegionChunk(label, event["text"], not event["dirty"])]
            case _:
                return [self._closed(label, event)]

    def _closed(self, label: str, event: dict[str, Any]) -> Event:
        start, end, opened = event["start"], event["end"], self._open
        field = self._fields[event["field"]]
        self._regions.append((opened["start"], end))
        self._open, self._shown = {}, []
        if "captures" in opened and field.closer is not None and start == end == len(self.input_text):
            self._cut = True
        error = event.get("error")
        if error is None:
            try:
                return RegionClose(label, start, end, self._kept(label, field, event["value"]))
            except (TypeError, KeyError, ValueError) as wrong:
                error = wrong
        known = DecodeError(str(error), opened["end"])
        text = self.input_text[opened["start"] : end]
        self._malformed.append(Malformed(label, opened["start"], end, text, known))
        self._texts.setdefault("content", []).append(text)
        return RegionMalformed(label, start, end, known)

    def _kept(self, label: str, field: Field, value: Any) -> Any:
        if label != _CALL:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            parts = self._texts.setdefault(label, [])
            parts.extend([field.join, text] if field.join and parts else [text])
            return text
        calls = [self._call(one) for one in (value if isinstance(value, list) else [value])]
        self._calls.extend(calls)
        return calls[0] if len(calls) == 1 else calls

    def _call(self, value: Any) -> ToolCall:
        function = value["function"]
        name, arguments = function["name"], function.get("arguments", {})
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool must be a string, not {name!r}")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        return ToolCall(name, text, value.get("id"), True, self._offered is None or name in self._offered)


def _closed(schema: Any) -> Any:
    """JSON schemas whose objects with properties have no others: a bare key of another spelling is read as none."""
    if isinstance(schema, list | tuple):
        return [_closed(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), Mapping):
        closed.setdefault("additionalProperties", False)
    return closed


def load_grammar(template: Mapping[str, Any] | str | Path | ResponseTemplate) -> TemplateGrammar:
    """The grammar of a response template: a dict, or a JSON file that is or has one.

    Raises `chatpeg.response_template.TemplateError` with everything that is wrong with it.
    """
    return TemplateGrammar(load_response_template(template))
