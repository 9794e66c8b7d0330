"""The household domains where their extra is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command_line import files_below, needful

INSTALL = "pip install -c constraints.txt '.[household]'"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "sorting-books", "--out", "made"),
        ("collect", "sorting-books", "--demos", 1, "--out", "made"),
    ],
)
def test_missing_mujoco_is_reported_and_nothing_is_written(
    command: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("needful.envs.household")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    result = needful(*command)
    assert result.code != 0
    assert "The domain 'sorting-books' needs mujoco, which is not installed." in result.error_text
    assert result.error_text.endswith(f"Install it from the checkout: {INSTALL}")
    assert files_below(tmp_path) == {}


def test_all_domains_are_listed_without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    result = needful("envs")
    assert "sorting-books" in result.out
    assert result.out.count(f"  needs, from the checkout: {INSTALL}\n") == 4


def test_no_install_hint_with_mujoco() -> None:
    assert "needs" not in needful("envs").out
