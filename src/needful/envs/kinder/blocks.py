"""Parts of environments in which the robot grasps blocks: predicates, checks, skills, samplers, operators.

The skills are those of a robot that drives between blocks: it grasps a block at any side, and carries it to
a place.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from needful.core.atoms import AbstractState, LiftedAtom, Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Pose, Scene, carry, make_scene
from needful.envs.kinder.environment import RECTANGLE, ROBOT, KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import StepLimits, Waypoint, Waypoints, steps
from needful.envs.kinder.pose_lattice import PoseLattice
from needful.errors import EnvironmentFailure

TARGET_BLOCK = Type("target_block", RECTANGLE.features, RECTANGLE)


def _held(state: State) -> list[Object | None]:
    return [body.obj for body in make_scene(state, ()).held()]


def _hand_empty(state: State, objects: Sequence[Object]) -> bool:
    return not _held(state)


def is_held(state: State, objects: Sequence[Object]) -> bool:
    """Return whether the robot (the first object) holds the second object."""
    return objects[1] in _held(state)


HAND_EMPTY = Predicate("HandEmpty", (ROBOT,), _hand_empty)
HOLDING = Predicate("Holding", (ROBOT, RECTANGLE), is_held)


def box_of(state: State, obj: Object) -> Box:
    """Return the rectangle of an object of type `rectangle`, or of another type with the same features."""
    x, y, theta, *_, width, height = state[obj]
    return Box.from_corner(x, y, width, height, theta)


def rectangle_of(scene: Scene, obj: Object) -> Box:
    """Return the rectangle of an object; if it consists of several rectangles, return the first one."""
    shape = next(body.shape for body in scene.bodies if body.obj == obj)
    assert isinstance(shape, Box)
    return shape


def require_empty_hand(scene: Scene) -> None:
    """Raise `EnvironmentFailure` if the robot holds something."""
    if scene.held():
        raise EnvironmentFailure("the hand is not empty")


def require_held(scene: Scene, block: Object) -> None:
    """Raise `EnvironmentFailure` unless the robot holds the block and nothing else."""
    if {body.obj for body in scene.held()} != {block}:
        raise EnvironmentFailure(f"the robot does not hold {block.name}, or not only {block.name}")


def require_free(scene: Scene, pose: Pose) -> None:
    """Raise `EnvironmentFailure` if the robot or a held object would collide after a move to `pose`."""
    require_none(scene.collisions(pose, CLEARANCE))


def require_free_motion(scene: Scene, block: Object, waypoints: Waypoints, limits: StepLimits) -> None:
    """Raise `EnvironmentFailure` if the motion collides, or if suction holds an object other than `block`.

    `offending` of the failure lists the objects that a plan should remove first: those that the motion hits
    or that suction holds by accident. If the motion also hits a wall or a table, the list is empty, because
    the wall or table would still be in the way.
    """
    # Test the last pose first, because this is fast: most motions that fail end in a wall, and a test of
    # the whole motion has to check many poses.
    last = tuple(scene.collisions(waypoints[-1].pose, CLEARANCE))
    if not all(body.movable for body in last):
        require_none(last)
    hit: dict[str, Body] = {}
    for step in steps(scene, waypoints, limits):
        if step.pose != scene.pose:
            accidental = [body for body in scene.held() if body.obj != block]
            hit.update((body.name, body) for body in accidental)
            if accidental:
                break
            hit.update((body.name, body) for body in scene.collisions(step.pose, CLEARANCE))
        scene = scene.at(step.pose, step.vacuum)
    require_none(hit.values())


def require_none(hit: Iterable[Body]) -> None:
    """Raise `EnvironmentFailure` if `hit`, the bodies in the way, is not empty.

    If all these bodies are movable, `offending` of the failure lists their objects, so that the planner can
    remove them first. Otherwise, it is empty.
    """
    bodies = tuple(hit)
    if not bodies:
        return
    names = ", ".join(sorted({body.name for body in bodies}))
    movable = [body.obj for body in bodies if body.movable and body.obj is not None]
    raise EnvironmentFailure(f"in the way: {names}", movable if len(movable) == len(bodies) else ())


@dataclass(frozen=True, slots=True)
class UniformSampler:
    """Draws parameters uniformly from bounds.

    If the bounds are those of a controller, the controller's initiation test rejects most of the draws.
    """

    low: Parameters
    high: Parameters

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return parameters within the bounds."""
        return tuple(rng.uniform(self.low, self.high).tolist())


ROBOT_VARIABLE = Variable("?robot", ROBOT)
BLOCK_VARIABLE = Variable("?block", RECTANGLE)
TARGET_BLOCK_VARIABLE = Variable("?block", TARGET_BLOCK)


