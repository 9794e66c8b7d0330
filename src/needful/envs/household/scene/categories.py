"""The categories of objects in the houses: furniture, the objects that activities need, and clutter.

In the frame of a piece of furniture, its back is at -y and its front at +y. The back stands at a wall, and
the robot uses the furniture from the front.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import cos, pi, sin
from types import MappingProxyType

import numpy as np

from needful.envs.household.scene.scene import Box, Category, Colour, Hinge, Part, Vector

WOOD: Colour = (0.68, 0.50, 0.33)
DARK_WOOD: Colour = (0.46, 0.33, 0.22)
LINEN: Colour = (0.86, 0.88, 0.93)
FABRIC: Colour = (0.36, 0.49, 0.62)
WHITE: Colour = (0.93, 0.94, 0.95)
GLASS: Colour = (0.62, 0.80, 0.90)
CARDBOARD: Colour = (0.80, 0.62, 0.40)
RIBBON: Colour = (0.80, 0.22, 0.28)
STEEL: Colour = (0.60, 0.64, 0.68)
RED: Colour = (0.82, 0.29, 0.36)
GREEN: Colour = (0.16, 0.62, 0.44)
BLUE: Colour = (0.18, 0.43, 0.71)
GOLD: Colour = (0.95, 0.72, 0.02)
PURPLE: Colour = (0.48, 0.37, 0.65)
INK: Colour = (0.13, 0.15, 0.17)

# To compute the region that a lid or door sweeps, its hinge is opened in this number of steps.
SWEEP_STEPS = 20

# The thickness of the boxes that represent surfaces. The value is arbitrary, because only the top is used.
SURFACE_THICKNESS = 0.005

WINDOW_WIDTH, WINDOW_HEIGHT, WINDOW_SILL = 0.7, 0.6, 0.8


def _box(low: Vector, high: Vector) -> Box:
    centre = ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2)
    half = ((high[0] - low[0]) / 2, (high[1] - low[1]) / 2, (high[2] - low[2]) / 2)
    return Box(centre, half)


def _upright(width: float, depth: float, bottom: float, top: float) -> Box:
    """Return a box between the heights `bottom` and `top`, centred on the z axis of the object's frame."""
    return _box((-width / 2, -depth / 2, bottom), (width / 2, depth / 2, top))


def _surface(width: float, depth: float, height: float) -> Box:
    return _upright(width, depth, height - SURFACE_THICKNESS, height)


def _block(name: str, size: Vector, colour: Colour, mass: float, *, round_: bool = False) -> Category:
    """Return a category of small graspable objects, which consist of one box or one upright cylinder."""
    width, depth, height = size
    part = Part(_upright(width, depth, 0.0, height), colour, round_)
    return Category(name, (part,), mass, graspable=True)


def _legs(width: float, depth: float, height: float, colour: Colour) -> tuple[Part, ...]:
    x, y, half = width / 2 - 0.04, depth / 2 - 0.04, 0.03
    return tuple(
        Part(_box((sx * x - half, sy * y - half, 0.0), (sx * x + half, sy * y + half, height)), colour)
        for sx in (-1, 1)
        for sy in (-1, 1)
    )


def _table(name: str, width: float, depth: float, height: float) -> Category:
    top = Part(_upright(width, depth, height - 0.04, height), WOOD)
    legs = _legs(width, depth, height - 0.04, DARK_WOOD)
    return Category(name, (top, *legs), fixed=True, surfaces=(_surface(width, depth, height),))


def _bed() -> Category:
    height, head, foot = 0.45, -0.975, 1.025
    mattress = Part(_box((-0.75, head, 0.0), (0.75, foot, height)), LINEN)
    headboard = Part(_box((-0.75, -foot, 0.0), (0.75, head, 2 * height)), WOOD)
    surface = _box((-0.75, head, height - SURFACE_THICKNESS), (0.75, foot, height))
    return Category("bed", (mattress, headboard), fixed=True, surfaces=(surface,))


def _sofa() -> Category:
    seat = Part(_box((-0.9, -0.3, 0.0), (0.9, 0.4, 0.42)), FABRIC)
    back = Part(_box((-0.9, -0.4, 0.0), (0.9, -0.3, 0.85)), FABRIC)
    surface = _box((-0.9, -0.3, 0.42 - SURFACE_THICKNESS), (0.9, 0.4, 0.42))
    return Category("sofa", (seat, back), fixed=True, surfaces=(surface,))


