"""Sample whole houses: rooms, furniture, the movable objects of an activity, and clutter.

The objects of the activity are placed first. Clutter must leave the robot a path to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import cos, pi, sin

import numpy as np

from needful.envs.household.scene.activities import ActivityDefinition
from needful.envs.household.scene.categories import CATEGORIES, CLUTTER, swept_box
from needful.envs.household.scene.floor_plan import FloorPlan, Rect, sample_floor_plan, wall_boxes
from needful.envs.household.scene.furnishing import (
    CELL,
    MAX_TRIES,
    FreeSpace,
    Furnishing,
    NoPlaceError,
    Piece,
    furnish,
)
from needful.envs.household.scene.scene import (
    CLEARANCE,
    RADIUS,
    REACH,
    ROBOT_OBJECT,
    Box,
    Scene,
    Thing,
    Vector,
)

# The furniture on which clutter is placed.
CLUTTER_SURFACES = ("bed", "cabinet", "coffee_table", "sofa", "table")
ON_FURNITURE_PROBABILITY = 0.5

# Objects are placed at this height above a surface; then physics lets them settle.
DROP_HEIGHT = 0.002

# The minimum gap around clutter (GAP), and around the objects of the activity (HAND_GAP), which is larger
# because the hand needs room to grasp them.
GAP, HAND_GAP = 0.03, 0.12

# Within MAX_STANDING_DISTANCE of each object of the activity, there must be at least MIN_STANDING_CELLS
# grid cells on which the robot can stand.
MAX_STANDING_DISTANCE, MIN_STANDING_CELLS = 0.75, 20

# When a sampled house is checked for paths, the robot needs this extra clearance from obstacles. Motion
# planning needs less clearance, so it can find all paths that the check found.
EXTRA_CLEARANCE = 0.03

# The maximum number of attempts to place the activity's objects in a house. Adding clutter afterwards has
# the same maximum.
MAX_ARRANGEMENTS = 5


@dataclass(frozen=True, slots=True)
class PlacedThing:
    """A movable object that has been placed in the house.

    Attributes:
        thing: the name, category and pose of the object.
        body: the object's bounding rectangle seen from above, including its lid at every hinge angle.
        room: the name of the room that the object is in.
        on: the name of the furniture on which the object stands; None for the floor.
    """

    thing: Thing
    body: Rect
    room: str
    on: str | None = None

    @property
    def grasp_region(self) -> Rect:
        """The floor below the part to grasp: the handle, or the whole object if it has no handle."""
        hinge = CATEGORIES[self.thing.category].hinge
        if hinge is None:
            return self.body
        return _ground_rect(self.thing, Box(hinge.handle, (0.0, 0.0, 0.0)))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The objects placed so far, the robot's start, and the floor on which nothing may be placed."""

    furnishing: Furnishing
    start: Vector
    blocked_ground: tuple[Rect, ...]
    placed: tuple[PlacedThing, ...] = ()

    def obstacles(self) -> Iterator[Rect]:
        """Yield the rectangles of floor that objects and furniture cover; the robot cannot stand there."""
        yield from (piece.body for piece in self.furnishing.pieces)
        yield from (one.body for one in self.placed if one.on is None)


def sample_scene(
    definition: ActivityDefinition,
    clutter: int,
    rng: np.random.Generator,
    identity: Vector = (0.0, 0.0, 0.0),
) -> Scene:
    """Sample a house in which the initial literals of a definition hold, with `clutter` other objects.

    `identity` is stored in the scene: three numbers from which `make_house` can make the same scene again.
    Raises `NoPlaceError`, with the reason, if the sampled house is too small or too full; another call may
    succeed.
    """
    plan = sample_floor_plan(rng)
    furnishing = furnish(plan, definition, rng)
    walls = wall_boxes(plan.walls, (*plan.doors, *furnishing.windows))
    arrangement = _arrange_house(furnishing, definition, clutter, [Rect.under(wall) for wall in walls], rng)
    things = [*(piece.thing for piece in furnishing.pieces), *(one.thing for one in arrangement.placed)]
    used = {thing.category for thing in things}
    return Scene(
        categories=tuple(category for name, category in CATEGORIES.items() if name in used),
        rooms=plan.rooms,
        walls=walls,
        things=tuple(sorted(things, key=lambda thing: thing.name)),
        robot=arrangement.start,
        identity=identity,
    )


