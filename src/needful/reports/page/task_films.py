"""What the page tells of each test task: its record, its plan, and a film of the plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from needful.core.atoms import AbstractState
from needful.core.model import Vocabulary
from needful.errors import UnknownNameError
from needful.evaluation.records import RunRecord
from needful.reports.page.recorded_run import RecordedRun
from needful.reports.page.shared_tables import AtomList, run_length_pairs
from needful.storage.plans import RecordedPlan

if TYPE_CHECKING:
    from needful.reports.page.svg_recorder import StateRenderer

# A picture takes some milliseconds to draw, and so many films are more than anybody watches.
MAX_PICTURES = 1_500
ENOUGH_FILMS = 50


@dataclass(frozen=True, slots=True)
class FilmSelection:
    """Which tasks get films, and that every so manieth state of a plan is drawn, the last one always."""

    tasks: frozenset[int]
    every: int = 1


def choose_films(run: RecordedRun) -> FilmSelection:
    """Return what films there are to be of a run: all of them, as long as they are not too many.

    Of many tasks some get films, at most half of them failures if there are solved ones. Of long plans
    not every state is drawn.
    """
    planned = [record for record in run.records if record.task in run.plans]
    pictures = sum(len(run.plans[record.task].states) for record in planned)
    most = len(planned)
    if pictures > MAX_PICTURES and most > ENOUGH_FILMS:
        most = max(ENOUGH_FILMS, MAX_PICTURES * most // pictures)
    failed = [record.task for record in planned if not record.solved]
    solved = [record.task for record in planned if record.solved]
    few = _spread(failed, max(most // 2, most - len(solved)))
    chosen = [*few, *_spread(solved, most - len(few))]
    needed = sum(len(run.plans[task].states) for task in chosen)
    return FilmSelection(frozenset(chosen), max(1, math.ceil(needed / MAX_PICTURES)))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """Return so many of the items, evenly spread over all."""
    count = min(most, len(items))
    return [items[place * len(items) // count] for place in range(count)]


def task_rows(
    run: RecordedRun, atoms: AtomList, easel: StateRenderer | None, films: FilmSelection
) -> list[dict[str, Any]]:
    """Return a row for each task; without an easel there are no films."""
    rows = []
    for record in run.records:
        plan = run.plans.get(record.task)
        row = {**_record(record), "plan": None if plan is None else _plan(plan, atoms), "film": None}
        if plan is not None and easel is not None and record.task in films.tasks:
            row["film"] = _film(plan, easel, films.every)
        rows.append(row)
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


def _plan(plan: RecordedPlan, atoms: AtomList) -> dict[str, Any]:
    end = plan.end
    return {
        "steps": [[step.operator, [obj.name for obj in step.objects]] for step in plan.steps],
        "actions": list(map(str, plan.actions)),
        "goal": atoms.add(plan.goal),
        "subgoals": [atoms.add(subgoal) for subgoal in plan.subgoals],
        "holding": [atoms.add(true) for true in plan.holding],
        "end": end
        and {
            "step": end.step,
            "outcome": end.outcome,
            "detail": end.detail,
            "missing": atoms.add(end.missing),
        },
    }


def _film(plan: RecordedPlan, easel: StateRenderer, every: int) -> dict[str, Any]:
    """Return the pictures of a plan, and the states that they are of."""
    # A goal that was read from a file cannot be looked up in a state; the environment's own can.
    goal = bound_to(plan.goal, easel.environment.vocabulary)
    last = len(plan.states) - 1
    places = [*range(0, last, every), last]
    return {
        "places": places,
        "frames": [run_length_pairs(easel.frame(plan.states[place], goal)) for place in places],
    }


def bound_to(atoms: AbstractState, vocabulary: Vocabulary) -> AbstractState:
    """Return atoms over an environment's own predicates."""
    own = {predicate.name: predicate for predicate in vocabulary.predicates}
    strangers = sorted({atom.predicate.name for atom in atoms} - own.keys())
    if strangers:
        raise UnknownNameError("predicate", strangers[0], own)
    return frozenset(own[atom.predicate.name](*atom.objects) for atom in atoms)
