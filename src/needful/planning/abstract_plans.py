"""Abstract plans for a task: ground the operators, then search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from needful.core.atoms import AbstractState
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, Effort
from needful.planning.budget import Budget
from needful.planning.grounding import ground
from needful.planning.search import Search


def generate_abstract_plans(
    initial: AbstractState,
    goal: AbstractState,
    operators: Sequence[Operator],
    objects: Iterable[Object],
    search: Search,
    budget: Budget,
    seed: int = 0,
) -> Iterator[AbstractPlan]:
    """Yield abstract plans, cheapest first, each computed only when it is asked for.

    There can be infinitely many. The iterator ends when there are no more or the budget is spent;
    whoever must tell the two apart uses `ground` and a `Search` themselves, as `bilevel.plan` does.
    """
    problem = ground(operators, objects, initial, goal, budget)
    if problem is None or not problem.goal_reachable:
        return
    for steps in search(problem, seed, budget, Effort()):
        yield problem.plan(steps)
