"""RRT-Connect: two trees of collision-free motions that grow towards each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from needful.envs.household.still_house import Boxes

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
