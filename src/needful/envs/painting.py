"""Painting: a robot cleans, dries and paints objects, then puts them into a box or on a shelf.

No predicate describes the lid of the box, so an abstract plan may fail because the lid is closed.
Objects in the box or on the shelf cannot be picked up again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController, Parameters
from needful.core.model import ConstantSampler, PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split, oracle_operator
from needful.envs.painting_scene import (
    BOX,
    BOX_RANGE,
    BOX_Y,
    CONTROLLERS,
    DRY,
    GRIPPER_OPEN,
    HOLDING,
    HOLDING_SIDE,
    HOLDING_TOP,
    IN_BOX,
    IN_SHELF,
    IS_BOX_COLOR,
    IS_CLEAN,
    IS_DIRTY,
    IS_DRY,
    IS_OPEN,
    IS_SHELF_COLOR,
    IS_WET,
    LID,
    NO_GRASP,
    NOT_ON_TABLE,
    OBJ,
    OBJ_RADIUS,
    ON_TABLE,
    OPEN_LID,
    PAINT,
    PICK,
    PLACE,
    POSE_TOLERANCE,
    PREDICATES,
    RESTING_Z,
    ROBOT,
    ROBOT_X,
    SCENE_X,
    SHELF,
    SHELF_RANGE,
    SHELF_Y,
    SIDE_GRASP_BELOW,
    TABLE_RANGE,
    TOP_GRASP_ABOVE,
    TYPES,
    WASH,
    draw_scene,
    lies_within,
)
from needful.errors import EnvironmentFailure, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_DISTANCE = 3.5 * OBJ_RADIUS
PALE, STRONG = (0.2, 0.4), (0.6, 1.0)
OPEN_LID_CHANCE = 0.3
HOLDING_CHANCE = 0.5

# The variables of the operators of the oracle model.
OBJ_VARIABLE, ROBOT_VARIABLE = Variable("?obj", OBJ), Variable("?robot", ROBOT)
BOX_VARIABLE, SHELF_VARIABLE, LID_VARIABLE = (
    Variable("?box", BOX),
    Variable("?shelf", SHELF),
    Variable("?lid", LID),
)


class Painting(Environment):
    """The Painting domain: a robot washes, dries and paints objects, then puts them in a box or on a shelf.

    Args:
        include_is_open: whether the vocabulary has the predicate IsOpen(lid), which the published domain
            lacks.
    """

    name = "painting"
    description = (
        "A robot washes, dries and paints things for a shelf and for a box whose lid may be closed."
    )
    picture_size = (12.0, 2.7)
    object_counts: ClassVar[Mapping[Split, Sequence[int]]] = {Split.TRAIN: (2, 3), Split.TEST: (3, 4)}

    def __init__(self, *, include_is_open: bool = False) -> None:
        self.include_is_open = include_is_open
        predicates = (*PREDICATES, IS_OPEN) if include_is_open else PREDICATES
        self.vocabulary = Vocabulary(TYPES, predicates, CONTROLLERS)

    def simulate(self, state: State, action: GroundController) -> State:
        """Open the lid, pick up an object, or wash, dry, paint or place the held object.

        Raises `EnvironmentFailure` if an object is to be placed into the box while the lid is closed.
        """
        if action.controller not in self.vocabulary.controllers:
            known = (controller.name for controller in self.vocabulary.controllers)
            raise UnknownNameError(f"controller of {self.name}", action.controller.name, known)
        robot = action.objects[0]
        match action.controller.name, held_object(state):
            case "OpenLid", _:
                return state.replace({action.objects[1]: {"is_open": 1.0}})
            case "Pick", None:
                return _pick(state, robot, action.objects[1], *action.parameters)
            case "Wash", Object() as held:
                dirtiness = max(state.get(held, "dirtiness") - 1.0, 0.0)
                return state.replace({held: {"wetness": 1.0, "dirtiness": dirtiness}})
            case "Dry", Object() as held:
                return state.replace({held: {"wetness": 0.0}})
            case "Paint", Object() as held:
                return _paint(state, held, *action.parameters)
            case "Place", Object() as held:
                return _place(state, robot, held, action.parameters)
            case _:
                return state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample a task: the last object belongs in the box, the others on the shelf.

        At the start one object may be held. All others lie on the table.
        """
        counts = self.object_counts[split]
        objs = [OBJ(f"obj{number}") for number in range(counts[index % len(counts)])]
        robot, lid = ROBOT("robby"), LID("box_lid")
        box, shelf = BOX("receptacle_box"), SHELF("receptacle_shelf")
        colors = rng.permutation([rng.uniform(*PALE), rng.uniform(*STRONG)])
        vectors: dict[Object, Sequence[float]] = {
            robot: (ROBOT_X, rng.uniform(*TABLE_RANGE), 1.0),
            box: (SCENE_X, BOX_Y, colors[0]),
            shelf: (SCENE_X, SHELF_Y, colors[1]),
            lid: (float(rng.random() < OPEN_LID_CHANCE),),
        }
        positions = _sample_positions(len(objs), rng)
        vectors |= {obj: _sample_obj(y, rng) for obj, y in zip(objs, positions, strict=True)}
        state = State(vectors)
        if rng.random() < HOLDING_CHANCE:
            held, grasp = objs[rng.integers(len(objs))], float(rng.integers(2))
            in_hand = {"grasp": grasp, "held": 1.0, "pose_y": state.get(robot, "pose_y")}
            state = state.replace({robot: {"fingers": 0.0}, held: in_hand})
        goal = {IN_BOX(objs[-1], box), IS_BOX_COLOR(objs[-1], box)}
        for obj in objs[:-1]:
            goal |= {IN_SHELF(obj, shelf), IS_SHELF_COLOR(obj, shelf)}
        return Task(state, frozenset(goal))

    def oracle_model(self) -> PlanningModel:
        """Return a model with eleven operators and their samplers.

        OpenLid has no effects unless the vocabulary has the predicate IsOpen.
        """
        operators = (
            _pick_operator("PickTop", HOLDING_TOP),
            _pick_operator("PickSide", HOLDING_SIDE),
            *_wash_and_dry_operators(),
            _paint_operator("PaintBox", BOX_VARIABLE, IS_BOX_COLOR),
            _paint_operator("PaintShelf", SHELF_VARIABLE, IS_SHELF_COLOR),
            _put_away_operator("PlaceBox", BOX_VARIABLE, HOLDING_TOP, IN_BOX),
            _put_away_operator("PlaceShelf", SHELF_VARIABLE, HOLDING_SIDE, IN_SHELF),
            oracle_operator(
                "OpenLid",
                (LID_VARIABLE, ROBOT_VARIABLE),
                (OPEN_LID, (ROBOT_VARIABLE, LID_VARIABLE)),
                needs=[GRIPPER_OPEN.lifted(ROBOT_VARIABLE)],
                adds=[IS_OPEN.lifted(LID_VARIABLE)] if self.include_is_open else [],
            ),
            _put_back_operator("PlaceTableSide", HOLDING_SIDE),
            _put_back_operator("PlaceTableTop", HOLDING_TOP),
        )
        samplers: dict[str, Sampler] = {
            "PickTop": ConstantSampler((1.0,)),
            "PickSide": ConstantSampler((0.0,)),
            "PaintBox": ReceptacleColorSampler(),
            "PaintShelf": ReceptacleColorSampler(),
            "PlaceBox": RangeSampler(BOX_RANGE),
            "PlaceShelf": RangeSampler(SHELF_RANGE),
            "PlaceTableSide": CurrentPoseSampler(),
            "PlaceTableTop": CurrentPoseSampler(),
        }
        return PlanningModel(self.vocabulary, operators, samplers)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the table, the box, the shelf and all objects, seen from the side."""
        draw_scene(state, axes, goal)


def held_object(state: State) -> Object | None:
    """Return the object in the gripper, or None; at most one object is held."""
    return next((obj for obj in state.of_type(OBJ) if HOLDING.holds(state, (obj,))), None)


def _pick(state: State, robot: Object, obj: Object, grasp: float) -> State:
    """Pick up an object from the table.

    `grasp` is between 0 (from the side) and 1 (from the top). A value near 0.5 is not a valid grasp:
    nothing happens.
    """
    grasp = min(max(grasp, 0.0), 1.0)
    ambiguous = SIDE_GRASP_BELOW <= grasp <= TOP_GRASP_ABOVE
    if ambiguous or not lies_within(state.get(obj, "pose_y"), TABLE_RANGE):
        return state
    return state.replace({robot: {"fingers": 0.0}, obj: {"grasp": grasp, "held": 1.0}})


def _paint(state: State, held: Object, color: float) -> State:
    """Paint the held object if it is dry and clean."""
    if IS_WET.holds(state, (held,)) or IS_DIRTY.holds(state, (held,)):
        return state
    return state.replace({held: {"color": min(max(color, 0.0), 1.0)}})


def _place(state: State, robot: Object, held: Object, pose: Parameters) -> State:
    """Place the held object at a pose in the box, on the shelf or on the table.

    The box requires a grasp from the top, the shelf a grasp from the side, and the table a free pose.
    Otherwise nothing happens.
    """
    x, y, _ = pose
    if lies_within(y, BOX_RANGE):
        closed = [lid for lid in state.of_type(LID) if state.get(lid, "is_open") < 0.5]
        if closed:
            raise EnvironmentFailure("the lid of the box is closed", closed)
        fits = HOLDING_TOP.holds(state, (held,))
    elif lies_within(y, SHELF_RANGE):
        fits = HOLDING_SIDE.holds(state, (held,))
    else:
        others = (obj for obj in state.of_type(OBJ) if obj != held)
        taken = any(_lies_at(state, obj, pose) for obj in others)
        fits = lies_within(y, TABLE_RANGE) and not taken
    if not fits:
        return state
    released = {"pose_x": x, "pose_y": y, "grasp": NO_GRASP, "held": 0.0}
    return state.replace({robot: {"fingers": 1.0}, held: released})


def _lies_at(state: State, obj: Object, pose: Parameters) -> bool:
    return all(abs(a - b) < POSE_TOLERANCE for a, b in zip(state[obj][:3], pose, strict=True))


def _sample_positions(count: int, rng: np.random.Generator) -> list[float]:
    """Sample y positions on the table that are more than `MIN_DISTANCE` apart."""
    positions: list[float] = []
    while len(positions) < count:
        y = rng.uniform(*TABLE_RANGE)
        if all(abs(y - other) > MIN_DISTANCE for other in positions):
            positions.append(y)
    return positions


def _sample_obj(y: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Sample the features of an object on the table: it is dirty, wet, or neither."""
    kind, amount = rng.integers(3), rng.uniform(0.5, 1.0)
    dirtiness, wetness = ((amount, 0.0), (0.0, amount), (0.0, 0.0))[kind]
    return (SCENE_X, y, RESTING_Z, dirtiness, wetness, 0.0, NO_GRASP, 0.0)


