from __future__ import annotations

import itertools
from collections.abc import Iterable

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toy_world
from needful.core.atoms import AbstractState, GroundAtom
from needful.core.limits import Budget
from needful.core.operators import GroundOperator
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.searches import AStar
from needful.planning.grounding import GroundProblem
from needful.planning.portfolio import (
    MAX_CONSECUTIVE_DEFERRED,
    DistinctPlans,
    independent,
    normal_form,
    revisits_a_state,
)
from planning_problems import (
    Problem,
    negated,
    problems,
    problems_with_twins,
    random_propositional_problem,
    toy_problem,
)

Steps = tuple[int, ...]
A_PROBLEM = negated(
    st.one_of(
        problems(), problems_with_twins(), st.builds(random_propositional_problem, st.integers(0, 2**32))
    )
)


class Listed:
    """A stream of given plans; see `PlanStream`."""

    def __init__(self, plans: Iterable[Steps], end_reason: Outcome = Outcome.NO_ABSTRACT_PLAN) -> None:
        self.end_reason: Outcome | None = None
        self.taken = 0
        self._plans = iter(plans)
        self._final_reason = end_reason

    def __iter__(self) -> Listed:
        return self

    def __next__(self) -> Steps:
        try:
            plan = next(self._plans)
        except StopIteration:
            self.end_reason = self._final_reason
            raise
        self.taken += 1
        return plan


def after(state: AbstractState, steps: Iterable[GroundOperator]) -> AbstractState | None:
    """The state after the steps, or None if one of them is not applicable."""
    for step in steps:
        if not step.applicable(state):
            return None
        state = step.apply(state)
    return state


@settings(max_examples=150)
@given(A_PROBLEM, st.data())
def test_steps_are_independent_if_their_order_never_matters(problem: Problem, data: st.DataObject) -> None:
    """Compared in all states over the atoms that occur in the two steps."""
    compact = problem.grounded()
    assume(len(compact.ground_operators) > 1)
    numbers = st.integers(0, len(compact.ground_operators) - 1)
    one, other = data.draw(st.lists(numbers, min_size=2, max_size=2, unique=True))
    a, b = compact.ground_operator(one), compact.ground_operator(other)
    involved = [atom for atom in compact.atoms if matters(atom, a) or matters(atom, b)]
    assume(len(involved) <= 8)
    ends = [
        (after(frozenset(state), (a, b)), after(frozenset(state), (b, a)))
        for size in range(len(involved) + 1)
        for state in itertools.combinations(involved, size)
    ]
    assert independent(one, other, compact) is independent(other, one, compact)
    # Two steps that delete each other's preconditions are never neighbours.
    if any(end != (None, None) for end in ends):
        assert independent(one, other, compact) is all(first == second for first, second in ends)


def matters(atom: GroundAtom, step: GroundOperator) -> bool:
    needs = step.preconditions | step.negative_preconditions
    return atom in needs | step.add_effects | step.delete_effects or any(
        pattern.matches(atom) for pattern in step.delete_patterns
    )


def equal_up_to_swaps(steps: Steps, problem: GroundProblem) -> set[Steps]:
    """All plans that swaps of independent neighbours can produce."""
    found, to_swap = {steps}, [steps]
    while to_swap:
        plan = to_swap.pop()
        for index, (one, other) in enumerate(itertools.pairwise(plan)):
            if independent(one, other, problem):
                changed = (*plan[:index], other, one, *plan[index + 2 :])
                if changed not in found:
                    found.add(changed)
                    to_swap.append(changed)
    return found


@settings(max_examples=150)
@given(A_PROBLEM, st.data())
def test_plans_share_a_normal_form_if_swaps_lead_from_one_to_the_other(
    problem: Problem, data: st.DataObject
) -> None:
    compact = problem.grounded()
    assume(compact.ground_operators)
    numbers = st.integers(0, len(compact.ground_operators) - 1)
    steps = tuple(data.draw(st.lists(numbers, max_size=5)))
    equivalent = equal_up_to_swaps(steps, compact)
    assert normal_form(steps, compact) == min(equivalent)
    for order in set(itertools.permutations(steps)):
        assert (normal_form(order, compact) == normal_form(steps, compact)) is (order in equivalent)


@settings(max_examples=100)
@given(A_PROBLEM)
def test_a_plan_revisits_a_state_if_it_is_the_same_twice(problem: Problem) -> None:
    compact = problem.grounded()
    for plan in itertools.islice(AStar()(compact, 0, Budget(1e9, max_nodes=200), SearchStatistics()), 10):
        states = [problem.initial]
        for step in compact.plan(plan):
            states.append(step.apply(states[-1]))
        assert revisits_a_state(plan, compact) is (len(set(states)) < len(states))


def two_balls() -> tuple[GroundProblem, dict[str, int]]:
    """A problem and the numbers of its steps by name."""
    problem = toy_problem(balls=2, jars=1).grounded()
    return problem, {str(problem.ground_operator(i)): i for i in range(len(problem.ground_operators))}


