"""The loader: imports, names, parametrised rules, directives, and the rendering of every problem."""

import pickle
import re

import pytest
from chatpeg.errors import GrammarError
from chatpeg.loader import examine_file, examine_text, load_file, load_text, shipped_directory
from chatpeg.nodes import Call, Literal, Reference, Terminal, walk
from chatpeg.notation import write


@pytest.fixture
def folder(tmp_path):
    """Writes files given as name=text, and returns their directory."""

    def write_files(files):
        for name, text in files.items():
            path = tmp_path / f"{name}.peg"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write_files


def written(loaded):
    """The table of rules in the notation."""
    return {name: write(rule.expression) for name, rule in loaded.rules.items()}


PROBLEMS = r"""
%stop "x"
----
error: a file without rules
 --> x.peg:1:1
  |
1 | %stop "x"
  | ^
help: write name = expression; the first rule is the start rule
====
%import json
%import nosuch
----
error: a file without rules imports exactly one grammar
 --> x.peg:1:1
  |
1 | %import json
  | ^
help: write a start rule: response = …

error: no grammar file "nosuch" to import
 --> x.peg:2:9
  |
2 | %import nosuch
  |         ^^^^^^
help: files are looked for as SHIPPED/lib/nosuch.peg SHIPPED/nosuch.peg
====
%import jsn
a = jsn.ws
----
error: no grammar file "jsn" to import
 --> x.peg:1:9
  |
1 | %import jsn
  |         ^^^
help: did you mean json?
====
a(x) = x
b = a("x")
----
error: the start rule has parameters
 --> x.peg:1:1
  |
1 | a(x) = x
  | ^
help: the first rule is the start rule: move it down

error: rule "b" is never used
 --> x.peg:2:1
  |
2 | b = a("x")
  | ^
help: delete it, or refer to it
====
a = tex
text = "x"
----
error: rule "tex" is not defined
 --> x.peg:1:5
  |
1 | a = tex
  |     ^^^
help: did you mean text?
====
a = "x" CALL_NAME
----
error: rule "CALL_NAME" is not defined
 --> x.peg:1:9
  |
1 | a = "x" CALL_NAME
  |         ^^^^^^^^^
help: did you mean TOOL_NAME?
====
a = TOOL_NAMES
----
error: rule "TOOL_NAMES" is not defined
 --> x.peg:1:5
  |
1 | a = TOOL_NAMES
  |     ^^^^^^^^^^
help: did you mean TOOL_NAME?
====
a = unitl("x")
----
error: rule "unitl" is not defined
 --> x.peg:1:5
  |
1 | a = unitl("x")
  |     ^^^^^
help: did you mean until?
====
a = json.ws
----
error: "json" is not imported
 --> x.peg:1:5
  |
1 | a = json.ws
  |     ^^^^^^^
help: add the line %import json
====
%import json
a = json.wss json.zzzzzz
----
error: "json" has no rule "wss"
 --> x.peg:2:5
  |
2 | a = json.wss json.zzzzzz
  |     ^^^^^^^^
help: did you mean json.ws?

error: "json" has no rule "zzzzzz"
 --> x.peg:2:14
  |
2 | a = json.wss json.zzzzzz
  |              ^^^^^^^^^^^
help: its rules are value object member array string char number ws call call_name call_arguments call_only other plain plain_object plain_member plain_array line
====
a = "x"
b = "y"
c = b
----
error: rule "b" is never used
 --> x.peg:2:1
  |
2 | b = "y"
  | ^
help: delete it, or refer to it

error: rule "c" is never used
 --> x.peg:3:1
  |
3 | c = b
  | ^
help: delete it, or refer to it
====
a = "x" b
b = "y"
b = "z"
a = "w"
----
error: rule "b" is defined twice
 --> x.peg:3:1
  |
3 | b = "z"
  | ^
note: it is defined here (x.peg:2:1)
help: rename or delete one of the two

error: rule "a" is defined twice
 --> x.peg:4:1
  |
4 | a = "w"
  | ^
note: it is defined here (x.peg:1:1)
help: rename or delete one of the two
====
a = b("x")
b = "y"
----
error: rule "b" has no parameters
 --> x.peg:1:5
  |
1 | a = b("x")
  |     ^
note: it is defined here (x.peg:2:1)
help: put a blank before the "(" if b and a group were meant
====
a = b ("x")
b(x) = x
----
error: rule "b" needs arguments
 --> x.peg:1:5
  |
1 | a = b ("x")
  |     ^
note: it is defined here (x.peg:2:1)
help: write b(x), with no blank before the "("
====
a = b("x", "y")
b(x) = x
----
error: rule "b" takes 1 argument, not 2
 --> x.peg:1:5
  |
1 | a = b("x", "y")
  |     ^
note: it is defined here (x.peg:2:1)
help: write b(x)
====
a = b("y")
b(x) = x("z")
----
error: "x" is a parameter, not a rule
 --> x.peg:2:8
  |
2 | b(x) = x("z")
  |        ^
help: write x without arguments
====
a = b("y")
b(x) = "1" b("(" x) / x
----
error: this call never ends: its argument grows each time round
 --> x.peg:2:12
  |
2 | b(x) = "1" b("(" x) / x
  |            ^^^^^^^^
help: give the call the parameter itself, or something without it
====
a = b("y", "z")
b(x, y) = c(y, x)
c(x, y) = "1" b(c(x, y), y) / x y
----
error: this call never ends: its argument grows each time round
 --> x.peg:3:15
  |
3 | c(x, y) = "1" b(c(x, y), y) / x y
  |               ^^^^^^^^^^^^^
help: give the call the parameter itself, or something without it
====
%trigger cal b
a = call b("x")
call = "c"
b(x) = x
----
error: trigger "cal" is not a rule
 --> x.peg:1:10
  |
1 | %trigger cal b
  |          ^^^
help: did you mean call?

error: trigger "b" has parameters
 --> x.peg:1:14
  |
1 | %trigger cal b
  |              ^
note: it is defined here (x.peg:4:1)
help: name a rule without parameters
====
%triger a
a = "x"
----
error: unknown directive %triger
 --> x.peg:1:1
  |
1 | %triger a
  | ^^^^^^^
help: did you mean %trigger?
====
%frobnicate
a = "x"
----
error: unknown directive %frobnicate
 --> x.peg:1:1
  |
1 | %frobnicate
  | ^^^^^^^^^^^
help: the directives are %models %aliases %prompt %prefill %tokens %stop %trigger %import %given %fields %value
====
%stop
a = "x"
----
error: %stop without arguments
 --> x.peg:1:1
  |
1 | %stop
  | ^^^^^
help: e.g. %stop "<|end|>"
====
%value json
%value raw
a = "x"
----
error: %value is set twice
 --> x.peg:2:1
  |
2 | %value raw
  | ^^^^^^
note: it is set here (x.peg:1:1)
help: keep one of the two
====
%prefill "a" "b"
a = "x"
----
error: %prefill takes one argument
 --> x.peg:1:14
  |
1 | %prefill "a" "b"
  |              ^^^
help: e.g. %prefill "<think>\n"
====
%value jsn
a = "x"
----
error: unknown dialect "jsn"
 --> x.peg:1:8
  |
1 | %value jsn
  |        ^^^
help: did you mean json?
====
%value yaml
a = "x"
----
error: unknown dialect "yaml"
 --> x.peg:1:8
  |
1 | %value yaml
  |        ^^^^
help: the dialects are raw python xml json
====
%stop <|end|> ""
a = "x"
----
error: %stop takes strings
 --> x.peg:1:7
  |
1 | %stop <|end|> ""
  |       ^^^^^^^
help: write "<|end|>"

error: an empty string for %stop
 --> x.peg:1:15
  |
1 | %stop <|end|> ""
  |               ^^
help: leave it out
====
%trigger "a"
a = "x"
----
error: %trigger takes words
 --> x.peg:1:10
  |
1 | %trigger "a"
  |          ^^^
help: write a
====
%trigger a*
a = "x"
----
error: "a*" is no name for %trigger
 --> x.peg:1:10
  |
1 | %trigger a*
  |          ^^
help: e.g. %trigger call
====
%given suffix ":x"
a = suffix
----
error: "suffix" is no name for %given
 --> x.peg:1:8
  |
1 | %given suffix ":x"
  |        ^^^^^^
help: e.g. %given SUFFIX ":x"

error: rule "suffix" is not defined
 --> x.peg:2:5
  |
2 | a = suffix
  |     ^^^^^^
help: define it: suffix = …
====
%given SUFFIX
a = "x"
----
error: %given takes a name and its default string
 --> x.peg:1:1
  |
1 | %given SUFFIX
  | ^^^^^^
help: e.g. %given SUFFIX ":x"
====
%given TOOL_NAME "x"
a = "x"
----
error: "TOOL_NAME" is built in
 --> x.peg:1:8
  |
1 | %given TOOL_NAME "x"
  |        ^^^^^^^^^
help: use another name
====
%given SUFFIX ":x"
a = SUFFIX
SUFFIX = "y"
----
error: rule "SUFFIX" is defined twice
 --> x.peg:3:1
  |
3 | SUFFIX = "y"
  | ^^^^^^
note: it is defined here (x.peg:1:8)
help: rename or delete one of the two
====
%fields content plan
a = "x"
----
error: "content" is built in
 --> x.peg:1:9
  |
1 | %fields content plan
  |         ^^^^^^^
help: use another name
====
%stop end
%import json nosch
%trigger b
a = txt c json.wx
text = "x"
d = "y"
c = text(d)
----
error: %stop takes strings
 --> x.peg:1:7
  |
1 | %stop end
  |       ^^^
help: write "end"

error: no grammar file "nosch" to import
 --> x.peg:2:14
  |
2 | %import json nosch
  |              ^^^^^
help: files are looked for as SHIPPED/lib/nosch.peg SHIPPED/nosch.peg

error: trigger "b" is not a rule
 --> x.peg:3:10
  |
3 | %trigger b
  |          ^
help: name a rule of this file

error: rule "txt" is not defined
 --> x.peg:4:5
  |
4 | a = txt c json.wx
  |     ^^^
help: did you mean text?

error: "json" has no rule "wx"
 --> x.peg:4:11
  |
4 | a = txt c json.wx
  |           ^^^^^^^
help: did you mean json.ws?

error: rule "text" has no parameters
 --> x.peg:7:5
  |
7 | c = text(d)
  |     ^^^^
note: it is defined here (x.peg:5:1)
help: put a blank before the "(" if text and a group were meant
====
a = b |
----
error: choices are not written with "|"
 --> x.peg:1:7
  |
1 | a = b |
  |       ^
help: alternatives are separated by "/"
"""


