"""Motions of the robot in KinDER's kinematic 2D environments: waypoints, low-level actions and paths.

The motion of a skill is a sequence of waypoints. Between waypoints, the robot moves in straight lines, so
all low-level actions are known before the skill runs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from needful.envs.kinder.bodies import ALL, Body, Disc, Pose, Scene, Shape, may_collide

# The clearance of planned motions. It is much larger than KinDER's rounding errors, which are about 1e-7.
CLEARANCE = 1e-3
# The distance between neighbouring points of the grid on which paths around obstacles are searched.
GRID = 0.02


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A pose of the robot, and whether suction is on after each low-level action on the way to it.

    In DynObstruction2D, `vacuum` is whether the fingers are closed.
    """

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
    """Return the angle of the shorter turn from one direction to another, in [-π, π)."""
    return (end - start + math.pi) % (2 * math.pi) - math.pi


def steps(scene: Scene, waypoints: Waypoints, limits: StepLimits) -> Iterator[Waypoint]:
    """Yield the pose after each low-level action of a motion, and whether suction is then on.

    If nothing changes, yield the current pose and suction once, for a low-level action without motion.
    """
    pose, vacuum, idle = scene.pose, scene.vacuum, True
    for waypoint in waypoints:
        count = limits.count(pose, waypoint.pose)
        if not count and waypoint.vacuum == vacuum:
            continue
        idle = False
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
        # Keep the direction continuous, without jumps by 2π. So it may differ from the waypoint's direction
        # by full turns.
        pose, vacuum = replace(waypoint.pose, theta=pose.theta + turn), waypoint.vacuum
    if idle:
        yield Waypoint(pose, vacuum)


