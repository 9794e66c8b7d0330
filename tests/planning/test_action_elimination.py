"""Plans without superfluous steps: they are valid, minimal by brute force, and none is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.action_elimination import TrimmedPlans, eliminate_actions
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.engines.search_space import SearchSpace
from needful.planning.engines.searches import AStar, Greedy, GreedyStream
from needful.planning.grounding import EncodedOperator, GroundProblem
from needful.planning.heuristics import Ff
from needful.planning.portfolio import greedy_portfolio
from planning_problems import family_problem, negated, problems, random_propositional_problem

Steps = tuple[int, ...]
UNLIMITED = Budget.unlimited()


def errand() -> GroundProblem:
    """A robot takes a thing from A to B.

    Atoms: 0 at A, 1 at B, 2 at C, 3 thing at A, 4 held, 5 thing at B. Steps: 0-2 go to A, B, C (and leave
    all other places), 3 take the thing at A, 4 put it down at B.
    """
    everywhere = 0b111

    def step(needs: int, adds: int, deletes: int) -> EncodedOperator:
        return EncodedOperator(0, (), needs, adds, deletes, ())

    return GroundProblem(
        operators=(),
        objects=(),
        atoms=(),
        initial=0b001100,
        goal=0b100000,
        reachable=0b111111,
        ground_operators=(
            step(0, 0b001, everywhere),
            step(0, 0b010, everywhere),
            step(0, 0b100, everywhere),
            step(0b001001, 0b010000, 0b001000),
            step(0b010010, 0b100000, 0b010000),
        ),
        pattern_masks=(),
    )


def reaches_goal(steps: Iterable[int], problem: GroundProblem) -> bool:
    """Whether the steps are applicable and reach the goal, by the definition of operators."""
    state = problem.initial
    for number in steps:
        operator = problem.ground_operators[number]
        if operator.preconditions & ~state or operator.negative_preconditions & state:
            return False
        state &= ~operator.deletes
        for pattern in operator.patterns:
            state &= ~problem.pattern_masks[pattern]
        state |= operator.adds
    return state & problem.goal == problem.goal


class Listed:
    """A stream of given plans; see `PlanStream`."""

    def __init__(self, *plans: Steps) -> None:
        self.end_reason: Outcome | None = None
        self._plans = iter(plans)

    def __iter__(self) -> Listed:
        return self

    def __next__(self) -> Steps:
        try:
            return next(self._plans)
        except StopIteration:
            self.end_reason = Outcome.OUT_OF_NODES
            raise


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ((0, 3, 1, 4), (0, 3, 1, 4)),
        ((0, 3, 2, 1, 4), (0, 3, 1, 4)),  # a detour
        ((2, 0, 3, 1, 4), (0, 3, 1, 4)),
        ((0, 3, 1, 4, 2, 0), (0, 3, 1, 4)),  # steps after the goal
        ((0, 0, 3, 2, 1, 2, 1, 4), (0, 3, 1, 4)),
    ],
)
def test_detours_are_left_out(steps: Steps, left: Steps) -> None:
    assert eliminate_actions(steps, errand(), UNLIMITED) == left


def test_a_step_is_removed_with_the_steps_that_depend_on_it() -> None:
    """Taking a thing and putting it back: neither step can be removed alone."""
    free, held, done = 0b001, 0b010, 0b100
    steps = (
        EncodedOperator(0, (), free, held, free, ()),
        EncodedOperator(0, (), held, free, held, ()),
        EncodedOperator(0, (), free, done, 0, ()),
    )
    problem = GroundProblem((), (), (), free, done, 0b111, steps, ())
    assert eliminate_actions((0, 1, 0, 1, 2), problem, UNLIMITED) == (2,)


def test_deletes_by_a_pattern_count() -> None:
    """Step 1 deletes atom 0, which step 2 requires, so step 0 must stay after it."""
    steps = (
        EncodedOperator(0, (), 0, 0b001, 0, ()),
        EncodedOperator(0, (), 0, 0b010, 0, (0,)),
        EncodedOperator(0, (), 0b011, 0b100, 0, ()),
    )
    problem = GroundProblem((), (), (), 0, 0b100, 0b111, steps, pattern_masks=(0b001,))
    assert eliminate_actions((0, 1, 0, 2), problem, UNLIMITED) == (1, 0, 2)


def test_a_step_that_deletes_a_forbidden_atom_stays() -> None:
    """Atom 0 holds at first, and step 1 forbids it. Step 2 makes atom 2 true, which nothing requires."""
    steps = (
        EncodedOperator(0, (), 0, 0, 0b001, ()),
        EncodedOperator(0, (), 0, 0b010, 0, (), negative_preconditions=0b001),
        EncodedOperator(0, (), 0, 0b100, 0, (), negative_preconditions=0b010),
    )
    problem = GroundProblem((), (), (), 0b001, 0b010, 0b111, steps, ())
    assert eliminate_actions((2, 0, 1), problem, UNLIMITED) == (0, 1)


def test_steps_that_become_superfluous_are_removed_too() -> None:
    """The goal holds at first. Step 1 deletes it; step 2 restores it and requires step 0."""
    able, good = 0b01, 0b10
    steps = (
        EncodedOperator(0, (), 0, able, 0, ()),
        EncodedOperator(0, (), 0, 0, good, ()),
        EncodedOperator(0, (), able, good, 0, ()),
    )
    problem = GroundProblem((), (), (), good, good, 0b11, steps, ())
    assert eliminate_actions((0, 1, 2), problem, UNLIMITED) == ()


@settings(max_examples=150)
@given(
    negated(st.one_of(problems(), st.builds(random_propositional_problem, st.integers(0, 2**32)))),
    st.data(),
)
def test_the_rest_of_any_plan_is_a_minimal_plan(problem, data) -> None:
    compact = problem.grounded()
    assume(compact.ground_operators)
    # A random walk, cut at one of the states in which the goal holds.
    state, walk, ends = compact.initial, [], []
    for _ in range(12):
        able = [
            i
            for i, o in enumerate(compact.ground_operators)
            if not (o.preconditions & ~state or o.negative_preconditions & state)
        ]
        if not able:
            break
        walk.append(data.draw(st.sampled_from(able)))
        operator = compact.ground_operators[walk[-1]]
        for mask in (operator.deletes, *(compact.pattern_masks[p] for p in operator.patterns)):
            state &= ~mask
        state |= operator.adds
        if not compact.goal & ~state:
            ends.append(len(walk))
    assume(ends)
    steps = tuple(walk[: data.draw(st.sampled_from(ends))])
    left = eliminate_actions(steps, compact, UNLIMITED)
    assert reaches_goal(left, compact)
    assert left in set(itertools.combinations(steps, len(left)))
    assert not any(reaches_goal(left[:i] + left[i + 1 :], compact) for i in range(len(left)))
    assert eliminate_actions(left, compact, UNLIMITED) == left


def test_when_time_runs_out_the_rest_stays() -> None:
    clock = FakeClock()
    budget = Budget(deadline=0.0, clock=clock)
    assert eliminate_actions((2, 0, 3, 1, 4), errand(), budget) == (2, 0, 3, 1, 4)


def test_no_plan_comes_twice_and_none_is_lost() -> None:
    short, one, two = (0, 3, 1, 4), (0, 3, 2, 1, 4), (2, 0, 3, 1, 4)
    plans = TrimmedPlans(Listed(one, two, short), errand(), UNLIMITED)
    assert next(plans) == short
    # The second plan trims to the same plan, and the third is that plan itself.
    assert next(plans) == two
    assert plans.end_reason is None
    assert next(plans) == one
    assert next(plans, None) is None
    assert plans.end_reason is Outcome.OUT_OF_NODES


@pytest.mark.parametrize("search", [Greedy(), Greedy(symmetries=True), AStar(weight=3)], ids=str)
def test_satisficing_searches_return_plans_without_superfluous_steps(search) -> None:
    found = 0
    for number in range(60):
        compact = random_propositional_problem(number).grounded()
        steps = next(search(compact, 0, Budget(float("inf"), max_nodes=500), SearchStatistics()), None)
        if steps is not None:
            found += 1
            assert eliminate_actions(steps, compact, UNLIMITED) == steps
    assert found > 20


def test_both_engines_remove_detours() -> None:
    """The search finds 27 steps; the shortest plan has 20."""
    books, seed = family_problem("books", 50, 4), 3
    problem = books.given_to(PythonPlanner(greedy_portfolio()))
    assert problem is not None
    space, ff = SearchSpace(problem.compact, True, UNLIMITED), Ff(problem.compact, UNLIMITED)
    found = next(GreedyStream(space, ff, seed, UNLIMITED, SearchStatistics()))
    trimmed = next(problem.plans(seed, UNLIMITED, SearchStatistics()))
    assert (len(found), len(trimmed)) == (27, 20)
    native = books.given_to(NativePlanner(greedy_portfolio()))
    assert native is not None
    assert next(native.plans(seed, UNLIMITED, SearchStatistics())) == trimmed
