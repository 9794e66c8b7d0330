"""The shapes of objects in KinDER's kinematic 2D environments, and tests for collisions between them.

This geometry finds the same collisions as KinDER, but is much faster. Skills use it to find collision-free
motions, and `simulate` uses it to predict states. Finished plans are replayed in KinDER itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.objects import Object
from needful.core.state import State

# The layers of bodies, numbered as in KinDER's `ZOrder`. Two bodies can collide if they are on the same
# layer, or if one of them is on ALL. A body on NONE never collides.
FLOOR, SURFACE, ALL, NONE = 1, 2, 100, 101
# The clearance of motions between blocks. It must exceed the errors of KinDER's rounding to 32 bits. It
# must also be small, because some blocks stand less than 5e-4 apart and must still be movable.
CLEARANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Disc:
    """A filled circle."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with its centre at (x, y); `cos` and `sin` give the direction of its width."""

    x: float
    y: float
    cos: float
    sin: float
    half_width: float
    half_height: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float, theta: float) -> Box:
        """Return the rectangle with its centre at (x, y), rotated by `theta`."""
        return cls(x, y, math.cos(theta), math.sin(theta), width / 2, height / 2)

    @classmethod
    def from_corner(cls, x: float, y: float, width: float, height: float, theta: float) -> Box:
        """Return the rectangle whose lower left corner is (x, y), rotated by `theta` about this corner."""
        cos, sin = math.cos(theta), math.sin(theta)
        half_width, half_height = width / 2, height / 2
        return cls(
            x + cos * half_width - sin * half_height,
            y + sin * half_width + cos * half_height,
            cos,
            sin,
            half_width,
            half_height,
        )

    def corners(self) -> Iterator[tuple[float, float]]:
        """Yield the four corners."""
        for along, across in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            a, b = along * self.half_width, across * self.half_height
            yield self.x + self.cos * a - self.sin * b, self.y + self.sin * a + self.cos * b

    def contains(self, other: Box) -> bool:
        """Return whether another rectangle lies completely in this one; edges may touch."""
        offsets = ((x - self.x, y - self.y) for x, y in other.corners())
        return all(
            abs(dx * self.cos + dy * self.sin) <= self.half_width
            and abs(dy * self.cos - dx * self.sin) <= self.half_height
            for dx, dy in offsets
        )


Shape: TypeAlias = Disc | Box


def overlap(first: Shape, second: Shape, margin: float = 0.0) -> bool:
    """Return whether two shapes overlap, or are closer to each other than `margin`.

    The test is conservative for two rectangles: if they are nearest to each other at two corners, a
    distance of up to 1.5 times `margin` may count as an overlap.
    """
    if isinstance(first, Disc):
        if isinstance(second, Disc):
            reach = first.radius + second.radius + margin
            return (first.x - second.x) ** 2 + (first.y - second.y) ** 2 < reach * reach
        return _box_meets_disc(second, first, margin)
    if isinstance(second, Disc):
        return _box_meets_disc(first, second, margin)
    return not (_separates(first, second, margin) or _separates(second, first, margin))


def _box_meets_disc(box: Box, disc: Disc, margin: float) -> bool:
    dx, dy = disc.x - box.x, disc.y - box.y
    along = max(0.0, abs(dx * box.cos + dy * box.sin) - box.half_width)
    across = max(0.0, abs(dy * box.cos - dx * box.sin) - box.half_height)
    reach = disc.radius + margin
    return along * along + across * across < reach * reach


def _separates(first: Box, second: Box, margin: float) -> bool:
    """Return whether a line parallel to a side of `first` separates the boxes by at least `margin`."""
    dx, dy = second.x - first.x, second.y - first.y
    parallel = abs(first.cos * second.cos + first.sin * second.sin)
    across = abs(first.cos * second.sin - first.sin * second.cos)
    along_reach = first.half_width + second.half_width * parallel + second.half_height * across
    across_reach = first.half_height + second.half_width * across + second.half_height * parallel
    return (
        abs(dx * first.cos + dy * first.sin) >= along_reach + margin
        or abs(dy * first.cos - dx * first.sin) >= across_reach + margin
    )


