"""`needful report`: write a page about recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from needful.approaches.base import Progress
from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import AsJson, Force, require_suffix
from needful.core.objects import counted
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, UnknownNameError
from needful.reports.page.page import page_data, report_html
from needful.reports.page.recorded_run import RecordedRun, read_run, run_of_job
from needful.reports.page.task_films import FilmLimits
from needful.storage.outputs import PAGE, check_output_file, write_text
from needful.sweeps.jobs import JOBS_FOLDER, JobResult, read_results


@console.reporting_errors
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS",
            help="Run folders, folders that contain them, or folders of 'needful reproduce'; runs of the "
            "same domain are compared.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", callback=require_suffix(".html", ".htm"), help="HTML file to write.")
    ] = Path("report.html"),
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment",
            metavar="MODULE:CLASS",
            help="Your environment class, which draws the states; its code is run.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page about runs: the learned operators with explanations, and a film of each task."""
    check_output_file(out, PAGE, force)
    recorded = [run for folder in runs for run in _read(folder)]
    with console.progress_bars() as progress, ExitStack() as stack:
        custom = None if environment is None else _custom_environment(environment, recorded, stack)
        write_page(recorded, out, progress, custom)
    if as_json:
        console.print_json({"page": str(out), "runs": len(recorded)})
    else:
        console.print_result(f"Wrote {out}.")


def _read(folder: Path) -> list[RecordedRun]:
    """Read the runs in a folder: run folders, or the jobs of a sweep; failed jobs are skipped."""
    if not (folder / JOBS_FOLDER).is_dir():
        return [read_run(run) for run in runs_in(folder)]
    results = read_results(folder)
    skipped = len(results.damaged) + sum(result.error is not None for result in results.results)
    if skipped:
        console.print_stderr(f"warning: {counted(skipped, 'job')} of {folder} failed or cannot be read.")
    done = sorted((one for one in results.results if one.error is None), key=_job_order)
    return [run_of_job(result) for result in done]


def _job_order(result: JobResult) -> tuple[str, str, int, int, int]:
    job = result.job
    return job.domain, job.learner, job.demos, job.abstract_plans, job.seed


def runs_in(folder: Path) -> list[Path]:
    """Return the folder itself if it is a run folder, otherwise the finished run folders inside it."""
    if (folder / "records.jsonl").exists():
        return [folder]
    inner = sorted(file.parent for file in folder.glob("[!.]*/summary.json"))
    return inner or [folder]


def write_page(
    runs: Sequence[RecordedRun],
    out: Path,
    progress: Progress,
    custom: Environment | None = None,
    limits: FilmLimits | None = None,
) -> None:
    """Write an HTML page about runs to the file `out`; warn if a domain cannot be drawn.

    `custom` is the user's environment, if any; it draws the states of runs in its domain. The states of all
    other runs are drawn by the package's environments. `limits` bounds the number of pictures. `progress`
    shows how many tasks are done.
    """
    data = page_data(runs, partial(find_environment, custom=custom), limits, progress)
    for domain, reason in data["undrawn"].items():
        console.print_stderr(f"warning: the page has no pictures of {domain}. {reason}")
    write_text(out, report_html(data))


def find_environment(domain: str, custom: Environment | None = None) -> Environment:
    """Return the environment of a domain; `custom` is the user's environment, if any."""
    if custom is not None and custom.name == domain:
        return custom
    try:
        return make_environment(domain)
    except UnknownNameError:
        raise InvalidInputError(
            f"The package has no domain {domain!r}. If it is yours, add --environment MODULE:CLASS to "
            "`needful report`."
        ) from None


def _custom_environment(reference: str, runs: Sequence[RecordedRun], stack: ExitStack) -> Environment:
    """Return the user's environment; raise if none of the runs is in its domain."""
    environment = stack.enter_context(chosen_environment(reference))
    domains = sorted({run.domain for run in runs})
    if environment.name not in domains:
        raise InvalidInputError(
            f"{reference} has the name {environment.name!r}, but the runs are of {', '.join(domains)}. "
            "Give the class of the runs' domain."
        )
    return environment