@pytest.mark.parametrize("case", PROBLEMS.strip("\n").split("\n====\n"), ids=lambda case: case.partition("\n----")[0])
def test_problems(case):
    text, _, rendered = case.partition("\n----\n")

    _, problems = examine_text(text, "x.peg")

    shown = "\n\n".join(problem.render() for problem in problems)
    assert rendered == shown.replace(str(shipped_directory()), "SHIPPED")


@pytest.mark.parametrize("case", PROBLEMS.strip("\n").split("\n====\n"), ids=lambda case: case.partition("\n----")[0])
def test_loading_raises_what_examining_returns(case):
    text = case.partition("\n----\n")[0]

    with pytest.raises(GrammarError) as caught:
        load_text(text, "x.peg")

    assert tuple(examine_text(text, "x.peg")[1]) == caught.value.problems


@pytest.mark.parametrize("text", ['a = "x"\nb = "y"', '%triger a\na = "x"', 'a = "x"\na = "y"', '%trigger b\na = "x"'])
def test_problems_that_leave_every_name_a_meaning_leave_a_grammar(text):
    loaded, problems = examine_text(text)

    assert loaded
    assert len(problems) == 1
    assert {"a": '"x"'} == written(loaded)


def test_directives():
    loaded = load_text(
        r"""
        %models "a/*" "b"   # patterns
        %models "c"
        %aliases one "two"
        %prompt "<|a|>\n"
        %prefill "<think>\n"
        %tokens "<t>" "</t>" "<t>"
        %stop "<e>"
        %trigger call
        %fields plan
        %value xml
        response = call
        call = "<t>" plan:"x"
        """,
        "some-name.peg",
    )

    assert "some-name" == loaded.name
    assert ("a/*", "b", "c") == loaded.models
    assert ("one", "two") == loaded.aliases
    assert ("<|a|>\n",) == loaded.prompt
    assert "<think>\n" == loaded.prefill
    assert ("<t>", "</t>") == loaded.tokens
    assert ("<e>",) == loaded.stop
    assert ("call",) == loaded.triggers
    assert ("plan",) == loaded.fields
    assert "xml" == loaded.dialect
    assert "response" == loaded.start
    assert {"xml"} == {rule.dialect for rule in loaded.rules.values()}


