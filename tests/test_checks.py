"""What can be wrong with a grammar, each fault with its exact rendering."""

import chatpeg
import pytest
from chatpeg import GrammarError
from chatpeg.analysis import nullable, nullable_rules, sure, sure_rules
from chatpeg.check_delimiters import report_stuck
from chatpeg.checks import CHECKS, FIRST, LAST, check, check_file, check_text
from chatpeg.loader import load_text, shipped_directory
from strategies import FORMATS

PROBLEMS = r"""
a = content:until("x") a b
b = a "y" / "z"
----
error: left recursion: a -> a
 --> x.peg:1:24
  |
1 | a = content:until("x") a b
  |                        ^
help: read something before the rule comes round, or write a repeat
====
a = "<" b content:until(!.)
b = c? d
c = "c"
d = &e b
e = "e"
----
error: left recursion: b -> d -> b
 --> x.peg:2:8
  |
2 | b = c? d
  |        ^
note: d begins with b (x.peg:4:8)
help: read something before the rule comes round, or write a repeat
====
a = content:("x"? json.ws)* !.
%import json
----
error: a repeat of something that may match nothing
 --> x.peg:1:13
  |
1 | a = content:("x"? json.ws)* !.
  |             ^^^^^^^^^^^^^^^
help: make the repeated part read at least one character
====
a = (content:until(b) b)*
b = &"<" "x"?
----
error: a repeat of something that may match nothing
 --> x.peg:1:5
  |
1 | a = (content:until(b) b)*
  |     ^^^^^^^^^^^^^^^^^^^^^
help: make the repeated part read at least one character
====
a = content:("y"? / "x") !.
----
error: an alternative that is never tried
 --> x.peg:1:21
  |
1 | a = content:("y"? / "x") !.
  |                     ^^^
note: this matches whatever the text is (x.peg:1:14)
help: put it before the other
====
a = content:("<" / "<a>" / "b") !.
----
error: an alternative that never matches
 --> x.peg:1:20
  |
1 | a = content:("<" / "<a>" / "b") !.
  |                    ^^^^^
note: this matches how it begins (x.peg:1:14)
help: put the longer one first
====
a = content:(tolerate("<") / "</a>" / tolerate("b")) !.
----
error: a tolerated form that is not last in its choice
 --> x.peg:1:14
  |
1 | a = content:(tolerate("<") / "</a>" / tolerate("b")) !.
  |              ^^^^^^^^^^^^^
note: this is written as well (x.peg:1:30)
help: put it behind the others
====
a = content:until("{") ("{" ^ tool_call:permute(",", name, ws, (x / ws)?) "}" content:until("{"))*
name = name:TOOL_NAME ":"
x = "x"
ws = " "*
----
error: an item of permute that may match nothing
 --> x.peg:1:60
  |
1 | a = content:until("{") ("{" ^ tool_call:permute(",", name, ws, (x / ws)?) "}" content:until("{"))*
  |                                                            ^^
help: let it read at least one character; an item that may be missing is written x?

error: an item of permute that may match nothing
 --> x.peg:1:64
  |
1 | a = content:until("{") ("{" ^ tool_call:permute(",", name, ws, (x / ws)?) "}" content:until("{"))*
  |                                                                ^^^^^^^^^
help: let it read at least one character; an item that may be missing is written x?
====
a = "<" b
b = content:[a-z]+ ">" c same(content) content:until(!.)
c = same(name)
----
error: rule "c" captures no name
 --> x.peg:3:5
  |
3 | c = same(name)
  |     ^^^^^^^^^^
help: capture it in the same rule: name:…
====
%fields plan
a = contnet:"a" plam:"b" foo:"c" plan:until(!.)
----
error: unknown label "contnet"
 --> x.peg:2:5
  |
2 | a = contnet:"a" plam:"b" foo:"c" plan:until(!.)
  |     ^^^^^^^^^^^
help: did you mean content:?

error: unknown label "plam"
 --> x.peg:2:17
  |
2 | a = contnet:"a" plam:"b" foo:"c" plan:until(!.)
  |                 ^^^^^^^^
help: did you mean plan:?

error: unknown label "foo"
 --> x.peg:2:26
  |
2 | a = contnet:"a" plam:"b" foo:"c" plan:until(!.)
  |                          ^^^^^^^
help: the labels are reasoning content tool_call name id arguments key value item text; a text of your own is declared: %fields foo
====
a = name:"a" content:(reasoning:"b") call content:until(!.)
call = "{" ^ tool_call:(name:TOOL_NAME "(" id:"1" arguments:(key:"k" "=" value:(content:"1" key:"l"))) ")"
----
error: name: outside a call
 --> x.peg:1:5
  |
1 | a = name:"a" content:(reasoning:"b") call content:until(!.)
  |     ^^^^^^^^
help: it stands directly inside tool_call: or id:

error: reasoning: inside content:
 --> x.peg:1:23
  |
1 | a = name:"a" content:(reasoning:"b") call content:until(!.)
  |                       ^^^^^^^^^^^^^
help: it stands in no other label

error: content: inside value:
 --> x.peg:2:81
  |
2 | call = "{" ^ tool_call:(name:TOOL_NAME "(" id:"1" arguments:(key:"k" "=" value:(content:"1" key:"l"))) ")"
  |                                                                                 ^^^^^^^^^^^
help: it stands in no other label
====
a = content:until("<") ("<" ^ tool_call:call ">" content:until("<"))*
call = name:TOOL_NAME "=" name:TOOL_NAME ";" / arguments:TOOL_ARGUMENTS arguments:TOOL_ARGUMENTS?
----
error: a tool_call that may have two arguments: parts
 --> x.peg:1:31
  |
1 | a = content:until("<") ("<" ^ tool_call:call ">" content:until("<"))*
  |                               ^^^^^^^^^^^^^^
help: one way through it has at most one

error: a tool_call that may have two name: parts
 --> x.peg:1:31
  |
1 | a = content:until("<") ("<" ^ tool_call:call ">" content:until("<"))*
  |                               ^^^^^^^^^^^^^^
help: one way through it has at most one

error: a tool_call that may have no name
 --> x.peg:1:31
  |
1 | a = content:until("<") ("<" ^ tool_call:call ">" content:until("<"))*
  |                               ^^^^^^^^^^^^^^
help: every way through it needs name:TOOL_NAME
====
a = [^<]* "<" ^ tool_call:(name:TOOL_NAME "," .) drop(until(">")) ">" until(!.)
----
error: free text without a label
 --> x.peg:1:5
  |
1 | a = [^<]* "<" ^ tool_call:(name:TOOL_NAME "," .) drop(until(">")) ">" until(!.)
  |     ^^^^
help: give it a label (content: …), or drop( … ) it if nobody needs it

error: free text without a label
 --> x.peg:1:47
  |
1 | a = [^<]* "<" ^ tool_call:(name:TOOL_NAME "," .) drop(until(">")) ">" until(!.)
  |                                               ^
help: give it a label (content: …), or drop( … ) it if nobody needs it

error: free text without a label
 --> x.peg:1:71
  |
1 | a = [^<]* "<" ^ tool_call:(name:TOOL_NAME "," .) drop(until(">")) ">" until(!.)
  |                                                                       ^^^^^^^^^
help: give it a label (content: …), or drop( … ) it if nobody needs it
====
a = content:until([a-z]+ "<" / "</a>") value
value = PARAM_VALUE(TOOL_NAME)
----
error: a delimiter without a literal to search for
 --> x.peg:1:19
  |
1 | a = content:until([a-z]+ "<" / "</a>") value
  |                   ^^^^^^^^^^^^^^^^^^^
note: this comes before any literal (x.peg:1:19)
help: begin each alternative with a literal; a run of blanks may come before it

error: a delimiter without a literal to search for
 --> x.peg:2:21
  |
2 | value = PARAM_VALUE(TOOL_NAME)
  |                     ^^^^^^^^^
note: this comes before any literal (x.peg:2:21)
help: begin each alternative with a literal; a run of blanks may come before it
====
a = content:until("" / "b") content:until(!.)
----
error: a delimiter that matches the empty text
 --> x.peg:1:19
  |
1 | a = content:until("" / "b") content:until(!.)
  |                   ^^^^^^^^
help: begin each alternative with a literal; a run of blanks may come before it
====
a = content:until("<" json.ws [a-z]* ">") content:until(!.)
%import json
----
error: a delimiter that reads without end
 --> x.peg:1:19
  |
1 | a = content:until("<" json.ws [a-z]* ">") content:until(!.)
  |                   ^^^^^^^^^^^^^^^^^^^^^^
note: this reads on without end (x.peg:1:31)
help: after its literal a delimiter has predicates, blanks and names; put ^ before what goes on
====
a = content:until("<") ("<" ^ tool_call:(name:TOOL_NAME arguments:(key:PARAM_NAME json.value)) content:until("<"))*
%import json
----
error: nothing ends this TOOL_NAME
 --> x.peg:1:47
  |
1 | a = content:until("<") ("<" ^ tool_call:(name:TOOL_NAME arguments:(key:PARAM_NAME json.value)) content:until("<"))*
  |                                               ^^^^^^^^^
help: put a literal or a class behind it

error: nothing ends this PARAM_NAME
 --> x.peg:1:72
  |
1 | a = content:until("<") ("<" ^ tool_call:(name:TOOL_NAME arguments:(key:PARAM_NAME json.value)) content:until("<"))*
  |                                                                        ^^^^^^^^^^
help: put a literal or a class behind it
====
%trigger call
a = content:until("<") (call content:until("<"))*
call = [<] ^ tool_call:(name:TOOL_NAME ">")
----
error: trigger rule "call" does not begin with a literal
 --> x.peg:3:1
  |
3 | call = [<] ^ tool_call:(name:TOOL_NAME ">")
  | ^^^^
note: this may come first (x.peg:3:8)
help: begin it with its marker
====
%trigger call
a = content:until("<") (call content:until("<"))*
call = !"x" ^ "<" tool_call:(name:TOOL_NAME ">")
----

====
a = content:until("<b>") "<b>"?
----
warning: the start rule can end before the text does
 --> x.peg:1:1
  |
1 | a = content:until("<b>") "<b>"?
  | ^
note: it can end with "<b>" (x.peg:1:26)
help: end it with text that takes what is left, or with !.
====
a = content:until("<c>") (call content:until("<c>"))*
call = "<c>" "\n" ^ tool_call:(name:TOOL_NAME "</c>")
----
warning: a text that can get stuck at its delimiter
 --> x.peg:1:19
  |
1 | a = content:until("<c>") (call content:until("<c>"))*
  |                   ^^^^^
note: what follows may refuse "<c>" (x.peg:1:13)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs

warning: a text that can get stuck at its delimiter
 --> x.peg:1:46
  |
1 | a = content:until("<c>") (call content:until("<c>"))*
  |                                              ^^^^^
note: what follows may refuse "<c>" (x.peg:1:40)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs
====
a = content:until("<c>") ("<d>" ^ content:until("<c>"))*
----
error: a text that can get stuck at its delimiter
 --> x.peg:1:19
  |
1 | a = content:until("<c>") ("<d>" ^ content:until("<c>"))*
  |                   ^^^^^
note: what follows may refuse "<c>" (x.peg:1:13)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs

error: a text that can get stuck at its delimiter
 --> x.peg:1:49
  |
1 | a = content:until("<c>") ("<d>" ^ content:until("<c>"))*
  |                                                 ^^^^^
note: what follows may refuse "<c>" (x.peg:1:43)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs
====
a = reasoning:until("</r>" / "<c>") "</r>" content:until(!.)
----
error: a text that can get stuck at its delimiter
 --> x.peg:1:30
  |
1 | a = reasoning:until("</r>" / "<c>") "</r>" content:until(!.)
  |                              ^^^^^
note: what follows may refuse "<c>" (x.peg:1:15)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs
====
a = content:(link / .)*
link = "<" [^>]* ">"
----
error: an alternative that may be read again and again
 --> x.peg:1:14
  |
1 | a = content:(link / .)*
  |              ^^^^
note: this is read again for each place where the alternative begins (x.peg:2:12)
help: put ^ behind the first marker that only this alternative has, or let the text stop at that marker
====
a = content:(call / . until("<c>"))*
call = "<c>" until("</c>") "</c>"
----
error: an alternative that may be read again and again
 --> x.peg:1:14
  |
1 | a = content:(call / . until("<c>"))*
  |              ^^^^
note: this is read again for each place where the alternative begins (x.peg:2:14)
help: put ^ behind the first marker that only this alternative has, or let the text stop at that marker
====
a = content:b !.
b = "(" b ")" / "(" b "]" / "y"
----
error: recursion through an alternative that is not settled
 --> x.peg:2:5
  |
2 | b = "(" b ")" / "(" b "]" / "y"
  |     ^^^^^^^^^
note: it comes round here (x.peg:2:9)
help: let the alternatives begin with different literals, or read what they share once, before the choice
====
a = (think content:until("<t>"))* content:until(!.)
think = "<t>" reasoning:until("</t>") "</t>"
----
error: reasoning may be held back without end
 --> x.peg:1:5
  |
1 | a = (think content:until("<t>"))* content:until(!.)
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
note: this is read before the choice is settled (x.peg:1:20)
help: put ^ behind the first marker that only this alternative has
====
a = "[" ^ (calls / objects) "]" content:until(!.)
calls = tool_call:(name:[a-z_]+ "(" arguments:TOOL_ARGUMENTS ")")
objects = tool_call:(name:[a-z]+ ":" arguments:TOOL_ARGUMENTS)
----
error: content may be held back without end
 --> x.peg:1:12
  |
1 | a = "[" ^ (calls / objects) "]" content:until(!.)
  |            ^^^^^^^^^^^^^^^
note: this is read before the choice is settled (x.peg:2:25)
help: put ^ behind the first marker that only this alternative has
====
a = content:until("<") call b
call = "<" ^ tool_call:(arguments:TOOL_ARGUMENTS)
b = c:"x" content:until("<")
----
error: a tool_call that may have no name
 --> x.peg:2:14
  |
2 | call = "<" ^ tool_call:(arguments:TOOL_ARGUMENTS)
  |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
help: every way through it needs name:TOOL_NAME

error: unknown label "c"
 --> x.peg:3:5
  |
3 | b = c:"x" content:until("<")
  |     ^^^^^
help: the labels are reasoning content tool_call name id arguments key value item text; a text of your own is declared: %fields c

error: a text that can get stuck at its delimiter
 --> x.peg:3:25
  |
3 | b = c:"x" content:until("<")
  |                         ^^^
note: what follows may refuse "<" (x.peg:3:19)
help: let what follows begin with the whole delimiter, then ^; or stop at no less than what follows needs
"""
CASES = [case.partition("\n----\n")[::2] for case in PROBLEMS.strip("\n").split("\n====\n")]
every_case = pytest.mark.parametrize("text, rendered", CASES, ids=[text for text, _ in CASES])


