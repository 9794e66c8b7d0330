"""The steps of a run as separate verbs: `needful collect`, `needful learn` and `needful eval`."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from needful.approaches.base import LearningConfig
from needful.approaches.catalogue import find_approach
from needful.approaches.files import load_solver, model_digest, model_directory
from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import (
    VALIDATION_FOLDS,
    AbstractPlans,
    AsJson,
    Demos,
    Domain,
    Execute,
    Force,
    Formulas,
    Horizon,
    Invent,
    Keep,
    LearnerName,
    LearningTimeout,
    ModelPath,
    ObservationNoise,
    ParameterNoise,
    PlannerName,
    SamplesPerStep,
    Seed,
    SkillFailures,
    Tasks,
    Timeout,
    execution_config,
    invention_config,
    planning_config,
)
from needful.core.objects import counted
from needful.evaluation.evaluate import make_solve, save_and_report, solve_tasks
from needful.evaluation.execution import OPEN_LOOP, execution_summary
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.pipeline import collect as collect_demonstrations
from needful.evaluation.records import evaluation_summary, run_identity
from needful.evaluation.run_folder import RunFolder, settings_as_json
from needful.evaluation.sources import unused_parts
from needful.planning.planners import DEFAULT_PLANNER
from needful.storage.demonstrations import read_demonstrations, write_demonstrations
from needful.storage.outputs import DEMONSTRATIONS, MODEL, check_output_directory, check_output_file


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


@console.reporting_errors
def learn(
    demonstrations: Annotated[
        Path, typer.Argument(metavar="DEMOS", help="A needful-demos file, plain or gzip.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Model directory to write.")],
    learner: LearnerName = "necessary",
    seed: Seed = 0,
    learning_timeout: LearningTimeout = None,
    invent: Invent = False,
    keep: Keep = "",
    formula: Formulas = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn operators, and samplers if the file has states and parameters; or train a policy."""
    approach = find_approach(learner)
    invention = invention_config(invent, keep, formula or ())
    data = read_demonstrations(demonstrations)
    console.check_paths_disjoint(demonstrations, out)
    check_output_directory(out, MODEL, force)
    with console.progress_bars() as progress:
        config = LearningConfig(
            seed,
            timeout=learning_timeout,
            progress=progress,
            validation_folds=VALIDATION_FOLDS,
            invention=invention,
        )
        learned = approach.learn(data.vocabulary, data.demonstrations, config)
    learned.save(out, force=force)
    for warning in learned.warnings():
        console.print_stderr(f"warning: {warning}")
    if as_json:
        demos = len(data.demonstrations)
        console.print_json({"learner": learner, "seed": seed, "demos": demos, **learned.summary()})
        return
    console.print_result(learned.describe())
    console.print_result(f"Wrote {out}.")


@console.reporting_errors
def evaluate_model(
    context: typer.Context,
    model: ModelPath,
    domain: Domain,
    tasks: Tasks = 50,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    horizon: Horizon = None,
    samples_per_step: SamplesPerStep = 10,
    abstract_plans: AbstractPlans = 8,
    planner: PlannerName = DEFAULT_PLANNER,
    execute: Execute = OPEN_LOOP,
    skill_failures: SkillFailures = 0.0,
    observation_noise: ObservationNoise = 0.0,
    parameter_noise: ParameterNoise = 0.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for summary, records and plans.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve unseen tasks with a model and check the plans by executing them.

    Records, one per task, are written with --out and printed with --json.
    """
    planning = planning_config(timeout, abstract_plans, planner, samples_per_step, horizon)
    execution = execution_config(execute, skill_failures, observation_noise, parameter_noise)
    with chosen_environment(domain) as environment, console.progress_bars() as progress:
        planning = planning.with_horizon(environment.horizon)
        solver, digest = load_solver(model, environment, planning), model_digest(model)
        settings = (planning, digest, *((execution,) if execution else ()))
        unused = unused_parts(environment.name, invention=False, execution=bool(execution))
        identity = run_identity(environment.name, solver.approach, seed, *settings, unused=unused)
        solve = make_solve(solver, environment, execution, planning.horizon)
        with _results_folder(out, model, force, context) as folder:
            if folder is not None:
                named = {"domain": environment.name, "learner": solver.approach, "model": digest}
                limits = {"tasks": tasks, "seed": seed, "planning": planning, "execution": execution}
                folder.begin(settings_as_json(**named, **limits))
            on_result = save_and_report(folder, solver.vocabulary, progress, tasks)
            evaluation = solve_tasks(solve, environment, tasks, planning.horizon, identity, on_result)
            summary = {
                "domain": environment.name,
                "learner": solver.approach,
                "seed": seed,
                "operators": solver.operator_count,
                **evaluation_summary(evaluation.records),
                **execution_summary(execution, evaluation.records),
            }
            if folder is not None:
                folder.save_summary(summary)
    if as_json:
        records = [json.loads(record.to_json()) for record in evaluation.records]
        console.print_json({**summary, "records": records})
        return
    console.print_result(console.describe_evaluation(summary))
    if out is not None:
        console.print_result(f"Results: {out}/ (run.json, summary.json, records.jsonl, plans.jsonl.gz)")


def _results_folder(
    out: Path | None, model: Path, force: bool, context: typer.Context
) -> AbstractContextManager[RunFolder | None]:
    if out is None:
        return nullcontext()
    console.check_paths_disjoint(model_directory(model), out)
    return RunFolder.replacing(out, force, console.given_command(context))
