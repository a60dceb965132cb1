"""The command line as a user meets it: what it prints where, and the exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chatpeg import catalog
from chatpeg.__main__ import main
from chatpeg.trace import MARKUP, pieces
from replay import grammar
from strategies import FORMATS, corpus_cases

EXAMPLES = Path(__file__).parent.parent / "examples"
REPLY, TOOLS = str(EXAMPLES / "reply.txt"), str(EXAMPLES / "tools.json")
CONTENT = (
    "I will first check for all Markdown files in the current directory and its subdirectories,"
    " and then list them using the glob tool."
)


class Ran:
    """One run in this process: status, output, and what went to stderr."""

    def __init__(self, capture: pytest.CaptureFixture[str], *arguments: str) -> None:
        try:
            self.status = main(arguments)
        except SystemExit as exit_:
            self.status = int(str(exit_.code))
        self.out, self.err = capture.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: Ran(capsys, *map(str, arguments))


def process(*arguments: str, text: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, for standard input, pipes and terminals."""
    command = [sys.executable, "-m", "chatpeg", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, timeout=60, **options)


# list


def test_list_shows_every_format_with_its_models(run: Any) -> None:
    ran = run("list")
    assert [line.split()[0] for line in ran.out.splitlines()] == sorted(catalog.shipped())
    assert re.search(r"^qwen3-coder +Qwen/Qwen3-Coder-\*", ran.out, re.MULTILINE)
    assert (ran.status, ran.err) == (0, "")


# parse


def test_parse_prints_the_message_in_its_openai_form(run: Any) -> None:
    ran = run("parse", "qwen3-coder", REPLY, "--tools", TOOLS)
    function = {"name": "glob", "arguments": '{"pattern": "**/*.md"}'}
    call = {"id": "call_0", "type": "function", "function": function}
    assert ran.json == {"role": "assistant", "content": CONTENT, "tool_calls": [call]}
    assert (ran.status, ran.err) == (0, "")


def test_parse_takes_a_model_or_a_path_for_a_format(run: Any) -> None:
    path = catalog.shipped()["qwen3-coder"].path
    for name in ("Qwen/Qwen3-Coder-30B-A3B-Instruct", str(path)):
        assert run("parse", name, REPLY).json["tool_calls"]


def test_parse_reads_standard_input() -> None:
    for arguments in (("parse", "hermes"), ("parse", "hermes", "-")):
        assert json.loads(process(*arguments, text="Grüße".encode()).stdout) == {
            "role": "assistant",
            "content": "Grüße",
        }


