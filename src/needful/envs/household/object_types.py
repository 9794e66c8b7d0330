"""The types of objects: floors and one for each category of things, all below `obj`; the robot; the house.

A state holds all that is needed to restore the simulation exactly. `house` says which scene it is of.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from needful.core.objects import Object, Type

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")

# The half-extents are those of the closed body's bounding box in its own frame; `joint` is a share of
# the hinge's limit.
OBJ = Type("obj", (*POSE, "hx", "hy", "hz", "joint", "graspable", "held"))
FLOOR = Type("floor", OBJ.features, OBJ)
THING = Type("thing", OBJ.features, OBJ)
ROBOT = Type("robot", ("x", "y", "yaw", *(f"hand_{feature}" for feature in POSE)))
HOUSE = Type("house", ("activity", "split", "seed"))

THE_ROBOT: Object = ROBOT("robot")
THE_HOUSE: Object = HOUSE("house")


@functools.cache
def type_of(category: str) -> Type:
    """Return the type of the things of a category."""
    return Type(category, OBJ.features, THING)


def heading(quaternion: Sequence[float]) -> float:
    """Return the yaw of an orientation: the direction of the body's x axis as seen from above."""
    w, x, y, z = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
