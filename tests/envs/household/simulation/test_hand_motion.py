"""Paths of the hand: collisions, contacts, and detours around obstacles."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

from needful.envs.household.scene.scene import HAND_RADIUS, Box, Thing
from needful.envs.household.simulation.hand_motion import CONTACT_GAP, PENETRATION_TOLERANCE, HandPlanner
from tiny_house import geometry_of, scene_of


def at(*point):
    return np.array(point, dtype=float)


BLOCK = Thing("block", "toy_block", (3.0, 2.0, 0.0))


def test_an_empty_hand_is_a_ball():
    planner = HandPlanner(geometry_of(scene_of([BLOCK], ())))
    payload = planner.payload(at(0, 0, 0), -1)
    beside = 0.045 + HAND_RADIUS
    assert planner.is_free(payload, [at(3.0 + beside, 2.0, 0.045)])
    assert not planner.is_free(payload, [at(3.0 + beside - 2 * PENETRATION_TOLERANCE, 2.0, 0.045)])
    assert planner.is_free(payload, [at(3.0 + beside - 2 * PENETRATION_TOLERANCE, 2.0, 0.045)], ignored=0)
    assert not planner.is_free(payload, [at(1.0, 1.0, HAND_RADIUS - 2 * PENETRATION_TOLERANCE)])


def test_lines_are_checked_all_along():
    planner = HandPlanner(geometry_of(scene_of([BLOCK], ())))
    payload = planner.payload(at(0, 0, 0), -1)
    assert not planner.is_free(payload, [at(2.5, 2.0, 0.05), at(3.5, 2.0, 0.05)])
    assert planner.is_free(payload, [at(2.5, 2.0, 0.05), at(2.5, 2.5, 0.05), at(3.5, 2.5, 0.05)])


def test_the_held_thing_must_not_collide_either():
    wall = Box((3.0, 2.0, 0.5), (0.02, 0.5, 0.5))
    geometry = geometry_of(scene_of([Thing("book", "book", (2.5, 2.0, 0.8))], [wall]), held=0)
    planner = HandPlanner(geometry)
    hand = at(2.5, 2.0, 0.9)
    payload = planner.payload(hand, 0)
    # The hand passes over the wall; the book, 0.1 below it, does not.
    assert planner.is_free(planner.payload(hand, -1), [at(2.5, 2.0, 1.05), at(3.5, 2.0, 1.05)])
    assert not planner.is_free(payload, [at(2.5, 2.0, 1.05), at(3.5, 2.0, 1.05)])
    assert planner.is_free(payload, [at(2.5, 2.0, 1.2), at(3.5, 2.0, 1.2)])


@pytest.mark.parametrize("seed", range(8))
def test_collision_checks_agree_with_mujoco(seed):
    """Put the hand and the held thing at random positions and compare with MuJoCo's distances."""
    things = [
        Thing("held", "jar", (3.0, 2.0, 0.8)),
        Thing("shelf", "shelf", (3.0, 2.6, 0.0)),
        Thing("x", "plant", (2.6, 2.0, 0.0)),
    ]
    geometry = geometry_of(scene_of(things, ()), held=0)
    planner, model = HandPlanner(geometry), geometry.model
    hand = at(3.0, 2.0, 0.97)
    payload = planner.payload(hand, 0)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        place = rng.uniform((2.2, 1.6, 0.2), (3.8, 3.0, 1.6))
        free = planner.is_free(payload, [place])
        # The jar and the ball of the hand at the same positions, in the model without margins.
        engine = model.physics_model
        data = mujoco.MjData(engine)
        data.qpos[:] = engine.qpos0
        data.qpos[model.free_address[0] : model.free_address[0] + 3] = at(3.0, 2.0, 0.8) + place - hand
        data.mocap_pos[engine.body("robot/hand").mocapid[0]] = place
        mujoco.mj_kinematics(engine, data)
        parts = [*np.flatnonzero(model.owner == 0), model.hand_geom]
        others = [*np.flatnonzero(model.owner > 0)]
        depth = min(
            mujoco.mj_geomDistance(engine, data, int(a), int(b), 1.0, None) for a in parts for b in others
        )
        if abs(depth + PENETRATION_TOLERANCE) > 1e-3:
            assert free == (depth > -PENETRATION_TOLERANCE)


