"""Random sentences of lowered rules, as a sampler under the grammar would write them; and schemas to lower."""

from __future__ import annotations

from random import Random

from chatpeg.emit.gbnf import gbnf
from chatpeg.emit.rules import NOTHING, Alt, Builder, Chars, Expr, Ref, Rep, Rules, Seq, Text
from chatpeg.emit.schema import JSON, Dialect, Relaxed, SchemaLowering


def lowered(schema: object, dialect: Dialect = JSON, **options: object) -> tuple[Rules | None, list[Relaxed]]:
    """The rules of a schema's values, None if there are none, and what was relaxed."""
    builder, warnings = Builder(), []
    lowering = SchemaLowering(builder, dialect, schema, warnings=warnings, **options)
    value = lowering.value(schema)
    rules = None if value == NOTHING else Rules({**builder.rules, "start": value}, "start")
    return rules, warnings


def printed(schema: object, **options: object) -> str:
    """The GBNF of a schema's values."""
    rules, _ = lowered(schema, **options)
    assert rules is not None
    return gbnf(rules)


class Sampler:
    """Sentences by random choices; ``budget`` steps in, the shortest way out is taken."""

    def __init__(self, rules: Rules, random: Random, budget: int = 60) -> None:
        self.rules = rules.rules
        self.root = rules.root
        self.random = random
        self.budget = budget
        self.depths = self._depths()

    def _depths(self) -> dict[str, int]:
        known: dict[str, int] = {}
        for depth in range(len(self.rules) + 1):
            more = {
                name: depth
                for name, body in self.rules.items()
                if name not in known and self._depth(body, known) is not None
            }
            if not more:
                break
            known |= more
        return known

    def _depth(self, expr: Expr, known: dict[str, int]) -> int | None:
        match expr:
            case Text() | Chars():
                return 0
            case Ref(name):
                return known[name] + 1 if name in known else None
            case Seq(items):
                depths = [self._depth(item, known) for item in items]
                return None if None in depths else max((d for d in depths if d is not None), default=0)
            case Alt(parts):
                return min((d for part in parts if (d := self._depth(part, known)) is not None), default=None)
            case Rep(item, least, _):
                return 0 if least == 0 else self._depth(item, known)

    def sentence(self) -> str:
        self.left = self.budget
        return self._write(Ref(self.root))

    def _write(self, expr: Expr) -> str:
        self.left -= 1
        match expr:
            case Text(text):
                return text
            case Chars(ranges):
                low, high = self.random.choice(ranges)
                return chr(self.random.randint(low, high))
            case Ref(name):
                return self._write(self.rules[name])
            case Seq(items):
                return "".join(self._write(item) for item in items)
            case Alt(parts):
                if self.left > 0:
                    possible = [part for part in parts if self._depth(part, self.depths) is not None]
                    return self._write(self.random.choice(possible))
                return self._write(min(parts, key=lambda part: (d := self._depth(part, self.depths)) is None or d))
            case Rep(item, least, most):
                more = self.random.randint(0, 3) if self.left > 0 else 0
                count = least + (more if most is None else min(more, most - least))
                if count > least and self._depth(item, self.depths) is None:
                    count = least
                return "".join(self._write(item) for _ in range(count))
