"""A house of two rooms with a door between them, in which the position of everything is known.

Bedroom (x from 0 to 4): a bed along the far wall with two cans and a bucket at its foot, a package on the
floor, an open window in the near wall. Living room (x from 4 to 8): a table with a book, a shelf at the
far wall that faces the near one, a hardback on the floor, and a fridge.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import pi

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.scene import Box, Room, Scene, Thing
from needful.envs.household.simulation.base_motion import OccupancyGrid
from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.simulation.snapshot import HELD, initial_snapshot
from needful.envs.household.simulation.snapshot_geometry import HouseQueries, SnapshotGeometry
from needful.envs.household.simulation.world import World

WALLS = (
    Box((4.0, -0.05, 0.75), (4.1, 0.05, 0.75)),
    Box((4.0, 4.05, 0.75), (4.1, 0.05, 0.75)),
    Box((-0.05, 2.0, 0.75), (0.05, 2.0, 0.75)),
    Box((8.05, 2.0, 0.75), (0.05, 2.0, 0.75)),
    # Between the rooms, with a door from y = 1.5 to 2.5.
    Box((4.0, 0.75, 0.75), (0.05, 0.75, 0.75)),
    Box((4.0, 3.25, 0.75), (0.05, 0.75, 0.75)),
)
ROOMS = (
    Room("bedroom", "bedroom_floor", (0.0, 0.0), (4.0, 4.0)),
    Room("living_room", "living_room_floor", (4.0, 0.0), (8.0, 4.0)),
)
THINGS = (
    Thing("bed", "bed", (0.85, 2.9, 0.0), yaw=pi),
    Thing("book", "book", (5.2, 0.6, 0.722)),
    Thing("bucket", "bucket", (1.2, 2.2, 0.452)),
    Thing("can_0", "pop_can", (0.4, 2.1, 0.452)),
    Thing("can_1", "pop_can", (0.7, 2.1, 0.452)),
    Thing("fridge", "fridge", (7.6, 0.4, 0.0)),
    Thing("hardback", "hardback", (5.5, 2.5, 0.002), yaw=0.5),
    Thing("package", "package", (2.8, 0.9, 0.002), yaw=0.3),
    Thing("shelf", "shelf", (7.0, 3.8, 0.0), yaw=pi),
    Thing("table", "table", (5.2, 0.45, 0.0)),
    Thing("window", "window", (1.8, -0.05, 0.8), opened=0.8),
)


def scene_of(things: Iterable[Thing], walls: Iterable[Box] = WALLS) -> Scene:
    """Return the two rooms with other things in them."""
    things = tuple(sorted(things, key=lambda thing: thing.name))
    names = sorted({thing.category for thing in things})
    return Scene(
        categories=tuple(CATEGORIES[name] for name in names),
        rooms=ROOMS,
        walls=tuple(walls),
        things=things,
        robot=(3.2, 2.5, 0.0),
        identity=(1.0, 0.0, 7.0),
    )


def alcove(gap: float) -> Scene:
    """Return a house in which the robot stands in an alcove.

    The only exit is a gap behind a package, which becomes narrower when its lid opens.
    """
    middle = 2.65 + gap + 0.17
    beside = middle + 0.4  # with room for a hand
    walls = (
        *WALLS[:4],
        Box((4.0, 2.4, 0.75), (0.05, 1.6, 0.75)),
        Box((2.6, 2.4, 0.75), (0.05, 1.6, 0.75)),
        Box(((beside + 3.95) / 2, 1.3, 0.75), ((3.95 - beside) / 2, 0.05, 0.75)),
    )
    return scene_of([Thing("package", "package", (middle, 1.3, 0.0), yaw=-pi / 2)], walls)


def tiny_scene() -> Scene:
    """Return the house that the module's docstring describes."""
    return scene_of(THINGS)


def geometry_of(scene: Scene, held: int | None = None) -> SnapshotGeometry:
    """Return the geometry of a scene before anything has settled; `held` is the index of a thing."""
    model = build_model(scene)
    house = HouseQueries(model)
    snapshot = initial_snapshot(model)
    if held is not None:
        snapshot = snapshot.with_feature(held, HELD, 1.0)
    house.set_snapshot(snapshot)
    return SnapshotGeometry(
        model, house, OccupancyGrid(scene, house.footprints()[model.is_fixed]), snapshot
    )


def named(state: State) -> dict[str, Object]:
    """Return the objects of a state by name."""
    return {obj.name: obj for obj in state}


def true_of(world: World, state: State, predicate: str) -> set[str]:
    """Return the tuples of objects for which a predicate holds, as names separated by blanks."""
    return {" ".join(obj.name for obj in objects) for objects in world.extension(state, predicate)}
