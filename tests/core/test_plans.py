"""Necessary atoms of plans, and planning results."""

from __future__ import annotations

import pytest

from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.plans import Outcome, PlanningResult, necessary_atoms
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK, THING

A, B = BLOCK("a"), BLOCK("b")
X, Y = Variable("?x", BLOCK), Variable("?y", BLOCK)
NONE = frozenset()

PUSHING = Operator(
    "Push", (X,), frozenset({RAIN.lifted()}), frozenset({CLEAN.lifted(X)}), NONE, NONE, PUSH, (X,)
)
STACKING = Operator(
    "Stack",
    (X, Y),
    frozenset({CLEAN.lifted(X), CLEAN.lifted(Y)}),
    frozenset({ON.lifted(X, Y), CLEAN.lifted(Y)}),
    frozenset({CLEAN.lifted(X)}),
    frozenset({DeletePattern(ON, (Wildcard(THING), Wildcard(THING)))}),
    STACK,
    (X, Y),
)


def test_necessary_atoms_by_hand():
    plan = (PUSHING.ground([A]), PUSHING.ground([B]), STACKING.ground([A, B]))
    goal = frozenset({ON(A, B), RAIN()})
    assert necessary_atoms(plan, goal) == (
        {RAIN()},
        {RAIN(), CLEAN(A)},
        {RAIN(), CLEAN(A), CLEAN(B)},
        goal,
    )


def test_a_keep_effect_is_necessary_before_and_after():
    before, after = necessary_atoms([STACKING.ground([A, B])], frozenset({CLEAN(B)}))
    assert CLEAN(B) in before
    assert CLEAN(B) in after


def test_nothing_is_necessary_before_a_plan_that_adds_the_goal_unconditionally():
    rain = Operator("Wait", (X,), NONE, frozenset({RAIN.lifted()}), NONE, NONE, PUSH, (X,))
    assert necessary_atoms([rain.ground([A])], frozenset({RAIN()})) == (frozenset(), {RAIN()})


def test_the_empty_plan_needs_the_goal():
    assert necessary_atoms([], frozenset({RAIN()})) == ({RAIN()},)


@pytest.mark.parametrize("outcome", Outcome)
def test_only_one_outcome_is_success(outcome):
    assert PlanningResult(outcome).solved == (outcome.value == "solved")
