"""What is measured in a snapshot."""

from __future__ import annotations

from math import hypot, inf

import numpy as np
import pytest
from tiny_house import scene_of

from needful.envs.household.motion.base_motion import Disc, OccupancyGrid
from needful.envs.household.motion.still_house import HouseQueries
from needful.envs.household.scene.scene import HAND_CLEARANCE, HAND_RADIUS, HEIGHT, RADIUS, Thing
from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.simulation.situation import SnapshotGeometry
from needful.envs.household.simulation.snapshot import HELD, initial_snapshot


def view_of(things, *, held=None):
    """Return a view of a house in which the robot stands at (3.2, 2.5)."""
    return view_in(scene_of(things), held=held)


def view_in(scene, *, held=None):
    """Return a view of a house before anything has settled."""
    model = build_model(scene)
    house = HouseQueries(model)
    snapshot = initial_snapshot(model)
    if held is not None:
        snapshot = snapshot.with_feature(held, HELD, 1.0)
    house.show(snapshot)
    return SnapshotGeometry(
        model, house, OccupancyGrid(scene, house.footprints()[model.is_fixed]), snapshot
    )


def test_an_empty_hand_is_small():
    assert view_of([]).discs == (Disc(RADIUS, 0.0, HEIGHT), Disc(HAND_CLEARANCE, HEIGHT, inf))


@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_what_is_held_needs_room_however_the_robot_turns(yaw):
    # A book, 0.14 by 0.21, over the middle of the robot.
    view = view_of([Thing("book", "book", (3.2, 2.5, 0.8), yaw)], held=0)
    assert view.discs[1].radius == pytest.approx(hypot(0.07, 0.105))


def test_what_is_held_is_no_obstacle():
    things = [Thing("book", "book", (3.2, 2.5, 0.8)), Thing("jar", "jar", (1.0, 1.0, 0.0))]
    assert len(view_of(things).loose) == 2
    assert len(view_of(things, held=0).loose) == 1


def test_hands_keep_away_at_the_farthest_distance():
    view = view_of([Thing("book", "book", (1.0, 1.0, 0.0))])
    middle = view.boxes.middle[0]
    assert view.contact_free_distance(0, middle) == pytest.approx(
        np.linalg.norm([0.07, 0.105, 0.0125]) + 2 * HAND_RADIUS
    )
