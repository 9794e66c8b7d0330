"""The estimate of a sweep's remaining time, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needful.core.plans import Outcome, PlanningResult
from needful.evaluation.records import make_record, run_identity
from needful.sweeps.jobs import Job, JobResult
from needful.sweeps.sweep import RemainingTime, seconds_of

JOB = Job("screws", "necessary")
IDENTITY = run_identity("screws", "necessary", 0)


def lasting(job: Job, seconds: float) -> JobResult:
    """Return a result of a given duration: half of it for learning, a quarter for each of two tasks."""
    tasks = [
        make_record(IDENTITY, task, PlanningResult(Outcome.TIMEOUT), Outcome.TIMEOUT, seconds / 4)
        for task in range(2)
    ]
    stages = {"collect": seconds / 4, "operators": seconds / 8, "samplers": seconds / 8}
    means = {"planning_mean": seconds / 4, "planning_p90": seconds / 4}
    return JobResult(job, {"seconds": {**stages, **means}}, tuple(tasks))


def test_a_job_takes_what_learning_and_all_tasks_take() -> None:
    assert seconds_of(lasting(JOB, 8.0)) == 8.0
    assert seconds_of(JobResult(JOB, {}, ())) == 0.0
    for odd in ([], {"operators": "fast"}, None):
        assert seconds_of(JobResult(JOB, {"seconds": odd}, ())) == 0.0


def test_without_results_nothing_is_known() -> None:
    time = RemainingTime()
    assert time.estimate([JOB]) is None
    time.add(JobResult(JOB, {}, (), "Traceback"))
    assert time.estimate([JOB]) is None
    time.add(lasting(JOB, 8.0))
    assert time.estimate([]) == 0.0


def test_jobs_are_expected_to_last_as_long_as_those_most_like_them() -> None:
    time = RemainingTime()
    for seed, seconds in enumerate((10.0, 30.0)):
        time.add(lasting(replace(JOB, seed=seed), seconds))
    time.add(lasting(replace(JOB, domain="painting"), 80.0))
    time.add(lasting(replace(JOB, domain="painting", learner="ci"), 200.0))
    time.add(lasting(replace(JOB, demos=1), 0.0))
    assert time.estimate([replace(JOB, seed=9)]) == 20.0  # same learner, domain and size
    assert time.estimate([replace(JOB, tasks=1)]) == pytest.approx(40 / 3)  # same learner and domain
    assert time.estimate([replace(JOB, domain="satellites")]) == 30.0  # same learner: 10, 30, 80, 0
    assert time.estimate([replace(JOB, learner="loft")]) == 64.0  # all jobs: 10, 30, 80, 0, 200


def test_jobs_at_the_same_time_share_it() -> None:
    time = RemainingTime()
    time.add(lasting(JOB, 10.0))
    jobs = [replace(JOB, seed=seed) for seed in range(6)]
    assert time.estimate(jobs) == 60.0
    assert time.estimate(jobs, parallel_jobs=3) == 20.0
    assert time.estimate(jobs, parallel_jobs=0) == 60.0  # No job has started yet.
