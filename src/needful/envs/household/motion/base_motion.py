"""Plan how the base drives: a grid of the free space, its connected parts, and A* in it.

The plan view of geoms, for a robot that drives on the floor.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import TypeAlias

import numpy as np
from scipy import ndimage

from needful.envs.household.scene.scene import CLEARANCE, Scene

# A cylinder whose axis is this upright counts as round in plan.
UPRIGHT = 0.999


@dataclass(frozen=True)
class Footprints:
    """Turned rectangles with rounded corners, each over a span of heights; one a row.

    Attributes:
        centre: their middles.
        along: the direction of their first side.
        half: half their sizes, without the rounding.
        rounding: by how much they are grown in all directions.
        low: how high their lowest points are.
        high: how high their highest points are.
    """

    centre: np.ndarray
    direction: np.ndarray
    half: np.ndarray
    corner_radius: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(
        cls, centres: np.ndarray, axes: np.ndarray, halves: np.ndarray, round_: np.ndarray
    ) -> Footprints:
        """Return rectangles around boxes and cylinders; exact where one of their axes is upright."""
        reach = axes * halves[:, None, :]
        # The side that is longest in plan sets the direction; then nothing sticks out at the corners.
        lengths = np.hypot(reach[:, 0, :], reach[:, 1, :])
        longest = np.take_along_axis(reach[:, :2, :], lengths.argmax(axis=1)[:, None, None], axis=2)[
            :, :, 0
        ]
        direction = longest / np.maximum(lengths.max(axis=1), 1e-12)[:, None]
        across = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
        half = np.stack(
            [
                np.abs(np.einsum("ni,nij->nj", side, reach[:, :2, :])).sum(axis=1)
                for side in (direction, across)
            ],
            axis=1,
        )
        standing = round_ & (np.abs(axes[:, 2, 2]) > UPRIGHT)
        corner_radius = np.where(standing, halves[:, 0], 0.0)
        half[standing] = 0.0
        height = np.abs(reach[:, 2, :]).sum(axis=1)
        z = centres[:, 2]
        return cls(centres[:, :2].copy(), direction, half, corner_radius, z - height, z + height)

    def __len__(self) -> int:
        return len(self.centre)

    def __getitem__(self, chosen: np.ndarray) -> Footprints:
        """Return some of them."""
        return Footprints(
            self.centre[chosen],
            self.direction[chosen],
            self.half[chosen],
            self.corner_radius[chosen],
            self.low[chosen],
            self.high[chosen],
        )

    def joined(self, others: Footprints) -> Footprints:
        """Return these and others."""
        pairs = ((getattr(self, name), getattr(others, name)) for name in self.__dataclass_fields__)
        return Footprints(*(np.concatenate(pair) for pair in pairs))

    def between(self, low: float, high: float) -> Footprints:
        """Return those that are somewhere between two heights."""
        return self[(self.low < high) & (self.high > low)]

    def gaps(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return how far points are from each footprint, which is the last axis; 0 or less inside."""
        dx, dy = x[..., None] - self.centre[:, 0], y[..., None] - self.centre[:, 1]
        u, v = self.direction[:, 0], self.direction[:, 1]
        direction = np.maximum(np.abs(dx * u + dy * v) - self.half[:, 0], 0.0)
        across = np.maximum(np.abs(dy * u - dx * v) - self.half[:, 1], 0.0)
        gaps: np.ndarray = np.sqrt(direction * direction + across * across) - self.corner_radius
        return gaps


Point: TypeAlias = tuple[float, float]
Cell: TypeAlias = tuple[int, int]

CELL = 0.05

# Distances are known up to here; no disc may be larger.
MAX_DISTANCE = 0.6

# What a disc keeps from obstacles at the middles of cells, so that it also does on the way between two.
CELL_CLEARANCE = CLEARANCE / 2

# A path may end this far from the cells that it runs along.
ENTRY_DISTANCE = 0.12

# How much more than A* itself the search hurries to the goal; paths may be longer by this factor.
HEURISTIC_WEIGHT = 1.5


@dataclass(frozen=True)
class Disc:
    """A part of the robot in plan, between two heights."""

    radius: float
    low: float
    high: float


