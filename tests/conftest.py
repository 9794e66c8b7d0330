"""Settings for all tests.

Property tests use the same examples in every run, so failures are reproducible. Set
HYPOTHESIS_PROFILE=explore to search for new examples.

If the C++ engine was not built, tests that need it are skipped, and the warning about the fallback is
ignored; `test_without_a_compiler.py` tests that warning.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from needful.errors import InvalidInputError, MissingExtraError
from needful.planning.engines.native_planner import ENGINE_BUILT

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Tests in these folders and files run commands, processes, simulators, training or drawing.
INTEGRATION = (
    "approaches",
    "benchmarks",
    "cli",
    "envs/drawing",
    "envs/household",
    "envs/test_every_environment.py",
    "envs/test_gym.py",
    "evaluation",
    "planning/external",
    "policies",
    "reports",
    "sampler_learning",
    "sweeps",
    "test_documentation.py",
    "test_documentation_code.py",
    "test_packaging.py",
    "test_public_surface.py",
)

# These files import a package of an extra; they are left out where it is not installed. Other tests that
# need such a package are skipped.
IMPORTS_EXTRA = {
    "torch": [
        "approaches/test_gnn_approach.py",
        "cli/test_policy_commands.py",
        "policies/test_household_policy.py",
        "policies/test_network.py",
        "policies/test_policy_training.py",
    ],
    "gymnasium": ["envs/test_gym.py", "demos/test_episodes.py"],
}
NOT_INSTALLED = [package for package in IMPORTS_EXTRA if find_spec(package) is None]
collect_ignore = [path for package in NOT_INSTALLED for path in IMPORTS_EXTRA[package]]

FALLBACK_WARNING = "needful was installed without its C++ search engine"


def pytest_configure(config: pytest.Config) -> None:
    if not ENGINE_BUILT:
        config.addinivalue_line("filterwarnings", "ignore:needful was installed without:UserWarning")
        os.environ["PYTHONWARNINGS"] = f"ignore:{FALLBACK_WARNING}:UserWarning"  # for subprocesses


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark integration tests, and start with the slow files, so that processes finish at the same time.

    Slow tests run without measuring coverage, which would double their time.
    """
    tests = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(tests)
        if any(path.is_relative_to(folder) for folder in INTEGRATION):
            item.add_marker("integration")
        if item.get_closest_marker("slow"):
            item.add_marker("no_cover")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except MissingExtraError as error:
        if not NOT_INSTALLED:
            raise
        pytest.skip(str(error))
    except InvalidInputError as error:
        if ENGINE_BUILT or "C++ search engine was not built" not in str(error):
            raise
        pytest.skip("needs the C++ search engine")
