"""Lowered expressions put together: in a row, with the blanks between them, or one of several."""

from __future__ import annotations

from .. import charset
from .nfa import nullable
from .rules import EMPTY, NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text


class Joining:
    """Puts expressions in a row; ``blanks`` and ``texts`` are the rules that hold a run of blanks, or free text."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.texts: set[Ref] = set()
        self.blanks: set[Ref] = set()

    def nullable(self, expr: Expr) -> bool:
        """Whether ``expr`` matches the empty text, its rules looked up."""
        match expr:
            case Ref(name=name):
                return self.nullable(self.builder.rules[name])
            case Seq(items=items):
                return all(map(self.nullable, items))
            case Alt(alternatives=alternatives):
                return any(map(self.nullable, alternatives))
            case Rep(item=item, min=least):
                return least == 0 or self.nullable(item)
            case _:
                return nullable(expr)

    def blank(self, run: tuple[frozenset[str], int | None], least: int) -> Expr:
        """A run of blanks: bounded, so that no model writes blanks for ever."""
        blanks, most = run
        if least:
            return Rep(
                Chars(charset.normal(tuple((ord(c), ord(c)) for c in blanks))), least, max(least, min(most or 2, 2))
            )
        if " " in blanks and "\n" in blanks and most is None:
            lines = Seq((Rep(Text("\n"), 1, 2), Rep(Text(" "), 0, 20)))
            ref = self.builder.define("blank", Rep(Alt((Text(" "), lines)), 0, 1))
        else:
            one = "\n" if "\n" in blanks else min(blanks)
            ref = self.builder.define("lines", Rep(Text(one), 0, min(most or 2, 2)))
        self.blanks.add(ref)
        return ref

    def joined(self, parts: list[Expr]) -> Expr:
        """Parts in a row; blanks beside blanks or beside free text, which may hold them itself, are not written."""
        flat: list[Expr] = []
        for part in parts:
            flat += part.items if isinstance(part, Seq) else [part]
        if NOTHING in flat:
            return NOTHING
        flat = [part for part in flat if part != EMPTY]
        kept: list[Expr] = []
        for index, part in enumerate(flat):
            if part in self.blanks:
                beside = [*kept[-1:], *flat[index + 1 : index + 2]]
                if any(other in self.texts for other in beside) or (kept and kept[-1] in self.blanks):
                    continue
            if isinstance(part, Text) and kept and isinstance(kept[-1], Text):
                kept[-1] = Text(kept[-1].text + part.text)
            else:
                kept.append(part)
        return kept[0] if len(kept) == 1 else Seq(tuple(kept)) if kept else EMPTY


def either(ways: list[Expr]) -> Expr:
    """Any of the expressions, each once."""
    kept = [way for way in dict.fromkeys(ways) if way != NOTHING]
    if EMPTY in kept and len(kept) > 1:
        others = tuple(way for way in kept if way != EMPTY)
        return Rep(others[0] if len(others) == 1 else Alt(others), 0, 1)
    return kept[0] if len(kept) == 1 else Alt(tuple(kept))


def without_empty(expr: Expr) -> Expr:
    """An expression without its empty match, where that is one of its alternatives."""
    match expr:
        case Rep(item=item, min=0, max=most) if not nullable_inline(item):
            return item if most == 1 else Rep(item, 1, most)
        case Alt(alternatives=alternatives):
            return either([without_empty(part) for part in alternatives if part != EMPTY])
        case _:
            return expr


def nullable_inline(expr: Expr) -> bool:
    """Whether ``expr`` matches the empty text without a look at its rule."""
    return False if isinstance(expr, Ref) else nullable(expr)
