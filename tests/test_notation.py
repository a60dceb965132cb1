"""The notation's reader: text to tree, exact spans, and the rendering of every problem."""

from dataclasses import fields, is_dataclass

import pytest
from chatpeg.errors import GrammarError
from chatpeg.nodes import Repeat, walk
from chatpeg.notation import read, write
from chatpeg.source import Source
from hypothesis import given
from hypothesis import strategies as st


def shape(node):
    """The tree without its spans: class names and fields as nested tuples."""
    if is_dataclass(node):
        kept = (getattr(node, field.name) for field in fields(node) if field.name != "span")
        return (type(node).__name__, *map(shape, kept))
    return tuple(map(shape, node)) if isinstance(node, tuple) else node


def expression(text):
    return read(Source("x.peg", f"a = {text}")).rules[0].expression


TREES = [
    ('"x"', ("Literal", "x")),
    ("'x'", ("Literal", "x")),
    ('""', ("Literal", "")),
    (r'"\n\t\\\"\x41\u00e9\U0001F600\101\0\N{BULLET}"', ("Literal", '\n\t\\"A\u00e9\U0001f600A\0\u2022')),
    ("[a-z_]", ("Class", ((95, 95), (97, 122)), False)),
    (r"[^\n\]]", ("Class", ((10, 10), (93, 93)), True)),
    ("[-+]", ("Class", ((43, 43), (45, 45)), False)),
    (r"[a\-z]", ("Class", ((45, 45), (97, 97), (122, 122)), False)),
    ("[a-cb-d]", ("Class", ((97, 100),), False)),
    (".", ("Any",)),
    ("!.", ("End",)),
    ("! .", ("End",)),
    ("^", ("Commit",)),
    ("b", ("Reference", "b")),
    ("json.ws", ("Reference", "json.ws")),
    ("glm-4.7.call", ("Reference", "glm-4.7.call")),
    ("b .", ("Sequence", (("Reference", "b"), ("Any",)))),
    ("TOOL_NAME", ("Terminal", "TOOL_NAME", "raw")),
    ("SUFFIX", ("Reference", "SUFFIX")),
    ("b c", ("Sequence", (("Reference", "b"), ("Reference", "c")))),
    ("b / c", ("Choice", (("Reference", "b"), ("Reference", "c")))),
    ("((b))", ("Reference", "b")),
    ("b?", ("Repeat", ("Reference", "b"), 0, 1)),
    ("b*", ("Repeat", ("Reference", "b"), 0, None)),
    ("b+", ("Repeat", ("Reference", "b"), 1, None)),
    ("b{3}", ("Repeat", ("Reference", "b"), 3, 3)),
    ("b{ 3, 4 }", ("Repeat", ("Reference", "b"), 3, 4)),
    ("b{3,}", ("Repeat", ("Reference", "b"), 3, None)),
    ("b{,4}", ("Repeat", ("Reference", "b"), 0, 4)),
    ("&b", ("And", ("Reference", "b"))),
    ("!b*", ("Not", ("Repeat", ("Reference", "b"), 0, None))),
    ("content:b*", ("Label", "content", ("Repeat", ("Reference", "b"), 0, None))),
    ("until(b / c)", ("Until", ("Choice", (("Reference", "b"), ("Reference", "c"))))),
    ("tolerate(b)", ("Tolerate", ("Reference", "b"))),
    ("drop(.)", ("Drop", ("Any",))),
    ("permute(b, c?)", ("Permute", ("Reference", "b"), (("Repeat", ("Reference", "c"), 0, 1),))),
    ("same(key)", ("Same", "key")),
    ("PARAM_VALUE(b)", ("ParamValue", ("Reference", "b"))),
    ("f(b c, d)", ("Call", "f", (("Sequence", (("Reference", "b"), ("Reference", "c"))), ("Reference", "d")))),
    ("f (b)", ("Sequence", (("Reference", "f"), ("Reference", "b")))),
    ("b # a comment = no rule\n c", ("Sequence", (("Reference", "b"), ("Reference", "c")))),
]


@pytest.mark.parametrize("text, tree", TREES)
def test_trees(text, tree):
    assert tree == shape(expression(text))


