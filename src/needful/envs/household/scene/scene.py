"""The types of objects: floors and one for each category of things, all below `obj`; the robot; the house.

A state holds all that is needed to restore the simulation exactly. `house` says which scene it is of.

The robot's size and reach: a round mobile base with a floating hand, all in metres.

A house and what is in it, as plain values: what a simulator is built from.

Lengths are in metres, angles in radians, z points up, floors are at z = 0. A scene can be written as
JSON and read back without loss.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.objects import Object, Type

RADIUS = 0.22
HEIGHT = 0.75

# What is nearer to the shoulder than REACH is within reach; the hand goes no further than HAND_RANGE.
SHOULDER_HEIGHT = 0.7
REACH = 1.0
HAND_RANGE = 1.2

# How high its eye is: higher than tables, or their edges would hide what lies on them.
EYE_HEIGHT = 1.0

# What the base keeps from everything around it where it stops.
CLEARANCE = 0.01

# The hand is a ball. Where the robot drives there must be some room around it, and what it holds is then
# over its body, with its bottom at this height.
HAND_RADIUS = 0.035
HAND_CLEARANCE = 0.12
CARRY_HEIGHT = 0.8


Vector = tuple[float, float, float]
Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A box along the axes of the frame that it is given in: its centre and half its size."""

    centre: Vector
    half: Vector


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a body: a box, or a cylinder that stands upright in its bounding box."""

    box: Box
    colour: Colour
    round: bool = False


@dataclass(frozen=True, slots=True)
class Hinge:
    """The moving parts of something that opens, and how they turn.

    Attributes:
        parts: what turns; given in the body's frame, in the closed position.
        anchor: a point on the axis.
        axis: the direction of the axis; turning by positive angles opens.
        limit: the angle when fully open; closed is 0.
        handle: where the hand takes hold, closed, in the body's frame.
    """

    parts: tuple[Part, ...]
    anchor: Vector
    axis: Vector
    limit: float
    handle: Vector


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing.

    Attributes:
        name: such as `pop_can`; also the name of its type.
        parts: its rigid pieces in the body's frame, whose origin is the middle of the bottom.
        mass: in kilograms; ignored for what is fixed.
        fixed: whether it is part of the house or too heavy to move.
        graspable: whether the hand can carry it.
        hinge: how it opens, if it does.
        cavities: where things can be inside of it.
        surfaces: thin boxes on which things can be put: the top of a table, the boards of a shelf.
    """

    name: str
    parts: tuple[Part, ...]
    mass: float = 1.0
    fixed: bool = False
    graspable: bool = False
    hinge: Hinge | None = None
    cavities: tuple[Box, ...] = ()
    surfaces: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Thing:
    """One object of a scene: what it is and where its body's origin is before physics settles it."""

    name: str
    category: str
    position: Vector
    yaw: float = 0.0
    opened: float = 0.0


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangle of the plan; its floor is the object `floor`."""

    name: str
    floor: str
    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scene:
    """A house.

    Attributes:
        categories: what occurs, by name, sorted.
        rooms: they do not overlap; floors are objects without a body of their own, of the type floor.
        walls: boxes in the frame of the house; doors and window openings are left out of them.
        things: all objects but floors and the robot, sorted by name; fixed ones too.
        robot: where the robot starts: x, y, yaw.
        identity: the features of the object `house`, by which the scene can be made again.
    """

    categories: tuple[Category, ...]
    rooms: tuple[Room, ...]
    walls: tuple[Box, ...]
    things: tuple[Thing, ...]
    robot: Vector
    identity: Vector = (0.0, 0.0, 0.0)


POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")

# The half-extents are those of the closed body's bounding box in its own frame; `joint` is a share of
# the hinge's limit.
OBJ = Type("obj", (*POSE, "hx", "hy", "hz", "joint", "graspable", "held"))
FLOOR = Type("floor", OBJ.features, OBJ)
THING = Type("thing", OBJ.features, OBJ)
ROBOT = Type("robot", ("x", "y", "yaw", *(f"hand_{feature}" for feature in POSE)))
HOUSE = Type("house", ("activity", "split", "seed"))

ROBOT_OBJECT: Object = ROBOT("robot")
HOUSE_OBJECT: Object = HOUSE("house")


@functools.cache
def type_of(category: str) -> Type:
    """Return the type of the things of a category."""
    return Type(category, OBJ.features, THING)


def heading(quaternion: Sequence[float]) -> float:
    """Return the yaw of an orientation: the direction of the body's x axis as seen from above."""
    w, x, y, z = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
