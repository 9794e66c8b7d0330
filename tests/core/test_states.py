"""States: immutable maps from objects to feature vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

THING = Type("thing", ("x",))
CUP = Type("cup", ("x", "full"), THING)
CUP_A, CUP_B, STONE = CUP("cup_a"), CUP("cup_b"), THING("stone")
STATE = State({STONE: [3], CUP_B: (2.0, 1.0), CUP_A: np.array([1.0, 0.0])})


def test_objects_are_sorted_and_vectors_are_tuples_of_floats():
    assert STATE.objects == (CUP_A, CUP_B, STONE)
    assert list(STATE) == [CUP_A, CUP_B, STONE]
    assert STATE[STONE] == (3.0,)
    assert [type(value) for value in STATE[CUP_A]] == [float, float]


def test_get_reads_one_feature():
    assert STATE.get(CUP_B, "x") == 2.0
    assert STATE.get(CUP_B, "full") == 1.0


def test_of_type_includes_subtypes():
    assert STATE.of_type(CUP) == (CUP_A, CUP_B)
    assert STATE.of_type(THING) == (CUP_A, CUP_B, STONE)


def test_of_type_distinguishes_types_with_the_same_name():
    assert STATE.of_type(Type("cup", ("x", "full"), THING)) == (CUP_A, CUP_B)
    assert STATE.of_type(Type("cup", ("x",), THING)) == ()


@given(kinds=st.lists(st.sampled_from([THING, CUP, Type("thing")])), moved=st.booleans())
def test_of_type_does_not_depend_on_earlier_calls(kinds, moved):
    state = State({CUP_A: (1, 0), STONE: (3,)})
    state.of_type(CUP)
    later = state.replace({CUP_A: {"full": 1}}) if moved else state
    for kind in kinds:
        expected = [obj for obj in later if kind in obj.type.ancestry()]
        assert list(later.of_type(kind)) == expected
    assert later == State({CUP_A: (1, moved), STONE: (3,)})
    assert STATE.of_type(CUP) == (CUP_A, CUP_B)


def test_vector_follows_the_order_of_the_given_objects():
    assert STATE.vector([STONE, CUP_A]).tolist() == [3.0, 1.0, 0.0]
    assert STATE.vector([]).tolist() == []


def test_states_copy_their_input():
    source = np.array([1.0, 0.0])
    state = State({CUP_A: source})
    source[0] = 9.0
    assert state[CUP_A] == (1.0, 0.0)


def test_changing_a_returned_vector_does_not_change_the_state():
    STATE.vector([STONE])[0] = 9.0
    assert STATE[STONE] == (3.0,)
    with pytest.raises(TypeError):
        STATE[STONE][0] = 9.0


def test_replace_makes_a_new_state():
    changed = STATE.replace({CUP_A: {"full": 1}, STONE: {"x": 4}})
    assert (changed[CUP_A], changed[CUP_B], changed[STONE]) == ((1.0, 1.0), (2.0, 1.0), (4.0,))
    assert (STATE[CUP_A], STATE[STONE]) == ((1.0, 0.0), (3.0,))


values = st.floats(-10, 10)


@given(a=values, b=values)
def test_replace_equals_a_new_state(a, b):
    changed = STATE.replace({CUP_A: {"x": a}}).replace({CUP_A: {"full": b}})
    rebuilt = State({CUP_A: (a, b), CUP_B: STATE[CUP_B], STONE: STATE[STONE]})
    assert changed == rebuilt
    assert hash(changed) == hash(rebuilt)
    assert changed.objects == rebuilt.objects


def test_equality_is_by_objects_and_values():
    assert State({STONE: [3.0]}) == State({STONE: (3,)})
    assert State({STONE: [3.0]}) != State({STONE: [4.0]})
    assert State({STONE: [3.0]}) != STATE
    assert State({}) != {}


@pytest.mark.parametrize(("change", "close"), [(0.0, True), (0.01, True), (0.011, False), (-0.02, False)])
def test_allclose_within_the_tolerance(change, close):
    one, other = State({STONE: [0.0]}), State({STONE: [change]})
    assert one.allclose(other, 0.01) is close
    assert other.allclose(one, 0.01) is close


def test_states_of_other_objects_are_never_close():
    assert not State({CUP_A: (0, 0)}).allclose(State({CUP_B: (0, 0)}), 1.0)
    assert not State({CUP_A: (0, 0)}).allclose(State({}), 1.0)


def test_unknown_object_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown object 'cup_c'. Did you mean 'cup_"):
        STATE[CUP("cup_c")]
    assert CUP("cup_c") not in STATE


def test_unknown_object_is_named_when_a_feature_is_read_or_replaced():
    with pytest.raises(UnknownNameError, match=r"Unknown object 'stones'. Did you mean 'stone'"):
        STATE.get(THING("stones"), "x")
    with pytest.raises(UnknownNameError, match=r"Unknown object 'stones'"):
        STATE.replace({THING("stones"): {"x": 1.0}})


def test_unknown_feature_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown feature of cup 'ful'. Did you mean 'full'"):
        STATE.get(CUP_A, "ful")
    with pytest.raises(UnknownNameError, match="Did you mean 'full'"):
        STATE.replace({CUP_A: {"ful": 1.0}})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_must_be_finite(value):
    with pytest.raises(InvalidInputError, match="'stone' has a value that is not finite"):
        State({STONE: [value]})
    with pytest.raises(InvalidInputError, match=r"stone\.x must be finite"):
        STATE.replace({STONE: {"x": value}})


def test_vectors_must_have_the_types_length():
    with pytest.raises(InvalidInputError, match=r"'cup_a' of type 'cup' needs 2 values .* got 1"):
        State({CUP_A: [1.0]})


def test_objects_of_one_state_have_distinct_names():
    with pytest.raises(InvalidInputError, match=r"share a name: \['a'\]"):
        State({THING("a"): [0.0], CUP("a"): [0.0, 0.0]})


def test_str_shows_objects_with_their_values():
    assert str(State({STONE: [3]})) == "State({stone:thing: (3.0,)})"
