"""Estimate how long the jobs of a sweep still take, from those that are done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult

# Part of `seconds` in a summary, but about one task or part of another entry.
ABOUT_A_TASK = frozenset({"planning_mean", "planning_p90"})


class RemainingTime:
    """Remembers how long jobs took.

    A job is expected to take as long as those of its size and learner on its domain did on average; if
    there is none, as those of its learner on its domain, as those of its learner, else as all. Earlier
    sweeps count, too.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def add(self, result: JobResult) -> None:
        """Take note of a result; one without a summary tells nothing."""
        if result.error is None:
            seconds = seconds_of(result)
            for alike in _alike(result.job):
                self._seen[alike].append(seconds)

    def estimate(self, jobs: Iterable[Job], at_once: int = 1) -> float | None:
        """Return the seconds that jobs take if so many run at a time, None if nothing is known."""
        if not self._seen:
            return None
        return sum(map(self._expected, jobs)) / max(1, at_once)

    def _expected(self, job: Job) -> float:
        known = next(self._seen[alike] for alike in _alike(job) if alike in self._seen)
        return sum(known) / len(known)


def _alike(job: Job) -> tuple[tuple[str, ...], ...]:
    size = (str(job.demos), str(job.tasks))
    return (job.learner, job.domain, *size), (job.learner, job.domain), (job.learner,), ()


def seconds_of(result: JobResult) -> float:
    """Return how long a job took, as far as its summary and its records tell."""
    stages = result.summary.get("seconds")
    told = stages if isinstance(stages, Mapping) else {}
    learning = [told[stage] for stage in sorted(told) if stage not in ABOUT_A_TASK]
    planning = [record.seconds["total"] for record in result.records]
    return sum(float(seconds) for seconds in (*learning, *planning) if isinstance(seconds, int | float))