def pick_operator(
    controller: Controller,
    thing: Variable,
    leaves: Iterable[LiftedAtom] = (),
    holding: Predicate = HOLDING,
) -> Operator:
    """Return the hand-written operator of a controller that grasps an object.

    `thing` is the variable of this object. The atoms in `leaves` are delete effects: they are false after
    the object left its place.
    """
    empty, parameters = HAND_EMPTY.lifted(ROBOT_VARIABLE), [ROBOT_VARIABLE, thing]
    left = tuple(leaves)
    for atom in left:
        parameters += [variable for variable in atom.variables if variable not in parameters]
    return oracle_operator(
        controller.name,
        parameters,
        (controller, (ROBOT_VARIABLE, thing)),
        needs=[empty],
        adds=[holding.lifted(ROBOT_VARIABLE, thing)],
        deletes=[empty, *left],
    )


def release_operator(controller: Controller, thing: Variable, *target: LiftedAtom) -> Operator:
    """Return the hand-written operator of a controller that puts an object down.

    `thing` is the variable of this object. If a `target` atom is given, it is an add effect, and its
    variables are arguments of the operator and of the controller.
    """
    holding = HOLDING.lifted(ROBOT_VARIABLE, thing)
    parameters = (ROBOT_VARIABLE, *(target[0].variables if target else (thing,)))
    return oracle_operator(
        controller.name,
        parameters,
        (controller, parameters),
        needs=[holding],
        adds=[*target, HAND_EMPTY.lifted(ROBOT_VARIABLE)],
        deletes=[holding],
    )


def uniform_model(vocabulary: Vocabulary, operators: Sequence[Operator]) -> PlanningModel:
    """Return a hand-written model whose samplers draw uniformly from the bounds of the controllers."""
    samplers = {one.name: UniformSampler(one.controller.low, one.controller.high) for one in operators}
    return PlanningModel(vocabulary, tuple(operators), samplers)


class BlocksEnvironment(KinderEnvironment):
    """An environment in which the robot brings all target blocks to a target, such as a shelf.

    Attributes:
        at_target: the predicate of the goal. Its arguments are a target block and the target.
    """

    at_target: ClassVar[Predicate]

    def __init_subclass__(cls) -> None:
        cls.types = (ROBOT, RECTANGLE, *cls.at_target.types)
        cls.predicates = (HAND_EMPTY, HOLDING, cls.at_target)

    def goal(self, state: State) -> AbstractState:
        """Return the goal: all target blocks are at the target."""
        _, kind = self.at_target.types
        (target,) = state.of_type(kind)
        return frozenset(self.at_target(block, target) for block in state.of_type(TARGET_BLOCK))

    def oracle_model(self) -> PlanningModel:
        """Return a hand-written model; its samplers draw uniformly from the bounds of the controllers.

        Its operators do not describe which blocks are in the way; the planner learns this from failed
        actions.
        """
        target = Variable("?target", self.at_target.types[1])
        operators = self.oracle_operators(self.at_target.lifted(TARGET_BLOCK_VARIABLE, target))
        return uniform_model(self.vocabulary, operators)

    @abstractmethod
    def oracle_operators(self, at_target: LiftedAtom) -> tuple[Operator, ...]:
        """Return the hand-written operators.

        `at_target` is the goal predicate, applied to `TARGET_BLOCK_VARIABLE` and a variable for the target.
        """


def pick(room: Room, state: State, block: Object, side: int, place: float, reach: float) -> Waypoints:
    """Return the motion that grasps a block at a side, and then pulls the block towards the base.

    Args:
        room: the walls, tables and limits.
        state: the state before the motion.
        block: the block to grasp.
        side: the side of the block. The sides 0 and 2 run along its width, 1 and 3 along its height.
        place: the position of the gripper along this side, from 0 (one end) to 1 (the other end).
        reach: the length of the arm when the gripper is at the block, from 0 (retracted) to 1 (extended).
    """
    scene = room.scene(state)
    require_empty_hand(scene)
    robot = scene.robot
    arm = robot.base_radius + reach * (robot.arm_length - robot.base_radius)
    grasp = _grasp(rectangle_of(scene, block), side, place, arm, arm + 1.5 * robot.gripper_width)
    before = replace(grasp, arm=robot.base_radius)
    require_free(scene, before)
    reached = (Waypoint(grasp), Waypoint(grasp, True))
    require_free_motion(replace(scene, pose=before), block, reached, room.limits)
    grasped = scene.at(grasp, True)
    if {body.obj for body in grasped.held()} != {block}:
        others = [body.obj for body in grasped.held() if body.obj is not None and body.obj != block]
        raise EnvironmentFailure(f"the gripper would not hold {block.name} alone", others)
    pulled = Waypoint(replace(grasp, arm=_shortest_arm(grasped)), True)
    return (*drive(room, scene, before, block), *reached, pulled)