def test_the_contact_position_touches_the_thing():
    geometry = geometry_of(scene_of([BLOCK], ()))
    planner = HandPlanner(geometry)
    centre = at(3.0, 2.0, 0.045)
    touch = planner.contact_position(0, centre, at(1, 0, 0), 0.5)
    assert touch == pytest.approx([3.045 + HAND_RADIUS, 2.0, 0.045], abs=CONTACT_GAP)
    top = planner.contact_position(0, centre, at(0, 0, 1), 0.5)
    assert top[2] == pytest.approx(0.09 + HAND_RADIUS, abs=CONTACT_GAP)


def test_the_contact_position_is_at_most_at_the_centre():
    # From above, the hand reaches the centre of an empty bucket without a contact.
    planner = HandPlanner(geometry_of(scene_of([Thing("bucket", "bucket", (3.0, 2.0, 0.0))], ())))
    centre = at(3.0, 2.0, 0.12)
    assert planner.contact_position(0, centre, at(0, 0, 1), 0.5) == pytest.approx(centre)


def assert_path(planner, payload, path, start, goal):
    assert path is not None
    assert (path[0] == start).all()
    assert (path[-1] == goal).all()
    for one, other in itertools.pairwise(path):
        assert planner.is_free(payload, [one, other])


@pytest.mark.parametrize(
    ("walls", "points"),
    [
        ([], 2),
        # A low wall: approach from above.
        ([Box((3.2, 2.0, 0.3), (0.02, 1.0, 0.3))], 3),
        # A board above the goal: approach from the side.
        ([Box((3.4, 1.7, 0.6), (0.4, 0.5, 0.02))], 3),
    ],
)
def test_simple_paths(walls, points):
    geometry = geometry_of(scene_of([], walls))
    planner = HandPlanner(geometry)
    start, goal = geometry.snapshot.hand, at(3.4, 2.0, 0.3)
    payload = planner.payload(start, -1)
    path = planner.plan(payload, start, goal)
    assert_path(planner, payload, path, start, goal)
    assert len(path) <= points + 1


def test_hidden_goals_are_found_by_rrt_connect():
    # A box that is open at its right side only; the robot stands in front of it, at (3.2, 2.5).
    walls = [
        Box((3.2, 2.0, 0.5), (0.15, 0.02, 0.2)),
        Box((3.05, 1.8, 0.5), (0.02, 0.2, 0.2)),
        Box((3.2, 1.8, 0.7), (0.15, 0.2, 0.02)),
        Box((3.2, 1.6, 0.5), (0.15, 0.02, 0.2)),
    ]
    geometry = geometry_of(scene_of([], walls))
    planner = HandPlanner(geometry)
    start, goal = geometry.snapshot.hand, at(3.2, 1.8, 0.5)
    payload = planner.payload(start, -1)
    path = planner.plan(payload, start, goal)
    assert_path(planner, payload, path, start, goal)
    assert len(path) > 3


def test_no_path_into_a_wall():
    walls = [Box((3.2, 2.0, 0.5), (0.1, 0.1, 0.1))]
    geometry = geometry_of(scene_of([], walls))
    planner = HandPlanner(geometry)
    payload = planner.payload(geometry.snapshot.hand, -1)
    assert planner.plan(payload, geometry.snapshot.hand, at(3.2, 2.0, 0.5)) is None


def test_an_approach_path_ends_at_the_contact():
    geometry = geometry_of(scene_of([BLOCK], ()))
    planner = HandPlanner(geometry)
    touch, before = at(3.0, 2.0, 0.125), at(3.0, 2.0, 0.14)
    path = planner.approach_path(0, before, touch)
    assert (path[-1] == touch).all()
    assert (path[-2] == before).all()
    # There is no approach from below, through the floor.
    assert planner.approach_path(0, at(3.0, 2.0, -0.1), at(3.0, 2.0, -0.04)) is None