@pytest.mark.parametrize("text", [text for text, _ in TREES])
def test_writing_what_was_read_reads_the_same(text):
    node = expression(text)

    assert shape(node) == shape(expression(write(node)))


def test_rules_and_directives():
    file = read(
        Source(
            "x.peg",
            '# c\n%stop "<|a|>" \'b\' # why\n%given S ":x"\na "shown" = b\nb(x, y) = x\n y c "z" = .\n%trigger b',
        )
    )

    assert [("stop", ("<|a|>", "b")), ("given", ("S", ":x")), ("trigger", ("b",))] == [
        (d.name, tuple(text for text, _ in d.arguments)) for d in file.directives
    ]
    assert ["%stop", "%given", "%trigger"] == [d.span.text for d in file.directives]
    assert ['"<|a|>"', "'b'"] == [span.text for _, span in file.directives[0].arguments]
    assert [("a", (), "shown"), ("b", ("x", "y"), ""), ("c", (), "z")] == [
        (rule.name, rule.parameters, rule.display) for rule in file.rules
    ]
    assert ["a", "b", "c"] == [rule.span.text for rule in file.rules]


def test_spans_cover_their_own_text_only():
    text = 'x:( b  c* ) / ^ until( "d" # why\n / e )'

    spans = [node.span.text for node in walk(expression(text))]

    assert [text, "x:( b  c* )", "b  c*", "b", "c*", "c", text[14:], "^", text[16:], text[23:-2], '"d"', "e"] == spans


