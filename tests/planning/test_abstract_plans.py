from __future__ import annotations

import itertools

from fake_clock import FakeClock
from needful.planning.budget import Budget
from needful.planning.engines.a_star import AStar
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Question
from needful.planning.planners import generate_abstract_plans
from planning_problems import Problem, toy_problem


def plans(problem: Problem, budget: Budget, count: int) -> list[str]:
    question = Question(problem.operators, problem.objects, problem.initial, problem.goal)
    found = generate_abstract_plans(question, PythonPlanner(AStar()), budget)
    return [" ".join(map(str, plan)) for plan in itertools.islice(found, count)]


def test_plans_are_in_the_words_of_the_model() -> None:
    first, second = plans(toy_problem(balls=1, jars=1), Budget.unlimited(), 2)
    assert first == "MoveTo(robot, ball0) Grasp(robot, ball0) Drop(robot, ball0, jar0)"
    assert second.count("(") == 4


def test_ends_at_once_without_a_way_to_the_goal() -> None:
    problem = toy_problem()
    without_drop = Problem(problem.operators[:2], problem.objects, problem.initial, problem.goal)
    assert plans(without_drop, Budget.unlimited(), 1) == []


def test_ends_when_time_is_up() -> None:
    assert plans(toy_problem(), Budget.seconds(0.5, clock=FakeClock(tick=1.0)), 1) == []
