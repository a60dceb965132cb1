"""Alternatives that begin alike share their beginning: a grammar with many tools is then a trie, not a list."""

from __future__ import annotations

from os.path import commonprefix

from .rules import EMPTY, Alt, Expr, Rep, Seq, Text


def factored(alternatives: list[Expr]) -> Expr:
    """Any of the alternatives, with common leading text written once.

    >>> factored([Text("ab"), Text("ac")])
    Seq(items=(Text(text='a'), Alt(alternatives=(Text(text='b'), Text(text='c')))))
    """
    rows = [list(expr.items) if isinstance(expr, Seq) else [expr] for expr in dict.fromkeys(alternatives)]
    common: list[Expr] = []
    # What all begin with, blanks for one, stands before the trie.
    while len(rows) > 1 and all(row and not isinstance(row[0], Text) and row[0] == rows[0][0] for row in rows):
        common.append(rows[0][0])
        rows = [row[1:] for row in rows]
    trie = _factored([_split(_joined("", tuple(row))) for row in rows])
    return Seq((*common, *(trie.items if isinstance(trie, Seq) else (trie,)))) if common else trie


def _split(expr: Expr) -> tuple[str, tuple[Expr, ...]]:
    """The text an expression begins with, and the rest."""
    match expr:
        case Text(text=text):
            return text, ()
        case Seq(items=(Text(text=text), *rest)):
            return text, tuple(rest)
        case Seq(items=items):
            return "", items
        case _:
            return "", (expr,)


def _factored(pairs: list[tuple[str, tuple[Expr, ...]]]) -> Expr:
    groups: dict[str, list[tuple[str, tuple[Expr, ...]]]] = {}
    for text, rest in pairs:
        groups.setdefault(text[:1], []).append((text, rest))
    ways: list[Expr] = []
    ends = False
    for head, members in groups.items():
        if not head:
            for _, rest in members:
                ends = ends or not rest
                ways += [_joined("", rest)] if rest else []
        elif len(members) == 1:
            ways.append(_joined(*members[0]))
        else:
            common = commonprefix([text for text, _ in members])  # noqa: RUF071 - texts, not paths
            tail = _factored([(text[len(common) :], rest) for text, rest in members])
            ways.append(_joined(common, tail.items if isinstance(tail, Seq) else (tail,)))
    whole = ways[0] if len(ways) == 1 else Alt(tuple(dict.fromkeys(ways)))
    return whole if not ends else Rep(whole, 0, 1) if ways else EMPTY


def _joined(text: str, rest: tuple[Expr, ...]) -> Expr:
    items = ((Text(text),) if text else ()) + rest
    return items[0] if len(items) == 1 else Seq(items) if items else EMPTY
