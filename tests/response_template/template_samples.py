"""Templates as checkpoints ship them, the replies they are for, and strategies for others."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

THINK_JSON: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "content": "json",
            "repeats": True,
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)"},
    },
}
XML_CALLS: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"},
            "repeats": True,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)"},
    },
}
BARE_KEYS: dict[str, Any] = {
    "start_anchor": ["<|turn>model\n", "<tool_response|>"],
    "fields": {
        "thinking": {"open": "<|channel>thought\n", "close": "<channel|>"},
        "tool_calls": {
            "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
            "close": "<tool_call|>",
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
            "repeats": True,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close": ["<turn|>", "<|tool_response>", "<eos>"]},
    },
}
CALL_LIST: dict[str, Any] = {
    "start_anchor": "<|assistant|>",
    "fields": {
        "tool_calls": {
            "open": "<|calls|>",
            "close": "<|end|>",
            "content": "python-call-list",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each": True,
        },
        "content": {"close": "<|end|>", "repeats": True, "join": "\n"},
    },
}
XML_REPLY = """<think>
Two calls, <b>now</b>.
</think>

Here they are.
<tool_call>
<function=search>
<parameter=query>
a </function> in the value
</parameter>
<parameter=count>
3
</parameter>
</function>
</tool_call>
<tool_call>
<function=ping>
</function>
</tool_call><|im_end|>
"""
REPLIES: list[tuple[dict[str, Any], str]] = [
    (
        THINK_JSON,
        '<think>hm </thin</think>\nHi <tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>\n',
    ),
    (THINK_JSON, "plain <text> with \n\n blanks"),
    (THINK_JSON, "<tool_call>{broken</tool_call>behind"),
    (THINK_JSON, "<think>cut"),
    (XML_CALLS, XML_REPLY),
    (
        BARE_KEYS,
        '<|channel>thought\nhm<channel|>Hi<|tool_call>call:f{a:<|"|>x "y"<|"|>,b:[1]}<tool_call|><|tool_response>',
    ),
    (CALL_LIST, "Hi<|end|>there<|end|><|calls|>[f(a=1, b='x'), g()]<|end|>"),
]

# Delimiters that overlap, grow, look around and match nothing; over few characters, so that they meet in texts.
LITERALS = ["<t>", "<t>\n\n", "</t>", "<", "ab", "aba", "b", "CALL", "<a>", "\n"]
PATTERNS = [
    r"(?:ab)+",
    r">(?!bc)",
    r"$",
    r"\Z",
    r"<[^>]*>|CALL",
    r"\s*<t>",
    r"a|ab",
    r"a*?b",
    r"a+b?",
    r"(?<=a)b",
    r"\bab\b",
    r"^a",
    r"(?=<)",
    r"\n?$",
    r"(?m:b$)",
    r"(?i:CALL)",
    r"<(?=t)",
    r"[^a<]+>",
    r"a{1,2}b",
    r"(?>a*)b",
    r"(?:a|b)*<",
    r"\Bb",
    r"x?",
    r"<t>(?:\n|$)",
]
NAMED = [r"<(?P<name>\w*)>", r"(?P<name>a+)(?P<other>b)?", r"(?P<name>[ab]*)>"]
PIECES = sorted({*LITERALS, "a", "b", "c", "bc", ">", "<t", "CA", "call", " ", "x", '{"a": 1}', "1", "[1, 2]", "<ab>"})

texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def _delimiter(key: str, named: bool) -> st.SearchStrategy[dict[str, Any]]:
    patterns = PATTERNS + (NAMED if named else [])
    return st.one_of(
        st.sampled_from(LITERALS).map(lambda one: {key: one}),
        st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3).map(lambda many: {key: many}),
        st.sampled_from(patterns).map(lambda one: {f"{key}_pattern": one}),
    )


@st.composite
def fields(draw: st.DrawFn, implicit: bool) -> dict[str, Any]:
    """A field of a template."""
    transform = draw(st.sampled_from([None, None, {"value": "{content}", "kind": ["x"]}, {"n": "{name}"}]))
    field: dict[str, Any] = {}
    if not implicit:
        field |= draw(_delimiter("open", transform is not None))
    if draw(st.booleans()):
        field |= draw(_delimiter("close", transform is not None))
    if transform is not None:
        field["transform"] = transform
    field["content"] = draw(st.sampled_from(["text", "text", "json", "int", "bool", "kv-lines", "xml-inline"]))
    if field["content"] == "xml-inline":
        field["content_args"] = {
            "tag_pattern": r"<(?P<key>\w)>(?P<value>[^<]*)",
            "merge_duplicates": draw(st.booleans()),
        }
    elif draw(st.booleans()):
        field["content_args"] = {"strip": False}
    if draw(st.booleans()):
        field["repeats"] = True
        if transform is None and field["content"] == "text" and draw(st.booleans()):
            field["join"] = "+"
    return field


@st.composite
def templates(draw: st.DrawFn) -> dict[str, Any]:
    """A template that loads."""
    names = draw(st.lists(st.sampled_from("pqrs"), min_size=1, max_size=3, unique=True))
    made = {name: draw(fields(implicit=False)) for name in names}
    if draw(st.booleans()):
        made["m"] = draw(fields(implicit=True))
    return {"start_anchor": "<bot>", "defaults": draw(st.sampled_from([{}, {"role": "x"}])), "fields": made}


@st.composite
def splits(draw: st.DrawFn, text: str) -> list[str]:
    """``text`` in chunks."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


_atoms = st.sampled_from(["a", "b", "<", ">", r"\n", "x", "[ab]", "[^<]", ".", r"\w", r"\s", r"(?i:A)"])
_edges = st.sampled_from(["$", r"\Z", r"\b", r"\B", "^", "(?m:$)"])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "*+", "?+", "{2}", "{1,2}", "{0,2}?", "{2,}", "{,2}"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|{both[1]})"),
        st.tuples(inner, signs).map(lambda both: f"(?:{both[0]}){both[1]}"),
        st.tuples(_atoms, signs).map("".join),
        st.tuples(st.sampled_from(["(?=", "(?!", "(?<=", "(?<!", "(?>", "("]), inner).map(
            lambda both: f"{both[0]}{both[1]})"
        ),
    )


regexes = st.recursive(st.one_of(_atoms, _atoms, _edges), _grow, max_leaves=8)
"""Regular expressions of everything that is read."""
