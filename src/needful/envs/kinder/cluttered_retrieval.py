"""ClutteredRetrieval2D: carry a block out of clutter into a region of the floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kinder.envs.kinematic2d.clutteredretrieval2d import ClutteredRetrieval2DEnv

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import (
    HAND_EMPTY,
    HOLDING,
    ROBOT_VARIABLE,
    TARGET_BLOCK,
    box_of,
    pick_operator,
    rectangle_of,
    release_operator,
    require_free,
    require_free_motion,
    require_held,
    uniform_model,
)
from needful.envs.kinder.bodies import CLEARANCE, overlap
from needful.envs.kinder.driving import carried_box, carrying_pose, drive, find_way, pick
from needful.envs.kinder.environment import RECTANGLE, ROBOT, KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.errors import EnvironmentFailure

REGION = Type("target_region", RECTANGLE.features)


def _inside(state: State, objects: Sequence[Object]) -> bool:
    block, region = (box_of(state, obj) for obj in objects)
    return region.contains(block)


INSIDE = Predicate("Inside", (TARGET_BLOCK, REGION), _inside)


def _pick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Grasp a block at a point of its four sides.

    Parameters: the point, from 0 to 4 (one unit per side), and the length of the arm, from 0 (retracted)
    to 1.
    """
    place, reach = parameters
    side = min(int(place), 3)
    return pick(room, state, objects[1], side, place - side, reach)


def _put_down(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block down, so far from other objects that the robot can pass between them.

    No object is reported to be in the way, because the block may lie anywhere: another place is easier to
    find than one that must be cleared first.

    Parameters: x and y of the block's centre, and the direction of the robot.
    """
    _, block = objects
    scene = room.scene(state)
    require_held(scene, block)
    goal = carrying_pose(scene, block, *parameters)
    box = carried_box(scene, block, goal)
    passage = 2 * scene.robot.retracted_radius
    for body in scene.bodies:
        if body.obj not in (None, block) and overlap(box, body.shape, passage):
            raise EnvironmentFailure(f"too close to {body.name}")
    if next(scene.collisions(goal, CLEARANCE), None) is not None:
        raise EnvironmentFailure("no space for the robot")
    way = find_way(room, scene, goal)
    if way is None:
        raise EnvironmentFailure("there is no way to the place")
    return (*way, Waypoint(goal, False))


def _deliver(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Carry a block to the middle of the region.

    Parameters: the direction of the robot, and how far it extends its arm, from 0 (not) to 1 (fully).
    """
    _, block, region = objects
    theta, reach = parameters
    scene = room.scene(state)
    require_held(scene, block)
    arm = scene.pose.arm + reach * (scene.robot.arm_length - scene.pose.arm)
    middle = rectangle_of(scene, region)
    ahead = arm - scene.pose.arm
    x, y = middle.x - ahead * math.cos(theta), middle.y - ahead * math.sin(theta)
    before = carrying_pose(scene, block, x, y, theta)
    require_free(scene, before)
    reached = (Waypoint(replace(before, arm=arm), True),)
    require_free_motion(scene.at(before, True), block, reached, room.limits)
    return (*drive(room, scene, before), *reached)


class ClutteredRetrieval2D(KinderEnvironment):
    """Carry a block out of clutter into a region of the floor."""

    family = "ClutteredRetrieval2D"
    description = "A robot carries a block out of clutter into a region of the floor."
    letter = "o"
    gym_class = ClutteredRetrieval2DEnv
    size_argument = "num_obstructions"
    training_sizes = (1, 8)
    types = (ROBOT, RECTANGLE, TARGET_BLOCK, REGION)
    predicates = (HAND_EMPTY, HOLDING, INSIDE)
    skills = (
        Skill("Pick", (ROBOT, RECTANGLE), _pick, (0.0, 0.0), (4.0, 1.0)),
        Skill("PutDown", (ROBOT, RECTANGLE), _put_down, (0.0, 0.0, -math.pi), (2.5, 2.5, math.pi)),
        Skill("Deliver", (ROBOT, TARGET_BLOCK, REGION), _deliver, (-math.pi, 0.0), (math.pi, 1.0)),
    )

    def goal(self, state: State) -> AbstractState:
        """Return the goal: the target block is inside the region."""
        (block,), (region,) = state.of_type(TARGET_BLOCK), state.of_type(REGION)
        return frozenset((INSIDE(block, region),))

    def oracle_model(self) -> PlanningModel:
        """Return a model with three operators.

        They do not describe which blocks are in the way; the planner learns this from failed actions.
        """
        pick_up, put_down, deliver = self.vocabulary.controllers
        block, region = Variable("?block", TARGET_BLOCK), Variable("?region", REGION)
        operators = (
            pick_operator(pick_up),
            release_operator("PutDown", put_down),
            oracle_operator(
                "Deliver",
                (ROBOT_VARIABLE, block, region),
                (deliver, (ROBOT_VARIABLE, block, region)),
                needs=[HOLDING.lifted(ROBOT_VARIABLE, block)],
                adds=[INSIDE.lifted(block, region)],
            ),
        )
        return uniform_model(self.vocabulary, operators)
