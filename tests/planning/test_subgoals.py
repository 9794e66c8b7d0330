from __future__ import annotations

from hypothesis import given, settings

from needful.core.limits import Budget
from needful.core.plans import SearchStatistics
from needful.planning.bilevel import necessary_subgoals, predicted_subgoals
from needful.planning.engines.searches import AStar
from planning_problems import Problem, negated, problems, toy_problem


def test_by_hand() -> None:
    problem = toy_problem(balls=2, jars=1)
    compact = problem.grounded()
    plan = compact.plan(next(AStar()(compact, 0, Budget.unlimited(), SearchStatistics())))
    necessary = necessary_subgoals(plan, problem.initial, problem.goal)
    predicted = predicted_subgoals(plan, problem.initial, problem.goal)
    assert [sorted(map(str, atoms)) for atoms in necessary] == [
        ["HandFree(robot)"],
        ["HandFree(robot)", "Near(robot, ball0)"],
        ["Holding(robot, ball0)"],
        ["Inside(ball0, jar0)"],
    ]
    assert [sorted(map(str, atoms)) for atoms in predicted] == [
        ["HandFree(robot)"],
        ["HandFree(robot)", "Near(robot, ball0)"],
        ["Holding(robot, ball0)", "Near(robot, ball0)"],
        ["HandFree(robot)", "Inside(ball0, jar0)", "Near(robot, ball0)"],
    ]


@settings(max_examples=150, deadline=None)
@given(negated(problems()))
def test_necessary_atoms_are_predicted(problem: Problem) -> None:
    """α_i ⊆ ŝ_i at every step, and the first and last sets fit the task."""
    compact = problem.grounded()
    steps = next(AStar()(compact, 0, Budget.unlimited(), SearchStatistics()), None)
    if steps is None:
        return
    plan = compact.plan(steps)
    necessary = necessary_subgoals(plan, problem.initial, problem.goal)
    predicted = predicted_subgoals(plan, problem.initial, problem.goal)
    assert len(necessary) == len(predicted) == len(plan) + 1
    assert (necessary[-1], predicted[0]) == (problem.goal, problem.initial)
    assert all(few <= many for few, many in zip(necessary, predicted, strict=True))
