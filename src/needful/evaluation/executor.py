"""What runs the jobs of a sweep: two protocols, so that a sweep does not care where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult

# Called in other processes, so it must be a function of a module.
Work: TypeAlias = Callable[[Job], JobResult]


@dataclass(frozen=True, slots=True)
class Died:
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

    def finished(self) -> Sequence[tuple[Job, JobResult | Died]]:
        """Wait for jobs that are running, and return those that have ended, each of them once.

        There may be none, where the capacity has to be looked at again from time to time.
        """
        ...


class Executor(Protocol):
    """Has workers to run jobs."""

    def workers(self, work: Work) -> AbstractContextManager[Workers]:
        """Return workers that do some work; leaving the context ends whatever still runs."""
        ...
