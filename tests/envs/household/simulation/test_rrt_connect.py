"""RRT-Connect among walls in a unit square."""

from __future__ import annotations

import itertools

import numpy as np

from needful.envs.household.simulation.hand_motion import rrt_connect
from needful.envs.household.simulation.snapshot_geometry import BoundingBoxes

SQUARE = BoundingBoxes(np.zeros((1, 2)), np.ones((1, 2)))
START, GOAL = np.array([0.1, 0.1]), np.array([0.9, 0.1])


def free_but(*walls):
    """Return a test of whether a line avoids the rectangles (x0, y0, x1, y1)."""

    def free(one, other):
        points = np.linspace(one, other, 50)
        return not any(
            (
                (x0 <= points[:, 0]) & (points[:, 0] <= x1) & (y0 <= points[:, 1]) & (points[:, 1] <= y1)
            ).any()
            for x0, y0, x1, y1 in walls
        )

    return free


def find(free, max_iterations=300):
    return rrt_connect(START, GOAL, free, SQUARE, step=0.2, max_iterations=max_iterations)


def test_paths_lead_around_walls():
    free = free_but((0.45, 0.0, 0.55, 0.8))
    path = find(free)
    assert (path[0] == START).all()
    assert (path[-1] == GOAL).all()
    assert all(free(one, other) for one, other in itertools.pairwise(path))
    assert all(np.hypot(*(other - one)) < 0.2 + 1e-9 for one, other in itertools.pairwise(path))
    assert max(point[1] for point in path) > 0.8


def test_results_are_deterministic():
    free = free_but((0.45, 0.0, 0.55, 0.8))
    assert [point.tolist() for point in find(free)] == [point.tolist() for point in find(free)]


def test_no_path_through_a_wall():
    assert find(free_but((0.45, -1.0, 0.55, 2.0)), max_iterations=100) is None
    assert find(free_but(), max_iterations=0) is None