@every_case
def test_problems(text, rendered):
    _, problems = check_text(text, "x.peg")

    assert rendered == "\n\n".join(problem.render() for problem in problems)


@every_case
def test_loading_raises_what_is_an_error(text, rendered):
    if "error: " not in rendered:
        assert chatpeg.loads(text, "x.peg").name == "x"
        return
    with pytest.raises(GrammarError) as caught:
        chatpeg.loads(text, "x.peg")

    assert rendered == str(caught.value)


def test_every_check_is_tested():
    found = {report.__name__ for report in (*FIRST, *CHECKS, *LAST)}

    assert found == {
        *("report_left_recursion", "report_delimiters_without_literal", "report_empty_repeats"),
        *("report_dead_alternatives", "report_shadowed_alternatives", "report_tolerated_first"),
        *("report_permuted_blanks", "report_unknown_same", "report_unknown_labels", "report_misplaced_labels"),
        *("report_counts", "report_unlabelled_text", "report_names_without_end", "report_triggers_without_literal"),
        *("report_early_end", "report_stuck", "report_rereads", "report_unsettled_recursion", "report_holdback"),
    }


# What may look wrong and is not.

SOUND = [
    'a = content:until("</a>") ("</a>" / tolerate("")) content:until(!.)',
    # A delimiter is what comes before the commit of the rule that follows.
    'a = t (c t)*  t = content:until(c)  c = "<c>" "\\n" ^ tool_call:(name:TOOL_NAME "</c>")',
    'a = t (c t)*  t = content:until(c)  c = "<c>" &("\\n" / !.) ^ tool_call:("\\n" name:TOOL_NAME "</c>")',
    # The loop takes what a text may stop at as text.
    'a = (c / t)*  t = content:(!c . ^ until(c))  c = "<c>" "!" ^ tool_call:(name:TOOL_NAME "</c>")',
    # A second call of one predicate does not make a repeat empty: what it has seen, the next item reads.
    'a = t (s t)*  t = content:until(s)  s = ("<s>" / tolerate(&"<c>")) ^ c* ("</s>" / tolerate(""))  c = "<c>" ^ tool_call:(name:TOOL_NAME "</c>")',
    # What is tried instead reads as far.
    'a = content:until("<") (("<" drop([^>]*) ">" ^ / drop("<" .*)) content:until("<"))*',
    'a = content:("(" b ")")* !.  b = "x" b "y" / "z" b / "."',
    'a = t (c t)*  t = content:until(c)  c = "<" ^ tool_call:(id:("f." name:TOOL_NAME ":" [0-9]+) arguments:TOOL_ARGUMENTS)',
]