def rollout(
    scene: Scene, waypoints: Waypoints, limits: StepLimits, margin: float = 0.0
) -> Iterator[tuple[Scene, tuple[Body, ...]]]:
    """Yield the scene after each low-level action, and the bodies that the action would hit.

    The iteration ends after the first action that hits a body, because KinDER refuses such an action.
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
    """Return the first body that the robot or a held body would hit; None if the motion is free."""
    for _, hit in rollout(scene, waypoints, limits, margin):
        if hit:
            return hit[0]
    return None


def find_path(
    scene: Scene, goal: Pose, limits: StepLimits, bounds: tuple[float, float, float, float]
) -> Waypoints | None:
    """Return a collision-free motion of a robot with an empty hand to `goal`; None if none is found.

    The robot first retracts its arm, and the arm is still retracted at the end. A straight line is tried
    first, then paths on a grid within `bounds` (low x, low y, high x, high y). On a grid path, the robot
    drives with a constant direction, and turns only at the start and at the goal.
    """
    arm = scene.robot.base_radius
    retracted = Waypoint(replace(scene.pose, arm=arm))
    goal = replace(goal, arm=arm)
    straight = (retracted, Waypoint(goal))
    if first_collision(scene, straight, limits) is None:
        return straight
    for theta in dict.fromkeys((goal.theta, scene.pose.theta, 0.0)):
        start = replace(retracted.pose, theta=theta)
        points = _grid_path(scene, start, replace(goal, theta=theta), bounds)
        if points is None:
            continue
        driven = [Waypoint(replace(start, x=x, y=y)) for x, y in points]
        path = (retracted, Waypoint(start), *driven, Waypoint(replace(goal, theta=theta)), Waypoint(goal))
        if first_collision(scene, path, limits) is None:
            return _shortened(scene, path, limits)
    return None


def _shortened(scene: Scene, path: Waypoints, limits: StepLimits) -> Waypoints:
    """Return a shorter path: leave out waypoints that the robot can skip without a collision."""
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
    scene: Scene, start: Pose, goal: Pose, bounds: tuple[float, float, float, float]
) -> list[tuple[float, float]] | None:
    """Return the points of a shortest grid path, found by A*; None if there is none.

    The path leads from the free grid point nearest to `start` to the one nearest to `goal`. The robot keeps
    the direction of `start`. The grid has additional lines close to all bodies, so that there are grid
    points in narrow passages.
    """
    origin = replace(start, x=0.0, y=0.0)
    parts = scene.robot.parts(origin)
    solid = [body for body in scene.bodies if may_collide(ALL, body.layer)]
    xs, ys = (_grid_lines(solid, axis, bounds, scene.robot.base_radius) for axis in (0, 1))
    free = np.ones((len(xs), len(ys)), dtype=bool)
    for body in solid:
        for shape, layer in parts:
            if may_collide(layer, body.layer):
                free &= ~_overlap_on_grid(shape, body.shape, xs, ys)
    source, target = (_nearest_free(free, xs, ys, (pose.x, pose.y)) for pose in (start, goal))
    if source is None or target is None:
        return None
    cells = _search(free, xs.tolist(), ys.tolist(), source, target)
    return None if cells is None else [(float(xs[i]), float(ys[j])) for i, j in cells]


def _grid_lines(
    bodies: Sequence[Body], axis: int, bounds: tuple[float, float, float, float], radius: float
) -> np.ndarray:
    low, high = bounds[axis], bounds[2 + axis]
    near = radius + 1.5 * CLEARANCE
    edges = [edge for body in bodies for edge in _extent(body.shape, axis)]
    lines = [*np.arange(low, high, GRID), *(edge + side * near for edge in edges for side in (-1, 1))]
    return np.unique([line for line in lines if low < line < high])


def _extent(shape: Shape, axis: int) -> tuple[float, float]:
    if isinstance(shape, Disc):
        centre = (shape.x, shape.y)[axis]
        return centre - shape.radius, centre + shape.radius
    values = [corner[axis] for corner in shape.corners()]
    return min(values), max(values)


def _overlap_on_grid(part: Shape, body: Shape, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """Return, for each position of the base on the grid, whether a part of the robot overlaps a body."""
    dx, dy = xs[:, None] + part.x - body.x, ys[None, :] + part.y - body.y
    if isinstance(part, Disc):
        if isinstance(body, Disc):
            return np.asarray(np.hypot(dx, dy) < part.radius + body.radius + CLEARANCE)
        along = np.maximum(0.0, np.abs(dx * body.cos + dy * body.sin) - body.half_width)
        across = np.maximum(0.0, np.abs(dy * body.cos - dx * body.sin) - body.half_height)
        return np.asarray(np.hypot(along, across) < part.radius + CLEARANCE)
    if isinstance(body, Disc):
        along = np.maximum(0.0, np.abs(dx * part.cos + dy * part.sin) - part.half_width)
        across = np.maximum(0.0, np.abs(dy * part.cos - dx * part.sin) - part.half_height)
        return np.asarray(np.hypot(along, across) < body.radius + CLEARANCE)
    apart = np.zeros((len(xs), len(ys)), dtype=bool)
    for first, second in ((part, body), (body, part)):
        parallel = abs(first.cos * second.cos + first.sin * second.sin)
        across_share = abs(first.cos * second.sin - first.sin * second.cos)
        along_reach = first.half_width + second.half_width * parallel + second.half_height * across_share
        across_reach = first.half_height + second.half_width * across_share + second.half_height * parallel
        apart |= np.abs(dx * first.cos + dy * first.sin) >= along_reach + CLEARANCE
        apart |= np.abs(dy * first.cos - dx * first.sin) >= across_reach + CLEARANCE
    return ~apart


def _nearest_free(
    free: np.ndarray, xs: np.ndarray, ys: np.ndarray, point: tuple[float, float]
) -> tuple[int, int] | None:
    if not free.any():
        return None
    squared = np.where(free, (xs[:, None] - point[0]) ** 2 + (ys[None, :] - point[1]) ** 2, np.inf)
    i, j = np.unravel_index(int(np.argmin(squared)), free.shape)
    return int(i), int(j)


def _search(
    free: np.ndarray,
    xs: Sequence[float],
    ys: Sequence[float],
    source: tuple[int, int],
    target: tuple[int, int],
) -> Sequence[tuple[int, int]] | None:
    """Return a shortest path between two grid points, found by A*; None if there is none.

    Each point has eight neighbours. The heuristic is the Euclidean distance.
    """

    def estimate(i: int, j: int) -> float:
        return math.hypot(xs[i] - xs[target[0]], ys[j] - ys[target[1]])

    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    grid, (width, height) = free.tolist(), free.shape
    best = {source: 0.0}
    parents: dict[tuple[int, int], tuple[int, int]] = {}
    queue = [(estimate(*source), source)]
    done: set[tuple[int, int]] = set()
    while queue:
        _, point = heapq.heappop(queue)
        if point == target:
            path = [point]
            while point in parents:
                point = parents[point]
                path.append(point)
            return path[::-1]
        if point in done:
            continue
        done.add(point)
        for i, j in moves:
            a, b = point[0] + i, point[1] + j
            if not (0 <= a < width and 0 <= b < height and grid[a][b]):
                continue
            cost = best[point] + math.hypot(xs[a] - xs[point[0]], ys[b] - ys[point[1]])
            if cost < best.get((a, b), math.inf):
                best[a, b], parents[a, b] = cost, point
                heapq.heappush(queue, (cost + estimate(a, b), (a, b)))
    return None
