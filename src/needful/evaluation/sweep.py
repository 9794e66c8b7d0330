"""Run many jobs, and go on where an earlier sweep was stopped."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from needful.evaluation.executor import Executor, Work, Workers
from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult, Results
from needful.evaluation.run_job import run_job
from needful.evaluation.sweep_folder import SweepFolder

# How often a job is begun before its death counts as its result: most deaths are not its own fault.
TRIES = 2


class SweepWatch(Protocol):
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


class Unwatched:
    """Tells nobody."""

    def begins(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Tell nobody of the jobs."""

    def started(self, job: Job) -> None:
        """Tell nobody of a beginning."""

    def finished(self, result: JobResult) -> None:
        """Tell nobody of a result."""


def sweep(
    jobs: Sequence[Job],
    folder: SweepFolder,
    executor: Executor,
    retry_errors: bool = False,
    watch: SweepWatch | None = None,
    work: Work = run_job,
) -> Results:
    """Run the jobs that have no file yet, and return everything that the folder then holds.

    Each result is written as soon as it is there, so a sweep that is killed loses only the jobs that
    were running. With `retry_errors` jobs whose result is an error are run again. Files that cannot be
    read count as done: nothing is overwritten that may be of another version of this program.
    """
    watch = watch or Unwatched()
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


def _run(jobs: Sequence[Job], workers: Workers, watch: SweepWatch) -> Iterator[JobResult]:
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
