"""What nobody expected: damaged files, errors of the program, and outcomes that should not happen.

A report begins with these, because every number after them may be wrong on their account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.plans import Outcome
from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult, Results
from needful.reports.measurements import summary_fault
from needful.reports.methods import method_of

# A plan that was simulated should work when it is executed. All other failures say why they happened.
UNEXPLAINED = Outcome.GOAL_MISSED.value
MOST_TASKS = 5


@dataclass(frozen=True, slots=True)
class Concern:
    """Something to look at before the numbers: where it is, what it is, and all that is known of it."""

    where: str
    what: str
    detail: str = ""


def find_concerns(results: Results) -> tuple[Concern, ...]:
    """Return all there is to worry about: damaged files, then errors, then doubtful results."""
    damaged = [Concern(str(file.path), "damaged file", file.reason) for file in results.damaged]
    failed = [
        Concern(_named(result.job), result.complaint, result.error)
        for result in results.results
        if result.error is not None
    ]
    doubtful = [doubt for result in results.results if result.error is None for doubt in _doubts(result)]
    return (*damaged, *failed, *doubtful)


def _named(job: Job) -> str:
    return f"{job.domain}, {method_of(job)}, seed {job.seed}, {job.demos} demos ({job.key})"


def _doubts(result: JobResult) -> list[Concern]:
    where, tried = _named(result.job), len(result.records)
    doubts = []
    if tried != result.job.tasks:
        doubts.append(
            Concern(where, f"{result.job.tasks} tasks were to be tried, there are {tried} records")
        )
    fault = summary_fault(result)
    if fault is not None:
        doubts.append(Concern(where, fault))
    return [*doubts, *_unexplained(result)]


def _unexplained(result: JobResult) -> Sequence[Concern]:
    found = [record for record in result.records if record.outcome == UNEXPLAINED]
    if not found:
        return ()
    listed = [f"task {record.task}: {record.failure or UNEXPLAINED}" for record in found[:MOST_TASKS]]
    if len(found) > MOST_TASKS:
        listed.append(f"and {len(found) - MOST_TASKS} more")
    what = f"{len(found)} of {len(result.records)} tasks ended with {UNEXPLAINED}"
    return (Concern(_named(result.job), what, "\n".join(listed)),)
