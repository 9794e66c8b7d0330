"""Predicates, checks, samplers and operators for environments in which the robot grasps objects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from needful.core.atoms import AbstractState, LiftedAtom, Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Pose, Scene, make_scene
from needful.envs.kinder.environment import RECTANGLE, ROBOT, KinderEnvironment
from needful.envs.kinder.motion import StepLimits, Waypoints, steps
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

    The `offending` objects of the failure are all objects that the motion hits or that suction holds by
    accident. If the motion also hits a wall or a table, the failure has no `offending` objects, because
    the wall or table would still be in the way after their removal.
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

    If all these bodies are movable, their objects are the `offending` objects of the failure.
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

    With the bounds of a controller, the controller's initiation test rejects most of the draws.
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
    """Return the oracle operator of a controller that grasps an object.

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
    """Return the oracle operator of a controller that puts an object down.

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
        """Return a model whose samplers draw uniformly from the bounds of the controllers.

        Its operators do not describe which blocks are in the way; the planner learns this from failed
        actions.
        """
        target = Variable("?target", self.at_target.types[1])
        operators = self.oracle_operators(self.at_target.lifted(TARGET_BLOCK_VARIABLE, target))
        return uniform_model(self.vocabulary, operators)

    @abstractmethod
    def oracle_operators(self, at_target: LiftedAtom) -> tuple[Operator, ...]:
        """Return the operators of the oracle.

        `at_target` is the goal predicate, applied to `TARGET_BLOCK_VARIABLE` and a variable for the target.
        """