@dataclass(frozen=True, slots=True)
class ReceptacleColorSampler:
    """Returns the colour to paint with: the colour of the operator's second object (a box or a shelf)."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return one parameter: the colour of the second object, a box or a shelf."""
        return (state.get(objects[1], "color"),)


@dataclass(frozen=True, slots=True)
class RangeSampler:
    """Samples a pose for placing an operator's first object; y is uniform in the range `span`."""

    span: tuple[float, float]

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the pose x, y, z: the current x of the first object, a random y, and `RESTING_Z`."""
        return (state.get(objects[0], "pose_x"), rng.uniform(*self.span), RESTING_Z)


@dataclass(frozen=True, slots=True)
class CurrentPoseSampler:
    """Returns the current pose of an operator's first object, clipped to the bounds of Place."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the current x, y and z of the first object, clipped to the bounds of Place."""
        return PLACE.clip(state[objects[0]][:3])


def _pick_operator(name: str, holding: Predicate) -> Operator:
    gripper_open = GRIPPER_OPEN.lifted(ROBOT_VARIABLE)
    return oracle_operator(
        name,
        (OBJ_VARIABLE, ROBOT_VARIABLE),
        (PICK, (ROBOT_VARIABLE, OBJ_VARIABLE)),
        needs=[gripper_open, ON_TABLE.lifted(OBJ_VARIABLE)],
        adds=[HOLDING.lifted(OBJ_VARIABLE), holding.lifted(OBJ_VARIABLE)],
        deletes=[gripper_open],
    )


