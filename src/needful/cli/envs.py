"""`needful envs`: list the domains. `needful check-env`: check the class of your environment for errors."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from needful.cli import console
from needful.cli.environments import custom_environment, demonstrations_for
from needful.cli.options import AsJson, Recorded, Seed, Timeout, count_option
from needful.core.cards import seconds_text
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import counted
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import make_demonstrator
from needful.envs.catalogue import CATALOGUE, KINDER, CatalogueEntry, Sizes, make_environment
from needful.envs.checker import check_environment
from needful.envs.contract import Environment, Split
from needful.envs.findings import Finding, Findings
from needful.errors import install_command
from needful.planning.bilevel import PlanningConfig

SAMPLED_TASKS = 12


@console.reporting_errors
def envs(as_json: AsJson = False) -> None:
    """List the domains with their sizes."""
    rows = {name: _row(name, entry) for name, entry in CATALOGUE.items()}
    if as_json:
        console.print_json(rows)
        return
    for name, row in rows.items():
        console.print_result(name)
        console.print_result(f"  {row['description']}")
        console.print_result(
            f"  types: {row['types']}, predicates: {row['predicates']}, controllers: {row['controllers']}, "
            f"objects: {row['objects']['train']} in training tasks, {row['objects']['test']} in test tasks"
        )
        if not CATALOGUE[name].installed:
            console.print_result(f"  to install: {install_command(row['extra'])}")
    for name, kinder in KINDER.items():
        sizes = f"-{kinder.letter}N, N in {', '.join(map(str, kinder.sizes))}" if kinder.letter else ""
        console.print_result(f"{name}{sizes}")
        console.print_result(f"  {kinder.description} An environment of KinDER, see docs/kinder.md.")


def _row(name: str, entry: CatalogueEntry) -> dict[str, Any]:
    row = asdict(domain_sizes(name)) | {"description": entry.description}
    return row if entry.extra is None else row | {"extra": entry.extra}


def domain_sizes(name: str) -> Sizes:
    """Return how many types, predicates, controllers and objects a domain has.

    If these numbers are not in `CATALOGUE`, the objects are counted in `SAMPLED_TASKS` tasks per split.
    """
    known = CATALOGUE[name].sizes
    if known is not None:
        return known
    environment = make_environment(name)
    vocabulary = environment.vocabulary
    objects = {
        split.value: _range([len(task.objects) for task in environment.tasks(split, SAMPLED_TASKS, seed=0)])
        for split in Split
    }
    return Sizes(len(vocabulary.types), len(vocabulary.predicates), len(vocabulary.controllers), objects)


def _range(counts: list[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"


@console.reporting_errors
def check_env(
    environment: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:CLASS",
            help="Module or Python file, and a class in it that derives from Environment.",
        ),
    ],
    demonstrations: Recorded = None,
    tasks: Annotated[int, count_option("--tasks", "Number of tasks per split to check.")] = 3,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    as_json: AsJson = False,
) -> None:
    """Check an environment against the contract; exit code 1 if there are findings.

    Each finding has a location, a problem and a remedy. Recorded demonstrations are replayed.
    """
    # Print the environment's own output on stderr, so that it does not mix with the findings on stdout.
    with console.progress_bars() as progress, redirect_stdout(sys.stderr):
        progress.stage("Checking")
        started = time.monotonic()
        found, notes = _check(environment, demonstrations, tasks, seed, PlanningConfig(timeout=timeout))
        seconds = time.monotonic() - started
    if as_json:
        console.print_json(
            {
                "environment": environment,
                "findings": [_as_json(finding) for finding in found],
                **({"notes": notes} if notes else {}),
            }
        )
    else:
        for note in notes:
            console.print_result(note)
        console.print_result(_describe(environment, found))
        console.print_result(f"\nChecked {counted(tasks, 'task')} per split in {seconds_text(seconds)}.")
    if found:
        raise typer.Exit(console.FAILED)


def _check(
    reference: str, recorded: Path | None, tasks: int, seed: int, config: PlanningConfig
) -> tuple[tuple[Finding, ...], list[str]]:
    """Return the findings (problems) of an environment, and notes about it that are not problems."""

    def solve(environment: Environment, task: Task) -> PlanningResult:
        return make_demonstrator(environment, config).demonstrate(task, seed)

    loading = Findings()
    with custom_environment(reference, loading) as environment:
        if environment is None:
            return loading.all(), []
        demonstrations: tuple[Demonstration, ...] = ()
        # Reading demonstrations needs a valid vocabulary. `check_environment` reports an invalid one.
        if recorded is not None and isinstance(getattr(environment, "vocabulary", None), Vocabulary):
            demonstrations = demonstrations_for(environment, recorded)
        notes: list[str] = []
        found = check_environment(
            environment,
            seed,
            tasks=tasks,
            solve=solve,
            demonstrations=demonstrations,
            on_note=notes.append,
        )
        return found, notes


def _as_json(finding: Finding) -> dict[str, str]:
    return {"what": finding.described, "where": finding.location, "remedy": finding.remedy}


def _describe(reference: str, found: tuple[Finding, ...]) -> str:
    if not found:
        return f"{reference} keeps the contract: no findings."
    lines = [f"{reference} has {counted(found, 'finding')}."]
    for number, finding in enumerate(found, 1):
        lines += [
            "",
            f"{number}. {finding.location}",
            f"   problem: {finding.described}",
            f"   remedy:  {finding.remedy}",
        ]
    return "\n".join(lines)
