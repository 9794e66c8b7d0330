from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

import toy_world
from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.operators import GroundOperator
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import Ff, RelaxedPlan
from planning_problems import (
    Problem,
    problems,
    random_propositional_problem,
    relaxed_cost,
    relaxed_reachable,
    toy_problem,
)

A_PROBLEM = st.one_of(
    problems(max_objects=4), st.builds(random_propositional_problem, st.integers(0, 2**32))
)


def ff(problem: GroundProblem, state: int) -> RelaxedPlan | None:
    return Ff(problem, Budget.unlimited())(state)


def steps_of(problem: GroundProblem) -> list[GroundOperator]:
    return [problem.ground_operator(index) for index in range(len(problem.ground_operators))]


def decoded(problem: GroundProblem, state: int) -> AbstractState:
    return frozenset(problem.atoms[number] for number in bits(state))


def step_cost(step: GroundOperator, costs: Mapping[GroundAtom, float]) -> float:
    return 1 + sum(costs.get(atom, math.inf) for atom in step.preconditions)


def additive_costs(state: AbstractState, steps: Sequence[GroundOperator]) -> dict[GroundAtom, float]:
    """The least solution of: true atoms cost 0, others as much as the cheapest step that adds them."""
    costs: dict[GroundAtom, float] = dict.fromkeys(state, 0)
    before: dict[GroundAtom, float] | None = None
    while costs != before:
        before = dict(costs)
        for step in steps:
            for atom in step.add_effects:
                costs[atom] = min(costs.get(atom, math.inf), step_cost(step, costs))
    return costs


def relaxed_plan(
    atoms: AbstractState, steps: Sequence[GroundOperator], costs: Mapping[GroundAtom, float]
) -> set[int]:
    """The first of the cheapest achievers of each false atom, and those of their preconditions."""
    chosen = {
        min((step_cost(s, costs), index) for index, s in enumerate(steps) if atom in s.add_effects)[1]
        for atom in atoms
        if costs[atom] > 0
    }
    needed = atoms.union(*(steps[index].preconditions for index in chosen))
    return chosen if needed == atoms else relaxed_plan(needed, steps, costs)


@settings(max_examples=300)
@given(A_PROBLEM, st.data())
def test_a_relaxed_plan_of_cheapest_achievers(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    numbered = data.draw(st.one_of(st.just(compact.initial), st.integers(0, compact.reachable)))
    steps, state = steps_of(compact), decoded(compact, numbered)
    found = ff(compact, numbered)
    if not problem.goal <= relaxed_reachable(state, steps):
        assert found is None
        return
    assert found is not None
    chosen = relaxed_plan(problem.goal, steps, additive_costs(state, steps))
    assert found.cost == len(chosen)
    assert found.preferred == {index for index in chosen if steps[index].applicable(state)}
    # It is a plan if deletes are ignored.
    assert problem.goal <= relaxed_reachable(state, [steps[index] for index in chosen])
    done = problem.goal <= state
    assert (found.cost == 0, not found.preferred) == (done, done)


@settings(max_examples=100)
@given(problems(max_objects=2))
def test_no_relaxed_plan_is_shorter_than_the_shortest(problem: Problem) -> None:
    compact = problem.grounded()
    found = ff(compact, compact.initial)
    shortest = relaxed_cost(problem.initial, problem.goal, steps_of(compact))
    assert (found is None) is (shortest is None)
    if found is not None and shortest is not None:
        assert found.cost >= shortest


def test_by_hand() -> None:
    """Two balls go into a jar; deletes are ignored, so the hand is free for both."""
    problem = toy_problem(balls=2)
    both = frozenset(toy_world.INSIDE(toy_world.BALL(f"ball{i}"), toy_world.JAR("jar0")) for i in (0, 1))
    compact = Problem(problem.operators, problem.objects, problem.initial, both).grounded()
    found = ff(compact, compact.initial)
    assert found is not None
    assert found.cost == 6
    assert [str(compact.ground_operator(step)) for step in sorted(found.preferred)] == [
        "MoveTo(robot, ball0)",
        "MoveTo(robot, ball1)",
    ]


def test_capped_costs_have_no_circular_achievers() -> None:
    """Each level requires the one before twice, so costs double; the last two atoms achieve each other.

    `Aback` has a lower number than the step that achieves `Up` without `Down`, and the same capped cost.
    """
    levels = [Predicate(f"L{i:02}", ()) for i in range(40)]
    left = [Predicate(f"M{i:02}", ()) for i in range(40)]
    right = [Predicate(f"N{i:02}", ()) for i in range(40)]
    up, down = Predicate("Up", ()), Predicate("Down", ())

    def step(name: str, needs: Sequence[Predicate], adds: Predicate) -> toy_world.Operator:
        lifted = [one.lifted() for one in needs]
        return toy_world.operator(Controller(name, ()), (), needs=lifted, adds=[adds.lifted()])

    operators = [step("Aback", [down], up), step("Zenith", [levels[39]], up), step("Fall", [up], down)]
    for i in range(39):
        operators.append(step(f"left{i:02}", [levels[i]], left[i]))
        operators.append(step(f"right{i:02}", [levels[i]], right[i]))
        operators.append(step(f"join{i:02}", [left[i], right[i]], levels[i + 1]))
    compact = Problem(tuple(operators), (), frozenset([levels[0]()]), frozenset([down()])).grounded()
    found = ff(compact, compact.initial)
    assert found is not None
    assert found.cost == 2 + 3 * 39
    assert [str(compact.ground_operator(index)) for index in sorted(found.preferred)] == [
        "left00()",
        "right00()",
    ]
