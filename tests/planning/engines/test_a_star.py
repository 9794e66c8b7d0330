from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toy_world
from fake_clock import FakeClock
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.searches import AStar
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Heuristic, HeuristicEstimate, Search
from planning_problems import (
    Problem,
    cheapest_costs,
    check_plan,
    negated,
    problems,
    state_space,
    toy_problem,
)


def blind(problem: GroundProblem, budget: Budget) -> Heuristic:
    """The blind heuristic: a function is enough for a heuristic."""
    return lambda state, budget: HeuristicEstimate(0)


SEARCHES = [AStar(), AStar(heuristic=blind)]


@pytest.mark.parametrize("search", SEARCHES, ids=["lm-cut", "blind"])
@settings(max_examples=250, deadline=None)
@given(problem=negated(problems()), seed=st.integers(0, 3))
def test_yields_the_cheapest_plans_of_a_tree_search(search: Search, problem: Problem, seed: int) -> None:
    count = 6
    space = state_space(problem, at_most=200)
    assume(space is not None)
    assert space is not None
    compact = problem.grounded()
    stream = search(compact, seed, Budget.unlimited(), SearchStatistics())
    plans = list(itertools.islice(stream, count))
    assert [len(plan) for plan in plans] == cheapest_costs(problem, space, count)
    assert len(set(plans)) == len(plans)
    for plan in plans:
        check_plan(problem, compact.plan(plan))
    assert stream.end_reason is (None if len(plans) == count else Outcome.NO_ABSTRACT_PLAN)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 3))
def test_a_seed_repeats_a_run_exactly(problem: Problem, seed: int) -> None:
    def run() -> tuple[list[tuple[int, ...]], SearchStatistics]:
        statistics = SearchStatistics()
        stream = AStar()(problem.grounded(), seed, Budget.unlimited(), statistics)
        return list(itertools.islice(stream, 4)), statistics

    assert run() == run()


def test_seeds_break_ties_differently() -> None:
    """Two balls can be fetched in either order."""
    problem = toy_problem(balls=2)
    both = Problem(problem.operators, problem.objects, problem.initial, two_balls(problem))
    compact = both.grounded()
    first = {next(AStar()(compact, seed, Budget.unlimited(), SearchStatistics())) for seed in range(10)}
    assert {str(compact.ground_operator(plan[0])) for plan in first} == {
        "MoveTo(robot, ball0)",
        "MoveTo(robot, ball1)",
    }


def two_balls(problem: Problem) -> frozenset:
    (ball0_inside,) = problem.goal
    ball1 = next(obj for obj in problem.objects if obj.name == "ball1")
    return frozenset([ball0_inside, ball0_inside.predicate(ball1, ball0_inside.objects[1])])


def graph(*edges: str, start: str, goal: str) -> GroundProblem:
    """The problem to walk through a graph; an edge "AB" leads from A to B."""
    at = {place: Predicate(f"At{place}", ()) for edge in edges for place in edge}
    walks = [
        toy_world.operator(
            Controller(edge, ()),
            (),
            needs=[at[edge[0]].lifted()],
            adds=[at[edge[1]].lifted()],
            deletes=[at[edge[0]].lifted()],
        )
        for edge in edges
    ]
    return Problem(tuple(walks), (), frozenset([at[start]()]), frozenset([at[goal]()])).grounded()


def walk(problem: GroundProblem, steps: Sequence[int]) -> str:
    return " ".join(step.operator.name for step in problem.plan(steps))


def test_a_better_way_to_a_state_that_was_expanded_already_is_taken() -> None:
    """Only the estimate of A is informed, so B is first expanded after the detour over C and D."""
    problem = graph("SA", "AB", "SC", "CD", "DB", "BE", "EF", "FG", start="S", goal="G")
    at_a = 1 << [str(atom) for atom in problem.atoms].index("AtA()")

    def only_knows_a(problem: GroundProblem, budget: Budget) -> Heuristic:
        return lambda state, budget: HeuristicEstimate(4 if state & at_a else 0)

    stream = AStar(heuristic=only_knows_a)(problem, 0, Budget.unlimited(), SearchStatistics())
    assert [walk(problem, plan) for plan in stream] == ["SA AB BE EF FG", "SC CD DB BE EF FG"]
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


