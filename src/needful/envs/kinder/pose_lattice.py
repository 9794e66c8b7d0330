"""Paths of the robot, with the objects that it holds, on a lattice of positions and directions.

Neighbouring poses of the lattice are one low-level action apart. The simulator tests for collisions only
after each low-level action. So a path is free in the simulator if all its poses are free. The start of a
path is a pose of the lattice. The goal may lie between poses: the last action leads to the goal from a
lattice pose nearby.

If there is no path, `path_obstacles` finds objects whose removal would open a path.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from needful.core.objects import Object
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Disc, Pose, Scene, Shape, may_collide
from needful.envs.kinder.motion import StepLimits, turn_between

Poses: TypeAlias = tuple[Pose, ...]
# The cosine and the sine of a direction, or of several directions.
Direction: TypeAlias = tuple[float | np.ndarray, float | np.ndarray]


@dataclass(slots=True)
class PoseLattice:
    """A lattice of robot poses, and the information which of them are free of collisions.

    All poses have the robot's current arm length. The held objects move with the robot, so they count as
    parts of the robot, and not as obstacles.

    Attributes:
        scene: the shapes of the state.
        limits: the largest changes in one low-level action; neighbouring poses are at most this far apart.
        bounds: the bounds of the lattice: low x, low y, high x and high y.
        xs, ys, thetas: the coordinates of the poses.
        source: the indices (direction, x, y) of the robot's current pose.
        blocked: for each pose, the number of bodies that the robot would touch at this pose.
        blocked_by: for each movable object and pose, the number of its bodies that the robot would touch.
        distances: a cache of the results of `_distances`; the keys are the sets of ignored objects.
    """

    scene: Scene
    limits: StepLimits
    bounds: tuple[float, float, float, float]
    xs: np.ndarray = field(init=False)
    ys: np.ndarray = field(init=False)
    thetas: np.ndarray = field(init=False)
    source: tuple[int, int, int] = field(init=False)
    blocked: np.ndarray = field(init=False)
    blocked_by: dict[Object, np.ndarray] = field(default_factory=dict)
    distances: dict[frozenset[Object], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pose, (low_x, low_y, high_x, high_y) = self.scene.pose, self.bounds
        self.xs, column = _coordinates(pose.x, low_x, high_x, self.limits.move)
        self.ys, row = _coordinates(pose.y, low_y, high_y, self.limits.move)
        turns = math.ceil(2 * math.pi / self.limits.turn - 1e-6)
        self.thetas = pose.theta + np.arange(turns) * (2 * math.pi / turns)
        self.source = (0, column, row)
        shape = (turns, len(self.xs), len(self.ys))
        self.blocked = np.zeros(shape, dtype=np.int16)
        held = self.scene.held()
        moving = [*self.scene.robot.parts(pose), *((body.shape, body.layer) for body in held)]
        for body in self.scene.bodies:
            if body in held:
                continue
            touching = np.zeros(shape, dtype=bool)
            for part, layer in moving:
                if may_collide(layer, body.layer):
                    self._add_touching(touching, part, body)
            self.blocked += touching
            if body.movable and body.obj is not None:
                self.blocked_by[body.obj] = self.blocked_by.get(body.obj, 0) + touching.astype(np.int8)

    def _add_touching(self, touching: np.ndarray, part: Shape, body: Body) -> None:
        """Set `touching` to True at poses where `part` (of the robot or a held object) touches `body`."""
        pose = self.scene.pose
        dx, dy = part.x - pose.x, part.y - pose.y
        reach = math.hypot(dx, dy) + _radius(part) + _radius(body.shape) + CLEARANCE
        i = slice(*np.searchsorted(self.xs, (body.shape.x - reach, body.shape.x + reach)))
        j = slice(*np.searchsorted(self.ys, (body.shape.y - reach, body.shape.y + reach)))
        if i.start >= i.stop or j.start >= j.stop:
            return
        turn = (self.thetas - pose.theta)[:, None, None]
        cos, sin = np.cos(turn), np.sin(turn)
        # For each pose, the centre of the part relative to the centre of the body.
        x = self.xs[None, i, None] + (cos * dx - sin * dy) - body.shape.x
        y = self.ys[None, None, j] + (sin * dx + cos * dy) - body.shape.y
        other = body.shape
        if isinstance(part, Disc) and isinstance(other, Disc):
            hit = x * x + y * y < (part.radius + other.radius + CLEARANCE) ** 2
        elif isinstance(part, Disc):
            assert isinstance(other, Box)
            hit = _box_near_disc(x, y, (other.cos, other.sin), other, part.radius)
        else:
            direction = (cos * part.cos - sin * part.sin, sin * part.cos + cos * part.sin)
            if isinstance(other, Disc):
                hit = _box_near_disc(x, y, direction, part, other.radius)
            else:
                hit = _box_near_box(x, y, direction, part, other)
        touching[:, i, j] |= hit

    def path(self, goal: Pose, ignored: frozenset[Object] = frozenset()) -> Poses | None:
        """Return poses that lead to the goal, one low-level action apart; None if there is no path.

        The goal itself is not tested for collisions. Objects in `ignored` are not obstacles.
        """
        distances = self._distances(ignored)
        reached = [cell for cell in self._next_to(goal) if distances[cell] >= 0]
        if not reached:
            return None
        cells = _trace(distances, min(reached, key=lambda cell: (distances[cell], cell)))
        arm = self.scene.pose.arm
        poses = (
            Pose(float(self.xs[i]), float(self.ys[j]), float(self.thetas[k]), arm) for k, i, j in cells
        )
        return (*poses, goal)

    def _distances(self, ignored: frozenset[Object]) -> np.ndarray:
        """Return the number of low-level actions to each pose; -1 for poses that cannot be reached.

        Objects in `ignored` are not obstacles.
        """
        if ignored not in self.distances:
            blocked = self.blocked.copy()
            for obj in sorted(ignored):
                blocked -= self.blocked_by[obj]
            self.distances[ignored] = _flood(blocked == 0, self.source)
        return self.distances[ignored]

    def _next_to(self, goal: Pose) -> list[tuple[int, int, int]]:
        turns = [turn_between(float(theta), goal.theta) for theta in self.thetas]
        move, turn = self.limits.move + 1e-9, self.limits.turn + 1e-9
        return list(
            itertools.product(
                (k for k, one in enumerate(turns) if abs(one) <= turn),
                (i for i, x in enumerate(self.xs) if abs(x - goal.x) <= move),
                (j for j, y in enumerate(self.ys) if abs(y - goal.y) <= move),
            )
        )

    def path_obstacles(self, goal: Pose, kept: Object | None = None) -> tuple[Object, ...]:
        """Return movable objects whose removal would open a path to the goal.

        If the removal of one object is enough, the result is this object alone. The result is empty if not
        even the removal of all movable objects opens a path. The object `kept` always remains an obstacle.
        """
        others = sorted(obj for obj in self.blocked_by if obj != kept)
        for obj in others:
            if self.path(goal, frozenset((obj,))) is not None:
                return (obj,)
        path = self.path(goal, frozenset(others))
        if path is None:
            return ()
        hit = {body.obj for pose in path for body in self.scene.collisions(pose, CLEARANCE)}
        return tuple(sorted(obj for obj in hit if obj is not None))


def _coordinates(start: float, low: float, high: float, spacing: float) -> tuple[np.ndarray, int]:
    """Return evenly spaced coordinates in [low, high] that include `start`, and the index of `start`."""
    before, after = math.floor((start - low) / spacing), math.floor((high - start) / spacing)
    return start + np.arange(-before, after + 1) * spacing, before


def _radius(shape: Shape) -> float:
    return shape.radius if isinstance(shape, Disc) else math.hypot(shape.half_width, shape.half_height)


def _box_near_disc(
    x: np.ndarray, y: np.ndarray, direction: Direction, box: Box, radius: float
) -> np.ndarray:
    """Return, for each pose, whether a rectangle and a disc overlap.

    `x` and `y` are arrays with one entry per pose: the offsets between the two centres. `direction` is the
    direction of the rectangle's width.
    """
    cos, sin = direction
    along = np.maximum(0.0, np.abs(x * cos + y * sin) - box.half_width)
    across = np.maximum(0.0, np.abs(y * cos - x * sin) - box.half_height)
    return np.asarray(along * along + across * across < (radius + CLEARANCE) ** 2)


def _box_near_box(x: np.ndarray, y: np.ndarray, direction: Direction, one: Box, other: Box) -> np.ndarray:
    """Return, for each pose, whether two rectangles overlap (separating axis theorem).

    `direction` is the direction of the width of `one`. `x` and `y` are as in `_box_near_disc`.
    """
    cos, sin = direction
    parallel = np.abs(cos * other.cos + sin * other.sin)
    across = np.abs(cos * other.sin - sin * other.cos)
    a, b = one.half_width + CLEARANCE, one.half_height + CLEARANCE
    c, d = other.half_width, other.half_height
    return np.asarray(
        (np.abs(x * cos + y * sin) < a + c * parallel + d * across)
        & (np.abs(y * cos - x * sin) < b + c * across + d * parallel)
        & (np.abs(x * other.cos + y * other.sin) < c + a * parallel + b * across)
        & (np.abs(y * other.cos - x * other.sin) < d + a * across + b * parallel)
    )


def _flood(free: np.ndarray, source: tuple[int, int, int]) -> np.ndarray:
    """Return the number of low-level actions from the source to each free pose; -1 if there is no path."""
    distances = np.full(free.shape, -1, dtype=np.int16)
    unseen = free.copy()
    front = np.zeros(free.shape, dtype=bool)
    front[source] = True
    for step in itertools.count():
        distances[front] = step
        unseen &= ~front
        wide = front | np.roll(front, 1, axis=0) | np.roll(front, -1, axis=0)
        front = wide.copy()
        front[:, 1:] |= wide[:, :-1]
        front[:, :-1] |= wide[:, 1:]
        wide = front.copy()
        wide[:, :, 1:] |= front[:, :, :-1]
        wide[:, :, :-1] |= front[:, :, 1:]
        front = wide & unseen
        if not front.any():
            break
    return distances


def _trace(distances: np.ndarray, end: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Return the indices of the poses on a shortest path from the source to `end`."""
    turns, width, height = distances.shape
    moves = sorted(itertools.product((-1, 0, 1), repeat=3), key=lambda move: (sum(map(abs, move)), move))
    cells = [end]
    for step in range(int(distances[end]) - 1, -1, -1):
        k, i, j = cells[-1]
        for turn, right, up in moves:
            cell = ((k + turn) % turns, i + right, j + up)
            if 0 <= cell[1] < width and 0 <= cell[2] < height and distances[cell] == step:
                cells.append(cell)
                break
    return cells[::-1]