@dataclass(frozen=True, slots=True)
class Pose:
    """The configuration of the robot: base position, direction of the arm, and length of the arm."""

    x: float
    y: float
    theta: float
    arm: float


@dataclass(frozen=True, slots=True)
class Body:
    """The shape and the layer of an object or of one of its parts; `obj` is None for walls and tables."""

    name: str
    shape: Shape
    layer: int
    obj: Object | None = None
    movable: bool = False


@dataclass(frozen=True, slots=True)
class Robot:
    """The dimensions of the robot: a round base, an extendable arm, and a suction gripper at its end."""

    base_radius: float
    arm_length: float
    gripper_height: float
    gripper_width: float

    def parts(self, pose: Pose) -> tuple[tuple[Shape, int], ...]:
        """Return the base, the gripper and the arm, each with its layer."""
        cos, sin = math.cos(pose.theta), math.sin(pose.theta)
        reach, width = pose.arm, self.gripper_width / 2
        gripper = Box(pose.x + cos * reach, pose.y + sin * reach, cos, sin, width, self.gripper_height / 2)
        middle = reach / 2
        arm = Box(pose.x + cos * middle, pose.y + sin * middle, cos, sin, middle, width / 2)
        return (Disc(pose.x, pose.y, self.base_radius), ALL), (gripper, SURFACE), (arm, SURFACE)

    def suction(self, pose: Pose) -> Box:
        """Return the strip in front of the gripper in which suction holds objects."""
        reach = pose.arm + 1.5 * self.gripper_width
        cos, sin = math.cos(pose.theta), math.sin(pose.theta)
        return Box(
            pose.x + cos * reach,
            pose.y + sin * reach,
            cos,
            sin,
            self.gripper_width / 2,
            self.gripper_height / 2,
        )

    @property
    def retracted_radius(self) -> float:
        """The radius of the smallest disc around the base's centre that covers the retracted robot."""
        return math.hypot(self.base_radius + self.gripper_width / 2, self.gripper_height / 2)


@dataclass(frozen=True, slots=True)
class Scene:
    """The geometry of a state: the robot, and the shapes of all other objects, walls and tables.

    Attributes:
        robot: the dimensions of the robot.
        pose: the robot's configuration.
        vacuum: whether suction is on.
        bodies: the bodies of all objects except the robot, and those of walls and tables.
    """

    robot: Robot
    pose: Pose
    vacuum: bool
    bodies: tuple[Body, ...]

    def held(self) -> tuple[Body, ...]:
        """Return the bodies of the movable objects that suction holds."""
        if not self.vacuum:
            return ()
        strip = self.robot.suction(self.pose)
        touched = {body.name for body in self.bodies if body.movable and overlap(strip, body.shape)}
        return tuple(body for body in self.bodies if body.name in touched)

    def without(self, objects: Iterable[Object]) -> Scene:
        """Return the scene without the bodies of the given objects."""
        gone = set(objects)
        return replace(self, bodies=tuple(body for body in self.bodies if body.obj not in gone))

    def at(self, pose: Pose, vacuum: bool) -> Scene:
        """Return the scene after the robot moved to `pose` with all held bodies, and then set `vacuum`."""
        carried = {id(body) for body in self.held()}
        bodies = tuple(
            replace(body, shape=carry(body.shape, self.pose, pose)) if id(body) in carried else body
            for body in self.bodies
        )
        return Scene(self.robot, pose, vacuum, bodies)

    def collisions(self, pose: Pose, margin: float = 0.0) -> Iterator[Body]:
        """Yield the bodies that the robot or a held body would overlap if the robot were at `pose`."""
        held = self.held()
        moving = [
            *self.robot.parts(pose),
            *((carry(body.shape, self.pose, pose), body.layer) for body in held),
        ]
        for body in self.bodies:
            if body not in held and any(
                may_collide(layer, body.layer) and overlap(shape, body.shape, margin)
                for shape, layer in moving
            ):
                yield body