class OccupancyGrid:
    """Cells over a house and, for a height, how far they are from what never moves."""

    def __init__(self, scene: Scene, fixed: Footprints) -> None:
        low = np.min([room.low for room in scene.rooms], axis=0)
        high = np.max([room.high for room in scene.rooms], axis=0)
        self.xs = np.arange(low[0] + CELL / 2, high[0], CELL)
        self.ys = np.arange(low[1] + CELL / 2, high[1], CELL)
        self.fixed = fixed
        self._fields: dict[tuple[float, float], np.ndarray] = {}

    def free(self, discs: Sequence[Disc], loose: Footprints) -> np.ndarray:
        """Return the cells on which all discs are clear of what never moves and of what is loose."""
        free = np.ones((len(self.xs), len(self.ys)), dtype=bool)
        for disc in discs:
            reach = disc.radius + CELL_CLEARANCE
            free &= self._field(disc) >= reach
            near = loose.between(disc.low, disc.high)
            for index in range(len(near)):
                self._block(free, near[np.array([index])], reach)
        return free

    def contains(self, point: np.ndarray) -> bool:
        """Return whether a point lies in the house."""
        return bool(self.xs[0] <= point[0] <= self.xs[-1] and self.ys[0] <= point[1] <= self.ys[-1])

    def cell(self, point: Point) -> Cell:
        """Return the cell that a point is in, or the nearest one."""
        i = int((point[0] - self.xs[0]) / CELL + 0.5)
        j = int((point[1] - self.ys[0]) / CELL + 0.5)
        return min(max(i, 0), len(self.xs) - 1), min(max(j, 0), len(self.ys) - 1)

    def _field(self, disc: Disc) -> np.ndarray:
        key = (disc.low, disc.high)
        if key not in self._fields:
            field = np.full((len(self.xs), len(self.ys)), MAX_DISTANCE)
            fixed = self.fixed.between(disc.low, disc.high)
            for index in range(len(fixed)):
                one = fixed[np.array([index])]
                window, gaps = self._window(one, MAX_DISTANCE)
                np.minimum(field[window], gaps, out=field[window])
            self._fields[key] = field
        return self._fields[key]

    def _block(self, free: np.ndarray, one: Footprints, reach: float) -> None:
        window, gaps = self._window(one, reach)
        free[window] &= gaps >= reach

    def _window(self, one: Footprints, reach: float) -> tuple[tuple[slice, slice], np.ndarray]:
        """Return the cells around a footprint and how far they are from it."""
        (x, y), far = one.centre[0], one.corner_radius[0] + reach
        u, v = np.abs(one.direction[0])
        wide = u * one.half[0, 0] + v * one.half[0, 1] + far
        deep = v * one.half[0, 0] + u * one.half[0, 1] + far
        i0, i1 = np.searchsorted(self.xs, (x - wide, x + wide))
        j0, j1 = np.searchsorted(self.ys, (y - deep, y + deep))
        window = (slice(int(i0), int(i1)), slice(int(j0), int(j1)))
        return window, one.gaps(self.xs[window[0]][:, None], self.ys[window[1]][None, :])[..., 0]


def has_clearance(
    discs: Sequence[Disc], obstacles: Footprints, points: np.ndarray, clearance: float
) -> bool:
    """Return whether the discs have some clearance from all obstacles at all points."""
    for disc in discs:
        gaps = obstacles.between(disc.low, disc.high).gaps(points[:, 0], points[:, 1])
        if (gaps < disc.radius + clearance).any():
            return False
    return True


