"""A loaded format, and a format bound to one request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from . import nodes
from .chains import chained
from .compiler import compile_program
from .constraint import Constraint
from .errors import RequestError
from .loader import Loaded
from .message import Message
from .parser import Parser, Setup
from .program import Program
from .request import Tool, read_response_format, read_tools
from .stops import StopStrings
from .tool_names import names_of

if TYPE_CHECKING:
    from .emission import Wanted
    from .emit.format import Format

_STRING = frozenset(("string",))
_CACHED = 32
_CHOICES = ("auto", "required", "none")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `Grammar.bind`, checked; equal options are one bound chat."""

    tools: str | None
    tool_choice: str
    named: str
    parallel_tool_calls: bool
    response_format: str | None
    unparsed: str
    unknown_tools: str
    tool_calls: str
    given: tuple[tuple[str, str], ...]
    strict_schema: bool


class Grammar:
    """A response format, read from its grammar file.

    >>> import chatpeg
    >>> chatpeg.load("hermes").parse("Hello").content
    'Hello'
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.name = loaded.name
        self._programs: dict[object, Program] = {}
        self._rules: dict[object, dict[str, nodes.Rule]] = {}
        self._formats: dict[object, Format] = {}
        self._chats: dict[Options, Chat] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Grammar, (self.loaded,)

    def __repr__(self) -> str:
        return f"<Grammar {self.name}>"

    @property
    def program(self) -> Program:
        """The compiled program for requests that offer tools; its ``dump()`` shows it."""
        return self.compiled((), calls=True)

    def compiled(self, given: tuple[tuple[str, str], ...], calls: bool) -> Program:
        """The program with ``given`` literals; without ``calls`` the trigger rules match nothing."""
        key = (given, calls)
        if key not in self._programs:
            rules = self.rules(given, calls)
            labels = frozenset(("reasoning", "content", *self.loaded.fields))
            self._programs[key] = chained(compile_program(rules, self.loaded.start, labels))
        return self._programs[key]

    def emitted(self, given: tuple[tuple[str, str], ...], calls: bool) -> Format:
        """What emitters have worked out about the rules of such requests."""
        from .emit.format import Format  # noqa: PLC0415 - who only parses does not pay for the emitter

        key = (given, calls)
        if key not in self._formats:
            self._formats[key] = Format(self.rules(given, calls))
        return self._formats[key]

    def rules(self, given: tuple[tuple[str, str], ...], calls: bool) -> dict[str, nodes.Rule]:
        """The grammar's rules for one request."""
        key = (given, calls)
        if key not in self._rules:
            self._rules[key] = self._made_rules(given, calls)
        return self._rules[key]

    def _made_rules(self, given: tuple[tuple[str, str], ...], calls: bool) -> dict[str, nodes.Rule]:
        rules = dict(self.loaded.rules)
        for name, text in given:
            rules[name] = replace(rules[name], expression=nodes.Literal(text, rules[name].span))
        for name in () if calls else self.loaded.triggers:
            rules[name] = replace(rules[name], expression=nodes.Never(rules[name].span))
        return rules

    def bind(
        self,
        *,
        tools: Any = None,
        tool_choice: Any = "auto",
        parallel_tool_calls: bool = True,
        response_format: Any = None,
        unparsed: Literal["content", "drop"] = "content",
        unknown_tools: Literal["content", "call"] = "content",
        tool_calls: Literal["whole", "incremental"] = "whole",
        given: Mapping[str, str] | None = None,
        strict_schema: bool = False,
    ) -> Chat:
        """One request: the tools it offers and how to treat what does not parse. Equal arguments give the same chat.

        ``tools`` is an OpenAI-style list; None says that it is not known which tools were offered, so every name is a
        call. Raises `RequestError` for tools, a tool_choice or an option that cannot be used.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind(tools=[{"type": "function", "function": {"name": "now"}}]).tools[0].name
        'now'
        """
        choice, named = _read_choice(tool_choice)
        for name, value, known in (
            ("unparsed", unparsed, ("content", "drop")),
            ("unknown_tools", unknown_tools, ("content", "call")),
            ("tool_calls", tool_calls, ("whole", "incremental")),
        ):
            if value not in known:
                raise RequestError(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")
        for name, flag in (("parallel_tool_calls", parallel_tool_calls), ("strict_schema", strict_schema)):
            if not isinstance(flag, bool):
                raise RequestError(f"{name} must be True or False, not {flag!r}")
        options = Options(
            None if tools is None else _frozen("tools", tools),
            choice,
            named,
            parallel_tool_calls,
            None if response_format is None else _frozen("response_format", response_format),
            unparsed,
            unknown_tools,
            tool_calls,
            self._read_given(given or {}),
            strict_schema,
        )
        chat = self._chats.get(options)
        if chat is None:
            chat = Chat(self, options)
            while len(self._chats) >= _CACHED:
                self._chats.pop(next(iter(self._chats)))
            self._chats[options] = chat
        return chat

    def _read_given(self, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        if not isinstance(given, Mapping):
            raise RequestError(f"given must be a dict of texts, not {given!r}")
        for name, text in given.items():
            if name not in self.loaded.given:
                known = ", ".join(self.loaded.given) or "none"
                raise RequestError(f"{self.name} has no %given {name!r}; it has {known}")
            if not isinstance(text, str):
                raise RequestError(f"given[{name!r}] must be a str, not {type(text).__name__}")
        return tuple(sorted(given.items()))

    def parse(self, text: str, *, partial: bool = False, strict: bool = False, prompt: str | None = None) -> Message:
        """`Chat.parse` of a request whose tools are not known.

        >>> import chatpeg
        >>> chatpeg.load("hermes").parse("Hi <tool", partial=True).content
        'Hi'
        """
        return self.bind().parse(text, partial=partial, strict=strict, prompt=prompt)

    def parser(self, prompt: str | None = None) -> Parser:
        """`Chat.parser` of a request whose tools are not known.

        >>> import chatpeg
        >>> [event.text for event in chatpeg.load("hermes").parser().feed("Hi") if hasattr(event, "text")]
        ['Hi']
        """
        return self.bind().parser(prompt)


def _read_choice(choice: Any) -> tuple[str, str]:
    if choice is None:
        return "auto", ""
    if isinstance(choice, str) and choice in _CHOICES:
        return choice, ""
    if isinstance(choice, Mapping):
        function = choice.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            return "named", function["name"]
    example = '{"type": "function", "function": {"name": …}}'
    raise RequestError(f"tool_choice must be 'auto', 'required', 'none' or {example}, not {choice!r}")


def _frozen(name: str, value: Any) -> str:
    """``value`` as JSON text: nothing the caller does to it later is seen."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"{name} must be JSON data: {error}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Chat:
    """A grammar bound to one request. Immutable; cached by equal arguments; picklable.

    >>> import chatpeg
    >>> chat = chatpeg.load("hermes").bind(tools=[{"type": "function", "function": {"name": "now"}}])
    >>> chat.parse('<tool_call>{"name": "now", "arguments": {}}</tool_call>').tool_calls[0].name
    'now'
    """

    grammar: Grammar
    options: Options
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._made["tools"] = tools = read_tools(None if self.options.tools is None else json.loads(self.options.tools))
        response = self.options.response_format
        self._made["response"] = read_response_format(None if response is None else json.loads(response))
        if self.options.tool_choice == "required" and not tools:
            raise RequestError("tool_choice 'required' needs tools to choose from")
        if self.options.tool_choice == "named" and self.options.named not in {tool.name for tool in tools or ()}:
            offered = ", ".join(tool.name for tool in tools or ()) or "none"
            raise RequestError(f"tool_choice names {self.options.named!r}, which is not offered; offered: {offered}")

    def __reduce__(self) -> tuple[object, ...]:
        return Chat, (self.grammar, self.options)

    @property
    def tools(self) -> tuple[Tool, ...] | None:
        """The offered tools; None when it is not known which were."""
        tools: tuple[Tool, ...] | None = self._made["tools"]
        return tools

    @property
    def calls(self) -> bool:
        """Whether call syntax means anything: not when no tool was offered."""
        return self.options.tool_choice != "none" and self.tools != ()

    @property
    def setup(self) -> Setup:
        """What its parsers share."""
        made: Setup | None = self._made.get("setup")
        if made is None:
            made = self._made["setup"] = self._set_up()
        return made

    def _set_up(self) -> Setup:
        program = self.grammar.compiled(self.options.given, self.calls)
        offered = None if self.tools is None else {tool.name: tool for tool in self.tools}
        return Setup(
            program,
            names_of(program, self.tools),
            offered,
            StopStrings(self.grammar.loaded.stop) if self.grammar.loaded.stop else None,
            self.options.unparsed == "drop",
            self.options.unknown_tools == "call",
            self.options.tool_calls == "incremental",
            program.looks_back,
        )

    def parser(self, prompt: str | None = None) -> Parser:
        """A parser for one reply. ``prompt``: what the model was given; its text behind the last anchor is fed first.

        None stands for what the chat template writes by default (``%prefill``), ``""`` for nothing.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind().parser(prompt="<|im_start|>assistant\\nSure").input_text
        'Sure'
        """
        return Parser(self.setup, self.fed(prompt))

    def fed(self, prompt: str | None) -> str:
        """The text of ``prompt`` behind the last ``%prompt`` anchor in it; all of it if there is no anchor in it.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind().fed("<|im_start|>assistant\\nSure")
        'Sure'
        """
        if prompt is None:
            return self.grammar.loaded.prefill
        if not isinstance(prompt, str):
            raise TypeError(f"prompt must be a str or None, not {type(prompt).__name__}")
        ends = [prompt.rfind(anchor) + len(anchor) for anchor in self.grammar.loaded.prompt if anchor in prompt]
        return prompt[max(ends, default=0) :]

    def parse(self, text: str, *, partial: bool = False, strict: bool = False, prompt: str | None = None) -> Message:
        """The message that ``text`` is.

        ``partial``: more may come, so half a delimiter is held back. ``strict``: `ParseError` at the first place where
        the text was not canonical and complete; the message is the same. Without ``strict`` no text raises.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind().parse("Hello").content
        'Hello'
        """
        if not isinstance(text, str):
            raise TypeError(f"parse() takes a str, not {type(text).__name__}; decode bytes first")
        parser = self.parser(prompt)
        if partial:
            parser.feed(text)
        message = parser.message if partial else parser.whole(text)
        if strict and (error := parser.veto()) is not None:
            raise error
        return message

    def gbnf(self, prompt: str | None = None) -> Constraint:
        """The grammar for llama.cpp, for output that follows ``prompt``. Raises `EmitError` where none can be made.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind(tools=[{"type": "function", "function": {"name": "now"}}]).gbnf().triggers
        ('<tool_call>',)
        """
        return self.emit("gbnf", prompt)

    def lark(self, prompt: str | None = None, *, special_tokens: Mapping[str, int] | None = None) -> Constraint:
        """The grammar for llguidance, which tells a special token from its spelling.

        ``special_tokens`` are the numbers of those that the format writes, by their texts (``added_tokens_encoder`` of a
        tokenizer of transformers); without it delimiters are spelled out.

        >>> import chatpeg
        >>> chat = chatpeg.load("hermes").bind(tools=[{"type": "function", "function": {"name": "now"}}])
        >>> "<[151657]>" in chat.lark(special_tokens={"<tool_call>": 151657}).grammar
        True
        """
        return self.emit("lark", prompt, special_tokens)

    def ebnf(self, prompt: str | None = None) -> Constraint:
        """The grammar for xgrammar."""
        return self.emit("ebnf", prompt)

    def structural_tag(self, prompt: str | None = None) -> Constraint:
        """The structural tag for xgrammar, which waits for the first call by itself where calls are optional."""
        return self.emit("structural_tag", prompt)

    def emit(
        self, target: str, prompt: str | None = None, special_tokens: Mapping[str, int] | None = None
    ) -> Constraint:
        """The grammar for ``target``; made once for equal arguments. ``special_tokens`` are for ``lark`` alone.

        >>> import chatpeg
        >>> chatpeg.load("hermes").bind(tools=[]).emit("ebnf").grammar is None
        True
        """
        from .emission import PRINTERS, constraint  # noqa: PLC0415 - who only parses does not pay for the emitter

        if target not in PRINTERS:
            raise RequestError(f"there is no target {target!r}; targets: {', '.join(PRINTERS)}")
        fed = self.fed(prompt)
        known = self.grammar.loaded.tokens
        if not isinstance(special_tokens or {}, Mapping):
            raise RequestError(f"special_tokens must be a dict of numbers by texts, not {special_tokens!r}")
        special = {text: int(number) for text, number in (special_tokens or {}).items() if text in known}
        key = f"{target}\0{fed}\0{special}"
        made: Constraint | None = self._made.get(key)
        if made is None:
            made = self._made[key] = constraint(self.wanted(), target, fed, special)
        return made

    def wanted(self) -> Wanted:
        """Everything that an emitted grammar depends on."""
        from .emission import Wanted  # noqa: PLC0415 - as in `emit`

        options = self.options
        response = self._made["response"]
        return Wanted(
            self.grammar.loaded,
            self.tools,
            options.tool_choice,
            options.named,
            options.parallel_tool_calls,
            response,
            options.strict_schema,
            self.grammar.emitted(options.given, self.calls),
            lambda: (self.setup.program, self.setup.names),
        )
