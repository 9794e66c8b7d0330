"""Formulas of users: values, and texts that are not arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from needful import Expression, InvalidInputError, State, Type
from needful.core.expressions import parse_formula
from needful.core.state import feature_array

BOX = Type("box", ("x", "y", "width"))
GAP = "gap: abs(a.x - b.x) - a.width / 2 + max(-b.y, 1)"
FEATURES = (("width", "x"), ("x", "y"))


def test_values_equal_scalar_arithmetic() -> None:
    rng = np.random.default_rng(0)
    one, other = BOX("one"), BOX("other")
    states = [State({one: rng.normal(size=3), other: rng.normal(size=3)}) for _ in range(5)]
    expression = Expression(GAP, (BOX, BOX), FEATURES)
    values = expression.values(states, {BOX: feature_array(states, BOX)})
    for state, found in zip(states, values, strict=True):
        (ax, _, width), (bx, by, _) = state[one], state[other]
        wanted = abs(ax - bx) - width / 2 + max(-by, 1)
        assert found[0, 1] == pytest.approx(wanted)
        assert expression.value(state, (one, other)) == pytest.approx(wanted)


def test_a_formula_without_a_value_is_nan() -> None:
    state = State({BOX("one"): (0.0, 0.0, -1.0)})
    expression = Expression("ratio: a.x / a.y + sqrt(a.width)", (BOX,), (("width", "x", "y"),))
    assert math.isnan(expression.value(state, state.of_type(BOX)))


def test_parts_of_a_formula() -> None:
    formula = parse_formula("  reach : hypot(a.x - b.x, a.y - b.y)")
    assert (formula.name, formula.features) == ("reach", (("x", "y"), ("x", "y")))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a.x - b.x", "name and a colon"),
        ("__import__('os'): a.x", "name and a colon"),
        ("f: __import__('os').system('true')", "not allowed"),
        ("f: a.__class__.__mro__", "not allowed"),
        ("f: open(a.x)", "not allowed"),
        ("f: a.x ** a.x", "not allowed"),
        ("f: (lambda: a.x)()", "not allowed"),
        ("f: [a.x for a.y in b]", "not allowed"),
        ("f: a.x if a.y else a.x", "not allowed"),
        ("f: 'text' * a.x", "not allowed"),
        ("f: True + a.x", "not allowed"),
        ("f: sqrt(a.x, a.y)", "sqrt takes 1 arguments, got 2"),
        ("f: a.x +", "cannot be parsed"),
        ("f: a.x\x00", "cannot be parsed"),
        ("f: " + "(" * 200 + "a.x" + ")" * 90, "cannot be parsed"),
        ("f: " + "-" * 400 + "a.x", "longer than 300"),
        ("f: 1 + 2", "must use the objects"),
        ("f: b.x", "must use the objects"),
    ],
)
def test_other_texts_are_rejected(text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        parse_formula(text)
    assert problem in str(raised.value)
    assert "gap: abs(a.x - b.x)" in str(raised.value)


def test_features_must_be_those_of_the_formula() -> None:
    with pytest.raises(InvalidInputError, match="uses the features"):
        Expression(GAP, (BOX, BOX), (("width", "y"), ("x", "y")))
