"""The command line: list, check, parse, emit and trace."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import __version__, catalog, checks, trace
from .constraint import Constraint
from .errors import ChatpegError, Problem, UnknownFormat
from .events import Event, RegionChunk, RegionClose, RegionMalformed, RegionOpen
from .grammar import Chat, Grammar
from .holdback import holdback
from .message import Message, ToolCall
from .parser import Parser
from .response_template.grammar import load_grammar as load_response_template
from .response_template.report import report
from .source import Source, Span

_TARGETS = tuple(name for name in ("gbnf", "lark", "ebnf", "structural_tag") if hasattr(Chat, name))
_ABOUT = "Parse what a language model wrote, and constrain what it writes, from one grammar file per response format."
_EPILOG = """\
FORMAT is a shipped format ("chatpeg list"), a model's name, or the path of a .peg file.

examples:
  chatpeg parse FORMAT reply.txt --tools tools.json    the message as JSON
  some-model | chatpeg parse FORMAT --stream           its events, while the model writes
  chatpeg emit FORMAT --tools tools.json > tools.gbnf  the grammar for the sampler
  chatpeg check my-format.peg                          every problem of a file, with its line

exit status: 0, or 1 for bad input, 2 for bad usage."""


class BadFile(ChatpegError):
    """A file that cannot be read as what it should hold."""


class BadUsage(ChatpegError):
    """Options that do not go together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    if sys.stdout is None:  # a caller that closed it
        return 1
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    command_line = _command_line()
    options = command_line.parse_args(arguments)
    if options.run is None:
        command_line.print_help(sys.stderr)
        return 2
    try:
        status: int = options.run(options)
        print(end="", flush=True)
    except BrokenPipeError:
        # Whoever read has gone; what Python flushes at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except (ChatpegError, OSError) as error:
        print(f"chatpeg: {_said(error)}", file=sys.stderr)
        return 2 if isinstance(error, UnknownFormat | BadUsage) else 1
    return status


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror) if part)
    return str(error)


# The command line


def _command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("chatpeg", None, _ABOUT, _EPILOG, formatter_class=_Help)
    parser.add_argument("--version", action="version", version=f"chatpeg {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add(commands, "list", _list, "the shipped formats, their other names and their models")
    check = _add(commands, "check", _check, "every problem of grammar files, and how much text each label holds back")
    check.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a .peg file, a response template (.json), or the name of a shipped format",
    )
    _add_parse(_add(commands, "parse", _parse, "a reply as a message, in JSON, or as events"))
    _add_emit(_add(commands, "emit", _emit, "the grammar that keeps a sampler inside the format"))
    _add_request(_add(commands, "trace", _trace, "a reply, coloured by what became of each character"))
    template = _add(commands, "template", _template, "a checkpoint's response_template as a .peg file to go on from")
    template.add_argument("file", metavar="FILE", help="a JSON file: the template, or one that has it as a member")
    return parser


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the epilog's lines and leaves room for the names of options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=min(100, shutil.get_terminal_size().columns))


def _add(commands: Any, name: str, run: Any, purpose: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=purpose, description=f"Print {purpose}.", formatter_class=_Help
    )
    parser.set_defaults(run=run)
    return parser


def _add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", help="a shipped format, a model's name, or a .peg file")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="the reply (default: standard input)")
    _add_tools(parser)
    parser.add_argument(
        "--unparsed", choices=("content", "drop"), default="content", help="what becomes of text that does not parse"
    )
    parser.add_argument(
        "--unknown-tools", choices=("content", "call"), default="content", help="… and of calls of no offered tool"
    )


def _add_tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tools", metavar="FILE", help="the offered tools: a JSON list, OpenAI style")
    parser.add_argument("--prompt", metavar="TEXT", help="how the prompt ends (default: as the format's template ends)")


