"""Synthetic results of sweeps, for tests of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from needful.core.plans import Outcome
from needful.evaluation.records import RunRecord, evaluation_summary
from needful.paper.published import OPERATORS, SUCCESS
from needful.seeding import rng_for
from needful.sweeps.jobs import Job, JobResult, Results

FAILURES = (
    Outcome.TIMEOUT,
    Outcome.NO_ABSTRACT_PLAN,
    Outcome.SAMPLER_EXHAUSTED,
    Outcome.SUBGOAL_MISSED,
    Outcome.CONTROLLER_FAILED,
)


def make_record(job: Job, task: int, outcome: str = "solved", **changes: object) -> RunRecord:
    plain = RunRecord(
        domain=job.domain,
        learner=job.learner,
        seed=job.seed,
        task=task,
        outcome=outcome,
        seconds={"grounding": 0.0, "search": 0.1, "refinement": 0.1, "total": 0.2},
        nodes_created=10,
        nodes_expanded=5,
        nodes_evaluated=5,
        abstract_plans=1,
        samples=3,
        plan_length=4 if outcome == "solved" else 0,
        failure=None if outcome == "solved" else outcome.replace("_", " "),
        missing=(),
        versions={"needful": "0.1.0"},
        config_hash="0123456789abcdef",
        objects=7,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def make_result(
    job: Job,
    outcomes: Sequence[str] = ("solved",),
    seconds: Mapping[str, float] | None = None,
    operators: int = 4,
) -> JobResult:
    """Return the result of a job whose tasks have the given outcomes."""
    job = replace(job, tasks=len(outcomes))
    records = tuple(make_record(job, task, outcome) for task, outcome in enumerate(outcomes))
    return JobResult(job, make_summary(job, records, seconds, operators), records)


def make_summary(
    job: Job, records: Sequence[RunRecord], seconds: Mapping[str, float] | None, operators: int
) -> dict[str, object]:
    found = evaluation_summary(records)
    learning = seconds or {"operators": 0.5, "samplers": 1.5}
    return {
        **found,
        "domain": job.domain,
        "learner": job.learner,
        "seed": job.seed,
        "operators": operators,
        "coverage": 1.0,
        "seconds": {"collect": 9.0, **learning, **found["seconds"]},
    }


def make_sweep(
    domains: Iterable[str], learners: Iterable[str], seeds: int = 4, tasks: int = 20, demos: int = 50
) -> tuple[JobResult, ...]:
    """Return results in which each learner solves about the published share of tasks."""
    return tuple(
        _drawn_result(Job(domain, learner, seed, demos, tasks))
        for domain in domains
        for learner in learners
        for seed in range(seeds)
    )


def _drawn_result(job: Job) -> JobResult:
    rng = rng_for(job.seed, "synthetic", job.domain, job.learner, job.demos, job.abstract_plans)
    published = SUCCESS.get(job.domain, {}).get(job.learner)
    chance = (published.mean if published else 50.0) / 100.0 * min(1.0, 0.4 + job.demos / 80)
    level = rng.uniform(0.5, 3.5)
    records = []
    for task in range(job.tasks):
        solved = rng.random() < chance
        outcome = Outcome.SOLVED if solved else FAILURES[rng.integers(len(FAILURES))]
        total = float(min(job.timeout, rng.lognormal(-2.0 + 0.3 * level, 1.2)))
        record = make_record(
            job,
            task,
            outcome.value,
            seconds={"grounding": 0.0, "search": total / 2, "refinement": total / 2, "total": total},
            nodes_created=round(10 ** min(5.5, rng.normal(level, 0.4))) + 1,
            abstract_plans=int(rng.integers(0, 3)),
            objects=int(rng.integers(5, 15)),
        )
        records.append(record)
    count = OPERATORS.get(job.domain, {}).get(job.learner)
    seconds = {"operators": float(rng.uniform(0.1, 1.0)), "samplers": float(rng.uniform(1.0, 5.0))}
    operators = round(count.mean if count else 5)
    return JobResult(job, make_summary(job, records, seconds, operators), tuple(records))


def as_results(*results: JobResult) -> Results:
    return Results(tuple(results))
