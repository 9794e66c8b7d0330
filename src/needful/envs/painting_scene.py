"""The scene, types, predicates, controllers and pictures of Painting and Cluttered Painting.

Table, box and shelf stand in a row along the y axis, so ranges of y describe most of the geometry. Pictures
show the scene from the side, y to the right, z up. The y axis and the z axis have different scales: with
equal scales, the objects would be too small to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.envs.drawing import palette
from needful.envs.drawing.palette import draw_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The ranges of y of the table, the box and the shelf; the ends are excluded.
TABLE_RANGE = (-10.1, -1.0)
BOX_RANGE = (0.42, 0.58)
SHELF_RANGE = (1.0, 2.95)
BOX_Y, SHELF_Y = 0.5, 1.975
LOWEST_Y, HIGHEST_Y = -10.1, 2.95

ROBOT_X, SCENE_X = 1.15, 1.65
TABLE_HEIGHT, OBJ_HEIGHT, OBJ_RADIUS = 0.2, 0.13, 0.03
RESTING_Z = TABLE_HEIGHT + OBJ_HEIGHT / 2

# An object rests if its z differs from RESTING_Z by at most this fraction of RESTING_Z. The fraction
# exceeds the rounding error of single precision.
RESTING_TOLERANCE = 1e-5
POSE_TOLERANCE = 0.01
COLOR_TOLERANCE = 0.01
OPEN_FINGERS_FROM = 0.8
SIDE_GRASP_BELOW, NO_GRASP, TOP_GRASP_ABOVE = 0.49, 0.5, 0.51

OBJ = Type("obj", ("pose_x", "pose_y", "pose_z", "dirtiness", "wetness", "color", "grasp", "held"))
BOX = Type("box", ("pose_x", "pose_y", "color"))
LID = Type("lid", ("is_open",))
SHELF = Type("shelf", ("pose_x", "pose_y", "color"))
ROBOT = Type("robot", ("pose_x", "pose_y", "fingers"))


def lies_within(y: float, span: tuple[float, float]) -> bool:
    """Return whether `y` lies strictly inside the range `span`."""
    low, high = span
    return low < y < high


def _holding(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    return state.get(obj, "held") > 0.5


def _holding_top(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    return state.get(obj, "grasp") > TOP_GRASP_ABOVE


def _holding_side(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    return state.get(obj, "grasp") < SIDE_GRASP_BELOW


def _gripper_open(state: State, objects: Sequence[Object]) -> bool:
    (robot,) = objects
    return state.get(robot, "fingers") >= OPEN_FINGERS_FROM


def _in_box(state: State, objects: Sequence[Object]) -> bool:
    obj, _ = objects
    return not _holding(state, (obj,)) and lies_within(state.get(obj, "pose_y"), BOX_RANGE)


def _in_shelf(state: State, objects: Sequence[Object]) -> bool:
    obj, _ = objects
    return not _holding(state, (obj,)) and lies_within(state.get(obj, "pose_y"), SHELF_RANGE)


def _on_table(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    resting = abs(state.get(obj, "pose_z") - RESTING_Z) <= RESTING_TOLERANCE * RESTING_Z
    return resting and lies_within(state.get(obj, "pose_y"), TABLE_RANGE)


def _not_on_table(state: State, objects: Sequence[Object]) -> bool:
    return not _on_table(state, objects)


def _same_color(state: State, objects: Sequence[Object]) -> bool:
    obj, receptacle = objects
    return abs(state.get(obj, "color") - state.get(receptacle, "color")) < COLOR_TOLERANCE


def _is_wet(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    return state.get(obj, "wetness") > 0.5


def _is_dry(state: State, objects: Sequence[Object]) -> bool:
    return not _is_wet(state, objects)


def _is_dirty(state: State, objects: Sequence[Object]) -> bool:
    (obj,) = objects
    return state.get(obj, "dirtiness") > 0.5


def _is_clean(state: State, objects: Sequence[Object]) -> bool:
    return not _is_dirty(state, objects)


def _is_open(state: State, objects: Sequence[Object]) -> bool:
    (lid,) = objects
    return state.get(lid, "is_open") > 0.5


IN_BOX = Predicate("InBox", (OBJ, BOX), _in_box)
IN_SHELF = Predicate("InShelf", (OBJ, SHELF), _in_shelf)
IS_BOX_COLOR = Predicate("IsBoxColor", (OBJ, BOX), _same_color)
IS_SHELF_COLOR = Predicate("IsShelfColor", (OBJ, SHELF), _same_color)
GRIPPER_OPEN = Predicate("GripperOpen", (ROBOT,), _gripper_open)
ON_TABLE = Predicate("OnTable", (OBJ,), _on_table)
NOT_ON_TABLE = Predicate("NotOnTable", (OBJ,), _not_on_table)
HOLDING = Predicate("Holding", (OBJ,), _holding)
HOLDING_TOP = Predicate("HoldingTop", (OBJ,), _holding_top)
HOLDING_SIDE = Predicate("HoldingSide", (OBJ,), _holding_side)
IS_WET = Predicate("IsWet", (OBJ,), _is_wet)
IS_DRY = Predicate("IsDry", (OBJ,), _is_dry)
IS_DIRTY = Predicate("IsDirty", (OBJ,), _is_dirty)
IS_CLEAN = Predicate("IsClean", (OBJ,), _is_clean)
IS_OPEN = Predicate("IsOpen", (LID,), _is_open)

# The bounds of a grasp or a colour are slightly wider than [0, 1]; the simulator clips values to [0, 1].
PICK = Controller("Pick", (ROBOT, OBJ), low=(-0.01,), high=(1.01,))
WASH = Controller("Wash", (ROBOT,))
DRY = Controller("Dry", (ROBOT,))
PAINT = Controller("Paint", (ROBOT,), low=(-0.01,), high=(1.01,))
PLACE = Controller("Place", (ROBOT,), low=(1.64, LOWEST_Y, 0.255), high=(1.66, HIGHEST_Y, 0.275))
OPEN_LID = Controller("OpenLid", (ROBOT, LID))

TYPES = (OBJ, BOX, LID, SHELF, ROBOT)
# PREDICATES does not contain IsOpen: by default, no predicate of these domains describes the lid.
PREDICATES = (
    *(IN_BOX, IN_SHELF, IS_BOX_COLOR, IS_SHELF_COLOR, GRIPPER_OPEN, ON_TABLE, NOT_ON_TABLE),
    *(HOLDING, HOLDING_TOP, HOLDING_SIDE, IS_WET, IS_DRY, IS_DIRTY, IS_CLEAN),
)
CONTROLLERS = (PICK, WASH, DRY, PAINT, PLACE, OPEN_LID)

BOTTOM, FLOOR, RECEPTACLE_HEIGHT, CEILING = -0.34, 0.0, 0.4, 0.84
MARGIN = 0.3
OBJ_WIDTH = 0.2

# Objects are drawn at most at this height, so that lifted objects stay in the picture.
HIGHEST_Z = 0.6

# The width of the border that is drawn around a held object, in units of the scene.
BORDER_Y, BORDER_Z = 0.05, 0.03

# The width of a letter and the height of a line of text, in units of the scene. They fit the smallest
# pictures, those of a film strip.
LETTER_WIDTH, LINE_HEIGHT = 0.16, 0.1
FONT_SIZE = 7

LEGEND = {
    palette.GREEN: "dirty",
    palette.BLUE: "wet",
    palette.CYAN: "clean and dry",
    palette.RED: "painted (any red)",
    palette.DARK_GREY: "closed lid",
    palette.GOLD: "held from the side",
    palette.ORANGE: "held from the top",
}

Span: TypeAlias = tuple[float, float]


def draw_scene(state: State, axes: Axes, goal: AbstractState) -> None:
    """Draw the table, the box, the shelf and all objects; objects of the goal have bold full names."""
    axes.set(xlim=(LOWEST_Y - MARGIN, HIGHEST_Y + MARGIN), ylim=(BOTTOM, CEILING))
    axes.axis("off")
    _draw_furniture(axes, TABLE_RANGE, TABLE_HEIGHT, palette.LIGHT_GREY, "table")
    for box in state.of_type(BOX):
        _draw_furniture(axes, BOX_RANGE, RECEPTACLE_HEIGHT, shade(state.get(box, "color")), "box")
    for shelf in state.of_type(SHELF):
        _draw_furniture(axes, SHELF_RANGE, RECEPTACLE_HEIGHT, shade(state.get(shelf, "color")), "shelf")
    for lid in state.of_type(LID):
        if not IS_OPEN.holds(state, (lid,)):
            heights = (RECEPTACLE_HEIGHT, RECEPTACLE_HEIGHT)
            axes.plot(_widened(BOX_RANGE), heights, color=palette.DARK_GREY, linewidth=2.5, zorder=5)
    for obj in state.of_type(OBJ):
        _draw_obj(state, axes, obj)
    draw_legend(axes, LEGEND)
    _label_objs(state, axes, {obj for atom in goal for obj in atom.objects})


def draw_robot(state: State, axes: Axes, robot: Object, reach: float, near: Iterable[str]) -> None:
    """Draw a robot, shade the region in its reach, and list the names of the things near it."""
    y = state.get(robot, "pose_y")
    axes.axvspan(y - reach, y + reach, color=palette.BLUE, alpha=0.08, linewidth=0, zorder=0)
    axes.scatter(y, TABLE_HEIGHT / 2, s=55, color=palette.BLUE, edgecolors=palette.WHITE, zorder=6)
    listed = f"{robot.name} is next to {', '.join(near) or 'nothing'}"
    axes.text(LOWEST_Y, FLOOR - 0.13, listed, color=palette.BLUE, va="top", fontsize=FONT_SIZE)


def shade(color: float) -> str:
    """Return the shade of red, from white to red, for the feature `color` (0 to 1) of the domain."""
    return palette.blend(palette.WHITE, palette.RED, color)


def _widened(span: Span) -> Span:
    """Return a range of y that is larger than `span` by half an object's width at both ends."""
    return span[0] - OBJ_WIDTH / 2, span[1] + OBJ_WIDTH / 2


