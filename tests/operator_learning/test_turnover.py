"""Who stayed, who came, by hand."""

from __future__ import annotations

from dataclasses import replace

from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.learning_problem import canonical_candidate
from needful.operator_learning.operator_diff import Turnover
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK

X, Y = Variable("?x0", BLOCK), Variable("?x1", BLOCK)
NONE = frozenset()

IDLE = Operator("Push", (X,), NONE, NONE, NONE, NONE, PUSH, (X,))
CLEANING = replace(IDLE, add_effects=frozenset({CLEAN.lifted(X)}))
RAINING = replace(IDLE, add_effects=frozenset({RAIN.lifted()}))
STACKING = Operator("Stack", (X, Y), NONE, frozenset({ON.lifted(X, Y)}), NONE, NONE, STACK, (X, Y))


def test_rivals_compete_by_controller():
    turnover = Turnover.between([IDLE, RAINING], [CLEANING, RAINING, STACKING])
    assert turnover.everyone == {"Push": [CLEANING, RAINING], "Stack": [STACKING]}
    assert turnover.newcomers == {"Push": [CLEANING], "Stack": [STACKING]}
    assert turnover.stayed == {str(RAINING)}


def test_an_equal_rival_has_stayed():
    assert Turnover.between([IDLE], [replace(IDLE)]).newcomers == {}


def test_other_hints_make_a_newcomer():
    """The text is the same, yet another grounding may be preferred."""
    plain, hinting = canonical_candidate(IDLE, {}), canonical_candidate(IDLE, {(0, 0): {X: 1}})
    turnover = Turnover.between([plain], [hinting])
    assert turnover.newcomers == {"Push": [hinting]}
    assert turnover.stayed == frozenset()
