"""The geometry of a snapshot."""

from __future__ import annotations

from math import hypot, inf

import numpy as np
import pytest

from needful.envs.household.scene.scene import HAND_CLEARANCE, HAND_RADIUS, HEIGHT, RADIUS, Thing
from needful.envs.household.simulation.base_motion import Disc
from tiny_house import geometry_of, scene_of


def test_the_discs_of_an_empty_hand():
    assert geometry_of(scene_of([])).discs == (Disc(RADIUS, 0.0, HEIGHT), Disc(HAND_CLEARANCE, HEIGHT, inf))


@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_the_held_thing_fits_in_the_upper_disc_at_any_yaw(yaw):
    # A book of 0.14 by 0.21 above the centre of the robot.
    geometry = geometry_of(scene_of([Thing("book", "book", (3.2, 2.5, 0.8), yaw)]), held=0)
    assert geometry.discs[1].radius == pytest.approx(hypot(0.07, 0.105))


def test_the_held_thing_is_no_obstacle():
    things = [Thing("book", "book", (3.2, 2.5, 0.8)), Thing("jar", "jar", (1.0, 1.0, 0.0))]
    assert len(geometry_of(scene_of(things)).loose) == 2
    assert len(geometry_of(scene_of(things), held=0).loose) == 1


def test_the_contact_free_distance():
    geometry = geometry_of(scene_of([Thing("book", "book", (1.0, 1.0, 0.0))]))
    centre = geometry.boxes.centre[0]
    assert geometry.contact_free_distance(0, centre) == pytest.approx(
        np.linalg.norm([0.07, 0.105, 0.0125]) + 2 * HAND_RADIUS
    )
