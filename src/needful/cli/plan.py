"""`needful plan`: one task, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from needful.cli.chosen_environment import chosen_environment
from needful.cli.console import FAILED, complain, progress_bars, reporting_errors, say, say_json
from needful.cli.describe import describe_failure, describe_plan
from needful.cli.options import (
    AbstractPlans,
    AsJson,
    Domain,
    Force,
    ModelPath,
    PlannerName,
    Seed,
    Timeout,
    ending_in,
)
from needful.cli.plan_drawings import PlanDrawings
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Split
from needful.evaluation.evaluate import planning_seed
from needful.evaluation.learned_files import open_solver
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import DEFAULT_PLANNER, make_planner


@reporting_errors
def plan_task(
    model: ModelPath,
    domain: Domain,
    task: Annotated[int, typer.Option("--task", min=0, help="The number of the test task.")] = 0,
    seed: Seed = 0,
    timeout: Timeout = 10.0,
    abstract_plans: AbstractPlans = 8,
    planner: PlannerName = DEFAULT_PLANNER,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            callback=ending_in(".png"),
            help="Draw the plan as a film strip into this PNG file.",
        ),
    ] = None,
    gif: Annotated[
        Path | None,
        typer.Option("--gif", callback=ending_in(".gif"), help="Animate the plan in this GIF file."),
    ] = None,
    mp4: Annotated[
        Path | None,
        typer.Option("--mp4", callback=ending_in(".mp4"), help="Film the plan in this MP4 file."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            callback=ending_in(".html", ".htm"),
            help="Show the plan in 3D in this HTML file; for household domains.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve one test task and show each step, or the reason why it fails (then exit code 1)."""
    drawings = PlanDrawings(picture, gif, mp4, page)
    config = PlanningConfig(
        timeout=timeout, max_abstract_plans=abstract_plans, planner=make_planner(planner)
    )
    result = None
    try:
        with chosen_environment(domain) as environment:
            solve = open_solver(model, environment, config).solve
            drawings.check(environment, force)
            chosen = environment.task(Split.TEST, task, seed)
            with progress_bars() as progress:
                progress.stage("Planning")
                result = solve(chosen, planning_seed(seed, environment.name, task))
            if drawings.wanted and result.states:
                drawings.write(environment, chosen, result)
    finally:
        if result is not None:  # what was found is told even if it cannot be drawn
            _tell(result, chosen, as_json)
    if drawings.wanted and not result.states:
        complain("warning: nothing was drawn: planning ended before the first step.")
    elif drawings.wanted and not as_json:
        say(f"Drew {' and '.join(map(str, drawings.wanted.values()))}.")
    if not result.solved:
        raise typer.Exit(FAILED)


def _tell(result: PlanningResult, task: Task, as_json: bool) -> None:
    if as_json:
        say_json(_as_json(result))
    else:
        say(f"Goal: {', '.join(map(str, sorted(task.goal)))}")
        say(describe_plan(result))


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
