"""Response templates, side by side with transformers' own parser in one run.

``pip install -e '.[test,transformers]'``, then ``python tests/benchmarks/response_template.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from chatpeg import response_template as ours

sys.path.insert(0, str(Path(__file__).parent.parent / "response_template"))

from template_samples import BARE_KEYS, THINK_JSON, XML_CALLS

PROSE = ("The quick brown fox jumps over the lazy dog. It is 3 < 4, says he.\n" * 130)[:8192]
MIXED = f"<think>{PROSE[:4096]}</think>{PROSE[:4096]}"
CALL = (
    "<tool_call>\n<function=search>\n<parameter=query>\nthe weather in Paris tomorrow\n</parameter>\n"
    "<parameter=count>\n3\n</parameter>\n<parameter=code>\ndef f(x):\n    return x < 3\n</parameter>\n"
    "</function>\n</tool_call>\n"
)
CALLS = "<think>Ten calls.</think>\n" + CALL * 10


def least(run: Callable[[], object], times: int) -> float:
    """The least time of some runs, in seconds."""
    best = float("inf")
    for _ in range(times):
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
    return best


def streamed(module: Any, template: Any, text: str, size: int) -> Any:
    parser = module.ResponseParser(template, prefix="")
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    return parser.finalize()[0]


def compare(what: str, run: Callable[[Any], Any], theirs: Any, times: int) -> None:
    """One line: their time, ours, the ratio; both give the same message."""
    assert run(theirs) == run(ours), what
    old, new = least(lambda: run(theirs), times), least(lambda: run(ours), times)
    print(f"{what:52} {old * 1e3:9.2f} ms {new * 1e3:9.3f} ms {old / new:6.1f} ×")


def main() -> None:
    from transformers.utils import chat_parsing as theirs  # noqa: PLC0415 - an extra

    print(f"{'':52} {'transformers':>12} {'chatpeg':>12}")
    for name, template in (("JSON calls", THINK_JSON), ("XML calls", XML_CALLS), ("bare keys", BARE_KEYS)):
        for what, text in (("content", PROSE), ("half reasoning", MIXED)):
            compare(
                f"{name}: 8 kB {what}, 4 characters each", lambda m, t=template, x=text: streamed(m, t, x, 4), theirs, 9
            )
    compare("ten xml-inline calls, one text", lambda m: m.parse_response(CALLS, XML_CALLS, prefix=""), theirs, 99)
    compare("ten xml-inline calls, 4 characters each", lambda m: streamed(m, XML_CALLS, CALLS, 4), theirs, 9)
    compare("8 kB content, one text", lambda m: m.parse_response(PROSE, XML_CALLS, prefix=""), theirs, 9)
    print("growth, 4 characters each:")
    for size in (10_000, 100_000, 1_000_000):
        text = (PROSE * (size // len(PROSE) + 1))[:size]
        spent = least(lambda t=text: streamed(ours, BARE_KEYS, t, 4), 3)
        print(f"  {size:9} characters {spent * 1e3:9.1f} ms {spent / size * 1e9:7.1f} ns each")


if __name__ == "__main__":
    main()
