"""The engine in C++ returns what the one in Python does: plans, their order, outcomes and counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

import families
from engine_answers import Both
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.engines.a_star import AStar
from needful.planning.engines.greedy import Greedy
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Question
from needful.planning.portfolio import Policy, Stage, anytime_portfolio, greedy_portfolio, paper_portfolio
from planning_problems import (
    Problem,
    random_problem,
    random_problem_with_twins,
    random_propositional_problem,
)

POLICIES = {
    "paper": paper_portfolio(),
    "weight 2": Policy((Stage(AStar(weight=2)),)),
    "symmetries": Policy((Stage(AStar(symmetries=True)),)),
    "greedy": Policy((Stage(Greedy()),)),
    "greedy with symmetries": Policy((Stage(Greedy(symmetries=True)),)),
    "distinct": Policy((Stage(AStar()),), distinct=True),
    "distinct greedy with symmetries": greedy_portfolio(),
    "stages": Policy(
        (
            Stage(AStar(symmetries=True), work=300),
            Stage(AStar(weight=3), work=200),
            Stage(Greedy(symmetries=True)),
        )
    ),
    "distinct stages": Policy(
        (Stage(Greedy(), work=100), Stage(AStar(weight=2, symmetries=True), work=1000), Stage(AStar())),
        distinct=True,
    ),
}
DOMAINS = ["cluttered-1d", "cluttered-painting", "cluttered-satellites", "painting", "satellites", "screws"]


def random_problems(first: int, count: int) -> list[Problem]:
    """Problems of three kinds, in turn."""
    kinds: list[Callable[[int], Problem]] = [
        random_problem_with_twins,
        lambda seed: random_problem(seed, max_objects=4),
        random_propositional_problem,
    ]
    return [kinds[seed % 3](seed) for seed in range(first, first + count)]


EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def agree(question: Question, policy: Policy, max_nodes: int, count: int, failures: int = 0) -> int:
    """Compare answers to a question, and after each of some failures that seem to be discovered.

    Returns how many plans were the same.
    """
    random, compared = Random(0), 0
    problem = Both.of(question, policy)
    for seed in range(failures + 1):
        found = problem.answers(seed, max_nodes, count)
        compared += len(found.steps)
        taken = [step for steps in found.steps for step in steps]
        if not taken or not question.objects:
            break
        offending = random.choices(sorted(question.objects), k=2)
        problem = problem.with_failure(random.choice(taken), offending)
    return compared


@EVERY_POLICY
def test_on_random_problems(policy: Policy) -> None:
    compared = [
        agree(problem.question(), policy, max_nodes=150, count=8, failures=2)
        for problem in random_problems(0, 330)
    ]
    assert sum(plans > 2 for plans in compared) > 100


@EVERY_POLICY
def test_without_noops(policy: Policy) -> None:
    for problem in random_problems(1000, 60):
        agree(problem.question(allow_noops=False), policy, max_nodes=80, count=3)


@EVERY_POLICY
def test_on_the_families_of_the_benchmarks(policy: Policy) -> None:
    for question in (families.paint(3, 2), families.screws(5, 2), families.books(10, 1)):
        assert agree(question, policy, max_nodes=300, count=5, failures=1) > 1


@pytest.mark.parametrize("name", DOMAINS)
def test_through_refinement(name: str) -> None:
    """Failures of refinement lead to further plans, and discovered failures to further searches."""
    env = make_environment(name)
    for number, task in enumerate(env.tasks(Split.TEST, 2, seed=3)):
        results = []
        for engine in (PythonPlanner, NativePlanner):
            config = PlanningConfig(timeout=600.0, planner=engine(anytime_portfolio()))
            result = plan(task, env.oracle_model(), env.execute, config, seed=number)
            timeless = replace(
                result.statistics, seconds_grounding=0, seconds_search=0, seconds_refinement=0
            )
            results.append(replace(result, statistics=timeless))
        python, native = results
        assert python.solved
        assert native == python
