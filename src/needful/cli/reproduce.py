"""`needful reproduce`: run the paper's experiments and print the results next to the paper's numbers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Column, Table

from needful.cli import console
from needful.cli.options import (
    AsJson,
    Horizon,
    LearningTimeout,
    PlannerName,
    SamplesPerStep,
    seconds_option,
)
from needful.envs.catalogue import make_environment
from needful.errors import InvalidInputError, NeedfulError
from needful.paper.domains import ANALYTIC, HOUSEHOLD
from needful.paper.experiments import FIGURES, TABLES, RequestedOutputs, SweepSettings, jobs_for
from needful.planning.planners import DEFAULT_PLANNER
from needful.sweeps.executors import Executor, ProcessExecutor
from needful.sweeps.jobs import Job, run_config
from needful.sweeps.results import JobResult, Results, SweepFolder
from needful.sweeps.sweep import RemainingTime, sweep


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
        parts = [f"{self.done} of {len(self.jobs)} jobs done"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        seconds = self._time.estimate([*self.waiting, *self.running], len(self.running))
        if seconds is not None and (self.waiting or self.running):
            parts.append(f"about {_duration(seconds)} left")
        return ", ".join(parts)


@contextmanager
def sweep_table() -> Iterator[SweepTable]:
    """Show a sweep's progress as a table on stderr during the `with` block, if stderr is a terminal."""
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


ALL = "all"


class ExecutorName(Enum):
    """Where jobs run: in local processes or on a Ray cluster."""

    PROCESS = "process"
    RAY = "ray"


Tables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--table", help=f"Table: {', '.join(TABLES)}. Repeatable; by default all."),
]
Figures: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--figure", help=f"Figure: {', '.join(FIGURES)}. Repeatable; by default all."),
]
Domains: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--domains", help=f"Comma-separated names, or {ALL}; by default {', '.join(ANALYTIC)}."),
]
Learners: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--learners", help="Comma-separated names; by default those of the paper."),
]
Seeds: TypeAlias = Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds, starting from 0.")]
Demos: TypeAlias = Annotated[
    int | None,
    typer.Option("--demos", min=1, help="Number of training tasks; by default 50, in houses 10."),
]
Tasks: TypeAlias = Annotated[
    int | None, typer.Option("--tasks", min=1, help="Number of unseen tasks; by default 50, in houses 10.")
]
Timeout: TypeAlias = Annotated[
    float | None,
    seconds_option("--timeout", "Planning time per task, in seconds; by default 10, in houses 60."),
]
Processes: TypeAlias = Annotated[int, typer.Option("--jobs", min=1, help="Number of worker processes.")]
ExecutorOption: TypeAlias = Annotated[
    ExecutorName, typer.Option("--executor", help="Run jobs in local processes or on a Ray cluster.")
]
Address: TypeAlias = Annotated[
    str | None,
    typer.Option("--address", help="Address of the Ray cluster; by default a local one is started."),
]
RetryErrors: TypeAlias = Annotated[
    bool, typer.Option("--retry-errors", help="Repeat jobs that ended with an error.")
]
Out: TypeAlias = Annotated[
    Path, typer.Option("--out", help="Folder of the sweep; an existing sweep is resumed.")
]


