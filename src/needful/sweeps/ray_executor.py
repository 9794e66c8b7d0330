"""Run jobs on a Ray cluster: this machine's cores, or many machines."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from needful.errors import InvalidInputError, install_command
from needful.sweeps.jobs import Job
from needful.sweeps.process_executor import Died, Work
from needful.sweeps.results import JobResult

# How long to wait before looking whether machines have come or gone.
SECONDS_BETWEEN_LOOKS = 5.0
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

    def finished(self) -> list[tuple[Job, JobResult | Died]]:
        """Wait for a while until a job has ended."""
        ended, _ = self._ray.wait(list(self._running), timeout=SECONDS_BETWEEN_LOOKS)
        return [(self._running.pop(one), self._result(one)) for one in ended]

    def _result(self, reference: Any) -> JobResult | Died:
        try:
            result: JobResult = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Died(COLOUR.sub("", f"{type(error).__name__}: {error}"))
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
            _check_that_somebody_listens(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(
            f"There is no Ray cluster at {address or 'this machine'}: {reason.rstrip('.')}. "
            "Start one with `ray start --head`, or leave the address out to use this machine alone."
        ) from error


def _check_that_somebody_listens(address: str) -> None:
    """Raise if nobody does: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=SECONDS_BETWEEN_LOOKS).close()
