"""Sample the floor plan of a house: rooms that fill a rectangle, the walls between them, and doors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot
from typing import TypeAlias

import numpy as np

from needful.envs.household.scene.scene import Box, Room

Point: TypeAlias = tuple[float, float]

WALL_THICKNESS, WALL_HEIGHT = 0.1, 1.5
DOOR_WIDTH = 0.95
# The minimum distance of a door from both ends of its wall.
DOOR_MARGIN = 0.3
EXTRA_DOOR_PROBABILITY = 0.4

# A house has the first three to five of these rooms. The living room is always the largest room.
ROOM_NAMES = ("living_room", "bedroom", "kitchen", "study", "bathroom")
ROOM_COUNTS = (3, 4, 5)
ROOM_AREA = (15.0, 18.0)  # the range of the average area per room, in square metres
# The house is cut into two parts, and each part again, until every part is a room. For example, a house
# with five rooms is first cut into parts for two and for three rooms. The part for two rooms gets 2/5 of
# the area, multiplied by a random factor in this range.
SPLIT_RANGE = (0.9, 1.3)
MIN_ROOM_WIDTH = 3.0


@dataclass(frozen=True, slots=True)
class Rect:
    """An axis-aligned rectangle in the floor plan, in metres."""

    low: Point
    high: Point

    @classmethod
    def under(cls, box: Box) -> Rect:
        """Return the rectangle of floor that a box covers, seen from above."""
        (x, y, _), (hx, hy, _) = box.centre, box.half
        return cls((x - hx, y - hy), (x + hx, y + hy))

    def overlaps(self, other: Rect) -> bool:
        """Return whether this rectangle and the other one overlap; sharing an edge does not count."""
        (x0, y0), (x1, y1) = self.low, self.high
        (a0, b0), (a1, b1) = other.low, other.high
        return x0 < a1 and a0 < x1 and y0 < b1 and b0 < y1

    def contains(self, other: Rect) -> bool:
        """Return whether the other rectangle lies in this one; edges may touch."""
        (x0, y0), (x1, y1) = self.low, self.high
        (a0, b0), (a1, b1) = other.low, other.high
        return x0 <= a0 and a1 <= x1 and y0 <= b0 and b1 <= y1

    def grown(self, margin: float) -> Rect:
        """Return this rectangle, grown by a margin on all sides; a negative margin shrinks it."""
        (x0, y0), (x1, y1) = self.low, self.high
        return Rect((x0 - margin, y0 - margin), (x1 + margin, y1 + margin))

    def gap(self, x: float, y: float) -> float:
        """Return the distance from this rectangle to the point (x, y); 0 if the point lies inside."""
        dx = max(self.low[0] - x, 0.0, x - self.high[0])
        dy = max(self.low[1] - y, 0.0, y - self.high[1])
        return hypot(dx, dy)

    @property
    def size(self) -> Point:
        """The lengths of the sides along x and y."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1]


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight piece of wall between two rooms, or between a room and the outside.

    Attributes:
        axis: 0 if the wall runs along x, 1 if it runs along y.
        offset: the wall's y if it runs along x, or its x if it runs along y.
        low: the x or y, along the wall, at which the wall begins.
        high: the x or y, along the wall, at which the wall ends.
        rooms: the rooms on both sides of the wall; outer walls have one room.
        inward: +1 if `rooms[0]` lies at larger x or y than the wall, otherwise -1.
    """

    axis: int
    offset: float
    low: float
    high: float
    rooms: tuple[str, ...]
    inward: int

    @property
    def length(self) -> float:
        """The length of the wall."""
        return self.high - self.low

    def strip(self, centre: float, width: float, depth: Point) -> Rect:
        """Return a rectangle on the floor, parallel to the wall.

        Along the wall, the rectangle has the length `width`, and its middle is at the coordinate `centre`.
        Across the wall, it extends between the two distances in `depth`. They are measured from the wall's
        centre line, and are positive on the side of `rooms[0]`.
        """
        across = sorted(self.offset + self.inward * d for d in depth)
        along = (centre - width / 2, centre + width / 2)
        low, high = (along[0], across[0]), (along[1], across[1])
        return Rect(low, high) if self.axis == 0 else Rect(low[::-1], high[::-1])


@dataclass(frozen=True, slots=True)
class Opening:
    """A hole for a door or window; `centre` is a coordinate along the wall, `bottom` and `top` heights."""

    wall: Wall
    centre: float
    width: float
    bottom: float = 0.0
    top: float = WALL_HEIGHT


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """The floor plan of a house: the rooms, all walls, and the doors that connect all rooms."""

    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...]
    doors: tuple[Opening, ...]

    def room(self, name: str) -> Rect:
        """Return the rectangle of the room with this name, up to the centre lines of its walls."""
        (found,) = (room for room in self.rooms if room.name == name)
        return Rect(found.low, found.high)

    def interior(self, name: str) -> Rect:
        """Return the rectangle of the floor of the room with this name, between the walls."""
        return self.room(name).grown(-WALL_THICKNESS / 2)

    @property
    def outline(self) -> Rect:
        """The rectangle that all rooms together fill."""
        lows, highs = zip(*((room.low, room.high) for room in self.rooms), strict=True)
        (x0, y0), (x1, y1) = np.min(lows, axis=0).tolist(), np.max(highs, axis=0).tolist()
        return Rect((x0, y0), (x1, y1))


def sample_floor_plan(rng: np.random.Generator) -> FloorPlan:
    """Sample three to five rooms, the largest of which is the living room, and doors between them."""
    count = int(rng.choice(ROOM_COUNTS))
    while True:
        rects = _split(_outline(count, rng), count, rng)
        if min(side for rect in rects for side in rect.size) < MIN_ROOM_WIDTH:
            continue
        rooms = _name_rooms(rects, rng)
        walls = tuple(_walls(rooms))
        doors = _doors(rooms, [wall for wall in walls if len(wall.rooms) == 2], rng)
        if doors is not None:
            return FloorPlan(rooms, walls, doors)


def _outline(count: int, rng: np.random.Generator) -> Rect:
    area, stretch = count * rng.uniform(*ROOM_AREA), rng.uniform(1.0, 1.4)
    return Rect((0.0, 0.0), (round((area * stretch) ** 0.5, 2), round((area / stretch) ** 0.5, 2)))


def _split(rect: Rect, count: int, rng: np.random.Generator) -> list[Rect]:
    """Cut a rectangle into `count` rectangles of similar areas; each cut divides the longer side."""
    if count == 1:
        return [rect]
    first = count // 2
    share = first / count * rng.uniform(*SPLIT_RANGE)
    (x0, y0), (x1, y1) = rect.low, rect.high
    if x1 - x0 > y1 - y0:
        cut = round(x0 + share * (x1 - x0), 2)
        halves = Rect((x0, y0), (cut, y1)), Rect((cut, y0), (x1, y1))
    else:
        cut = round(y0 + share * (y1 - y0), 2)
        halves = Rect((x0, y0), (x1, cut)), Rect((x0, cut), (x1, y1))
    return _split(halves[0], first, rng) + _split(halves[1], count - first, rng)


def _name_rooms(rects: list[Rect], rng: np.random.Generator) -> tuple[Room, ...]:
    """Turn rectangles into named rooms: the largest is the living room, the others get random names.

    Returns the rooms sorted by name.
    """
    largest = max(rects, key=lambda rect: rect.size[0] * rect.size[1])
    others = [rect for rect in rects if rect is not largest]
    order = [largest, *(others[i] for i in rng.permutation(len(others)))]
    return tuple(
        Room(name, f"{name}_floor", rect.low, rect.high)
        for name, rect in sorted(zip(ROOM_NAMES, order, strict=False), key=lambda pair: pair[0])
    )


def _walls(rooms: Sequence[Room]) -> Iterator[Wall]:
    """Yield the walls that two rooms share, then the outer walls."""
    shared: list[Wall] = []
    for one, other in combinations(rooms, 2):
        for axis in (0, 1):
            across = 1 - axis
            low = max(one.low[axis], other.low[axis])
            high = min(one.high[axis], other.high[axis])
            if low < high and one.low[across] == other.high[across]:
                shared.append(Wall(axis, one.low[across], low, high, (one.name, other.name), 1))
            elif low < high and one.high[across] == other.low[across]:
                shared.append(Wall(axis, one.high[across], low, high, (one.name, other.name), -1))
    yield from shared
    for room in rooms:
        for axis in (0, 1):
            for offset, inward in ((room.low[1 - axis], 1), (room.high[1 - axis], -1)):
                taken = [
                    (wall.low, wall.high)
                    for wall in shared
                    if room.name in wall.rooms and (wall.axis, wall.offset) == (axis, offset)
                ]
                for low, high in _uncovered_intervals(room.low[axis], room.high[axis], taken):
                    yield Wall(axis, offset, low, high, (room.name,), inward)


def _uncovered_intervals(low: float, high: float, taken: Sequence[Point]) -> Iterator[Point]:
    """Yield the parts of the interval from `low` to `high` that no interval in `taken` covers."""
    for start, end in sorted(taken):
        if low < start:
            yield low, start
        low = max(low, end)
    if low < high:
        yield low, high


def _doors(
    rooms: Sequence[Room], shared: list[Wall], rng: np.random.Generator
) -> tuple[Opening, ...] | None:
    """Sample doors that connect all rooms, and some extra doors.

    `shared` holds the walls between two rooms. Returns None if the rooms cannot be connected, because walls
    are too short for a door.
    """
    component = {room.name: room.name for room in rooms}
    doors: list[Opening] = []
    for wall in (shared[i] for i in rng.permutation(len(shared))):
        room_for_door = wall.length - DOOR_WIDTH - 2 * DOOR_MARGIN
        one, other = (component[name] for name in wall.rooms)
        position, extra = rng.uniform(), rng.uniform() < EXTRA_DOOR_PROBABILITY
        if room_for_door < 0 or (one == other and not extra):
            continue
        component = {name: one if own == other else own for name, own in component.items()}
        centre = wall.low + DOOR_MARGIN + DOOR_WIDTH / 2 + position * room_for_door
        doors.append(Opening(wall, centre, DOOR_WIDTH))
    return tuple(doors) if len(set(component.values())) == 1 else None


def wall_boxes(walls: Sequence[Wall], openings: Sequence[Opening]) -> tuple[Box, ...]:
    """Return boxes that together form all walls, with holes at the openings (doors and windows)."""
    return tuple(
        box for wall in walls for box in _boxes_of_wall(wall, [one for one in openings if one.wall == wall])
    )


def _boxes_of_wall(wall: Wall, openings: Sequence[Opening]) -> Iterator[Box]:
    holes = [(one.centre - one.width / 2, one.centre + one.width / 2) for one in openings]
    # Walls extend beyond their ends by half their thickness, which closes the corners.
    for low, high in _uncovered_intervals(
        wall.low - WALL_THICKNESS / 2, wall.high + WALL_THICKNESS / 2, holes
    ):
        yield _wall_box(wall, (low, high), (0.0, WALL_HEIGHT))
    for one, hole in zip(openings, holes, strict=True):
        for bottom, top in _uncovered_intervals(0.0, WALL_HEIGHT, [(one.bottom, one.top)]):
            yield _wall_box(wall, hole, (bottom, top))


def _wall_box(wall: Wall, along: Point, height: Point) -> Box:
    middle, half = (along[0] + along[1]) / 2, (along[1] - along[0]) / 2
    z, half_height = (height[0] + height[1]) / 2, (height[1] - height[0]) / 2
    if wall.axis == 0:
        return Box((middle, wall.offset, z), (half, WALL_THICKNESS / 2, half_height))
    return Box((wall.offset, middle, z), (WALL_THICKNESS / 2, half, half_height))
