"""States of the painting domains for tests."""

from __future__ import annotations

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.painting_scene import BOX, LID, OBJ, ROBOT, SHELF

ROBBY, LID_OBJECT = ROBOT("robby"), LID("box_lid")
BOX_OBJECT, SHELF_OBJECT = BOX("receptacle_box"), SHELF("receptacle_shelf")
OBJ0, OBJ1, OBJ2 = OBJ("obj0"), OBJ("obj1"), OBJ("obj2")

# Values of the feature `grasp`: from the side, from the top, not held.
SIDE, TOP, NONE = 0.0, 1.0, 0.5


def thing(y: float = -5.0, *, grasp: float = NONE, **features: float) -> tuple[float, ...]:
    """Return the features of an object: by default dry, clean, unpainted and at rest."""
    values = {
        "pose_x": 1.65,
        "pose_y": y,
        "pose_z": 0.265,
        "dirtiness": 0.0,
        "wetness": 0.0,
        "color": 0.0,
        "grasp": grasp,
        "held": float(grasp != NONE),
    }
    return tuple((values | features).values())


def scene(*objs: tuple[float, ...], robot_y: float = -5.0, lid_open: bool = True) -> State:
    """Return a state with the given objects; the box has a pale colour, the shelf a strong one."""
    held = OBJ.features.index("held")
    fingers = 1.0 - max((obj[held] for obj in objs), default=0.0)
    vectors: dict[Object, tuple[float, ...]] = {OBJ(f"obj{number}"): obj for number, obj in enumerate(objs)}
    return State(
        vectors
        | {
            ROBBY: (1.15, robot_y, fingers),
            BOX_OBJECT: (1.65, 0.5, 0.3),
            SHELF_OBJECT: (1.65, 1.975, 0.8),
            LID_OBJECT: (float(lid_open),),
        }
    )
