"""Motions of the robot of KinDER's kinematic 2D environments: waypoints, low-level actions, paths on a grid.

A skill of such an environment is a sequence of waypoints. All motions are straight lines between waypoints,
so the low-level actions are known before the skill runs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from needful.envs.kinder.bodies import ALL, Body, Box, Pose, Scene, may_collide

# The clearance that planned motions keep; the simulator itself rounds positions to about 1e-7.
CLEARANCE = 1e-3
# The distance between neighbouring points of the grid on which paths around obstacles are searched.
GRID = 0.02


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A pose of the robot, and whether suction is on when it gets there."""

    pose: Pose
    vacuum: bool = False


Waypoints: TypeAlias = tuple[Waypoint, ...]


@dataclass(frozen=True, slots=True)
class StepLimits:
    """The largest change of position (per axis), of direction and of arm length in one low-level action."""

    move: float
    turn: float
    extend: float

    def count(self, start: Pose, end: Pose) -> int:
        """Return the number of low-level actions that a straight motion needs."""
        return math.ceil(
            max(
                abs(end.x - start.x) / self.move,
                abs(end.y - start.y) / self.move,
                abs(turn_between(start.theta, end.theta)) / self.turn,
                abs(end.arm - start.arm) / self.extend,
            )
            - 1e-6
        )


def turn_between(start: float, end: float) -> float:
    """Return the shorter turn from one direction to another, in [-π, π)."""
    return (end - start + math.pi) % (2 * math.pi) - math.pi


def steps(scene: Scene, waypoints: Waypoints, limits: StepLimits) -> Iterator[Waypoint]:
    """Yield the pose and the vacuum after each low-level action."""
    pose, vacuum = scene.pose, scene.vacuum
    for waypoint in waypoints:
        count = limits.count(pose, waypoint.pose)
        if not count and waypoint.vacuum == vacuum:
            continue
        turn = turn_between(pose.theta, waypoint.pose.theta)
        for step in range(1, max(1, count) + 1):
            share = step / max(1, count)
            yield Waypoint(
                Pose(
                    pose.x + share * (waypoint.pose.x - pose.x),
                    pose.y + share * (waypoint.pose.y - pose.y),
                    pose.theta + share * turn,
                    pose.arm + share * (waypoint.pose.arm - pose.arm),
                ),
                waypoint.vacuum,
            )
        # Keep the direction continuous: it may differ from the waypoint's by full turns.
        pose, vacuum = replace(waypoint.pose, theta=pose.theta + turn), waypoint.vacuum


def rollout(
    scene: Scene, waypoints: Waypoints, limits: StepLimits, margin: float = 0.0
) -> Iterator[tuple[Scene, tuple[Body, ...]]]:
    """Yield the scene after each low-level action, and the bodies that the action would hit.

    The last scene is the first one with a hit; KinDER refuses such an action.
    """
    for step in steps(scene, waypoints, limits):
        hit = tuple(scene.collisions(step.pose, margin))
        scene = scene.at(step.pose, step.vacuum)
        yield scene, hit
        if hit:
            return


def first_collision(
    scene: Scene, waypoints: Waypoints, limits: StepLimits, margin: float = CLEARANCE
) -> Body | None:
    """Return a body that the robot or a body that it holds would hit first; None if the way is free."""
    for _, hit in rollout(scene, waypoints, limits, margin):
        if hit:
            return hit[0]
    return None


def find_path(
    scene: Scene, goal: Pose, limits: StepLimits, bounds: tuple[float, float, float, float]
) -> Waypoints | None:
    """Return a collision-free motion with retracted arm and empty hand; None if none is found.

    The straight way is tried first, then a path on a grid within `bounds` (low x, low y, high x, high y).
    On the grid, the robot counts as a disc that covers it in any direction.
    """
    arm = scene.robot.base_radius
    retracted = Waypoint(replace(scene.pose, arm=arm))
    goal = replace(goal, arm=arm)
    straight = (retracted, Waypoint(goal))
    if first_collision(scene, straight, limits) is None:
        return straight
    radius = scene.robot.retracted_radius + CLEARANCE
    points = _grid_path(scene, (scene.pose.x, scene.pose.y), (goal.x, goal.y), radius, bounds)
    if points is None:
        return None
    # Turn at the start, then drive along the path.
    turned = replace(goal, x=scene.pose.x, y=scene.pose.y)
    for first in (Waypoint(turned), retracted):
        theta = first.pose.theta
        driven = [Waypoint(Pose(x, y, theta, arm)) for x, y in points]
        path = (retracted, first, *driven, Waypoint(goal))
        if first_collision(scene, path, limits) is None:
            return _shortened(scene, path, limits)
    return None


