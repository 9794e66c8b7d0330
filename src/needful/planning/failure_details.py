"""Add details to failed results. They are computed after planning, because only reports need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.core.atoms import GroundAtom
from needful.core.controllers import GroundController
from needful.core.limits import Budget
from needful.core.operators import Operator
from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.planning.interfaces import Planner, Problem

# The maximum number of nodes in the search for one goal atom. The limit is small, so that a failed task
# takes only a little more time.
MAX_NODES = 2_000


def add_failure_details(
    result: PlanningResult,
    task: AbstractTask,
    operators: Sequence[Operator],
    planner: Planner,
    budget: Budget,
) -> PlanningResult:
    """Return the result with the details that explain its failure.

    If a refinement failed, these are the reasons why draws were rejected. If there is no abstract plan,
    these are the unreachable goal atoms. Other results are returned unchanged.
    """
    if result.failure is not None:
        return explain_rejections(result)
    if result.outcome is not Outcome.NO_ABSTRACT_PLAN:
        return result
    return replace(result, unreachable=unreachable_atoms(task, operators, planner, budget))


def unreachable_atoms(
    task: AbstractTask, operators: Sequence[Operator], planner: Planner, budget: Budget
) -> tuple[GroundAtom, ...]:
    """Return the goal atoms that are unreachable even as the only goal.

    An atom is left out if this is not proved before the deadline and with at most `MAX_NODES` search nodes.
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
    """Return False if the search proves that the problem has no plan, else True."""
    stream = problem.plans(0, budget, SearchStatistics())
    return next(stream, None) is not None or stream.end_reason is not Outcome.NO_ABSTRACT_PLAN


def explain_rejections(result: PlanningResult) -> PlanningResult:
    """Return the result with the reasons why draws were rejected, if the initiation test gives any."""
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
