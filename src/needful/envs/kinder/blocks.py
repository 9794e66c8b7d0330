"""Parts of the environments in which the robot grasps blocks: predicates, checks, samplers, operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Pose, Scene, make_scene
from needful.envs.kinder.environment import RECTANGLE, ROBOT
from needful.envs.kinder.motion import StepLimits, Waypoints, steps
from needful.errors import EnvironmentFailure

TARGET_BLOCK = Type("target_block", RECTANGLE.features, RECTANGLE)


def _held(state: State) -> list[Object | None]:
    return [body.obj for body in make_scene(state, ()).held()]


def _hand_empty(state: State, objects: Sequence[Object]) -> bool:
    return not _held(state)


def _holding(state: State, objects: Sequence[Object]) -> bool:
    return objects[1] in _held(state)


HAND_EMPTY = Predicate("HandEmpty", (ROBOT,), _hand_empty)
HOLDING = Predicate("Holding", (ROBOT, RECTANGLE), _holding)


def box_of(state: State, obj: Object) -> Box:
    """Return the rectangle of an object of type `rectangle`, or of another type with the same features."""
    x, y, theta, *_, width, height = state[obj]
    return Box.from_corner(x, y, width, height, theta)


def rectangle_of(scene: Scene, obj: Object) -> Box:
    """Return the rectangle of an object."""
    shape = next(body.shape for body in scene.bodies if body.obj == obj)
    assert isinstance(shape, Box)
    return shape


def require_empty_hand(scene: Scene) -> None:
    """Raise `EnvironmentFailure` if the robot holds something."""
    if scene.held():
        raise EnvironmentFailure("the hand is not empty")


def require_held(scene: Scene, block: Object) -> None:
    """Raise `EnvironmentFailure` unless the robot holds the block and nothing else."""
    if [body.obj for body in scene.held()] != [block]:
        raise EnvironmentFailure(f"the robot does not hold {block.name}, or not only {block.name}")


def require_free(scene: Scene, pose: Pose) -> None:
    """Raise `EnvironmentFailure` if the robot or a held object would touch something at a pose."""
    require_none(scene.collisions(pose, CLEARANCE))


def require_free_motion(scene: Scene, block: Object, waypoints: Waypoints, limits: StepLimits) -> None:
    """Raise `EnvironmentFailure` unless the motion is free and suction holds no object except `block`.

    The `offending` objects of the failure are all objects in the way. If a wall or a table is also in the
    way, there are none, because removing the objects would not help.
    """
    # Test the last pose first: most motions that fail end in a wall, and a motion has many poses.
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
    """Raise `EnvironmentFailure` if there are bodies in the way.

    If all of them are movable, they are the `offending` objects of the failure.
    """
    bodies = tuple(hit)
    if not bodies:
        return
    names = ", ".join(sorted({body.name for body in bodies}))
    movable = [body.obj for body in bodies if body.movable and body.obj is not None]
    raise EnvironmentFailure(f"in the way: {names}", movable if len(movable) == len(bodies) else ())


@dataclass(frozen=True, slots=True)
class UniformSampler:
    """Draws parameters uniformly from a controller's bounds; the initiation test rejects most draws."""

    controller: Controller

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return parameters within the bounds of the controller."""
        return tuple(rng.uniform(self.controller.low, self.controller.high).tolist())


ROBOT_VARIABLE = Variable("?robot", ROBOT)


def pick_operator(controller: Controller, kind: Type = RECTANGLE) -> Operator:
    """Return the oracle operator of a controller that grasps a block."""
    block = Variable("?block", kind)
    pair = (ROBOT_VARIABLE, block)
    return oracle_operator(
        "Pick",
        pair,
        (controller, pair),
        needs=[HAND_EMPTY.lifted(ROBOT_VARIABLE)],
        adds=[HOLDING.lifted(*pair)],
        deletes=[HAND_EMPTY.lifted(ROBOT_VARIABLE)],
    )


def release_operator(name: str, controller: Controller, kind: Type = RECTANGLE) -> Operator:
    """Return the oracle operator of a controller that puts a block down."""
    block = Variable("?block", kind)
    pair = (ROBOT_VARIABLE, block)
    return oracle_operator(
        name,
        pair,
        (controller, pair),
        needs=[HOLDING.lifted(*pair)],
        adds=[HAND_EMPTY.lifted(ROBOT_VARIABLE)],
        deletes=[HOLDING.lifted(*pair)],
    )


def uniform_model(vocabulary: Vocabulary, operators: Sequence[Operator]) -> PlanningModel:
    """Return a hand-written model whose samplers draw uniformly from the bounds of the controllers."""
    samplers = {one.name: UniformSampler(one.controller) for one in operators}
    return PlanningModel(vocabulary, tuple(operators), samplers)
