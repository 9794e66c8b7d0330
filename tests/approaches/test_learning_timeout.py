"""Learning that exceeds its time limit is aborted and recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import needful
from fake_clock import FakeClock
from needful.approaches.bilevel import learn_model, with_experiments
from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.limits import Deadline
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.errors import InvalidInputError, LearningTimeoutError
from needful.evaluation.pipeline import RunConfig, run
from needful.evaluation.run_folder import RunFolder
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.storage.demonstrations import write_demonstrations
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
SHORT_LIMIT = RunConfig(demos=3, tasks=2, learning_timeout=1e-9)


def test_every_task_is_recorded_as_not_learned(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    result = run(TOY, SHORT_LIMIT, folder)
    assert result.learned is None
    assert [one.outcome for one in result.evaluation.records] == ["not_learned"] * 2
    assert [one.objects for one in result.evaluation.records] == [
        len(task.objects) for task in TOY.tasks("test", 2, 0)
    ]
    summary = json.loads((folder.path / "summary.json").read_text())
    assert summary == result.summary
    assert (summary["operators"], summary["coverage"], summary["solved"]) == (0, 0.0, 0)
    transitions = sum(map(len, result.collected.demonstrations))
    assert (summary["demos"], summary["transitions"]) == (3, transitions)
    assert summary["failures"] == {"not_learned": 2, "timeout": 0}
    assert summary["seconds"]["operators"] > 0
    assert summary["seconds"]["samplers"] == 0
    assert not folder.model.exists()
    assert (folder.path / "demos.jsonl.gz").exists()


def test_limit_does_not_change_the_result() -> None:
    config = RunConfig(demos=3, tasks=2)
    limited = run(TOY, replace(config, learning_timeout=1e6))
    unlimited = run(TOY, config)
    assert limited.learned is not None
    assert unlimited.learned is not None
    assert limited.learned.operators == unlimited.learned.operators
    assert [one.outcome for one in limited.evaluation.records] == ["solved"] * 2


def test_limit_is_part_of_the_configuration() -> None:
    config = RunConfig()
    assert config.identity("toy") != replace(config, learning_timeout=5.0).identity("toy")
    with pytest.raises(InvalidInputError, match=r"learning_timeout .* got 0\.0"):
        RunConfig(learning_timeout=0.0)


@pytest.mark.parametrize(
    ("extra_ticks", "stages"),
    [(-5, ["operators"]), (5, ["operators", "samplers"]), (100, ["operators", "samplers"])],
)
def test_timeout_names_the_stages_reached(extra_ticks: int, stages: list[str]) -> None:
    """The limit is `extra_ticks` clock readings more than learning operators takes."""
    environment = make_environment("satellites")
    demos = collect_demonstrations(environment, OracleDemonstrator(environment), 2, 0).demonstrations
    clock = FakeClock(tick=1.0)
    BILEVEL_APPROACHES["necessary"].learn_operators(demos, deadline=Deadline.after(1e9, clock))
    deadline = Deadline.after(clock.now + extra_ticks, FakeClock(tick=1.0))
    with pytest.raises(LearningTimeoutError) as caught:
        learn_model(environment.vocabulary, demos, deadline=deadline)
    assert list(caught.value.seconds) == stages
    assert all(seconds > 0 for seconds in caught.value.seconds.values())


def test_experiments_obey_the_deadline() -> None:
    demos = collect_demonstrations(TOY, OracleDemonstrator(TOY), 3, 0).demonstrations
    learned = learn_model(TOY.vocabulary, demos)
    deadline = Deadline.after(5.0, FakeClock(tick=1.0))
    with pytest.raises(LearningTimeoutError) as caught:
        with_experiments(learned, TOY.execute, ExperimentConfig(), 0, deadline)
    assert list(caught.value.seconds) == ["operators", "samplers", "validation", "experiments"]


def test_run_reports_a_learning_timeout(tmp_path: Path) -> None:
    run = ("run", "screws", "--demos", 2, "--tasks", 1, "--learning-timeout", 1e-9, "--out", tmp_path / "r")
    result = needful(*run)
    assert result.code == 1
    assert result.error_text.startswith("error: ")
    assert "1e-09 s" in result.error_text
    assert "--learning-timeout" in result.error_text
    assert "1 failed: not learned" in result.out
    assert "model/" not in result.out
    assert (tmp_path / "r" / "report.html").exists()
    again = needful(*run, "--force", "--json")
    assert (again.code, again.err) == (1, result.err)
    assert again.json["failures"] == {"not_learned": 1, "timeout": 0}


def test_learn_fails_and_writes_nothing(tmp_path: Path) -> None:
    demos = collect_demonstrations(TOY, OracleDemonstrator(TOY), 2, 0).demonstrations
    path, out = tmp_path / "demos.jsonl", tmp_path / "model"
    write_demonstrations(path, TOY.vocabulary, demos)
    result = needful("learn", path, "--learning-timeout", 1e-9, "--out", out)
    assert (result.code, out.exists()) == (1, False)
    assert result.err.startswith("error: ")
    assert "1e-09 s" in result.err
    wrong = needful("learn", path, "--learning-timeout", 0, "--out", out)
    assert wrong.code == 2
    assert "must be more than 0 seconds" in wrong.err


def test_replays_need_a_simulator(tmp_path: Path) -> None:
    demos = collect_demonstrations(TOY, OracleDemonstrator(TOY), 2, 0).demonstrations
    path, out = tmp_path / "demos.jsonl", tmp_path / "model"
    write_demonstrations(path, TOY.vocabulary, demos)
    result = needful("learn", path, "--learner", "loft-replay", "--out", out)
    assert (result.code, out.exists()) == (1, False)
    assert "'loft-replay' needs replays" in result.err
    assert "'needful run DOMAIN --learner loft-replay'" in result.err
