"""Run one job of a sweep, whatever becomes of it."""

from __future__ import annotations

import traceback

from needful.envs.catalogue import make_environment
from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult
from needful.evaluation.pipeline import RunConfig, run
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import make_planner


def run_job(job: Job) -> JobResult:
    """Return what a job brought; an error of the program is a result, too."""
    try:
        result = run(make_environment(job.domain), run_config(job))
    except Exception:
        return JobResult(job, {}, (), traceback.format_exc())
    return JobResult(job, result.summary, result.evaluation.records)


def run_config(job: Job) -> RunConfig:
    """Return the configuration of a job's run; raise if it names what is not in a catalogue."""
    planning = PlanningConfig(
        timeout=job.timeout, max_abstract_plans=job.abstract_plans, planner=make_planner(job.planner)
    )
    return RunConfig(
        job.learner,
        job.demos,
        job.tasks,
        job.seed,
        planning,
        learning_timeout=job.learning_timeout,
    )
