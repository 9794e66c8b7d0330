"""`needful eval`: solve test tasks with a learned model or policy."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from needful.approaches.files import load_solver, model_digest, model_directory
from needful.cli import console, options
from needful.cli.environments import chosen_environment
from needful.evaluation.evaluate import make_solve, save_and_report, solve_tasks
from needful.evaluation.execution import OPEN_LOOP, execution_summary
from needful.evaluation.records import evaluation_summary, run_identity
from needful.evaluation.run_folder import RunFolder, settings_as_json
from needful.evaluation.sources import unused_parts
from needful.planning.planners import DEFAULT_PLANNER


@console.reporting_errors
def evaluate_model(
    context: typer.Context,
    model: options.ModelPath,
    domain: options.Domain,
    tasks: options.Tasks = 50,
    seed: options.Seed = 0,
    timeout: options.Timeout = 10.0,
    horizon: options.Horizon = None,
    samples_per_step: options.SamplesPerStep = 10,
    abstract_plans: options.AbstractPlans = 8,
    planner: options.PlannerName = DEFAULT_PLANNER,
    execute: options.Execute = OPEN_LOOP,
    skill_failures: options.SkillFailures = 0.0,
    observation_noise: options.ObservationNoise = 0.0,
    parameter_noise: options.ParameterNoise = 0.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for summary, records and plans.")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Solve unseen tasks with a model and check the plans by executing them.

    Records, one per task, are written with --out and printed with --json.
    """
    planning = options.planning_config(timeout, abstract_plans, planner, samples_per_step, horizon)
    execution = options.execution_config(execute, skill_failures, observation_noise, parameter_noise)
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
