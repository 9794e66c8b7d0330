"""The scene, types, predicates and controllers of Painting and Cluttered Painting.

Table, box and shelf stand in a row along the y axis, so ranges of y describe most of the geometry.
"""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.objects import Object, Type
from needful.core.state import State

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
