"""`needful plan`: one task, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from needful.cli.console import FAILED, reporting_errors, say, say_json
from needful.cli.describe import describe_failure, describe_plan
from needful.cli.options import AbstractPlans, AsJson, Domain, Force, ModelPath, Seed, Timeout
from needful.core.plans import PlanningResult
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.evaluation.evaluate import planning_seed
from needful.evaluation.model_files import open_model
from needful.planning.bilevel import PlanningConfig, plan
from needful.storage.atomic import check_output, write_bytes


@reporting_errors
def plan_task(
    model: ModelPath,
    domain: Domain,
    task: Annotated[int, typer.Option("--task", min=0, help="The number of the test task.")] = 0,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    abstract_plans: AbstractPlans = 8,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the plan as a film strip into this PNG file.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve one test task and show each step, or the reason why it fails (then exit code 1)."""
    environment = make_environment(domain)
    bound = open_model(model).model.bound_to(environment.vocabulary)
    if picture is not None:
        check_output(picture, force)
    chosen = environment.tasks(Split.TEST, task + 1, seed)[task]
    config = PlanningConfig(timeout=timeout, max_abstract_plans=abstract_plans)
    result = plan(chosen, bound, environment.execute, config, planning_seed(seed, domain, task))
    if as_json:
        say_json(_as_json(result))
    else:
        say(f"Goal: {', '.join(map(str, sorted(chosen.goal)))}")
        say(describe_plan(result))
    if picture is not None:
        from needful.envs.drawing.pictures import captions_of, draw_film_strip  # imports matplotlib

        captions = captions_of(result.abstract_plan, result.subgoals, result.states)
        write_bytes(picture, draw_film_strip(environment, result.states, captions, chosen.goal))
    if not result.solved:
        raise typer.Exit(FAILED)


def _as_json(result: PlanningResult) -> dict[str, Any]:
    return {
        "outcome": result.outcome.value,
        "plan": [str(operator) for operator in result.abstract_plan],
        "actions": [
            {
                "controller": action.controller.name,
                "objects": [obj.name for obj in action.objects],
                "params": list(action.parameters),
            }
            for action in result.actions
        ],
        "subgoals": [sorted(map(str, subgoal)) for subgoal in result.subgoals],
        "failure": None if result.solved else describe_failure(result),
        "missing": [str(atom) for atom in result.failure.missing] if result.failure else [],
    }