@console.reporting_errors
def reproduce(
    table: Tables = None,
    figure: Figures = None,
    domains: Domains = None,
    learners: Learners = None,
    seeds: Seeds = 10,
    demos: Demos = None,
    tasks: Tasks = None,
    timeout: Timeout = None,
    learning_timeout: LearningTimeout = None,
    horizon: Horizon = None,
    samples_per_step: SamplesPerStep = 10,
    planner: PlannerName = DEFAULT_PLANNER,
    jobs: Processes = 2,
    executor: ExecutorOption = ExecutorName.PROCESS,
    address: Address = None,
    retry_errors: RetryErrors = False,
    out: Out = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Run the experiments behind the paper's tables and figures, and print them beside the paper's numbers.

    Finished jobs are kept: repeat the command to resume an interrupted sweep.
    """
    settings = SweepSettings(
        _domains(domains),
        _names(learners),
        seeds,
        demos,
        tasks,
        timeout,
        learning_timeout,
        planner,
        samples_per_step,
        horizon,
        cpu_time,
        preset or "",
    )
    requested = RequestedOutputs.of(table or (), figure or ())
    wanted = _jobs(requested, settings)
    _check(wanted)
    where = _executor(executor, jobs, address)
    with SweepFolder.open(out) as folder:
        results = _run(wanted, folder, where, retry_errors)
        _report(results, folder.path, requested, set(wanted), as_json)
    if _print_failures(results):
        raise typer.Exit(console.FAILED)


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    names = (name.strip() for text in given or () for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name)) or None


def _domains(given: Sequence[str] | None) -> tuple[str, ...]:
    names = _names(given) or ANALYTIC
    own = [name for name in names if ":" in name]
    if own:
        raise typer.BadParameter(
            f"{own[0]}: not a domain of `needful envs`. Use `needful run` for your environment.",
            param_hint="--domains",
        )
    if ALL in names and names != (ALL,):
        raise typer.BadParameter(
            f"{ALL} excludes other names, got {', '.join(names)}.", param_hint="--domains"
        )
    return ANALYTIC + HOUSEHOLD if ALL in names else names


def _jobs(requested: RequestedOutputs, settings: SweepSettings) -> tuple[Job, ...]:
    try:
        return jobs_for(requested, settings)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint="--learners") from error


def _executor(name: ExecutorName, processes: int, address: str | None) -> Executor:
    if name is ExecutorName.RAY:
        from needful.sweeps.executors import RayExecutor

        return RayExecutor(address)
    if address is not None:
        raise typer.BadParameter("needs --executor ray.", param_hint="--address")
    return ProcessExecutor(processes)


def _check(jobs: Sequence[Job]) -> None:
    """Raise if a job names an unknown domain, learner or planner, or needs a package that is missing."""
    for job in {(job.learner, job.planner): job for job in jobs}.values():
        run_config(job)
    for domain in dict.fromkeys(job.domain for job in jobs):
        make_environment(domain)


def _run(jobs: Sequence[Job], folder: SweepFolder, executor: Executor, retry_errors: bool) -> Results:
    with sweep_table() as shown:
        try:
            return sweep(jobs, folder, executor, retry_errors, shown)
        except (KeyboardInterrupt, NeedfulError):
            console.print_stderr(f"{shown.line()}. Repeat the command to resume.")
            raise


def _print_failures(results: Results) -> bool:
    """Print an error for each damaged result file and each failed job; return whether there are any."""
    for damaged in results.damaged:
        console.print_stderr(f"error: {damaged.reason}")
    failed = [result for result in results.results if result.error is not None]
    for result in failed:
        console.print_stderr(f"error: {result.job.domain}/{result.job.file_stem}: {result.error_line}")
    if failed:
        console.print_stderr("Add --retry-errors to repeat these jobs.")
    return bool(failed or results.damaged)


def _report(
    results: Results, folder: Path, requested: RequestedOutputs, wanted: AbstractSet[Job], as_json: bool
) -> None:
    """Write a report about all results in the folder; print the requested tables for the `wanted` jobs."""
    from needful.reports.paper_tables import fill_table
    from needful.reports.runs import group_runs
    from needful.reports.table import as_text, table_rows
    from needful.reports.write_report import write_report

    paths = write_report(results, folder)
    groups = group_runs(result for result in results.results if result.job in wanted)
    tables = [fill_table(name, groups) for name in requested.tables]
    if as_json:
        console.print_json(
            {"rows": [row for table in tables for row in table_rows(table)], "files": [*map(str, paths)]}
        )
        return
    for table in tables:
        console.print_result(as_text(table))
    for path in paths:
        if path.suffix == ".png" and path.stem in requested.figures:
            console.print_result(f"Figure: {path}")
    console.print_result(f"Report: {paths[0]}")
