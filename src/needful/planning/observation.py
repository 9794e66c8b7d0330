"""Estimate the state of a world from noisy readings.

An estimate is the median of all readings of an object since it last changed. Most actions change few
objects, so the estimates of the others become more exact with every observation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from needful.core.controllers import World
from needful.core.limits import Clock
from needful.core.objects import Object
from needful.core.state import State, median_state

# If an action is not predicted to change an object, readings of the object before and after the action are
# combined. This is done only if their means differ by at most this many standard errors in each feature.
MAX_STANDARD_ERRORS = 4.0


class Observer:
    """Takes readings of a world and estimates its state.

    Attributes:
        seconds: the time that readings took.
    """

    def __init__(self, world: World, clock: Clock) -> None:
        self._world, self._clock = world, clock
        self._readings: list[State] = []  # since the last action
        self._earlier: dict[Object, np.ndarray] = {}  # older readings of unchanged objects, one per row
        self.seconds = 0.0

    @property
    def count(self) -> int:
        """The number of readings since the last action."""
        return len(self._readings)

    @property
    def exact(self) -> bool:
        """Whether the first two readings since the last action are equal."""
        return len(self._readings) > 1 and self._readings[0] == self._readings[1]

    def estimate(self, count: int) -> State:
        """Return the median of each feature, from at least `count` readings since the last action.

        If the first two readings are equal, readings are exact, and no more are taken.
        """
        started = self._clock()
        while self.count < count and not self.exact:
            self._readings.append(self._world.observe())
        self.seconds += self._clock() - started
        if self.exact:
            return self._readings[0]
        estimate = median_state(self._readings)
        better = {
            obj: np.median(self._rows(obj), axis=0).tolist() for obj in self._earlier if obj in estimate
        }
        return State({obj: better.get(obj, estimate[obj]) for obj in estimate})

    def action_executed(self, before: State, after: State) -> None:
        """Start new readings after an action that is predicted to lead from `before` to `after`.

        Readings of objects that the action is not predicted to change are kept.
        """
        kept = () if self.exact else [obj for obj in before if before[obj] == after[obj]]
        self._earlier = {obj: self._rows(obj) for obj in kept}
        self._readings = []

    def _rows(self, obj: Object) -> np.ndarray:
        """Return the readings of an object; older readings are left out if they contradict the latest."""
        latest, older = _matrix(self._readings, obj), self._earlier.get(obj)
        if older is None or not _same_mean(older, latest):
            return latest
        return np.concatenate((older, latest))


def _matrix(readings: Sequence[State], obj: Object) -> np.ndarray:
    return np.array([reading[obj] for reading in readings])


def _same_mean(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether the means differ by at most `MAX_STANDARD_ERRORS` standard errors in each column."""
    errors = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    return bool(np.all(difference <= MAX_STANDARD_ERRORS * errors))