def pick_skill(kind: Type, sides: tuple[int, ...]) -> Skill:
    """Return the skill `Pick`, which grasps a block of the given type at one of the given sides.

    The first parameter is the point to grasp. Its integer part selects one of `sides`, and its fractional
    part is the position along this side. The second parameter is the length of the arm, from 0 (retracted)
    to 1 (extended).
    """
    return Skill("Pick", (ROBOT, kind), partial(_pick_at, sides), (0.0, 0.0), (float(len(sides)), 1.0))


def _pick_at(
    sides: tuple[int, ...], room: Room, state: State, objects: Sequence[Object], parameters: Parameters
) -> Waypoints:
    place, reach = parameters
    number = min(int(place), len(sides) - 1)
    return pick(room, state, objects[1], sides[number], place - number, reach)


def _grasp(box: Box, side: int, place: float, arm: float, distance: float) -> Pose:
    """Return the pose from which the robot grasps a rectangle at a point on one of its sides.

    The base is at `distance` from this point, and the arm points to it, perpendicular to the side. `place`
    is the position of the point along the side, from 0 to 1.
    """
    turn = (1 - side) * math.pi / 2  # direction from this side to the centre, in the rectangle's frame
    length, depth = (
        (box.half_width, box.half_height) if side % 2 == 0 else (box.half_height, box.half_width)
    )
    theta = math.atan2(box.sin, box.cos) + turn
    cos, sin = math.cos(theta), math.sin(theta)
    aside = (2 * place - 1) * length
    x = box.x - (depth + distance) * cos + aside * sin
    y = box.y - (depth + distance) * sin - aside * cos
    return Pose(x, y, theta, arm)


def _shortest_arm(scene: Scene) -> float:
    """Return the shortest arm length to which the robot can pull the held objects without a collision."""
    arm, least = scene.pose.arm, scene.robot.base_radius
    while arm > least:
        shorter = max(arm - scene.robot.gripper_width, least)
        if next(scene.collisions(replace(scene.pose, arm=shorter), CLEARANCE), None) is not None:
            break
        arm = shorter
    return arm


def carrying_pose(scene: Scene, block: Object, x: float, y: float, theta: float) -> Pose:
    """Return the pose of the robot, with direction `theta`, at which a held block is centred on (x, y)."""
    there = carry(rectangle_of(scene, block), scene.pose, replace(scene.pose, x=0.0, y=0.0, theta=theta))
    return Pose(x - there.x, y - there.y, theta, scene.pose.arm)


def carried_box(scene: Scene, block: Object, pose: Pose) -> Box:
    """Return the rectangle that a held block covers when the robot is at `pose`."""
    box = carry(rectangle_of(scene, block), scene.pose, pose)
    assert isinstance(box, Box)
    return box


def find_way(room: Room, scene: Scene, goal: Pose) -> Waypoints | None:
    """Return a motion to `goal`, or None if there is no path; `goal` itself must be free of collisions.

    If suction is off and the arm is longer than in `goal`, the robot first retracts it to this length.
    """
    start = _retracted(scene, goal)
    path = _lattice(room, start).path(goal)
    if path is None:
        return None
    retract = () if start is scene else (Waypoint(start.pose),)
    return (*retract, *(Waypoint(pose, scene.vacuum) for pose in path))


def drive(room: Room, scene: Scene, goal: Pose, kept: Object | None = None) -> Waypoints:
    """Return the motion of `find_way`; raise `EnvironmentFailure` if there is no path.

    The failure names the objects that block the path. It never names `kept`, the object that the robot
    drives to, because a plan cannot move this object out of the way.
    """
    way = find_way(room, scene, goal)
    if way is None:
        obstacles = _lattice(room, _retracted(scene, goal)).path_obstacles(goal, kept)
        raise EnvironmentFailure("there is no way to the pose", obstacles)
    return way


def _retracted(scene: Scene, goal: Pose) -> Scene:
    """Return the scene after the robot retracted its arm to the arm length of `goal`.

    The scene does not change if suction is on or if the arm is not longer than in `goal`.
    """
    if scene.vacuum or scene.pose.arm <= goal.arm:
        return scene
    return replace(scene, pose=replace(scene.pose, arm=goal.arm))


# Cached, because skills are planned several times in the same state: with other parameters, or when a plan
# is checked.
@lru_cache(maxsize=32)
def _lattice(room: Room, scene: Scene) -> PoseLattice:
    return PoseLattice(scene, room.limits, room.bounds)
