"""ClutteredStorage2D: put all blocks into a shelf, in which some of them lie already.

The robot pushes each block into the shelf until the block touches something, so stored blocks lie one
behind the other without gaps. The skill fails if the block touches another block that still has free space
behind it. Therefore, the robot must first pick up blocks that lie in the front of the shelf at the start,
and push them to the back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kinder.envs.kinematic2d.clutteredstorage2d import ClutteredStorage2DEnv

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Parameters
from needful.core.objects import Object, Type
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.kinder.blocks import (
    TARGET_BLOCK,
    TARGET_BLOCK_VARIABLE,
    BlocksEnvironment,
    box_of,
    pick_operator,
    release_operator,
    require_free,
    require_held,
    require_none,
)
from needful.envs.kinder.bodies import CLEARANCE, Body, Box, Pose, Scene, may_collide, overlap
from needful.envs.kinder.driving import carried_box, carrying_pose, drive, pick_skill
from needful.envs.kinder.environment import RECTANGLE, ROBOT, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.errors import EnvironmentFailure

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
        """Return the operators of the oracle; a block that is picked up is no longer stored."""
        pick_up, store = self.vocabulary.controllers
        return (
            pick_operator(pick_up, TARGET_BLOCK_VARIABLE, leaves=[at_target]),
            release_operator(store, TARGET_BLOCK_VARIABLE, at_target),
        )
