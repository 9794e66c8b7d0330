"""Draw whole houses: rooms, furniture and all that lies about, for an activity to take place in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from needful.envs.household.scene.activities import Definition
from needful.envs.household.scene.arrangement import (
    ENOUGH_PLACES,
    STAND_WITHIN,
    Arrangement,
    arrange,
    scatter,
)
from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.floor_plan import FloorPlan, Rect, draw_floor_plan, wall_boxes
from needful.envs.household.scene.furnishing import FreeSpace, Furnishing, NoPlaceError, furnish
from needful.envs.household.scene.scene import CLEARANCE, RADIUS, Box, Scene, Vector

# Ways are a little wider than the robot needs, so that its planner need not thread a needle.
EASE = 0.03

# How often things are put into a house, and then clutter, before another house is drawn.
ARRANGEMENTS = 5


def draw_scene(
    definition: Definition, clutter: int, rng: np.random.Generator, identity: Vector = (0.0, 0.0, 0.0)
) -> Scene:
    """Draw a house in which a definition holds, with some clutter.

    Raises `NoPlaceError`, which says what found no place, if this house turns out too small or too
    full; another one may do.
    """
    plan = draw_floor_plan(rng)
    furnishing = furnish(plan, definition, rng)
    walls = wall_boxes(plan.walls, (*plan.doors, *furnishing.windows))
    arrangement = _arranged(furnishing, definition, clutter, [_ground(wall) for wall in walls], rng)
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


def _arranged(
    furnishing: Furnishing,
    definition: Definition,
    clutter: int,
    walls: list[Rect],
    rng: np.random.Generator,
) -> Arrangement:
    """Put everything into a furnished house: what matters first, then clutter that leaves ways to it."""
    space = _space(furnishing.plan, [*walls, *(piece.body for piece in furnishing.pieces)])
    important = _tried(lambda: _checked(arrange(furnishing, definition, space, rng), definition, walls))
    return _tried(lambda: _checked(scatter(important, definition, clutter, rng), definition, walls))


def _tried(draw: Callable[[], Arrangement]) -> Arrangement:
    """Return the first draw that succeeds; raise the reason of the last one if none does."""
    for _ in range(ARRANGEMENTS - 1):
        try:
            return draw()
        except NoPlaceError:
            continue
    return draw()


def _ground(wall: Box) -> Rect:
    (x, y, _), (hx, hy, _) = wall.centre, wall.half
    return Rect((x - hx, y - hy), (x + hx, y + hy))


def _space(plan: FloorPlan, obstacles: Iterable[Rect], ease: float = EASE) -> FreeSpace:
    return FreeSpace.around(obstacles, plan.outline, RADIUS + CLEARANCE + ease)


def _checked(arrangement: Arrangement, definition: Definition, walls: list[Rect]) -> Arrangement:
    """Raise unless the robot can go to all furniture and, with ease, to what the goal speaks of."""
    plan = arrangement.furnishing.plan
    obstacles = [*walls, *arrangement.obstacles()]
    space = _space(plan, obstacles)
    x, y, _ = arrangement.start
    if not space.connected[np.abs(space.xs - x).argmin(), np.abs(space.ys - y).argmin()]:
        raise NoPlaceError("Things shut in the robot.")
    lids = [one for one in arrangement.placed if CATEGORIES[one.thing.category].hinge]
    # A robot that just about fits through may come into places that are pockets only for it.
    for tight in (space, _space(plan, obstacles, ease=0.0)) if lids else ():
        for lid in lids:
            if tight.pockets(lid.body, STAND_WITHIN, plan.inner(lid.room)):
                raise NoPlaceError(f"When {lid.thing.name} is opened, it may shut in the robot.")
    wanted = {name for one in definition.goal for name in one.arguments}
    grips = [(one.thing.name, one.body, one.room) for one in arrangement.furnishing.pieces]
    grips += [
        (one.thing.name, one.grip, one.room) for one in arrangement.placed if one.thing.name in wanted
    ]
    for name, grip, where in grips:
        places = space.standing_places(grip, STAND_WITHIN, plan.inner(where))
        if places < (ENOUGH_PLACES if name in wanted else 1):
            raise NoPlaceError(f"There is hardly a place to stand near {name}.")
    return arrangement
