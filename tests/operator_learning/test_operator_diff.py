"""Differences between sets of operators, by hand."""

from __future__ import annotations

from dataclasses import replace

from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.backchaining import OperatorDiff
from needful.operator_learning.candidates import canonical_candidate
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK

X, Y = Variable("?x0", BLOCK), Variable("?x1", BLOCK)
NONE = frozenset()

IDLE = Operator("Push", (X,), NONE, NONE, NONE, NONE, PUSH, (X,))
CLEANING = replace(IDLE, add_effects=frozenset({CLEAN.lifted(X)}))
RAINING = replace(IDLE, add_effects=frozenset({RAIN.lifted()}))
STACKING = Operator("Stack", (X, Y), NONE, frozenset({ON.lifted(X, Y)}), NONE, NONE, STACK, (X, Y))


def test_operators_are_grouped_by_controller():
    diff = OperatorDiff.between([IDLE, RAINING], [CLEANING, RAINING, STACKING])
    assert diff.by_controller == {"Push": [CLEANING, RAINING], "Stack": [STACKING]}
    assert diff.new_by_controller == {"Push": [CLEANING], "Stack": [STACKING]}
    assert diff.unchanged_texts == {str(RAINING)}


def test_an_equal_operator_is_unchanged():
    assert OperatorDiff.between([IDLE], [replace(IDLE)]).new_by_controller == {}


def test_a_candidate_with_other_hints_is_new():
    """The text is the same, but another grounding may be preferred."""
    plain, hinted = canonical_candidate(IDLE, {}), canonical_candidate(IDLE, {(0, 0): {X: 1}})
    diff = OperatorDiff.between([plain], [hinted])
    assert diff.new_by_controller == {"Push": [hinted]}
    assert diff.unchanged_texts == frozenset()
