"""Place windows and furniture in the rooms of a floor plan, and compute the free space for the robot.

In front of furniture and windows, a zone stays free of other furniture: the robot stands there to use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import pi

import numpy as np
from scipy import ndimage

from needful.envs.household.scene.activities import ActivityDefinition
from needful.envs.household.scene.categories import (
    CATEGORIES,
    WINDOW_HEIGHT,
    WINDOW_SILL,
    WINDOW_WIDTH,
    bounding_box,
)
from needful.envs.household.scene.floor_plan import WALL_THICKNESS, FloorPlan, Opening, Rect, Wall
from needful.envs.household.scene.scene import Thing
from needful.errors import NeedfulError

# The side of a grid cell, in metres.
CELL = 0.05

# The usual furniture of each room, in the order of placement; a piece that does not fit is left out.
USUAL_FURNITURE = {
    "bathroom": ("cabinet",),
    "bedroom": ("bed", "cabinet"),
    "kitchen": ("table", "fridge", "cabinet"),
    "living_room": ("shelf", "table", "sofa", "coffee_table"),
    "study": ("shelf", "coffee_table"),
}
ROOMS_WITH_WINDOW = ("bedroom", "kitchen", "living_room")

MAX_TRIES = 100

# Windows that are open at the start have a random hinge angle in this range; 1 is fully open.
WINDOW_OPENING_RANGE = (0.5, 1.0)
GAP = 0.01  # the minimum gap between pieces, and between furniture and walls, in metres

# The depth of the free zone in front of furniture, where the robot stands and doors of furniture turn.
FRONT_DEPTH = 0.7
DOORWAY_DEPTH = 0.75
WINDOW_DEPTH, WINDOW_MARGIN = 1.0, 0.15
# The distance from a sofa to the coffee table in front of it, so that the robot can pass between them.
SOFA_TABLE_DISTANCE = FRONT_DEPTH


class NoPlaceError(NeedfulError):
    """A sampled house has no place for an object, or does not fit the activity; another sample may fit."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of furniture or a window that is placed in a room.

    `body` is the floor that the piece covers, and `zones` are the rectangles of floor that must stay free
    in front of it.
    """

    thing: Thing
    room: str
    body: Rect
    zones: tuple[Rect, ...] = ()


@dataclass(slots=True)
class Furnishing:
    """The furniture and windows that have been placed in a floor plan so far."""

    plan: FloorPlan
    pieces: list[Piece] = field(default_factory=list)
    windows: list[Opening] = field(default_factory=list)

    def doorways(self) -> Iterator[Rect]:
        """Yield, for each door, the rectangle of floor in front of the door, on both sides of the wall."""
        for door in self.plan.doors:
            yield door.wall.strip(door.centre, door.width, (-DOORWAY_DEPTH, DOORWAY_DEPTH))

    def zones(self) -> Iterator[Rect]:
        """Yield the rectangles of floor that stay free of furniture: at doors, and in front of pieces."""
        yield from self.doorways()
        for piece in self.pieces:
            yield from piece.zones

    def fits(self, piece: Piece) -> bool:
        """Return whether a new piece can be placed.

        The piece and its zones (the free floor in front of it) must lie in its room. The piece must not
        overlap other pieces, their zones or a doorway, and its zones must not overlap other pieces.
        """
        inner = self.plan.interior(piece.room)
        bodies = [other.body for other in self.pieces]
        return (
            all(inner.contains(rect) for rect in (piece.body, *piece.zones))
            and not any(piece.body.overlaps(other.grown(GAP)) for other in bodies)
            and not any(piece.body.overlaps(zone) for zone in self.zones())
            and not any(zone.overlaps(body) for zone in piece.zones for body in bodies)
        )


def furnish(plan: FloorPlan, definition: ActivityDefinition, rng: np.random.Generator) -> Furnishing:
    """Place the windows and furniture of the activity's definition, then the usual furniture if it fits.

    Raises `NoPlaceError` if a piece of the definition does not fit.
    """
    rooms = {
        one.arguments[0]: one.arguments[1]
        for one in definition.initial
        if one.predicate == "inroom" and definition.categories[one.arguments[0]] in CATEGORIES
    }
    opened = {
        one.arguments[0]: float(rng.uniform(*WINDOW_OPENING_RANGE)) if one.positive else 0.0
        for one in definition.initial
        if one.predicate == "open"
    }
    furnishing = Furnishing(plan)
    names = _NameCounter(definition.categories)
    windows = [name for name in rooms if definition.categories[name] == "window"]
    for name in windows or [names.next("window") for _ in ROOMS_WITH_WINDOW]:
        room = rooms.get(name) or ROOMS_WITH_WINDOW[len(furnishing.windows)]
        _place_window(furnishing, name, room, opened.get(name, 0.0), rng)
    for name, room in rooms.items():
        if name not in windows:
            _place_furniture(furnishing, name, definition.categories[name], room, rng)
    for room in (one.name for one in plan.rooms):
        for category in USUAL_FURNITURE[room]:
            if any(piece.room == room and piece.thing.category == category for piece in furnishing.pieces):
                continue
            try:
                _place_furniture(furnishing, names.next(category), category, room, rng)
            except NoPlaceError:
                names.release(category)
    return furnishing


class _NameCounter:
    """Makes names for objects that are not in the definition of the activity.

    If the definition names one table, the next table is `table_2`.
    """

    def __init__(self, named: Mapping[str, str]) -> None:
        self._last = {category: list(named.values()).count(category) for category in CATEGORIES}

    def next(self, category: str) -> str:
        self._last[category] += 1
        return f"{category}_{self._last[category]}"

    def release(self, category: str) -> None:
        self._last[category] -= 1


def _place_window(
    furnishing: Furnishing, name: str, room: str, opened: float, rng: np.random.Generator
) -> None:
    """Place a window in an outer wall of a room; the floor in front of the window stays free.

    `opened` is the hinge angle of the window as a fraction of the angle when fully open.
    """
    wide = WINDOW_WIDTH + 2 * WINDOW_MARGIN
    walls = [
        wall
        for wall in furnishing.plan.walls
        if wall.rooms == (room,) and wall.length > wide + WALL_THICKNESS
    ]
    for _ in range(MAX_TRIES if walls else 0):
        wall = walls[rng.integers(len(walls))]
        centre = float(
            rng.uniform(wall.low + (wide + WALL_THICKNESS) / 2, wall.high - (wide + WALL_THICKNESS) / 2)
        )
        x, y = (centre, wall.offset) if wall.axis == 0 else (wall.offset, centre)
        thing = Thing(name, "window", (x, y, WINDOW_SILL), _yaw_facing_room(wall), opened)
        zone = wall.strip(centre, wide, (WALL_THICKNESS / 2, WINDOW_DEPTH))
        piece = Piece(
            thing, room, wall.strip(centre, wide, (WALL_THICKNESS / 2, WALL_THICKNESS / 2 + GAP)), (zone,)
        )
        # The zones of two windows must not overlap: neighbouring windows could collide when they open.
        beside = any(zone.overlaps(other) for done in furnishing.pieces for other in done.zones)
        if furnishing.fits(piece) and not beside:
            furnishing.pieces.append(piece)
            furnishing.windows.append(
                Opening(wall, centre, WINDOW_WIDTH, WINDOW_SILL, WINDOW_SILL + WINDOW_HEIGHT)
            )
            return
    raise NoPlaceError(f"There is no place for {name} in the walls of the {room}.")


def _yaw_facing_room(wall: Wall) -> float:
    """Return the yaw of an object whose back is at the wall and whose front faces the room."""
    if wall.axis == 0:
        return 0.0 if wall.inward > 0 else pi
    return -pi / 2 if wall.inward > 0 else pi / 2


def _place_furniture(
    furnishing: Furnishing, name: str, category: str, room: str, rng: np.random.Generator
) -> None:
    """Place a piece of furniture in a room, with its back to a wall.

    A coffee table is placed in front of the sofa, if the room has one. Raises `NoPlaceError` if the piece
    does not fit.
    """
    sofas = [piece for piece in furnishing.pieces if piece.room == room and piece.thing.category == "sofa"]
    for _ in range(MAX_TRIES):
        if category == "coffee_table" and sofas:
            piece = _in_front_of_sofa(sofas[0], name)
        else:
            piece = _sample_at_wall(furnishing.plan, name, category, room, rng)
        if furnishing.fits(piece):
            furnishing.pieces.append(piece)
            return
    raise NoPlaceError(f"There is no place for {name} in the {room}.")


def _sample_at_wall(
    plan: FloorPlan, name: str, category: str, room: str, rng: np.random.Generator
) -> Piece:
    half_width, half_depth, _ = bounding_box(CATEGORIES[category]).half
    inner = plan.interior(room)
    axis, inward = int(rng.integers(2)), int(rng.choice((-1, 1)))
    offset = (inner.low if inward > 0 else inner.high)[1 - axis]
    wall = Wall(axis, offset, inner.low[axis], inner.high[axis], (room,), inward)
    margin = half_width + GAP
    centre = float(rng.uniform(wall.low + margin, max(wall.high - margin, wall.low + margin)))
    depth = 2 * half_depth + GAP
    body = wall.strip(centre, 2 * half_width, (GAP, depth))
    zones = [wall.strip(centre, 2 * half_width, (depth, depth + FRONT_DEPTH))]
    if category == "bed":
        # Two zones stay free: the robot may need to stand at the foot of a bed or at one of its sides.
        beside = centre + float(rng.choice((-1, 1))) * (half_width + FRONT_DEPTH / 2)
        zones.append(wall.strip(beside, FRONT_DEPTH, (GAP, depth)))
    return Piece(_upright_thing(name, category, body, _yaw_facing_room(wall)), room, body, tuple(zones))


def _in_front_of_sofa(sofa: Piece, name: str) -> Piece:
    yaw = sofa.thing.yaw
    half_width, half_depth, _ = bounding_box(CATEGORIES["coffee_table"]).half
    ahead = bounding_box(CATEGORIES["sofa"]).half[1] + SOFA_TABLE_DISTANCE + half_depth
    x = sofa.thing.position[0] - ahead * np.sin(yaw)
    y = sofa.thing.position[1] + ahead * np.cos(yaw)
    if abs(np.sin(yaw)) > 0.5:
        half_width, half_depth = half_depth, half_width
    body = Rect((x - half_width, y - half_depth), (x + half_width, y + half_depth))
    return Piece(_upright_thing(name, "coffee_table", body, yaw), sofa.room, body)


def _upright_thing(name: str, category: str, body: Rect, yaw: float) -> Thing:
    x, y = ((body.low[i] + body.high[i]) / 2 for i in (0, 1))
    return Thing(name, category, (float(x), float(y), 0.0), yaw)


@dataclass(frozen=True)
class FreeSpace:
    """A grid over the floor plan that marks the cells on which a disc, such as the robot's base, fits.

    Attributes:
        xs: the x coordinates of the cells' centres.
        ys: the y coordinates of the cells' centres.
        free: for each cell, whether the disc fits with its centre in the cell.
    """

    xs: np.ndarray
    ys: np.ndarray
    free: np.ndarray

    @classmethod
    def around(cls, obstacles: Iterable[Rect], outline: Rect, radius: float) -> FreeSpace:
        """Create a grid over `outline`.

        A cell is free if a disc with this radius, centred on the cell, hits no obstacle.
        """
        (x0, y0), (x1, y1) = outline.low, outline.high
        xs, ys = np.arange(x0 + CELL / 2, x1, CELL), np.arange(y0 + CELL / 2, y1, CELL)
        space = cls(xs, ys, np.ones((len(xs), len(ys)), dtype=bool))
        for obstacle in obstacles:
            for window, squared in space._near(obstacle, radius):
                space.free[window] &= squared >= radius**2
        return space

    @cached_property
    def connected(self) -> np.ndarray:
        """For each cell, whether it belongs to the largest connected region of free cells."""
        labels, count = ndimage.label(self.free)
        if count == 0:
            return self.free
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        return np.asarray(labels == sizes.argmax())

    def count_standing_cells(self, target: Rect, within: float, room: Rect) -> int:
        """Count the cells near `target` on which the robot can stand.

        These are the cells of `connected` that lie in `room` and at most `within` metres from `target`.
        """
        return self._count(self.connected, target, within, room)

    def count_isolated_cells(self, target: Rect, within: float, room: Rect) -> int:
        """Count the free cells near `target` that are not connected to the largest free region.

        These are the free cells outside `connected` that lie in `room` and at most `within` metres from
        `target`.
        """
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
        """Yield one block of cells: those in `target`, grown by `distance` on all sides.

        The block is given by its slices of `xs` and `ys`, and by the squared distance of each of its cells
        to `target`. If there are no such cells, nothing is yielded.
        """
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
