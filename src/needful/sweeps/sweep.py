"""Run many jobs, and go on where an earlier sweep was stopped.

Estimate how long the jobs of a sweep still take, from those that are done.
"""

from __future__ import annotations

import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from needful.envs.catalogue import make_environment
from needful.evaluation.pipeline import run
from needful.sweeps.executors import Executor, Work, Workers
from needful.sweeps.jobs import Job, run_config
from needful.sweeps.results import JobResult, Results, SweepFolder

# Part of `seconds` in a summary, but about one task or part of another entry.
PER_TASK_SECONDS = frozenset({"planning_mean", "planning_p90"})


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
            for alike in _lookup_keys(result.job):
                self._seen[alike].append(seconds)

    def estimate(self, jobs: Iterable[Job], at_once: int = 1) -> float | None:
        """Return the seconds that jobs take if so many run at a time, None if nothing is known."""
        if not self._seen:
            return None
        return sum(map(self._expected, jobs)) / max(1, at_once)

    def _expected(self, job: Job) -> float:
        known = next(self._seen[alike] for alike in _lookup_keys(job) if alike in self._seen)
        return sum(known) / len(known)


def _lookup_keys(job: Job) -> tuple[tuple[str, ...], ...]:
    size = (str(job.demos), str(job.tasks))
    return (job.learner, job.domain, *size), (job.learner, job.domain), (job.learner,), ()


def seconds_of(result: JobResult) -> float:
    """Return how long a job took, as far as its summary and its records tell."""
    stages = result.summary.get("seconds")
    told = stages if isinstance(stages, Mapping) else {}
    learning = [told[stage] for stage in sorted(told) if stage not in PER_TASK_SECONDS]
    planning = [record.seconds["total"] for record in result.records]
    return sum(float(seconds) for seconds in (*learning, *planning) if isinstance(seconds, int | float))


# How often a job is begun before its death counts as its result: most deaths are not its own fault.
TRIES = 2


class SweepObserver(Protocol):
    """Hears of what happens in a sweep."""

    def begins(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Hear which jobs are wanted, which of them have to be run, and what the folder holds."""
        ...

    def started(self, job: Job) -> None:
        """Hear of a job that begins; one that died begins again."""
        ...

    def finished(self, result: JobResult) -> None:
        """Hear of a result that is on disk."""
        ...


class SilentObserver:
    """Tells nobody."""

    def begins(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Tell nobody of the jobs."""

    def started(self, job: Job) -> None:
        """Tell nobody of a beginning."""

    def finished(self, result: JobResult) -> None:
        """Tell nobody of a result."""


def run_job(job: Job) -> JobResult:
    """Return what a job brought; an error of the program is a result, too."""
    try:
        result = run(make_environment(job.domain), run_config(job))
    except Exception:
        return JobResult(job, {}, (), traceback.format_exc())
    return JobResult(job, result.summary, result.evaluation.records)


def sweep(
    jobs: Sequence[Job],
    folder: SweepFolder,
    executor: Executor,
    retry_errors: bool = False,
    watch: SweepObserver | None = None,
    work: Work = run_job,
) -> Results:
    """Run the jobs that have no file yet, and return everything that the folder then holds.

    Each result is written as soon as it is there, so a sweep that is killed loses only the jobs that
    were running. With `retry_errors` jobs whose result is an error are run again. Files that cannot be
    read count as done: nothing is overwritten that may be of another version of this program.
    """
    watch = watch or SilentObserver()
    jobs, earlier = list(dict.fromkeys(jobs)), folder.read()
    repeated = {result.job for result in earlier.results if retry_errors and result.error is not None}
    to_do = [job for job in jobs if job in repeated or not folder.has(job)]
    watch.begins(jobs, to_do, earlier)
    if to_do:
        with executor.workers(work) as workers:
            for result in _run(to_do, workers, watch):
                folder.save(result)
                watch.finished(result)
    return folder.read()


def _run(jobs: Sequence[Job], workers: Workers, watch: SweepObserver) -> Iterator[JobResult]:
    """Yield the result of each job; one that died is begun anew after all others."""
    waiting, running = deque(jobs), 0
    tries: Counter[Job] = Counter()
    while waiting or running:
        while waiting and running < workers.capacity():
            job = waiting.popleft()
            workers.begin(job)
            watch.started(job)
            tries[job] += 1
            running += 1
        for job, result in workers.finished():
            running -= 1
            if isinstance(result, JobResult):
                yield result
            elif tries[job] < TRIES:
                waiting.append(job)
            else:
                yield JobResult(job, {}, (), f"The job died {TRIES} times. {result.reason}")
