"""The C++ engine returns the same plans, order, outcomes and counters as the Python engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from engine_answers import Both
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.portfolio import (
    Portfolio,
    Stage,
    anytime_portfolio,
    greedy_portfolio,
    paper_portfolio,
)
from planning_problems import (
    Problem,
    family_problem,
    random_problem,
    random_problem_with_twins,
    random_propositional_problem,
    with_negation,
)

pytestmark = pytest.mark.slow  # as a whole

PORTFOLIOS = {
    "paper": paper_portfolio(),
    "weight 2": Portfolio((Stage(AStar(weight=2)),)),
    "symmetries": Portfolio((Stage(AStar(symmetries=True)),)),
    "greedy": Portfolio((Stage(Greedy()),)),
    "greedy with symmetries": Portfolio((Stage(Greedy(symmetries=True)),)),
    "distinct": Portfolio((Stage(AStar()),), distinct=True),
    "distinct greedy with symmetries": greedy_portfolio(),
    "stages": Portfolio(
        (
            Stage(AStar(symmetries=True), max_work=300),
            Stage(AStar(weight=3), max_work=200),
            Stage(Greedy(symmetries=True)),
        )
    ),
    "distinct stages": Portfolio(
        (
            Stage(Greedy(), max_work=100),
            Stage(AStar(weight=2, symmetries=True), max_work=1000),
            Stage(AStar()),
        ),
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


def negated_problems(first: int, count: int) -> list[Problem]:
    """The same problems with negative preconditions."""
    return [with_negation(problem, seed) for seed, problem in enumerate(random_problems(first, count))]


EVERY_PORTFOLIO = pytest.mark.parametrize("portfolio", PORTFOLIOS.values(), ids=PORTFOLIOS.keys())


def agree(problem: Problem, portfolio: Portfolio, max_nodes: int, count: int, failures: int = 0) -> int:
    """Compare the engines on a problem, also after random failures; return the number of plans."""
    random, compared = Random(0), 0
    both = Both.of(problem, portfolio)
    for seed in range(failures + 1):
        found = both.answers(seed, max_nodes, count)
        compared += len(found.steps)
        taken = [step for steps in found.steps for step in steps]
        if not taken or not problem.objects:
            break
        offending = random.choices(sorted(problem.objects), k=2)
        both = both.with_failure(random.choice(taken), offending)
    return compared


@EVERY_PORTFOLIO
def test_on_random_problems(portfolio: Portfolio) -> None:
    compared = [
        agree(problem, portfolio, max_nodes=150, count=8, failures=2) for problem in random_problems(0, 330)
    ]
    assert sum(plans > 2 for plans in compared) > 100


@EVERY_PORTFOLIO
def test_with_distrusted_initial_atoms(portfolio: Portfolio) -> None:
    random, compared = Random(0), 0
    for problem in random_problems(0, 200):
        both = Both.of(problem, portfolio)
        for seed in range(3):
            found = both.answers(seed, max_nodes=150, count=4).steps
            taken = sorted({step for steps in found for step in steps})
            if not taken:
                break
            compared += 1
            both = both.with_distrusted_start(random.choice(taken))
    assert compared > 200


@EVERY_PORTFOLIO
def test_with_negative_preconditions(portfolio: Portfolio) -> None:
    compared = [
        agree(problem, portfolio, max_nodes=150, count=8, failures=2)
        for problem in negated_problems(0, 330)
    ]
    assert sum(plans > 2 for plans in compared) > 80


@EVERY_PORTFOLIO
def test_without_noops(portfolio: Portfolio) -> None:
    for problem in random_problems(1000, 60):
        agree(problem.without_noops(), portfolio, max_nodes=80, count=3)


@EVERY_PORTFOLIO
def test_on_the_families_of_the_benchmarks(portfolio: Portfolio) -> None:
    for size in (("paint", 3, 2), ("screws", 5, 2), ("books", 10, 1)):
        assert agree(family_problem(*size), portfolio, max_nodes=300, count=5, failures=1) > 1


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
