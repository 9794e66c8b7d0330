"""Settings for all tests.

Property tests use the same examples in every run, so failures are reproducible. Set
HYPOTHESIS_PROFILE=explore to search for new examples.

If the C++ engine was not built, tests that need it are skipped, and the warning about the fallback is
ignored; `test_without_a_compiler.py` tests that warning.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

from needful.errors import InvalidInputError
from needful.planning.engines.native_planner import ENGINE_BUILT

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

FALLBACK_WARNING = "needful was installed without its C++ search engine"


def pytest_configure(config: pytest.Config) -> None:
    if not ENGINE_BUILT:
        config.addinivalue_line("filterwarnings", "ignore:needful was installed without:UserWarning")
        os.environ["PYTHONWARNINGS"] = f"ignore:{FALLBACK_WARNING}:UserWarning"  # for subprocesses


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with slow tests, so that processes finish at about the same time."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except InvalidInputError as error:
        if ENGINE_BUILT or "C++ search engine was not built" not in str(error):
            raise
        pytest.skip("needs the C++ search engine")
