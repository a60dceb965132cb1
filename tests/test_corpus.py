"""Every case of every corpus file: the message, the same in every chunking, nothing withdrawn, nothing lost."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from chatpeg import RegionChunk
from corpus_file import Case, CorpusError, CorpusFile, parse, read, render, write
from hypothesis import given
from hypothesis import strategies as st
from replay import GRAMMARS, Replay, assert_append_only, assert_deltas_sum_up, assert_regions_tile, grammar, replay
from strategies import CORPUS, FORMATS, CorpusCase, corpus_cases, cut, seeded_chunkings

CASES = corpus_cases()

every_case = pytest.mark.parametrize("entry", CASES, ids=str)


def bound(entry: CorpusCase) -> Any:
    """The chat that a case is parsed with."""
    return grammar(entry.format).bind(tools=entry.tools, **entry.case.options)


def described(message: Any) -> dict[str, Any]:
    """A message as a corpus file writes it: what is absent, empty or as usual is left out."""
    members = {
        "reasoning_content": message.reasoning_content,
        "content": message.content,
        "tool_calls": [described_call(call) for call in message.tool_calls],
        "malformed": [region.label for region in message.malformed],
        "complete": None if message.complete else False,
    }
    return {key: value for key, value in members.items() if value is not None and value != []}


def described_call(call: Any) -> dict[str, Any]:
    """A call as a corpus file writes it."""
    members = {"name": call.name, "arguments": call.args}
    return members if call.id is None else {**members, "id": call.id}


def rewrite(entry: CorpusCase, expected: dict[str, Any]) -> None:
    """Puts `expected` into the case's file."""
    path = CORPUS / f"{entry.format}.txt"
    file = read(path)
    cases = [
        dataclasses.replace(case, expected=expected) if case.name == entry.case.name else case for case in file.cases
    ]
    write(path, dataclasses.replace(file, cases=tuple(cases)))


@every_case
def test_message(entry: CorpusCase, update: bool) -> None:
    """The final parse is the message that the file expects."""
    got = described(bound(entry).parse(entry.case.input, prompt=entry.case.prompt))
    if update:
        rewrite(entry, got)
        return
    assert got == entry.case.expected


@every_case
def test_every_chunking_gives_the_same_events(entry: CorpusCase) -> None:
    """P1: whole, character by character and cut at random, the merged events and the message are equal."""
    chat, text, prompt = bound(entry), entry.case.input, entry.case.prompt
    whole = replay(chat, [text], prompt)
    assert whole.final == chat.parse(text, prompt=prompt)
    for chunks in [list(text), *seeded_chunkings(text, range(6))]:
        run = replay(chat, chunks, prompt)
        assert run.events == whole.events
        assert run.final == whole.final


