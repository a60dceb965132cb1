"""How fast grammars are made, and how fast llama.cpp samples under them beside its own. Run by hand, on a quiet machine.

python tests/benchmarks/emission.py [made] [sampled]

"Its own" is what `json_schema_to_grammar` of its library makes of the parameters, inside the literals of the format;
names are plain alternatives and raw strings exclude their closer character by character, as its converters write them.
"""

from __future__ import annotations

import ctypes
import functools
import json
import platform
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

import chatpeg
from chatpeg.grammar import Grammar as Format

TESTS = Path(__file__).parent.parent
sys.path += [str(TESTS / "backends"), str(TESTS / "emission")]

from llama import Grammar, Sampler, Vocabulary, converted  # noqa: E402  # there by now
from rendered import RENDER  # noqa: E402
from tiny_model import path  # noqa: E402

FORMATS = ("hermes", "qwen3-coder", "glm-4.7")
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "boolean"},
    {"enum": ["km", "mi"]},
    {"type": "array", "items": {"type": "string"}},
)
VERBS = ("get", "set", "list", "create", "delete", "search", "update", "send", "open", "read")
NOUNS = ("weather", "file", "user", "event", "order", "message", "page", "report", "job", "map", "price", "route")
ARGUMENTS = {"city": "Paris, Texas", "days": 3, "unit": "km", "on": True}


def tool(name: str, properties: dict[str, Any], required: list[str], *, closed: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if closed:
        schema["additionalProperties"] = False
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": schema}}


def names(count: int) -> list[str]:
    """Names as tools have them, many with the same beginning."""
    found = [f"{verb}_{noun}" for noun in NOUNS for verb in VERBS]
    return [found[n % len(found)] + (f"_{n // len(found)}" if n >= len(found) else "") for n in range(count)]


def fastest(run: Callable[[], object], most: int = 9) -> float:
    """Seconds of the fastest of a few runs."""
    best = float("inf")
    for _ in range(most):
        start = process_time()
        run()
        best = min(best, process_time() - start)
    return best


# How fast a grammar is made


def offered(count: int, salt: int, *, closed: bool) -> list[Any]:
    """Tools with ten parameters each, others for each ``salt``."""
    return [
        tool(
            f"{name}_{salt}",
            {f"{NOUNS[k]}_{k}": KINDS[(n + k) % len(KINDS)] for k in range(10)},
            [f"{NOUNS[k]}_{k}" for k in range(0, 10, 3)],
            closed=closed,
        )
        for n, name in enumerate(names(count))
    ]


def report_making(*, closed: bool) -> None:
    loaded = {name: chatpeg.load(name).loaded for name in FORMATS}
    chatpeg.load("gpt-oss").bind(tools=offered(1, 0, closed=closed)).gbnf()  # imports
    counts = (25, 50, 100, 200)
    print(f"\nbind and gbnf in ms, ten parameters a tool, {'closed' if closed else 'open'} objects")
    print(
        f"{'':14} {'new format and tools':>20} {'new tools':>10} {'equal tools':>12}   new tools: "
        + "".join(f"{n:>8}" for n in counts)
    )
    for name in FORMATS:
        tools = offered(50, 0, closed=closed)
        first = fastest(lambda name=name, tools=tools: Format(loaded[name]).bind(tools=tools).gbnf())  # type: ignore[misc]
        grammar = Format(loaded[name])
        salts = iter(range(1, 1_000_000))

        def other(count: int, grammar: Format = grammar, salts: Iterator[int] = salts) -> float:
            best = float("inf")
            for _ in range(7):
                tools = offered(count, next(salts), closed=closed)
                best = min(best, fastest(lambda tools=tools: grammar.bind(tools=tools).gbnf(), 1))  # type: ignore[misc]
            return best

        new = other(50)
        grammar.bind(tools=tools).gbnf()
        again = fastest(lambda grammar=grammar, tools=tools: grammar.bind(tools=tools).gbnf())  # type: ignore[misc]
        growth = "".join(f"{other(count) * 1e3:8.1f}" for count in counts)
        print(f"{name:14} {first * 1e3:20.1f} {new * 1e3:10.1f} {again * 1e3:12.3f} {'':13} {growth}")


# How fast llama.cpp samples under it


def opened(schema: Any) -> Any:
    """The schema, what its objects leave open said in words: llama.cpp's converter closes what says nothing."""
    if isinstance(schema, dict):
        schema = {key: opened(part) for key, part in schema.items()}
        return (
            schema | {"additionalProperties": schema.get("additionalProperties", True)}
            if "properties" in schema
            else schema
        )
    return schema


def sampled_tools(count: int, *, closed: bool) -> list[Any]:
    properties = {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["km", "mi"]},
        "on": {"type": "boolean"},
    }
    return [tool(name, properties, ["city", "days"], closed=closed) for name in names(count)]


def literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@functools.cache
def own(schema: str, root: str) -> str:
    """The rules llama.cpp makes of a schema, its start rule called ``root``."""
    return re.sub(r"^root ::=", f"{root} ::=", converted(schema), flags=re.MULTILINE)


def until(closer: str) -> str:
    """Text without the closer, as llama.cpp writes it: each beginning of it, then a character that does not go on."""
    ways = [
        f"{literal(closer[:k]) + ' ' if k else ''}[^{closer[k].replace(chr(10), chr(92) + 'n')}]"
        for k in range(len(closer))
    ]
    return f"({' | '.join(ways)})*"


