"""Work for the jobs of sweeps in tests: functions of a module, since other processes call them.

A job's domain is "toy"; its seed is all that tells it from others.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult

# Where work leaves a mark for each job that it begins.
MARKS = "NEEDFUL_TEST_MARKS"
PATIENCE = 100.0


def toy_jobs(count: int) -> list[Job]:
    return [Job("toy", "necessary", seed, demos=1, tasks=0) for seed in range(count)]


def leave_mark(job: Job) -> int:
    """Return how often this job has been begun now."""
    folder = Path(os.environ[MARKS])
    count = len(list(folder.glob(f"{job.seed}-*"))) + 1
    (folder / f"{job.seed}-{count}").touch()
    return count


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that is dead but not yet buried does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def say_who(job: Job) -> JobResult:
    return JobResult(job, {"process": os.getpid()}, ())


def count_threads(job: Job) -> JobResult:
    import torch

    return JobResult(job, {"threads": torch.get_num_threads()}, ())


def print_something(job: Job) -> JobResult:
    print("a library says hello")
    return JobResult(job, {}, ())


def die_once(job: Job) -> JobResult:
    """Be killed the first time a job with an odd seed is begun."""
    if leave_mark(job) == 1 and job.seed % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return say_who(job)


def die_always(job: Job) -> JobResult:
    """Be killed whenever job 1 is begun."""
    leave_mark(job)
    if job.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return say_who(job)


def leave(job: Job) -> JobResult:
    raise SystemExit(3)


def sleep_long(job: Job) -> JobResult:
    """Leave a mark that holds the process, and take longer than any test."""
    (Path(os.environ[MARKS]) / f"{os.getpid()}").touch()
    time.sleep(600)
    return say_who(job)


def stay_until_told(job: Job) -> JobResult:
    """Leave a mark that holds node and process, and take until a file named `go` is among the marks."""
    import ray

    node = str(ray.get_runtime_context().get_node_id())
    folder = Path(os.environ[MARKS])
    (folder / f"{job.seed}-{node}-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
    return JobResult(job, {"node": node}, ())
