"""A deadline decides whether something is learned, never what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carrying_world import BOX1, HELD, PUT, A, B, C, R, carrying
from fake_clock import FakeClock
from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.demonstrations import Demonstration
from needful.core.limits import Deadline
from needful.errors import LearningTimeoutError
from needful.operator_learning.canonical_encoding import encode_canonically
from needful.operator_learning.wrong_atoms import repair_wrong_atoms

DEMOS = (carrying(A, (A, B, C), (A,)), carrying(B, (A, B), (B, C)), carrying(C, (A, C), (B, C)))
IN_VAIN = Demonstration((R, BOX1, A), frozenset(), (frozenset({HELD(A)}),) * 2, (PUT(R, A, BOX1),))


@pytest.mark.parametrize("name", sorted(BILEVEL_APPROACHES))
def test_every_learner_looks_at_the_clock(name: str) -> None:
    """At each look a second passes: those that look often do not get far."""
    with pytest.raises(LearningTimeoutError, match="time limit of 20 s"):
        BILEVEL_APPROACHES[name].learn_operators(
            DEMOS, (IN_VAIN,), Deadline.after(20.0, FakeClock(tick=1.0))
        )


@pytest.mark.parametrize("name", sorted(BILEVEL_APPROACHES))
def test_with_time_enough_the_same_is_learned(name: str) -> None:
    learn, clock = BILEVEL_APPROACHES[name].learn_operators, FakeClock(tick=1.0)
    assert learn(DEMOS, (IN_VAIN,), Deadline.after(1e9, clock)) == learn(DEMOS, (IN_VAIN,))
    assert clock.now > 20


@pytest.mark.parametrize("name", sorted(BILEVEL_APPROACHES))
def test_time_may_run_out_at_any_moment(name: str) -> None:
    """However late it is: nothing but the error comes of it, or all that there is to learn."""
    learn = BILEVEL_APPROACHES[name].learn_operators
    whole, interrupted, finished = learn(DEMOS, (IN_VAIN,)), 0, 0
    for seconds in range(1, 400, 7):
        try:
            learned = learn(DEMOS, (IN_VAIN,), Deadline.after(seconds, FakeClock(tick=0.5)))
        except LearningTimeoutError:
            interrupted += 1
        else:
            finished += 1
            assert learned == whole
    assert interrupted
    assert finished


@pytest.mark.parametrize("prepare", [repair_wrong_atoms, encode_canonically])
def test_steps_before_learning_look_at_the_clock(prepare: Callable[..., object]) -> None:
    clock = FakeClock(tick=1.0)
    prepare(DEMOS, Deadline.after(1e9, clock))
    looks = int(clock.now)
    assert looks >= len(DEMOS)
    for seconds in range(1, looks - 1):
        with pytest.raises(LearningTimeoutError):
            prepare(DEMOS, Deadline.after(seconds, FakeClock(tick=1.0)))
