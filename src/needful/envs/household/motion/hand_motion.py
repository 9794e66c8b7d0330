"""Plan how the hand moves, with what it holds, without touching anything.

The hand floats and keeps its orientation; only its own body does not stand in its way.

RRT-Connect: two trees of collision-free motions that grow towards each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from needful.envs.household.motion.still_house import Boxes
from needful.envs.household.scene.scene import HAND_RANGE, SHOULDER_HEIGHT
from needful.envs.household.simulation.house_model import OWNER_HOUSE
from needful.envs.household.simulation.situation import SnapshotGeometry

Free: TypeAlias = Callable[[np.ndarray, np.ndarray], bool]


def rrt_connect(
    start: np.ndarray,
    goal: np.ndarray,
    free: Free,
    space: Boxes,
    *,
    step: float,
    rounds: int,
) -> tuple[np.ndarray, ...] | None:
    """Return points from start to goal with free straight lines between them, or None if none were found.

    Args:
        start: where the path begins.
        goal: where it ends.
        free: decides whether a straight line between two points is free.
        space: one box in which points are drawn.
        step: how long a line may be.
        rounds: how many points are drawn before it gives up.
    """
    # The same question always gets the same answer, so the points come from a stream of its own.
    rng = np.random.Generator(np.random.PCG64(0))
    trees = (_Tree(start), _Tree(goal))
    for turn in range(rounds):
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
    """Points, each with a free line to its parent; the root is the first."""

    def __init__(self, root: np.ndarray) -> None:
        self.points = [root]
        self._parents = [0]

    def extend(self, target: np.ndarray, free: Free, step: float) -> int | None:
        """Grow by one step towards a target; return the new point's number, or None if it is not free."""
        apart = np.array(self.points) - target
        nearest = int((apart**2).sum(axis=1).argmin())
        origin = self.points[nearest]
        way = target - origin
        length = float(np.sqrt(way @ way))
        tip = target if length <= step else origin + way * (step / length)
        if not free(origin, tip):
            return None
        self.points.append(tip)
        self._parents.append(nearest)
        return len(self.points) - 1

    def connect(self, target: np.ndarray, free: Free, step: float) -> int | None:
        """Grow towards a target as far as it goes; return its number if it was reached."""
        while True:
            tip = self.extend(target, free, step)
            if tip is None or self.points[tip] is target:
                return tip

    def path(self, number: int) -> list[np.ndarray]:
        """Return the points from one of them to the root."""
        path = [self.points[number]]
        while number:
            number = self._parents[number]
            path.append(self.points[number])
        return path


Path: TypeAlias = tuple[np.ndarray, ...]

# How far apart the places are at which a way is checked, and how deep a touch may be: bodies at rest
# lie a little in each other.
CHECK_STEP = 0.02
PENETRATION_TOLERANCE = 0.003

# When the hand closes in on something it stops this short of it.
GAP = 0.002

# Where to pass by if the straight way is not free: from how far above, and how far outside.
APPROACH_HEIGHTS = (0.1, 0.3)
APPROACH_DISTANCES = (0.25, 0.45)

# How much a direction along the walls must point to the robot to count, and how high to lift what is
# pulled out.
MIN_ALIGNMENT = 0.3
LIFT = 0.02

RRT_STEP, RRT_ROUNDS = 0.15, 80


@dataclass(frozen=True)
class Load:
    """What moves with the hand: geoms, and where their middles are relative to the hand's."""

    geoms: np.ndarray
    offsets: np.ndarray
    reaches: np.ndarray


