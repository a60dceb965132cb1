"""A template as a grammar file that a person can go on from, and that grammars are emitted from.

Fields become rules: what is thought, what is said, and tool calls. A template keeps the last of several texts of a field
that does not repeat, a grammar keeps all; a value's type is the schema's business in a grammar.
"""

from __future__ import annotations

import regex

from ..errors import EmitError
from .notation import BLANKS, Place, flattened, is_blank_run, literal_of, quoted, settled
from .patterns import Choice, Group, Node
from .template import Field, ResponseTemplate
from .to_peg_calls import call_body

END = "ended"
_TOKEN = regex.compile(r"<[^\s<>]+>")
_TAKEN = {
    "response",
    "text",
    "ws",
    END,
    "call",
    "nothing",
    "parameter",
    "end",
    "closed",
    "object",
    "pair",
    "value",
    "array",
}
LABELS = {"reasoning_content": "reasoning", "thinking": "reasoning", "reasoning": "reasoning", "content": "content"}


def to_peg(template: ResponseTemplate) -> str:
    r"""The text of a grammar file; raises `EmitError` that names the field which has no counterpart.

    >>> from .loading import load_response_template
    >>> print(to_peg(load_response_template({"start_anchor": "<bot>", "fields": {"content": {}}})))
    # Written by `chatpeg template` from response_template.
    %prompt   "<bot>"
    <BLANKLINE>
    response = text
    text     = content:.*
    <BLANKLINE>
    """
    return _Writer(template).text()


