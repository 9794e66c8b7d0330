"""Sweeps: each job once, results as soon as they are there, deaths and errors survived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.errors import OutputError
from needful.sweeps.executors import Work, WorkerCrash
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult, Results, SweepFolder, results_path
from needful.sweeps.sweep import TRIES, SweepObserver, sweep
from sweep_work import toy_jobs


class HereAndNow:
    """Runs jobs in this process, the last one first; some of them die a number of times."""

    def __init__(self, capacity: int = 2, deaths: Mapping[Job, int] | None = None) -> None:
        self.most = capacity
        self.deaths = dict(deaths or {})
        self.begun: list[Job] = []
        self.running: list[Job] = []
        self.opened = self.closed = 0

    @contextmanager
    def workers(self, work: Work) -> Iterator[HereAndNow]:
        self.work = work
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1

    def capacity(self) -> int:
        return self.most

    def begin(self, job: Job) -> None:
        self.begun.append(job)
        self.running.append(job)
        assert len(self.running) <= self.most

    def finished(self) -> Sequence[tuple[Job, JobResult | WorkerCrash]]:
        job = self.running.pop()
        if self.deaths.get(job, 0):
            self.deaths[job] -= 1
            return [(job, WorkerCrash("Out of luck."))]
        return [(job, self.work(job))]


class Notes:
    """Writes down what a sweep tells."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def begins(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        self.heard.append(("begins", (len(jobs), len(to_do), len(earlier.results))))

    def started(self, job: Job) -> None:
        self.heard.append(("started", job.seed))

    def finished(self, result: JobResult) -> None:
        self.heard.append(("finished", result.job.seed))


def fine(job: Job) -> JobResult:
    return JobResult(job, {"seed": job.seed}, ())


def sweep_in(
    path: Path,
    jobs: Sequence[Job],
    executor: HereAndNow,
    work: Work = fine,
    retry_errors: bool = False,
    watch: SweepObserver | None = None,
) -> Results:
    with SweepFolder.open(path) as folder:
        return sweep(jobs, folder, executor, retry_errors, watch, work)


def test_all_jobs_are_run_and_kept(tmp_path: Path) -> None:
    jobs, executor, notes = toy_jobs(3), HereAndNow(), Notes()
    found = sweep_in(tmp_path, jobs, executor, watch=notes)
    assert {result.job: result for result in found.results} == {job: fine(job) for job in jobs}
    assert notes.heard == [
        ("begins", (3, 3, 0)),
        ("started", 0),
        ("started", 1),
        ("finished", 1),
        ("started", 2),
        ("finished", 2),
        ("finished", 0),
    ]
    assert (executor.opened, executor.closed) == (1, 1)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    jobs = toy_jobs(4)
    sweep_in(tmp_path, jobs[1:3], HereAndNow())
    before = {job: results_path(tmp_path, job).read_bytes() for job in jobs[1:3]}
    executor, notes = HereAndNow(), Notes()
    found = sweep_in(tmp_path, [*jobs, jobs[0]], executor, lambda job: JobResult(job, {}, ()), watch=notes)
    assert executor.begun == [jobs[0], jobs[3]]
    assert notes.heard[0] == ("begins", (4, 2, 2))
    assert len(found.results) == 4
    assert {job: results_path(tmp_path, job).read_bytes() for job in before} == before


def test_nothing_is_started_for_nothing(tmp_path: Path) -> None:
    jobs = toy_jobs(1)
    sweep_in(tmp_path, jobs, HereAndNow())
    executor = HereAndNow()
    assert len(sweep_in(tmp_path, jobs, executor).results) == 1
    assert executor.opened == 0


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), max_size=6), st.integers(1, 3))
def test_a_job_that_dies_gets_another_try(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[int], capacity: int
) -> None:
    jobs = toy_jobs(len(deaths))
    executor = HereAndNow(capacity, dict(zip(jobs, deaths, strict=True)))
    found = sweep_in(tmp_path_factory.mktemp("sweep"), jobs, executor)
    for job, times in zip(jobs, deaths, strict=True):
        assert executor.begun.count(job) == min(times + 1, TRIES)
        (result,) = (one for one in found.results if one.job == job)
        if times < TRIES:
            assert result == fine(job)
        else:
            assert result == JobResult(job, {}, (), f"The job died {TRIES} times. Out of luck.")


def test_errors_are_repeated_when_asked(tmp_path: Path) -> None:
    jobs = toy_jobs(3)

    def fail(job: Job) -> JobResult:
        return JobResult(job, {}, (), "Traceback") if job.seed == 1 else fine(job)

    assert [one.error for one in sweep_in(tmp_path, jobs, HereAndNow(), fail).results].count(None) == 2
    for retry, begun in ((False, []), (True, [jobs[1]]), (True, [])):
        executor = HereAndNow()
        sweep_in(tmp_path, jobs, executor, retry_errors=retry)
        assert executor.begun == begun


def test_errors_of_jobs_that_nobody_asked_for_stay(tmp_path: Path) -> None:
    jobs = toy_jobs(2)
    sweep_in(tmp_path, jobs, HereAndNow(), lambda job: JobResult(job, {}, (), "Traceback"))
    executor = HereAndNow()
    sweep_in(tmp_path, jobs[:1], executor, retry_errors=True)
    assert executor.begun == jobs[:1]


@pytest.mark.parametrize("content", [b"", b"half", None])
@pytest.mark.parametrize("retry_errors", [False, True])
def test_files_that_cannot_be_read_are_neither_repeated_nor_overwritten(
    tmp_path: Path, content: bytes | None, retry_errors: bool
) -> None:
    job = toy_jobs(1)[0]
    sweep_in(tmp_path, [job], HereAndNow())
    path = results_path(tmp_path, job)
    path.write_bytes(path.read_bytes()[:-4] if content is None else content)
    before, executor = path.read_bytes(), HereAndNow()
    found = sweep_in(tmp_path, [job], executor, retry_errors=retry_errors)
    assert (executor.begun, found.results) == ([], ())
    assert [damaged.path for damaged in found.damaged] == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutputError])
def test_whatever_ends_a_sweep_ends_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]
) -> None:
    jobs, executor = toy_jobs(3), HereAndNow()

    def fail(folder: object, result: JobResult) -> None:
        raise error()

    with monkeypatch.context() as patch:
        patch.setattr("needful.sweeps.results.write_result", fail)
        with pytest.raises((KeyboardInterrupt, OutputError)):
            sweep_in(tmp_path, jobs, executor)
    assert (executor.opened, executor.closed) == (1, 1)
    assert len(sweep_in(tmp_path, jobs, HereAndNow()).results) == 3