def test_all_plans_of_a_small_graph() -> None:
    problem = graph("AB", "AC", "BD", "CD", "AD", start="A", goal="D")
    stream = AStar()(problem, 0, Budget.unlimited(), SearchStatistics())
    first, *others = [walk(problem, plan) for plan in stream]
    assert first == "AD"
    assert sorted(others) == ["AB BD", "AC CD"]


def test_a_perfect_estimate_leads_straight_to_the_goal() -> None:
    problem = toy_problem(balls=3)
    balls = Problem(problem.operators, problem.objects, problem.initial, two_balls(problem))
    statistics = SearchStatistics()
    plan = next(AStar()(balls.grounded(), 0, Budget.unlimited(), statistics))
    assert (len(plan), statistics.nodes_expanded) == (6, 6)
    assert statistics.nodes_evaluated < 10 < statistics.nodes_created  # most children are never popped


def test_counters() -> None:
    """One ball, one jar: besides the plan, there are only no-ops, which are never popped."""
    statistics = SearchStatistics()
    compact = toy_problem(balls=1, jars=1).grounded()
    plan = next(AStar()(compact, 0, Budget.unlimited(), statistics))
    assert [str(step) for step in compact.plan(plan)] == [
        "MoveTo(robot, ball0)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]
    # Root; then at each of 3 expansions: MoveTo and TakeLidOff always, Grasp after the first, Drop last.
    assert (statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated) == (
        1 + 2 + 3 + 3,
        3,
        3,
    )


def test_counters_start_at_given_values() -> None:
    statistics = SearchStatistics(nodes_created=1000, nodes_expanded=100, nodes_evaluated=10)
    next(AStar()(toy_problem(balls=1, jars=1).grounded(), 0, Budget.unlimited(), statistics))
    assert (statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated) == (
        1009,
        103,
        13,
    )


def test_timeout_is_not_mistaken_for_a_proof() -> None:
    stream = AStar()(
        toy_problem().grounded(), 0, Budget.seconds(3.0, clock=FakeClock(tick=1.0)), SearchStatistics()
    )
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT
    assert next(stream, None) is None


def test_deadline_holds_between_plans() -> None:
    clock = FakeClock()
    stream = AStar()(toy_problem().grounded(), 0, Budget.seconds(1.0, clock=clock), SearchStatistics())
    assert next(stream, None) is not None
    assert stream.end_reason is None
    clock.now = 2.0
    assert next(stream, None) is None
    assert stream.end_reason is Outcome.TIMEOUT


def test_node_cap_ends_the_search() -> None:
    statistics = SearchStatistics()
    stream = AStar()(toy_problem().grounded(), 0, Budget.seconds(60.0, max_nodes=6), statistics)
    assert list(stream) == []
    assert stream.end_reason is Outcome.OUT_OF_NODES
    assert statistics.nodes_created >= 6
    enough = AStar()(toy_problem().grounded(), 0, Budget.seconds(60.0, max_nodes=60), SearchStatistics())
    assert next(enough, None) is not None


def test_states_that_differ_in_irrelevant_atoms_are_merged() -> None:
    """`Inside` occurs in the goal only, so the other atoms of `Inside` are irrelevant."""
    problem = toy_problem(balls=1, jars=8)
    unsolvable = Problem(
        problem.operators, problem.objects, problem.initial, two_goals_for_one_ball(problem)
    )
    statistics = SearchStatistics()
    stream = AStar(heuristic=blind)(unsolvable.grounded(), 0, Budget.unlimited(), statistics)
    next(stream)
    # Near, holding, inside jar0, inside jar1: at most 16 states are distinct.
    assert statistics.nodes_expanded <= 16


def two_goals_for_one_ball(problem: Problem) -> frozenset:
    (inside,) = problem.goal
    jar1 = next(obj for obj in problem.objects if obj.name == "jar1")
    return frozenset([inside, inside.predicate(inside.objects[0], jar1)])