def _shelf() -> Category:
    """Return the category of shelves: three boards and a top, with gaps for a hand that holds a book."""
    width, depth, board = 1.3, 0.36, 0.03
    tops = (0.12, 0.52, 0.92, 1.32)
    boards = tuple(Part(_upright(width, depth, top - board, top), WOOD) for top in tops)
    sides = tuple(
        Part(_box((min(x, x - side), -depth / 2, 0.0), (max(x, x - side), depth / 2, tops[-1])), DARK_WOOD)
        for x, side in ((width / 2, board), (-width / 2, -board))
    )
    back = Part(_box((-width / 2, -depth / 2, 0.0), (width / 2, -depth / 2 + 0.02, tops[-1])), DARK_WOOD)
    inner = width - 2 * board
    surfaces = tuple(_surface(width if top == tops[-1] else inner, depth, top) for top in tops)
    return Category("shelf", (*boards, *sides, back), fixed=True, surfaces=surfaces)


def _cupboard(name: str, size: Vector, colour: Colour) -> Category:
    """Return a category of hollow furniture whose front is one door."""
    width, depth, height = size
    wall, door = 0.03, 0.03
    x, back, front = width / 2, -depth / 2, depth / 2 - door
    hollow = (
        Part(_box((-x, back, 0.0), (-x + wall, front, height)), colour),
        Part(_box((x - wall, back, 0.0), (x, front, height)), colour),
        Part(_box((-x + wall, back, 0.0), (x - wall, back + wall, height)), colour),
        Part(_box((-x + wall, back + wall, 0.0), (x - wall, front, 0.06)), colour),
        Part(_box((-x + wall, back + wall, height - wall), (x - wall, front, height)), colour),
    )
    hinge = Hinge(
        parts=(Part(_box((-x, front, 0.0), (x, depth / 2, height)), colour),),
        anchor=(-x, front, 0.0),
        axis=(0.0, 0.0, 1.0),
        limit=pi / 2,
        handle=(x - 0.06, depth / 2, 0.6 * height),
    )
    cavity = _box((-x + wall, back + wall, 0.06), (x - wall, front, height - wall))
    surfaces = (_surface(width, depth, height),)
    return Category(name, hollow, fixed=True, hinge=hinge, cavities=(cavity,), surfaces=surfaces)


def _window() -> Category:
    """Return the category of windows, which open inwards; their origin is the middle of the sill."""
    x, height, frame, deep = WINDOW_WIDTH / 2, WINDOW_HEIGHT, 0.04, 0.05
    parts = (
        Part(_box((-x, -deep, 0.0), (x, deep, frame)), WHITE),
        Part(_box((-x, -deep, height - frame), (x, deep, height)), WHITE),
        Part(_box((-x, -deep, frame), (-x + frame, deep, height - frame)), WHITE),
        Part(_box((x - frame, -deep, frame), (x, deep, height - frame)), WHITE),
    )
    inner, thick = x - frame - 0.005, 0.015
    pane = _box((-inner, deep, frame + 0.005), (inner, deep + 2 * thick, height - frame - 0.005))
    hinge = Hinge(
        parts=(Part(pane, GLASS),),
        anchor=(-inner, deep, 0.0),
        axis=(0.0, 0.0, 1.0),
        limit=0.45 * pi,
        handle=(inner - 0.05, deep + 2 * thick, height / 2),
    )
    return Category("window", parts, fixed=True, hinge=hinge)


def _package() -> Category:
    """Return the category of packages: cardboard boxes with a lid, too large for the robot to carry.

    The lid turns about its rear edge.
    """
    x, y, height, wall, lid = 0.17, 0.17, 0.25, 0.012, 0.02
    top = height - lid
    parts = (
        Part(_box((-x, -y, 0.0), (x, y, wall)), CARDBOARD),
        Part(_box((-x, -y, wall), (-x + wall, y, top)), CARDBOARD),
        Part(_box((x - wall, -y, wall), (x, y, top)), CARDBOARD),
        Part(_box((-x + wall, -y, wall), (x - wall, -y + wall, top)), CARDBOARD),
        Part(_box((-x + wall, y - wall, wall), (x - wall, y, top)), CARDBOARD),
    )
    hinge = Hinge(
        parts=(Part(_box((-x, -y, top), (x, y, height)), RIBBON),),
        anchor=(0.0, -y, top),
        # With this axis, positive angles raise the front edge of the lid, which is at +y.
        axis=(1.0, 0.0, 0.0),
        limit=0.6 * pi,
        handle=(0.0, y, top + lid / 2),
    )
    cavity = _box((-x + wall, -y + wall, wall), (x - wall, y - wall, top))
    return Category("package", parts, mass=2.0, hinge=hinge, cavities=(cavity,))


