"""`needful run`: collect demonstrations, learn, and solve unseen tasks."""

from __future__ import annotations

import itertools
import os
from enum import Enum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from needful.cli import console, options
from needful.cli.environments import chosen_environment, demonstrations_for
from needful.cli.repeat import repeat_runs
from needful.cli.report import write_page
from needful.core.objects import counted
from needful.errors import UnknownNameError
from needful.evaluation.execution import OPEN_LOOP
from needful.evaluation.pipeline import RunConfig, RunResult, run
from needful.evaluation.run_folder import RunFolder
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.paper.experiments import PAPER, paper_preset
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.page.recorded_run import read_run
from needful.reports.page.task_films import RUN_FILMS

PAGE_FILE = "report.html"
DEFAULT_DEMOS = 50


class SamplerSource(Enum):
    """Which samplers to use for test tasks: learned ones, or hand-written ones of the oracle model."""

    LEARNED = "learned"
    ORACLE = "oracle"


Demos: TypeAlias = Annotated[
    int | None,
    options.count_option("--demos", f"Number of demonstrated training tasks; by default {DEFAULT_DEMOS}."),
]
Experiments: TypeAlias = Annotated[
    bool, typer.Option("--experiments", help="Correct operators by experiments in the simulator.")
]
NoSimulator: TypeAlias = Annotated[
    bool,
    typer.Option("--no-simulator", help="Invent predicates from demonstrations only, not by experiments."),
]
Samplers: TypeAlias = Annotated[
    str,
    options.enum_option(
        "--samplers",
        SamplerSource,
        "Samplers that solve tasks: learned, or hand-written by the domain (oracle).",
    ),
]
Preset: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar=PAPER,
        help="Use the settings of the paper's experiments. Options that you give take precedence.",
    ),
]
Repeat: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--repeat",
        metavar="RUNS",
        help="Make recorded runs again with their settings, and report whether the results are identical.",
    ),
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", help="Folder to write; by default a new one below runs/.")
]


# RUN_FIELDS maps options to the fields of `RunConfig` that they set, and PLANNING_FIELDS maps options to
# fields of `PlanningConfig`.
RUN_FIELDS = {
    "learner": "learner",
    "demos": "demos",
    "tasks": "tasks",
    "seed": "seed",
    "experiments": "experiments",
    "samplers": "oracle_samplers",
    "learning_timeout": "learning_timeout",
    "execute": "execution",
    "skill_failures": "execution",
    "observation_noise": "execution",
    "parameter_noise": "execution",
}
PLANNING_FIELDS = {
    "timeout": "timeout",
    "horizon": "horizon",
    "samples_per_step": "samples_per_step",
    "abstract_plans": "max_abstract_plans",
    "planner": "planner",
}