class BasePlanner:
    """Where the discs' common middle can go from one point.

    What is loose and touches the discs at the start does not hinder them: the robot pushes itself free.
    """

    def __init__(self, grid: OccupancyGrid, discs: Sequence[Disc], loose: Footprints, start: Point) -> None:
        self._grid, self._discs, self._start = grid, discs, start
        loose = _not_touching(discs, loose, start)
        self._obstacles = grid.fixed.joined(loose)
        # Parts that do not hang together refute a path at once; to search for one would take long.
        self._labels, _ = ndimage.label(grid.free(discs, loose), output=np.int16)
        self._first = self._entry_cells(start)

    def is_enclosed(self) -> bool:
        """Return whether the largest part of the free space cannot be entered from the start."""
        sizes = np.bincount(self._labels.ravel())
        sizes[0] = 0  # what is not free
        return int(sizes.argmax()) not in self._first

    def can_reach(self, goal: Point) -> bool:
        """Return whether there is a path to a goal."""
        linked = not self._entry_cells(goal).keys().isdisjoint(self._first)
        return linked or self._is_clear(self._start, goal, CELL_CLEARANCE)

    def path(self, goal: Point) -> tuple[Point, ...] | None:
        """Return a path to a goal, or None if there is none."""
        if self._is_clear(self._start, goal, CELL_CLEARANCE):
            return self._start, goal
        last = self._entry_cells(goal)
        common = sorted(set(self._first) & set(last))
        if not common:
            return None
        label = common[0]
        cells = _a_star(self._labels == label, self._first[label], last[label])
        xs, ys = self._grid.xs, self._grid.ys
        return (self._start, *((float(xs[i]), float(ys[j])) for i, j in cells), goal)

    def _entry_cells(self, point: Point) -> dict[int, Cell]:
        """Return, for each connected part that can be entered straight from a point, its nearest cell."""
        xs, ys = self._grid.xs, self._grid.ys
        i, j = self._grid.cell(point)
        reach = int(ENTRY_DISTANCE / CELL) + 1
        near = [
            (hypot(xs[a] - point[0], ys[b] - point[1]), (a, b))
            for a in range(max(i - reach, 0), min(i + reach + 1, len(xs)))
            for b in range(max(j - reach, 0), min(j + reach + 1, len(ys)))
            if self._labels[a, b]
        ]
        links: dict[int, Cell] = {}
        for distance, cell in sorted(near):
            label = int(self._labels[cell])
            entered = label in links or distance > ENTRY_DISTANCE
            if not entered and self._is_clear(point, (xs[cell[0]], ys[cell[1]]), 0.0):
                links[label] = cell
        return links

    def _is_clear(self, one: Point, other: Point, clearance: float) -> bool:
        """Return whether the straight way between two points is clear."""
        count = 2 + int(hypot(other[0] - one[0], other[1] - one[1]) / CELL)
        return has_clearance(self._discs, self._obstacles, np.linspace(one, other, count), clearance)


def _not_touching(discs: Sequence[Disc], loose: Footprints, start: Point) -> Footprints:
    gaps = loose.gaps(np.array(start[0]), np.array(start[1]))
    touching = np.zeros(len(loose), dtype=bool)
    for disc in discs:
        beside = (loose.low < disc.high) & (loose.high > disc.low)
        touching |= beside & (gaps < disc.radius + CELL_CLEARANCE)
    return loose[~touching]


def _a_star(free: np.ndarray, start: Cell, goal: Cell) -> list[Cell]:
    """Return a path over free cells, which must hang together; steps go to all eight neighbours."""
    width = free.shape[1] + 2
    open_cells = np.pad(free, 1).ravel().tolist()
    steps = [
        (di * width + dj, sqrt(di * di + dj * dj)) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj
    ]
    first, last = ((i + 1) * width + j + 1 for i, j in (start, goal))
    goal_i, goal_j = goal[0] + 1, goal[1] + 1
    costs, parents = {first: 0.0}, {first: first}
    queue = [(0.0, first)]
    while queue:
        _, cell = heapq.heappop(queue)
        if cell == last:
            break
        if not open_cells[cell]:
            continue
        open_cells[cell] = False
        cost = costs[cell]
        for step, length in steps:
            other = cell + step
            if open_cells[other] and cost + length < costs.get(other, inf):
                costs[other] = cost + length
                parents[other] = cell
                left = hypot(other // width - goal_i, other % width - goal_j)
                heapq.heappush(queue, (cost + length + HEURISTIC_WEIGHT * left, other))
    path = [last]
    while path[-1] != first:
        path.append(parents[path[-1]])
    return [(cell // width - 1, cell % width - 1) for cell in reversed(path)]
