"""Abstract plans for a task: ground the operators, then search."""

from __future__ import annotations

from collections.abc import Iterator

from needful.core.plans import AbstractPlan, Effort
from needful.planning.budget import Budget
from needful.planning.planner import Planner, Question
from needful.planning.planners import default_planner


def generate_abstract_plans(
    question: Question, planner: Planner | None = None, budget: Budget | None = None, seed: int = 0
) -> Iterator[AbstractPlan]:
    """Yield abstract plans, each computed only when it is asked for.

    There can be infinitely many. The iterator ends when there are no more or the budget is spent;
    whoever must tell the two apart uses a `Planner` themselves, as `bilevel.plan` does.
    """
    budget = budget or Budget.unlimited()
    problem = (planner or default_planner())(question, budget)
    if problem is None or not problem.goal_reachable:
        return
    for steps in problem.plans(seed, budget, Effort()):
        yield problem.plan(steps)
