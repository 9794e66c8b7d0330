"""Details of failures that are computed after planning, because only a report of the failure needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.core.atoms import GroundAtom
from needful.core.controllers import GroundController
from needful.core.operators import Operator
from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.planning.budget import Budget
from needful.planning.interfaces import Planner, Problem

# A goal atom is searched for with at most this many nodes, so that a failed task takes little more time.
MAX_NODES = 2_000


def add_failure_details(
    result: PlanningResult,
    task: AbstractTask,
    operators: Sequence[Operator],
    planner: Planner,
    budget: Budget,
) -> PlanningResult:
    """Return a result with its unreachable goal atoms or with the reasons of its rejected draws."""
    if result.failure is not None:
        return explain_rejections(result)
    if result.outcome is not Outcome.NO_ABSTRACT_PLAN:
        return result
    return replace(result, unreachable=unreachable_atoms(task, operators, planner, budget))


def unreachable_atoms(
    task: AbstractTask, operators: Sequence[Operator], planner: Planner, budget: Budget
) -> tuple[GroundAtom, ...]:
    """Return the goal atoms that no sequence of operators makes true, each by itself.

    An atom is left out if this is not proved with `MAX_NODES` search nodes or before the deadline.
    """
    limited = replace(budget, max_nodes=MAX_NODES)
    problems = {
        atom: planner(operators, replace(task, goal=frozenset({atom})), limited)
        for atom in sorted(task.goal)
    }
    return tuple(
        atom
        for atom, problem in problems.items()
        if problem is not None and not (problem.goal_reachable and _may_have_plan(problem, limited))
    )


def _may_have_plan(problem: Problem, budget: Budget) -> bool:
    """Return whether a problem has a plan, or the search for one was not completed."""
    stream = problem.plans(0, budget, SearchStatistics())
    return next(stream, None) is not None or stream.end_reason is not Outcome.NO_ABSTRACT_PLAN


def explain_rejections(result: PlanningResult) -> PlanningResult:
    """Return a result whose rejected draws have the reasons of the initiation test, if it gives reasons."""
    failure = result.failure
    if failure is None or failure.operator is None:
        return result
    controller, objects = failure.operator.operator.controller, failure.operator.controller_objects
    before = result.states[-1]  # the state in which the failed step started
    draws = []
    for draw in failure.draws:
        if draw.outcome is Outcome.NOT_INITIABLE:
            action = GroundController(controller, objects, draw.parameters)
            draw = replace(draw, reason=action.rejection_reason(before) or "")
        draws.append(draw)
    return replace(result, failure=replace(failure, draws=tuple(draws)))