def may_collide(first: int, second: int) -> bool:
    """Return whether bodies on these two layers can collide."""
    if NONE in (first, second):
        return False
    return first == second or ALL in (first, second)


def carry(shape: Shape, before: Pose, after: Pose) -> Shape:
    """Return the shape of a held body after the robot moved from the pose `before` to the pose `after`."""
    turn = after.theta - before.theta
    cos, sin = math.cos(turn), math.sin(turn)
    old_x = before.x + math.cos(before.theta) * before.arm
    old_y = before.y + math.sin(before.theta) * before.arm
    dx, dy = shape.x - old_x, shape.y - old_y
    x = after.x + math.cos(after.theta) * after.arm + cos * dx - sin * dy
    y = after.y + math.sin(after.theta) * after.arm + sin * dx + cos * dy
    if isinstance(shape, Disc):
        return Disc(x, y, shape.radius)
    turned = (cos * shape.cos - sin * shape.sin, sin * shape.cos + cos * shape.sin)
    return Box(x, y, *turned, shape.half_width, shape.half_height)


def make_scene(state: State, constants: tuple[Body, ...]) -> Scene:
    """Return the scene of a state; `constants` are the walls and tables, which states do not contain."""
    bodies: list[Body] = []
    robot = None
    for obj in state:
        features = obj.type.features
        values = dict(zip(features, state[obj], strict=True))
        if "arm_joint" in values:
            dimensions = (
                values[name] for name in ("base_radius", "arm_length", "gripper_height", "gripper_width")
            )
            robot = Robot(*dimensions)
            pose = Pose(values["x"], values["y"], values["theta"], values["arm_joint"])
            vacuum = values["vacuum"] > 0.5
        else:
            bodies += object_bodies(obj.name, values, obj)
    assert robot is not None
    return Scene(robot, pose, vacuum, (*bodies, *constants))


def object_bodies(name: str, values: dict[str, float], obj: Object | None = None) -> Iterator[Body]:
    """Yield the bodies of one object with the given feature values."""
    layer, movable = int(values["z_order"]), values["static"] < 0.5
    x, y, theta = values["x"], values["y"], values["theta"]
    if "radius" in values:
        yield Body(name, Disc(x, y, values["radius"]), layer, obj, movable)
    elif "width1" in values:
        # In KinDER, a shelf has two rectangles: the whole shelf and its inside. Here, it has three bodies:
        # the inside, and the parts of the whole shelf to the left and to the right of the inside.
        left = math.cos(theta) * (values["x1"] - x) + math.sin(theta) * (values["y1"] - y)
        inside, height = values["width1"], values["height"]
        start = left + inside
        right_x, right_y = x + math.cos(theta) * start, y + math.sin(theta) * start
        right = values["width"] - start
        yield Body(name, Box.from_corner(x, y, left, height, theta), layer, obj, movable)
        yield Body(name, Box.from_corner(right_x, right_y, right, height, theta), layer, obj, movable)
        part = (values["x1"], values["y1"], inside, values["height1"], values["theta1"])
        yield Body(name, Box.from_corner(*part), int(values["z_order1"]), obj, movable)
    elif "length_side1" in values:
        # An L-shaped object: (x, y) is its outer corner. If theta is 0, one arm of the L extends from this
        # corner to the left, and the other one downwards.
        width, backwards = values["width"], theta + math.pi
        sides = (values["length_side1"], width), (width, values["length_side2"])
        for size in sides:
            yield Body(name, Box.from_corner(x, y, *size, backwards), layer, obj, movable)
    else:
        shape = Box.from_corner(x, y, values["width"], values["height"], theta)
        yield Body(name, shape, layer, obj, movable)
