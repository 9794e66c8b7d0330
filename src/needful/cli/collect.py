"""`needful collect`: solve training tasks with the domain's demonstrator and record the demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import (
    AbstractPlans,
    AsJson,
    Demos,
    Domain,
    Force,
    Horizon,
    SamplesPerStep,
    Seed,
    Timeout,
    planning_config,
)
from needful.core.objects import counted
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.pipeline import collect as collect_demonstrations
from needful.planning.planners import DEFAULT_PLANNER
from needful.storage.demonstrations import write_demonstrations
from needful.storage.outputs import DEMONSTRATIONS, check_output_file


@console.reporting_errors
def collect(
    domain: Domain,
    out: Annotated[Path, typer.Option("--out", help="File to write; compressed if the name ends in .gz.")],
    demos: Demos = 50,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    horizon: Horizon = None,
    samples_per_step: SamplesPerStep = 10,
    abstract_plans: AbstractPlans = 8,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Let the oracle or the scripted policy of a domain demonstrate training tasks, and write a file."""
    planning = planning_config(timeout, abstract_plans, DEFAULT_PLANNER, samples_per_step, horizon)
    check_output_file(out, DEMONSTRATIONS, force)
    with chosen_environment(domain) as environment, console.progress_bars() as progress:
        config = RunConfig(demos=demos, seed=seed)
        collected = collect_demonstrations(environment, config, progress, planning)
    for warning in console.describe_skipped(collected):
        console.print_stderr(warning)
    write_demonstrations(out, environment.vocabulary, collected.demonstrations, force)
    transitions = sum(map(len, collected.demonstrations))
    if as_json:
        console.print_json(
            {
                "domain": environment.name,
                "seed": seed,
                "demos": len(collected.demonstrations),
                "transitions": transitions,
                "skipped": len(collected.skipped),
                "file": str(out),
            }
        )
    else:
        console.print_result(
            f"Wrote {counted(len(collected.demonstrations), 'demonstration')} "
            f"({counted(transitions, 'transition')}) to {out}."
        )
