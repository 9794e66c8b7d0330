"""Builds states of the painting domains."""

from __future__ import annotations

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.painting_vocabulary import BOX, LID, OBJ, ROBOT, SHELF

ROBBY, THE_LID = ROBOT("robby"), LID("box_lid")
THE_BOX, THE_SHELF = BOX("receptacle_box"), SHELF("receptacle_shelf")
OBJ0, OBJ1, OBJ2 = OBJ("obj0"), OBJ("obj1"), OBJ("obj2")

# How a grasp from the side, from the top and none at all are written in a state.
SIDE, TOP, NONE = 0.0, 1.0, 0.5


def thing(y: float = -5.0, *, grasp: float = NONE, **features: float) -> tuple[float, ...]:
    """Return an object's features: dry, clean and unpainted at rest, but for what is given."""
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
    """Return a state of objects given by their features; the box is pale, the shelf strong in colour."""
    held = OBJ.features.index("held")
    fingers = 1.0 - max((obj[held] for obj in objs), default=0.0)
    vectors: dict[Object, tuple[float, ...]] = {OBJ(f"obj{number}"): obj for number, obj in enumerate(objs)}
    return State(
        vectors
        | {
            ROBBY: (1.15, robot_y, fingers),
            THE_BOX: (1.65, 0.5, 0.3),
            THE_SHELF: (1.65, 1.975, 0.8),
            THE_LID: (float(lid_open),),
        }
    )
