"""`needful eval`: solve test tasks with a learned model or policy."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from needful.approaches.files import load_solver, model_digest, model_directory
from needful.cli.console import (
    check_paths_disjoint,
    print_json,
    print_result,
    progress_bars,
    reporting_errors,
)
from needful.cli.describe import describe_evaluation
from needful.cli.environments import chosen_environment
from needful.cli.options import (
    AbstractPlans,
    AsJson,
    Domain,
    Force,
    ModelPath,
    PlannerName,
    Seed,
    Tasks,
    Timeout,
    planning_config,
)
from needful.evaluation.pipeline import solve_tasks
from needful.evaluation.records import evaluation_summary, run_identity
from needful.evaluation.run_folder import RunFolder
from needful.planning.planners import DEFAULT_PLANNER


@reporting_errors
def evaluate_model(
    model: ModelPath,
    domain: Domain,
    tasks: Tasks = 50,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    abstract_plans: AbstractPlans = 8,
    planner: PlannerName = DEFAULT_PLANNER,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for summary, records and plans.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve unseen tasks with a model and check the plans by executing them.

    Records, one per task, are written with --out and printed with --json.
    """
    planning = planning_config(timeout, abstract_plans, planner)
    with chosen_environment(domain) as environment, progress_bars() as progress:
        solver = load_solver(model, environment, planning)
        identity = run_identity(environment.name, solver.approach, seed, planning, model_digest(model))
        if out is not None:
            check_paths_disjoint(model_directory(model), out)
        with nullcontext() if out is None else RunFolder.replacing(out, force) as folder:
            evaluation = solve_tasks(
                solver.solve, environment, tasks, planning.horizon, identity, folder, progress
            )
            summary = {
                "domain": environment.name,
                "learner": solver.approach,
                "seed": seed,
                "operators": solver.operator_count,
                **evaluation_summary(evaluation.records),
            }
            if folder is not None:
                folder.save_summary(summary)
    if as_json:
        records = [json.loads(record.to_json()) for record in evaluation.records]
        print_json({**summary, "records": records})
        return
    print_result(describe_evaluation(summary))
    if out is not None:
        print_result(f"Results: {out}/ (summary.json, records.jsonl, plans.jsonl.gz)")