def test_rules_of_an_import_are_qualified_and_refer_to_each_other(folder):
    path = folder({"a": "%import b\nstart = b.x ws\nws = ' '", "b": "x = ws\nws = '-'\nunused = x"}) / "a.peg"

    assert {"start": "b.x ws", "b.x": "b.ws", "ws": '" "', "b.ws": '"-"'} == written(load_file(path))


def test_a_library_beside_the_importing_file_comes_first(folder):
    files = {"a": "%import json\nstart = json.ws", "json": "ws = 'beside'", "lib/json": "ws = 'lib'"}

    assert '"lib"' == written(load_file(folder(files) / "a.peg"))["json.ws"]
    (folder({}) / "lib" / "json.peg").unlink()
    assert '"beside"' == written(load_file(folder({}) / "a.peg"))["json.ws"]
    (folder({}) / "json.peg").unlink()
    assert "[\\t-\\n\\r ]*" == written(load_file(folder({}) / "a.peg"))["json.ws"]


def test_imports_of_a_library_resolve_inside_it(folder):
    files = {
        "a": "%import b json\nstart = json.ws b.x",
        "json": "ws = 'mine'",
        "lib/b": "%import json\nx = json.ws",
        "lib/json": "ws = 'inner'",
    }

    loaded = load_file(folder(files) / "a.peg")

    assert "json.ws" == written(loaded)["b.x"]
    assert '"inner"' == written(loaded)["json.ws"]


