"""Controllers: arguments, bounds of parameters and initiation tests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.core.controllers import Controller
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError

ROBOT, CUP = Type("robot", ("x",)), Type("cup", ("x",))
R, A, B = ROBOT("r"), CUP("a"), CUP("b")
MOVE = Controller("Move", (ROBOT, CUP), low=(-1.0, 0.0), high=(1.0, 0.5))
WAIT = Controller("Wait", ())


def test_dimension_is_the_number_of_parameters():
    assert MOVE.dimension == 2
    assert WAIT.dimension == 0


def test_clip_by_hand():
    assert MOVE.clip([-3, 0.2]) == (-1.0, 0.2)
    assert MOVE.clip([0.5, 7]) == (0.5, 0.5)
    assert WAIT.clip([]) == ()


@given(st.tuples(st.floats(-5, 5), st.floats(-5, 5)))
def test_clip_returns_the_nearest_point_within_the_bounds(point):
    clipped = MOVE.clip(point)
    for value, inside, low, high in zip(point, clipped, MOVE.low, MOVE.high, strict=True):
        assert low <= inside <= high
        assert inside == value or not low <= value <= high
        assert all(abs(value - inside) <= abs(value - bound) for bound in (low, high))
    assert MOVE.clip(clipped) == clipped


def test_clip_of_the_wrong_length():
    with pytest.raises(InvalidInputError, match="'Move' takes 2 parameters, got 1"):
        MOVE.clip([0.0])


def test_bounds_of_different_lengths():
    with pytest.raises(InvalidInputError, match="has 1 lower and 0 upper bounds"):
        Controller("Bad", (), low=(0.0,), high=())


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf), (-math.inf, 0.0)])
def test_bounds_must_be_finite_and_in_order(low, high):
    with pytest.raises(InvalidInputError, match="'Bad' has the invalid bounds"):
        Controller("Bad", (), low=(low,), high=(high,))


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.5, (1.0,)), ((0.5,), 1.0)])
def test_bounds_must_be_tuples(low, high):
    with pytest.raises(InvalidInputError, match=r"'Bad' has (low=0.5|high=1.0). Give a tuple"):
        Controller("Bad", (), low=low, high=high)


def test_bounds_may_be_a_single_point():
    assert Controller("Exact", (), low=(1.0,), high=(1.0,)).clip([5.0]) == (1.0,)


def test_calling_a_controller_makes_an_action():
    action = MOVE(R, A, parameters=(0.123456, 0))
    assert (action.objects, action.parameters) == ((R, A), (0.123456, 0.0))
    assert str(action) == "Move(r, a; 0.1235, 0)"
    assert str(WAIT()) == "Wait()"


def test_actions_need_the_right_number_of_objects():
    with pytest.raises(InvalidInputError, match="'Move' takes 2 objects, got 1"):
        MOVE(R, parameters=(0, 0))


def test_actions_need_objects_of_the_right_type():
    with pytest.raises(InvalidInputError, match="asks for a cup, got r:robot"):
        MOVE(R, R, parameters=(0, 0))


def test_actions_need_the_right_number_of_parameters():
    with pytest.raises(InvalidInputError, match="takes 2 parameters, got 0"):
        MOVE(R, A)


def test_actions_need_finite_parameters():
    with pytest.raises(InvalidInputError, match="not finite"):
        MOVE(R, A, parameters=(math.nan, 0))


def test_an_object_may_be_given_twice():
    assert Controller("Swap", (CUP, CUP))(A, A).objects == (A, A)


def test_initiation():
    near = Controller(
        "Grasp",
        (ROBOT, CUP),
        (0.0,),
        (1.0,),
        lambda s, o, p: abs(s.get(o[0], "x") - s.get(o[1], "x")) < p[0],
    )
    state = State({R: [0.0], A: [0.5], B: [0.9]})
    assert near(R, A, parameters=[0.6]).initiable(state)
    assert not near(R, B, parameters=[0.6]).initiable(state)
    assert MOVE(R, B, parameters=[0.0, 0.0]).initiable(state), "the default test accepts every state"


def test_controllers_are_equal_by_signature_whatever_the_initiation_test():
    other = Controller("Move", (ROBOT, CUP), (-1, 0), (1, 0.5), lambda s, o, p: False)
    assert other == MOVE
    assert hash(other) == hash(MOVE)
    assert Controller("Move", (ROBOT, CUP)) != MOVE
    assert sorted([WAIT, MOVE]) == [MOVE, WAIT]