@every_case
def test_a_split_at_any_position(entry: CorpusCase) -> None:
    """P1: two chunks, wherever the text is cut (every so many characters of a long one)."""
    chat, text, prompt = bound(entry), entry.case.input, entry.case.prompt
    whole = replay(chat, [text], prompt)
    for position in range(1, len(text), 1 + len(text) // 60):
        assert replay(chat, cut(text, [position]), prompt).events == whole.events


@every_case
def test_stream_only_appends(entry: CorpusCase) -> None:
    """P2, P3: read after every character, the message only grows; deltas sum up to it; regions tile the input."""
    run = replay(bound(entry), entry.case.input, entry.case.prompt, snapshots=True)
    assert_append_only(run.messages)
    assert_deltas_sum_up(run)
    assert_regions_tile(run)


@every_case
def test_partial_parse_of_every_prefix(entry: CorpusCase) -> None:
    """The partial parse of a prefix is the message of a stream that has come so far."""
    chat, text, prompt = bound(entry), entry.case.input, entry.case.prompt
    messages = replay(chat, text, prompt, snapshots=True).messages
    for length in range(1, len(text) + 1, 1 + len(text) // 150):
        assert chat.parse(text[:length], partial=True, prompt=prompt) == messages[length]


@every_case
def test_prompt_may_as_well_come_first(entry: CorpusCase) -> None:
    """P1: what a prompt leaves to be read, fed as output with an empty prompt, gives the same events less chunks."""
    chat, text, prompt = bound(entry), entry.case.input, entry.case.prompt
    begun = chat.parser(prompt=prompt).input_text
    with_prompt = replay(chat, [text], prompt)
    without = replay(chat, [begun + text], "")
    assert delimiters(without) == delimiters(with_prompt)
    assert list(without.final.tool_calls) == list(with_prompt.final.tool_calls)


def delimiters(run: Replay) -> list[Any]:
    """The events that are not text."""
    return [event for event in run.events if not isinstance(event, RegionChunk)]


@pytest.mark.parametrize("format_id", FORMATS)
def test_file_is_in_canonical_form(format_id: str) -> None:
    """Writing what was read gives the file itself, so `--update` changes nothing but expectations."""
    path = CORPUS / f"{format_id}.txt"
    assert render(read(path)) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("format_id", FORMATS)
def test_file_covers_its_format(format_id: str) -> None:
    """A corpus file has at least eight cases, among them the checked example of the format census."""
    names = [case.name for case in read(CORPUS / f"{format_id}.txt").cases]
    assert len(names) >= 8
    assert "checked example" in names


@pytest.mark.parametrize("format_id", FORMATS)
def test_checked_example_is_canonical(format_id: str) -> None:
    """What the model's own template prints parses strictly, to the same message."""
    entry = next(entry for entry in CASES if (entry.format, entry.case.name) == (format_id, "checked example"))
    chat, text, prompt = bound(entry), entry.case.input, entry.case.prompt
    if format_id == "gpt-oss":
        # <|call|> is a stop token there: a model writes <|end|> between two calls of one output.
        text = text.replace("<|call|><|start|>", "<|end|><|start|>")
    assert chat.parse(text, prompt=prompt, strict=True) == chat.parse(text, prompt=prompt)


def test_every_shipped_grammar_has_a_corpus_file() -> None:
    """A grammar file without a corpus file fails here."""
    shipped = {path.stem for path in GRAMMARS.glob("*.peg")}
    assert shipped <= set(FORMATS)


texts = st.text(st.sampled_from("ab =-\\\n\r#{}é🍸"), max_size=20) | st.sampled_from(
    ["=== a", "--- input", "\\--- b\n", "\n=== ", "\n", "\\\\=== c", "# d", "---"]
)
names = st.text(st.sampled_from("abc -=#"), min_size=1, max_size=8).map(str.strip)
tool_lists = st.lists(st.just({"type": "function", "function": {"name": "ping"}}), max_size=2)
written_cases = st.builds(
    Case,
    name=names,
    input=texts,
    expected=st.fixed_dictionaries({}, optional={"content": texts, "tool_calls": st.just([{"name": "ping"}])}),
    note=st.sampled_from(["", "one line", "two\nlines"]),
    tools=st.none() | tool_lists | st.just("basic"),
    prompt=st.none() | texts,
    options=st.sampled_from([{}, {"unparsed": "drop"}]),
)


@given(st.lists(written_cases, max_size=4, unique_by=lambda case: case.name), tool_lists)
def test_reading_what_was_written_gives_it_back(cases: list[Case], shared: list[dict[str, Any]]) -> None:
    """Texts with headers, backslashes, carriage returns and final newlines come back as they were."""
    file = CorpusFile(tuple(cases), "An intro.", {"basic": shared})
    assert parse(render(file)) == file


def test_final_newline_is_an_empty_line() -> None:
    """The newline that ends a section's last line is not part of its text."""
    file = parse("=== one\n--- prompt\na\n\n--- input\nb\n--- expected\n{}\n")
    assert (file.cases[0].prompt, file.cases[0].input) == ("a\n", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=== a\n--- input\nx\n", "line 1: case 'a' has no expected"),
        ("=== a\n--- inputs\nx\n--- expected\n{}\n", "line 2: unknown section 'inputs'"),
        ("=== a\n--- expected\n{}\n--- input\nx\n", "line 4: section 'input' is out of order or given twice"),
        ("=== a\n--- tools t\n--- input\nx\n--- expected\n{}\n", "line 2: no tool list is called 't'"),
        ("=== a\n--- input\nx\n--- expected\n{\n", "line 4: expected: Expecting property name"),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_line(text: str, message: str) -> None:
    """A corpus file that cannot be read says where and why."""
    with pytest.raises(CorpusError, match=message):
        parse(text)