@pytest.mark.parametrize("text", SOUND)
def test_sound(text):
    text = text.replace("  ", "\n")

    assert [] == [problem.render() for problem in check_text(text, "x.peg")[1]]


def test_names_and_checks_are_reported_together():
    loaded, problems = check_text('%triger a\na = content:(" "*)* !.\nb = "x"', "x.peg")

    assert loaded
    assert [
        "unknown directive %triger",
        'rule "b" is never used',
        "a repeat of something that may match nothing",
    ] == [problem.message for problem in problems]


def test_nothing_is_checked_where_a_name_means_nothing():
    loaded, problems = check_text('a = (" "*)* b', "x.peg")

    assert loaded is None
    assert ['rule "b" is not defined'] == [problem.message for problem in problems]


def test_a_fault_of_a_rule_used_twice_is_one_fault():
    _, problems = check_text('a = content:(b("x") b("y")) !.\nb(x) = (x?)*', "x.peg")

    assert ["x.peg:2:8"] == [problem.span.where for problem in problems]


def test_faults_of_the_main_file_come_first(tmp_path):
    (tmp_path / "b.peg").write_text("x = (' '*)*")
    (tmp_path / "z.peg").write_text("%import b\na = content:(b.x ('-'?)*) !.")

    _, problems = check_file(tmp_path / "z.peg")

    assert ["z.peg:2:18", "b.peg:1:5"] == [problem.span.where.rpartition("/")[2] for problem in problems]


