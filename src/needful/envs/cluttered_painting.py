"""Cluttered Painting: Painting with a robot that must move to the objects it works on.

The table holds many objects that are not part of the goal. Each move changes which of them are in reach of
the robot. A plan need not predict these changes. It only relies on the fact that a held object stays next
to the robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController, Parameters
from needful.core.model import PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Split, oracle_operator
from needful.envs.painting import (
    BOX_VARIABLE,
    OBJ_VARIABLE,
    ROBOT_VARIABLE,
    SHELF_VARIABLE,
    CurrentPoseSampler,
    Painting,
    held_object,
)
from needful.envs.painting_scene import (
    BOX,
    GRIPPER_OPEN,
    HIGHEST_Y,
    HOLDING,
    LOWEST_Y,
    NOT_ON_TABLE,
    OBJ,
    ON_TABLE,
    RESTING_Z,
    ROBOT,
    SHELF,
    TABLE_RANGE,
    draw_robot,
    lies_within,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REACH = 1.0
# An object that is held in the initial state is lifted from the table by this height.
LIFT_HEIGHT = 1.0


def _next_to(state: State, objects: Sequence[Object]) -> bool:
    robot, other = objects
    return abs(state.get(robot, "pose_y") - state.get(other, "pose_y")) < REACH


def _next_to_table(state: State, objects: Sequence[Object]) -> bool:
    (robot,) = objects
    return lies_within(state.get(robot, "pose_y"), TABLE_RANGE)


NEXT_TO = Predicate("NextTo", (ROBOT, OBJ), _next_to)
NEXT_TO_BOX = Predicate("NextToBox", (ROBOT, BOX), _next_to)
NEXT_TO_SHELF = Predicate("NextToShelf", (ROBOT, SHELF), _next_to)
NEXT_TO_TABLE = Predicate("NextToTable", (ROBOT,), _next_to_table)

# The parameter of a move controller is the y position to move to. The second object shows learners what the
# robot moves to; the simulator ignores this object.
MOVE_TO_OBJ = Controller("MoveToObj", (ROBOT, OBJ), low=(LOWEST_Y,), high=(HIGHEST_Y,))
MOVE_TO_BOX = Controller("MoveToBox", (ROBOT, BOX), low=(LOWEST_Y,), high=(HIGHEST_Y,))
MOVE_TO_SHELF = Controller("MoveToShelf", (ROBOT, SHELF), low=(LOWEST_Y,), high=(HIGHEST_Y,))


class ClutteredPainting(Painting):
    """The Cluttered Painting domain: Painting with more objects and a robot that must move."""

    name = "cluttered-painting"
    description = (
        "Painting among many objects, with a robot that must first move to the objects it handles."
    )
    object_counts: ClassVar[Mapping[Split, Sequence[int]]] = {
        Split.TRAIN: (8, 9, 10),
        Split.TEST: (11, 12, 13),
    }

    def __init__(self, *, include_is_open: bool = False) -> None:
        super().__init__(include_is_open=include_is_open)
        shared = self.vocabulary
        self.vocabulary = Vocabulary(
            shared.types,
            (*shared.predicates, NEXT_TO, NEXT_TO_BOX, NEXT_TO_SHELF, NEXT_TO_TABLE),
            (*shared.controllers, MOVE_TO_OBJ, MOVE_TO_BOX, MOVE_TO_SHELF),
        )

    def simulate(self, state: State, action: GroundController) -> State:
        """Run a controller of this domain.

        Pick does nothing if the object is out of the robot's reach. Place does nothing if the pose is out
        of reach.
        """
        match action.controller.name:
            case "MoveToObj" | "MoveToBox" | "MoveToShelf":
                return _move(state, action.objects[0], *action.parameters)
            case "Pick" if not _next_to(state, action.objects):
                return state
            case "Place":
                # Check the reach afterwards, so that placing into a closed box raises an error even if the
                # box is out of reach.
                after = super().simulate(state, action)
                return _after_placing(state, after, action)
            case _:
                return super().simulate(state, action)

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample a task of Painting, and keep only the goal atoms of the first and the last object."""
        task = super().sample_task(split, index, rng)
        state, held = task.initial_state, held_object(task.initial_state)
        if held is not None:
            state = state.replace({held: {"pose_z": state.get(held, "pose_z") + LIFT_HEIGHT}})
        last = len(state.of_type(OBJ)) - 1
        wanted = {OBJ("obj0"), OBJ(f"obj{last}")}
        return Task(state, frozenset(atom for atom in task.goal if atom.objects[0] in wanted))

    def oracle_model(self) -> PlanningModel:
        """Return the operators of Painting and three move operators.

        All operators of Painting except OpenLid get the precondition that the robot is next to the object.
        """
        painting = super().oracle_model()
        operators = tuple(map(_with_reach_precondition, painting.operators))
        samplers: dict[str, Sampler] = {
            **painting.samplers,
            "PlaceTableSide": ReachableTableSampler(),
            "PlaceTableTop": ReachableTableSampler(),
            "MoveToObj": TargetPositionSampler(),
            "MoveToBox": TargetPositionSampler(),
            "MoveToShelf": TargetPositionSampler(),
        }
        return PlanningModel(self.vocabulary, operators + _move_operators(), samplers)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the scene of Painting, and the robot with a list of the things it is next to."""
        super().draw(state, axes, goal)
        for robot in state.of_type(ROBOT):
            near = [
                obj.name for obj in state if obj.type in (OBJ, BOX, SHELF) and _next_to(state, (robot, obj))
            ]
            if _next_to_table(state, (robot,)):
                near.append("table")
            draw_robot(state, axes, robot, REACH, near)


def _move(state: State, robot: Object, y: float) -> State:
    """Move the robot, together with the held object if there is one, to the position `y`."""
    held = held_object(state)
    movers = (robot,) if held is None else (robot, held)
    return state.replace({mover: {"pose_y": y} for mover in movers})


def _after_placing(state: State, after: State, action: GroundController) -> State:
    """Return the state after the controller Place.

    `state` is the state before Place, and `after` the result of Place in the Painting domain. If nothing
    was placed, or the pose is out of reach, the result is `state`. Otherwise it is `after` with another
    height of the placed object: the resting height if it is on the table, else the z parameter of Place.
    """
    held = held_object(state)
    (robot,), (_, y, z) = action.objects, action.parameters
    if held is None or held_object(after) or abs(state.get(robot, "pose_y") - y) >= REACH:
        return state
    return after.replace({held: {"pose_z": RESTING_Z if lies_within(y, TABLE_RANGE) else z}})


@dataclass(frozen=True, slots=True)
class ReachableTableSampler:
    """Samples a pose on the table that the robot can reach, for the operators that place on the table."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return a random pose on the table, within the robot's reach.

        If the robot is not next to the table, return the current pose of the held object.
        """
        obj, robot = objects
        if not _next_to_table(state, (robot,)):
            return CurrentPoseSampler().sample(state, objects, rng)
        y = state.get(robot, "pose_y")
        low, high = TABLE_RANGE
        reachable = (max(low, y - REACH), min(high, y + REACH))
        return (state.get(obj, "pose_x"), rng.uniform(*reachable), RESTING_Z)


@dataclass(frozen=True, slots=True)
class TargetPositionSampler:
    """Returns the y position of the object that a move operator moves to (its second object)."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the target's y position, without using random numbers."""
        return (state.get(objects[1], "pose_y"),)


