"""Talk to a running llama-server with tools: one grammar file constrains the calls and reads the stream.

    llama-server -m some-model.gguf --port 8080
    python examples/llama_server.py qwen3-coder "Which Markdown files are there?"

Uses /completion, because /v1/chat/completions takes no lazy grammar.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import chatpeg

TOOLS = Path(__file__).with_name("tools.json")


def post(url: str, body: dict[str, Any]) -> Any:
    """The open response of a JSON request."""
    return urlopen(Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}))  # noqa: S310  # the user's


def completion(server: str, body: dict[str, Any]) -> Iterator[str]:
    """The pieces of text that the server streams."""
    with post(f"{server}/completion", body | {"stream": True}) as response:
        for line in response:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])["content"]


def main() -> None:
    """Ask one question."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("format", help="the format that the model writes (chatpeg list)")
    arguments.add_argument("question")
    arguments.add_argument("--server", default="http://127.0.0.1:8080")
    options = arguments.parse_args()

    tools = json.loads(TOOLS.read_text("utf-8"))
    chat = chatpeg.load(options.format).bind(tools=tools)

    messages = [{"role": "user", "content": options.question}]
    with post(f"{options.server}/apply-template", {"messages": messages, "tools": tools}) as response:
        prompt = json.load(response)["prompt"]

    constraint = chat.gbnf(prompt=prompt)
    for warning in constraint.warnings:
        print("not enforced:", warning, file=sys.stderr)
    body = {"prompt": prompt, "n_predict": 2048, "stop": list(constraint.stop), **constraint.llama_server()}

    parser = chat.parser(prompt=prompt)
    for piece in completion(options.server, body):
        show(parser.feed(piece))
    show(parser.finish())
    print()
    for call in parser.message.tool_calls:
        print("call:", call.name, call.args)


def show(events: list[chatpeg.Event]) -> None:
    """Print the text of the answer as it comes."""
    for event in events:
        if isinstance(event, chatpeg.RegionChunk) and event.label == "content":
            print(event.text, end="", flush=True)


if __name__ == "__main__":
    main()
