"""The simulated houses of the states that are looked at, made again from what a state says of its house."""

from __future__ import annotations

from collections import OrderedDict

from needful.core.state import State
from needful.envs.contract import Split
from needful.envs.household.activities import ACTIVITIES
from needful.envs.household.bddl import Definition
from needful.envs.household.layout import draw_scene
from needful.envs.household.object_types import THE_HOUSE
from needful.envs.household.scene import Scene, Vector
from needful.envs.household.world import World
from needful.seeding import rng_for

SPLITS = tuple(Split)

# Seeds are features of a state, which are floats: larger integers would be rounded.
SEEDS = 2**53

MOST_WORLDS = 8


def make_house(identity: Vector) -> tuple[Definition, Scene]:
    """Return the activity and the house that belong to the features of `house`: activity, split and seed.

    Raises `NoPlaceError` if no house comes of this seed.
    """
    activity, split = ACTIVITIES[int(identity[0])], SPLITS[int(identity[1])]
    rng = rng_for(int(identity[2]), "house", activity.name, split.value)
    definition, clutter = activity.draw(split, rng)
    return definition, draw_scene(definition, clutter, rng, identity)


class Worlds:
    """Keeps the worlds that were used last, because making one takes a while; it knows nothing else."""

    def __init__(self) -> None:
        self._worlds: OrderedDict[Vector, World] = OrderedDict()

    def __reduce__(self) -> tuple[object, ...]:
        return Worlds, ()

    def of(self, state: State) -> World:
        """Return the world of a state."""
        activity, split, seed = state[THE_HOUSE]
        identity = (activity, split, seed)
        if identity not in self._worlds:
            self.keep(World(make_house(identity)[1]))
        self._worlds.move_to_end(identity)
        return self._worlds[identity]

    def keep(self, world: World) -> None:
        """Remember a world in the place of the one that was not used for the longest time."""
        self._worlds[world.model.scene.identity] = world
        if len(self._worlds) > MOST_WORLDS:
            self._worlds.popitem(last=False)
