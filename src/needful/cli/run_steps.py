"""The steps of a run as separate verbs: `collect`, `learn`, `eval`, and `plan` for a single task."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

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
    count_option,
    execution_config,
    invention_config,
    planning_config,
    require_suffix,
)
from needful.core.failure_causes import explain_failure
from needful.core.objects import counted
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.envs.drawing.film import as_gif, as_mp4, film_plan, import_ffmpeg
from needful.envs.drawing.pictures import as_png
from needful.evaluation.evaluate import make_solve, planning_seed, save_and_report, solve_tasks
from needful.evaluation.execution import OPEN_LOOP, execution_summary
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.pipeline import collect as collect_demonstrations
from needful.evaluation.records import evaluation_summary, run_identity
from needful.evaluation.run_folder import RunFolder, settings_as_json
from needful.evaluation.sources import unused_parts
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.notebook import plan_page, plot_plan
from needful.storage.demonstrations import read_demonstrations, write_demonstrations
from needful.storage.outputs import (
    DEMONSTRATIONS,
    GIF,
    MODEL,
    MP4,
    PAGE,
    PNG,
    check_output_directory,
    check_output_file,
    write_bytes,
)

KINDS = {"picture": PNG, "gif": GIF, "mp4": MP4, "page": PAGE}


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
    return typer.Option(name, callback=require_suffix(*suffixes), help=help_text)


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
    model: ModelPath,
    domain: Domain,
    task: Annotated[int, count_option("--task", "Index of the test task.", least=0)] = 0,
    seed: Seed = 0,
    planner: PlannerName = DEFAULT_PLANNER,
    timeout: Timeout = 10.0,
    horizon: Horizon = None,
    samples_per_step: SamplesPerStep = 10,
    abstract_plans: AbstractPlans = 8,
    picture: PictureFile = None,
    gif: GifFile = None,
    mp4: Mp4File = None,
    page: PageFile = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve one test task and show each step, or the reason for the failure (exit code 1)."""
    drawings = PlanDrawings(picture, gif, mp4, page)
    config = planning_config(timeout, abstract_plans, planner, samples_per_step, horizon)
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