def test_two_files_of_one_name_are_told_apart(folder):
    files = {"json": "ws = '1'", "sub/b": "x = json.ws\n%import json", "sub/json": "ws = '2'"}
    search = [folder(files), folder(files) / "sub"]

    loaded, problems = examine_text("%import json b\nstart = json.ws b.x", "a.peg", search)

    assert not problems
    assert {"start": "json.ws b.x", "json.ws": '"1"', "b.x": "b.json.ws", "b.json.ws": '"2"'} == written(loaded)


def test_a_library_is_read_once(folder):
    files = {"a": "%import b c\nstart = b.x c.x", "b": "%import d\nx = d.x", "c": "%import d\nx = d.x", "d": "x = 'd'"}

    loaded = load_file(folder(files) / "a.peg")

    assert ["start", "b.x", "c.x", "d.x"] == list(loaded.rules)


def test_a_file_that_imports_its_own_name_means_the_next_one(folder):
    path = folder({"json": "%import json\nstart = json.number"}) / "json.peg"

    assert "json.number" in load_file(path).rules


def test_import_cycles(folder):
    files = {"a": "%import b\nstart = b.x", "b": "%import c\nx = c.x", "c": "%import b\nx = b.x"}

    loaded, (problem,) = examine_file(folder(files) / "a.peg")

    assert loaded is None
    assert (
        problem.render()
        == f"""\
error: import cycle: b -> c -> b
 --> {folder({})}/c.peg:1:9
  |
1 | %import b
  |         ^
help: move the rules that both need to a file of their own"""
    )


