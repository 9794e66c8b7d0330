from __future__ import annotations

import math

import pytest

from fake_clock import FakeClock
from needful.errors import InvalidInputError
from needful.planning.budget import Budget


def test_time_is_up_at_the_deadline() -> None:
    clock = FakeClock()
    clock.now = 100.0
    budget = Budget.seconds(10.0, clock=clock)
    assert (budget.expired(), budget.remaining()) == (False, 10.0)
    clock.now = 109.5
    assert (budget.expired(), budget.remaining()) == (False, 0.5)
    clock.now = 110.0
    assert (budget.expired(), budget.remaining()) == (True, 0.0)
    clock.now = 500.0
    assert (budget.expired(), budget.remaining()) == (True, 0.0)


def test_real_clock_does_not_end_a_long_budget_at_once() -> None:
    assert not Budget.seconds(1000.0).expired()
    assert Budget.seconds(-1.0).expired()


def test_unlimited_never_ends() -> None:
    assert not Budget.unlimited().expired()
    assert Budget.unlimited().remaining() == math.inf
    assert Budget.unlimited().allows(10**12)


def test_node_cap() -> None:
    budget = Budget.seconds(1.0, max_nodes=5)
    assert budget.allows(4)
    assert not budget.allows(5)


def test_invalid_limits_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="nan"):
        Budget(math.nan)
    with pytest.raises(InvalidInputError, match=r"max_nodes.* got 0"):
        Budget.seconds(1.0, max_nodes=0)
    with pytest.raises(InvalidInputError, match=r"max_ground_operators.* got -1"):
        Budget.seconds(1.0, max_ground_operators=-1)
