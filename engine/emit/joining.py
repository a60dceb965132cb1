"""Lowered expressions put together: in a row, with the blanks between them, or one of several."""

from __future__ import annotations

from .. import charset
from .nfa import nullable
from .rules import EMPTY, NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Seq, Text


class Joining:
    """Puts expressions in a row; ``blanks`` and ``texts`` name the rules that hold a run of blanks, or free text."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.texts: set[str] = set()
        self.blanks: set[str] = set()

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
        self.blanks.add(ref.name)
        return ref

    def joined(self, parts: list[Expr]) -> Expr:
        """Parts in a row; blanks beside blanks or beside free text, which may hold them itself, are not written."""
        flat: list[Expr] = []
        for part in parts:
            flat += part.items if type(part) is Seq else (part,)
        kept: list[Expr] = []
        for index, part in enumerate(flat):
            if isinstance(part, Text):
                last = kept[-1] if kept else None
                if isinstance(last, Text):
                    kept[-1] = Text(last.text + part.text)
                elif part.text:
                    kept.append(part)
            elif isinstance(part, Ref) and part.name in self.blanks:
                if not self._needless(kept, flat, index + 1):
                    kept.append(part)
            elif isinstance(part, Alt) and not part.alternatives:
                return NOTHING
            else:
                kept.append(part)
        return kept[0] if len(kept) == 1 else Seq(tuple(kept)) if kept else EMPTY

    def _needless(self, before: list[Expr], parts: list[Expr], index: int) -> bool:
        """Whether what stands before a run of blanks, or behind it from ``index`` on, may hold it."""
        last = before[-1] if before else None
        if isinstance(last, Ref) and (last.name in self.texts or last.name in self.blanks):
            return True
        while index < len(parts) and parts[index] == EMPTY:
            index += 1
        following = parts[index] if index < len(parts) else None
        return isinstance(following, Ref) and following.name in self.texts


def either(ways: list[Expr]) -> Expr:
    """Any of the expressions, each once."""
    kept = [way for way in ways if way != NOTHING]
    if len(kept) == 1:
        return kept[0]
    kept = list(dict.fromkeys(kept))
    if EMPTY in kept and len(kept) > 1:
        others = tuple(way for way in kept if way != EMPTY)
        return Rep(others[0] if len(others) == 1 else Alt(others), 0, 1)
    return kept[0] if len(kept) == 1 else Alt(tuple(kept)) if kept else NOTHING


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
