"""`needful plan`: solve one task, and show or draw the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from needful.approaches.files import load_solver
from needful.cli import console, options
from needful.cli.environments import chosen_environment
from needful.core.failure_causes import explain_failure
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.envs.drawing.film import as_gif, as_mp4, film_plan, import_ffmpeg
from needful.envs.drawing.pictures import as_png
from needful.evaluation.evaluate import planning_seed
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.notebook import plan_page, plot_plan
from needful.storage.outputs import GIF, MP4, PAGE, PNG, check_output_file, write_bytes

KINDS = {"picture": PNG, "gif": GIF, "mp4": MP4, "page": PAGE}


@dataclass(frozen=True, slots=True)
class PlanDrawings:
    """The paths of the drawings of a plan, from the options --picture, --gif, --mp4 and --page.

    A path is None if its option is not given.
    """

    picture: Path | None = None
    gif: Path | None = None
    mp4: Path | None = None
    page: Path | None = None

    @property
    def requested(self) -> dict[str, Path]:
        """The names of the options that are given, each with the path of its file."""
        paths = {field.name: getattr(self, field.name) for field in fields(self)}
        return {option: path for option, path in paths.items() if path is not None}

    def check(self, force: bool) -> None:
        """Raise if a requested drawing cannot be made or its file cannot be written.

        Call this before planning, so that the user does not wait for a plan that cannot be drawn.
        """
        if self.mp4 is not None:
            import_ffmpeg()
        for option, path in self.requested.items():
            check_output_file(path, KINDS[option], force)

    def write(self, environment: Environment, task: Task, result: PlanningResult) -> None:
        """Write the requested drawings.

        All drawings are made before the first file is written, so that an error while drawing leaves no
        files.
        """
        # Cached, so that the frames are rendered only once for the GIF and the MP4.
        film = cache(lambda: film_plan(environment, result, task.goal))
        makers: dict[str, Callable[[], bytes]] = {
            "picture": lambda: as_png(plot_plan(result, environment, task)),
            "gif": lambda: as_gif(film()),
            "mp4": lambda: as_mp4(film()),
            "page": lambda: plan_page(result, environment, task).encode(),
        }
        drawn = [(path, makers[option]()) for option, path in self.requested.items()]
        for path, data in drawn:
            write_bytes(path, data)


def _drawing(name: str, suffixes: Sequence[str], help_text: str) -> Any:
    return typer.Option(name, callback=options.require_suffix(*suffixes), help=help_text)


PictureFile: TypeAlias = Annotated[
    Path | None, _drawing("--picture", [".png"], "Draw the plan as a film strip in this PNG file.")
]
GifFile: TypeAlias = Annotated[
    Path | None, _drawing("--gif", [".gif"], "Animate the plan in this GIF file.")
]
Mp4File: TypeAlias = Annotated[Path | None, _drawing("--mp4", [".mp4"], "Film the plan in this MP4 file.")]
PageFile: TypeAlias = Annotated[
    Path | None,
    _drawing("--page", [".html", ".htm"], "Play the plan on this HTML page; in 3D for household domains."),
]


@console.reporting_errors
def plan_task(
    model: options.ModelPath,
    domain: options.Domain,
    task: Annotated[int, options.count_option("--task", "Index of the test task.", least=0)] = 0,
    seed: options.Seed = 0,
    planner: options.PlannerName = DEFAULT_PLANNER,
    timeout: options.Timeout = 10.0,
    horizon: options.Horizon = None,
    samples_per_step: options.SamplesPerStep = 10,
    abstract_plans: options.AbstractPlans = 8,
    picture: PictureFile = None,
    gif: GifFile = None,
    mp4: Mp4File = None,
    page: PageFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Solve one test task and show each step, or the reason for the failure (exit code 1)."""
    drawings = PlanDrawings(picture, gif, mp4, page)
    config = options.planning_config(timeout, abstract_plans, planner, samples_per_step, horizon)
    result = None
    try:
        with chosen_environment(domain) as environment:
            solve = load_solver(model, environment, config).solve
            drawings.check(force)
            chosen = environment.task(Split.TEST, task, seed)
            with console.progress_bars() as progress:
                progress.stage("Planning")
                result = solve(chosen, planning_seed(seed, environment.name, task))
            if drawings.requested and result.states:
                drawings.write(environment, chosen, result)
    finally:
        if result is not None:  # print the plan even if drawing fails
            _print_plan(result, chosen, as_json)
    if drawings.requested and not result.states:
        console.print_stderr("warning: nothing was drawn, because planning failed before the first step.")
    elif drawings.requested and not as_json:
        console.print_result(f"Drew {' and '.join(map(str, drawings.requested.values()))}.")
    if not result.solved:
        raise typer.Exit(console.FAILED)


def _print_plan(result: PlanningResult, task: Task, as_json: bool) -> None:
    if as_json:
        console.print_json(_as_json(result))
    else:
        console.print_result(f"Goal: {', '.join(map(str, sorted(task.goal)))}")
        console.print_result(console.describe_plan(result))


def _as_json(result: PlanningResult) -> dict[str, Any]:
    explained = explain_failure(result)
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
        "failure": None if result.solved else console.describe_failure(result),
        "cause": None if explained is None else explained.cause,
        "advice": None if explained is None else explained.advice,
        "missing": list(map(str, result.missing_atoms)),
        "suspects": [
            {"operator": str(one.operator), "missing": list(map(str, one.missing)), "tries": one.tries}
            for one in result.suspects
        ],
        **({"ignored": list(map(str, result.ignored))} if result.ignored else {}),
    }
