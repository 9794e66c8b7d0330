"""Running one job gives the result of a run with the same settings, or an error as a value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needful.envs.catalogue import make_environment
from needful.errors import UnknownNameError
from needful.evaluation.pipeline import run
from needful.evaluation.records import RunRecord
from needful.sweeps.jobs import Job, run_config
from needful.sweeps.sweep import run_job

JOB = Job("screws", "necessary", seed=2, demos=3, tasks=2)


def without_times(record: RunRecord) -> RunRecord:
    return replace(record, seconds={})


def test_a_job_is_a_run() -> None:
    found = run_job(JOB)
    expected = run(make_environment("screws"), run_config(JOB))
    assert (found.job, found.error) == (JOB, None)
    assert [*map(without_times, found.records)] == [*map(without_times, expected.evaluation.records)]
    for name in ("domain", "learner", "seed", "demos", "operators", "tasks", "solved"):
        assert found.summary[name] == expected.summary[name]
    assert len(found.records) == 2


def test_every_setting_reaches_the_run() -> None:
    config = run_config(Job("screws", "ci", 1, 2, 3, 4.5, 6, 7.5, "paper"))
    assert (config.learner, config.seed, config.demos, config.tasks) == ("ci", 1, 2, 3)
    assert (config.planning.timeout, config.planning.max_abstract_plans) == (4.5, 6)
    assert config.learning_timeout == 7.5
    assert config.planning.planner == run_config(replace(JOB, planner="paper")).planning.planner
    assert config.planning.planner != run_config(JOB).planning.planner


def test_an_error_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("somewhere inside")

    monkeypatch.setattr("needful.sweeps.sweep.run", fail)
    found = run_job(JOB)
    assert (found.summary, found.records) == ({}, ())
    assert found.error is not None
    assert found.error.startswith("Traceback")
    assert found.error.endswith("ZeroDivisionError: somewhere inside\n")


@pytest.mark.parametrize("name", ["learner", "planner"])
def test_unknown_names_are_found_before_anything_runs(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{name} 'unheard-of'"):
        run_config(replace(JOB, **{name: "unheard-of"}))


def test_running_out_of_learning_time_is_no_error() -> None:
    found = run_job(replace(JOB, learning_timeout=1e-9))
    assert found.error is None
    assert [record.outcome for record in found.records] == ["not_learned"] * 2
