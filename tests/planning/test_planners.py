from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import pytest

import needful.planning.planners as planners
from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import SearchStatistics
from needful.errors import PlannerError, UnknownNameError
from needful.evaluation.records import config_hash
from needful.planning.bilevel import PlanningConfig
from needful.planning.engines.native_planner import ENGINE_BUILT, NativeProblem
from needful.planning.engines.python_planner import PythonPlanner, PythonProblem
from needful.planning.engines.searches import AStar
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Heuristic, HeuristicEstimate, Planner
from needful.planning.interfaces import Problem as PlannerProblem
from needful.planning.planners import (
    AutoPlanner,
    default_planner,
    generate_abstract_plans,
    make_planner,
    planner_names,
)
from needful.planning.portfolio import Portfolio, Stage, greedy_portfolio, paper_portfolio
from planning_problems import Problem, toy_problem

TOY = toy_problem(balls=2)
OWN = [name for name in planner_names() if "fast-downward" not in name and name != "k-star"]


def blind(problem: GroundProblem, budget: Budget) -> Heuristic:
    return lambda state, budget: HeuristicEstimate(0)


def grounded(planner: Planner) -> PlannerProblem:
    problem = TOY.given_to(planner)
    assert problem is not None
    return problem


@pytest.mark.parametrize("name", sorted(set(planner_names()) - set(OWN)))
def test_external_planners_search_in_the_python_engine(name: str) -> None:
    try:
        planner = make_planner(name)
    except PlannerError as error:
        pytest.skip(str(error))
    assert isinstance(planner, PythonPlanner)


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a package without the C++ engine that has not warned yet."""
    monkeypatch.setattr(planners, "ENGINE_BUILT", False)
    planners.warn_python_fallback.cache_clear()


@pytest.mark.parametrize("name", OWN)
def test_each_name_makes_a_planner(name: str) -> None:
    problem = grounded(make_planner(name))
    steps = next(problem.plans(0, Budget.unlimited(), SearchStatistics()))
    assert [step.operator.name for step in problem.plan(steps)] == ["MoveTo", "Grasp", "Drop"]


@pytest.mark.skipif(not ENGINE_BUILT, reason="needs the C++ search engine")
def test_names_with_python_use_the_python_engine() -> None:
    engines = {name: type(grounded(make_planner(name))) for name in OWN}
    assert engines == {
        name: PythonProblem if name.startswith("python-") else NativeProblem for name in engines
    }
    assert set(engines.values()) == {PythonProblem, NativeProblem}


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"'anytme'.*Did you mean 'anytime'\?.*greedy.*paper"):
        make_planner("anytme")


def test_the_default() -> None:
    assert default_planner() == make_planner("anytime") == PlanningConfig().planner


def test_a_custom_search_runs_in_python() -> None:
    own = Portfolio((Stage(AStar()), Stage(AStar(heuristic=blind))))
    assert type(grounded(AutoPlanner(own))) is PythonProblem
    assert type(grounded(AutoPlanner(AStar()))) is PythonProblem


def test_without_the_engine_python_is_used_with_one_warning(without_engine: None) -> None:
    with pytest.warns(UserWarning, match=r"C\+\+ search engine.*Install a C\+\+17 compiler"):
        assert type(grounded(AutoPlanner())) is PythonProblem
    # Warnings are errors in tests, so a second one would fail.
    for planner in (AutoPlanner(), AutoPlanner(paper_portfolio()), make_planner("greedy")):
        assert type(grounded(planner)) is PythonProblem


def test_planners_in_python_do_not_warn(without_engine: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grounded(make_planner("python-anytime"))
        grounded(AutoPlanner(AStar(heuristic=blind)))


def test_the_engine_makes_no_difference_to_plans_and_to_the_identity_of_a_run(
    request: pytest.FixtureRequest,
) -> None:
    def plans_and_hash() -> tuple[list[object], str]:
        planner = AutoPlanner(greedy_portfolio())
        found = generate_abstract_plans(TOY.operators, TOY.task, planner)
        return list(itertools.islice(found, 4)), config_hash(PlanningConfig(planner=planner))

    with_engine = plans_and_hash()
    request.getfixturevalue("without_engine")
    with pytest.warns(UserWarning, match="Python engine"):
        assert plans_and_hash() == with_engine
    assert config_hash(PlanningConfig(planner=PythonPlanner())) != with_engine[1]


def abstract_plans(problem: Problem, budget: Budget, count: int) -> list[str]:
    found = generate_abstract_plans(problem.operators, problem.task, PythonPlanner(AStar()), budget)
    return [" ".join(map(str, plan)) for plan in itertools.islice(found, count)]


def test_generated_plans_consist_of_ground_operators() -> None:
    first, second = abstract_plans(toy_problem(balls=1, jars=1), Budget.unlimited(), 2)
    assert first == "MoveTo(robot, ball0) Grasp(robot, ball0) Drop(robot, ball0, jar0)"
    assert second.count("(") == 4


def test_no_plan_is_generated_for_an_unreachable_goal() -> None:
    without_drop = replace(TOY, operators=TOY.operators[:2])
    assert abstract_plans(without_drop, Budget.unlimited(), 1) == []


def test_no_plan_is_generated_after_the_deadline() -> None:
    assert abstract_plans(TOY, Budget.seconds(0.5, clock=FakeClock(tick=1.0)), 1) == []


def test_by_default_the_default_planner_generates_the_plans() -> None:
    default, named = (
        next(generate_abstract_plans(TOY.operators, TOY.task, planner))
        for planner in (None, make_planner("anytime"))
    )
    assert default == named


def test_reprs_of_large_objects_are_short() -> None:
    large = toy_problem(balls=30, jars=30)
    problems = [large.given_to(make_planner(name)) for name in ("greedy", "python-greedy")]
    for value in (large.task, large.grounded(), *problems):
        assert len(repr(value)) < 100
        assert type(value).__name__ in repr(value)
