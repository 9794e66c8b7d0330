"""Two small runs that many tests read and none modifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import succeed


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run folders of two domains, one with and one without continuous parameters."""
    folder = tmp_path_factory.mktemp("runs")
    for domain in ("screws", "cluttered-1d"):
        succeed("run", domain, "--demos", 6, "--tasks", 3, "--out", folder / domain)
    return {domain: folder / domain for domain in ("screws", "cluttered-1d")}


@pytest.fixture(scope="session")
def screws(runs: dict[str, Path]) -> Path:
    """The run folder of Screws."""
    return runs["screws"]


@pytest.fixture(scope="session")
def cluttered(runs: dict[str, Path]) -> Path:
    """The run folder of Cluttered 1D."""
    return runs["cluttered-1d"]