def _shortened(scene: Scene, path: Waypoints, limits: StepLimits) -> Waypoints:
    """Return a path without the waypoints that can be skipped."""
    kept: list[Waypoint] = []
    here, rest = scene, list(path)
    while rest:
        for index in range(len(rest) - 1, -1, -1):
            if index == 0 or first_collision(here, (rest[index],), limits) is None:
                kept.append(rest[index])
                here = replace(here, pose=rest[index].pose)
                rest = rest[index + 1 :]
                break
    return tuple(kept)


def _grid_path(
    scene: Scene,
    start: tuple[float, float],
    goal: tuple[float, float],
    radius: float,
    bounds: tuple[float, float, float, float],
) -> list[tuple[float, float]] | None:
    """Return the points of a shortest path on the grid between the points next to start and goal (A*)."""
    low_x, low_y, high_x, high_y = bounds
    xs, ys = np.arange(low_x, high_x, GRID), np.arange(low_y, high_y, GRID)
    free = np.ones((len(xs), len(ys)), dtype=bool)
    for body in scene.bodies:
        if may_collide(ALL, body.layer):
            free &= _distance(body, xs, ys) >= radius
    source, target = (_nearest_free(free, xs, ys, point) for point in (start, goal))
    if source is None or target is None:
        return None
    cells = _search(free, source, target)
    return None if cells is None else [(float(xs[i]), float(ys[j])) for i, j in cells]


def _distance(body: Body, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    shape = body.shape
    dx, dy = xs[:, None] - shape.x, ys[None, :] - shape.y
    if not isinstance(shape, Box):
        return np.asarray(np.hypot(dx, dy) - shape.radius)
    along = np.maximum(0.0, np.abs(dx * shape.cos + dy * shape.sin) - shape.half_width)
    across = np.maximum(0.0, np.abs(dy * shape.cos - dx * shape.sin) - shape.half_height)
    return np.asarray(np.hypot(along, across))


def _nearest_free(
    free: np.ndarray, xs: np.ndarray, ys: np.ndarray, point: tuple[float, float]
) -> tuple[int, int] | None:
    if not free.any():
        return None
    squared = np.where(free, (xs[:, None] - point[0]) ** 2 + (ys[None, :] - point[1]) ** 2, np.inf)
    i, j = np.unravel_index(int(np.argmin(squared)), free.shape)
    return int(i), int(j)


def _search(
    free: np.ndarray, source: tuple[int, int], target: tuple[int, int]
) -> Sequence[tuple[int, int]] | None:
    """A* with eight neighbours per cell."""

    def estimate(cell: tuple[int, int]) -> float:
        dx, dy = abs(cell[0] - target[0]), abs(cell[1] - target[1])
        return max(dx, dy) + (math.sqrt(2) - 1) * min(dx, dy)

    moves = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    grid, (width, height) = free.tolist(), free.shape
    best, parents = {source: 0.0}, {}
    queue = [(estimate(source), source)]
    done: set[tuple[int, int]] = set()
    while queue:
        _, cell = heapq.heappop(queue)
        if cell == target:
            path = [cell]
            while cell in parents:
                cell = parents[cell]
                path.append(cell)
            return path[::-1]
        if cell in done:
            continue
        done.add(cell)
        for i, j, length in moves:
            a, b = cell[0] + i, cell[1] + j
            if not (0 <= a < width and 0 <= b < height and grid[a][b]):
                continue
            cost = best[cell] + length
            if cost < best.get((a, b), math.inf):
                best[a, b], parents[a, b] = cost, cell
                heapq.heappush(queue, (cost + estimate((a, b)), (a, b)))
    return None
