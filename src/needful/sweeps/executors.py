"""Executors: run the jobs of a sweep in local processes or on a Ray cluster.

`Executor` and `Workers` are the protocols that `sweep` uses. `ProcessExecutor` starts processes on this
machine. `RayExecutor` submits jobs to a Ray cluster.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from needful.errors import InvalidInputError, importing_extra
from needful.sweeps.jobs import Job, JobResult

# A function that runs a job and returns its result. Worker processes import the function, so it must be
# defined at the top level of a module.
JobFunction: TypeAlias = Callable[[Job], JobResult]

# The seconds after which the capacity of a Ray cluster is checked again; also the limit for connecting.
POLL_SECONDS = 5.0
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class WorkerCrash:
    """Replaces the result of a job whose worker process crashed; `reason` describes the crash."""

    reason: str


class Workers(Protocol):
    """Run several jobs at the same time.

    Call `submit` only if the number of running jobs is less than `capacity()`.
    """

    def capacity(self) -> int:
        """Return the number of jobs that can run at the same time; this number may change."""
        ...

    def submit(self, job: Job) -> None:
        """Start a job."""
        ...

    def wait_for_results(self) -> Sequence[tuple[Job, JobResult | WorkerCrash]]:
        """Wait for running jobs; return the jobs that ended since the last call, with their results.

        The list may be empty; the caller then checks `capacity` again.
        """
        ...


class Executor(Protocol):
    """Provide the workers that run jobs."""

    def workers(self, job_function: JobFunction) -> AbstractContextManager[Workers]:
        """Return a context manager that provides workers for a `with` block.

        The workers run jobs with `job_function`. At the end of the block, running jobs are stopped.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProcessExecutor:
    """Run jobs in up to `processes` local processes; each process runs one job at a time."""

    processes: int = 2

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise InvalidInputError(f"There must be at least one process, got {self.processes}.")

    @contextmanager
    def workers(self, job_function: JobFunction) -> Iterator[ProcessWorkers]:
        """Yield workers that start processes when needed; at the end of the block, kill the processes."""
        workers = ProcessWorkers(self.processes, job_function)
        try:
            yield workers
        finally:
            workers.kill()


class ProcessWorkers:
    """Runs the jobs of one sweep in local processes; a process that died is replaced when needed."""

    def __init__(self, processes: int, job_function: JobFunction) -> None:
        self._processes = processes
        self._job_function = job_function
        self._idle: list[_WorkerProcess] = []
        self._busy: dict[Connection[Job, JobResult], tuple[_WorkerProcess, Job]] = {}

    def capacity(self) -> int:
        """Return the maximum number of processes; each runs one job at a time."""
        return self._processes

    def submit(self, job: Job) -> None:
        """Send a job to an idle process, or to a new one."""
        worker = self._idle.pop() if self._idle else _WorkerProcess.start(self._job_function)
        with suppress(ConnectionError):  # if the process has died, `receive` returns a `WorkerCrash`
            worker.connection.send(job)
        self._busy[worker.connection] = worker, job

    def wait_for_results(self) -> list[tuple[Job, JobResult | WorkerCrash]]:
        """Wait until a process sends a result or dies; return the jobs that ended."""
        ended = []
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)
            worker, job = self._busy.pop(connection)
            result = worker.receive()
            if isinstance(result, WorkerCrash):
                worker.kill()
            else:
                self._idle.append(worker)
            ended.append((job, result))
        return ended

    def kill(self) -> None:
        """Kill all processes, and with them the jobs that are still running."""
        for worker in (*self._idle, *(worker for worker, _ in self._busy.values())):
            worker.kill()


