"""`needful report`: a page from recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from needful.cli.console import print_json, progress_bars, reporting_errors, say
from needful.cli.environments import chosen_environment
from needful.cli.options import AsJson, Force, require_suffix
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, UnknownNameError
from needful.reports.page.page import make_report
from needful.reports.page.recorded_run import RecordedRun, read_run
from needful.storage.atomic import check_output_file, write_text
from needful.storage.output_kinds import PAGE


@reporting_errors
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...", help="Folders of runs, or folders of such; those of one domain are compared."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", callback=require_suffix(".html", ".htm"), help="The HTML file to write."),
    ] = Path("report.html"),
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment",
            metavar="MODULE:CLASS",
            help="Draw states with an environment of your own; its code is run.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about runs: what was learned and why, and every task to look at."""
    check_output_file(out, PAGE, force)
    recorded = [read_run(run) for folder in runs for run in _runs_in(folder)]
    with progress_bars() as progress, ExitStack() as stack:
        progress.stage("Writing the report")
        own = None if environment is None else _own(environment, recorded, stack)
        write_page(recorded, out, own)
    if as_json:
        print_json({"page": str(out), "runs": len(recorded)})
    else:
        say(f"Wrote {out}.")


def _runs_in(folder: Path) -> list[Path]:
    """Return the folder itself, or the folders of complete runs in it if it is none but holds some."""
    if (folder / "records.jsonl").exists():
        return [folder]
    inner = sorted(file.parent for file in folder.glob("[!.]*/summary.json"))
    return inner or [folder]


def write_page(runs: Sequence[RecordedRun], out: Path, own: Environment | None = None) -> None:
    """Write the page of runs; states are drawn by `own`, if it is of their domain, or the catalogue's."""

    def find(domain: str) -> Environment:
        if own is not None and own.name == domain:
            return own
        try:
            return make_environment(domain)
        except UnknownNameError as error:
            raise InvalidInputError(f"{error} Is it your own? Add --environment MODULE:CLASS.") from None

    write_text(out, make_report(runs, find))


def _own(reference: str, runs: Sequence[RecordedRun], stack: ExitStack) -> Environment:
    """Return the environment that the user names; it must be of the domain of a run."""
    environment = stack.enter_context(chosen_environment(reference))
    domains = sorted({run.domain for run in runs})
    if environment.name not in domains:
        raise InvalidInputError(
            f"{reference} is called {environment.name!r}, but the runs are of {', '.join(domains)}. "
            "Name the class of a run's own domain."
        )
    return environment