def test_loading_a_path_checks_it(tmp_path):
    (tmp_path / "a.peg").write_text("a = content:until('')")

    with pytest.raises(GrammarError, match="matches the empty text"):
        chatpeg.load(tmp_path / "a.peg")


# The shipped files

WARNINGS = {
    "gpt-oss": {
        # A message that goes on behind a call, or behind <|end|> other than with the next message, is not read as one.
        "the start rule can end before the text does",
        "a text that can get stuck at its delimiter",
    }
}


@pytest.mark.parametrize("format_id", FORMATS)
def test_shipped_formats(format_id):
    """No errors; warnings only where they say something true of the format."""
    loaded, problems = check_file(shipped_directory() / f"{format_id}.peg")

    assert loaded
    assert WARNINGS.get(format_id, set()) == {problem.message for problem in problems}
    assert "error" not in {problem.severity for problem in problems}


@pytest.mark.parametrize("name", ["json", "python", "think", "xml"])
def test_shipped_libraries(name):
    assert [] == check_file(shipped_directory() / "lib" / f"{name}.peg")[1]


# What the checks know of expressions

EXPRESSIONS = [
    # expression, may match nothing, matches whatever the text is
    ('""', True, True),
    ('"x"', False, False),
    ('"x"?', True, True),
    ("[a-z]*", True, True),
    ("[a-z]+", False, False),
    ('("x"?)+', True, True),
    ('"x"? "y"?', True, True),
    ('"x" "y"?', False, False),
    ('"x" / ""', True, True),
    ("!.", True, False),
    ('&"x"', True, False),
    ('!"x"', True, False),
    ('!""', False, False),
    ("^", True, True),
    ('until("x")', True, True),
    ("TOOL_NAME", False, False),
    ('label:"x"?', True, True),
    ('tolerate("")', True, True),
    ('drop("x")', False, False),
    ('permute(",", "x"?, "y"?)', True, False),
    ("r", False, False),
]