def _wash_and_dry_operators() -> tuple[Operator, Operator]:
    wet, dry, dirty = (
        IS_WET.lifted(OBJ_VARIABLE),
        IS_DRY.lifted(OBJ_VARIABLE),
        IS_DIRTY.lifted(OBJ_VARIABLE),
    )
    wash = oracle_operator(
        "Wash",
        (OBJ_VARIABLE, ROBOT_VARIABLE),
        (WASH, (ROBOT_VARIABLE,)),
        needs=[HOLDING.lifted(OBJ_VARIABLE), dry, dirty],
        adds=[wet, IS_CLEAN.lifted(OBJ_VARIABLE)],
        deletes=[dry, dirty],
    )
    dry_off = oracle_operator(
        "Dry",
        (OBJ_VARIABLE, ROBOT_VARIABLE),
        (DRY, (ROBOT_VARIABLE,)),
        needs=[HOLDING.lifted(OBJ_VARIABLE), wet],
        adds=[dry],
        deletes=[wet],
    )
    return wash, dry_off


def _paint_operator(name: str, receptacle: Variable, is_color: Predicate) -> Operator:
    return oracle_operator(
        name,
        (OBJ_VARIABLE, receptacle, ROBOT_VARIABLE),
        (PAINT, (ROBOT_VARIABLE,)),
        needs=[HOLDING.lifted(OBJ_VARIABLE), IS_DRY.lifted(OBJ_VARIABLE), IS_CLEAN.lifted(OBJ_VARIABLE)],
        adds=[is_color.lifted(OBJ_VARIABLE, receptacle)],
    )