def test_parse_says_what_did_not_parse(run: Any, tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text('Hi <tool_call>{"name": "nope", "arguments": {}}</tool_call>', encoding="utf-8")
    shown = run("parse", "hermes", reply, "--tools", TOOLS).json
    assert shown["content"].endswith("</tool_call>")
    (malformed,) = shown["malformed"]
    assert malformed["label"] == "tool_call"
    assert "nope" in malformed["error"]
    dropped = run("parse", "hermes", reply, "--tools", TOOLS, "--unparsed", "drop").json
    assert dropped["content"].strip() == "Hi"
    kept = run("parse", "hermes", reply, "--tools", TOOLS, "--unknown-tools", "call").json
    assert kept["tool_calls"][0]["function"]["name"] == "nope"


def test_parse_partial_holds_back_what_may_become_a_call(run: Any, tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text("Hi.\n<tool_", encoding="utf-8")
    assert run("parse", "hermes", reply, "--partial").json == {"role": "assistant", "content": "Hi.", "complete": False}
    assert run("parse", "hermes", reply).json["content"] == "Hi.\n<tool_"


def test_parse_with_a_prompt_that_opens_the_thought(run: Any, tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text("Easy.\n</think>\n\nFour.", encoding="utf-8")
    shown = run("parse", "qwen3-hermes", reply, "--prompt", "<|im_start|>assistant\n<think>\n").json
    assert (shown["reasoning_content"], shown["content"]) == ("Easy.", "Four.")


def test_parse_strict_points_at_what_is_not_canonical(run: Any) -> None:
    ran = run("parse", "qwen3-coder", REPLY, "--tools", TOOLS, "--strict")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("chatpeg: --strict refuses this reply\nerror: ")
    assert f"--> {REPLY}:3:1" in ran.err
    assert "3 | <function=glob>\n  | ^" in ran.err


def test_stream_prints_events_that_add_up_to_the_message(run: Any) -> None:
    whole = run("parse", "qwen3-coder", REPLY, "--tools", TOOLS).json
    for size in ("1", "7", "1000"):
        *events, last = run("parse", "qwen3-coder", REPLY, "--tools", TOOLS, "--stream", size).lines
        assert "".join(event["text"] for event in events if event["event"] == "chunk") == CONTENT
        assert [event["value"] for event in events if event["event"] == "close"][1:] == whole["tool_calls"]
        assert last == {"event": "message", **whole}


def test_stream_shows_a_region_that_broke(run: Any, tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text('<tool_call>{"name": "ping", "arguments": {"a": 1,}}</tool_call>', encoding="utf-8")
    events = run("parse", "hermes", reply, "--stream").lines
    (broken,) = [event for event in events if event["event"] == "malformed"]
    assert broken["label"] == "tool_call"
    assert isinstance(broken["error"], str)


def test_stream_prints_an_event_as_soon_as_it_is_known() -> None:
    command = [sys.executable, "-m", "chatpeg", "parse", "hermes", "--stream"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write("né".encode()[:-1])
        running.stdin.flush()
        first = [json.loads(running.stdout.readline()) for _ in range(2)]
        assert first[1] == {"event": "chunk", "label": "content", "text": "n", "final": True}
        running.stdin.write("é".encode()[1:])
        running.stdin.close()
        assert json.loads(running.stdout.read().splitlines()[-1])["content"] == "né"


# check


def test_check_of_every_shipped_format_passes(run: Any) -> None:
    ran = run("check", *catalog.shipped())
    assert ran.status == 0, ran.out
    assert ran.err == ""


def test_check_prints_every_problem_and_what_is_held_back(run: Any, tmp_path: Path) -> None:
    grammar = tmp_path / "mine.peg"
    grammar.write_text('response = text (cal text)*\ntext = content:until(call)\ncall = "<" ^ "x"\nidle = "y"\n')
    ran = run("check", grammar, "hermes")
    assert ran.status == 1
    assert 'rule "cal" is not defined' in ran.out
    assert f"--> {grammar}:1:18" in ran.out
    assert "help: did you mean call?" in ran.out
    assert 'rule "idle" is never used' in ran.out


# emit


def test_emit_prints_the_grammar_and_says_when_it_starts(run: Any) -> None:
    ran = run("emit", "qwen3-coder", "--tools", TOOLS)
    assert ran.status == 0
    assert ran.out.startswith("root ::=")
    assert "glob" in ran.out
    assert 'lazy: constrained from "<tool_call>" on' in ran.err


def test_emit_json_is_a_llama_server_request(run: Any) -> None:
    ran = run("emit", "hermes", "--tools", TOOLS, "--json")
    assert ran.json["grammar"] == run("emit", "hermes", "--tools", TOOLS).out
    assert ran.json["grammar_lazy"] is True
    assert ran.json["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]


def test_emit_a_named_tool_only(run: Any) -> None:
    ran = run("emit", "hermes", "--tools", TOOLS, "--tool-choice", "glob")
    assert "glob" in ran.out
    assert "read_file" not in ran.out
    assert "lazy" not in ran.err


def test_emit_a_response_schema(run: Any, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}')
    assert "answer" in run("emit", "hermes", "--schema", schema).out


def test_emit_nothing_to_constrain(run: Any) -> None:
    ran = run("emit", "hermes", "--tool-choice", "none")
    assert (ran.status, ran.out) == (0, "")
    assert "nothing to constrain" in ran.err


def test_emit_says_what_is_not_enforced(run: Any, tmp_path: Path) -> None:
    function = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)b"}}},
    }
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": function}]))
    ran = run("emit", "hermes", "--tools", tools)
    assert ran.status == 0
    assert re.search(r"^warning: f.*x.*pattern", ran.err, re.MULTILINE)
    strict = run("emit", "hermes", "--tools", tools, "--strict-schema")
    assert (strict.status, strict.out) == (1, "")
    assert "pattern" in strict.err


# trace


def test_trace_into_a_pipe_is_plain_text_with_labels(run: Any) -> None:
    ran = run("trace", "qwen3-coder", REPLY, "--tools", TOOLS)
    assert ran.out == (
        f"content   | {CONTENT}\n"
        "markup    | ⏎\n"
        "          | ⏎\n"
        "tool_call | <function=glob>⏎\n"
        "          | <parameter=pattern>⏎\n"
        "          | **/*.md⏎\n"
        "          | </parameter>⏎\n"
        "          | </function>\n"
        "markup    | ⏎\n"
        "          | </tool_call>\n"
    )


def test_trace_shows_what_did_not_parse_and_hides_no_control_character(run: Any, tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text("\x1b[2J<tool_call>{}", encoding="utf-8")
    out = run("trace", "hermes", reply).out
    assert "content   | \\x1b[2J\n" in out
    assert "malformed | <tool_call>{}\n" in out
    assert "\x1b" not in out
    assert "malformed tool_call, 4 to 17: " in out


def test_trace_on_a_terminal_is_coloured() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "chatpeg", "trace", "qwen3-coder", REPLY]
    with subprocess.Popen(command, stdout=theirs, env=environment) as running:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:
            pass
        os.close(ours)
    assert running.returncode == 0
    assert b"\x1b[1;36m<function=glob>" in shown
    assert CONTENT.encode() in shown
    assert shown.index(b" tool_call ") < shown.index(b"I will first"), "the legend comes first"


@pytest.mark.parametrize("format_id", FORMATS)
def test_the_pieces_of_a_trace_tile_the_reply(format_id: str) -> None:
    for entry in corpus_cases():
        if entry.format != format_id:
            continue
        parser = grammar(format_id).bind(tools=entry.tools, **entry.case.options).parser(entry.case.prompt)
        events = [*parser.initial_events, *parser.feed(entry.case.input), *parser.finish()]
        found = pieces(parser.input_text, events, parser.message)
        assert "".join(piece.text for piece in found) == parser.input_text
        assert all(before.end == after.start for before, after in pairwise(found))
        assert {"content", "reasoning", "tool_call", "malformed", "dropped", MARKUP} >= {piece.label for piece in found}
        calls = [piece for piece in found if piece.label == "tool_call"]
        assert len(calls) == len(parser.message.tool_calls)


# Errors


@pytest.fixture
def bad(tmp_path: Path) -> Any:
    def write(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return write


def test_bad_input_is_one_line_and_status_1(run: Any, bad: Any, tmp_path: Path) -> None:
    for arguments, says in [
        (("parse", "hermes", "missing.txt"), "missing.txt: No such file"),
        (("parse", "hermes", tmp_path), "Is a directory"),
        (("parse", "hermes", bad("latin.txt", b"gr\xfc\xdfe")), "latin.txt: not UTF-8"),
        (("parse", "hermes", bad("cut.txt", b"gr\xc3")), "cut.txt: not UTF-8: unexpected end of data"),
        (("parse", "hermes", REPLY, "--tools", "missing.json"), "missing.json: No such file"),
        (("parse", "hermes", REPLY, "--tools", bad("t.json", b"[{]")), "t.json:1:3: not JSON"),
        (("parse", "hermes", REPLY, "--tools", bad("t2.json", b"")), "t2.json:1:1: not JSON"),
        (("parse", "hermes", REPLY, "--tools", bad("t3.json", b"[" * 100_000)), "t3.json: nested too deeply"),
        (("parse", "hermes", REPLY, "--tools", bad("t4.json", b"{}")), "tools must be a list of OpenAI-style tools"),
        (("emit", "hermes", "--tools", TOOLS, "--tool-choice", "nope"), "names 'nope', which is not offered"),
        (("check", "missing.peg"), "missing.peg: no such file"),
    ]:
        ran = run(*arguments)
        assert (ran.status, ran.out) == (1, ""), arguments
        assert ran.err.startswith("chatpeg: ")
        assert says in ran.err
        assert ran.err.count("\n") == 1


def test_a_grammar_with_errors_is_rendered(run: Any, bad: Any) -> None:
    ran = run("parse", bad("mine.peg", b"a = b\n"), REPLY)
    assert ran.status == 1
    assert 'error: rule "b" is not defined' in ran.err
    assert "mine.peg:1:5" in ran.err


def test_bad_usage_is_status_2(run: Any) -> None:
    for arguments, says in [
        ((), "usage: chatpeg"),
        (("pars",), "invalid choice: 'pars'"),
        (("parse",), "FORMAT"),
        (("parse", "hermse", REPLY), "there is no format 'hermse'; did you mean hermes"),
        (("parse", "acme/none-7b", REPLY), "no format lists the model 'acme/none-7b'"),
        (("parse", "none.peg", REPLY), "there is no grammar file 'none.peg'"),
        (("parse", "hermes", "--stream", REPLY), "is not a number of characters; FILE stands before --stream"),
        (("parse", "hermes", REPLY, "--stream", "0"), "is not a number of characters"),
        (("parse", "hermes", REPLY, "--partial", "--strict"), "not allowed with argument"),
        (("parse", "hermes", REPLY, "--unparsed", "keep"), "invalid choice: 'keep'"),
        (("emit", "hermes", "--target", "bnf"), "invalid choice: 'bnf'"),
        (("emit", "hermes", "--target", "lark", "--json"), "--json is a llama-server request, which takes no lark"),
    ]:
        ran = run(*arguments)
        assert (ran.status, ran.out) == (2, ""), arguments
        assert says in ran.err


def test_help_says_how_to_begin(run: Any) -> None:
    ran = run("--help")
    assert ran.status == 0
    for word in ("list", "check", "parse", "emit", "trace", "examples:", "exit status: 0, or 1 for bad input"):
        assert word in ran.out
    assert max(map(len, ran.out.splitlines())) <= 120


def test_version(run: Any) -> None:
    assert re.fullmatch(r"chatpeg \d+\.\d+\.\d+\n", run("--version").out)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f'"{sys.executable}" -m chatpeg parse hermes --stream 1 | head -n 1'
    done = subprocess.run(command, shell=True, input=b"x" * 100_000, capture_output=True, check=False, timeout=60)
    assert done.stdout.startswith(b'{"event": "open"')
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("target", [">&-", "> /dev/full"])
def test_output_that_cannot_be_written_is_status_1(target: str) -> None:
    command = f'"{sys.executable}" -m chatpeg list {target}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr in {"", "chatpeg: No space left on device\n"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_without_a_traceback() -> None:
    # A background job of a shell ignores interrupts, and so would what it starts.
    program = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        " runpy.run_module('chatpeg', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, "parse", "hermes", "--stream"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write(b"x")
        running.stdin.flush()
        running.stdout.readline()
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=30)
    assert running.returncode == 130
    assert error == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_is_utf_8_whatever_the_locale(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = process("parse", "hermes", text="→ ü".encode(), env=environment)
    assert json.loads(done.stdout.decode())["content"] == "→ ü"
