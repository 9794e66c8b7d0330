"""The data model of a house: the classes of a scene, the object types of states, and the robot's size.

A thing is an object other than a floor and the robot: furniture, a window or a movable object. Lengths are
in metres, angles in radians, z points up, and floors are at z = 0. A scene has all data that are needed to
build the simulator of a house. A state has all data that are needed to restore the simulation exactly; the
features of its object `house` identify the scene.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.objects import Object, Type

# The size of the robot's base. The robot is a round mobile base with a floating hand.
RADIUS = 0.22
HEIGHT = 0.75

# A thing is reachable if it is in sight and its nearest point is closer to the shoulder than REACH. The
# hand can move to points that are up to HAND_RANGE away from the shoulder.
SHOULDER_HEIGHT = 0.7
REACH = 1.0
HAND_RANGE = 1.2

# The height of the robot's camera: above the tables, so that the edges of tables hide nothing on them.
EYE_HEIGHT = 1.0

# When the base stops, its distance to all obstacles must be at least this value, in metres.
CLEARANCE = 0.01

# The hand is a ball. While the robot drives, the hand and the held object are above the base, and the
# bottom of the held object is at CARRY_HEIGHT. A vertical cylinder around both must be free of obstacles;
# its radius is at least HAND_CLEARANCE.
HAND_RADIUS = 0.035
HAND_CLEARANCE = 0.12
CARRY_HEIGHT = 0.8


Vector = tuple[float, float, float]
Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box.

    Attributes:
        centre: the centre, in the frame of an object or of the house.
        half: half of the size along x, y and z.
    """

    centre: Vector
    half: Vector


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object: a box or, if `round`, the upright cylinder whose bounding box is `box`."""

    box: Box
    colour: Colour
    round: bool = False


@dataclass(frozen=True, slots=True)
class Hinge:
    """The parts of an object that turn when it is opened, such as a lid, and their joint.

    Attributes:
        parts: the parts that turn, in the object's frame and in the closed position.
        anchor: a point on the axis of the joint.
        axis: the direction of this axis; positive angles open.
        limit: the angle when fully open; closed is 0.
        handle: the point that the hand grasps, in the object's frame and in the closed position.
    """

    parts: tuple[Part, ...]
    anchor: Vector
    axis: Vector
    limit: float
    handle: Vector


@dataclass(frozen=True, slots=True)
class Category:
    """A category of objects of equal shape, such as all tables.

    Attributes:
        name: the name, such as `pop_can`; also the name of the object type.
        parts: the rigid parts, in a frame whose origin is the centre of the bottom.
        mass: the mass in kilograms; ignored for fixed objects.
        fixed: whether the objects cannot move; true for furniture and windows.
        graspable: whether the hand can carry the objects.
        hinge: the hinge about which the objects open; None if they cannot be opened.
        cavities: the hollow spaces; another object is inside if its centre lies in one of these boxes.
        surfaces: thin boxes on which other objects can be placed, such as the top of a table.
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
    """One object of a scene: its category, and its pose before it comes to rest in the simulator.

    `opened` is the hinge angle as a fraction of the angle when fully open.
    """

    name: str
    category: str
    position: Vector
    yaw: float = 0.0
    opened: float = 0.0


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangular room; `floor` is the name of the object that represents its floor in states."""

    name: str
    floor: str
    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scene:
    """A house with its furniture and movable objects.

    Attributes:
        categories: the categories of the things, sorted by name.
        rooms: the rooms, which do not overlap; their floors are objects without a shape.
        walls: boxes in the frame of the house, with gaps for doors and windows.
        things: all objects except floors and the robot, sorted by name.
        robot: the robot's start: x, y, yaw.
        identity: the features of the object `house`, from which `make_house` makes the same scene again.
    """

    categories: tuple[Category, ...]
    rooms: tuple[Room, ...]
    walls: tuple[Box, ...]
    things: tuple[Thing, ...]
    robot: Vector
    identity: Vector = (0.0, 0.0, 0.0)


POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")

# `hx`, `hy` and `hz` are the half-extents of the bounding box of the closed object, in the object's frame.
# `joint` is the hinge angle as a fraction of the angle when fully open.
OBJ = Type("obj", (*POSE, "hx", "hy", "hz", "joint", "graspable", "held"))
FLOOR = Type("floor", OBJ.features, OBJ)
THING = Type("thing", OBJ.features, OBJ)
ROBOT = Type("robot", ("x", "y", "yaw", *(f"hand_{feature}" for feature in POSE)))
HOUSE = Type("house", ("activity", "split", "seed"))

ROBOT_OBJECT: Object = ROBOT("robot")
HOUSE_OBJECT: Object = HOUSE("house")


@functools.cache
def type_of(category: str) -> Type:
    """Return the object type of the category with this name."""
    return Type(category, OBJ.features, THING)


def heading(quaternion: Sequence[float]) -> float:
    """Return the yaw of an orientation, which is the direction of the rotated x axis, seen from above."""
    w, x, y, z = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
