from __future__ import annotations

import itertools
import warnings

import pytest

import needful.planning.planners as planners
from needful.core.plans import SearchStatistics
from needful.errors import PlannerError, UnknownNameError
from needful.evaluation.records import config_hash
from needful.planning.bilevel import PlanningConfig
from needful.planning.budget import Budget
from needful.planning.engines.a_star import AStar
from needful.planning.engines.native_planner import NativeProblem
from needful.planning.engines.python_planner import PythonPlanner, PythonProblem
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Heuristic, HeuristicEstimate, Planner, Problem
from needful.planning.planners import (
    AutoPlanner,
    default_planner,
    generate_abstract_plans,
    make_planner,
    planner_names,
)
from needful.planning.portfolio import Portfolio, Stage, greedy_portfolio, paper_portfolio
from planning_problems import toy_problem

QUESTION = toy_problem(balls=2).question()
OWN = [name for name in planner_names() if "fast-downward" not in name and name != "k-star"]


def blind(problem: GroundProblem, budget: Budget) -> Heuristic:
    return lambda state, budget: HeuristicEstimate(0)


def grounded(planner: Planner) -> Problem:
    problem = planner(QUESTION, Budget.unlimited())
    assert problem is not None
    return problem


@pytest.mark.parametrize("name", sorted(set(planner_names()) - set(OWN)))
def test_programs_of_others_search_what_the_engine_in_python_grounds(name: str) -> None:
    try:
        planner = make_planner(name)
    except PlannerError as error:
        pytest.skip(str(error))
    assert isinstance(planner, PythonPlanner)


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package had been installed without a compiler, and nothing had been said yet."""
    monkeypatch.setattr(planners, "ENGINE_BUILT", False)
    planners.warn_python_fallback.cache_clear()


@pytest.mark.parametrize("name", OWN)
def test_each_name_stands_for_a_planner(name: str) -> None:
    problem = grounded(make_planner(name))
    steps = next(problem.plans(0, Budget.unlimited(), SearchStatistics()))
    assert [step.operator.name for step in problem.plan(steps)] == ["MoveTo", "Grasp", "Drop"]


def test_names_with_python_search_in_python_and_the_others_in_the_engine() -> None:
    engines = {name: type(grounded(make_planner(name))) for name in OWN}
    assert engines == {
        name: PythonProblem if name.startswith("python-") else NativeProblem for name in engines
    }
    assert set(engines.values()) == {PythonProblem, NativeProblem}


def test_an_unknown_name_is_told_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"'anytme'.*Did you mean 'anytime'\?.*greedy.*paper"):
        make_planner("anytme")


def test_the_default() -> None:
    assert default_planner() == make_planner("anytime") == PlanningConfig().planner


def test_a_search_of_ones_own_is_done_in_python() -> None:
    own = Portfolio((Stage(AStar()), Stage(AStar(heuristic=blind))))
    assert type(grounded(AutoPlanner(own))) is PythonProblem
    assert type(grounded(AutoPlanner(AStar()))) is PythonProblem


def test_without_the_engine_python_serves_and_says_so_once(without_engine: None) -> None:
    with pytest.warns(UserWarning, match=r"without its search engine in C\+\+.*Install a C\+\+17 compiler"):
        assert type(grounded(AutoPlanner())) is PythonProblem
    # Warnings are errors here, so a second one would be noticed.
    for planner in (AutoPlanner(), AutoPlanner(paper_portfolio()), make_planner("greedy")):
        assert type(grounded(planner)) is PythonProblem


def test_those_who_asked_for_python_are_told_nothing(without_engine: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grounded(make_planner("python-anytime"))
        grounded(AutoPlanner(AStar(heuristic=blind)))


def test_the_engine_makes_no_difference_to_plans_and_to_the_identity_of_a_run(
    request: pytest.FixtureRequest,
) -> None:
    def plans_and_hash() -> tuple[list[object], str]:
        planner = AutoPlanner(greedy_portfolio())
        found = generate_abstract_plans(QUESTION, planner, Budget.unlimited())
        return list(itertools.islice(found, 4)), config_hash(PlanningConfig(planner=planner))

    with_engine = plans_and_hash()
    request.getfixturevalue("without_engine")
    with pytest.warns(UserWarning, match="in Python"):
        assert plans_and_hash() == with_engine
    assert config_hash(PlanningConfig(planner=PythonPlanner())) != with_engine[1]
