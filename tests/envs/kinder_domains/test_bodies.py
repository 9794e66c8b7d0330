"""The geometry agrees with KinDER's collision test, up to contacts that rounding decides."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

pytest.importorskip("kinder", reason="needs KinDER, see docs/kinder.md")

from hypothesis import assume, given
from hypothesis import strategies as st
from tomsgeoms2d.structs import Circle, Rectangle
from tomsgeoms2d.utils import geom2ds_intersect

from needful.envs.kinder.bodies import Box, Disc, Pose, Shape, carry, overlap
from needful.envs.kinder.motion import StepLimits, Waypoint, find_path, first_collision, steps
from needful.envs.kinder.motion2d import Motion2D

# Contacts closer than this are left to rounding.
ROUNDING = 1e-5

coordinates = st.floats(-1.0, 1.0)
lengths = st.floats(0.05, 1.0)
angles = st.floats(-math.pi, math.pi)
discs = st.builds(Disc, coordinates, coordinates, lengths)
corners = st.tuples(coordinates, coordinates, lengths, lengths, angles)


def _decided(first: Shape, second: Shape) -> bool:
    """Return whether the shapes overlap; skip the example if they nearly touch."""
    assume(overlap(first, second, ROUNDING) == overlap(first, second, -ROUNDING))
    return overlap(first, second)


@given(discs, discs)
def test_discs(first: Disc, second: Disc) -> None:
    theirs = geom2ds_intersect(*(Circle(one.x, one.y, one.radius) for one in (first, second)))
    assert _decided(first, second) == theirs


@given(corners, discs)
def test_box_and_disc(corner: tuple[float, float, float, float, float], disc: Disc) -> None:
    theirs = geom2ds_intersect(Rectangle(*corner), Circle(disc.x, disc.y, disc.radius))
    assert _decided(Box.from_corner(*corner), disc) == theirs


@given(corners, corners)
def test_boxes(
    first: tuple[float, float, float, float, float], second: tuple[float, float, float, float, float]
) -> None:
    theirs = geom2ds_intersect(Rectangle(*first), Rectangle(*second))
    ours = _decided(Box.from_corner(*first), Box.from_corner(*second))
    # KinDER misses some overlaps of rectangles with edges on one line; ours reports them.
    if abs(math.sin(2 * (first[4] - second[4]))) > 1e-3:
        assert ours == theirs
    else:
        assert ours >= theirs


poses = st.builds(Pose, coordinates, coordinates, angles, st.floats(0.1, 0.2))


@given(corners, poses, poses)
def test_a_held_body_keeps_its_place_in_the_gripper(
    corner: tuple[float, float, float, float, float], before: Pose, after: Pose
) -> None:
    box = Box.from_corner(*corner)
    there = carry(box, before, after)
    back = carry(there, after, before)
    assert isinstance(back, Box)
    assert (back.x, back.y, back.cos, back.sin) == pytest.approx((box.x, box.y, box.cos, box.sin))
    gripper = [pose.x + math.cos(pose.theta) * pose.arm for pose in (before, after)]
    heights = [pose.y + math.sin(pose.theta) * pose.arm for pose in (before, after)]
    distances = [
        math.hypot(shape.x - x, shape.y - y)
        for shape, x, y in zip((box, there), gripper, heights, strict=True)
    ]
    assert distances[0] == pytest.approx(distances[1], abs=1e-9)


_MOTION = Motion2D(2)


@given(poses, poses)
def test_steps_keep_their_limits_and_end_at_the_waypoint(start: Pose, end: Pose) -> None:
    limits = StepLimits(move=0.05, turn=0.2, extend=0.1)
    scene = _MOTION.room.scene(_MOTION.task("test", 0, 0).initial_state).at(start, vacuum=False)
    way = [Waypoint(start), *steps(scene, (Waypoint(end),), limits)]
    for before, after in pairwise(way):
        assert abs(after.pose.x - before.pose.x) <= 0.05 + 1e-6
        assert abs(after.pose.y - before.pose.y) <= 0.05 + 1e-6
        assert abs(after.pose.theta - before.pose.theta) <= 0.2 + 1e-6
    last = way[-1].pose
    assert (last.x, last.y, last.arm) == pytest.approx((end.x, end.y, end.arm))
    assert math.cos(last.theta - end.theta) == pytest.approx(1.0)


def test_paths_around_obstacles_are_free() -> None:
    for task in _MOTION.tasks("test", 5, seed=100):
        scene = _MOTION.room.scene(task.initial_state)
        goal = Pose(2.3, scene.pose.y, 0.0, 0.1)
        path = find_path(scene, goal, _MOTION.room.limits, _MOTION.room.bounds)
        assert path is not None
        assert first_collision(scene, path, _MOTION.room.limits, margin=0.0) is None
        assert (path[-1].pose.x, path[-1].pose.y) == (goal.x, goal.y)
