from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState
from needful.core.limits import Budget
from needful.core.objects import Object
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.python_planner import with_failure
from needful.planning.engines.search_space import SearchSpace, Symmetry, interchangeable_objects
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Search
from planning_problems import (
    Problem,
    cheapest_costs,
    check_plan,
    every_order,
    negated,
    problems,
    problems_with_twins,
    renamed,
    state_space,
    toy_problem,
)
from toy_world import BALL, HOLDING, ROBOT

pytestmark = pytest.mark.slow  # as a whole


def classes_of(problem: GroundProblem) -> list[list[Object]]:
    classes = interchangeable_objects(problem, Budget.unlimited())
    return [[problem.objects[number] for number in members] for members in classes]


def all_renamed(atoms: AbstractState, renaming: dict[Object, Object]) -> AbstractState:
    return frozenset(renamed(atom, renaming) for atom in atoms)


def pairs(classes: Sequence[Sequence[Object]]) -> set[tuple[Object, Object]]:
    return {pair for members in classes for pair in itertools.combinations(members, 2)}


@settings(max_examples=200)
@given(negated(st.one_of(problems(max_objects=5), problems_with_twins())))
def test_objects_are_interchangeable_if_swapping_them_changes_nothing(problem: Problem) -> None:
    def nothing_changes(one: Object, other: Object) -> bool:
        swap = {one: other, other: one}
        return all(all_renamed(atoms, swap) == atoms for atoms in (problem.initial, problem.goal))

    expected = {
        (one, other)
        for one, other in itertools.combinations(sorted(problem.objects), 2)
        if one.type == other.type and nothing_changes(one, other)
    }
    classes = classes_of(problem.grounded())
    assert pairs(classes) == expected
    assert all(len(members) > 1 for members in classes)


@settings(max_examples=100)
@given(problems_with_twins(), st.data())
def test_objects_of_failures_are_interchangeable_with_no_other(
    problem: Problem, data: st.DataObject
) -> None:
    compact = problem.grounded()
    assume(compact.ground_operators)
    step = data.draw(st.integers(0, len(compact.ground_operators) - 1))
    offending = data.draw(st.sampled_from(compact.objects))
    fixed = {offending, *compact.ground_operator(step).objects}
    expected = {pair for pair in pairs(classes_of(compact)) if not fixed & set(pair)}
    assert pairs(classes_of(with_failure(compact, step, [offending]))) == expected


def images(problem: GroundProblem, state: AbstractState) -> Iterator[AbstractState]:
    """All images of a state under permutations of interchangeable objects."""
    orders = [every_order(members) for members in classes_of(problem)]
    for chosen in itertools.product(*orders):
        yield all_renamed(state, {obj: other for order in chosen for obj, other in order.items()})


def decoded(problem: GroundProblem, state: int) -> AbstractState:
    return frozenset(problem.atoms[number] for number in bits(state))


@settings(max_examples=150)
@given(negated(problems_with_twins()), st.data())
def test_a_canonical_state_is_an_image_and_stands_for_all_of_them(
    problem: Problem, data: st.DataObject
) -> None:
    compact = problem.grounded()
    everything = (1 << compact.atom_count) - 1
    symmetry = Symmetry.of(compact, everything, Budget.unlimited())
    assume(symmetry is not None)
    assert symmetry is not None
    # Unreachable atoms of the goal may have images without a number.
    state = data.draw(st.integers(0, everything)) & compact.reachable
    canonical = symmetry.canonical(state)
    all_images = set(images(compact, decoded(compact, state)))
    assert decoded(compact, canonical) in all_images
    assert symmetry.canonical(canonical) == canonical
    interchangeable = {obj for members in classes_of(compact) for obj in members}
    if all(len(interchangeable.intersection(atom.objects)) < 2 for atom in decoded(compact, state)):
        numbers = {atom: number for number, atom in enumerate(compact.atoms)}
        encoded = [sum(1 << numbers[atom] for atom in image) for image in all_images]
        assert {symmetry.canonical(image) for image in encoded} == {canonical}


@pytest.mark.parametrize("search", [AStar(), AStar(symmetries=True)], ids=["states", "symmetries"])
@settings(max_examples=200)
@given(problem=negated(problems_with_twins()), seed=st.integers(0, 3))
def test_the_cheapest_plans_are_as_cheap(search: Search, problem: Problem, seed: int) -> None:
    count = 10
    space = state_space(problem, at_most=300)
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


@settings(max_examples=150)
@given(negated(problems_with_twins()), st.data())
def test_after_failures_the_cheapest_plans_are_as_cheap(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    assume(compact.ground_operators)
    for _ in range(2):
        step = data.draw(st.integers(0, len(compact.ground_operators) - 1))
        compact = with_failure(compact, step, [data.draw(st.sampled_from(compact.objects))])
    budget = Budget.seconds(600.0, max_nodes=500)
    costs = []
    for symmetries in (False, True):
        stream = AStar(symmetries=symmetries)(compact, 0, budget, SearchStatistics())
        plans = list(itertools.islice(stream, 6))
        for plan in plans:
            check_plan(problem, compact.plan(plan))
        costs.append(([len(plan) for plan in plans], stream.end_reason))
    assume(all(end_reason is not Outcome.OUT_OF_NODES for _, end_reason in costs))
    assert costs[0] == costs[1]


def test_interchangeable_objects_lead_to_one_state() -> None:
    """Moving to any of the seven other balls leads to the same canonical state."""
    problem = toy_problem(balls=8, jars=1).grounded()
    following = []
    for symmetries in (False, True):
        space = SearchSpace(problem, symmetries, Budget.unlimited())
        steps = space.applicable(space.initial)
        following.append({space.successor(space.initial, step) for step in steps})
    # Near one of eight balls, or unchanged: taking the lid off has no effect.
    assert [len(states) for states in following] == [9, 3]


def test_a_proof_takes_fewer_states() -> None:
    """The hand can hold each of eight balls, but never two."""
    problem = toy_problem(balls=8, jars=1)
    both = frozenset(HOLDING(ROBOT("robot"), BALL(name)) for name in ("ball0", "ball1"))
    unsolvable = Problem(problem.operators, problem.objects, problem.initial, both).grounded()
    expanded = []
    for search in (AStar(), AStar(symmetries=True), Greedy(), Greedy(symmetries=True)):
        statistics = SearchStatistics()
        stream = search(unsolvable, 0, Budget.unlimited(), statistics)
        assert list(stream) == []
        assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN
        expanded.append(statistics.nodes_expanded)
    # The start; near one of 8; near one of 8 while holding one of 8. With symmetries: near a goal ball or
    # another; holding one of either kind, near the same ball, another of its kind or one of the other kind.
    assert expanded == [1 + 8 + 8 * 8, 1 + 2 + 2 * 3] * 2
