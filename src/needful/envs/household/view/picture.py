"""Draw a picture of a house, seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import cos, sin
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.drawing import palette
from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.floor_plan import WALL_HEIGHT
from needful.envs.household.scene.scene import (
    RADIUS,
    REACH,
    ROBOT_OBJECT,
    THING,
    Box,
    Colour,
    Hinge,
    Part,
    Scene,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.2
MAX_CACHED_OUTLINES = 4_096


def draw_top_view(scene: Scene, state: State, axes: Axes, goal: AbstractState) -> None:
    """Draw a state of a house from above: rooms, walls, all things, and the robot with its reach.

    Higher things are drawn over lower ones. Objects of the goal have a red outline.
    """
    low = np.min([room.low for room in scene.rooms], axis=0) - MARGIN
    high = np.max([room.high for room in scene.rooms], axis=0) + MARGIN
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    _draw_house(scene, axes)
    goal_objects = {obj for atom in goal for obj in atom.objects}
    things = sorted(
        state.of_type(THING), key=lambda obj: (state.get(obj, "held"), state.get(obj, "z"), obj)
    )
    _draw_things(state, things, axes, goal_objects)
    _draw_robot(state, axes)


def _draw_house(scene: Scene, axes: Axes) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    for room in scene.rooms:
        width, depth = room.high[0] - room.low[0], room.high[1] - room.low[1]
        axes.add_patch(Rectangle(room.low, width, depth, facecolor=palette.BACKGROUND, edgecolor="none"))
        name = room.name.replace("_", " ")
        axes.text(
            room.low[0] + width / 2,
            room.low[1] + depth / 2,
            name,
            ha="center",
            va="center",
            fontsize=7,
            color=palette.GREY,
        )
    walls = PolyCollection(
        [_rectangle(wall) for wall in scene.walls],
        # Draw the pieces of wall below and above windows in a lighter colour.
        facecolors=[
            palette.DARK_GREY if 2 * wall.half[2] >= WALL_HEIGHT else palette.LIGHT_GREY
            for wall in scene.walls
        ],
        linewidths=0,
    )
    # Give the walls the same id in all pictures of a house: the report page stores Matplotlib artists with
    # equal ids only once.
    walls.set_gid(f"walls {scene.identity}")
    axes.add_collection(walls, autolim=False)


def _rectangle(box: Box) -> list[tuple[float, float]]:
    (x, y, _), (hx, hy, _) = box.centre, box.half
    return [(x - hx, y - hy), (x + hx, y - hy), (x + hx, y + hy), (x - hx, y + hy)]


def _draw_things(state: State, things: Sequence[Object], axes: Axes, goal_objects: set[Object]) -> None:
    """Draw things in the given order, in one collection: hundreds of separate patches would be slow.

    The things in `goal_objects` have a red outline.
    """
    from matplotlib.collections import PolyCollection

    drawn = [
        (hull, colour, obj in goal_objects)
        for obj in things
        for hull, colour in _outlines(obj.type.name, state[obj][:7], state.get(obj, "joint"))
    ]
    parts = PolyCollection(
        [hull for hull, _, _ in drawn],
        facecolors=[colour for _, colour, _ in drawn],
        edgecolors=[palette.RED if marked else palette.DARK_GREY for _, _, marked in drawn],
        linewidths=[1.4 if marked else 0.3 for _, _, marked in drawn],
    )
    axes.add_collection(parts, autolim=False)


@lru_cache(maxsize=MAX_CACHED_OUTLINES)
def _outlines(name: str, pose: tuple[float, ...], joint: float) -> tuple[tuple[np.ndarray, Colour], ...]:
    """Return, for each part of a thing, the outline of the part seen from above, and its colour.

    `name` is the thing's category, and `joint` its hinge angle as a fraction of the angle when fully open.
    Results are cached, because most things do not move between two pictures of a plan.
    """
    category = CATEGORIES[name]
    parts = [(part, np.eye(3), np.zeros(3)) for part in category.parts]
    if category.hinge is not None:
        turn = _hinge_rotation(category.hinge, joint)
        anchor = np.array(category.hinge.anchor)
        parts += [(part, turn, anchor - turn @ anchor) for part in category.hinge.parts]
    rotation, origin = _rotation(pose[3:]), np.array(pose[:3])
    return tuple(
        (_hull((_corners(part) @ (rotation @ turn).T + rotation @ shift + origin)[:, :2]), part.colour)
        for part, turn, shift in parts
    )


def _draw_robot(state: State, axes: Axes) -> None:
    from matplotlib.patches import Circle

    x, y, yaw, hand_x, hand_y, *_ = state[ROBOT_OBJECT]
    axes.add_patch(
        Circle((x, y), REACH, facecolor="none", edgecolor=palette.PURPLE, linestyle=":", alpha=0.6)
    )
    axes.add_patch(
        Circle((x, y), RADIUS, facecolor=palette.PURPLE, edgecolor=palette.DARK_GREY, alpha=0.75)
    )
    ahead = (x + RADIUS * cos(yaw), y + RADIUS * sin(yaw))
    axes.plot((x, ahead[0]), (y, ahead[1]), color=palette.WHITE, linewidth=1.5)
    axes.plot((hand_x,), (hand_y,), marker="o", markersize=3, color=palette.ORANGE)


def _hull(points: np.ndarray) -> np.ndarray:
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def _corners(part: Part) -> np.ndarray:
    """Return the corners of a part that is a box, or points on both rims of a part that is a cylinder."""
    centre, half = np.array(part.box.centre), np.array(part.box.half)
    if part.round:
        angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        rim = np.column_stack((np.cos(angles), np.sin(angles), np.ones(16)))
        unit = np.vstack((rim, rim * (1, 1, -1)))
    else:
        unit = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return np.asarray(centre + unit * half)


def _rotation(quaternion: tuple[float, ...]) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(quaternion, scalar_first=True).as_matrix())


def _hinge_rotation(hinge: Hinge, joint: float) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(np.array(hinge.axis) * hinge.limit * joint).as_matrix())