def _draw_furniture(axes: Axes, span: Span, height: float, colour: str, name: str) -> None:
    from matplotlib.patches import Rectangle

    left, right = _widened(span)
    axes.add_patch(Rectangle((left, FLOOR), right - left, height, color=colour, alpha=0.55, zorder=1))
    middle = (left + right) / 2
    axes.text(middle, FLOOR - 0.02, name, color=palette.GREY, ha="center", va="top", fontsize=FONT_SIZE)


def _draw_obj(state: State, axes: Axes, obj: Object) -> None:
    """Draw an object.

    Its colour shows whether it is painted, wet or dirty; its border shows how it is held. `LEGEND` explains
    the colours.
    """
    from matplotlib.patches import Rectangle

    corner = (state.get(obj, "pose_y") - OBJ_WIDTH / 2, _drawn_height(state, obj) - OBJ_HEIGHT / 2)
    body = Rectangle(corner, OBJ_WIDTH, OBJ_HEIGHT, linewidth=0.6, zorder=2)
    body.set(facecolor=_fill(state, obj), edgecolor=palette.GREY)
    axes.add_patch(body)
    for holding, colour in ((HOLDING_SIDE, palette.GOLD), (HOLDING_TOP, palette.ORANGE)):
        if holding.holds(state, (obj,)):
            body.set_zorder(4)
            outer = (corner[0] - BORDER_Y, corner[1] - BORDER_Z)
            size = (OBJ_WIDTH + 2 * BORDER_Y, OBJ_HEIGHT + 2 * BORDER_Z)
            axes.add_patch(Rectangle(outer, *size, color=colour, zorder=3))


