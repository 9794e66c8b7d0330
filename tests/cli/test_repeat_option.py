"""`needful run --repeat`: make recorded runs again and compare the results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_line import needful, succeed


@pytest.fixture
def copied(screws: Path, tmp_path: Path) -> Path:
    """A copy of the run on Screws, which a test may change."""
    return Path(shutil.copytree(screws, tmp_path / "copied"))


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_equal_results_are_identical(runs: dict[str, Path], screws: Path, tmp_path: Path) -> None:
    result = succeed("run", "--repeat", screws)
    assert result.out.startswith(f"{screws}: identical results (")
    found = succeed("run", "--repeat", screws.parent, "--json").json["runs"]
    assert [(one["run"], one["identical"]) for one in found] == [
        (str(folder), True) for folder in sorted(runs.values())
    ]
    succeed("run", "screws", "--repeat", screws, "--out", tmp_path / "again")
    assert json.loads((tmp_path / "again" / "run.json").read_text())["command"].startswith(
        "needful run screws --demos 6 --tasks 3"
    )


def test_different_results_are_listed_and_fail(copied: Path) -> None:
    edit(copied / "records.jsonl", '"task": 1,', '"plan_length": 99, "task": 1,')
    edit(copied / "run.json", '"python": "', '"python": "2.7, not ')
    result = needful("run", "--repeat", copied)
    assert result.code == 1
    assert "different results" in result.out
    assert "task 1: " in result.out
    assert "before '2.7, not" not in result.out
    assert "before 2.7, not" in result.out


def test_changed_settings_are_a_difference(copied: Path) -> None:
    edit(copied / "run.json", '"timeout": 10.0', '"timeout": 7.0')
    result = needful("run", "--repeat", copied)
    assert result.code == 1
    assert "setting planning.timeout: 10, before 7" in result.out


def test_recorded_demonstrations_are_used_again(screws: Path, tmp_path: Path) -> None:
    succeed(
        *("run", "screws", "--demonstrations", screws / "demos.jsonl.gz", "--tasks", 1),
        *("--out", tmp_path / "run"),
    )
    command = json.loads((tmp_path / "run" / "run.json").read_text())["command"]
    assert command == "needful run screws --demonstrations demos.jsonl.gz --tasks 1 --out run"
    assert "identical" in succeed("run", "--repeat", tmp_path / "run").out


def test_runs_that_cannot_be_repeated(copied: Path, screws: Path, tmp_path: Path) -> None:
    assert "Leave --demos out" in needful("run", "--repeat", copied, "--demos", 3).error_text
    assert "is a run of 'screws'" in needful("run", "painting", "--repeat", copied).error_text
    edit(copied / "run.json", "needful run screws", "needful run my_env.py:MyEnv")
    result = needful("run", "--repeat", copied)
    assert result.code == 1
    assert f"needful run my_env.py:MyEnv --repeat {copied}" in result.err
    (copied / "run.json").unlink()
    assert "has no run.json" in needful("run", "--repeat", copied).err
    succeed("eval", screws, "screws", "--tasks", 1, "--out", tmp_path / "evaluated")
    assert "not made by 'needful run'" in needful("run", "--repeat", tmp_path / "evaluated").err
