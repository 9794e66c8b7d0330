"""Where a disc can stand in a plan, and what it can reach from there by rolling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage

from needful.envs.household.floor_plan import Rect

CELL = 0.05


@dataclass(frozen=True)
class FreeSpace:
    """A grid over the plan.

    Attributes:
        xs: the x coordinates of the cells' middles.
        ys: their y coordinates.
        free: whether the disc fits with its middle there.
    """

    xs: np.ndarray
    ys: np.ndarray
    free: np.ndarray

    @classmethod
    def around(cls, obstacles: Iterable[Rect], outline: Rect, radius: float) -> FreeSpace:
        """Return where a disc has all obstacles at least its radius away."""
        (x0, y0), (x1, y1) = outline.low, outline.high
        xs, ys = np.arange(x0 + CELL / 2, x1, CELL), np.arange(y0 + CELL / 2, y1, CELL)
        space = cls(xs, ys, np.ones((len(xs), len(ys)), dtype=bool))
        for obstacle in obstacles:
            for window, squared in space._near(obstacle, radius):
                space.free[window] &= squared >= radius**2
        return space

    @cached_property
    def connected(self) -> np.ndarray:
        """The largest part of the free cells that hangs together."""
        labels, count = ndimage.label(self.free)
        if count == 0:
            return self.free
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        return np.asarray(labels == sizes.argmax())

    def standing_places(self, target: Rect, within: float, room: Rect) -> int:
        """Count the connected cells of a room from which a target is no further away than `within`."""
        return self._count(self.connected, target, within, room)

    def pockets(self, target: Rect, within: float, room: Rect) -> int:
        """Count the free cells near a target that are cut off from the connected ones."""
        return self._count(self.free & ~self.connected, target, within, room)

    def _count(self, cells: np.ndarray, target: Rect, within: float, room: Rect) -> int:
        count = 0
        for window, squared in self._near(target, within):
            xs, ys = self.xs[window[0]], self.ys[window[1]]
            inside_x = (room.low[0] < xs) & (xs < room.high[0])
            inside_y = (room.low[1] < ys) & (ys < room.high[1])
            near = (squared <= within**2) & inside_x[:, None] & inside_y[None, :]
            count += int(np.count_nonzero(near & cells[window]))
        return count

    def _near(self, target: Rect, distance: float) -> Iterator[tuple[tuple[slice, slice], np.ndarray]]:
        """Yield the window of cells around a target and their squared distances, if there are any."""
        slices, gaps = [], []
        for axis, coordinates in enumerate((self.xs, self.ys)):
            low, high = target.low[axis], target.high[axis]
            first, last = np.searchsorted(coordinates, (low - distance, high + distance))
            if first == last:
                return
            near = coordinates[first:last]
            slices.append(slice(first, last))
            gaps.append(np.maximum(np.maximum(low - near, near - high), 0.0))
        yield (slices[0], slices[1]), gaps[0][:, None] ** 2 + gaps[1][None, :] ** 2
