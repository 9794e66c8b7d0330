"""Training tasks that the oracle cannot solve: one warning each, and an error if it solves none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toy_world
from command_line import needful, succeed
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.storage.demonstrations import read_demonstrations
from toy_environment import ToyEnvironment

ROBOT, BALL = toy_world.ROBOT("robot"), toy_world.BALL("ball0")
# A free hand cannot hold a ball.
IMPOSSIBLE = frozenset({toy_world.HAND_FREE(ROBOT), toy_world.HOLDING(ROBOT, BALL)})


class PartlyImpossible(ToyEnvironment):
    """An environment in which some of the training tasks are impossible."""

    def __init__(self, impossible: set[int]) -> None:
        self.impossible = impossible

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        if split is Split.TRAIN and index in self.impossible:
            return Task(toy_world.task().initial_state, IMPOSSIBLE)
        return toy_world.task()


def use(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needful.cli.environments.make_environment", lambda name: environment)


COMMANDS = {
    "collect": ("collect", "toy", "--demos", 4, "--out"),
    "run": ("run", "toy", "--demos", 4, "--tasks", 1, "--out"),
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_skipped_task_is_a_warning(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(PartlyImpossible({1, 3}), monkeypatch)
    result = needful(*COMMANDS[verb], tmp_path / "out", "--json")
    assert result.code == 0
    assert result.json["demos"] == 2
    warnings = result.err.splitlines()
    assert len(warnings) == 2
    for index, warning in zip((1, 3), warnings, strict=True):
        assert warning.startswith(f"warning: training task {index} ")
        assert warning.endswith("no abstract plan")


def test_skipped_tasks_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(PartlyImpossible({0}), monkeypatch)
    result = needful(*COMMANDS["collect"], tmp_path / "out", "--json")
    assert (result.json["demos"], result.json["skipped"], result.json["transitions"]) == (3, 1, 9)
    assert len(read_demonstrations(tmp_path / "out").demonstrations) == 3
    use(PartlyImpossible(set()), monkeypatch)
    succeed(*COMMANDS["collect"], tmp_path / "all")


@pytest.mark.parametrize("verb", COMMANDS)
def test_error_if_all_tasks_are_skipped(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(PartlyImpossible({0, 1, 2, 3}), monkeypatch)
    result = needful(*COMMANDS[verb], tmp_path / "out")
    assert (result.code, result.out) == (1, "")
    assert "none of 4 training tasks of 'toy': no abstract plan" in result.err
    assert not (tmp_path / "out" / "summary.json").exists()
    assert verb == "run" or not (tmp_path / "out").exists()
