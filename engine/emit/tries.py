"""Alternatives that begin alike share their beginning: a grammar with many tools is then a trie, not a list."""

from __future__ import annotations

from os.path import commonprefix

from .rules import EMPTY, Alt, Expr, Rep, Seq, Text


def factored(alternatives: list[Expr]) -> Expr:
    """Any of the alternatives, with what several begin with written once.

    >>> factored([Text("ab"), Text("ac")])
    Seq(items=(Text(text='a'), Alt(alternatives=(Text(text='b'), Text(text='c')))))
    """
    rows = [expr.items if isinstance(expr, Seq) else (expr,) for expr in dict.fromkeys(alternatives)]
    return _factored([_split(_joined("", row)) for row in rows])


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
    groups: dict[str | Expr | None, list[tuple[str, tuple[Expr, ...]]]] = {}
    for text, rest in pairs:
        groups.setdefault(text[:1] or next(iter(rest), None), []).append((text, rest))
    ways = [_group(head, members) for head, members in groups.items() if head is not None]
    whole = ways[0] if len(ways) == 1 else Alt(tuple(dict.fromkeys(ways)))
    return whole if None not in groups else Rep(whole, 0, 1) if ways else EMPTY


def _group(head: str | Expr, members: list[tuple[str, tuple[Expr, ...]]]) -> Expr:
    """Alternatives that begin with the same character, or with the same expression that is no text, blanks for one."""
    if len(members) == 1:
        return _joined(*members[0])
    if not isinstance(head, str):
        tail = _factored([_split(_joined("", rest[1:])) for _, rest in members])
        return _joined("", (head, *_items(tail)))
    common = commonprefix([text for text, _ in members])  # noqa: RUF071 - texts, not paths
    return _joined(common, _items(_factored([(text[len(common) :], rest) for text, rest in members])))


def _items(expr: Expr) -> tuple[Expr, ...]:
    return expr.items if isinstance(expr, Seq) else () if expr == EMPTY else (expr,)


def _joined(text: str, rest: tuple[Expr, ...]) -> Expr:
    items = ((Text(text),) if text else ()) + rest
    return items[0] if len(items) == 1 else Seq(items) if items else EMPTY
