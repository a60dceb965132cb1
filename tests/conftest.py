"""Options and Hypothesis profiles of the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("explore", deadline=None, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected messages of tests/corpus")


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether the corpus is to be rewritten from what the engine returns."""
    return bool(request.config.getoption("--update"))
