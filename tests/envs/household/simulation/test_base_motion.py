"""Paths of the base: they are clear, and they are found where a search on a finer grid finds one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from needful.envs.household.scene.scene import Room, Scene
from needful.envs.household.simulation.base_motion import (
    CELL,
    BasePlanner,
    Disc,
    Footprints,
    OccupancyGrid,
    _a_star,
    has_clearance,
)

ROBOT = (Disc(0.2, 0.0, 0.8), Disc(0.12, 0.8, np.inf))
ROOM = Scene((), (Room("room", "floor", (0.0, 0.0), (4.0, 3.0)),), (), (), (0.0, 0.0, 0.0))


def boxes(*rows: tuple[float, ...]) -> Footprints:
    """Return obstacles from rows of x, y, half width, half depth, lowest and highest z."""
    table = np.array(rows, dtype=float).reshape(-1, 6)
    zero = np.zeros(len(table))
    along = np.tile([1.0, 0.0], (len(table), 1))
    return Footprints(table[:, :2], along, table[:, 2:4], zero, table[:, 4], table[:, 5])


NOTHING = boxes()
# A wall with a gap of 0.8 m at the top.
WALL = boxes((2.0, 1.1, 0.05, 1.1, 0.0, 1.5))


def assert_clear(path, discs, obstacles):
    for one, other in itertools.pairwise(path):
        assert has_clearance(discs, obstacles, np.linspace(one, other, 20), 0.0)


def test_free_paths_are_straight():
    base_planner = BasePlanner(OccupancyGrid(ROOM, NOTHING), ROBOT, NOTHING, (0.5, 0.5))
    assert base_planner.path((3.5, 2.5)) == ((0.5, 0.5), (3.5, 2.5))


def test_paths_lead_around_walls():
    base_planner = BasePlanner(OccupancyGrid(ROOM, WALL), ROBOT, NOTHING, (0.5, 0.5))
    path = base_planner.path((3.5, 0.5))
    assert (path[0], path[-1]) == ((0.5, 0.5), (3.5, 0.5))
    assert_clear(path, ROBOT, WALL)
    assert max(y for _, y in path) > 2.3


@pytest.mark.parametrize("gap", [0.38, 0.5])
def test_paths_use_gaps_that_are_wide_enough(gap):
    wall = boxes((2.0, (3.0 - gap) / 2, 0.05, (3.0 - gap) / 2, 0.0, 1.5), (2.0, 3.05, 0.05, 0.05, 0.0, 1.5))
    base_planner = BasePlanner(OccupancyGrid(ROOM, wall), ROBOT, NOTHING, (0.5, 0.5))
    assert base_planner.can_reach((3.5, 0.5)) == (gap > 0.4)
    assert (base_planner.path((3.5, 0.5)) is not None) == (gap > 0.4)


@pytest.mark.parametrize(
    ("low", "high", "radius", "free"),
    [(0.0, 0.5, 0.05, False), (0.85, 1.2, 0.05, True), (0.85, 1.2, 0.35, False), (0.0, 0.5, 0.35, False)],
)
def test_a_payload_collides_only_at_its_own_height(low, high, radius, free):
    # Two shelves leave a gap of 0.6 m at the height of the payload.
    shelves = boxes((2.0, 1.1, 0.3, 1.1, low, high), (2.0, 2.95, 0.3, 0.15, low, high))
    discs = (Disc(0.35, 0.0, 0.8), Disc(radius, 0.8, np.inf))
    base_planner = BasePlanner(OccupancyGrid(ROOM, shelves), discs, NOTHING, (0.5, 0.5))
    assert (base_planner.path((3.5, 0.5)) is not None) == free


def test_loose_things_block_too():
    grid = OccupancyGrid(ROOM, WALL)
    blocked = boxes((2.0, 2.7, 0.1, 0.1, 0.0, 0.1))
    assert BasePlanner(grid, ROBOT, NOTHING, (0.5, 0.5)).can_reach((3.5, 0.5))
    assert not BasePlanner(grid, ROBOT, blocked, (0.5, 0.5)).can_reach((3.5, 0.5))
    # The grid itself has not changed.
    assert BasePlanner(grid, ROBOT, NOTHING, (0.5, 0.5)).can_reach((3.5, 0.5))


def test_loose_things_that_touch_the_robot_are_ignored():
    beside = boxes((0.75, 0.5, 0.1, 0.1, 0.0, 0.1))
    path = BasePlanner(OccupancyGrid(ROOM, NOTHING), ROBOT, beside, (0.5, 0.5)).path((3.5, 0.5))
    assert path == ((0.5, 0.5), (3.5, 0.5))


def test_points_outside_the_house():
    grid = OccupancyGrid(ROOM, NOTHING)
    assert grid.contains(np.array([2.0, 2.0]))
    assert not grid.contains(np.array([2.0, 3.5]))
    assert grid.cell((-9.0, 9.0)) == (0, len(grid.ys) - 1)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_paths_in_random_rooms(seed):
    """Check paths point by point, and that a path is found wherever thicker discs get through."""
    rng = np.random.default_rng(seed)
    rows = [
        (*rng.uniform(0, (4, 3)), *rng.uniform(0.05, 0.3, 2), 0.0, rng.uniform(0.1, 1.0)) for _ in range(8)
    ]
    obstacles = boxes(*rows)
    fixed, loose = obstacles[np.arange(4)], obstacles[np.arange(4, 8)]
    ends = [
        p for p in rng.uniform(0.3, (3.7, 2.7), (50, 2)) if has_clearance(ROBOT, obstacles, p[None], 0.01)
    ][:2]
    if len(ends) < 2:
        return
    start, goal = (tuple(p.tolist()) for p in ends)
    base_planner = BasePlanner(OccupancyGrid(ROOM, fixed), ROBOT, loose, start)
    path = base_planner.path(goal)
    assert base_planner.can_reach(goal) or path is None or len(path) == 2
    if path is not None:
        assert_clear(path, ROBOT, obstacles)
        return
    # Then much thicker discs cannot get through either.
    thick = tuple(Disc(disc.radius + 1.5 * CELL, disc.low, disc.high) for disc in ROBOT)
    if all(has_clearance(thick, obstacles, p[None], 0.0) for p in ends):
        assert not flood(thick, obstacles, start, goal)


def flood(discs, obstacles, start, goal) -> bool:
    """Return whether a breadth-first search on a grid of 2 cm connects start and goal."""
    step = 0.02
    xs, ys = np.arange(0.0, 4.0, step), np.arange(0.0, 3.0, step)
    free = np.ones((len(xs), len(ys)), dtype=bool)
    for disc in discs:
        gaps = obstacles.between(disc.low, disc.high).gaps(xs[:, None], ys[None, :])
        free &= (gaps >= disc.radius).all(axis=2)
    first, last = (tuple(round(c / step) for c in p) for p in (start, goal))
    queue, seen = [first], {first}
    for i, j in queue:
        for other in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            inside = 0 <= other[0] < len(xs) and 0 <= other[1] < len(ys)
            if inside and free[other] and other not in seen:
                seen.add(other)
                queue.append(other)
    return last in seen


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_star_steps_from_neighbour_to_neighbour(seed):
    rng = np.random.default_rng(seed)
    free = rng.random((12, 9)) < 0.8
    free[0, :] = free[:, 0] = True
    labels, _ = ndimage.label(free)
    cells = np.argwhere(labels == labels[0, 0])
    start, goal = (tuple(cells[k].tolist()) for k in rng.integers(len(cells), size=2))
    path = _a_star(labels == labels[0, 0], start, goal)
    assert (path[0], path[-1]) == (start, goal)
    assert all(free[cell] for cell in path)
    assert all(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in itertools.pairwise(path))


def test_a_robot_cut_off_from_the_largest_component_is_enclosed():
    wall = boxes((1.0, 1.5, 0.05, 1.5, 0.0, 1.5))
    grid = OccupancyGrid(ROOM, wall)
    assert BasePlanner(grid, ROBOT, NOTHING, (0.5, 1.5)).is_enclosed()
    assert not BasePlanner(grid, ROBOT, NOTHING, (2.5, 1.5)).is_enclosed()
    everywhere = boxes((2.0, 1.5, 2.0, 1.5, 0.0, 1.5))
    assert BasePlanner(OccupancyGrid(ROOM, everywhere), ROBOT, NOTHING, (2.5, 1.5)).is_enclosed()
