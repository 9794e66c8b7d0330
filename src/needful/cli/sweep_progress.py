"""The progress of a sweep on stderr: a table on a terminal, otherwise lines."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Column, Table

from needful.cli import console
from needful.core.objects import counted
from needful.sweeps.jobs import Job, JobResult, Results
from needful.sweeps.sweep import RemainingTime


class SweepTable:
    """A table of the progress of a sweep (all jobs of the requested experiments), with one row per domain.

    The library `rich` renders the table repeatedly, in another thread.
    """

    def __init__(self) -> None:
        self.jobs: tuple[Job, ...] = ()
        self.waiting: dict[Job, None] = {}
        self.running: dict[Job, None] = {}
        self.failed: set[Job] = set()
        self._time = RemainingTime()

    @property
    def done(self) -> int:
        """The number of finished jobs, including failed ones."""
        return len(self.jobs) - len(self.waiting) - len(self.running)

    def on_sweep_start(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Store all jobs of the sweep, the jobs `to_do` that will run now, and the existing results."""
        self.jobs = tuple(jobs)
        self.waiting = dict.fromkeys(to_do)
        for result in earlier.results:
            self._time.add(result)
            if result.error is not None and result.job not in self.waiting:
                self.failed.add(result.job)
        self.failed &= set(jobs)

    def on_job_start(self, job: Job) -> None:
        """Show a job as running."""
        self.waiting.pop(job, None)
        self.running[job] = None

    def on_job_end(self, result: JobResult) -> None:
        """Show a job as done."""
        self.running.pop(result.job, None)
        self._time.add(result)
        if result.error is not None:
            self.failed.add(result.job)

    def __rich__(self) -> Group:
        table = Table("domain", *(_number(name) for name in ("jobs", "done", "running", "failed")))
        # Copy the sets of jobs, because another thread changes them while this one renders the table.
        total, waiting, running, failed = (
            Counter(job.domain for job in tuple(jobs))
            for jobs in (self.jobs, self.waiting, self.running, self.failed)
        )
        for domain, count in total.items():
            done = count - waiting[domain] - running[domain]
            numbers = (count, done, running[domain], failed[domain])
            table.add_row(domain, *(str(number) if number else "" for number in numbers))
        return Group(table, self.line())

    def line(self) -> str:
        """Return the numbers of finished and failed jobs and the estimated time left, in one line."""
        parts = [f"{self.done} of {counted(len(self.jobs), 'job')} done"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        seconds = self._time.estimate([*self.waiting, *self.running], len(self.running))
        if seconds is not None and (self.waiting or self.running):
            parts.append(f"about {_duration(seconds)} left")
        return ", ".join(parts)


def showing(table: SweepTable) -> AbstractContextManager[object]:
    """Show a sweep's progress on stderr in a `with` block: as a table on a terminal, otherwise in lines."""
    if not sys.stderr.isatty():
        return console.progress_lines(table.line)
    return Live(table, console=Console(stderr=True), refresh_per_second=2)


def _number(name: str) -> Column:
    return Column(name, justify="right")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"
