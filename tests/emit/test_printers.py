"""The printers: exact texts for the traps of each target, and the simplification they share."""

from __future__ import annotations

import pytest
from chatpeg.emit.ebnf import ebnf
from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.lark import lark, turned
from chatpeg.emit.rules import EMPTY, NOTHING, Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text
from chatpeg.emit.simplify import simplified
from chatpeg.errors import EmitError
from hypothesis import given
from hypothesis import strategies as st
from recogniser import GbnfError, Recogniser, read_gbnf

A, B = Text("a"), Text("b")
BRACKETS = Chars(((0x2D, 0x2D), (0x5B, 0x5E), (0xE9, 0xE9), (0x1F600, 0x1F64F)))


def rules(root: Expr, **others: Expr) -> Rules:
    return Rules({"main": root, **others}, "main")


@pytest.mark.parametrize(
    ("root", "as_gbnf", "as_lark", "as_ebnf"),
    [
        (Text('say "\\"\n'), r'"say \"\\\"\x0A"', r'"s" "a" "y" " " "\"" "\\" "\"" /\x0a/', r'"say \"\\\"\n"'),
        (Text("é\x7f"), r'"é\x7F"', r"/\u{e9}/ /\x7f/", r'"\u00E9\u007F"'),
        (BRACKETS, r"[\-\[-\x5E\u00E9😀-🙏]".replace("\\u00E9", "\\xE9").replace("😀-🙏", r"\U0001F600-\U0001F64F"),
         r"/[\x2d\x5b-\x5e\u{e9}\u{1f600}-\u{1f64f}]/", r"[\u002D\u005B-\u005E\u00E9\U0001F600-\U0001F64F]"),
        (Rep(Text("ab"), 0, None), '"ab"*', '("a" "b")*', '"ab"*'),
        (Seq((A, Alt((B, Seq((A, B)))))), '"a" ("b" | "a" "b")', '"a" ("b" | "a" "b")', '"a" ("b" | "a" "b")'),
        (Alt((EMPTY, A, NOTHING)), '"a"?', '"a"?', '"a"?'),
        (Rep(Seq((A, B)), 2, 2), 'item{2}\nitem ::= "a" "b"', '("a" "b"){2}', '("a" "b"){2}'),
    ],
)  # fmt: skip
def test_texts(root: Expr, as_gbnf: str, as_lark: str, as_ebnf: str) -> None:
    assert gbnf(rules(root)) == f"root ::= {as_gbnf}\n"
    assert lark(rules(root)) == f"start: {as_lark}\n"
    assert ebnf(rules(root)) == f"root ::= {as_ebnf}\n"


def test_names() -> None:
    grammar = Rules({"main": Seq((Ref("root"), Ref("2x"))), "root": A, "2x": B}, "main")
    assert gbnf(grammar) == 'root ::= root-2 2x\nroot-2 ::= "a"\n2x ::= "b"\n'
    assert ebnf(grammar) == 'root ::= r-root r-2x\nr-root ::= "a"\nr-2x ::= "b"\n'
    assert lark(grammar) == 'start: r_root r_2x\nr_root: "a"\nr_2x: "b"\n'


@pytest.mark.parametrize(
    ("least", "most", "accepted", "refused"),
    [
        (0, 2500, [0, 999, 1000, 2500], [2501]),
        (1500, None, [1500, 2600], [1499]),
        (1200, 3100, [1200, 3100], [1199, 3101]),
    ],
)
def test_large_bounds_are_exact(least: int, most: int | None, accepted: list[int], refused: list[int]) -> None:
    recogniser = Recogniser(gbnf(rules(Rep(Alt((A, Text("bc"))), least, most))))
    assert [n for n in accepted if not recogniser.matches("a" * n)] == []
    assert [n for n in refused if recogniser.matches("a" * n)] == []


def test_what_cannot_match_is_left_out() -> None:
    grammar = rules(Alt((A, Ref("loop"), Seq((B, NOTHING)))), loop=Seq((A, Ref("loop"))), unused=B)
    assert simplified(grammar) == rules(A)
    with pytest.raises(EmitError, match="matches no text at all"):
        simplified(rules(Ref("loop"), loop=Seq((A, Ref("loop")))))


def test_a_rule_that_refers_to_nothing_and_matches_nothing_is_left_out() -> None:
    assert simplified(rules(Alt((A, Ref("no"))), no=Chars(()))) == rules(A)
    assert simplified(rules(Alt((A, Ref("no"))), no=Seq((Ref("b"), NOTHING)), b=B)) == rules(A)


def test_empty_rules_are_left_out() -> None:
    grammar = rules(Seq((A, Ref("none"), Alt((Ref("none"), B)))), none=EMPTY)
    assert simplified(grammar) == rules(Seq((A, Rep(B, 0, 1))))


def test_right_recursion_is_turned_round() -> None:
    grammar = rules(Seq((Ref("x"), Text("!"))), x=Alt((Seq((A, Ref("y"))), B)), y=Alt((Seq((B, Ref("x"))), EMPTY)))
    assert lark(grammar).splitlines() == [
        'start: r_x "!"',
        'r_x: r_x_to_x "b" | r_x_to_y',
        'r_x_to_x: (r_x_to_y "b")?',
        'r_x_to_y: r_x_to_x "a"',
    ]


bodies: st.SearchStrategy[Expr] = st.recursive(
    st.sampled_from([A, B, EMPTY]),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple).map(Seq) | st.lists(inner, min_size=1, max_size=3).map(tuple).map(Alt)
    ),
    max_leaves=4,
)
steps = st.tuples(st.sampled_from([A, B]), bodies, st.sampled_from(["x", "y", "z", ""]))


@given(st.lists(st.lists(steps, min_size=1, max_size=3), min_size=3, max_size=3), st.text("ab", max_size=6))
def test_turned_rules_match_the_same(table: list[list[tuple[Expr, Expr, str]]], word: str) -> None:
    def body(rows: list[tuple[Expr, Expr, str]]) -> Expr:
        return Alt(tuple(Seq((*row[:2], Ref(row[2]))) if row[2] else Seq(row[:2]) for row in rows))

    grammar = Rules(dict(zip("xyz", map(body, table), strict=True)), "x")
    assert Recogniser(turned(grammar)).matches(word) == Recogniser(grammar).matches(word)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('root ::= "a"{5,3}', "eats all memory"),
        ('root ::= "a"{3000}', "too large"),
        ('root ::= ("a" "b"){9}', "needs a name"),
        ('root ::= x*\nx ::= "a"?', "a repeat of something nullable"),
        ('root ::= ("x"?) root "a" | "b"', "left recursion"),
        ("root ::= []", "an empty set"),
        ("root ::= [z-a]", "matches nothing"),
        ('root ::= "\\q"', "unknown escape"),
        ("root ::= other", "undefined"),
        ('a_b ::= "x"', "cannot read"),
    ],
)
def test_the_recogniser_refuses_what_the_engine_refuses_or_misreads(text: str, problem: str) -> None:
    with pytest.raises(GbnfError, match=problem):
        read_gbnf(text)
