"""A house and what is in it, as plain values: what a simulator is built from.

Lengths are in metres, angles in radians, z points up, floors are at z = 0. A scene can be written as
JSON and read back without loss.
"""

from __future__ import annotations

from dataclasses import dataclass

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