@console.reporting_errors
def run_domain(
    context: typer.Context,
    domain: options.OptionalDomain = None,
    preset: Preset = None,
    learner: options.LearnerName = "necessary",
    demos: Demos = None,
    demonstrations: options.Recorded = None,
    tasks: options.Tasks = 50,
    seed: options.Seed = 0,
    timeout: options.Timeout = 10.0,
    learning_timeout: options.LearningTimeout = None,
    horizon: options.Horizon = None,
    samples_per_step: options.SamplesPerStep = 10,
    abstract_plans: options.AbstractPlans = 8,
    planner: options.PlannerName = DEFAULT_PLANNER,
    experiments: Experiments = False,
    samplers: Samplers = SamplerSource.LEARNED.value,
    invent: options.Invent = False,
    keep: options.Keep = "",
    formula: options.Formulas = None,
    no_simulator: NoSimulator = False,
    execute: options.Execute = OPEN_LOOP,
    skill_failures: options.SkillFailures = 0.0,
    observation_noise: options.ObservationNoise = 0.0,
    parameter_noise: options.ParameterNoise = 0.0,
    repeat: Repeat = None,
    out: Out = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Collect demonstrations, learn a model, print it, and solve unseen tasks with it."""
    if repeat is not None:
        repeat_runs(context, repeat, domain, out, _config)
        return
    if domain is None:
        raise typer.BadParameter("name a domain (see 'needful envs').", param_hint="'DOMAIN'")
    config = _config(context, domain)
    with chosen_environment(domain) as environment, console.progress_bars() as progress:
        path = out or _new_folder(f"{environment.name}-{config.learner}-seed{config.seed}")
        recorded = None if demonstrations is None else demonstrations_for(environment, demonstrations)
        with RunFolder.replacing(path, force, console.given_command(context)) as folder:
            result = run(environment, config, folder, progress, recorded)
            write_page([read_run(folder.path)], folder.path / PAGE_FILE, progress, environment, RUN_FILMS)
    _print_warnings(result)
    if as_json:
        console.print_json({**result.summary, "out": str(path)})
    else:
        _describe(result, domain, path, demonstrations)
    if result.learned is None:
        console.print_stderr(
            f"error: Learning exceeded its time limit of {config.learning_timeout:g} s. "
            "Increase --learning-timeout."
        )
        raise typer.Exit(console.FAILED)


def _config(context: typer.Context, domain: str) -> RunConfig:
    """Return the settings of the run that the options in `context` ask for."""
    given = context.params
    planning = [
        given[name] for name in ("timeout", "abstract_plans", "planner", "samples_per_step", "horizon")
    ]
    samplers = options.enum_member(SamplerSource, "kind of samplers", given["samplers"])
    world = ("execute", "skill_failures", "observation_noise", "parameter_noise")
    config = RunConfig(
        given["learner"],
        _demo_count(given["demos"], given["demonstrations"]),
        given["tasks"],
        given["seed"],
        options.planning_config(*planning),
        experiments=ExperimentConfig() if given["experiments"] else None,
        oracle_samplers=samplers is SamplerSource.ORACLE,
        learning_timeout=given["learning_timeout"],
        validation_folds=options.VALIDATION_FOLDS,
        execution=options.execution_config(*(given[name] for name in world)),
        invention=options.invention_config(
            given["invent"], given["keep"], given["formula"] or (), given["no_simulator"]
        ),
    )
    return config if given["preset"] is None else _with_preset(given["preset"], domain, config, context)


def _print_warnings(result: RunResult) -> None:
    for warning in console.describe_skipped(result.collected):
        console.print_stderr(warning)
    for warning in () if result.learned is None else result.learned.warnings():
        console.print_stderr(f"warning: {warning}")


def _with_preset(preset: str, domain: str, config: RunConfig, context: typer.Context) -> RunConfig:
    """Return the settings of a preset; the values of options that the user gave come from `config`."""
    if preset != PAPER:
        raise UnknownNameError("preset", preset, [PAPER])
    if console.is_given(context, "demonstrations"):
        raise typer.BadParameter(
            "collects demonstrations, but --demonstrations gives recorded ones. Leave one of them out.",
            param_hint="--preset",
        )
    run = {
        name: getattr(config, name)
        for option, name in RUN_FIELDS.items()
        if console.is_given(context, option)
    }
    planning = {
        name: getattr(config.planning, name)
        for option, name in PLANNING_FIELDS.items()
        if console.is_given(context, option)
    }
    return paper_preset(domain, **run, **planning, validation_folds=config.validation_folds)


def _demo_count(demos: int | None, recorded: Path | None) -> int:
    if demos is not None and recorded is not None:
        raise typer.BadParameter(
            "counts tasks to demonstrate, but --demonstrations gives recorded ones. Leave one of them out.",
            param_hint="--demos",
        )
    return DEFAULT_DEMOS if demos is None else demos


def _describe(result: RunResult, domain: str, path: Path, recorded: Path | None) -> None:
    count, seconds = result.summary["demos"], result.summary["seconds"]["collect"]
    if recorded is None:
        console.print_result(f"Collected {counted(count, 'demonstration')} in {seconds:.2f} s.")
    else:
        console.print_result(f"Read {counted(count, 'demonstration')} from {recorded}.")
    if result.learned is not None:
        console.print_result(result.learned.describe())
    console.print_result(console.describe_evaluation(result.summary))
    console.print_result()
    model = "" if result.learned is None else "model/, "
    console.print_result(
        f"Results: {path}/ (summary.json, records.jsonl, {model}demos.jsonl.gz, plans.jsonl.gz)"
    )
    console.print_result(f"Report: {path / PAGE_FILE}")
    if result.learned is not None:
        seed = f" --seed {result.summary['seed']}" if result.summary["seed"] else ""
        console.print_result(f"To film a task: needful plan {path} {domain} --task 0{seed} --gif film.gif")


def _new_folder(name: str) -> Path:
    """Return the first of the paths runs/NAME, runs/NAME-2, runs/NAME-3, ... that does not exist.

    NAME is `name` with hyphens instead of slashes.
    """
    name = name.replace("/", "-")
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (Path("runs") / each for each in names) if not os.path.lexists(path))