def test_problems_of_a_library_are_reported_where_they_are_after_those_of_the_file(folder):
    files = {"z": "%import a\nstart = a.x y", "a": "x = nothing"}

    _, problems = examine_file(folder(files) / "z.peg")

    assert ['rule "y" is not defined', 'rule "nothing" is not defined'] == [p.message for p in problems]
    assert [f"{folder({})}/z.peg:2:13", f"{folder({})}/a.peg:1:5"] == [p.span.where for p in problems]


def test_an_import_that_cannot_be_read_is_reported_once(folder):
    files = {"a": "%import b\nstart = b.x b.y", "b": "x = |"}

    loaded, problems = examine_file(folder(files) / "a.peg")

    assert loaded is None
    assert [f"{folder({})}/b.peg:1:5"] == [p.span.where for p in problems]


def test_not_utf_8(tmp_path):
    path = tmp_path / "a.peg"
    path.write_bytes(b"a = '\xc3\xa9\xff'")

    _, (problem,) = examine_file(path)

    assert ("this is not UTF-8", 6) == (problem.message, problem.span.start)


def test_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "a.peg"
    path.write_bytes(b"\xef\xbb\xbf%stop 'x'\r\na = 'y'\r\n")

    assert ("x",) == load_file(path).stop


EXPANSIONS = [
    (
        'a = tag("x") tag("y") tag("x")\ntag(n) = "<" n ">"',
        {"a": 'tag("x") tag("y") tag("x")', 'tag("x")': '"<" "x" ">"', 'tag("y")': '"<" "y" ">"'},
    ),
    (
        "a = f(b, c)\nf(x, y) = x g(y)\ng(x) = x\nb = 'b'\nc = 'c'",
        {"a": "f(b, c)", "f(b, c)": "b g(c)", "b": '"b"', "g(c)": "c", "c": '"c"'},
    ),
    ("a = f(g('x'))\nf(x) = x\ng(x) = x", {"a": 'f(g("x"))', 'f(g("x"))': 'g("x")', 'g("x")': '"x"'}),
    ("a = f('x' / 'y')\nf(x) = x 'z'", {"a": 'f("x" / "y")', 'f("x" / "y")': '("x" / "y") "z"'}),
    ("a = f(b)\nf(x) = '(' (f(x) / x) ')'\nb = 'b'", {"a": "f(b)", "f(b)": '"(" (f(b) / b) ")"', "b": '"b"'}),
    (
        "a = f('x', 'y')\nf(x, y) = x f(y, x)?",
        {"a": 'f("x", "y")', 'f("x", "y")': '"x" f("y", "x")?', 'f("y", "x")': '"y" f("x", "y")?'},
    ),
    ("a = f('x') x\nf(x) = x\nx = 'rule'", {"a": 'f("x") x', 'f("x")': '"x"', "x": '"rule"'}),
]


@pytest.mark.parametrize("text, rules", EXPANSIONS, ids=[text.partition("\n")[0] for text, _ in EXPANSIONS])
def test_expansion(text, rules):
    loaded = load_text(text)

    # An instance's name looks like a call: what it refers to is in the table under that very name.
    nodes = [node for rule in loaded.rules.values() for node in walk(rule.expression)]
    assert not any(isinstance(node, Call) for node in nodes)
    assert all(node.name in loaded.rules for node in nodes if isinstance(node, Reference))
    assert rules == written(loaded)
    assert all(name == rule.name and not rule.parameters for name, rule in loaded.rules.items())