class HandPlanner:
    """Plans in the snapshot of a view."""

    def __init__(self, view: SnapshotGeometry) -> None:
        self._model = view.model
        self._house = view.house
        self._base = view.snapshot.robot[:2]
        self._rest = view.snapshot.hand
        self._hand = view.model.hand_geom
        self._solid = np.flatnonzero(view.model.owner >= OWNER_HOUSE)

    def load(self, hand: np.ndarray, thing: int) -> Load:
        """Return what moves when the hand, at a place, holds a thing; -1 is nothing."""
        held = np.flatnonzero(self._model.owner == thing) if thing >= 0 else np.empty(0, dtype=int)
        geoms = np.array([self._hand, *held])
        boxes = self._house.geom_boxes()
        offsets = self._house.centres[geoms] - hand
        offsets[0] = 0.0
        return Load(geoms, offsets, (boxes.high[geoms] - boxes.low[geoms]) / 2)

    def is_free(self, load: Load, points: Sequence[np.ndarray], ignored: int = -1) -> bool:
        """Return whether the load can go along straight lines between points; a thing may be ignored."""
        centres = _interpolate(points)[:, None, :] + load.offsets
        low, high = centres - load.reaches, centres + load.reaches
        if low[:, :, 2].min() < -PENETRATION_TOLERANCE:
            return False
        boxes = self._house.geom_boxes()
        swept = (boxes.low < high.max(axis=(0, 1))) & (boxes.high > low.min(axis=(0, 1)))
        chosen = self._solid[swept[self._solid].all(axis=1)]
        owners = self._model.owner[chosen]
        chosen = chosen[~np.isin(chosen, load.geoms) & ((owners != ignored) | (owners == OWNER_HOUSE))]
        near = (boxes.low[chosen] < high[:, :, None, :]) & (boxes.high[chosen] > low[:, :, None, :])
        with self._house.borrowed(load.geoms):
            for stop, part, other in zip(*np.nonzero(near.all(axis=3)), strict=True):
                geom = int(load.geoms[part])
                self._house.move_geom(geom, centres[stop, part])
                if self._house.distance(geom, int(chosen[other]), 0.0) < -PENETRATION_TOLERANCE:
                    return False
        return True

    def touching(
        self, thing: int, towards: np.ndarray, outwards: np.ndarray, distance: float
    ) -> np.ndarray:
        """Return where the hand touches a thing when it comes straight towards a point from a distance."""
        parts = np.flatnonzero(self._model.owner == thing)
        left = distance
        with self._house.borrowed(np.array([self._hand])):
            while left > 0.0:
                self._house.move_geom(self._hand, towards + left * outwards)
                gap = min(self._house.distance(self._hand, int(part), left) for part in parts)
                if gap < GAP:
                    break
                left -= gap
        touched: np.ndarray = towards + max(left, 0.0) * outwards
        return touched

    def approach_path(self, thing: int, before: np.ndarray, touch: np.ndarray) -> Path | None:
        """Return a way of the empty hand to before a thing and on to where it touches that one."""
        load = self.load(self._rest, -1)
        if not self.is_free(load, (before, touch), ignored=thing):
            return None
        path = self.plan(load, self._rest, before)
        return None if path is None else (*path, touch)

    def plan(self, load: Load, start: np.ndarray, goal: np.ndarray) -> Path | None:
        """Return a free path of the hand between two places, or None if none was found.

        Straight ways are tried first, then ways that come to the goal from above or from outside, and
        at last RRT-Connect.
        """
        if not (self.is_free(load, [goal]) and self.is_free(load, [start])):
            return None
        for way in _candidate_paths(start, goal, self._base):
            if self.is_free(load, way):
                return way
        shoulder = np.array([*self._base, SHOULDER_HEIGHT])
        space = Boxes((shoulder - HAND_RANGE)[None], (shoulder + HAND_RANGE)[None])

        def free(one: np.ndarray, other: np.ndarray) -> bool:
            return self.is_free(load, (one, other))

        return rrt_connect(start, goal, free, space, step=RRT_STEP, rounds=RRT_ROUNDS)


def _interpolate(points: Sequence[np.ndarray]) -> np.ndarray:
    """Return places along straight lines between points, close to each other."""
    stops = [points[0][None]]
    for one, other in itertools.pairwise(points):
        way = other - one
        count = int(np.sqrt(way @ way) / CHECK_STEP) + 1
        stops.append(one + way * (np.arange(1, count + 1) / count)[:, None])
    return np.concatenate(stops)


def _candidate_paths(start: np.ndarray, goal: np.ndarray, base: np.ndarray) -> Iterator[Path]:
    """Yield what to try: straight on, down from above, in from outside."""
    yield (start, goal)
    up = np.array([0.0, 0.0, 1.0])
    for rise in APPROACH_HEIGHTS:
        yield (start, goal + rise * up, goal)
    home = np.array([base[0] - goal[0], base[1] - goal[1], 0.0])
    home /= max(float(np.sqrt(home @ home)), 1e-9)
    axes = [
        np.array(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    ]
    for out in (home, *(axis for axis in axes if axis @ home > MIN_ALIGNMENT)):
        for far in APPROACH_DISTANCES:
            yield (start, goal + far * out, goal)
            yield (start, goal + far * out + LIFT * up, goal + LIFT * up, goal)