def _arrange_house(
    furnishing: Furnishing,
    definition: ActivityDefinition,
    clutter: int,
    walls: list[Rect],
    rng: np.random.Generator,
) -> Arrangement:
    """Place the objects of the definition in a furnished house, then clutter that leaves paths to them."""
    space = _free_space(furnishing.plan, [*walls, *(piece.body for piece in furnishing.pieces)])
    tidy = _retry(lambda: _check_access(arrange(furnishing, definition, space, rng), definition, walls))
    return _retry(lambda: _check_access(add_clutter(tidy, definition, clutter, rng), definition, walls))


def _retry(draw: Callable[[], Arrangement]) -> Arrangement:
    """Call the random function `draw` until it succeeds, and return its result.

    If `MAX_ARRANGEMENTS` calls fail, the error of the last call is raised.
    """
    for _ in range(MAX_ARRANGEMENTS - 1):
        try:
            return draw()
        except NoPlaceError:
            continue
    return draw()


def _free_space(
    plan: FloorPlan, obstacles: Iterable[Rect], extra_clearance: float = EXTRA_CLEARANCE
) -> FreeSpace:
    return FreeSpace.around(obstacles, plan.outline, RADIUS + CLEARANCE + extra_clearance)


def _check_access(
    arrangement: Arrangement, definition: ActivityDefinition, walls: list[Rect]
) -> Arrangement:
    """Return the arrangement if the robot can go to all furniture and to all objects of the goal.

    Raises `NoPlaceError` otherwise, or if an open lid may enclose the robot. Beside an object of the goal,
    the robot needs more room to stand than beside furniture.
    """
    plan = arrangement.furnishing.plan
    obstacles = [*walls, *arrangement.obstacles()]
    space = _free_space(plan, obstacles)
    x, y, _ = arrangement.start
    if not space.connected[np.abs(space.xs - x).argmin(), np.abs(space.ys - y).argmin()]:
        raise NoPlaceError("Things enclose the robot.")
    lids = [one for one in arrangement.placed if CATEGORIES[one.thing.category].hinge]
    # If the robot stands between a package and a wall, the open lid may enclose it. `obstacles` include the
    # space that lids need to open. So the robot could be enclosed if free cells near a lid have no path to
    # the largest free region. Test this also without extra clearance, because more cells are free then.
    for candidate in (space, _free_space(plan, obstacles, extra_clearance=0.0)) if lids else ():
        for lid in lids:
            if candidate.count_isolated_cells(lid.body, MAX_STANDING_DISTANCE, plan.interior(lid.room)):
                raise NoPlaceError(f"{lid.thing.name} may enclose the robot when it is opened.")
    goal_objects = _goal_objects(definition)
    grasp_regions = [(one.thing.name, one.body, one.room) for one in arrangement.furnishing.pieces]
    grasp_regions += [
        (one.thing.name, one.grasp_region, one.room)
        for one in arrangement.placed
        if one.thing.name in goal_objects
    ]
    for name, grasp_region, room in grasp_regions:
        count = space.count_standing_cells(grasp_region, MAX_STANDING_DISTANCE, plan.interior(room))
        if count < (MIN_STANDING_CELLS if name in goal_objects else 1):
            raise NoPlaceError(f"There is too little room to stand near {name}.")
    return arrangement


def sample_start(
    furnishing: Furnishing, definition: ActivityDefinition, space: FreeSpace, rng: np.random.Generator
) -> Vector:
    """Sample the robot's start pose (x, y, yaw) in the room that the definition names.

    From this pose, furniture and windows of the goal are out of reach.
    """
    room = furnishing.plan.interior(_room_of_floor(_support(definition, ROBOT_OBJECT.name)))
    goal_objects = _goal_objects(definition)
    away_from = [piece.body for piece in furnishing.pieces if piece.thing.name in goal_objects]
    cells = np.argwhere(space.connected)
    for cell in cells[rng.permutation(len(cells))]:
        x, y = float(space.xs[cell[0]]), float(space.ys[cell[1]])
        if room.gap(x, y) == 0.0 and all(body.gap(x, y) > REACH + CELL for body in away_from):
            return x, y, float(rng.uniform(-pi, pi))
    raise NoPlaceError("There is no place where the robot can start.")


