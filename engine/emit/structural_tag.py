"""Lowered rules as a structural tag: the JSON in which xgrammar is told where a grammar begins."""

from __future__ import annotations

import json
from typing import Any

from ..errors import EmitError
from .derivative import derivative
from .ebnf import ebnf
from .rules import NOTHING, Builder, Ref, Rules


def structural_tag(rules: Rules, triggers: tuple[str, ...] = ()) -> str:
    """The rules as JSON text. With ``triggers`` free text comes first, and what begins with one of them is of the rules.

    An output without a trigger is allowed; behind one the rules say all that follows, to the end.

    >>> from chatpeg.emit.rules import Text
    >>> print(structural_tag(Rules({"main": Text("ab")}, "main")))
    {"type": "structural_tag", "format": {"type": "grammar", "grammar": "root ::= \\"ab\\"\\n"}}
    """
    found = _triggered(rules, triggers) if triggers else _grammar(rules)
    return json.dumps({"type": "structural_tag", "format": found}, ensure_ascii=False)


def _grammar(rules: Rules) -> dict[str, Any]:
    return {"type": "grammar", "grammar": ebnf(rules)}


def _triggered(rules: Rules, triggers: tuple[str, ...]) -> dict[str, Any]:
    # A trigger that begins with another one never gets its turn.
    words = [word for word in triggers if not any(word != other and word.startswith(other) for other in triggers)]
    return {
        "type": "triggered_tags",
        "triggers": words,
        "tags": [{"type": "tag", "begin": word, "content": _behind(rules, word), "end": ""} for word in words],
        "stop_after_first": True,
    }


def _behind(rules: Rules, word: str) -> dict[str, Any]:
    """The grammar of what follows the trigger."""
    builder = Builder()
    builder.rules |= rules.rules
    rest = derivative(Ref(rules.root), word, builder)
    if rest == NOTHING:
        raise EmitError(f"nothing that is allowed begins with the trigger {word!r}")
    root = builder.reserve("behind")
    builder.fill(root, rest)
    return _grammar(Rules(builder.rules, root.name))
