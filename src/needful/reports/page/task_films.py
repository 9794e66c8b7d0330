"""The data that the HTML page shows per task: outcome and statistics, plan, and pictures of its states.

A `RendererCache` makes the renderers that draw these pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from needful.core.atoms import AbstractState
from needful.core.controllers import Parameters
from needful.core.model import Vocabulary
from needful.core.plans import best_draw
from needful.envs.contract import Environment
from needful.envs.drawing.film import Filmable, FilmedPlan
from needful.envs.drawing.tries import MAX_DRAWN_TRIES, draws_data, group_draws
from needful.errors import InvalidInputError, UnknownNameError
from needful.evaluation.records import RunRecord
from needful.reports.page.inline_page import AtomList, run_length_pairs
from needful.reports.page.recorded_run import RecordedRun
from needful.storage.plans import RecordedPlan

if TYPE_CHECKING:
    from needful.reports.page.svg_recorder import StateRenderer

# The lower and the upper bounds of a controller's parameters.
Bounds: TypeAlias = tuple[Parameters, Parameters]
# A function that returns the environment of a domain; it raises `InvalidInputError` if there is none.
FindEnvironment: TypeAlias = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class FilmLimits:
    """Limits on the films of a run; a film is a sequence of pictures of the states of one plan.

    Attributes:
        pictures: the number of pictures that all films together may have; each takes some milliseconds.
        films: this many films are made even if their plans together have more than `pictures` states; some
            states are then not drawn.
        films_3d: the maximum number of films if the domain has 3D films; each takes about a second.
        keyframes: the maximum number of moments that a 3D film shows besides the states of the plan.
    """

    pictures: int = 1_000
    films: int = 50
    films_3d: int = 10
    keyframes: int = 300


# The page that `needful run` writes has fewer films (sequences of pictures) than that of `needful report`:
# drawing them should not take longer than the run itself.
RUN_FILMS = FilmLimits(pictures=80, films=5)


@dataclass(frozen=True, slots=True)
class FilmSelection:
    """The numbers of the tasks that get films; a film is a sequence of pictures of a plan's states.

    A film shows every `stride`-th state of the plan, and always the last state. A 3D film shows all states
    and, between them, at most `keyframes` further moments of the execution.
    """

    tasks: frozenset[int]
    stride: int = 1
    keyframes: int = 0


def choose_films(run: RecordedRun, limits: FilmLimits, in_3d: bool = False) -> FilmSelection:
    """Choose the tasks of a run whose plans are shown as films (sequences of pictures of their states).

    Only tasks with plans are candidates. All candidates are chosen if their plans together have at most
    `limits.pictures` states, or if there are at most `limits.films` candidates. Otherwise fewer are chosen,
    but at least `limits.films`. If the chosen plans still have more than `limits.pictures` states, only
    every `stride`-th state is drawn. At most half of the chosen tasks are failed ones, unless there are too
    few solved ones. With `in_3d`, at most `limits.films_3d` tasks are chosen, and all states are shown.
    """
    planned = [record for record in run.records if record.task in run.plans]
    pictures = sum(len(run.plans[record.task].states) for record in planned)
    most = len(planned)
    if in_3d:
        most = min(most, limits.films_3d)
    elif pictures > limits.pictures and most > limits.films:
        most = max(limits.films, limits.pictures * most // pictures)
    failed = [record.task for record in planned if not record.solved]
    solved = [record.task for record in planned if record.solved]
    shown_failed = _spread(failed, max(most // 2, most - len(solved)))
    chosen = [*shown_failed, *_spread(solved, most - len(shown_failed))]
    if in_3d:
        return FilmSelection(frozenset(chosen), keyframes=limits.keyframes)
    needed = sum(len(run.plans[task].states) for task in chosen)
    return FilmSelection(frozenset(chosen), max(1, math.ceil(needed / limits.pictures)))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """Return at most `most` items, evenly spaced over the whole sequence."""
    count = min(most, len(items))
    return [items[number * len(items) // count] for number in range(count)]


def task_rows(
    run: RecordedRun,
    atoms: AtomList,
    renderer: StateRenderer | None,
    films: FilmSelection,
    report: Callable[[int], None] = lambda done: None,
) -> list[dict[str, Any]]:
    """Return one JSON object per task: outcome and statistics, plan and film.

    The film is None if the task is not in `films` or if there is no renderer. `report` is called with the
    number of finished tasks after each task.
    """
    operators = () if run.model is None else run.model.stored.model.operators
    bounds = {one.name: (one.controller.low, one.controller.high) for one in operators}
    rows = []
    for record in run.records:
        plan = run.plans.get(record.task)
        row = {
            **_record(record),
            "plan": None if plan is None else plan_data(plan, atoms, bounds),
            "film": None,
        }
        if plan is not None and renderer is not None and record.task in films.tasks:
            row["film"] = film_data(plan, renderer, films)
        rows.append(row)
        report(len(rows))
    return rows


def _record(record: RunRecord) -> dict[str, Any]:
    return {
        "task": record.task,
        "outcome": record.outcome,
        "seconds": {stage: float(f"{value:.3g}") for stage, value in record.seconds.items()},
        "nodes": record.nodes_created,
        "expanded": record.nodes_expanded,
        "abstractPlans": record.abstract_plans,
        "samples": record.samples,
        "length": record.plan_length,
        "objects": record.objects,
        "failure": record.failure,
        "missing": list(record.missing),
    }


def plan_data(plan: RecordedPlan, atoms: AtomList, bounds: Mapping[str, Bounds]) -> dict[str, Any]:
    """Return the data of a plan as JSON values.

    A subgoal is the set of atoms that must hold after a step. The entry `holding` has one list per state:
    the atoms of the goal and of all subgoals that hold in this state. If a step failed and its controller
    ran, the last list is for the state after the best try: the one after which the fewest atoms of the
    step's subgoal were missing.
    """
    end = plan.end
    landed = end is not None and end.best_draw is not None
    return {
        "steps": [[step.operator, [obj.name for obj in step.objects]] for step in plan.steps],
        "actions": list(map(str, plan.actions)),
        "goal": atoms.add(plan.goal),
        "subgoals": [atoms.add(subgoal) for subgoal in plan.subgoals],
        "holding": [
            atoms.add(true) for true in (*plan.holding, *([end.holding] if end and landed else ()))
        ],
        "cause": plan.cause and [plan.cause.cause, plan.cause.advice],
        "end": end
        and {
            "step": end.step,
            "outcome": end.outcome,
            "detail": end.detail,
            "missing": atoms.add(end.missing),
            "landed": landed,
            "draws": draws_data(
                end.draws,
                bounds.get(plan.steps[end.step].operator) if end.step < len(plan.steps) else None,
                end.unlisted,
            ),
        },
    }


def film_data(plan: RecordedPlan, renderer: StateRenderer, films: FilmSelection) -> dict[str, Any]:
    """Return the data of a film: pictures of some states of a plan with their indices, or a 3D film.

    If a step failed and its controller ran, the last picture shows the state after the best try of the step
    (see `best_draw`). The entry `tries` has, for each try, the drawn items that are not in the
    picture before the step.
    """
    if isinstance(renderer.environment, Filmable):
        draws = () if plan.end is None else plan.end.draws
        filmed = FilmedPlan(plan.states, plan.actions, plan.goal, draws)
        return renderer.environment.film_3d(filmed, films.keyframes)
    # Predicates that were read from a file have no classifiers, so use the environment's predicates.
    goal = bound_to(plan.goal, renderer.environment.vocabulary)
    last = len(plan.states) - 1
    indices, states = [*range(0, last, films.stride), last], list(plan.states)
    draws = () if plan.end is None else plan.end.draws
    best = best_draw(draws)
    if best is not None and best.state is not None:
        indices.append(last + 1)
        states.append(best.state)
    frames = [renderer.frame(states[index], goal) for index in indices]
    tries = []
    if best is not None:
        before = frozenset(frames[-2])
        groups, _ = group_draws(draws)
        shown = [(number, draw) for number, draw in enumerate(draws) if draw.state is not None]
        for number, draw in shown[:MAX_DRAWN_TRIES]:
            assert draw.state is not None
            moved = [mark for mark in renderer.frame(draw.state, goal) if mark not in before]
            tries.append([groups[number], run_length_pairs(moved), number])
    return {"places": indices, "frames": [run_length_pairs(frame) for frame in frames], "tries": tries}


def bound_to(atoms: AbstractState, vocabulary: Vocabulary) -> AbstractState:
    """Return the atoms with each predicate replaced by the predicate of the same name in `vocabulary`."""
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    unknown = sorted({atom.predicate.name for atom in atoms} - predicates.keys())
    if unknown:
        raise UnknownNameError("predicate", unknown[0], predicates)
    return frozenset(predicates[atom.predicate.name](*atom.objects) for atom in atoms)


@dataclass(frozen=True, slots=True)
class RendererCache:
    """Creates one renderer per domain, on demand, to draw the states of its tasks.

    If the states of a domain cannot be drawn, `renderers` has the reason as a text instead of a renderer.
    """

    find_environment: FindEnvironment
    limits: FilmLimits
    renderers: dict[str, StateRenderer | str] = field(default_factory=dict)

    def renderer(self, domain: str) -> StateRenderer | str:
        """Return the renderer of a domain, or the reason why there is none."""
        if domain not in self.renderers:
            self.renderers[domain] = self._make_renderer(domain)
        return self.renderers[domain]

    def disable(self, domain: str, reason: str) -> None:
        """Replace the renderer of a domain by the reason why it cannot be used."""
        self.renderers[domain] = reason

    def as_json(self) -> dict[str, Any]:
        """Return, for each domain with a renderer, the size of its pictures and its `MarkTable`."""
        return {
            domain: {"size": renderer.size, **renderer.mark_table.as_json()}
            for domain, renderer in self.renderers.items()
            if not isinstance(renderer, str)
        }

    def _make_renderer(self, domain: str) -> StateRenderer | str:
        from needful.reports.page.svg_recorder import StateRenderer

        try:
            return StateRenderer(self.find_environment(domain))
        except InvalidInputError as error:
            return str(error)