def test_by_hand() -> None:
    """Taking the lid off is independent of fetching a ball; moving to two balls is not."""
    problem, step = two_balls()
    near, grasp = step["MoveTo(robot, ball0)"], step["Grasp(robot, ball0)"]
    away, lid = step["MoveTo(robot, ball1)"], step["TakeLidOff(robot, jar0)"]
    assert independent(near, lid, problem)
    assert not independent(near, grasp, problem)
    assert not independent(near, away, problem)
    assert normal_form((lid, near, grasp), problem) == normal_form((near, grasp, lid), problem)
    assert normal_form((near, away), problem) != normal_form((away, near), problem)
    assert revisits_a_state((near, away, near), problem)
    assert revisits_a_state((lid,), problem)
    assert not revisits_a_state((near, away), problem)


def test_an_atom_that_both_steps_require_and_add_keeps_them_independent() -> None:
    """Both steps require and add HandFree, so their order does not matter."""
    free = toy_world.HAND_FREE.lifted(toy_world._R)
    keep = [
        toy_world.operator(controller, (toy_world._R, other), needs=[free], adds=[free])
        for controller, other in ((toy_world.GRASP, toy_world._B), (toy_world.TAKE_LID_OFF, toy_world._J))
    ]
    problem = toy_problem(balls=1, jars=1)
    compact = Problem(tuple(keep), problem.objects, problem.initial, problem.goal).grounded()
    assert len(compact.ground_operators) == 2
    assert independent(0, 1, compact)


def test_distinct_plans_come_first() -> None:
    problem, step = two_balls()
    near0, near1 = step["MoveTo(robot, ball0)"], step["MoveTo(robot, ball1)"]
    grasp1, lid = step["Grasp(robot, ball1)"], step["TakeLidOff(robot, jar0)"]
    plans = [
        (near0, near1, grasp1),
        (near0, lid, near1),
        (near0, near1, lid),
        (near1, grasp1),
        (near0, near0),
    ]
    stream = DistinctPlans(Listed(plans), problem)
    assert stream.end_reason is None
    # No atom describes the lid, so taking it off revisits the state.
    assert list(stream) == [plans[0], plans[3], plans[1], plans[2], plans[4]]
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


def test_no_plan_is_lost_and_deferred_plans_are_returned_in_time() -> None:
    """Of many plans that revisit states, one is returned per `MAX_CONSECUTIVE_DEFERRED` of them."""
    problem, step = two_balls()
    near0, near1 = step["MoveTo(robot, ball0)"], step["MoveTo(robot, ball1)"]
    revisiting = [
        (near0, *[step["TakeLidOff(robot, jar0)"]] * times)
        for times in range(1, 3 * MAX_CONSECUTIVE_DEFERRED + 9)
    ]
    plans = Listed([(near0,), *revisiting, (near1,)])
    stream = DistinctPlans(plans, problem)
    assert (next(stream), plans.taken) == ((near0,), 1)
    for times in range(3):
        assert (next(stream), plans.taken) == (
            revisiting[times],
            1 + (times + 1) * MAX_CONSECUTIVE_DEFERRED,
        )
    assert (next(stream), plans.taken) == ((near1,), 3 * MAX_CONSECUTIVE_DEFERRED + 10)
    assert list(stream) == revisiting[3:]


def test_plans_are_requested_on_demand() -> None:
    problem, step = two_balls()
    near = step["MoveTo(robot, ball0)"]
    plans = Listed((near, *rest) for rest in itertools.repeat((step["TakeLidOff(robot, jar0)"],)))
    stream = DistinctPlans(plans, problem)
    assert plans.taken == 0
    next(stream)
    assert plans.taken == MAX_CONSECUTIVE_DEFERRED


def test_the_outcome_is_kept_until_the_last_plan_is_out() -> None:
    problem, step = two_balls()
    near, lid = step["MoveTo(robot, ball0)"], step["TakeLidOff(robot, jar0)"]
    stream = DistinctPlans(Listed([(near,), (near, lid)], end_reason=Outcome.TIMEOUT), problem)
    assert next(stream) == (near,)
    assert next(stream) == (near, lid)
    assert stream.end_reason is Outcome.TIMEOUT
    assert next(stream, None) is None


def test_the_empty_plan() -> None:
    problem, _ = two_balls()
    assert list(DistinctPlans(Listed([()]), problem)) == [()]


@settings(max_examples=50)
@given(A_PROBLEM)
def test_it_has_the_same_plans_as_without(problem: Problem) -> None:
    compact = problem.grounded()
    budget = Budget(1e9, max_nodes=300)
    plans = list(itertools.islice(AStar()(compact, 0, budget, SearchStatistics()), 30))
    assert sorted(DistinctPlans(Listed(plans), compact)) == sorted(plans)