def _with_reach_precondition(operator: Operator) -> Operator:
    """Adapt an operator of Painting to this domain: the robot must be next to the object.

    The effects on OnTable also change. In Painting, an object stops being on the table when it is placed in
    the box or on the shelf. In this domain, it stops when the robot carries it away. OpenLid is returned
    unchanged.
    """
    needs = operator.preconditions | {NEXT_TO.lifted(ROBOT_VARIABLE, OBJ_VARIABLE)}
    on_table, off_table = {ON_TABLE.lifted(OBJ_VARIABLE)}, {NOT_ON_TABLE.lifted(OBJ_VARIABLE)}
    match operator.name:
        case "OpenLid":
            return operator
        case "PlaceBox" | "PlaceShelf" as name:
            beside_box = NEXT_TO_BOX.lifted(ROBOT_VARIABLE, BOX_VARIABLE)
            beside_shelf = NEXT_TO_SHELF.lifted(ROBOT_VARIABLE, SHELF_VARIABLE)
            return replace(
                operator,
                preconditions=needs | {beside_box if name == "PlaceBox" else beside_shelf},
                add_effects=operator.add_effects - off_table,
                delete_effects=operator.delete_effects - on_table,
            )
        case "PlaceTableSide" | "PlaceTableTop":
            return replace(
                operator,
                preconditions=(needs - on_table) | {NEXT_TO_TABLE.lifted(ROBOT_VARIABLE)},
                add_effects=operator.add_effects | on_table,
                delete_effects=operator.delete_effects | off_table,
            )
        case _:
            return replace(operator, preconditions=needs)


def _move_operators() -> tuple[Operator, ...]:
    move_to_obj = oracle_operator(
        "MoveToObj",
        (ROBOT_VARIABLE, OBJ_VARIABLE),
        (MOVE_TO_OBJ, (ROBOT_VARIABLE, OBJ_VARIABLE)),
        needs=[GRIPPER_OPEN.lifted(ROBOT_VARIABLE), ON_TABLE.lifted(OBJ_VARIABLE)],
        adds=[NEXT_TO.lifted(ROBOT_VARIABLE, OBJ_VARIABLE), NEXT_TO_TABLE.lifted(ROBOT_VARIABLE)],
        forgets=[NEXT_TO, NEXT_TO_BOX, NEXT_TO_SHELF],
    )
    return (
        move_to_obj,
        _carry_operator("MoveToBox", MOVE_TO_BOX, BOX_VARIABLE, NEXT_TO_BOX),
        _carry_operator("MoveToShelf", MOVE_TO_SHELF, SHELF_VARIABLE, NEXT_TO_SHELF),
    )


def _carry_operator(name: str, move: Controller, target: Variable, beside: Predicate) -> Operator:
    """Return an operator that moves the robot, with a held object, to `target` (the box or the shelf).

    After the move, the robot is next to `target` and to the held object. The operator does not predict
    which other objects the robot is next to.
    """
    next_to = NEXT_TO.lifted(ROBOT_VARIABLE, OBJ_VARIABLE)
    return oracle_operator(
        name,
        (ROBOT_VARIABLE, target, OBJ_VARIABLE),
        (move, (ROBOT_VARIABLE, target)),
        needs=[next_to, HOLDING.lifted(OBJ_VARIABLE)],
        adds=[beside.lifted(ROBOT_VARIABLE, target), next_to, NOT_ON_TABLE.lifted(OBJ_VARIABLE)],
        deletes=[NEXT_TO_TABLE.lifted(ROBOT_VARIABLE), ON_TABLE.lifted(OBJ_VARIABLE)],
        forgets=[NEXT_TO],
    )
