"""Interactive players for plans, and matplotlib figures, for notebooks."""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needful.core.atoms import AbstractState
from needful.core.objects import Abbreviated, counted
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import cause_notes, film_strip, make_captions
from needful.evaluation.records import RunRecord
from needful.reports.figure_canvas import report_style
from needful.reports.page.inline_page import AtomList, fill_page
from needful.reports.page.page import make_report, page_asset, player_script
from needful.reports.page.recorded_run import read_run
from needful.reports.page.task_films import FilmSelection, FindEnvironment, film_data, plan_data
from needful.storage.plans import RecordedPlan, record_plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAYER_HEIGHT, PAGE_HEIGHT = 620, 800  # pixels
KEYFRAMES = 1_500  # maximum number in a 3D film
COLOURS = (palette.BLUE, palette.ORANGE, palette.GREEN, palette.PURPLE, palette.RED, palette.GREY)


@dataclass(frozen=True, slots=True, repr=False)
class InlinePage(Abbreviated):
    """A self-contained HTML page that a notebook shows as the output of a cell.

    The page runs in a sandboxed frame, so it cannot read or change the notebook. `page` is the HTML text.
    """

    page: str
    height: int
    title: str

    def _repr_html_(self) -> str:
        source, title = html.escape(self.page), html.escape(self.title)
        return (
            f'<iframe srcdoc="{source}" sandbox="allow-scripts" title="{title}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )


def show_plan(result: PlanningResult, environment: Environment, task: Task) -> InlinePage:
    """Return an interactive player for the plan of one task; a notebook shows it inline.

    If the environment cannot draw its states, the player shows the steps and atoms without pictures.
    """
    page = plan_page(result, environment, task)
    return InlinePage(page, PLAYER_HEIGHT, f"Plan, {result.outcome.value.replace('_', ' ')}")


def plan_page(result: PlanningResult, environment: Environment, task: Task) -> str:
    """Return a self-contained HTML page with an interactive player for the plan of one task."""
    atoms = AtomList()
    plan = record_plan(0, task, result, result.outcome.value)
    operators = {step.operator.name: step.operator.controller for step in result.abstract_plan}
    bounds = {name: (one.low, one.high) for name, one in operators.items()}
    data: dict[str, Any] = {
        "plan": plan_data(plan, atoms, bounds),
        "record": {
            "outcome": result.outcome.value,
            "failure": result.failure.detail if result.failure else None,
            "missing": [],
            "nodes": result.statistics.nodes_created,
            "abstractPlans": result.statistics.abstract_plans,
        },
        **_scene(plan, environment),
        "atoms": atoms.texts(),
    }
    domain, steps = environment.name.replace("-", " ").capitalize(), counted(result.actions, "step")
    outcome = f"Solved in {steps}." if result.solved else ""  # failures have their own box on the page
    texts = {"title": f"{domain} · needful", "heading": domain, "outcome": outcome}
    script = player_script([data["film"]], ("picture.js", "inline.js"))
    return fill_page(page_asset("inline.html"), page_asset("page.css"), script, data, texts)


def _scene(plan: RecordedPlan, environment: Environment) -> dict[str, Any]:
    from needful.reports.page.svg_recorder import StateRenderer

    try:
        renderer = StateRenderer(environment)
        film = film_data(plan, renderer, FilmSelection(frozenset(), keyframes=KEYFRAMES))
    except Exception:  # The environment's drawing code may raise anything.
        return {"film": None, "scene": None}
    return {"film": film, "scene": {"size": renderer.size, **renderer.mark_table.as_json()}}


def show_run(folder: str | Path, find_environment: FindEnvironment = make_environment) -> InlinePage:
    """Return the page about a run folder; a notebook shows it inline."""
    run = read_run(folder)
    return InlinePage(make_report([run], find_environment), PAGE_HEIGHT, f"Run {run.name}")


def plot_state(environment: Environment, state: State, goal: AbstractState = frozenset()) -> Figure:
    """Return a matplotlib figure of a state, as the environment draws it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=environment.picture_size, facecolor=palette.WHITE)
    environment.draw(state, figure.add_axes((0.0, 0.0, 1.0, 1.0)), goal)
    return figure


def plot_plan(result: PlanningResult, environment: Environment, task: Task) -> Figure:
    """Return a matplotlib figure with a picture of each state of a plan.

    If a step failed, the states that its controller reached in several tries are drawn over the state in
    which the step started.
    """
    shown = result.with_missed_step()
    states = shown.states or (task.initial_state,)
    captions = make_captions(shown.steps, shown.expected_atoms(task.goal) or (task.goal,), states)
    captions = (*captions[:-1], replace(captions[-1], notes=cause_notes(result)))
    draws = () if result.failure is None else result.failure.draws
    return film_strip(environment, states, captions, task.goal, draws)


def plot_solved_tasks(records: Sequence[RunRecord] | Mapping[str, Sequence[RunRecord]]) -> Figure:
    """Return a matplotlib figure with the share of tasks solved within a planning time.

    `records` are the records of one run, or the records of several runs by name.
    """
    from matplotlib.figure import Figure

    named = records if isinstance(records, Mapping) else {"": records}
    with report_style():
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.subplots()
        for (name, run), colour in zip(named.items(), itertools.cycle(COLOURS), strict=False):
            times = sorted(record.seconds["total"] for record in run if record.solved)
            shares = [(index + 1) / len(run) for index in range(len(times))]
            axes.step([0.0, *times], [0.0, *shares], where="post", color=colour, label=name or None)
        axes.set(xlabel="planning time (s)", ylabel="share of solved tasks", ylim=(0.0, 1.02))
        if any(named):
            axes.legend()
    return figure


def plot_planning_times(records: Sequence[RunRecord]) -> Figure:
    """Return a matplotlib figure with the planning time of each task; crosses are tasks that failed."""
    from matplotlib.figure import Figure

    with report_style():
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.subplots()
        for solved, marker, colour in ((True, "o", palette.BLUE), (False, "x", palette.RED)):
            chosen = [record for record in records if record.solved == solved]
            axes.plot(
                [record.task for record in chosen],
                [record.seconds["total"] for record in chosen],
                marker,
                color=colour,
                label="solved" if solved else "not solved",
            )
        axes.set(xlabel="task", ylabel="planning time (s)", yscale="log" if records else "linear")
        axes.legend()
    return figure
