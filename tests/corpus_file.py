"""Reads and writes the corpus files, one per format: what a model wrote and the message expected of it.

    # Free text about the file.

    --- tools basic
    [
      {"type": "function", "function": {"name": "ping"}}
    ]

    === a call in prose
    # What the case shows.
    --- tools basic
    --- prompt
    <|im_start|>assistant
    <think>

    --- options
    {"unparsed": "drop"}
    --- input
    Done.
    --- expected
    {"content": "Done."}

A tool list at the top has a name, and a case refers to it; `--- tools` without a name is followed by the case's own
JSON list. No `tools` section is `tools=None`, no `prompt` section is `prompt=None`, `options` are more arguments
of `bind`.

`prompt` and `input` are verbatim, less the one newline that ends their last line: a text that ends with a newline is
followed by an empty line (above, the prompt ends with `<think>\\n`), and the empty text is one empty line. A line of
theirs that starts like a header (`=== `, `--- `) is written with a backslash in front, and so is a line that starts
with backslashes and then a header.

`expected` is a JSON object of `reasoning_content`, `content`, `tool_calls` (`name`, decoded `arguments`, `id`),
`malformed` (labels in order) and `complete`; what is absent is None, empty, or true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Tools = list[dict[str, Any]]

SECTIONS = ("tools", "prompt", "options", "input", "expected")
_HEADER = re.compile(r"(===|---) (.*)")
_ESCAPABLE = re.compile(r"\\*(===|---) ")


@dataclass(frozen=True)
class Case:
    """One input and what it means. `tools` is a list, the name of a shared list, or None."""

    name: str
    input: str
    expected: dict[str, Any]
    note: str = ""
    tools: Tools | str | None = None
    prompt: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusFile:
    """The cases of one format, in order, and the tool lists they share."""

    cases: tuple[Case, ...]
    intro: str = ""
    tool_lists: dict[str, Tools] = field(default_factory=dict)

    def offered(self, case: Case) -> Tools | None:
        """The tools bound for `case`."""
        return self.tool_lists[case.tools] if isinstance(case.tools, str) else case.tools


class CorpusError(ValueError):
    """A corpus file that cannot be read, with its line."""


@dataclass(frozen=True)
class _Block:
    """A header line and the lines up to the next header."""

    line: int
    mark: str
    title: str
    body: tuple[str, ...]


def read(path: Path) -> CorpusFile:
    """The corpus file at `path`."""
    with path.open(encoding="utf-8", newline="") as file:
        return parse(file.read())


def write(path: Path, corpus: CorpusFile) -> None:
    """Writes `corpus` in the one form that `parse` reads back equal."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(render(corpus))


def parse(text: str) -> CorpusFile:
    """The corpus that `text` describes."""
    intro, blocks = _blocks(text)
    top, groups = _grouped(blocks)
    tool_lists = {block.title.removeprefix("tools").strip(): _json(block) for block in top}
    cases = tuple(_case(head, sections, tool_lists) for head, sections in groups)
    _refuse_duplicates(cases)
    return CorpusFile(cases, _comment(intro), tool_lists)


def render(corpus: CorpusFile) -> str:
    """The text of `corpus`."""
    parts = [_as_comment(corpus.intro)] if corpus.intro else []
    parts += [f"--- tools {name}\n{_tools_text(tools)}\n" for name, tools in corpus.tool_lists.items()]
    parts += [_case_text(case) for case in corpus.cases]
    return "\n".join(parts)


def _blocks(text: str) -> tuple[list[str], list[_Block]]:
    """The lines before the first header, and the blocks."""
    lines = text.split("\n")
    heads = [index for index, line in enumerate(lines) if _HEADER.match(line)]
    blocks = []
    for start, stop in zip(heads, [*heads[1:], len(lines)], strict=True):
        match = _HEADER.match(lines[start])
        assert match is not None
        blocks.append(_Block(start + 1, match[1], match[2].strip(" "), tuple(lines[start + 1 : stop])))
    return lines[: heads[0] if heads else len(lines)], blocks


