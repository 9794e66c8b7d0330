"""Coverage improves, with pinned operators where adding operators alone does not help."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force_learning import PAPER_WITH_PATTERNS_AND_TYPES
from needful.core.demonstrations import Demonstration
from needful.core.operators import DeletePattern, Wildcard
from needful.operator_learning import improve_coverage as module
from needful.operator_learning.hill_climbing import Climb, alternate, reduce_complexity
from needful.operator_learning.improve_coverage import cover_with_pinned_operator, improve_coverage
from needful.operator_learning.induction import partly_bound, whole_predicate
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PUSH, RAIN, demonstrations

A, B, C, D = (BLOCK(name) for name in "abcd")
P, Q = BALL("p"), BALL("q")

NONE = frozenset()


def pushes(objects, goal, *states_and_pushed) -> Demonstration:
    """Return a demonstration of pushes from state, pushed object, state, ..., state."""
    states = tuple(frozenset(state) for state in states_and_pushed[::2])
    return Demonstration(objects, frozenset(goal), states, tuple(map(PUSH, states_and_pushed[1::2])))


# Worlds found by search in which adding operators runs in circles: the operator that explains one push
# breaks another. In the second a pinned operator helps only at the end of the circle, in the third only at
# its start.
CIRCULAR = {
    "one demonstration": [
        pushes(
            (A, B), {RAIN()},
            {CLEAN(A), ON(B, A)}, B, {CLEAN(A), CLEAN(B), RAIN()}, A, {CLEAN(A), RAIN()}, A, {RAIN()},
        )
    ],
    "pinned at the end": [
        pushes(
            (A, B), {ON(A, A)},
            {RAIN()}, A,
            {RAIN(), ON(B, A)}, B,
            {RAIN(), ON(A, A), ON(A, B), ON(B, A)}, B,
            {RAIN(), ON(A, A), ON(A, B), ON(B, A), CLEAN(A)},
        ),
        pushes((A, B), {CLEAN(A)}, NONE, A, {CLEAN(A), ON(A, A)}),
    ],
    "pinned at the start": [
        pushes((A,), {RAIN()}, NONE, A, {CLEAN(A), RAIN()}, A, {CLEAN(A), ON(A, A), RAIN()}, A, {RAIN()}),
        pushes(
            (A, B, C), {ON(B, C), ON(C, B), ON(C, C)},
            {ON(A, A), ON(B, C), ON(C, B), ON(C, C), RAIN()}, B, {ON(B, C), ON(C, B), ON(C, C), RAIN()},
        ),
    ],
}  # fmt: skip


@pytest.mark.parametrize("world", CIRCULAR)
def test_pinned_operators_cover_what_ordinary_rounds_do_not(world, monkeypatch):
    assert learn_operators(CIRCULAR[world]).uncovered == 0
    assert learn_operators(CIRCULAR[world], PAPER_WITH_PATTERNS_AND_TYPES).uncovered == 0
    assert _climb(CIRCULAR[world]).hypothesis.coverage.uncovered == 0
    monkeypatch.setattr(module, "_try_pinned_operators", lambda start, last, problem: start)
    assert _climb(CIRCULAR[world]).hypothesis.coverage.uncovered > 0


def _climb(demos) -> Climb:
    """Learn with ties broken by the names and the order given here, because the circles depend on them."""
    problem = LearningProblem.of(demos, partly_bound)
    return alternate(problem, reduce_complexity, Climb(problem.empty_hypothesis()))


def test_a_single_operator_suffices_for_a_single_change():
    demo = Demonstration(
        (A, B), frozenset({CLEAN(A)}), (frozenset(), frozenset({CLEAN(A), CLEAN(B)})), (PUSH(A),)
    )
    problem = LearningProblem.of([demo], partly_bound)
    reached = improve_coverage(problem.empty_hypothesis(), problem)
    assert reached.objective == (0, 1)
    assert {str(atom) for atom in reached.fitted[0].operator.add_effects} == {"Clean(?x0)"}


def test_full_coverage_is_left_as_it_is():
    problem = LearningProblem.of(CIRCULAR["one demonstration"], partly_bound)
    covered = problem.empty_hypothesis()
    while covered.coverage.uncovered:
        covered = improve_coverage(covered, problem)
    assert improve_coverage(covered, problem) is covered


# The push makes c dirty and removes b from d. The goal is b clean and p on q.
KEEP_TWO = Demonstration(
    (A, B, C, D, P, Q),
    frozenset({CLEAN(B), ON(P, Q)}),
    (frozenset({CLEAN(B), CLEAN(C), ON(B, D), ON(P, Q)}), frozenset({CLEAN(B), ON(P, Q)})),
    (PUSH(A),),
)


def pinned_operator(generalise):
    problem = LearningProblem.of([KEEP_TWO], generalise)
    start = problem.empty_hypothesis()
    (transition,) = start.coverage.failing()
    reached = cover_with_pinned_operator(transition, start, problem)
    assert reached.objective == (0, 1)
    ((_, objects),) = reached.fitted[0].data
    return reached.fitted[0].operator, {transition.table.objects[number] for number in objects}


def test_kept_atoms_bring_their_objects():
    operator, objects = pinned_operator(partly_bound)
    assert {str(atom) for atom in operator.keep_effects} == {"Clean(?x1)"}
    assert objects == {A, B}
    operator, objects = pinned_operator(whole_predicate)
    assert {atom.predicate for atom in operator.keep_effects} == {CLEAN, ON}
    assert objects == {A, B, P, Q}


def test_kept_atoms_are_a_fixpoint():
    """Adding b widens another pattern, so that another atom must be kept."""

    def wider_once_lifted(atom, lifting):
        if lifting.keys() & set(atom.objects):
            return whole_predicate(atom, lifting)
        return DeletePattern(atom.predicate, tuple(Wildcard(obj.type) for obj in atom.objects))

    operator, objects = pinned_operator(wider_once_lifted)
    assert {atom.predicate for atom in operator.keep_effects} == {CLEAN, ON}
    assert objects == {A, B, P, Q}


@settings(max_examples=100, deadline=None)
@given(
    demos=st.lists(demonstrations(), min_size=1, max_size=2),
    generalise=st.sampled_from([partly_bound, whole_predicate]),
)
def test_a_pinned_operator_covers_its_transition_if_it_explains_no_other(demos, generalise):
    problem = LearningProblem.of(demos, generalise)
    start = problem.empty_hypothesis()
    for transition in start.coverage.failing():
        reached = cover_with_pinned_operator(transition, start, problem)
        (fitted,) = [one for one in reached.fitted if one.candidate.pinned]
        assert transition in [datum for datum, _ in fitted.data], "pinned to its operator"
        if len(fitted.data) == 1:
            chain = reached.coverage.chains[transition.demonstration]
            assert chain.links
            assert chain.links[-1].match.text == fitted.operator.text


@settings(max_examples=100, deadline=None)
@given(demonstrations(max_steps=1))
def test_demonstrations_of_one_step_are_always_covered(demo):
    assert learn_operators([demo]).uncovered == 0