class _Writer:
    """One grammar file being written."""

    def __init__(self, template: ResponseTemplate) -> None:
        self.template = template
        self.rules: dict[str, str] = {}
        self.imports: list[str] = []
        self.literals: list[str] = []
        self.calls: list[str] = []
        self.blank: set[str] = set()
        self.extra: list[str] = []

    def text(self) -> str:
        explicit = [field for field in self.template.fields.values() if field.opener is not None]
        names = [_rule_name(field) for field in explicit]
        for field in explicit:
            self.region(field)
        stops = self.stops()
        if stops:
            names = [*names, END]
            self.rules[END] = f"tolerate({' / '.join(map(quoted, stops))})"
        rules = {"response": self.response(names), "text": self.free_text(names), **self.rules}
        if any("ws" in rule.split() or "(ws" in rule for rule in rules.values()):
            rules["ws"] = BLANKS
        width = max(len(name) for name in rules if " " not in name)
        return "\n".join(
            [*self.directives(stops), "", *(f"{name:{width}} = {rule}" for name, rule in rules.items()), ""]
        )

    @property
    def strips(self) -> bool:
        """Whether blanks around the text outside of all fields are no part of it; %stop would leave those before it."""
        implicit = self.template.implicit
        return implicit is not None and _strips(implicit)

    def directives(self, stops: list[str]) -> list[str]:
        lines = [f"# Written by `chatpeg template` from {self.template.name}."]
        anchors = self.template.anchor.literals
        if anchors is None:
            Place("", "start_anchor_pattern").refuse("a start anchor that is a pattern")
        tokens = dict.fromkeys(token for text in self.literals for token in _TOKEN.findall(text))
        listed = (
            ("prompt", [quoted(text) for text in anchors]),
            ("tokens", [quoted(text) for text in tokens]),
            ("stop", [] if self.strips else [quoted(text) for text in stops]),
            ("fields", self.extra),
            ("trigger", self.calls),
            ("import", list(dict.fromkeys(self.imports))),
        )
        return lines + [f"{'%' + name:9} {' '.join(words)}" for name, words in listed if words]

    def response(self, names: list[str]) -> str:
        if not names:
            return "text"
        return f"text ({_choice(self.behind_blanks(names))} text)*"

    def free_text(self, names: list[str]) -> str:
        implicit = self.template.implicit
        if implicit is None:
            return f"drop(until({' / '.join(names)}))"
        label = self.label(implicit)
        if not names:
            return f"{label}:.*"
        if not _strips(implicit):
            return f"{label}:until({' / '.join(names)})"
        return f"ws {label}:until({' / '.join(self.behind_blanks(names))})"

    def behind_blanks(self, names: list[str]) -> list[str]:
        """What may follow the text outside of all fields, with the blanks that are no part of it."""
        if not self.strips:
            return names
        return [name if name in self.blank else f"ws {name}" for name in names]

    def stops(self) -> list[str]:
        """The closers of the implicit field: strings that end a reply."""
        implicit = self.template.implicit
        if implicit is None or implicit.closer is None:
            return []
        place = Place(implicit.name, "close")
        items = [item for item in flattened(implicit.closer, place) if not is_blank_run(item)]
        alternatives = items[0].alternatives if len(items) == 1 and isinstance(items[0], Choice) else (None,)
        texts = [literal_of(one) for one in alternatives if one is not None] or [
            "".join(map(str, map(literal_of, items)))
        ]
        if not items or any(text is None for text in texts) or any(literal_of(item) is None for item in items[1:]):
            place.refuse(
                f"a closer of the text outside of all fields that is not one of some strings ({implicit.closer.source})"
            )
        return [text for text in texts if text]

    def label(self, field: Field) -> str:
        if field.content != "text" or field.transform is not None:
            raise EmitError(f"field {field.name!r}: its content {field.content!r} has no counterpart in a grammar file")
        label = LABELS.get(field.name, field.name)
        if label not in LABELS.values():
            if not label.isidentifier():
                raise EmitError(f"field {field.name!r}: its name is none of a label")
            self.extra.append(label)
        return label

    def region(self, field: Field) -> None:
        assert field.opener is not None
        name = _rule_name(field)
        opener = flattened(field.opener, Place(field.name, "open"))
        closer = [] if field.closer is None else flattened(field.closer, Place(field.name, "close"))
        self.note(opener, closer)
        if is_blank_run(opener[0]):
            self.blank.add(name)
        if field.is_call:
            self.call(field, name, opener, closer)
            return
        start = settled(_named_as_is(opener), Place(field.name, "open"))
        end = settled(closer, Place(field.name, "close"))
        blank = "ws " if _strips(field) else ""
        label = self.label(field)
        if not closer:
            self.rules[name] = f"{start} {blank}^ {label}:.*"
            return
        if is_blank_run(closer[0]):
            blank = ""
        self.rules[name] = (
            f'{start} {"ws " if _strips(field) else ""}^ {label}:until({blank}{end}) ({blank}{end} / tolerate(""))'
        )

    def call(self, field: Field, name: str, opener: list[Node], closer: list[Node]) -> None:
        body = call_body(field, opener, closer)
        self.calls.append(name)
        self.imports.extend(body.imports)
        self.rules[f'{name} "tool call"'] = body.rule
        self.rules |= body.rules

    def note(self, *patterns: list[Node]) -> None:
        """Remember the literals of patterns: those in angle brackets are tokens of their own as a rule."""
        for items in patterns:
            text = ""
            for item in [*items, None]:
                literal = None if item is None else literal_of(item)
                if literal is not None:
                    text += literal
                    continue
                self.literals.append(text)
                text = ""
                if isinstance(item, Choice):
                    self.literals.extend(filter(None, map(literal_of, item.alternatives)))


def _choice(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({' / '.join(names)})"


def _rule_name(field: Field) -> str:
    name = "".join(
        character if character.isalnum() and character.isascii() else "_" for character in field.name.lower()
    )
    return f"field_{name}" if name in _TAKEN or not name[:1].isalpha() else name


def _strips(field: Field) -> bool:
    return bool(field.content_args.get("strip", True))


def _named_as_is(items: list[Node]) -> list[Node]:
    return [item.item if isinstance(item, Group) else item for item in items]