PROBLEMS = r"""
a = "x
b = c
----
error: this string is not closed on its line
 --> x.peg:1:5
  |
1 | a = "x
  |     ^^
help: add the missing quote
====
a = 'x
----
error: this string is not closed on its line
 --> x.peg:1:5
  |
1 | a = 'x
  |     ^^
help: add the missing quote
====
%stop "<|im_end|>
a = b
----
error: this string is not closed on its line
 --> x.peg:1:7
  |
1 | %stop "<|im_end|>
  |       ^^^^^^^^^^^
help: add the missing quote
====
a = [a-z
b = c
----
error: this class is not closed on its line
 --> x.peg:1:5
  |
1 | a = [a-z
  |     ^^^^
help: add the missing "]"; a "]" of the class is written \]
====
a = b | c
----
error: choices are not written with "|"
 --> x.peg:1:7
  |
1 | a = b | c
  |       ^
help: alternatives are separated by "/"
====
a = b || c
----
error: choices are not written with "||"
 --> x.peg:1:7
  |
1 | a = b || c
  |       ^^
help: alternatives are separated by "/"
====
a := b
----
error: a rule is not written with ":="
 --> x.peg:1:3
  |
1 | a := b
  |   ^^
help: write name = expression
====
a = b
c:= d
----
error: a rule is not written with ":="
 --> x.peg:2:2
  |
2 | c:= d
  |  ^^
help: write name = expression
====
a <- b
----
error: a rule is not written with "<-"
 --> x.peg:1:3
  |
1 | a <- b
  |   ^^
help: write name = expression
====
a ::= b
----
error: a rule is not written with "::="
 --> x.peg:1:3
  |
1 | a ::= b
  |   ^^^
help: write name = expression
====
a = b -> c
----
error: a rule is not written with "->"
 --> x.peg:1:7
  |
1 | a = b -> c
  |       ^^
help: write name = expression
====
a = b // c
----
error: comments are not written with "//"
 --> x.peg:1:7
  |
1 | a = b // c
  |       ^^
help: a comment begins with "#" and ends with its line
====
a = b /* c */
----
error: comments are not written with "/*"
 --> x.peg:1:7
  |
1 | a = b /* c */
  |       ^^
help: a comment begins with "#" and ends with its line
====
a = ~"[a-z]+"
----
error: the notation has no regular expressions
 --> x.peg:1:5
  |
1 | a = ~"[a-z]+"
  |     ^^^^^^^^^
help: use classes, repeats and until(…)
====
a = b;
----
error: found ";"
 --> x.peg:1:6
  |
1 | a = b;
  |      ^
help: leave it out: a rule ends where the next one, "name =", begins
====
a = b { return 1 }
----
error: this is not a repeat
 --> x.peg:1:7
  |
1 | a = b { return 1 }
  |       ^^^^^^^^^^^^
help: repeats are ? * + {m} {m,n} {m,} {,n}; a grammar has no actions
====
a = b{x}
----
error: this is not a repeat
 --> x.peg:1:6
  |
1 | a = b{x}
  |      ^^^
help: repeats are ? * + {m} {m,n} {m,} {,n}; a grammar has no actions
====
a = b{}
----
error: a repeat without a number
 --> x.peg:1:6
  |
1 | a = b{}
  |      ^^
help: write {m}, {m,n}, {m,} or {,n}
====
a = b{,}
----
error: a repeat without a number
 --> x.peg:1:6
  |
1 | a = b{,}
  |      ^^^
help: write {m}, {m,n}, {m,} or {,n}
====
a = b{3,2}
----
error: at least 3 and at most 2
 --> x.peg:1:6
  |
1 | a = b{3,2}
  |      ^^^^^
help: write {2,3}
====
a = b?*
----
error: "*" has nothing to repeat
 --> x.peg:1:7
  |
1 | a = b?*
  |       ^
help: one suffix follows an expression; write (…) around it for another
====
a = &^ b
----
error: a commit is an item of its own
 --> x.peg:1:6
  |
1 | a = &^ b
  |      ^
help: put it between two items of a sequence
====
a = x:^
----
error: a commit is an item of its own
 --> x.peg:1:7
  |
1 | a = x:^
  |       ^
help: put it between two items of a sequence
====
a (x) = x
----
error: these parameters stand apart from their rule
 --> x.peg:1:3
  |
1 | a (x) = x
  |   ^^^^^
help: leave out the blank before the "("
====
a = f (x) = y
----
error: found "=" where no rule begins
 --> x.peg:1:11
  |
1 | a = f (x) = y
  |           ^
help: a rule is written name = …, name "shown in errors" = … or name(x) = …, with no blank before the "("
====
a = "b" "c" = d
----
error: found "=" where no rule begins
 --> x.peg:1:13
  |
1 | a = "b" "c" = d
  |             ^
help: a rule is written name = …, name "shown in errors" = … or name(x) = …, with no blank before the "("
====
a-b = c
----
error: names have no hyphen
 --> x.peg:1:2
  |
1 | a-b = c
  |  ^^
help: names are letters, digits and _; only a file's name may have hyphens
====
a = b / / c
----
error: found "/", expected an expression
 --> x.peg:1:9
  |
1 | a = b / / c
  |         ^
help: an expression that matches nothing is written ""
====
a = / b
----
error: found "/", expected an expression
 --> x.peg:1:5
  |
1 | a = / b
  |     ^
help: an expression that matches nothing is written ""
====
a =
b = c
----
error: found the rule "b", expected an expression
 --> x.peg:2:1
  |
2 | b = c
  | ^
help: an expression that matches nothing is written ""
====
a = (b c
d = e
----
error: found the rule "d", expected an item, "/" or ")"
 --> x.peg:2:1
  |
2 | d = e
  | ^
note: the "(" at 5 is not closed (x.peg:1:5)
help: add the missing ")"
====
a = f(b c
d = e
----
error: found the rule "d", expected an item, "/" or ")"
 --> x.peg:2:1
  |
2 | d = e
  | ^
note: the "(" at 6 is not closed (x.peg:1:6)
help: add the missing ")"
====
a = (b c
----
error: found the end of the file, expected an item, "/" or ")"
 --> x.peg:1:9
  |
1 | a = (b c
  |         ^
note: the "(" at 5 is not closed (x.peg:1:5)
help: add the missing ")"
====
a = (
----
error: found the end of the file, expected an expression
 --> x.peg:1:6
  |
1 | a = (
  |      ^
note: the "(" at 5 is not closed (x.peg:1:5)
help: an expression that matches nothing is written ""
====
a = f(b,)
----
error: found ")", expected an expression
 --> x.peg:1:9
  |
1 | a = f(b,)
  |         ^
note: the "(" at 6 is not closed (x.peg:1:6)
help: something has to follow ","
====
a = f()
----
error: found ")", expected an expression
 --> x.peg:1:7
  |
1 | a = f()
  |       ^
note: the "(" at 6 is not closed (x.peg:1:6)
help: an expression that matches nothing is written ""
====
a = b )
----
error: found ")", expected an item, "/" or the next rule
 --> x.peg:1:7
  |
1 | a = b )
  |       ^
help: there is no "(" that it closes
====
a = x: / y
----
error: found "/", expected an expression
 --> x.peg:1:8
  |
1 | a = x: / y
  |        ^
help: something has to follow ":"
====
a = 300
----
error: found "300", expected an expression
 --> x.peg:1:5
  |
1 | a = 300
  |     ^
help: text stands in quotes: "300"
====
3 = x
----
error: found "3", expected a rule or a directive
 --> x.peg:1:1
  |
1 | 3 = x
  | ^
help: write name = expression, or %name and its arguments
====
a = "\q"
----
error: unknown escape \q
 --> x.peg:1:6
  |
1 | a = "\q"
  |      ^^
help: a backslash itself is written \\; escapes are those of Python
====
a = "\x1"
----
error: unknown escape \x
 --> x.peg:1:6
  |
1 | a = "\x1"
  |      ^^
help: two hexadecimal digits follow \x
====
a = "\U00110000" "\N{NO SUCH NAME}"
----
error: unknown escape \U00110000
 --> x.peg:1:6
  |
1 | a = "\U00110000" "\N{NO SUCH NAME}"
  |      ^^^^^^^^^^
help: a backslash itself is written \\; escapes are those of Python

error: unknown escape \N{NO SUCH NAME}
 --> x.peg:1:19
  |
1 | a = "\U00110000" "\N{NO SUCH NAME}"
  |                   ^^^^^^^^^^^^^^^^
help: a backslash itself is written \\; escapes are those of Python
====
a = [\d]
----
error: unknown escape \d
 --> x.peg:1:6
  |
1 | a = [\d]
  |      ^^
help: a backslash itself is written \\; escapes are those of Python
====
a = [z-a]
----
error: the range z-a is reversed
 --> x.peg:1:6
  |
1 | a = [z-a]
  |      ^^^
help: write a-z; a "-" itself is \-
====
a = []
----
error: an empty class
 --> x.peg:1:5
  |
1 | a = []
  |     ^^
help: any character is ".", a "^" alone is [\^]
====
a = [^]
----
error: an empty class
 --> x.peg:1:5
  |
1 | a = [^]
  |     ^^^
help: any character is ".", a "^" alone is [\^]
====
a = until ("x")
----
error: "until" without arguments
 --> x.peg:1:5
  |
1 | a = until ("x")
  |     ^^^^^
help: write until(…), with no blank before the "("
====
a = until("x", "y")
----
error: until takes one argument, not 2
 --> x.peg:1:16
  |
1 | a = until("x", "y")
  |                ^^^
help: alternatives are separated by "/"
====
a = permute(",")
----
error: permute needs a separator and items
 --> x.peg:1:5
  |
1 | a = permute(",")
  |     ^^^^^^^
help: write permute(",", a, b); "" if there is none
====
a = same("x")
----
error: same takes the name of a label
 --> x.peg:1:10
  |
1 | a = same("x")
  |          ^^^
help: write same(key) where key:… stands before it
====
a = TOOL_NAME("x")
----
error: "TOOL_NAME" takes no arguments
 --> x.peg:1:5
  |
1 | a = TOOL_NAME("x")
  |     ^^^^^^^^^
help: write TOOL_NAME, a blank, and the group
====
until = "x"
----
error: "until" is built in and cannot be defined
 --> x.peg:1:1
  |
1 | until = "x"
  | ^^^^^
help: use another name
====
a(x, x) = x
----
error: parameter "x" is named twice
 --> x.peg:1:6
  |
1 | a(x, x) = x
  |      ^
help: rename one of the two
====
a = "\q" [z-a] b{2,1}
c = []
----
error: unknown escape \q
 --> x.peg:1:6
  |
1 | a = "\q" [z-a] b{2,1}
  |      ^^
help: a backslash itself is written \\; escapes are those of Python

error: the range z-a is reversed
 --> x.peg:1:11
  |
1 | a = "\q" [z-a] b{2,1}
  |           ^^^
help: write a-z; a "-" itself is \-

error: at least 2 and at most 1
 --> x.peg:1:17
  |
1 | a = "\q" [z-a] b{2,1}
  |                 ^^^^^
help: write {1,2}

error: an empty class
 --> x.peg:2:5
  |
2 | c = []
  |     ^^
help: any character is ".", a "^" alone is [\^]
====
a = <tool_call> b
----
error: found "<", expected an expression
 --> x.peg:1:5
  |
1 | a = <tool_call> b
  |     ^
help: text stands in quotes: "<"
====
a = b < c
----
error: found "<", expected an item, "/" or the next rule
 --> x.peg:1:7
  |
1 | a = b < c
  |       ^
====
a = x::b
----
error: found ":", expected an item, "/" or the next rule
 --> x.peg:1:6
  |
1 | a = x::b
  |      ^
"""


