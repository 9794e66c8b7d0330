"""The regions that doors and lids sweep, compared to MuJoCo's kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from needful.envs.household.scene.scene import Thing
from needful.envs.household.simulation.controllers import (
    SWEEP_STEPS,
    encloses_robot,
    hits_robot,
    swept_footprints,
)
from needful.envs.household.simulation.snapshot import JOINT
from tiny_house import alcove, geometry_of, scene_of

FRIDGE = Thing("it", "fridge", (3.0, 1.5, 0.0), yaw=0.4, opened=0.2)
PACKAGE = Thing("it", "package", (3.0, 1.5, 0.0), yaw=-0.8)


@pytest.mark.parametrize("thing", [FRIDGE, PACKAGE])
@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_swept_footprints_agree_with_mujoco(thing, fraction):
    geometry = geometry_of(scene_of([thing]))
    found = swept_footprints(geometry, 0, fraction)
    turning = geometry.model.physics_model.geom_bodyid == geometry.model.physics_model.body("it/hinge").id
    for stop, part in enumerate(np.linspace(thing.opened, fraction, SWEEP_STEPS)):
        house = geometry.house
        house.set_snapshot(geometry.snapshot.with_feature(0, JOINT, part))
        prints = house.footprints()[turning]
        assert found.centre[stop] == pytest.approx(prints.centre[0], abs=1e-9)
        assert (found.low[stop], found.high[stop]) == pytest.approx((prints.low[0], prints.high[0]))
        for x, y in np.array([(3.0, 2.5), (3.4, 1.9)]):
            assert found.gaps(x, y)[stop] == pytest.approx(prints.gaps(x, y)[0], abs=1e-6)


@pytest.mark.parametrize(("place", "hit"), [((3.2, 1.85), True), ((3.2, 1.2), False), ((2.2, 2.5), False)])
def test_doors_hit_a_robot_in_front_of_them(place, hit):
    # The robot stands at (3.2, 2.5); the fridge opens to +y.
    geometry = geometry_of(scene_of([Thing("it", "fridge", (*place, 0.0))]))
    assert hits_robot(geometry, 0, 1.0) == hit
    assert not hits_robot(geometry, 0, 0.0)


def test_windows_open_above_the_robot():
    assert not hits_robot(geometry_of(scene_of([Thing("it", "window", (3.2, 2.2, 0.8))])), 0, 1.0)


@pytest.mark.parametrize(
    ("gap", "before", "after"), [(0.7, False, False), (0.5, False, True), (0.4, True, True)]
)
def test_a_lid_may_enclose_the_robot(gap, before, after):
    geometry = geometry_of(alcove(gap))
    assert geometry.base_planner.is_enclosed() == before
    # A robot that is already enclosed does not count.
    assert encloses_robot(geometry, 0, 1.0) == (after and not before)
    assert not encloses_robot(geometry, 0, 0.0)
