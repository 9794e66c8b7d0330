"""The household domains without their extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command_line import files_below, needful

INSTALL = "pip install 'needful[household]'"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "sorting-books", "--out", "out"),
        ("collect", "sorting-books", "--demos", 1, "--out", "out"),
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
    assert "'sorting-books' needs mujoco" in result.error_text
    assert INSTALL in result.error_text
    assert files_below(tmp_path) == {}


def test_all_domains_are_listed_without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    result = needful("envs")
    assert "sorting-books" in result.out
    assert result.out.count(INSTALL) == 4


def test_no_install_hint_with_mujoco() -> None:
    assert "install" not in needful("envs").out
