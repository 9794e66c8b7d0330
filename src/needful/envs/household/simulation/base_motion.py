"""Plan paths of the robot's base: footprints of obstacles, a grid of the free space, and A* on the grid."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import TypeAlias

import numpy as np
from scipy import ndimage

from needful.envs.household.scene.scene import CLEARANCE, Scene

Point: TypeAlias = tuple[float, float]
Cell: TypeAlias = tuple[int, int]

# A cylinder counts as upright, with a circular footprint, if |z| of its unit axis exceeds this value.
UPRIGHT = 0.999

# The side of a grid cell, in metres.
CELL = 0.05

# Distances to obstacles are computed only up to this value, in metres. Each `Disc` (a part of the robot,
# seen from above) must have a smaller radius.
MAX_DISTANCE = 0.6

# The robot is covered by discs (see `Disc`). A cell is free if the discs, centred on the cell, are at least
# this far from all obstacles. So they also hit no obstacle on the way to a neighbouring free cell.
CELL_CLEARANCE = CLEARANCE / 2

# The maximum distance from the start of a path to its first grid cell, and from its last cell to the goal.
ENTRY_DISTANCE = 0.12

# The weight of the heuristic in weighted A*. The length of a path is at most this weight times the length
# of the shortest path.
HEURISTIC_WEIGHT = 1.5


@dataclass(frozen=True)
class Footprints:
    """The areas that MuJoCo geoms cover, seen from above: rotated rectangles with rounded corners.

    Each attribute is an array with one row per footprint.

    Attributes:
        centre: the centres of the rectangles.
        direction: the unit vectors along the first sides of the rectangles.
        half: the half-extents of the rectangles, without the corner radius.
        corner_radius: the distances by which the rectangles are grown in all directions.
        low: the heights of the lowest points of the geoms.
        high: the heights of the highest points of the geoms.
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
        """Compute the footprints of MuJoCo geoms (shapes); that of a tilted one is a rectangle around it.

        The arrays have one entry per geom: its centre, its rotation matrix (`axes`), its half-extents, and
        whether it is a cylinder (`round_`) or a box.
        """
        half_axes = axes * halves[:, None, :]
        # The first side of a footprint is parallel to the axis of the geom that is longest when seen from
        # above. So the footprint of a box that is not tilted is exact.
        lengths = np.hypot(half_axes[:, 0, :], half_axes[:, 1, :])
        longest = np.take_along_axis(half_axes[:, :2, :], lengths.argmax(axis=1)[:, None, None], axis=2)[
            :, :, 0
        ]
        direction = longest / np.maximum(lengths.max(axis=1), 1e-12)[:, None]
        across = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
        half = np.stack(
            [
                np.abs(np.einsum("ni,nij->nj", side, half_axes[:, :2, :])).sum(axis=1)
                for side in (direction, across)
            ],
            axis=1,
        )
        standing = round_ & (np.abs(axes[:, 2, 2]) > UPRIGHT)
        corner_radius = np.where(standing, halves[:, 0], 0.0)
        half[standing] = 0.0
        height = np.abs(half_axes[:, 2, :]).sum(axis=1)
        z = centres[:, 2]
        return cls(centres[:, :2].copy(), direction, half, corner_radius, z - height, z + height)

    def __len__(self) -> int:
        return len(self.centre)

    def __getitem__(self, chosen: np.ndarray) -> Footprints:
        """Return the chosen footprints, given by their indices or by one Boolean per footprint."""
        return Footprints(
            self.centre[chosen],
            self.direction[chosen],
            self.half[chosen],
            self.corner_radius[chosen],
            self.low[chosen],
            self.high[chosen],
        )

    def joined(self, others: Footprints) -> Footprints:
        """Return these footprints followed by the footprints in `others`."""
        pairs = ((getattr(self, name), getattr(others, name)) for name in self.__dataclass_fields__)
        return Footprints(*(np.concatenate(pair) for pair in pairs))

    def between(self, low: float, high: float) -> Footprints:
        """Return the footprints of the shapes that have a part between the heights `low` and `high`."""
        return self[(self.low < high) & (self.high > low)]

    def gaps(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the distance from each point (x, y) to each footprint.

        The distance is 0 or negative if the point lies inside the footprint. The last axis of the result is
        the index of the footprint.
        """
        dx, dy = x[..., None] - self.centre[:, 0], y[..., None] - self.centre[:, 1]
        u, v = self.direction[:, 0], self.direction[:, 1]
        along = np.maximum(np.abs(dx * u + dy * v) - self.half[:, 0], 0.0)
        across = np.maximum(np.abs(dy * u - dx * v) - self.half[:, 1], 0.0)
        gaps: np.ndarray = np.sqrt(along * along + across * across) - self.corner_radius
        return gaps


@dataclass(frozen=True)
class Disc:
    """A disc that covers the part of the robot between the heights `low` and `high`, seen from above."""

    radius: float
    low: float
    high: float


class OccupancyGrid:
    """A grid over the floor of a house, to find the cells in which the robot hits no obstacle.

    The robot is covered by discs, one per range of heights (see `Disc`). A disc can hit only obstacles at
    its heights. So the distances of all cells to the fixed obstacles are cached per range of heights.
    """

    def __init__(self, scene: Scene, fixed: Footprints) -> None:
        low = np.min([room.low for room in scene.rooms], axis=0)
        high = np.max([room.high for room in scene.rooms], axis=0)
        self.xs = np.arange(low[0] + CELL / 2, high[0], CELL)
        self.ys = np.arange(low[1] + CELL / 2, high[1], CELL)
        self.fixed = fixed
        self._fields: dict[tuple[float, float], np.ndarray] = {}

    def free(self, discs: Sequence[Disc], loose: Footprints) -> np.ndarray:
        """Return, for each cell, whether the robot hits no obstacle there.

        The robot is given by discs, which are centred on the cell. `loose` holds the movable obstacles; the
        fixed ones are stored in the grid.
        """
        free = np.ones((len(self.xs), len(self.ys)), dtype=bool)
        for disc in discs:
            min_gap = disc.radius + CELL_CLEARANCE
            free &= self._field(disc) >= min_gap
            near = loose.between(disc.low, disc.high)
            for index in range(len(near)):
                self._block(free, near[np.array([index])], min_gap)
        return free

    def contains(self, point: np.ndarray) -> bool:
        """Return whether a point lies in the grid, and so in the house."""
        return bool(self.xs[0] <= point[0] <= self.xs[-1] and self.ys[0] <= point[1] <= self.ys[-1])

    def cell(self, point: Point) -> Cell:
        """Return the cell that contains a point, or the cell nearest to a point outside the grid."""
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

    def _block(self, free: np.ndarray, one: Footprints, min_gap: float) -> None:
        window, gaps = self._window(one, min_gap)
        free[window] &= gaps >= min_gap

    def _window(self, one: Footprints, distance: float) -> tuple[tuple[slice, slice], np.ndarray]:
        """Return the block of cells around one footprint, and the distance of each cell to the footprint.

        `one` contains a single footprint. The block contains all cells within `distance` of it, and is
        given by its slices of `xs` and `ys`.
        """
        (x, y), far = one.centre[0], one.corner_radius[0] + distance
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
    """Return whether all discs, centred on each of the points, keep a clearance from all obstacles."""
    for disc in discs:
        gaps = obstacles.between(disc.low, disc.high).gaps(points[:, 0], points[:, 1])
        if (gaps < disc.radius + clearance).any():
            return False
    return True


class BasePlanner:
    """Plans paths of the robot's base from one start position.

    The robot is represented by discs with a common centre. Loose (movable) obstacles that touch the discs
    at the start are ignored; otherwise the robot could not leave the start.
    """

    def __init__(self, grid: OccupancyGrid, discs: Sequence[Disc], loose: Footprints, start: Point) -> None:
        self._grid, self._discs, self._start = grid, discs, start
        loose = _not_touching(discs, loose, start)
        self._obstacles = grid.fixed.joined(loose)
        # Label the connected components of the free cells, to find without A* whether a path exists.
        self._labels, _ = ndimage.label(grid.free(discs, loose), output=np.int16)
        self._start_cells = self._entry_cells(start)

    def is_enclosed(self) -> bool:
        """Return whether no path leads from the start to the largest connected region of free cells."""
        sizes = np.bincount(self._labels.ravel())
        sizes[0] = 0  # the label of cells that are not free
        return int(sizes.argmax()) not in self._start_cells

    def can_reach(self, goal: Point) -> bool:
        """Return whether there is a path from the start to the given goal."""
        connected = not self._entry_cells(goal).keys().isdisjoint(self._start_cells)
        return connected or self._is_clear(self._start, goal, CELL_CLEARANCE)

    def path(self, goal: Point) -> tuple[Point, ...] | None:
        """Return a path from the start to the given goal, or None if there is none."""
        if self._is_clear(self._start, goal, CELL_CLEARANCE):
            return self._start, goal
        last = self._entry_cells(goal)
        common = sorted(set(self._start_cells) & set(last))
        if not common:
            return None
        label = common[0]
        cells = _a_star(self._labels == label, self._start_cells[label], last[label])
        xs, ys = self._grid.xs, self._grid.ys
        return (self._start, *((float(xs[i]), float(ys[j])) for i, j in cells), goal)

    def _entry_cells(self, point: Point) -> dict[int, Cell]:
        """Return free cells that the robot can reach from a point in a short straight line.

        The result has at most one cell per component, a connected set of free cells. It maps the label of
        the component to its nearest cell with a clear line to the point. Components that have no such cell
        within `ENTRY_DISTANCE` are left out.
        """
        xs, ys = self._grid.xs, self._grid.ys
        i, j = self._grid.cell(point)
        radius = int(ENTRY_DISTANCE / CELL) + 1
        near = [
            (hypot(xs[a] - point[0], ys[b] - point[1]), (a, b))
            for a in range(max(i - radius, 0), min(i + radius + 1, len(xs)))
            for b in range(max(j - radius, 0), min(j + radius + 1, len(ys)))
            if self._labels[a, b]
        ]
        entries: dict[int, Cell] = {}
        for distance, cell in sorted(near):
            label = int(self._labels[cell])
            skipped = label in entries or distance > ENTRY_DISTANCE
            if not skipped and self._is_clear(point, (xs[cell[0]], ys[cell[1]]), 0.0):
                entries[label] = cell
        return entries

    def _is_clear(self, one: Point, other: Point, clearance: float) -> bool:
        """Return whether the robot can move in a straight line between two points.

        The discs that cover the robot must stay at least `clearance` away from all obstacles. The distance
        is tested with the discs centred on points of the line that are at most `CELL` apart.
        """
        count = 2 + int(hypot(other[0] - one[0], other[1] - one[1]) / CELL)
        return has_clearance(self._discs, self._obstacles, np.linspace(one, other, count), clearance)


def _not_touching(discs: Sequence[Disc], loose: Footprints, start: Point) -> Footprints:
    gaps = loose.gaps(np.array(start[0]), np.array(start[1]))
    touching = np.zeros(len(loose), dtype=bool)
    for disc in discs:
        overlapping = (loose.low < disc.high) & (loose.high > disc.low)
        touching |= overlapping & (gaps < disc.radius + CELL_CLEARANCE)
    return loose[~touching]


def _a_star(free: np.ndarray, start: Cell, goal: Cell) -> list[Cell]:
    """Find a path over free cells with weighted A*; start and goal must be in the same component.

    Each step leads to one of the eight neighbours of a cell.
    """
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
