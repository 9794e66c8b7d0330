"""ClutteredRetrieval2D: carry a block out of clutter into a region of the floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kinder.envs.kinematic2d.clutteredretrieval2d import ClutteredRetrieval2DEnv

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Parameters
from needful.core.objects import Object, Type
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import (
    BLOCK_VARIABLE,
    HOLDING,
    ROBOT_VARIABLE,
    TARGET_BLOCK,
    TARGET_BLOCK_VARIABLE,
    BlocksEnvironment,
    box_of,
    pick_operator,
    rectangle_of,
    release_operator,
    require_free,
    require_free_motion,
    require_held,
)
from needful.envs.kinder.bodies import CLEARANCE, overlap
from needful.envs.kinder.driving import carried_box, carrying_pose, drive, find_way, pick_skill
from needful.envs.kinder.environment import RECTANGLE, ROBOT, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.errors import EnvironmentFailure

REGION = Type("target_region", RECTANGLE.features)


def _inside(state: State, objects: Sequence[Object]) -> bool:
    block, region = (box_of(state, obj) for obj in objects)
    return region.contains(block)


INSIDE = Predicate("Inside", (TARGET_BLOCK, REGION), _inside)


def _put_down(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block down, at a place where the robot can pass between this block and all other objects.

    If the place is not free, the failure has no `offending` objects. The block may lie anywhere, so the
    planner should try another place instead of clearing this one.

    Parameters: x and y of the block's centre, and the direction of the robot's arm.
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

    Parameters: the direction of the robot's arm, and how far the robot then extends the arm, from 0 (not at
    all) to 1 (fully).
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


class ClutteredRetrieval2D(BlocksEnvironment):
    """Carry a block out of clutter into a region of the floor."""

    family = "ClutteredRetrieval2D"
    letter = "o"
    description = "A robot carries a block out of clutter into a region of the floor."
    gym_class = ClutteredRetrieval2DEnv
    size_argument = "num_obstructions"
    training_sizes = (1, 8)
    at_target = INSIDE
    skills = (
        pick_skill(RECTANGLE, sides=(0, 1, 2, 3)),
        Skill("PutDown", (ROBOT, RECTANGLE), _put_down, (0.0, 0.0, -math.pi), (2.5, 2.5, math.pi)),
        Skill("Deliver", (ROBOT, TARGET_BLOCK, REGION), _deliver, (-math.pi, 0.0), (math.pi, 1.0)),
    )

    def oracle_operators(self, at_target: LiftedAtom) -> tuple[Operator, ...]:
        """Return the operators of the oracle; after `Deliver`, the robot still holds the block."""
        pick_up, put_down, deliver = self.vocabulary.controllers
        objects = (ROBOT_VARIABLE, *at_target.variables)
        needs = [HOLDING.lifted(ROBOT_VARIABLE, TARGET_BLOCK_VARIABLE)]
        return (
            pick_operator(pick_up, BLOCK_VARIABLE),
            release_operator(put_down, BLOCK_VARIABLE),
            oracle_operator("Deliver", objects, (deliver, objects), needs=needs, adds=[at_target]),
        )