def arrange(
    furnishing: Furnishing, definition: ActivityDefinition, space: FreeSpace, rng: np.random.Generator
) -> Arrangement:
    """Place the robot and the movable objects of a definition in a furnished house.

    Beside each object, there is room for the robot to stand. `space` is the free space among the furniture.
    No object of the goal is within reach of the robot's start: otherwise chance would decide whether a plan
    has to navigate to the object.
    """
    windows = (z for p in furnishing.pieces if p.thing.category == "window" for z in p.zones)
    bodies = (piece.body for piece in furnishing.pieces)
    blocked_ground = (*furnishing.doorways(), *windows, *bodies)
    arrangement = Arrangement(furnishing, sample_start(furnishing, definition, space, rng), blocked_ground)
    movable = [n for n, c in definition.categories.items() if c in CATEGORIES and not CATEGORIES[c].fixed]
    # Place the largest objects first, because they are the hardest to fit.
    for name in sorted(movable, key=lambda name: -_footprint_area(definition.categories[name])):
        arrangement = _place_defined_thing(arrangement, name, definition, space, rng)
    return arrangement


def add_clutter(
    arrangement: Arrangement, definition: ActivityDefinition, clutter: int, rng: np.random.Generator
) -> Arrangement:
    """Add `clutter` objects that the activity does not need.

    They are not placed on the floor in front of furniture that the activity needs.
    """
    pieces = arrangement.furnishing.pieces
    needed = [zone for p in pieces if p.thing.name in definition.categories for zone in p.zones]
    arrangement = replace(arrangement, blocked_ground=(*arrangement.blocked_ground, *needed))
    counts = dict.fromkeys((category.name for category in CLUTTER), 0)
    for kind in rng.integers(len(CLUTTER), size=clutter):
        category = CLUTTER[kind].name
        counts[category] += 1
        arrangement = _place_clutter(arrangement, f"{category}_{counts[category]}", category, rng)
    return arrangement


def _support(definition: ActivityDefinition, name: str) -> str:
    """Return the name of the floor or furniture on which the definition places the object `name`."""
    for one in definition.initial:
        if one.predicate == "ontop" and one.arguments[0] == name:
            return one.arguments[1]
    raise NoPlaceError(
        f"{definition.name}: the support of {name} is not defined. Add (ontop {name} SUPPORT) to :init."
    )


def _goal_objects(definition: ActivityDefinition) -> set[str]:
    return {name for one in definition.goal for name in one.arguments}


def _room_of_floor(floor: str) -> str:
    return floor.removesuffix("_floor")


def _footprint_area(category: str) -> float:
    half = _swept_box(category).half
    return half[0] * half[1]


def _swept_box(category: str) -> Box:
    return swept_box(CATEGORIES[category])


def _place_defined_thing(
    arrangement: Arrangement,
    name: str,
    definition: ActivityDefinition,
    space: FreeSpace,
    rng: np.random.Generator,
) -> Arrangement:
    """Place one object of the definition on the floor or furniture that the definition names."""
    support, category = _support(definition, name), definition.categories[name]
    pieces = [piece for piece in arrangement.furnishing.pieces if piece.thing.name == support]
    min_distance = REACH + CELL if name in _goal_objects(definition) else 0.0
    for _ in range(MAX_TRIES):
        if pieces:
            placed = _sample_on_furniture(arrangement, name, category, pieces[0], HAND_GAP, rng)
        else:
            placed = _sample_on_floor(arrangement, name, category, _room_of_floor(support), HAND_GAP, rng)
        if placed is None or placed.body.gap(*arrangement.start[:2]) < min_distance:
            continue
        room = arrangement.furnishing.plan.interior(placed.room)
        count = space.count_standing_cells(placed.grasp_region, MAX_STANDING_DISTANCE, room)
        if count >= MIN_STANDING_CELLS:
            return replace(arrangement, placed=(*arrangement.placed, placed))
    raise NoPlaceError(f"There is no place for {name} on {support}.")