def _bucket() -> Category:
    half, height, wall = 0.15, 0.24, 0.008
    inner = half - wall
    parts = (
        Part(_box((-half, -half, 0.0), (half, half, wall)), STEEL),
        Part(_box((-half, -half, wall), (-inner, half, height)), STEEL),
        Part(_box((inner, -half, wall), (half, half, height)), STEEL),
        Part(_box((-inner, -half, wall), (inner, -inner, height)), STEEL),
        Part(_box((-inner, inner, wall), (inner, half, height)), STEEL),
    )
    cavity = _box((-inner, -inner, wall), (inner, inner, height))
    return Category("bucket", parts, mass=1.0, graspable=True, cavities=(cavity,))


FURNITURE = (
    _bed(),
    _sofa(),
    _table("table", 1.6, 0.8, 0.72),
    _table("coffee_table", 0.9, 0.5, 0.42),
    _shelf(),
    _cupboard("cabinet", (0.6, 0.45, 0.85), DARK_WOOD),
    _cupboard("fridge", (0.65, 0.65, 1.7), WHITE),
    _window(),
)

TASK_THINGS = (
    _package(),
    _bucket(),
    _block("pop_can", (0.066, 0.066, 0.12), RED, 0.05, round_=True),
    _block("hardback", (0.17, 0.24, 0.035), BLUE, 0.6),
    _block("book", (0.14, 0.21, 0.025), GREEN, 0.3),
)

CLUTTER = (
    _block("board_game", (0.27, 0.27, 0.06), PURPLE, 0.8),
    _block("candle", (0.08, 0.08, 0.1), LINEN, 0.2, round_=True),
    _block("jar", (0.1, 0.1, 0.13), GLASS, 0.4, round_=True),
    _block("mug", (0.09, 0.09, 0.1), WHITE, 0.3, round_=True),
    _block("plant", (0.18, 0.18, 0.3), GREEN, 1.5, round_=True),
    _block("shoe", (0.1, 0.28, 0.1), DARK_WOOD, 0.3),
    _block("teddy", (0.18, 0.15, 0.26), CARDBOARD, 0.3),
    _block("toy_block", (0.09, 0.09, 0.09), GOLD, 0.1),
    _block("toy_car", (0.09, 0.16, 0.07), RED, 0.2),
    _block("video_game", (0.135, 0.19, 0.02), INK, 0.1),
)


def _by_name(categories: Iterable[Category]) -> Mapping[str, Category]:
    return MappingProxyType({category.name: category for category in sorted(categories, key=_name)})


def _name(category: Category) -> str:
    return category.name


CATEGORIES = _by_name((*FURNITURE, *TASK_THINGS, *CLUTTER))


@cache
def bounding_box(category: Category) -> Box:
    """Return the box around all parts of a closed object of the category, in the object's frame."""
    parts = category.parts + (category.hinge.parts if category.hinge else ())
    return _box_around([corner for part in parts for corner in _corners(part.box)])


@cache
def swept_box(category: Category) -> Box:
    """Return the box around all parts of an object at any hinge angle, in the object's frame."""
    corners = [corner for part in category.parts for corner in _corners(part.box)]
    if category.hinge:
        turning = [corner for part in category.hinge.parts for corner in _corners(part.box)]
        for step in range(SWEEP_STEPS + 1):
            angle = category.hinge.limit * step / SWEEP_STEPS
            corners += [_rotate_about_hinge(corner, category.hinge, angle) for corner in turning]
    return _box_around(corners)


def _corners(box: Box) -> list[Vector]:
    (x, y, z), (hx, hy, hz) = box.centre, box.half
    return [(x + i * hx, y + j * hy, z + k * hz) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]


def _rotate_about_hinge(point: Vector, hinge: Hinge, angle: float) -> Vector:
    """Rotate a point by an angle about the axis of a hinge (Rodrigues' formula)."""
    arm, axis = np.subtract(point, hinge.anchor), np.array(hinge.axis)
    turned = arm * cos(angle) + np.cross(axis, arm) * sin(angle) + axis * (axis @ arm) * (1 - cos(angle))
    x, y, z = (turned + hinge.anchor).tolist()
    return x, y, z


def _box_around(points: Sequence[Vector]) -> Box:
    xs, ys, zs = zip(*points, strict=True)
    return _box((min(xs), min(ys), min(zs)), (max(xs), max(ys), max(zs)))
