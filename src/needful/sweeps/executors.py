"""Run jobs on a Ray cluster: this machine's cores, or many machines.

Run jobs in processes of this machine.

What runs the jobs of a sweep: two protocols, so that a sweep does not care where.
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

from needful.errors import InvalidInputError, install_command
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult

# Called in other processes, so it must be a function of a module.
Work: TypeAlias = Callable[[Job], JobResult]


@dataclass(frozen=True, slots=True)
class WorkerCrash:
    """Whatever ran a job is gone and the job with it; `reason` is a sentence."""

    reason: str


class Workers(Protocol):
    """Runs jobs, several at a time; `begin` may be called while fewer run than `capacity` says."""

    def capacity(self) -> int:
        """Return how many jobs can run at the same time, which may change."""
        ...

    def begin(self, job: Job) -> None:
        """Have a job run."""
        ...

    def finished(self) -> Sequence[tuple[Job, JobResult | WorkerCrash]]:
        """Wait for jobs that are running, and return those that have ended, each of them once.

        There may be none, where the capacity has to be looked at again from time to time.
        """
        ...


class Executor(Protocol):
    """Has workers to run jobs."""

    def workers(self, work: Work) -> AbstractContextManager[Workers]:
        """Return workers that do some work; leaving the context ends whatever still runs."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessExecutor:
    """So many processes, each of which takes one job after the other."""

    processes: int = 2

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise InvalidInputError(f"There must be at least one process, got {self.processes}.")

    @contextmanager
    def workers(self, work: Work) -> Iterator[ProcessWorkers]:
        """Start processes as they are needed; kill them in the end."""
        workers = ProcessWorkers(self.processes, work)
        try:
            yield workers
        finally:
            workers.kill()


@dataclass(frozen=True, slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection[Job, JobResult]

    @classmethod
    def start(cls, work: Work) -> _Worker:
        # Not forked: threads of torch do not survive that.
        context = multiprocessing.get_context("spawn")
        connection, far_end = context.Pipe()
        process = context.Process(target=_worker_loop, args=(far_end, work), daemon=True)
        with _interrupts_blocked():
            process.start()
        far_end.close()  # so that the pipe ends with the process
        return cls(process, connection)

    def result(self) -> JobResult | WorkerCrash:
        """Return what came of a job, once there is something to read."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # OSError: it was killed while it was writing
            self.process.join()
            return WorkerCrash(_describe_exit(self.process.exitcode))

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class ProcessWorkers:
    """The processes of one sweep; a process that died is replaced when it is needed."""

    def __init__(self, processes: int, work: Work) -> None:
        self._processes = processes
        self._job_function = work
        self._idle: list[_Worker] = []
        self._busy: dict[Connection[Job, JobResult], tuple[_Worker, Job]] = {}

    def capacity(self) -> int:
        """Return the number of processes."""
        return self._processes

    def begin(self, job: Job) -> None:
        """Give a job to an idle process, or to a new one."""
        worker = self._idle.pop() if self._idle else _Worker.start(self._job_function)
        with suppress(ConnectionError):  # it died while idle, and `result` will tell
            worker.connection.send(job)
        self._busy[worker.connection] = worker, job

    def finished(self) -> list[tuple[Job, JobResult | WorkerCrash]]:
        """Wait until a process has a result or dies."""
        ended = []
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)
            worker, job = self._busy.pop(connection)
            result = worker.result()
            if isinstance(result, WorkerCrash):
                worker.kill()
            else:
                self._idle.append(worker)
            ended.append((job, result))
        return ended

    def kill(self) -> None:
        """End all processes at once; they hold nothing that could be lost."""
        for worker in (*self._idle, *(worker for worker, _ in self._busy.values())):
            worker.kill()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let no Ctrl-C through while the block runs, and none ever to a process that is started in it.

    A terminal sends it to all processes, but it is the sweep that ends its workers.
    """
    resource_tracker.ensure_running()  # Otherwise it begins with the first process, and lets them through.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker_loop(connection: Connection[JobResult, Job], work: Work) -> None:
    """Do what a worker does: take a job, send its result, until nobody listens any more."""
    # What a library prints must not get between the results on stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Torch is not imported yet. More threads would compete for the cores, and on other machines there
    # would be more or fewer of them.
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            connection.send(work(connection.recv()))


def _exit_with_parent() -> None:
    """Exit when the sweep is gone, even if it was killed: nobody wants this worker's result then."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _describe_exit(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"Its process ended with exit code {exit_code}."
    name = signal.Signals(-exit_code).name
    hint = " Was there too little memory? Try fewer processes." if name == "SIGKILL" else ""
    return f"Its process was ended by the signal {name}.{hint}"


# How long to wait before looking whether machines have come or gone.
POLL_SECONDS = 5.0
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """As many jobs at a time as a cluster has cores.

    `address` is that of a cluster's head, such as `10.0.0.1:6379`, or `auto` for one that runs on this
    machine; with None a cluster of this machine alone is started and stopped. The machines of a
    cluster need this package and nothing else: jobs and results travel through Ray.
    """

    address: str | None = None

    @contextmanager
    def workers(self, work: Work) -> Iterator[RayWorkers]:
        """Connect to the cluster; in the end cancel what still runs and disconnect."""
        ray = _import_ray()
        _connect(ray, self.address)
        try:
            workers = RayWorkers(ray, work)
            try:
                yield workers
            finally:
                workers.cancel()
        finally:
            ray.shutdown()


class RayWorkers:
    """The tasks of one sweep."""

    def __init__(self, ray: ModuleType, work: Work) -> None:
        self._ray = ray
        # Ray would repeat a job that ran out of memory for ever; the sweep counts tries itself.
        self._task = ray.remote(num_cpus=1, max_retries=0)(work)
        self._running: dict[Any, Job] = {}

    def capacity(self) -> int:
        """Return the cores of the machines that are there now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    def begin(self, job: Job) -> None:
        """Hand a job to the cluster."""
        self._running[self._task.remote(job)] = job

    def finished(self) -> list[tuple[Job, JobResult | WorkerCrash]]:
        """Wait for a while until a job has ended."""
        ended, _ = self._ray.wait(list(self._running), timeout=POLL_SECONDS)
        return [(self._running.pop(one), self._result(one)) for one in ended]

    def _result(self, reference: Any) -> JobResult | WorkerCrash:
        try:
            result: JobResult = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return WorkerCrash(COLOUR.sub("", f"{type(error).__name__}: {error}"))
        return result

    def cancel(self) -> None:
        """End the jobs that are running."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)


def _import_ray() -> ModuleType:
    try:
        return import_module("ray")
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"Ray is not installed. Install it from the checkout: {install_command('ray')}, "
            "or use --executor process."
        ) from error


def _connect(ray: ModuleType, address: str | None) -> None:
    # Whoever starts a sweep has not agreed to reports about it.
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
            "Start one with `ray start --head`, or leave the address out to use this machine alone."
        ) from error


def _check_reachable(address: str) -> None:
    """Raise if nobody does: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=POLL_SECONDS).close()