def _place_clutter(
    arrangement: Arrangement, name: str, category: str, rng: np.random.Generator
) -> Arrangement:
    """Place one piece of clutter on a random floor or piece of furniture."""
    rooms = arrangement.furnishing.plan.rooms
    surfaces = [p for p in arrangement.furnishing.pieces if p.thing.category in CLUTTER_SURFACES]
    for _ in range(MAX_TRIES):
        if rng.random() < ON_FURNITURE_PROBABILITY:
            piece = surfaces[rng.integers(len(surfaces))]
            placed = _sample_on_furniture(arrangement, name, category, piece, GAP, rng)
        else:
            room = rooms[rng.integers(len(rooms))].name
            placed = _sample_on_floor(arrangement, name, category, room, GAP, rng)
        if placed is not None and placed.body.gap(*arrangement.start[:2]) > RADIUS + CELL:
            return replace(arrangement, placed=(*arrangement.placed, placed))
    raise NoPlaceError(f"There is no place for {name} among the other clutter.")


def _sample_on_floor(
    arrangement: Arrangement, name: str, category: str, room: str, gap: float, rng: np.random.Generator
) -> PlacedThing | None:
    """Sample a pose for an object on the floor of a room; return None if the place is not free."""
    interior = arrangement.furnishing.plan.interior(room).grown(-gap)
    sample = _sample_thing(name, category, interior, 0.0, rng)
    if sample is None:
        return None
    body = sample[1].grown(gap)
    others = (one.body for one in arrangement.placed if one.on is None)
    in_the_way = any(map(body.overlaps, (*arrangement.blocked_ground, *others)))
    return None if in_the_way else PlacedThing(*sample, room)


def _sample_on_furniture(
    arrangement: Arrangement, name: str, category: str, piece: Piece, gap: float, rng: np.random.Generator
) -> PlacedThing | None:
    """Sample a pose for an object on top of a piece of furniture; return None if the place is not free."""
    top = CATEGORIES[piece.thing.category].surfaces[-1]
    surface = _ground_rect(piece.thing, top).grown(-GAP)
    height = piece.thing.position[2] + top.centre[2] + top.half[2]
    sample = _sample_thing(name, category, surface, height, rng)
    if sample is None:
        return None
    body = sample[1].grown(gap)
    others = (one.body for one in arrangement.placed if one.on == piece.thing.name)
    in_the_way = any(map(body.overlaps, others))
    return None if in_the_way else PlacedThing(*sample, piece.room, piece.thing.name)


def _sample_thing(
    name: str, category: str, surface: Rect, height: float, rng: np.random.Generator
) -> tuple[Thing, Rect] | None:
    """Sample the position and yaw of an object on a surface with the given height.

    Returns the object and its bounding rectangle (see `PlacedThing.body`), or None if this rectangle
    extends beyond the surface.
    """
    u, v, turn = rng.random(3).tolist()
    x = surface.low[0] + u * (surface.high[0] - surface.low[0])
    y = surface.low[1] + v * (surface.high[1] - surface.low[1])
    thing = Thing(name, category, (x, y, height + DROP_HEIGHT), (2 * turn - 1) * pi)
    body = _ground_rect(thing, _swept_box(category))
    return (thing, body) if surface.contains(body) else None


def _ground_rect(thing: Thing, box: Box) -> Rect:
    """Return the bounding rectangle of a box, seen from above, in the frame of the house.

    `box` is given in the frame of the object `thing`.
    """
    c, s = cos(thing.yaw), sin(thing.yaw)
    x = thing.position[0] + c * box.centre[0] - s * box.centre[1]
    y = thing.position[1] + s * box.centre[0] + c * box.centre[1]
    hx = abs(c) * box.half[0] + abs(s) * box.half[1]
    hy = abs(s) * box.half[0] + abs(c) * box.half[1]
    return Rect((x - hx, y - hy), (x + hx, y + hy))
