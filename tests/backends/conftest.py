"""Everything here needs an inference backend, which `fetched` gets; the tools of `tests/emission` are used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "emission"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.backends)
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # those of the backends are not ours to mend


@pytest.fixture(scope="session", autouse=True)
def _engines() -> None:
    """All of them are fetched first: what cannot be fetched is tried once, not by every test."""
    from fetched import llama_library, python_packages  # noqa: PLC0415  # only this lane needs them

    llama_library()
    python_packages()
