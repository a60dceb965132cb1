"""How the tests of emission draw their examples: few and quick by default, always the same ones.

``--hypothesis-profile explore`` draws forty times as many, others in each run, and shrinks what fails.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from strategies import examples


def check(test: Callable[..., None], *drawn: st.SearchStrategy[object], name: str, count: int) -> None:
    """Run ``test`` on ``count`` examples that depend on ``name`` alone."""
    explore = settings.get_current_profile_name() == "explore"
    phases = settings().phases if explore else [Phase.generate]
    number = random.randrange(2**32) if explore else zlib.crc32(name.encode())
    quick = settings(examples(count), phases=phases, database=None, derandomize=False)
    seed(number)(quick(given(*drawn)(test)))()