@dataclass(frozen=True, slots=True)
class _WorkerProcess:
    process: SpawnProcess
    connection: Connection[Job, JobResult]

    @classmethod
    def start(cls, job_function: JobFunction) -> _WorkerProcess:
        # Processes are spawned, not forked, because the threads of numpy and torch do not survive a fork.
        context = multiprocessing.get_context("spawn")
        connection, far_end = context.Pipe()
        process = context.Process(target=_worker_loop, args=(far_end, job_function), daemon=True)
        with _interrupts_blocked(), _single_thread():
            process.start()
        # Close the parent's copy of the worker's end. Then the pipe closes when the worker process ends.
        far_end.close()
        return cls(process, connection)

    def receive(self) -> JobResult | WorkerCrash:
        """Return the result of the current job, or `WorkerCrash` if the process ended.

        Call this method only when the connection is readable.
        """
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # OSError: the process was killed while it was writing.
            self.process.join()
            return WorkerCrash(_describe_exit(self.process.exitcode))

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT inside a `with` block. Processes that are started in the block never receive SIGINT.

    On Ctrl-C, a terminal sends SIGINT to all processes of a sweep. Worker processes must ignore SIGINT,
    because the main process of the sweep stops them itself.
    """
    # Starting Python's resource tracker unblocks SIGINT. The first worker process would start the tracker,
    # so it is started here, before SIGINT is blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _single_thread() -> Iterator[None]:
    """Limit numpy and torch to one thread in the processes that are started inside a `with` block.

    More threads would compete for the cores, and their number would depend on the machine. OMP_NUM_THREADS
    is read when these packages are imported, so the variable must be set before the process starts.
    """
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _worker_loop(connection: Connection[JobResult, Job], job_function: JobFunction) -> None:
    """Run the jobs of a worker process: receive a job, send its result, until the connection closes."""
    # Redirect stdout to stderr: output of libraries must not mix with the results on the sweep's stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr  # stderr writes each line at once, so a killed process loses no lines
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            connection.send(job_function(connection.recv()))


def _exit_with_parent() -> None:
    """Exit this worker process when its parent process, which runs the sweep, ends or is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _describe_exit(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"Its process ended with exit code {exit_code}."
    name = signal.Signals(-exit_code).name
    hint = " If memory ran out, use fewer processes." if name == "SIGKILL" else ""
    return f"Its process was ended by the signal {name}.{hint}"


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """Run one job per core of a Ray cluster.

    `address` is the address of the cluster's head, such as `10.0.0.1:6379`, or `auto` for a cluster that
    runs on this machine. With None, a local cluster is started, and stopped at the end. The machines of a
    cluster need this package, but no shared folder: Ray transports jobs and results.
    """

    address: str | None = None

    @contextmanager
    def workers(self, job_function: JobFunction) -> Iterator[RayWorkers]:
        """Connect to the cluster and yield its workers; at the end, cancel running jobs and disconnect."""
        ray = _import_ray()
        _connect(ray, self.address)
        try:
            workers = RayWorkers(ray, job_function)
            try:
                yield workers
            finally:
                workers.cancel()
        finally:
            ray.shutdown()


class RayWorkers:
    """Runs the jobs of one sweep as Ray tasks."""

    def __init__(self, ray: ModuleType, job_function: JobFunction) -> None:
        self._ray = ray
        # Ray must not retry crashed jobs: if a job runs out of memory, Ray would retry it without end. The
        # sweep itself retries crashed jobs, a limited number of times.
        self._task = ray.remote(num_cpus=1, max_retries=0)(job_function)
        self._running: dict[Any, Job] = {}

    def capacity(self) -> int:
        """Return the current number of cores in the cluster, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    def submit(self, job: Job) -> None:
        """Submit a job to the cluster."""
        self._running[self._task.remote(job)] = job

    def wait_for_results(self) -> list[tuple[Job, JobResult | WorkerCrash]]:
        """Wait at most `POLL_SECONDS` for jobs to end; return the jobs that ended."""
        ended, _ = self._ray.wait(list(self._running), timeout=POLL_SECONDS)
        return [(self._running.pop(reference), self._result(reference)) for reference in ended]

    def _result(self, reference: Any) -> JobResult | WorkerCrash:
        try:
            result: JobResult = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return WorkerCrash(ANSI_COLOUR.sub("", f"{type(error).__name__}: {error}"))
        return result

    def cancel(self) -> None:
        """Cancel the running jobs."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)


def _import_ray() -> ModuleType:
    with importing_extra("ray", "The executor 'ray'", ", or use --executor process"):
        return import_module("ray")


def _connect(ray: ModuleType, address: str | None) -> None:
    # Ray must not send usage reports without the user's consent.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if address is None:
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        else:
            _check_reachable(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(
            f"There is no Ray cluster at {address or 'this machine'}: {reason.rstrip('.')}. "
            "Start one with `ray start --head`, or omit the address to use this machine only."
        ) from error


def _check_reachable(address: str) -> None:
    """Raise `OSError` if the address does not accept connections.

    Without this check, Ray would try to connect for minutes.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=POLL_SECONDS).close()
