"""A live table of a sweep on stderr: what is done, what runs, what failed, and how long it takes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Column, Table

from needful.evaluation.job import Job
from needful.evaluation.job_results import JobResult, Results
from needful.evaluation.remaining_time import RemainingTime


class SweepTable:
    """Counts jobs by domain; `rich` asks for a drawing whenever it likes."""

    def __init__(self) -> None:
        self.jobs: tuple[Job, ...] = ()
        self.waiting: dict[Job, None] = {}
        self.running: dict[Job, None] = {}
        self.failed: set[Job] = set()
        self._time = RemainingTime()

    @property
    def done(self) -> int:
        """How many jobs have a result."""
        return len(self.jobs) - len(self.waiting) - len(self.running)

    def begins(self, jobs: Sequence[Job], to_do: Sequence[Job], earlier: Results) -> None:
        """Learn what there is to do."""
        self.jobs = tuple(jobs)
        self.waiting = dict.fromkeys(to_do)
        for result in earlier.results:
            self._time.add(result)
            if result.error is not None and result.job not in self.waiting:
                self.failed.add(result.job)
        self.failed &= set(jobs)

    def started(self, job: Job) -> None:
        """Show a job as running."""
        self.waiting.pop(job, None)
        self.running[job] = None

    def finished(self, result: JobResult) -> None:
        """Show a job as done."""
        self.running.pop(result.job, None)
        self._time.add(result)
        if result.error is not None:
            self.failed.add(result.job)

    def __rich__(self) -> Group:
        table = Table("domain", *(_number(name) for name in ("jobs", "done", "running", "failed")))
        # Copies, since this is asked for by another thread than the one that changes them.
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
        """Return everything in one line."""
        parts = [f"{self.done} of {len(self.jobs)} jobs done"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        seconds = self._time.estimate([*self.waiting, *self.running], len(self.running))
        if seconds is not None and (self.waiting or self.running):
            parts.append(f"about {_duration(seconds)} left")
        return ", ".join(parts)


@contextmanager
def sweep_table() -> Iterator[SweepTable]:
    """Show a table on stderr while the block runs, if stderr is a terminal."""
    table = SweepTable()
    if not sys.stderr.isatty():
        yield table
        return
    with Live(table, console=Console(stderr=True), refresh_per_second=2):
        yield table


def _number(name: str) -> Column:
    return Column(name, justify="right")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"