def _drawn_height(state: State, obj: Object) -> float:
    return min(state.get(obj, "pose_z"), HIGHEST_Z)


def _fill(state: State, obj: Object) -> str:
    if state.get(obj, "color") > 0.0:
        return shade(state.get(obj, "color"))
    if IS_WET.holds(state, (obj,)):
        return palette.BLUE
    return palette.GREEN if IS_DIRTY.holds(state, (obj,)) else palette.CYAN


def _label_objs(state: State, axes: Axes, wanted: set[Object]) -> None:
    """Write the name of each object above it, on separate lines where the names would overlap.

    The objects in `wanted` are labelled in bold and with their full names.
    """
    written: dict[float, float] = {}
    for obj in sorted(state.of_type(OBJ), key=lambda obj: (state.get(obj, "pose_y"), obj)):
        y, bottom = state.get(obj, "pose_y"), _drawn_height(state, obj) + OBJ_HEIGHT / 2
        name = obj.name if obj in wanted else obj.name.removeprefix(OBJ.name)
        left, right = (y + side * LETTER_WIDTH * len(name) / 2 for side in (-1, 1))
        if y > TABLE_RANGE[1]:
            bottom = max(bottom, RECEPTACLE_HEIGHT)
        while left < written.get(bottom, left):
            bottom += LINE_HEIGHT
        written[bottom] = right
        colour, weight = (palette.DARK_GREY, "bold") if obj in wanted else (palette.GREY, "normal")
        axes.text(y, bottom + 0.06, name, color=colour, fontweight=weight, ha="center", fontsize=FONT_SIZE)
