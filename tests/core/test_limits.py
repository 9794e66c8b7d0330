"""Deadlines of learning, and budgets of planning."""

from __future__ import annotations

import math

import pytest

from fake_clock import FakeClock
from needful.core.limits import NO_DEADLINE, Budget, Deadline
from needful.errors import InvalidInputError, LearningTimeoutError


def test_time_is_up_at_the_deadline_and_after() -> None:
    clock = FakeClock()
    clock.now = 100.0
    deadline = Deadline.after(2.5, clock)
    assert deadline.check() is False
    clock.now = 102.4
    assert deadline.check() is False
    for now in (102.5, 200.0):
        clock.now = now
        with pytest.raises(LearningTimeoutError, match=r"time limit of 2\.5 s"):
            deadline.check()


def test_without_a_limit_the_clock_is_not_read() -> None:
    assert Deadline.after(None) is NO_DEADLINE
    assert Deadline(clock=lambda: pytest.fail("the clock was read")).check() is False


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_a_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(InvalidInputError, match="must be more than 0 seconds"):
        Deadline.after(seconds)


def test_the_error_has_the_seconds_per_stage() -> None:
    spent = {"operators": 1.0}
    error = LearningTimeoutError(3.0, spent)
    spent["samplers"] = 2.0
    assert (error.limit, error.seconds) == (3.0, {"operators": 1.0})
    assert LearningTimeoutError(3.0).seconds == {}


def test_a_limit_of_checks_comes_earlier_than_the_time_limit() -> None:
    clock = FakeClock()
    limited = Deadline.after(5.0, clock).with_check_limit(3)
    assert [limited.check() for _ in range(3)] == [False] * 3
    with pytest.raises(LearningTimeoutError):
        limited.check()
    unlimited = NO_DEADLINE.with_check_limit(1)
    assert not unlimited.check()
    with pytest.raises(LearningTimeoutError):
        unlimited.check()


def test_the_time_limit_also_holds_with_a_limit_of_checks() -> None:
    clock = FakeClock()
    limited = Deadline.after(5.0, clock).with_check_limit(1000)
    assert not limited.check()
    clock.now += 5.0
    with pytest.raises(LearningTimeoutError):
        limited.check()


def test_the_earlier_of_two_deadlines():
    clock = FakeClock()
    long = Deadline.after(10.0, clock)
    short = long.at_most(3.0)
    assert (short.limit, short.at, short.clock) == (3.0, clock() + 3.0, clock)
    assert short.at_most(5.0) is short
    assert NO_DEADLINE.at_most(2.0).limit == 2.0


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
