from __future__ import annotations

import itertools
import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.core.operators import GroundOperator
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import LmCut
from needful.planning.interfaces import HeuristicEstimate
from planning_problems import (
    Problem,
    every_grounding,
    h_max,
    problems,
    random_propositional_problem,
    relaxed_cost,
    relaxed_reachable,
    toy_problem,
)


def estimate(problem: Problem) -> tuple[HeuristicEstimate, list[GroundOperator]]:
    compact = problem.grounded()
    steps = [compact.ground_operator(i) for i in range(len(compact.ground_operators))]
    return LmCut(compact, Budget.unlimited())(compact.initial, Budget.unlimited()), steps


@settings(max_examples=250, deadline=None)
@given(problems())
def test_between_h_max_and_the_relaxed_optimum(problem: Problem) -> None:
    steps = every_grounding(problem)
    found, _ = estimate(problem)
    optimum = relaxed_cost(problem.initial, problem.goal, steps)
    if optimum is None:
        assert found.value is None
    else:
        assert found.value is not None
        assert h_max(problem.initial, problem.goal, steps) <= found.value <= optimum
        assert (found.value == 0) == (problem.goal <= problem.initial)


@settings(max_examples=250, deadline=None)
@given(problems())
def test_landmarks_are_disjoint_and_every_plan_needs_each(problem: Problem) -> None:
    found, steps = estimate(problem)
    assert found.value is None or found.value == len(found.landmarks)
    assert all(one & other == 0 for one, other in itertools.combinations(found.landmarks, 2))
    for landmark in found.landmarks:
        others = [step for index, step in enumerate(steps) if not landmark >> index & 1]
        assert not problem.goal <= relaxed_reachable(problem.initial, others)


def by_definition(problem: GroundProblem, state: int) -> list[frozenset[int]] | None:
    """LM-cut by definition: all values are recomputed for each cut, by fixpoint iteration."""
    atoms = range(-1, len(problem.atoms))  # -1 always holds and supports operators without preconditions
    needs = [sorted(bits(o.preconditions)) or [-1] for o in problem.ground_operators]
    adds = [set(bits(o.adds & ~o.preconditions)) for o in problem.ground_operators]
    costs = [1] * len(needs)
    landmarks: list[frozenset[int]] = []
    while True:
        values = {atom: 0.0 if is_given(atom, state) else math.inf for atom in atoms}
        for _ in atoms:
            for need, add, cost in zip(needs, adds, costs, strict=True):
                for atom in add:
                    values[atom] = min(values[atom], cost + max(values[n] for n in need))
        supporters = [max(need, key=lambda n: (values[n], -n)) for need in needs]
        target = max(bits(problem.goal), key=lambda n: (values[n], -n))
        if values[target] == math.inf:
            return None
        if values[target] == 0:
            return landmarks
        zone, before = {target}, {atom for atom in atoms if is_given(atom, state)}
        for _ in atoms:
            zone |= {supporters[i] for i, add in enumerate(adds) if add & zone and costs[i] == 0}
        for _ in atoms:
            for i, add in enumerate(adds):
                if supporters[i] in before and not add & zone:
                    before |= add
        cut = frozenset(i for i, add in enumerate(adds) if add & zone and supporters[i] in before)
        landmarks.append(cut)
        costs = [0 if i in cut else cost for i, cost in enumerate(costs)]


def is_given(atom: int, state: int) -> bool:
    return atom < 0 or bool(state >> atom & 1)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
@example(3027684)  # two operators of a cut that would support each other
def test_landmarks_are_those_of_the_definition(seed: int) -> None:
    compact = random_propositional_problem(seed).grounded()
    found = LmCut(compact, Budget.unlimited())(compact.initial, Budget.unlimited())
    expected = by_definition(compact, compact.initial)
    assert expected is not None
    assert [frozenset(bits(landmark)) for landmark in found.landmarks] == expected
    assert found.value == len(expected)


def test_counts_the_steps_of_a_chain() -> None:
    """Move, grasp and drop for each of two balls; taking lids off is never needed."""
    problem = toy_problem(balls=3)
    both = Problem(
        problem.operators,
        problem.objects,
        problem.initial,
        frozenset(atom for atom in problem.grounded().atoms if str(atom) in GOAL),
    )
    found, steps = estimate(both)
    assert found.value == 6
    assert {str(steps[i]) for landmark in found.landmarks for i in bits(landmark)} == {
        *(f"{name}(robot, ball{i})" for name in ("MoveTo", "Grasp") for i in range(2)),
        *(f"Drop(robot, ball{i}, jar0)" for i in range(2)),
    }


GOAL = ("Inside(ball0, jar0)", "Inside(ball1, jar0)")


def test_stops_at_the_deadline_with_a_valid_bound() -> None:
    compact = toy_problem().grounded()
    clock = FakeClock(tick=1.0)
    assert LmCut(compact, Budget.unlimited())(compact.initial, Budget.seconds(2.5, clock=clock)).value == 2
    assert LmCut(compact, Budget.unlimited())(compact.initial, Budget.unlimited()).value == 3
