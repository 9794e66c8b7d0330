"""Sampled houses for tests, and the ground that their things cover."""

from __future__ import annotations

from functools import cache
from math import cos, sin

from needful.envs.contract import Split
from needful.envs.household.scene.activities import ACTIVITIES, ActivityDefinition
from needful.envs.household.scene.categories import CATEGORIES, bounding_box
from needful.envs.household.scene.floor_plan import Rect
from needful.envs.household.scene.furnishing import NoPlaceError
from needful.envs.household.scene.layout import sample_scene
from needful.envs.household.scene.scene import Box, Scene, Thing
from needful.seeding import rng_for


@cache
def sampled_house(activity: int, split: Split, seed: int) -> tuple[ActivityDefinition, Scene]:
    """Return the first house that can be sampled from a seed."""
    for attempt in range(100):
        rng = rng_for(seed, "test", activity, split.value, attempt)
        definition, clutter = ACTIVITIES[activity].sample(split, rng)
        try:
            return definition, sample_scene(definition, clutter, rng)
        except NoPlaceError:
            continue
    raise AssertionError("no house in 100 attempts")


def ground(thing: Thing) -> Rect:
    """Return the bounding rectangle of a closed thing that stands upright."""
    return ground_under(thing, bounding_box(CATEGORIES[thing.category]))


def ground_under(thing: Thing, box: Box) -> Rect:
    """Return the bounding rectangle of a box in a thing's frame, computed from its corners."""
    corners = [
        (box.centre[0] + sx * box.half[0], box.centre[1] + sy * box.half[1])
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    xs = [thing.position[0] + cos(thing.yaw) * x - sin(thing.yaw) * y for x, y in corners]
    ys = [thing.position[1] + sin(thing.yaw) * x + cos(thing.yaw) * y for x, y in corners]
    return Rect((min(xs), min(ys)), (max(xs), max(ys)))