def _put_away_operator(name: str, receptacle: Variable, holding: Predicate, inside: Predicate) -> Operator:
    held = [HOLDING.lifted(OBJ_VARIABLE), holding.lifted(OBJ_VARIABLE)]
    return oracle_operator(
        name,
        (OBJ_VARIABLE, receptacle, ROBOT_VARIABLE),
        (PLACE, (ROBOT_VARIABLE,)),
        needs=held,
        adds=[
            inside.lifted(OBJ_VARIABLE, receptacle),
            GRIPPER_OPEN.lifted(ROBOT_VARIABLE),
            NOT_ON_TABLE.lifted(OBJ_VARIABLE),
        ],
        deletes=[*held, ON_TABLE.lifted(OBJ_VARIABLE)],
    )


def _put_back_operator(name: str, holding: Predicate) -> Operator:
    held = [HOLDING.lifted(OBJ_VARIABLE), holding.lifted(OBJ_VARIABLE)]
    return oracle_operator(
        name,
        (OBJ_VARIABLE, ROBOT_VARIABLE),
        (PLACE, (ROBOT_VARIABLE,)),
        needs=[*held, ON_TABLE.lifted(OBJ_VARIABLE)],
        adds=[GRIPPER_OPEN.lifted(ROBOT_VARIABLE)],
        deletes=held,
    )
