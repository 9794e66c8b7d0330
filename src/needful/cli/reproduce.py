"""`needful reproduce`: run the paper's experiments and print the results next to the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from needful.approaches.catalogue import APPROACHES
from needful.cli import console, options
from needful.cli.sweep_progress import SweepTable, showing
from needful.envs.catalogue import make_environment
from needful.errors import InvalidInputError, NeedfulError, UnknownNameError
from needful.paper.experiments import (
    EXAMPLES_FILE,
    FIGURES,
    PAPER,
    TABLES,
    RequestedOutputs,
    SweepSettings,
    jobs_for,
    operator_examples,
)
from needful.paper.kinder import HAND_WRITTEN, KINDER, kinder_jobs, run_kinder_job
from needful.paper.kinder import SEEDS as KINDER_SEEDS
from needful.paper.published import ANALYTIC, HOUSEHOLD, OURS
from needful.paper.published import SEEDS as PAPER_SEEDS
from needful.planning.planners import DEFAULT_PLANNER, planner_names
from needful.storage.outputs import write_text
from needful.sweeps.executors import Executor, JobFunction, ProcessExecutor
from needful.sweeps.jobs import Job, Results, SweepFolder, read_results, run_config
from needful.sweeps.sweep import OlderResults, older_jobs, run_job, sweep

ALL = "all"
BOTH, NO_PRESET = "both", "none"


class ExecutorName(Enum):
    """Where jobs run: in local processes or on a Ray cluster."""

    PROCESS = "process"
    RAY = "ray"


def _task_count(name: str, kind: str) -> Any:
    return options.count_option(name, f"Number of {kind}; by default 50, in houses 10.")


Tables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help=f"Table: {', '.join(TABLES)}. Repeatable; by default all of these. {KINDER}: the comparison "
        f"on the benchmark KinDER, in the folder {KINDER} of --out.",
    ),
]
Figures: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--figure", help=f"Figure: {', '.join(FIGURES)}. Repeatable; by default all."),
]
Domains: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--domains",
        help=f"Names, or {ALL}; by default {', '.join(ANALYTIC)}.",
        autocompletion=options.completing((ALL, *ANALYTIC, *HOUSEHOLD)),
    ),
]
Learners: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--learners",
        help=f"Names; by default those of the paper. Known: {', '.join(APPROACHES)}.",
        autocompletion=options.completing(APPROACHES),
    ),
]
Seeds: TypeAlias = Annotated[
    int | None,
    options.count_option(
        "--seeds",
        f"Number of seeds, starting from 0; by default {PAPER_SEEDS}, for {KINDER} {KINDER_SEEDS}.",
    ),
]
Demos: TypeAlias = Annotated[int | None, _task_count("--demos", "training tasks")]
Tasks: TypeAlias = Annotated[int | None, _task_count("--tasks", "unseen tasks")]
Timeout: TypeAlias = Annotated[
    float | None,
    options.seconds_option("--timeout", "Planning time per task, in seconds; by default 10, in houses 60."),
]
Samples: TypeAlias = Annotated[
    int | None,
    options.count_option("--samples-per-step", "Maximum number of parameters per step; by default 10."),
]
Planner: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--planner",
        help=f"Planner of abstract plans: {', '.join(planner_names())}. By default that of the preset; "
        f"without a preset, {DEFAULT_PLANNER}.",
    ),
]
Preset: TypeAlias = Annotated[
    str,
    typer.Option(
        "--preset",
        help=f"{PAPER}: as published; {NO_PRESET}: learner and planner of this package; {BOTH}.",
    ),
]
CpuTime: TypeAlias = Annotated[
    bool,
    typer.Option("--cpu-time", help="Limit CPU time per task, which does not depend on other programs."),
]
Older: TypeAlias = Annotated[
    OlderResults,
    options.enum_option(
        "--older", OlderResults, "What to do with results of other code. refuse: run nothing."
    ),
]
Check: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--check", help="Run nothing; compare each cell of the results in --out with the published number."
    ),
]
Examples: TypeAlias = Annotated[
    bool,
    typer.Option("--examples", help="Only learn and write the operator examples of the paper's appendix."),
]
Processes: TypeAlias = Annotated[int, options.count_option("--jobs", "Number of worker processes.")]
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
    seeds: Seeds = None,
    demos: Demos = None,
    tasks: Tasks = None,
    timeout: Timeout = None,
    learning_timeout: options.LearningTimeout = None,
    horizon: options.Horizon = None,
    samples_per_step: Samples = None,
    planner: Planner = None,
    preset: Preset = BOTH,
    cpu_time: CpuTime = False,
    jobs: Processes = 2,
    executor: ExecutorOption = ExecutorName.PROCESS,
    address: Address = None,
    retry_errors: RetryErrors = False,
    older: Older = OlderResults.REFUSE,
    check: Check = False,
    examples: Examples = False,
    out: Out = Path("results"),
    as_json: options.AsJson = False,
) -> None:
    """Run the experiments behind the paper's tables and figures, and print them beside the paper's numbers.

    Each table is printed twice: as published (the preset `paper` for all methods), and with the learner and
    the planner of this package. Finished jobs are kept: repeat the command to resume an interrupted sweep.
    """
    if examples:
        write_text(out / EXAMPLES_FILE, operator_examples())
        console.print_result(f"Operator examples: {out / EXAMPLES_FILE}")
        return
    where = _executor(executor, jobs, address)
    if table and KINDER in table:
        if figure or {*table} != {KINDER}:
            raise typer.BadParameter(f"{KINDER} excludes other tables and figures.", param_hint="--table")
        wanted = kinder_jobs(_names(domains), _names(learners), seeds, demos, tasks, timeout)
        results = _kinder_table(wanted, out / KINDER, check, where, retry_errors, older, as_json)
    elif check:
        requested = RequestedOutputs.of(table or (), figure or ())
        results = _check_results(out, requested, domains, as_json)
    else:
        requested = RequestedOutputs.of(table or (), figure or ())
        limits = (demos, tasks, timeout, learning_timeout, planner, samples_per_step, horizon, cpu_time)
        settings = SweepSettings(_domains(domains), _names(learners), seeds or PAPER_SEEDS, *limits)
        wanted = _jobs(requested, settings, _presets(preset))
        _check_jobs(wanted)
        with SweepFolder.open(out) as folder:
            if older is OlderResults.REFUSE and _has_older(wanted, folder):
                results = _check_results(out, requested, domains, as_json, cells=False)
            else:
                results = _run(wanted, folder, where, retry_errors, older)
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
            f"{own[0]}: not a domain of 'needful envs'. Use 'needful run' for your environment.",
            param_hint="--domains",
        )
    if ALL in names and names != (ALL,):
        raise typer.BadParameter(
            f"{ALL} excludes other names, got {', '.join(names)}.", param_hint="--domains"
        )
    return ANALYTIC + HOUSEHOLD if ALL in names else names


def _presets(name: str) -> tuple[str, ...]:
    known = {BOTH: (PAPER, ""), PAPER: (PAPER,), NO_PRESET: ("",)}
    if name not in known:
        raise UnknownNameError("preset", name, known)
    return known[name]


def _jobs(requested: RequestedOutputs, settings: SweepSettings, presets: Sequence[str]) -> tuple[Job, ...]:
    """Return the jobs of the requested tables and figures with each of the presets, ordered by seed."""
    try:
        jobs = [job for preset in presets for job in jobs_for(requested, replace(settings, preset=preset))]
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint="--learners") from error
    return tuple(dict.fromkeys(sorted(jobs, key=lambda job: job.seed)))


def _executor(name: ExecutorName, processes: int, address: str | None) -> Executor:
    if name is ExecutorName.RAY:
        from needful.sweeps.executors import RayExecutor

        return RayExecutor(address)
    if address is not None:
        raise typer.BadParameter("needs --executor ray.", param_hint="--address")
    return ProcessExecutor(processes)


def _check_jobs(jobs: Sequence[Job]) -> None:
    """Raise if a job names an unknown domain, learner or planner, or needs a package that is missing."""
    for job in {(job.learner, job.planner): job for job in jobs}.values():
        run_config(job)
    for domain in dict.fromkeys(job.domain for job in jobs):
        make_environment(domain)


def _has_older(jobs: Sequence[Job], folder: SweepFolder) -> bool:
    """Return whether another version of the code computed results of the jobs; if so, print a message."""
    if older := len(older_jobs(folder.read(), jobs)):
        missing = sum(not folder.has(job) for job in jobs)
        console.print_stderr(
            f"Nothing is run: of {len(jobs)} jobs, {older} have results of other code in {folder.path}, "
            f"and {missing} have none. '--older keep' runs these; '--older repeat' runs all of them."
        )
    return bool(older)


def _run(
    jobs: Sequence[Job],
    folder: SweepFolder,
    executor: Executor,
    retry_errors: bool,
    older: OlderResults,
    job_function: JobFunction = run_job,
) -> Results:
    table = SweepTable()
    try:
        with showing(table):
            return sweep(jobs, folder, executor, retry_errors, table, job_function, older)
    except (KeyboardInterrupt, NeedfulError):
        # Print after the `with` block has ended, because the table would overwrite the line.
        console.print_stderr(f"{table.line()}. Repeat the command to resume.")
        raise


def _kinder_table(
    jobs: Sequence[Job],
    out: Path,
    check: bool,
    executor: Executor,
    retry_errors: bool,
    older: OlderResults,
    as_json: bool,
) -> Results:
    """Run the jobs of the table `kinder`, and print the rows of this table for the domains of the jobs.

    Also writes the table of all domains to a Markdown file. With `check`, nothing is run or written: the
    printed table shows the results that are already in the folder `out`.
    """
    from needful.reports.paper_tables import kinder_table
    from needful.reports.runs import group_runs
    from needful.reports.table import as_markdown, as_text, table_rows

    if not check:
        _check_jobs([replace(job, learner=OURS) if job.learner == HAND_WRITTEN else job for job in jobs])
        with SweepFolder.open(out) as folder:
            check = older is OlderResults.REFUSE and _has_older(jobs, folder)
            if not check:
                _run(jobs, folder, executor, retry_errors, older, run_kinder_job)
    results = read_results(out)
    groups, domains = group_runs(results.results), {job.domain for job in jobs}
    table = kinder_table([group for group in groups if group.domain in domains])
    if not check:
        write_text(out / "table.md", as_markdown(kinder_table(groups)))
    if as_json:
        console.print_json({"rows": table_rows(table)})
    else:
        console.print_result(as_text(table))
    return results


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
    from needful.reports.paper_check import age_text, check_tables
    from needful.reports.paper_tables import fill_tables
    from needful.reports.runs import group_runs
    from needful.reports.table import as_text, table_rows
    from needful.reports.write_report import write_report

    paths = write_report(results, folder)
    groups = group_runs(result for result in results.results if result.job in wanted)
    tables = [table for name in requested.tables for table in fill_tables(name, groups)]
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
    warning = age_text(check_tables(tables))
    if warning:
        console.print_stderr(f"warning: {warning} Repeat their jobs with --older repeat.")


def _check_results(
    out: Path, requested: RequestedOutputs, domains: Sequence[str] | None, as_json: bool, cells: bool = True
) -> Results:
    """Print the requested tables and, with `cells`, compare their cells with the paper; run nothing."""
    from needful.reports.paper_check import check_tables, check_text
    from needful.reports.paper_tables import fill_tables
    from needful.reports.runs import group_runs
    from needful.reports.table import as_text, table_rows

    results = read_results(out)
    if not results.results and not results.damaged:
        raise typer.BadParameter(
            f"{out} has no results. Run the jobs first, or choose another folder with --out.",
            param_hint="--check",
        )
    chosen = _domains(domains) if domains else ANALYTIC + HOUSEHOLD
    groups = group_runs(result for result in results.results if result.job.domain in chosen)
    tables = [table for name in requested.tables for table in fill_tables(name, groups)]
    compared = check_tables(tables)
    if as_json:
        found = [cell.to_json() for cell in compared]
        rows = [row for table in tables for row in table_rows(table)]
        console.print_json({"cells": found} if cells else {"rows": rows, "files": []})
        return results
    for table in tables:
        console.print_result(as_text(table))
    if cells:
        console.print_result(check_text(compared))
    return results
