"""Transitions that are more likely mistakes than knowledge are ignored, and count as uncovered."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force_learning import PAPER_WITH_PATTERNS_AND_TYPES
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.operator_learning.doubts import DoubtKind
from needful.operator_learning.find_doubts import find_doubts
from needful.operator_learning.hill_climbing import (
    Climb,
    alternate,
    reduce_truthfully,
    stay_where_stuck,
)
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.outliers import (
    NOISE,
    RARE,
    find_outliers,
    ignoring_pays,
    misleading_operator_transitions,
    noisy_transitions,
    rare_operator_transitions,
)
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK, demonstrations

A, B, C = (BLOCK(name) for name in "abc")
NONE, RAINY, CLEAN_A = frozenset(), frozenset({RAIN()}), frozenset({CLEAN(A)})

# A push cleans the block. Once, it brings another block onto it instead, which is the goal of this task.
USUAL = Demonstration((A, B), CLEAN_A, (NONE, CLEAN_A), (PUSH(A),))
ODD = Demonstration((A, B), frozenset({ON(B, A)}), (NONE, frozenset({ON(B, A)})), (PUSH(A),))


def climbed(demos):
    problem = LearningProblem.of(demos, partly_bound, skip_idle_steps=True)
    return alternate(problem, reduce_truthfully, Climb(problem.empty_hypothesis())).hypothesis, problem


@pytest.mark.parametrize(("usual", "ignored"), [(49, True), (48, False)])
def test_an_operator_for_one_transition_in_fifty_is_ignored(usual, ignored):
    demos = [ODD, *[USUAL] * usual]
    hypothesis, problem = climbed(demos)
    assert rare_operator_transitions(hypothesis, problem) == ({(0, 0)} if ignored else set())
    learned = learn_operators(demos)
    assert len(learned.operators) == (1 if ignored else 2)
    assert learned.uncovered == (1 if ignored else 0)
    assert len(learn_operators(demos, PAPER_WITH_PATTERNS_AND_TYPES).operators) == 2
    identities = {(one.demonstration, one.step) for data in learned.data for one in data.groundings}
    assert ((0, 0) in identities) != ignored


def test_an_effect_that_occurs_in_a_sixth_of_the_transitions_is_knowledge():
    demos = [USUAL] * 10 + [ODD] * 2
    assert len(learn_operators(demos).operators) == 2


@settings(max_examples=60, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3), copies=st.integers(1, 60))
def test_rare_operators_by_definition(demos, copies):
    """Each drawn demonstration occurs once, and a demonstration of two controllers occurs often."""
    both = frozenset({CLEAN(A), ON(A, B)})
    often = Demonstration((A, B), both, (NONE, CLEAN_A, both), (PUSH(A), STACK(A, B)))
    hypothesis, problem = climbed([*demos, *[often] * copies])
    uses = Counter(one.controller.name for one in problem.transitions.by_number)
    expected = {
        transition.transition_id
        for fitted in hypothesis.fitted
        for transition, _ in fitted.data
        if len(fitted.data) <= RARE * uses[fitted.operator.controller.name]
    }
    assert rare_operator_transitions(hypothesis, problem) == expected


def test_a_missing_precondition_in_one_transition_is_noise():
    """It rains before all pushes but one. Among 13 transitions this is 7.7 %."""
    wet = Demonstration((A, B), CLEAN_A, (RAINY, RAINY | CLEAN_A), (PUSH(A),))
    for count, found in ((12, {(12, 0)}), (11, set())):
        hypothesis, problem = climbed([*[wet] * count, USUAL])
        assert noisy_transitions(hypothesis.fitted) == found
        assert find_outliers(hypothesis, problem, noisy=True) == found
        assert find_outliers(hypothesis, problem, noisy=False) == set(), (
            "looked for only if atoms are noisy"
        )
    assert 1 / 13 < NOISE < 1 / 12


def test_a_deleted_atom_in_one_transition_is_noise():
    wet = Demonstration((A, B), CLEAN_A, (RAINY, RAINY | CLEAN_A), (PUSH(A),))
    drying = Demonstration((A, B), CLEAN_A, (RAINY, CLEAN_A), (PUSH(A),))
    hypothesis, _ = climbed([drying, *[wet] * 12])
    assert noisy_transitions(hypothesis.fitted) == {(0, 0)}
    hypothesis, _ = climbed([drying, *[wet] * 11])
    assert noisy_transitions(hypothesis.fitted) == set()


def test_preconditions_that_wrong_atoms_hid_are_a_gain():
    """Without one of 13 pushes, as many operators have a precondition more."""
    wet = Demonstration((A, B), CLEAN_A, (RAINY, RAINY | CLEAN_A), (PUSH(A),))
    old, _ = climbed([*[wet] * 12, USUAL])
    new, _ = climbed([wet] * 13)
    assert len(new.fitted) == len(old.fitted)
    assert ignoring_pays(new, old, ignored=1, noisy=True)
    assert not ignoring_pays(new, old, ignored=1, noisy=False)
    assert not ignoring_pays(old, new, ignored=1, noisy=True)


def test_false_claims_that_ignoring_saves_are_a_gain():
    """As many operators remain, but each of the two outliers is worth ten false claims."""
    hypothesis, _ = climbed([USUAL])
    assert ignoring_pays(hypothesis, hypothesis, 2, saved_claims=20, noisy=False)
    assert not ignoring_pays(hypothesis, hypothesis, 2, saved_claims=19, noisy=False)


def test_lost_preconditions_are_looked_for_if_many_steps_have_no_purpose():
    """Stacking starts the rain, which pushing requires. One of 25 pushes was recorded without rain."""
    rain_then_clean = Demonstration((A, B), CLEAN_A, (NONE, RAINY, RAINY | CLEAN_A), (STACK(A, B), PUSH(A)))
    demos = [USUAL, *[rain_then_clean] * 24]
    learned = learn_operators(demos)
    (push,) = (one for one in learned.operators if one.controller == PUSH)
    assert {str(atom) for atom in push.preconditions} == {"Rain()"}
    assert learned.uncovered == 1
    (stack,) = (one for one in learned.operators if one.controller == STACK)
    assert {str(atom) for atom in stack.add_effects} == {"Rain()"}
    (doubt,) = (one for one in find_doubts(learned, demos).items if one.kind is DoubtKind.IDLE)
    assert "unlike its other uses in 1 of 25 steps" in doubt.fact, "the ignored push added an atom"


@pytest.mark.parametrize("dry", [2, 4])
def test_more_wrong_atoms_are_expected_if_many_steps_have_no_purpose(dry):
    """Stacking starts the rain, which pushing requires. Some of 20 pushes were recorded without rain."""
    rain_then_clean = Demonstration((A, B), CLEAN_A, (NONE, RAINY, RAINY | CLEAN_A), (STACK(A, B), PUSH(A)))
    hypothesis, problem = climbed([*[USUAL] * dry, *[rain_then_clean] * (20 - dry)])
    found = {(index, 0) for index in range(dry)} if dry == 2 else set()
    assert find_outliers(hypothesis, problem, noisy=True) == found
    assert noisy_transitions(hypothesis.fitted) == set(), "two are more than usual"


def test_few_uses_cannot_show_that_a_precondition_was_lost():
    """With 18 pushes, the one without rain may well be right, although all stacking has no purpose."""
    rain_then_clean = Demonstration((A, B), CLEAN_A, (NONE, RAINY, RAINY | CLEAN_A), (STACK(A, B), PUSH(A)))
    learned = learn_operators([USUAL, *[rain_then_clean] * 17])
    (push,) = (one for one in learned.operators if one.controller == PUSH)
    assert push.preconditions == frozenset()
    assert learned.uncovered == 0


def test_outliers_count_as_uncovered_once():
    """Operators for stacking are withheld. One demonstration ends with it, after a rare push."""

    def without_stacking(problem, reduce, start):
        climb = alternate(problem, reduce, start)
        # The learner gives canonical names to controllers; only stacking has two arguments.
        rest = [one for one in climb.hypothesis.candidates if len(one.controller.types) != 2]
        return Climb(problem.fit(rest, climb.hypothesis))

    odd = frozenset({ON(B, A)})
    demos = [
        Demonstration((A, B), CLEAN_A, (NONE, RAINY, CLEAN_A), (STACK(A, B), PUSH(A))),
        Demonstration((A, B), odd | RAINY, (NONE, odd, odd | RAINY), (PUSH(A), STACK(A, B))),
    ]
    config = OperatorLearningConfig(schedule=without_stacking, escape=stay_where_stuck)
    learned = learn_operators([*demos[:1] * 60, demos[1]], config)
    assert [len(one.add_effects) for one in learned.operators] == [1], "the rare operator is ignored"
    explained = sum(step is not None for chain in learned.chains for step in chain)
    assert learned.uncovered == learned.transitions - explained


def test_operators_that_predict_what_holds_by_chance_are_misleading():
    """Pushing a cleans it. In five of twenty demonstrations, b becomes clean too, and this is the goal."""
    both = frozenset({CLEAN(A), CLEAN(B)})
    chance = Demonstration((A, B), both, (NONE, both), (PUSH(A),))
    for count, found in ((14, set()), (15, {(index, 0) for index in range(15, 20)})):
        hypothesis, problem = climbed([*[USUAL] * count, *[chance] * 5])
        assert len(hypothesis.fitted) == 2
        assert misleading_operator_transitions(hypothesis, problem) == found
        assert find_outliers(hypothesis, problem, noisy=False) == set(), "no step is without a purpose"


WAIT = Controller("Wait", ())()
DETOUR = Demonstration((A, B), CLEAN_A, (NONE, RAINY, RAINY | CLEAN_A), (WAIT, PUSH(A)))
BOTH = frozenset({CLEAN(A), CLEAN(B)})
DETOURS = [*[DETOUR] * 15, *[USUAL] * 15]


def test_one_transition_does_not_show_that_an_operator_is_misleading():
    """In 15 demonstrations, waiting is a detour. In one or two others, b becomes clean before stacking."""
    goal = frozenset({ON(A, B)})
    chance = Demonstration((A, B), goal, (NONE, BOTH, BOTH | goal), (PUSH(A), STACK(A, B)))
    for count in (1, 2):
        hypothesis, problem = climbed([*DETOURS, *[chance] * count])
        expected = {(30 + index, 0) for index in range(count)}
        assert misleading_operator_transitions(hypothesis, problem) == expected
        assert find_outliers(hypothesis, problem, noisy=False) == (expected if count == 2 else set())


def test_only_transitions_that_need_the_misleading_operator_are_outliers():
    """In 12 pushes, b becomes clean too. Only two of these demonstrations need this."""
    goal = frozenset({ON(A, B)})
    chance = Demonstration((A, B), CLEAN_A, (NONE, BOTH), (PUSH(A),))
    needed = Demonstration((A, B), goal, (NONE, BOTH, BOTH | goal), (PUSH(A), STACK(A, B)))
    hypothesis, problem = climbed([*DETOURS, *[chance] * 10, *[needed] * 2])
    assert max(len(one.operator.add_effects) for one in hypothesis.fitted if len(one.data) == 12) == 2
    assert misleading_operator_transitions(hypothesis, problem) == {(40, 0), (41, 0)}


def test_transitions_that_achieve_a_goal_are_no_detours():
    """In two of over thirty pushes, b becomes clean too, and this is the goal."""
    chance = Demonstration((A, B), BOTH, (NONE, BOTH), (PUSH(A),))
    hypothesis, problem = climbed([*DETOURS, *[chance] * 2])
    assert misleading_operator_transitions(hypothesis, problem) == {(30, 0), (31, 0)}
    assert find_outliers(hypothesis, problem, noisy=False) == set()
