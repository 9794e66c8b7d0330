"""Tests of the predicates that Painting and Cluttered Painting share."""

from __future__ import annotations

import numpy as np
import pytest

from envs.painting_scenes import (
    BOX_OBJECT,
    OBJ0,
    OBJ1,
    ROBBY,
    SHELF_OBJECT,
    TOP,
    scene,
    thing,
)
from needful.envs.painting_scene import (
    GRIPPER_OPEN,
    HOLDING_SIDE,
    HOLDING_TOP,
    IN_BOX,
    IN_SHELF,
    IS_BOX_COLOR,
    IS_CLEAN,
    IS_DIRTY,
    IS_DRY,
    IS_SHELF_COLOR,
    IS_WET,
    NOT_ON_TABLE,
    ON_TABLE,
)


@pytest.mark.parametrize(
    ("y", "inside"), [(0.42, False), (0.42 + 1e-9, True), (0.5, True), (0.58 - 1e-9, True), (0.58, False)]
)
def test_the_range_of_the_box_excludes_its_ends(y: float, inside: bool) -> None:
    assert IN_BOX(OBJ0, BOX_OBJECT).holds(scene(thing(y))) is inside


@pytest.mark.parametrize(
    ("y", "inside"), [(1.0, False), (1.0 + 1e-9, True), (2.0, True), (2.95 - 1e-9, True), (2.95, False)]
)
def test_the_range_of_the_shelf_excludes_its_ends(y: float, inside: bool) -> None:
    assert IN_SHELF(OBJ0, SHELF_OBJECT).holds(scene(thing(y))) is inside


@pytest.mark.parametrize("y", [0.5, 2.0])
def test_a_held_object_is_neither_in_box_nor_shelf(y: float) -> None:
    state = scene(thing(y, grasp=TOP))
    assert not IN_BOX(OBJ0, BOX_OBJECT).holds(state)
    assert not IN_SHELF(OBJ0, SHELF_OBJECT).holds(state)


@pytest.mark.parametrize(
    ("y", "z", "resting"),
    [
        (-5.0, 0.265, True),
        (-5.0, float(np.float32(0.265)), True),
        (-5.0, 0.265 * (1 + 0.9e-5), True),
        (-5.0, 0.265 * (1 + 1.1e-5), False),
        (-5.0, 1.265, False),
        (-10.1, 0.265, False),
        (-1.0, 0.265, False),
        (-10.1 + 1e-9, 0.265, True),
        (0.5, 0.265, False),
    ],
)
def test_on_table_depends_on_position_and_height(y: float, z: float, resting: bool) -> None:
    state = scene(thing(y, pose_z=z))
    assert ON_TABLE(OBJ0).holds(state) is resting
    assert NOT_ON_TABLE(OBJ0).holds(state) is not resting


@pytest.mark.parametrize(
    ("fingers", "is_open"), [(1.0, True), (0.8, True), (0.8 - 1e-9, False), (0.0, False)]
)
def test_the_threshold_of_open_fingers(fingers: float, is_open: bool) -> None:
    state = scene(thing()).replace({ROBBY: {"fingers": fingers}})
    assert GRIPPER_OPEN(ROBBY).holds(state) is is_open


@pytest.mark.parametrize(
    ("grasp", "side", "top"),
    [
        (0.0, True, False),
        (0.49, False, False),
        (0.5, False, False),
        (0.51, False, False),
        (1.0, False, True),
    ],
)
def test_grasps_are_from_the_side_or_from_the_top(grasp: float, side: bool, top: bool) -> None:
    state = scene(thing(grasp=grasp, held=0.0))
    assert HOLDING_SIDE(OBJ0).holds(state) is side
    assert HOLDING_TOP(OBJ0).holds(state) is top


@pytest.mark.parametrize(("amount", "above"), [(0.0, False), (0.5, False), (0.5 + 1e-9, True), (1.0, True)])
def test_wet_and_dirty_mean_more_than_a_half(amount: float, above: bool) -> None:
    state = scene(thing(wetness=amount), thing(dirtiness=amount))
    assert [IS_WET(OBJ0).holds(state), IS_DRY(OBJ0).holds(state)] == [above, not above]
    assert [IS_DIRTY(OBJ1).holds(state), IS_CLEAN(OBJ1).holds(state)] == [above, not above]


@pytest.mark.parametrize("offset", [-0.02, -0.009, 0.0, 0.009, 0.02])
def test_colours_match_within_a_hundredth(offset: float) -> None:
    state = scene(thing(color=0.3 + offset), thing(color=0.8 + offset))
    assert IS_BOX_COLOR(OBJ0, BOX_OBJECT).holds(state) is (abs(offset) < 0.01)
    assert IS_SHELF_COLOR(OBJ1, SHELF_OBJECT).holds(state) is (abs(offset) < 0.01)
    assert not IS_SHELF_COLOR(OBJ0, SHELF_OBJECT).holds(state)
