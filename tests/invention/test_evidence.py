"""Evidence for proposals, bounds, and conjunctions, against direct calculation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from needful import Expression, Type
from needful.core.definitions import Conjunction, Definition, defined_predicate
from needful.invention.proposals import evidence_of, fit_bound
from needful.invention.revise import without_part

BOX = Type("box", ("x", "y"))
FAR = Definition(Expression("difference", (BOX, BOX), (("x",), ("x",))), ">", 1.0)
HIGH = Definition(Expression("difference", (BOX, BOX), (("y",), ("y",))), ">", 2.0)


def test_evidence_is_the_improbability_of_a_separation_by_chance() -> None:
    rng = np.random.default_rng(0)
    true, false, excluded = 4, 3, 2
    labels = np.array([True] * true + [False] * false)
    extreme = [rng.permutation(labels)[:excluded] for _ in range(20_000)]
    chance = np.mean([not one.any() for one in extreme])
    assert 2.0 ** -evidence_of(true, false, excluded, 1.0, 0) == pytest.approx(chance, rel=0.1)
    assert evidence_of(true, false, excluded, 0.5, 3) == pytest.approx(-math.log2(chance) - 4, abs=0.2)


def test_a_bound_is_close_to_values_that_are_spread_out() -> None:
    values = np.linspace(0.0, 1.0, 11)
    assert 1.0 < fit_bound(values, 9.0) <= 1.2
    assert 1.0 < fit_bound(values, 1.01) < 1.01


def test_a_bound_is_halfway_if_all_values_are_equal() -> None:
    assert fit_bound(np.zeros(9), 1.0) == 0.5


def test_a_part_of_a_conjunction_can_be_left_out() -> None:
    both = defined_predicate(Conjunction((BOX, BOX), ((FAR, (0, 1)), (HIGH, (1, 0)))))
    (left,) = without_part([both], FAR)
    assert left.definition == HIGH
    assert without_part([left], HIGH) == ()
    assert without_part([left], FAR) == (left,)
