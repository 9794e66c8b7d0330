"""The process executor with real processes, some of which are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sweep_work
from needful.errors import InvalidInputError
from needful.sweeps.executors import JobFunction, ProcessExecutor, ProcessWorkers, WorkerCrash
from needful.sweeps.jobs import JobResult, Results, SweepFolder
from needful.sweeps.sweep import sweep
from sweep_work import MARKS, TIMEOUT_SECONDS, is_alive, marks, toy_jobs, wait_until


def run(path: Path, count: int, job_function: JobFunction, processes: int = 2) -> Results:
    with SweepFolder.open(path) as folder:
        return sweep(toy_jobs(count), folder, ProcessExecutor(processes), job_function=job_function)


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv(MARKS, str(folder))
    return folder


def test_processes_take_one_job_after_the_other(tmp_path: Path) -> None:
    found = run(tmp_path, 6, sweep_work.report_process)
    processes = {result.summary["process"] for result in found.results}
    assert len(found.results) == 6
    assert 1 <= len(processes) <= 2
    assert os.getpid() not in processes
    wait_until(
        lambda: not any(is_alive(pid) for pid in processes if isinstance(pid, int)),
        "the end of the processes",
    )


def test_numerical_libraries_have_one_thread_in_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = run(tmp_path, 1, sweep_work.count_threads)
    assert [result.summary for result in found.results] == [{"threads": "1"}]
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_a_job_whose_process_is_killed_starts_again(tmp_path: Path, marked: Path) -> None:
    found = run(tmp_path / "sweep", 4, sweep_work.die_once)
    assert [result.error for result in found.results] == [None] * 4
    assert marks(marked) == ["0-1", "1-1", "1-2", "2-1", "3-1", "3-2"]


def test_a_job_that_kills_its_process_twice_is_an_error_and_the_others_continue(
    tmp_path: Path, marked: Path
) -> None:
    found = run(tmp_path / "sweep", 3, sweep_work.die_always)
    errors = {result.job.seed: result.error for result in found.results}
    assert (errors[0], errors[2]) == (None, None)
    for part in ("2 times", "SIGKILL", "memory", "fewer processes"):
        assert part in str(errors[1])
    assert marks(marked) == ["0-1", "1-1", "1-2", "2-1"]


def test_the_exit_code_of_a_process_is_reported(tmp_path: Path) -> None:
    (result,) = run(tmp_path, 1, sweep_work.exit_early).results
    assert "2 times" in str(result.error)
    assert "exit code 3" in str(result.error)


def test_a_process_that_dies_while_idle_is_noticed() -> None:
    job = toy_jobs(1)[0]
    with ProcessExecutor(1).workers(sweep_work.report_process) as workers:
        pid = _process_id(workers)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), "the kill")
        workers.submit(job)
        ((_, died),) = workers.wait_for_results()
        assert isinstance(died, WorkerCrash)
        assert _process_id(workers) != pid


def _process_id(workers: ProcessWorkers) -> int:
    workers.submit(toy_jobs(1)[0])
    ((_, result),) = workers.wait_for_results()
    assert isinstance(result, JobResult)
    pid = result.summary["process"]
    assert isinstance(pid, int)
    return pid


PROGRAM = """
import sys
import sweep_work
from needful.sweeps.executors import ProcessExecutor
from needful.sweeps.jobs import SweepFolder
from needful.sweeps.sweep import sweep
with SweepFolder.open(sys.argv[1]) as folder:
    sweep(sweep_work.toy_jobs(4), folder, ProcessExecutor(2), job_function=getattr(sweep_work, sys.argv[2]))
"""


def start_program(folder: Path, job_function: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), job_function],
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_output_of_a_job_function_does_not_reach_stdout(tmp_path: Path) -> None:
    process = start_program(tmp_path, "print_something")
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (0, "")
    assert err == "output of a library\n" * 4


def test_workers_end_with_a_sweep_that_is_killed(tmp_path: Path, marked: Path) -> None:
    process = start_program(tmp_path / "sweep", "sleep_long")
    try:
        wait_until(lambda: len(marks(marked)) == 2, "two jobs")
        workers = [int(name) for name in marks(marked)]
        assert all(map(is_alive, workers))
        process.kill()
        wait_until(lambda: not any(map(is_alive, workers)), "the end of the workers")
    finally:
        process.kill()
        for pid in filter(is_alive, map(int, marks(marked))):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("processes", [0, -1])
def test_there_must_be_a_process(processes: int) -> None:
    with pytest.raises(InvalidInputError, match=f"process.*got {processes}"):
        ProcessExecutor(processes)