def peer(format_id: str, tools: list[Any]) -> str:
    """llama.cpp's own grammar for one call of one of the tools."""
    functions = [entry["function"] for entry in tools]
    if format_id == "hermes":
        calls = [
            {
                "type": "object",
                "properties": {"name": {"const": f["name"]}, "arguments": opened(f["parameters"])},
                "required": ["name", "arguments"],
            }
            for f in functions
        ]
        return f'root ::= "<tool_call>\\n" call "\\n</tool_call>"\n{own(json.dumps({"anyOf": calls}), "call")}'
    wraps = {
        "qwen3-coder": (
            "<tool_call>\n<function={}>\n",
            "<parameter={}>\n",
            "\n</parameter>",
            "\n",
            "</function>\n</tool_call>",
        ),
        "glm-4.7": ("<tool_call>{}", "<arg_key>{}</arg_key><arg_value>", "</arg_value>", "", "</tool_call>"),
    }
    opener, key_opener, closer, line, end = wraps[format_id]
    lines = [f"text ::= {until(closer)}"]
    known: dict[str, str] = {}
    for n, function in enumerate(functions):
        parts = [literal(opener.format(function["name"]))]
        for key, schema in function["parameters"]["properties"].items():
            value = value_of(schema, known)
            part = f"{literal(key_opener.format(key))} {value} {literal(closer + line)}"
            parts.append(part if key in function["parameters"]["required"] else f"({part})?")
        lines.append(f"tool-{n} ::= {' '.join(parts)} {literal(end)}")
    found = dict.fromkeys(line for rules in known.values() for line in rules.splitlines())
    return "\n".join([f"root ::= {' | '.join(f'tool-{n}' for n in range(len(functions)))}", *lines, *found, ""])


def value_of(schema: dict[str, Any], known: dict[str, str]) -> str:
    """A parameter's value: a raw string, raw words, or the JSON of its schema, whose rules go to ``known``."""
    if "enum" in schema:
        return f"({' | '.join(map(literal, schema['enum']))})"
    if schema["type"] == "string":
        return "text"
    text = json.dumps(schema)
    name = f"value-{schema['type']}"
    known[name] = own(text, name)
    return name


def words() -> list[str]:
    """A vocabulary for the masks: words and their beginnings from the recorded replies and from Python's own library."""
    files = [*sorted((TESTS / "corpus").glob("*.txt")), *sorted(Path(json.__file__).parent.parent.glob("[a-p]*.py"))]
    text = "".join(file.read_text("utf-8") for file in files)
    found = dict.fromkeys(re.findall(r" ?[^\W_]+|[^\w\s]+|\s+", text))
    return list(dict.fromkeys(word[:k] for word in found for k in range(1, min(len(word), 16) + 1)))[:32_000]


def measured(grammar: str, text: str, vocabulary: Vocabulary) -> tuple[list[int], list[float]]:
    """Behind each character of the text how many stacks are alive, and the seconds of a mask of all tokens."""
    walked, sampler = Grammar(grammar), Sampler(vocabulary, grammar)
    data = sampler.candidates()
    fresh = bytes(data)
    stacks, seconds = [], []
    for character in text:
        stacks.append(walked.stacks)
        best = float("inf")
        for _ in range(3):
            ctypes.memmove(data, fresh, len(fresh))
            start = process_time()
            sampler.mask(data)
            best = min(best, process_time() - start)
        seconds.append(best)
        assert walked.feed(character), f"{character!r} is refused"
        sampler.accept(vocabulary.ids[character.encode()])
    assert walked.may_end
    sampler.close()
    return stacks, seconds


def report_sampling(*, closed: bool) -> None:
    vocabulary = Vocabulary(path(vocabulary_only=True, words=words()))
    kind = "closed" if closed else "open (those of llama.cpp's XML grammars are closed)"
    print(f"\none call, {vocabulary.size} tokens, objects {kind}; ours : llama.cpp's own")
    print(
        f"{'':14} {'tools':>5} {'most stacks':>14} {'mean stacks':>14} {'mean mask, ms':>16} {'ratio':>6} {'worst mask, ms':>16} {'ratio':>6}"
    )
    for name in FORMATS:
        for count in (2, 20, 200):
            tools = sampled_tools(count, closed=closed)
            text = RENDER[name]([(tools[count // 2]["function"]["name"], ARGUMENTS)])
            chat = chatpeg.load(name).bind(tools=tools, tool_choice="required", parallel_tool_calls=False)
            ours, our_masks = measured(chat.gbnf(prompt="").grammar or "", text, vocabulary)
            theirs, their_masks = measured(peer(name, tools), text, vocabulary)
            print(
                f"{name:14} {count:5} {max(ours):6} : {max(theirs):5} {fmean(ours):6.1f} : {fmean(theirs):5.1f}"
                f" {fmean(our_masks) * 1e3:7.2f} : {fmean(their_masks) * 1e3:6.2f}"
                f" {fmean(our_masks) / fmean(their_masks):6.2f}"
                f" {max(our_masks) * 1e3:7.2f} : {max(their_masks) * 1e3:6.2f} {max(our_masks) / max(their_masks):6.2f}"
            )


def main() -> None:
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {sys.platform}")
    wanted = sys.argv[1:] or ["made", "sampled"]
    for closed in (True, False):
        if "made" in wanted:
            report_making(closed=closed)
        if "sampled" in wanted:
            report_sampling(closed=closed)


if __name__ == "__main__":
    main()
