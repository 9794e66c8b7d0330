"""Job functions for tests of sweeps, in a module so that other processes can import them.

All jobs have the domain "toy" and differ only in their seed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from needful.sweeps.jobs import Job, JobResult

# The environment variable with the folder in which job functions create a file per started job.
MARKS = "NEEDFUL_TEST_MARKS"
TIMEOUT_SECONDS = 100.0


def toy_jobs(count: int) -> list[Job]:
    return [Job("toy", "necessary", seed, demos=1, tasks=0) for seed in range(count)]


def leave_mark(job: Job) -> int:
    """Create a mark, and return how often this job has started."""
    folder = Path(os.environ[MARKS])
    count = len(list(folder.glob(f"{job.seed}-*"))) + 1
    (folder / f"{job.seed}-{count}").touch()
    return count


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until other processes make a condition true."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"timeout while waiting for {what}"
        time.sleep(0.02)


def report_process(job: Job) -> JobResult:
    return JobResult(job, {"process": os.getpid()}, ())


def count_threads(job: Job) -> JobResult:
    return JobResult(job, {"threads": os.environ.get("OMP_NUM_THREADS")}, ())


def print_something(job: Job) -> JobResult:
    print("output of a library")
    return JobResult(job, {}, ())


def die_once(job: Job) -> JobResult:
    """Kill this process when a job with an odd seed starts for the first time."""
    if leave_mark(job) == 1 and job.seed % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return report_process(job)


def die_always(job: Job) -> JobResult:
    """Kill this process whenever job 1 starts."""
    leave_mark(job)
    if job.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return report_process(job)


def exit_early(job: Job) -> JobResult:
    raise SystemExit(3)


def sleep_long(job: Job) -> JobResult:
    """Create a mark named after the process, and sleep longer than any test."""
    (Path(os.environ[MARKS]) / f"{os.getpid()}").touch()
    time.sleep(600)
    return report_process(job)


def wait_for_go(job: Job) -> JobResult:
    """Create a mark named after seed, node and process, and wait until the file `go` is among the marks."""
    import ray

    node = str(ray.get_runtime_context().get_node_id())
    folder = Path(os.environ[MARKS])
    (folder / f"{job.seed}-{node}-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
    return JobResult(job, {"node": node}, ())