@pytest.mark.parametrize("text, empty, always", EXPRESSIONS)
def test_what_an_expression_can_do(text, empty, always):
    rules = load_text(f'a = ({text}) b\nb = "z" r?\nr = "(" r ")"').rules
    expression = rules["a"].expression.items[:-1]

    assert empty == all(nullable(item, nullable_rules(rules)) for item in expression)
    assert always == all(sure(item, sure_rules(rules)) for item in expression)


def test_the_warning_of_a_stuck_text_is_no_false_alarm():
    """The rest of a reply that got stuck is one piece of content: no later call is read."""
    text = 'a = t (c t)*\nt = content:until("<c>")\nc = "<c>" "\\n" ^ tool_call:(name:TOOL_NAME "</c>")'
    loaded = load_text(text)
    reply = "so: <c>\nf</c> then <c>f</c> and <c>\ng</c>"

    message = chatpeg.Grammar(loaded).parse(reply)

    assert {"report_stuck"} == {report.__name__ for report in CHECKS if report is report_stuck}
    assert ["warning"] == [problem.severity for problem in check(loaded)]
    assert ["f"] == [call.name for call in message.tool_calls]
    assert message.content.endswith("<c>f</c> and <c>\ng</c>")


def test_a_rule_that_is_in_itself_may_be_looked_for_ahead():
    """The texts it is tried with do not run on without end."""
    text = 'a = "a" (&rec rec)* content:until("%") ("%" / !.)\nrec = "(" (rec / "x")* ")"'
    assert chatpeg.loads(text).parse("a(x(x))b").content == "b"
