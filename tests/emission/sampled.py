"""Sentences of an emitted grammar, written at random as a sampler under it would."""

from __future__ import annotations

from random import Random

from chatpeg.emission import Emission, Made
from chatpeg.emit.rules import Alt, Chars, Expr, Ref, Rep, Rules, Seq, Text
from chatpeg.emit.simplify import simplified
from chatpeg.grammar import Chat

_INTERESTING = "<>/\"'\\{}[]:,=\n \t|｜a1é🍸\x00\u2028"


def made(chat: Chat, prompt: str | None) -> Made:
    """The lowered rules that a chat's grammars are printed from."""
    return Emission(chat.wanted(), chat.fed(prompt)).made()


def rules_of(found: Made) -> Rules:
    """Those rules as every printer simplifies them."""
    assert found.root is not None
    return simplified(Rules(found.rules, found.root))


class Writer:
    """Writes sentences by random choices; after ``budget`` steps it takes the shortest way out."""

    def __init__(self, rules: Rules, random: Random, budget: int = 150) -> None:
        self.rules = rules.rules
        self.root = rules.root
        self.random = random
        self.budget = budget
        self.left = budget
        self.shortest = self._shortest()

    def sentence(self) -> str:
        """Another sentence."""
        self.left = self.budget
        return self._write(Ref(self.root))

    def _shortest(self) -> dict[str, int]:
        """How many characters each rule writes at least."""
        known: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for name, body in self.rules.items():
                least = self._least(body, known)
                if least is not None and least < known.get(name, 1 << 60):
                    known[name], changed = least, True
        return known

    def _least(self, expr: Expr, known: dict[str, int]) -> int | None:
        match expr:
            case Text(text=text):
                return len(text)
            case Chars():
                return 1
            case Ref(name=name):
                return known.get(name)
            case Seq(items=items):
                lengths = [self._least(item, known) for item in items]
                return None if None in lengths else sum(length for length in lengths if length is not None)
            case Alt(alternatives=parts):
                return min((n for part in parts if (n := self._least(part, known)) is not None), default=None)
            case Rep(item=item, min=least):
                one = 0 if least == 0 else self._least(item, known)
                return None if one is None else one * least

    def _write(self, expr: Expr) -> str:
        self.left -= 1
        match expr:
            case Text(text=text):
                return text
            case Chars(ranges=ranges):
                return self._character(ranges)
            case Ref(name=name):
                return self._write(self.rules[name])
            case Seq(items=items):
                return "".join(self._write(item) for item in items)
            case Alt(alternatives=parts):
                if self.left > 0:
                    return self._write(self.random.choice(parts))
                return self._write(min(parts, key=lambda part: self._least(part, self.shortest) or 0))
            case Rep(item=item, min=least, max=most):
                more = self.random.randint(0, 3) if self.left > 0 else 0
                return "".join(
                    self._write(item) for _ in range(least + (more if most is None else min(more, most - least)))
                )

    def _character(self, ranges: tuple[tuple[int, int], ...]) -> str:
        if self.random.random() < 0.6:
            likely = [c for c in _INTERESTING if any(low <= ord(c) <= high for low, high in ranges)]
            if likely:
                return self.random.choice(likely)
        low, high = self.random.choice(ranges)
        return chr(self.random.randint(low, high))
