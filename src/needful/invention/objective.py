"""Score a vocabulary: plan from every state of some demonstrations, and compare plans and demonstrations.

If a model lacks a predicate, its operators lack preconditions, and its plans are too short. Each plan is
compared with a suffix of the demonstration: its rest, from the state in which the plan starts. Because
there is a plan from every state, a single predicate improves the score even if others are still missing: it
corrects the plans from some states. Search is limited by nodes, not by seconds, so a score does not depend
on the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Budget, Deadline
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask
from needful.planning.interfaces import Planner
from needful.planning.planners import generate_abstract_plans

# The cost of a plan is the difference between its length and the length of the rest of the demonstration.
# If the plan is longer than the rest, `TOO_LONG` is added. If the lengths are equal, but the actions
# differ, the cost is `OTHER_ACTIONS`. If there is no plan, the cost is the length of the rest plus
# `NO_PLAN`.
NO_PLAN, TOO_LONG, OTHER_ACTIONS = 3.0, 0.3, 0.5
# A model with more ground operators than this is treated as a model that finds no plan.
MAX_GROUND_OPERATORS = 5_000


@dataclass(frozen=True, slots=True)
class Suffix:
    """The rest of a demonstration from one of its states on, and a model's plan from the same state.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the state in which the plan starts.
        plan: the plan; None if there is none within the limit of nodes.
        cost: the penalty for the difference between the plan and the rest of the demonstration.
    """

    demonstration: int
    step: int
    plan: AbstractPlan | None
    cost: float

    def suspicious(self, demonstration: Demonstration) -> bool:
        """Return whether the plan differs from the rest of the demonstration, but is not longer.

        An operator in such a plan may lack a precondition.
        """
        return bool(self.plan) and self.cost > 0 and len(self.plan or ()) <= len(demonstration) - self.step


def plan_suffixes(
    operators: Sequence[Operator],
    demonstrations: Sequence[Demonstration],
    indices: Sequence[int],
    planner: Planner,
    max_nodes: int,
    stop_above: float = float("inf"),
    deadline: Deadline = NO_DEADLINE,
) -> tuple[Suffix, ...]:
    """Plan from every state of the demonstrations with the given indices.

    Ends early when the total cost exceeds `stop_above`.
    """
    found: list[Suffix] = []
    total = 0.0
    for index in indices:
        demonstration = demonstrations[index]
        for step in reversed(range(len(demonstration))):
            deadline.check()
            plan = _first_plan(operators, demonstration, step, planner, max_nodes)
            suffix = Suffix(index, step, plan, _cost(plan, demonstration, step))
            found.append(suffix)
            total += suffix.cost
            if total > stop_above:
                return tuple(found)
    return tuple(found)


def _first_plan(
    operators: Sequence[Operator], demonstration: Demonstration, step: int, planner: Planner, max_nodes: int
) -> AbstractPlan | None:
    task = AbstractTask(demonstration.objects, demonstration.abstract_states[step], demonstration.goal)
    budget = Budget(float("inf"), max_nodes, max_ground_operators=MAX_GROUND_OPERATORS)
    return next(generate_abstract_plans(operators, task, planner, budget), None)


def _cost(plan: AbstractPlan | None, demonstration: Demonstration, step: int) -> float:
    rest = demonstration.actions[step:]
    if plan is None:
        return len(rest) + NO_PLAN
    if len(plan) < len(rest):
        return float(len(rest) - len(plan))
    if len(plan) > len(rest):
        return len(plan) - len(rest) + TOO_LONG
    same = Counter((o.operator.controller.name, o.controller_objects) for o in plan) == Counter(
        (action.controller.name, action.objects) for action in rest
    )
    return 0.0 if same else OTHER_ACTIONS
