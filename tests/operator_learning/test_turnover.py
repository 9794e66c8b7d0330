"""Who unchanged_texts, who came, by hand."""

from __future__ import annotations

from dataclasses import replace

from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.operator_diff import OperatorDiff
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK

X, Y = Variable("?x0", BLOCK), Variable("?x1", BLOCK)
NONE = frozenset()

IDLE = Operator("Push", (X,), NONE, NONE, NONE, NONE, PUSH, (X,))
CLEANING = replace(IDLE, add_effects=frozenset({CLEAN.lifted(X)}))
RAINING = replace(IDLE, add_effects=frozenset({RAIN.lifted()}))
STACKING = Operator("Stack", (X, Y), NONE, frozenset({ON.lifted(X, Y)}), NONE, NONE, STACK, (X, Y))


def test_rivals_compete_by_controller():
    diff = OperatorDiff.between([IDLE, RAINING], [CLEANING, RAINING, STACKING])
    assert diff.by_controller == {"Push": [CLEANING, RAINING], "Stack": [STACKING]}
    assert diff.new_by_controller == {"Push": [CLEANING], "Stack": [STACKING]}
    assert diff.unchanged_texts == {str(RAINING)}


def test_an_equal_rival_has_stayed():
    assert OperatorDiff.between([IDLE], [replace(IDLE)]).new_by_controller == {}


def test_other_hints_make_a_newcomer():
    """The text is the same, yet another grounding may be preferred."""
    plain, hinting = canonical_candidate(IDLE, {}), canonical_candidate(IDLE, {(0, 0): {X: 1}})
    diff = OperatorDiff.between([plain], [hinting])
    assert diff.new_by_controller == {"Push": [hinting]}
    assert diff.unchanged_texts == frozenset()
