"""ClutteredRetrieval2D and ClutteredStorage2D: carry blocks to a place that other blocks obstruct.

In ClutteredRetrieval2D, the robot carries a block out of clutter into a region of the floor.

In ClutteredStorage2D, it puts all blocks into a shelf, in which some of them lie already. It pushes each
block into the shelf until the block touches something, so stored blocks lie one behind the other without
gaps. The skill fails if the block touches another block that still has free space behind it. Therefore, the
robot must first pick up blocks that lie in the front of the shelf at the start, and push them to the back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kinder.envs.kinematic2d.clutteredretrieval2d import ClutteredRetrieval2DEnv
from kinder.envs.kinematic2d.clutteredstorage2d import ClutteredStorage2DEnv

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
    carried_box,
    carrying_pose,
    drive,
    find_way,
    pick_operator,
    pick_skill,
    rectangle_of,
    release_operator,
    require_free,
    require_free_motion,
    require_held,
    require_none,
)
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Pose, Scene, may_collide, overlap
from needful.envs.kinder.environment import RECTANGLE, ROBOT, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.errors import EnvironmentFailure

REGION = Type("target_region", RECTANGLE.features)
UP = math.pi / 2
# The distance between a block and the shelf before the robot pushes the block in.
GAP = 0.02

SHELF = Type(
    "shelf",
    (
        *RECTANGLE.features,
        "x1",
        "y1",
        "theta1",
        "width1",
        "height1",
        "z_order1",
        "color_r1",
        "color_g1",
        "color_b1",
    ),
)


def _inside(state: State, objects: Sequence[Object]) -> bool:
    block, region = (box_of(state, obj) for obj in objects)
    return region.contains(block)


INSIDE = Predicate("Inside", (TARGET_BLOCK, REGION), _inside)


def _put_down(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block down, at a place where the robot can pass between this block and all other objects.

    If the place is not free, `offending` of the failure is empty: the block may lie anywhere, so the
    planner should try another place instead of removing the objects at this one.

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
        """Return the hand-written operators; after `Deliver`, the robot still holds the block."""
        pick_up, put_down, deliver = self.vocabulary.controllers
        objects = (ROBOT_VARIABLE, *at_target.variables)
        needs = [HOLDING.lifted(ROBOT_VARIABLE, TARGET_BLOCK_VARIABLE)]
        return (
            pick_operator(pick_up, BLOCK_VARIABLE),
            release_operator(put_down, BLOCK_VARIABLE),
            oracle_operator("Deliver", objects, (deliver, objects), needs=needs, adds=[at_target]),
        )


def _inside_of(state: State, shelf: Object) -> Box:
    place = (state.get(shelf, name) for name in ("x1", "y1", "width1", "height1", "theta1"))
    return Box.from_corner(*place)


def _stored(state: State, objects: Sequence[Object]) -> bool:
    block, shelf = objects
    return _inside_of(state, shelf).contains(box_of(state, block))


STORED = Predicate("Stored", (TARGET_BLOCK, SHELF), _stored)


def _store(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Push a block into the shelf; the parameter is its position from -1 (left end) to 1 (right end)."""
    _, block, shelf = objects
    scene = room.scene(state)
    require_held(scene, block)
    inside = _inside_of(state, shelf)
    box = carried_box(scene, block, replace(scene.pose, theta=UP))
    half_width = abs(box.cos) * box.half_width + abs(box.sin) * box.half_height
    half_height = abs(box.sin) * box.half_width + abs(box.cos) * box.half_height
    x = inside.x + parameters[0] * max(inside.half_width - half_width - GAP / 4, 0.0)
    y = inside.y - inside.half_height - half_height - GAP
    before = carrying_pose(scene, block, x, y, UP)
    require_free(scene, before)
    # Before the push, the base moves closer to the shelf while the arm retracts. So the arm is long enough
    # to push the block to the back.
    short = scene.robot.base_radius
    close = Pose(before.x, before.y + before.arm - short, UP, short)
    require_free(scene, close)
    pushed = _push(scene.at(close, True), block, inside)
    way = drive(room, scene, before)
    retracted = replace(pushed, arm=short)
    poses = ((close, True), (pushed, True), (pushed, False), (retracted, False))
    return (*way, *(Waypoint(*pose) for pose in poses))


def _push(scene: Scene, block: Object, inside: Box) -> Pose:
    """Extend the arm until the held block touches something; return the last pose before this contact.

    Raises `EnvironmentFailure` if the held block is not inside the shelf at this pose, or if it touches
    another block that has free space behind it. This other block must be pushed to the back first.
    """
    pose, step = scene.pose, scene.robot.gripper_width / 4
    hit: tuple[Body, ...] = ()
    while not hit and pose.arm + step <= scene.robot.arm_length:
        further = replace(pose, arm=pose.arm + step)
        hit = tuple(scene.collisions(further, CLEARANCE))
        pose = pose if hit else further
    others = [body for body in scene.bodies if body.obj != block]
    require_none(body for body in hit if body.movable and _has_space_behind(body, others, 4 * step))
    if not inside.contains(carried_box(scene, block, pose)):
        require_none(hit)
        raise EnvironmentFailure("the arm is too short to push the block into the shelf")
    return pose


def _has_space_behind(body: Body, others: Sequence[Body], distance: float) -> bool:
    """Return whether a body in the shelf could move towards the back by `distance` without a collision."""
    moved = replace(body.shape, y=body.shape.y + distance)
    return not any(
        other is not body and may_collide(other.layer, body.layer) and overlap(moved, other.shape)
        for other in others
    )


class ClutteredStorage2D(BlocksEnvironment):
    """Put all blocks into a shelf, in which some of them lie already."""

    family = "ClutteredStorage2D"
    letter = "b"
    description = "A robot puts blocks into a shelf, in which other blocks may be in the way."
    gym_class = ClutteredStorage2DEnv
    size_argument = "num_blocks"
    training_sizes = (1, 3)
    at_target = STORED
    skills = (
        # Blocks are grasped only at their long sides, 0 and 2.
        pick_skill(TARGET_BLOCK, sides=(0, 2)),
        Skill("Store", (ROBOT, TARGET_BLOCK, SHELF), _store, (-1.0,), (1.0,)),
    )

    def oracle_operators(self, at_target: LiftedAtom) -> tuple[Operator, ...]:
        """Return the hand-written operators; a block that is picked up is no longer stored."""
        pick_up, store = self.vocabulary.controllers
        return (
            pick_operator(pick_up, TARGET_BLOCK_VARIABLE, leaves=[at_target]),
            release_operator(store, TARGET_BLOCK_VARIABLE, at_target),
        )