def _add_parse(parser: argparse.ArgumentParser) -> None:
    _add_request(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--partial", action="store_true", help="the reply is not over: what is known so far")
    how.add_argument("--strict", action="store_true", help="fail where the reply is not canonical and complete")
    how.add_argument(
        "--stream",
        metavar="N",
        nargs="?",
        type=_size,
        const=0,
        help="events, one a line; read in pieces of N characters",
    )


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of characters; FILE stands before --stream")
    return int(text)


def _add_emit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", help="a shipped format, a model's name, or a .peg file")
    parser.add_argument("--target", choices=_TARGETS, default="gbnf", help="the backend's notation (default: gbnf)")
    _add_tools(parser)
    parser.add_argument(
        "--tool-choice", metavar="CHOICE", default="auto", help="auto, required, none, or a tool's name"
    )
    parser.add_argument("--no-parallel", action="store_true", help="at most one call")
    parser.add_argument("--schema", metavar="FILE", help="the JSON schema of the content (response_format)")
    parser.add_argument("--strict-schema", action="store_true", help="fail where something cannot be enforced")
    parser.add_argument("--json", action="store_true", help="the fields of a llama-server /completion request")


# Commands


def _list(_options: argparse.Namespace) -> int:
    for _, one in sorted(catalog.shipped().items()):
        names = " ".join((one.name, *one.aliases))
        print(*_columns(names, " ".join(one.models)), sep="\n")
    return 0


def _columns(names: str, models: str) -> list[str]:
    """One line, or on a terminal as many as its width asks for."""
    head, width = 30, shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or width < head * 2:
        return [f"{names:{head}} {models}".rstrip()]
    left = textwrap.wrap(names, head - 1, break_on_hyphens=False) or [""]
    right = textwrap.wrap(models, width - head - 1, break_on_hyphens=False) or [""]
    lines = max(len(left), len(right))
    left += [""] * (lines - len(left))
    right += [""] * (lines - len(right))
    return [f"{name:{head}}{model}".rstrip() for name, model in zip(left, right, strict=True)]


def _check(options: argparse.Namespace) -> int:
    return max(_check_one(name) for name in options.files)


def _template(options: argparse.Namespace) -> int:
    print(load_response_template(Path(options.file)).to_peg(), end="")
    return 0


def _check_one(name: str) -> int:
    if name.endswith(".json"):
        print(report(load_response_template(_existing(name)).template))
        return 0
    one = catalog.shipped().get(name)
    path = one.path if one else _existing(name)
    loaded, problems = checks.check_file(path)
    shown = [problem.render() for problem in problems]
    sound = loaded is not None and all(problem.severity != "error" for problem in problems)
    if loaded is not None and sound:
        held = [] if path.parent.name == "lib" else [one for one in holdback(loaded) if one.label != "drop"]
        shown.append("\n".join([f"{name}: no errors", *(f"  {one}" for one in held)]))
    print("\n\n".join(shown))
    return 0 if sound else 1


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise BadFile(f"{name}: no such file, and no shipped format of this name")
    return path


def _parse(options: argparse.Namespace) -> int:
    chat = _chat(options)
    if options.stream is not None:
        parser = chat.parser(options.prompt)
        for event in _streamed(parser, _chunks(options.file, options.stream)):
            print(_json(_record(event)), flush=True)
        print(_json({"event": "message", **_shown(parser.message)}))
        return 0
    parser = chat.parser(options.prompt)
    parser.feed(_text(options.file))
    if not options.partial:
        parser.finish()
    if options.strict and (error := parser.veto()) is not None:
        source = Source(options.file, parser.input_text)
        help = f"expected {' or '.join(error.expected)}" if error.expected else ""
        problem = Problem(error.message, Span(source, error.pos, error.pos), help=help)
        raise BadFile(f"--strict refuses this reply\n{problem.render()}")
    print(_json(_shown(parser.message), indent=2))
    return 0


def _streamed(parser: Parser, chunks: Iterator[str]) -> Iterator[Event]:
    yield from parser.initial_events
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.finish()


def _emit(options: argparse.Namespace) -> int:
    if options.json and options.target != "gbnf":
        raise BadUsage(f"--json is a llama-server request, which takes no {options.target}")
    choice = options.tool_choice
    named = {"type": "function", "function": {"name": choice}}
    schema = None if options.schema is None else {"schema": _read_json(options.schema)}
    chat = _grammar(options.format).bind(
        tools=_tools(options),
        tool_choice=choice if choice in {"auto", "required", "none"} else named,
        parallel_tool_calls=not options.no_parallel,
        response_format=None if schema is None else {"type": "json_schema", "json_schema": schema},
        strict_schema=options.strict_schema,
    )
    constraint: Constraint = getattr(chat, options.target)(prompt=options.prompt)
    for line in _said_of(constraint):
        print(line, file=sys.stderr)
    if options.json:
        print(_json(constraint.llama_server(), indent=2))
    elif constraint.grammar is not None:
        sys.stdout.write(constraint.grammar)
    return 0


def _said_of(constraint: Constraint) -> Iterator[str]:
    """What a user has to know beside the grammar."""
    if constraint.grammar is None:
        yield "nothing to constrain: offer --tools, or give a --schema"
    if constraint.lazy:
        yield f"lazy: constrained from {' or '.join(map(_json, constraint.triggers))} on"
    for one in constraint.warnings:
        yield f"warning: {': '.join(filter(None, (one.tool, one.path, one.keyword, one.action)))}"


def _trace(options: argparse.Namespace) -> int:
    parser = _chat(options).parser(options.prompt)
    events = list(_streamed(parser, iter([_text(options.file)])))
    message = parser.message
    trace.show(trace.pieces(parser.input_text, events, message), message, sys.stdout)
    return 0


# What they read


def _chat(options: argparse.Namespace) -> Chat:
    return _grammar(options.format).bind(
        tools=_tools(options), unparsed=options.unparsed, unknown_tools=options.unknown_tools
    )


def _grammar(name: str) -> Grammar:
    """The format, the grammar file or the model's format that ``name`` says."""
    try:
        return catalog.load(name)
    except UnknownFormat as unknown:
        if name.endswith(".peg"):
            raise
        try:
            return catalog.for_model(name)
        except UnknownFormat as other:
            raise (other if "/" in name else unknown) from None


def _tools(options: argparse.Namespace) -> Any:
    return None if options.tools is None else _read_json(options.tools)


def _read_json(name: str) -> Any:
    try:
        return json.loads(_text(name))
    except json.JSONDecodeError as error:
        raise BadFile(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise BadFile(f"{name}: nested too deeply") from None


def _text(name: str) -> str:
    return "".join(_chunks(name, 0))


def _chunks(name: str, size: int) -> Iterator[str]:
    """The text of a file, or of standard input as it comes; in pieces of ``size`` characters, or as they are read."""
    decode = codecs.getincrementaldecoder("utf-8")()
    try:
        for data in _read(name):
            yield from _cut(decode.decode(data), size)
        yield decode.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise BadFile(f"{name}: not UTF-8: {error.reason}") from None


def _read(name: str) -> Iterator[bytes]:
    with open(sys.stdin.fileno() if name == "-" else name, "rb", buffering=0, closefd=name != "-") as file:
        while data := file.read(1 << 16):
            yield data


def _cut(text: str, size: int) -> Iterator[str]:
    if not size:
        yield text
        return
    for start in range(0, len(text), size):
        yield text[start : start + size]


# What they print


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _shown(message: Message) -> dict[str, Any]:
    """The message in its OpenAI form, and what else there is to say of it."""
    shown = message.to_openai() | dict(message.fields)
    if message.malformed:
        shown["malformed"] = [
            {"label": one.label, "start": one.start, "end": one.end, "text": one.text, "error": str(one.error)}
            for one in message.malformed
        ]
    if message.dropped:
        shown["dropped"] = [{"start": one.start, "end": one.end, "text": one.text} for one in message.dropped]
    if not message.complete:
        shown["complete"] = False
    return shown


def _record(event: Event) -> dict[str, Any]:
    """An event as JSON data."""
    record = {"event": _EVENTS[type(event)], **event._asdict()}
    if isinstance(event, RegionClose) and isinstance(event.value, ToolCall):
        record["value"] = event.value.to_openai()
    elif isinstance(event, RegionMalformed):
        record["error"] = str(event.error)
    elif isinstance(event, RegionOpen):
        record["captures"] = dict(event.captures)
    return record


_EVENTS: dict[type[Event], str] = {
    RegionOpen: "open",
    RegionChunk: "chunk",
    RegionClose: "close",
    RegionMalformed: "malformed",
}


if __name__ == "__main__":
    sys.exit(main())
