"""Sweeps: each job runs once, results are written at once, and crashes and errors are handled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.errors import OutputError
from needful.sweeps.executors import JobFunction, WorkerCrash
from needful.sweeps.jobs import Job, JobResult, Results, SweepFolder, results_path
from needful.sweeps.sweep import MAX_TRIES, SweepObserver, sweep
from sweep_work import toy_jobs


class LocalExecutor:
    """Run jobs in this process, the last one first; some workers crash a number of times."""

    def __init__(self, capacity: int = 2, crashes: Mapping[Job, int] | None = None) -> None:
        self.max_jobs = capacity
        self.crashes = dict(crashes or {})
        self.submitted: list[Job] = []
        self.running: list[Job] = []
        self.opened = self.closed = 0

    @contextmanager
    def workers(self, job_function: JobFunction) -> Iterator[LocalExecutor]:
        self.job_function = job_function
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1

    def capacity(self) -> int:
        return self.max_jobs

    def submit(self, job: Job) -> None:
        self.submitted.append(job)
        self.running.append(job)
        assert len(self.running) <= self.max_jobs

    def wait_for_results(self) -> Sequence[tuple[Job, JobResult | WorkerCrash]]:
        job = self.running.pop()
        if self.crashes.get(job, 0):
            self.crashes[job] -= 1
            return [(job, WorkerCrash("A reason."))]
        return [(job, self.job_function(job))]


class RecordingObserver:
    """Record the events of a sweep."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []

    def on_sweep_start(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        self.events.append(("sweep start", (len(jobs), len(to_do), len(earlier.results))))

    def on_job_start(self, job: Job) -> None:
        self.events.append(("job start", job.seed))

    def on_job_end(self, result: JobResult) -> None:
        self.events.append(("job end", result.job.seed))


def succeed(job: Job) -> JobResult:
    return JobResult(job, {"seed": job.seed}, ())


def sweep_in(
    path: Path,
    jobs: Sequence[Job],
    executor: LocalExecutor,
    job_function: JobFunction = succeed,
    retry_errors: bool = False,
    observer: SweepObserver | None = None,
) -> Results:
    with SweepFolder.open(path) as folder:
        return sweep(jobs, folder, executor, retry_errors, observer, job_function)


def test_all_jobs_are_run_and_kept(tmp_path: Path) -> None:
    jobs, executor, observer = toy_jobs(3), LocalExecutor(), RecordingObserver()
    found = sweep_in(tmp_path, jobs, executor, observer=observer)
    assert {result.job: result for result in found.results} == {job: succeed(job) for job in jobs}
    assert observer.events == [
        ("sweep start", (3, 3, 0)),
        ("job start", 0),
        ("job start", 1),
        ("job end", 1),
        ("job start", 2),
        ("job end", 2),
        ("job end", 0),
    ]
    assert (executor.opened, executor.closed) == (1, 1)


def test_finished_jobs_do_not_run_again(tmp_path: Path) -> None:
    jobs = toy_jobs(4)
    sweep_in(tmp_path, jobs[1:3], LocalExecutor())
    before = {job: results_path(tmp_path, job).read_bytes() for job in jobs[1:3]}
    executor, observer = LocalExecutor(), RecordingObserver()
    found = sweep_in(
        tmp_path, [*jobs, jobs[0]], executor, lambda job: JobResult(job, {}, ()), observer=observer
    )
    assert executor.submitted == [jobs[0], jobs[3]]
    assert observer.events[0] == ("sweep start", (4, 2, 2))
    assert len(found.results) == 4
    assert {job: results_path(tmp_path, job).read_bytes() for job in before} == before


def test_no_workers_start_without_jobs(tmp_path: Path) -> None:
    jobs = toy_jobs(1)
    sweep_in(tmp_path, jobs, LocalExecutor())
    executor = LocalExecutor()
    assert len(sweep_in(tmp_path, jobs, executor).results) == 1
    assert executor.opened == 0


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), max_size=6), st.integers(1, 3))
def test_a_job_whose_worker_crashes_runs_again(
    tmp_path_factory: pytest.TempPathFactory, crashes: list[int], capacity: int
) -> None:
    jobs = toy_jobs(len(crashes))
    executor = LocalExecutor(capacity, dict(zip(jobs, crashes, strict=True)))
    found = sweep_in(tmp_path_factory.mktemp("sweep"), jobs, executor)
    for job, times in zip(jobs, crashes, strict=True):
        assert executor.submitted.count(job) == min(times + 1, MAX_TRIES)
        (result,) = (one for one in found.results if one.job == job)
        if times < MAX_TRIES:
            assert result == succeed(job)
        else:
            assert result == JobResult(job, {}, (), f"The worker crashed {MAX_TRIES} times. A reason.")


def test_errors_are_repeated_on_request(tmp_path: Path) -> None:
    jobs = toy_jobs(3)

    def fail(job: Job) -> JobResult:
        return JobResult(job, {}, (), "Traceback") if job.seed == 1 else succeed(job)

    assert [one.error for one in sweep_in(tmp_path, jobs, LocalExecutor(), fail).results].count(None) == 2
    for retry, submitted in ((False, []), (True, [jobs[1]]), (True, [])):
        executor = LocalExecutor()
        sweep_in(tmp_path, jobs, executor, retry_errors=retry)
        assert executor.submitted == submitted


def test_errors_of_other_jobs_stay(tmp_path: Path) -> None:
    jobs = toy_jobs(2)
    sweep_in(tmp_path, jobs, LocalExecutor(), lambda job: JobResult(job, {}, (), "Traceback"))
    executor = LocalExecutor()
    sweep_in(tmp_path, jobs[:1], executor, retry_errors=True)
    assert executor.submitted == jobs[:1]


@pytest.mark.parametrize("content", [b"", b"half", None])
@pytest.mark.parametrize("retry_errors", [False, True])
def test_files_that_cannot_be_read_are_neither_repeated_nor_overwritten(
    tmp_path: Path, content: bytes | None, retry_errors: bool
) -> None:
    job = toy_jobs(1)[0]
    sweep_in(tmp_path, [job], LocalExecutor())
    path = results_path(tmp_path, job)
    path.write_bytes(path.read_bytes()[:-4] if content is None else content)
    before, executor = path.read_bytes(), LocalExecutor()
    found = sweep_in(tmp_path, [job], executor, retry_errors=retry_errors)
    assert (executor.submitted, found.results) == ([], ())
    assert [damaged.path for damaged in found.damaged] == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutputError])
def test_an_exception_in_a_sweep_ends_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]
) -> None:
    jobs, executor = toy_jobs(3), LocalExecutor()

    def fail(folder: object, result: JobResult) -> None:
        raise error()

    with monkeypatch.context() as patch:
        patch.setattr("needful.sweeps.jobs.write_result", fail)
        with pytest.raises((KeyboardInterrupt, OutputError)):
            sweep_in(tmp_path, jobs, executor)
    assert (executor.opened, executor.closed) == (1, 1)
    assert len(sweep_in(tmp_path, jobs, LocalExecutor()).results) == 3
