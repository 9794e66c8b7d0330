from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.searches import Greedy
from planning_problems import (
    Problem,
    cheapest_costs,
    check_plan,
    negated,
    problems,
    problems_with_twins,
    state_space,
    toy_problem,
)

SEARCHES = {"states apart": Greedy(), "symmetries": Greedy(symmetries=True)}
COUNT = 8


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
@settings(max_examples=200)
@given(problem=negated(st.one_of(problems(), problems_with_twins())), seed=st.integers(0, 3))
def test_finds_as_many_plans_as_there_are(search: Greedy, problem: Problem, seed: int) -> None:
    """It stops only if breadth-first search finds no further plan either."""
    space = state_space(problem, at_most=200)
    assume(space is not None)
    assert space is not None
    compact = problem.grounded()
    stream = search(compact, seed, Budget.unlimited(), SearchStatistics())
    plans = list(itertools.islice(stream, COUNT))
    assert len(set(plans)) == len(plans)
    for plan in plans:
        check_plan(problem, compact.plan(plan))
    assert len(plans) == len(cheapest_costs(problem, space, COUNT))
    assert stream.end_reason is (None if len(plans) == COUNT else Outcome.NO_ABSTRACT_PLAN)
    assert next(stream, None) is None or stream.end_reason is None


@settings(max_examples=60)
@given(problems_with_twins(), st.integers(0, 3))
def test_a_seed_repeats_a_run_exactly(problem: Problem, seed: int) -> None:
    def run() -> tuple[list[tuple[int, ...]], SearchStatistics]:
        statistics = SearchStatistics()
        stream = Greedy(symmetries=True)(problem.grounded(), seed, Budget(1e9, max_nodes=500), statistics)
        return list(itertools.islice(stream, 4)), statistics

    assert run() == run()


def test_seeds_break_ties_differently() -> None:
    """Two balls can be fetched in either order."""
    problem = toy_problem(balls=2)
    (inside,) = problem.goal
    balls = [obj for obj in problem.objects if obj.type == inside.objects[0].type]
    both = frozenset(inside.predicate(ball, inside.objects[1]) for ball in balls)
    compact = Problem(problem.operators, problem.objects, problem.initial, both).grounded()
    first = {next(Greedy()(compact, seed, Budget.unlimited(), SearchStatistics())) for seed in range(10)}
    assert {str(compact.ground_operator(plan[0])) for plan in first} == {
        "MoveTo(robot, ball0)",
        "MoveTo(robot, ball1)",
    }


def test_preferred_steps_lead_straight_to_the_goal() -> None:
    """Only one of fifty balls is in the goal: little more than the states of the plan is evaluated."""
    problem = toy_problem(balls=50)
    statistics = SearchStatistics()
    plan = next(Greedy()(problem.grounded(), 0, Budget.unlimited(), statistics))
    assert (len(plan), statistics.nodes_expanded) == (3, 3)
    assert statistics.nodes_evaluated == 3 < 150 < statistics.nodes_created


def test_a_goal_that_holds_already_needs_no_steps() -> None:
    problem = toy_problem()
    done = Problem(problem.operators, problem.objects, problem.initial | problem.goal, problem.goal)
    statistics = SearchStatistics()
    stream = Greedy()(done.grounded(), 0, Budget.unlimited(), statistics)
    assert list(stream) == [()]
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN
    assert (statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated) == (1, 0, 0)


def test_timeout_is_not_mistaken_for_a_proof() -> None:
    clock = FakeClock()
    stream = Greedy()(toy_problem().grounded(), 0, Budget.seconds(3.0, clock=clock), SearchStatistics())
    clock.tick = 1.0
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT
    assert next(stream, None) is None


def test_deadline_holds_between_plans() -> None:
    clock = FakeClock()
    stream = Greedy()(toy_problem().grounded(), 0, Budget.seconds(1.0, clock=clock), SearchStatistics())
    assert next(stream, None) is not None
    assert stream.end_reason is None
    clock.now = 2.0
    assert next(stream, None) is None
    assert stream.end_reason is Outcome.TIMEOUT


def test_node_cap_ends_the_search() -> None:
    statistics = SearchStatistics(nodes_created=100)
    stream = Greedy()(toy_problem().grounded(), 0, Budget.seconds(60.0, max_nodes=106), statistics)
    assert list(stream) == []
    assert stream.end_reason is Outcome.OUT_OF_NODES
    # The children of one state may exceed the limit: those of two balls, two jars and the hand.
    assert 106 <= statistics.nodes_created <= 112
    enough = Greedy()(toy_problem().grounded(), 0, Budget.seconds(60.0, max_nodes=60), SearchStatistics())
    assert next(enough, None) is not None
