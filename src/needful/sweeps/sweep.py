"""Sweeps: run the jobs that have no result yet, store each result, and estimate the remaining time."""

from __future__ import annotations

import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from needful.envs.catalogue import make_environment
from needful.errors import OutputExistsError
from needful.evaluation.pipeline import run
from needful.evaluation.sources import sources_digest, unused_parts
from needful.sweeps.executors import Executor, JobFunction, Workers
from needful.sweeps.jobs import Job, JobResult, Results, SweepFolder, run_config

# A job runs again if its worker crashed, because most crashes are not caused by the job. After this many
# crashes, the job is recorded as an error.
MAX_TRIES = 2
# The field `seconds` of a run's summary has several entries. These two are statistics of the planning time
# per task; all others are durations of stages, such as learning.
PER_TASK_SECONDS = frozenset({"planning_mean", "planning_p90"})


class OlderResults(Enum):
    """What a sweep does if it finds older results of its jobs.

    A result is called older if another version of the code computed it, even if that version is newer. The
    digest of the sources identifies the version.
    """

    REFUSE = "refuse"
    KEEP = "keep"
    REPEAT = "repeat"


def is_older(result: JobResult) -> bool:
    """Return whether a result was computed by another version of the code than the running one.

    The digests of the sources are compared, not dates. A result without records, such as an error, has no
    digest and does not count as older.
    """
    unused = unused_parts(result.job.domain, invention=False, execution=False)
    return bool(result.records) and result.sources != sources_digest(unused=unused)


def older_jobs(results: Results, jobs: Iterable[Job]) -> set[Job]:
    """Return those of the jobs whose results are older; see `is_older`."""
    wanted = set(jobs)
    return {result.job for result in results.results if result.job in wanted and is_older(result)}


class SweepObserver(Protocol):
    """Receive the events of a sweep, for example to show its progress."""

    def on_sweep_start(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Receive all jobs, the jobs `to_do` that will run now, and the results already in the folder."""
        ...

    def on_job_start(self, job: Job) -> None:
        """Handle the start of a job; after a crash, a job starts again."""
        ...

    def on_job_end(self, result: JobResult) -> None:
        """Receive the result of a job, after the result file has been written."""
        ...


class SilentObserver:
    """Ignore all events of a sweep."""

    def on_sweep_start(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Ignore the start of the sweep."""

    def on_job_start(self, job: Job) -> None:
        """Ignore the start of a job."""

    def on_job_end(self, result: JobResult) -> None:
        """Ignore the end of a job."""


def run_job(job: Job) -> JobResult:
    """Run a job and return its result; if the job raises an exception, the result has the traceback."""
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
    observer: SweepObserver | None = None,
    job_function: JobFunction = run_job,
    older: OlderResults = OlderResults.REFUSE,
) -> Results:
    """Run the jobs that have no result file, and return all results of the folder.

    Each result is written when its job ends, so a killed sweep loses only the jobs that were running.
    With `retry_errors`, jobs whose result is an error run again. If the result file of a job cannot be
    read, the job does not run again, because another version of this program may have written the file.

    If results of some of the jobs were computed by another version of the code (see `is_older`), `older`
    decides: raise `OutputExistsError`, keep these results, or run the jobs again. Reports never average
    results of different versions.
    """
    observer = observer or SilentObserver()
    jobs, earlier = list(dict.fromkeys(jobs)), folder.read()
    repeated = {result.job for result in earlier.results if retry_errors and result.error is not None}
    outdated = older_jobs(earlier, jobs)
    if outdated and older is OlderResults.REFUSE:
        raise OutputExistsError(
            f"{folder.path} has results of other code for {len(outdated)} of {len(jobs)} jobs. Choose "
            "another folder, keep these results (`--older keep`), or repeat their jobs (`--older repeat`)."
        )
    repeated |= outdated if older is OlderResults.REPEAT else set()
    to_do = [job for job in jobs if job in repeated or not folder.has(job)]
    observer.on_sweep_start(jobs, to_do, earlier)
    if to_do:
        with executor.workers(job_function) as workers:
            for result in _run_jobs(to_do, workers, observer):
                folder.save(result)
                observer.on_job_end(result)
    return folder.read()


def _run_jobs(jobs: Sequence[Job], workers: Workers, observer: SweepObserver) -> Iterator[JobResult]:
    """Yield the result of each job; a job whose worker crashed is moved to the end of the queue."""
    waiting, running = deque(jobs), 0
    tries: Counter[Job] = Counter()
    while waiting or running:
        while waiting and running < workers.capacity():
            job = waiting.popleft()
            workers.submit(job)
            observer.on_job_start(job)
            tries[job] += 1
            running += 1
        for job, result in workers.wait_for_results():
            running -= 1
            if isinstance(result, JobResult):
                yield result
            elif tries[job] < MAX_TRIES:
                waiting.append(job)
            else:
                yield JobResult(job, {}, (), f"The worker crashed {MAX_TRIES} times. {result.reason}")


class RemainingTime:
    """Estimate the remaining time of a sweep from the durations of finished jobs.

    The expected duration of a job is the mean duration of similar finished jobs: those with the same
    learner, domain, number of demonstrations and number of tasks. If there are none, the jobs with the same
    learner and domain are used, then those with the same learner, then all jobs. Results of earlier sweeps
    can be added as well.
    """

    def __init__(self) -> None:
        self._durations: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def add(self, result: JobResult) -> None:
        """Add the duration of a finished job; failed jobs are ignored."""
        if result.error is None:
            seconds = seconds_of(result)
            for key in _lookup_keys(result.job):
                self._durations[key].append(seconds)

    def estimate(self, jobs: Iterable[Job], parallel_jobs: int = 1) -> float | None:
        """Return how many seconds the given jobs will take if `parallel_jobs` of them run at a time.

        Returns None if no duration has been added yet.
        """
        if not self._durations:
            return None
        return sum(map(self._expected, jobs)) / max(1, parallel_jobs)

    def _expected(self, job: Job) -> float:
        known = next(self._durations[key] for key in _lookup_keys(job) if key in self._durations)
        return sum(known) / len(known)


def seconds_of(result: JobResult) -> float:
    """Return the duration of a job: its stages before planning, plus the planning time of all tasks."""
    stages = result.summary.get("seconds")
    by_stage = stages if isinstance(stages, Mapping) else {}
    learning = [by_stage[stage] for stage in sorted(by_stage) if stage not in PER_TASK_SECONDS]
    planning = [record.seconds["total"] for record in result.records]
    return sum(float(seconds) for seconds in (*learning, *planning) if isinstance(seconds, int | float))


def _lookup_keys(job: Job) -> tuple[tuple[str, ...], ...]:
    """Return the keys under which the duration of a job is stored, from the most to the least specific.

    The first key is shared by jobs with the same learner, domain, number of demonstrations and number of
    tasks. The last key is shared by all jobs.
    """
    size = (str(job.demos), str(job.tasks))
    return (job.learner, job.domain, *size), (job.learner, job.domain), (job.learner,), ()
