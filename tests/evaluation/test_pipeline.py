"""Runs in Python, with and without a run folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from needful.approaches import bilevel
from needful.approaches.files import load_solver, model_digest, open_model
from needful.approaches.learned_model import BilevelSolver, LearnedModel
from needful.core.model import PlanningModel
from needful.envs.contract import Split
from needful.errors import DemonstrationError, InvalidInputError, UnknownNameError
from needful.evaluation.evaluate import Solve, solve_tasks
from needful.evaluation.pipeline import RunConfig, run
from needful.evaluation.run_folder import RunFolder
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.storage.demonstrations import read_demonstrations
from toy_environment import ToyEnvironment, Unreliable

TOY = ToyEnvironment()
CONFIG = RunConfig(demos=4, tasks=3)


def planning(environment: ToyEnvironment, config: PlanningConfig | None = None) -> Solve:
    return BilevelSolver(TOY.oracle_model(), environment.execute, config or PlanningConfig()).solve


class RecordingProgress:
    """Records the stages of a run and their progress."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        self.events.append(f"{name} of {total}")
        return lambda done: self.events.append(f"{done}")


class WithoutOracle(ToyEnvironment):
    """An environment whose oracle has no operators."""

    def oracle_model(self) -> PlanningModel:
        return PlanningModel(self.vocabulary, ())


def test_a_run_without_a_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(TOY, CONFIG)
    assert len(result.collected.demonstrations) == 4
    assert result.learned.operators.coverage == 1.0
    assert [operator.name for operator in result.learned.model.operators] == ["Drop", "Grasp", "MoveTo"]
    assert list(result.learned.model.samplers) == ["MoveTo"]
    assert [record.solved for record in result.evaluation.records] == [True] * 3
    assert (result.summary["domain"], result.summary["solved"]) == ("toy", 3)
    assert list(tmp_path.iterdir()) == []


def test_progress_reports_every_stage() -> None:
    progress = RecordingProgress()
    run(TOY, CONFIG, progress=progress)
    assert progress.events == [
        *("Collecting demonstrations of 4", "1", "2", "3", "4"),
        "Learning operators and samplers of None",
        *("Solving unseen tasks of 3", "1", "2", "3"),
    ]


def test_folder_contents_equal_the_result(tmp_path: Path) -> None:
    folder = RunFolder.create(str(tmp_path / "run"))
    result = run(TOY, CONFIG, folder)
    assert json.loads((folder.path / "summary.json").read_text()) == result.summary
    lines = (folder.path / "records.jsonl").read_text().splitlines()
    assert lines == [record.to_json() for record in result.evaluation.records]
    stored = open_model(folder.path)
    assert stored.model.operators == result.learned.model.operators
    assert stored.provenance["domain"] == "toy"
    assert (stored.provenance["coverage"], stored.provenance["transitions"]) == (1.0, 12)
    ready = load_solver(folder.path, TOY, PlanningConfig()).model
    assert all(atom.predicate.classifier for operator in ready.operators for atom in operator.add_effects)
    assert model_digest(folder.path) == model_digest(folder.model)


def test_practised_demonstrations_are_stored_after_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Doubts refer to demonstrations by index; those from practice follow the collected ones."""

    def with_practice(learned: LearnedModel, *_: object) -> LearnedModel:
        return replace(learned, practised=learned.demonstrations[:1])

    monkeypatch.setattr(bilevel, "with_experiments", with_practice)
    config = RunConfig(demos=3, tasks=1, experiments=ExperimentConfig())
    result = run(TOY, config, RunFolder.create(str(tmp_path / "run")))
    stored = read_demonstrations(tmp_path / "run" / "demos.jsonl.gz").demonstrations
    assert len(result.collected.demonstrations) == 3
    assert [one.goal for one in stored[:3]] == [one.goal for one in result.collected.demonstrations]
    assert stored[3].abstract_states == stored[0].abstract_states
    assert len(stored) == 4


def test_the_same_run_gives_the_same_results() -> None:
    one, other = run(TOY, CONFIG), run(TOY, CONFIG)
    assert one.learned.model.operators == other.learned.model.operators
    assert one.learned.evidence == other.learned.evidence
    assert one.collected == other.collected
    assert one.summary["nodes_created_mean"] == other.summary["nodes_created_mean"]


def test_example_is_a_task_solved_in_execution() -> None:
    # The plan for the first task works in planning, but not in the execution afterwards.
    changing = Unreliable(idle=range(4, 7))
    evaluation = solve_tasks(planning(changing), changing, 3, 100, CONFIG.identity("toy"))
    assert [record.outcome for record in evaluation.records] == ["goal_missed", "solved", "solved"]
    assert evaluation.example is not None
    assert evaluation.example[0] == TOY.tasks(Split.TEST, 2, seed=0)[1]


def test_no_example_without_a_solution() -> None:
    identity = CONFIG.identity("toy")
    out_of_time = planning(TOY, PlanningConfig(timeout=1e-9))
    evaluation = solve_tasks(out_of_time, TOY, 2, 100, identity)
    assert [record.outcome for record in evaluation.records] == ["timeout", "timeout"]
    assert evaluation.example is None


def test_an_oracle_that_solves_nothing_is_an_error() -> None:
    with pytest.raises(DemonstrationError, match=r"none of 4 training tasks of 'toy': no abstract plan\."):
        run(WithoutOracle(), CONFIG)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"demos": 0}, "demos must be at least 1, got 0"),
        ({"demos": "5"}, "demos must be an integer, got '5'"),
        ({"tasks": -1}, "tasks must be at least 0, got -1"),
        ({"tasks": 2.5}, "tasks must be an integer, got 2.5"),
        ({"learning_timeout": "9"}, "learning_timeout must be more than 0 seconds, got '9'"),
    ],
)
def test_configurations_are_checked(wrong: dict[str, object], expected: str) -> None:
    with pytest.raises(InvalidInputError, match=expected):
        RunConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="Did you mean 'necessary'"):
        RunConfig(learner="necesary")