def test_arguments_belong_to_the_file_of_the_caller(folder):
    files = {
        "a": "%import b\n%value python\nstart = b.f(x TOOL_NAME) b.g\nx = 'a'",
        "b": "%value json\nf(p) = p x\nx = 'b'\ng = f(TOOL_NAME) f(x) PARAM_NAME",
    }

    loaded = load_file(folder(files) / "a.peg")

    assert "b.f(x python:TOOL_NAME) b.g" == written(loaded)["start"]
    assert "(x TOOL_NAME) b.x" == written(loaded)["b.f(x python:TOOL_NAME)"]
    assert "TOOL_NAME b.x" == written(loaded)["b.f(json:TOOL_NAME)"]
    terminals = [
        (name, node.name, node.dialect)
        for name, rule in loaded.rules.items()
        for node in walk(rule.expression)
        if isinstance(node, Terminal)
    ]
    assert [
        ("b.f(x python:TOOL_NAME)", "TOOL_NAME", "python"),
        ("b.g", "PARAM_NAME", "json"),
        ("b.f(json:TOOL_NAME)", "TOOL_NAME", "json"),
    ] == terminals
    assert "json" == loaded.rules["b.f(x python:TOOL_NAME)"].dialect


def test_given_literals():
    loaded = load_text('%given SUFFIX ":x"\na = "<" SUFFIX ">"')

    assert {"SUFFIX": ":x"} == loaded.given
    assert isinstance(loaded.rules["SUFFIX"].expression, Literal)
    assert {"a": '"<" SUFFIX ">"', "SUFFIX": '":x"'} == written(loaded)


BASE = """
%given SUFFIX ":x"
%stop "<|base|>"
%trigger call
%import json
response = content:until(call) call
call = "<call" SUFFIX ">" json.ws
"""


def test_a_file_of_directives_takes_over_the_rules_of_its_one_import(folder):
    files = {"base": BASE, "variant": '%import base\n%trigger call\n%stop "<|other|>"\n%given SUFFIX ":y"'}

    base, variant = (load_file(folder(files) / f"{name}.peg") for name in ("base", "variant"))

    assert "response" == variant.start
    assert ("call",) == variant.triggers
    assert ("<|other|>",) == variant.stop
    assert {"SUFFIX": ":y"} == variant.given
    assert {**written(base), "SUFFIX": '":y"'} == written(variant)


def test_a_start_rule_over_the_rules_of_another_file(folder):
    files = {"glm-4.7": BASE, "variant": "%import glm-4.7\n%trigger glm-4.7.call\nresponse = glm-4.7.response"}

    variant = load_file(folder(files) / "variant.peg")

    assert {
        "response": "glm-4.7.response",
        "glm-4.7.call": '"<call" SUFFIX ">" json.ws',
        "glm-4.7.response": "content:until(glm-4.7.call) glm-4.7.call",
        "SUFFIX": '":x"',
        "json.ws": "[\\t-\\n\\r ]*",
    } == written(variant)
    assert ("glm-4.7.call",) == variant.triggers


def test_a_rule_named_like_a_given_literal_of_an_import(folder):
    files = {"base": BASE, "variant": "%import base\nresponse = base.response SUFFIX\nSUFFIX = 'y'"}

    _, (problem,) = examine_file(folder(files) / "variant.peg")

    assert '"SUFFIX" is a given literal of an imported file' == problem.message
    assert 'to change the default write %given SUFFIX "…"' == problem.help


def test_a_library_has_no_unused_rules_and_may_begin_with_a_parametrised_one(folder):
    path = folder({"lib/x": "f(a) = a y\ny = 'y'\nz = 'z'"}) / "lib" / "x.peg"

    loaded = load_file(path)

    assert "y" == loaded.start
    assert {"y", "z"} == set(loaded.rules)


def test_loaded_is_frozen_and_picklable():
    loaded = load_text("a = 'x'")

    assert loaded == pickle.loads(pickle.dumps(loaded))
    with pytest.raises(AttributeError):
        loaded.start = "b"


WITH_PLAIN_RULES = [
    path
    for path in sorted(shipped_directory().glob("lib/*.peg"))
    if re.search(r"^\w+ *=", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", WITH_PLAIN_RULES, ids=lambda path: path.stem)
def test_shipped_libraries_load(path):
    assert load_file(path).rules
