"""Plan collision-free paths of the robot's hand and the object that it holds.

The hand floats and keeps its orientation. The robot's own base is not an obstacle. Simple paths are tried
first. Then RRT-Connect grows two trees of collision-free lines towards each other, from start and goal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from needful.envs.household.scene.scene import HAND_RANGE, SHOULDER_HEIGHT
from needful.envs.household.simulation.house_model import OWNER_HOUSE
from needful.envs.household.simulation.snapshot_geometry import BoundingBoxes, SnapshotGeometry

LineTest: TypeAlias = Callable[[np.ndarray, np.ndarray], bool]
Path: TypeAlias = tuple[np.ndarray, ...]

# Collisions are checked at points of a path that are at most CHECK_STEP apart. Because bodies at rest
# overlap slightly, an overlap of up to PENETRATION_TOLERANCE does not count as a collision. Both are in
# metres.
CHECK_STEP = 0.02
PENETRATION_TOLERANCE = 0.003

# The hand touches an object if the distance between them is less than this, in metres.
CONTACT_GAP = 0.002

# If the straight line to the goal is not free, detours are tried. A detour leads via a point above the
# goal, at one of these heights, or via a point beside the goal, at one of these distances (metres).
APPROACH_HEIGHTS = (0.1, 0.3)
APPROACH_DISTANCES = (0.25, 0.45)

# Points beside the goal lie in the direction from the goal to the robot, or along one of the axes +x, -x,
# +y and -y. An axis is used only if it points roughly to the robot: the cosine of the angle between the
# axis and the direction to the robot must exceed MIN_ALIGNMENT. Each detour via a point beside the goal is
# also tried at a height that is larger by LIFT_HEIGHT, with a final descent. So the held object does not
# scrape along a surface.
MIN_ALIGNMENT = 0.3
LIFT_HEIGHT = 0.02

RRT_STEP, RRT_MAX_ITERATIONS = 0.15, 80


@dataclass(frozen=True)
class Payload:
    """The MuJoCo geoms (shapes) that move together: the hand, and the parts of the object that it holds.

    Attributes:
        geoms: the indices of the geoms; the hand is the first.
        offsets: the centres of the geoms relative to the hand.
        half_extents: the half-extents of the geoms' bounding boxes.
    """

    geoms: np.ndarray
    offsets: np.ndarray
    half_extents: np.ndarray


class HandPlanner:
    """Plans paths of the hand in one snapshot of the house; only the hand and the held object move."""

    def __init__(self, geometry: SnapshotGeometry) -> None:
        self._model = geometry.model
        self._house = geometry.house
        self._base = geometry.snapshot.robot[:2]
        self._rest_position = geometry.snapshot.hand
        self._hand = geometry.model.hand_geom
        self._solid = np.flatnonzero(geometry.model.owner >= OWNER_HOUSE)

    def payload(self, hand: np.ndarray, thing: int) -> Payload:
        """Return the MuJoCo geoms (shapes) that move with the hand: the hand itself and the held object.

        `hand` is the position of the hand, and `thing` the index of the held object (-1 for an empty hand).
        """
        held = np.flatnonzero(self._model.owner == thing) if thing >= 0 else np.empty(0, dtype=int)
        geoms = np.array([self._hand, *held])
        boxes = self._house.geom_boxes()
        offsets = self._house.centres[geoms] - hand
        offsets[0] = 0.0
        return Payload(geoms, offsets, (boxes.high[geoms] - boxes.low[geoms]) / 2)

    def is_free(self, payload: Payload, points: Sequence[np.ndarray], ignored: int = -1) -> bool:
        """Return whether the hand and the held object can move through the points without a collision.

        They move in straight lines from point to point. Collisions with the object whose index is `ignored`
        do not count.
        """
        centres = _interpolate(points)[:, None, :] + payload.offsets
        low, high = centres - payload.half_extents, centres + payload.half_extents
        if low[:, :, 2].min() < -PENETRATION_TOLERANCE:
            return False
        boxes = self._house.geom_boxes()
        swept = (boxes.low < high.max(axis=(0, 1))) & (boxes.high > low.min(axis=(0, 1)))
        chosen = self._solid[swept[self._solid].all(axis=1)]
        owners = self._model.owner[chosen]
        chosen = chosen[~np.isin(chosen, payload.geoms) & ((owners != ignored) | (owners == OWNER_HOUSE))]
        near = (boxes.low[chosen] < high[:, :, None, :]) & (boxes.high[chosen] > low[:, :, None, :])
        with self._house.restoring_geoms(payload.geoms):
            for stop, part, other in zip(*np.nonzero(near.all(axis=3)), strict=True):
                geom = int(payload.geoms[part])
                self._house.move_geom(geom, centres[stop, part])
                if self._house.distance(geom, int(chosen[other]), 0.0) < -PENETRATION_TOLERANCE:
                    return False
        return True

    def contact_position(
        self, thing: int, towards: np.ndarray, outwards: np.ndarray, distance: float
    ) -> np.ndarray:
        """Return where the hand first touches the object `thing` when it moves along a straight line.

        The line ends at the point `towards`. It begins at `distance` from this point in the direction
        `outwards`. If the hand never touches the object, the result is `towards`.
        """
        parts = np.flatnonzero(self._model.owner == thing)
        remaining = distance
        with self._house.restoring_geoms(np.array([self._hand])):
            while remaining > 0.0:
                self._house.move_geom(self._hand, towards + remaining * outwards)
                gap = min(self._house.distance(self._hand, int(part), remaining) for part in parts)
                if gap < CONTACT_GAP:
                    break
                remaining -= gap
        contact: np.ndarray = towards + max(remaining, 0.0) * outwards
        return contact

    def approach_path(self, thing: int, before: np.ndarray, contact: np.ndarray) -> Path | None:
        """Return a path of the empty hand to the object `thing`, or None if none was found.

        The path leads to `before`, a point near the object, and from there straight to `contact`, where the
        hand touches the object.
        """
        payload = self.payload(self._rest_position, -1)
        if not self.is_free(payload, (before, contact), ignored=thing):
            return None
        path = self.plan(payload, self._rest_position, before)
        return None if path is None else (*path, contact)

    def plan(self, payload: Payload, start: np.ndarray, goal: np.ndarray) -> Path | None:
        """Return a collision-free path of the hand from start to goal, or None if none was found.

        The straight line is tried first, then detours that reach the goal from above or from the side,
        and finally RRT-Connect.
        """
        if not (self.is_free(payload, [goal]) and self.is_free(payload, [start])):
            return None
        for path in _candidate_paths(start, goal, self._base):
            if self.is_free(payload, path):
                return path
        shoulder = np.array([*self._base, SHOULDER_HEIGHT])
        space = BoundingBoxes((shoulder - HAND_RANGE)[None], (shoulder + HAND_RANGE)[None])

        def free(one: np.ndarray, other: np.ndarray) -> bool:
            return self.is_free(payload, (one, other))

        return rrt_connect(start, goal, free, space, step=RRT_STEP, max_iterations=RRT_MAX_ITERATIONS)


def _interpolate(points: Sequence[np.ndarray]) -> np.ndarray:
    """Return points at most `CHECK_STEP` apart on the straight lines that connect the given points."""
    stops = [points[0][None]]
    for one, other in itertools.pairwise(points):
        line = other - one
        count = int(np.sqrt(line @ line) / CHECK_STEP) + 1
        stops.append(one + line * (np.arange(1, count + 1) / count)[:, None])
    return np.concatenate(stops)


def _candidate_paths(start: np.ndarray, goal: np.ndarray, base: np.ndarray) -> Iterator[Path]:
    """Yield simple paths from start to goal: a straight line, then detours from above or from the side.

    `base` is the position of the robot's base.
    """
    yield (start, goal)
    up = np.array([0.0, 0.0, 1.0])
    for rise in APPROACH_HEIGHTS:
        yield (start, goal + rise * up, goal)
    to_base = np.array([base[0] - goal[0], base[1] - goal[1], 0.0])
    to_base /= max(float(np.sqrt(to_base @ to_base)), 1e-9)
    axes = [
        np.array(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    ]
    for out in (to_base, *(axis for axis in axes if axis @ to_base > MIN_ALIGNMENT)):
        for distance in APPROACH_DISTANCES:
            yield (start, goal + distance * out, goal)
            yield (start, goal + distance * out + LIFT_HEIGHT * up, goal + LIFT_HEIGHT * up, goal)


def rrt_connect(
    start: np.ndarray,
    goal: np.ndarray,
    free: LineTest,
    space: BoundingBoxes,
    *,
    step: float,
    max_iterations: int,
) -> tuple[np.ndarray, ...] | None:
    """Find a path of straight lines from start to goal with RRT-Connect.

    Returns the points of the path, or None if no path was found.

    Args:
        start: where the path begins.
        goal: where the path ends.
        free: returns whether the straight line between two points is free of obstacles.
        space: the box in which points are sampled; `BoundingBoxes` with a single row.
        step: the maximum length of a line.
        max_iterations: the maximum number of sampled points.
    """
    # The seed is fixed, so that the same problem always has the same solution.
    rng = np.random.Generator(np.random.PCG64(0))
    trees = (_Tree(start), _Tree(goal))
    for turn in range(max_iterations):
        grown, other = trees if turn % 2 == 0 else trees[::-1]
        tip = grown.extend(rng.uniform(space.low[0], space.high[0]), free, step)
        if tip is None:
            continue
        met = other.connect(grown.points[tip], free, step)
        if met is not None:
            halves = (grown.path(tip), other.path(met))
            one, two = halves if turn % 2 == 0 else halves[::-1]
            return (*reversed(one), *two[1:])
    return None


class _Tree:
    """A tree of RRT-Connect: points, each with a free line to its parent; the first point is the root."""

    def __init__(self, root: np.ndarray) -> None:
        self.points = [root]
        self._parents = [0]

    def extend(self, target: np.ndarray, free: LineTest, step: float) -> int | None:
        """Grow the tree towards the target: add a point one step away from the point nearest to the target.

        Returns the index of the new point, or None if the line to it is not free.
        """
        apart = np.array(self.points) - target
        nearest = int((apart**2).sum(axis=1).argmin())
        origin = self.points[nearest]
        line = target - origin
        length = float(np.sqrt(line @ line))
        tip = target if length <= step else origin + line * (step / length)
        if not free(origin, tip):
            return None
        self.points.append(tip)
        self._parents.append(nearest)
        return len(self.points) - 1

    def connect(self, target: np.ndarray, free: LineTest, step: float) -> int | None:
        """Extend the tree step by step until it contains the target.

        Returns the index of the target, or None if a line on the way is not free.
        """
        while True:
            tip = self.extend(target, free, step)
            if tip is None or self.points[tip] is target:
                return tip

    def path(self, index: int) -> list[np.ndarray]:
        """Return the points on the way from point number `index` to the root."""
        path = [self.points[index]]
        while index:
            index = self._parents[index]
            path.append(self.points[index])
        return path