@pytest.mark.parametrize("case", PROBLEMS.strip("\n").split("\n====\n"), ids=lambda case: case.partition("\n----")[0])
def test_problems(case):
    text, _, rendered = case.partition("\n----\n")

    with pytest.raises(GrammarError) as caught:
        read(Source("x.peg", text))

    assert rendered == str(caught.value)


def test_a_file_that_ends_early_is_pointed_at_behind_its_last_token():
    with pytest.raises(GrammarError) as caught:
        read(Source("x.peg", "a = b /\n\n# to do\n"))

    assert "x.peg:1:8" == caught.value.problems[0].span.where


def test_nesting_is_bounded():
    with pytest.raises(GrammarError, match="nested too deeply"):
        read(Source("x.peg", "a = " + "(" * 5000 + "b" + ")" * 5000))


@given(st.text(alphabet="ab=/()[]{}\"'^!&?*+,:.|#% \n\\-<1", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        file = read(Source("x.peg", text))
    except GrammarError as error:
        assert error.problems
    else:
        assert all(shape(rule.expression) == shape(expression(write(rule.expression))) for rule in file.rules)


DRAFTS = {
    "qwen3-coder": r"""
%prompt   "<|im_start|>assistant\n"
%stop     "<|im_end|>"
%trigger  call
%import   json think
response  = think.block(call)? text (call tail? text)*
text      = content:until(call)
call "tool call" = json.ws opener ^ tool_call:function ws ("</tool_call>" / tolerate(&(json.ws "<function=" / content_end)))
content_end = [^<]
tail      = tolerate("</tool_call>")? json.ws &("<tool_call>" / "<function=" / !.)
opener    = "<tool_call>" ws &("<function=" / !.) / tolerate(&("<function=" TOOL_NAME ">"))
function  = "<function=" name:TOOL_NAME ">" ws arguments:parameter* "</function>"
parameter = "<parameter=" key:PARAM_NAME ">" [\n]? value:PARAM_VALUE(end) end
end       = [\n]? "</parameter>" ws &("<parameter=" / "</function>")
          / tolerate("\n" &("<parameter=" PARAM_NAME ">"))
          / tolerate([\n]? &("</function>" ws "</tool_call>"))
ws        = json.ws
""",
    "minimax-m3": r"""
%prompt  "]~b]ai\n"
%stop    "[e~["
%trigger section
%import  json
response = think? text (section text)*
think    = "<mm:think>" ^ reasoning:until("</mm:think>" / tolerate(section)) ("</mm:think>" / tolerate("")) / tolerate("</mm:think>")
text     = content:until(section)
section  = NS "<tool_call>" ^ json.ws (call json.ws)* (NS "</tool_call>" / tolerate(""))
call     = NS "<invoke name=" ^ tool_call:('"' name:TOOL_NAME '">' arguments:members NS "</invoke>")
members  = (json.ws member)*
member   = NS "<" key:PARAM_NAME ">" value:node NS "</" same(key) ">"
node     = (json.ws item)+ / (json.ws member)+ / PARAM_VALUE(NS "</")
item     = NS "<item>" item:node NS "</item>"
NS       = "]<]minimax[>["
""",
    "hy3": r"""
%prompt  "<｜hy_Assistant:opensource｜>"
%stop    "<｜hy_eos｜>"
%trigger section
%import  json
response = think? text (section text)*
think    = tag("think") ^ reasoning:until(end("think") / tolerate(section)) (end("think") / tolerate(""))
text     = content:until(section)
section  = tag("tool_calls") ^ json.ws (call json.ws)* (end("tool_calls") / tolerate(""))
call     = tag("tool_call") ^ tool_call:(name:TOOL_NAME json.ws tag("tool_sep")? json.ws arguments:(argument json.ws)* end("tool_call"))
argument = tag("arg_key") key:PARAM_NAME end("arg_key") json.ws tag("arg_value") value:PARAM_VALUE(vend) vend
vend     = end("arg_value") / tolerate(&(end("tool_call") json.ws (tag("tool_call") / end("tool_calls") / !.)))
tag(x)   = "<" x SUFFIX ">"
end(x)   = "</" x SUFFIX ">"
SUFFIX   = ":opensource"
""",
    "json": r"""
%value json
value   = object / array / string / number / "true" / "false" / "null"
object  = "{" ws (member (ws "," ws member)*)? ws "}"
member  = '"' key:char* '"' ws ":" ws value:value
array   = "[" ws (item:value (ws "," ws item:value)*)? ws "]"
string  = '"' text:char* '"'
char    = [^"\\\x00-\x1f] / "\\" (["\\/bfnrt] / "u" [0-9a-fA-F]{4})
number  = "-"? ("0" / [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
plain   = '"' (char)* '"' / plainobj / plainarr / number / "true" / "false" / "null"
plainobj = "{" ws (plainmem (ws "," ws plainmem)*)? ws "}"
plainmem = '"' char* '"' ws ":" ws plain
plainarr = "[" ws (plain (ws "," ws plain)*)? ws "]"
ws      = [ \t\r\n]*

# a call object: members in any order; unknown members are read past
call(names, args, extra) = "{" ws permute(ws "," ws, name(names), arguments(args), extra?, tolerate(other)*) ws "}"
name(k)      = k ws ":" ws '"' name:TOOL_NAME '"'
arguments(k) = k ws ":" ws arguments:TOOL_ARGUMENTS
other        = '"' char* '"' ws ":" ws plain
""",
    "kimi-k3": r"""
%prompt  "<|open|>message role=\"assistant\"<|sep|>"
%stop    "<|end_of_msg|>"
%trigger tools
%import  xml json
%value xml
response = think? answer? tools? end
think    = open("think") ^ reasoning:until(close("think") / tolerate(open("response")) / tolerate(tools)) (close("think") / tolerate(""))
answer   = open("response") ^ content:until(close("response") / tolerate(tools) / tolerate(end)) (close("response") / tolerate(""))
         / tolerate(content:(!tools !end . until(tools / end)))
tools    = open("tools") ^ call* (close("tools") / tolerate(""))
call     = '<|open|>call tool="' ^ tool_call:(name:xml.tool '" index="' [0-9]+ '"<|sep|>' arguments:argument* close("call"))
argument = '<|open|>argument key="' key:xml.key '" type="' ( 'string"<|sep|>' value:(text:until(vend)) / [a-z]+ '"<|sep|>' value:PARAM_VALUE(vend) ) vend
vend     = close("argument") &("<|open|>argument " / close("call"))
end      = close("tools")? close("message")? !.
open(x)  = "<|open|>" x "<|sep|>"
close(x) = "<|close|>" x "<|sep|>"
""",
}


@pytest.mark.parametrize("name", DRAFTS)
def test_drafts(name):
    file = read(Source(name, DRAFTS[name]))

    assert DRAFTS[name].count(" = ") >= len(file.rules) > 2
    for rule in file.rules:
        assert shape(rule.expression) == shape(expression(write(rule.expression)))
        assert all(node.span.text.strip() == node.span.text for node in walk(rule.expression))
        assert all(node.span.text[-1] in "?*+}" for node in walk(rule.expression) if isinstance(node, Repeat))