def _grouped(blocks: Sequence[_Block]) -> tuple[list[_Block], list[tuple[_Block, list[_Block]]]]:
    """The blocks before the first case, and each case's header with its sections."""
    top: list[_Block] = []
    groups: list[tuple[_Block, list[_Block]]] = []
    for block in blocks:
        if block.mark == "===":
            groups.append((block, []))
        else:
            (groups[-1][1] if groups else top).append(block)
    return top, groups


def _case(head: _Block, blocks: Sequence[_Block], tool_lists: dict[str, Tools]) -> Case:
    sections = dict(_sections(blocks))
    for needed in ("input", "expected"):
        if needed not in sections:
            raise CorpusError(f"line {head.line}: case {head.title!r} has no {needed}")
    options = _json(sections["options"]) if "options" in sections else {}
    return Case(
        name=head.title,
        note=_comment(head.body),
        tools=_offered(sections.get("tools"), tool_lists),
        prompt=_text(sections["prompt"]) if "prompt" in sections else None,
        options=options,
        input=_text(sections["input"]),
        expected=_json(sections["expected"]),
    )


def _sections(blocks: Sequence[_Block]) -> Iterator[tuple[str, _Block]]:
    """Each section with its kind, in the order of SECTIONS, each kind once."""
    last = -1
    for block in blocks:
        kind = block.title.split(" ", 1)[0]
        if kind not in SECTIONS or kind not in ("tools", block.title):
            raise CorpusError(f"line {block.line}: unknown section {block.title!r}")
        if SECTIONS.index(kind) <= last:
            raise CorpusError(f"line {block.line}: section {kind!r} is out of order or given twice")
        last = SECTIONS.index(kind)
        yield kind, block


def _offered(block: _Block | None, tool_lists: dict[str, Tools]) -> Tools | str | None:
    if block is None:
        return None
    name = block.title.removeprefix("tools").strip()
    if not name:
        tools: Tools = _json(block)
        return tools
    if name not in tool_lists:
        raise CorpusError(f"line {block.line}: no tool list is called {name!r}")
    return name


def _refuse_duplicates(cases: Sequence[Case]) -> None:
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise CorpusError(f"two cases are called {name!r}")


def _text(block: _Block) -> str:
    """The verbatim text of a section."""
    return "\n".join(line[1:] if line[:1] == "\\" and _ESCAPABLE.match(line) else line for line in block.body)


def _json(block: _Block) -> Any:
    try:
        return json.loads("\n".join(block.body))
    except ValueError as error:
        raise CorpusError(f"line {block.line}: {block.title}: {error}") from None


def _comment(lines: Sequence[str]) -> str:
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines if line.startswith("#"))


def _as_comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.split("\n"))


def _case_text(case: Case) -> str:
    parts = [f"=== {case.name}\n"]
    if case.note:
        parts.append(_as_comment(case.note))
    if isinstance(case.tools, str):
        parts.append(f"--- tools {case.tools}\n")
    elif case.tools is not None:
        parts.append(f"--- tools\n{_tools_text(case.tools)}\n")
    if case.prompt is not None:
        parts.append(f"--- prompt\n{_escaped(case.prompt)}\n")
    if case.options:
        parts.append(f"--- options\n{_dumps(case.options)}\n")
    parts.append(f"--- input\n{_escaped(case.input)}\n")
    parts.append(f"--- expected\n{_expected_text(case.expected)}\n")
    return "".join(parts)


def _escaped(text: str) -> str:
    return "\n".join("\\" + line if _ESCAPABLE.match(line) else line for line in text.split("\n"))


def _tools_text(tools: Tools) -> str:
    return _one_per_line("[", [_dumps(tool) for tool in tools], "]", "")


def _expected_text(expected: dict[str, Any]) -> str:
    members = [f'"{key}": {_member_text(key, value)}' for key, value in expected.items()]
    return _one_per_line("{", members, "}", "")


def _member_text(key: str, value: Any) -> str:
    if key == "tool_calls":
        return _one_per_line("[", [_dumps(call) for call in value], "]", "  ")
    return _dumps(value)


def _one_per_line(opener: str, items: Sequence[str], closer: str, indent: str) -> str:
    if not items:
        return opener + closer
    return opener + ",".join(f"\n{indent}  {item}" for item in items) + f"\n{indent}{closer}"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
