"""Details of failures that are computed after planning, because only a report of the failure needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.core.atoms import GroundAtom
from needful.core.controllers import GroundController
from needful.core.operators import Operator
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import AbstractTask
from needful.planning.budget import Budget
from needful.planning.interfaces import Planner


def unreachable_atoms(
    task: AbstractTask, operators: Sequence[Operator], planner: Planner, budget: Budget
) -> tuple[GroundAtom, ...]:
    """Return the goal atoms that no sequence of operators makes true, even if deletes are ignored.

    Atoms that are not tested before the budget is used up are left out.
    """
    found = []
    for atom in sorted(task.goal):
        problem = planner(operators, replace(task, goal=frozenset({atom})), budget)
        if problem is not None and not problem.goal_reachable:
            found.append(atom)
    return tuple(found)


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
