"""The examples run from any folder and print what their docstrings announce."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import succeed

EXAMPLES = Path(__file__).parents[1] / "examples"

# Parts of the output of each example.
PRINTED = {
    "01_plan_with_given_operators": [
        "forgets:    HoldingScrew(*:gripper, *:screw)",
        "atoms that hold, 1 are necessary",
        "solved",
    ],
    "02_learn_operators_from_a_file": [
        "necessary: 4 operators, coverage 100%",
        "ci, which predicts every change: 13 operators",
    ],
    "03_learn_samplers": ["Solved 5 of 5 unseen tasks"],
    "04_add_an_environment": [
        "forgets:    Near(?x0, *:lamp)",
        "Solved 10 of 10 unseen tasks.",
    ],
    "05_explain_and_export": [
        "needed by goal",
        "does not predict ScrewInReceptacle: 8 times",
        "(:action MoveToScrew",
    ],
    "06_reproduce_a_table_row": ["necessary 0 100%", "necessary 1 100%", "| Screws | **100.0 (0.0)**"],
}
SLOW = {"03_learn_samplers", "04_add_an_environment", "06_reproduce_a_table_row"}


def test_every_example_is_tested() -> None:
    assert sorted(file.stem for file in EXAMPLES.glob("*.py")) == sorted(PRINTED)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PRINTED]
)
def test_an_example_runs_in_any_folder(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for line in PRINTED[name]:
        assert line in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_environment_of_an_example_keeps_its_contract() -> None:
    said = succeed("check-env", f"{EXAMPLES / '04_add_an_environment.py'}:Corridor")
    assert "no findings" in said.out


def test_examples_are_short() -> None:
    assert {file.name: count for file in EXAMPLES.glob("*.py") if (count := _lines(file)) > 90} == {}


def _lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())
