"""Obstruction2D: put a block onto a surface from which other blocks must be removed first.

The robot grasps and places blocks from above, with its arm pointing down. It lifts the gripper and the held
block above all other blocks before it moves sideways. So only the last part of a motion, straight down, can
collide with blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinder.envs.kinematic2d.obstruction2d import Obstruction2DEnv

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Parameters
from needful.core.objects import Object, Type
from needful.core.operators import Operator
from needful.core.state import State
from needful.envs.kinder import blocks
from needful.envs.kinder.bodies import Box, Pose, Scene
from needful.envs.kinder.environment import RECTANGLE, ROBOT, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.errors import EnvironmentFailure

DOWN = -math.pi / 2
# Blocks are released at this height above the table. The robot carries a block with at least this gap above
# all other blocks.
GAP = 0.003
# As in KinDER's goal test, a block is on a surface if its two lower corners, moved down by this distance,
# lie in the rectangle of the surface.
ON_TOLERANCE = 0.025

SURFACE = Type("target_surface", RECTANGLE.features)


def _on(state: State, objects: Sequence[Object]) -> bool:
    block, surface = (blocks.box_of(state, obj) for obj in objects)
    low_corners = sorted(block.corners(), key=lambda corner: corner[1])[:2]
    top = surface.y + surface.half_height
    return all(
        abs(x - surface.x) <= surface.half_width
        and top - 2 * surface.half_height <= y - ON_TOLERANCE <= top
        for x, y in low_corners
    )


ON = Predicate("On", (blocks.TARGET_BLOCK, SURFACE), _on)


def _pick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Grasp a block from above; the parameter is the point on its top, from -1 (left end) to 1 (right)."""
    _, block = objects
    scene = room.scene(state)
    blocks.require_empty_hand(scene)
    box = blocks.rectangle_of(scene, block)
    x = box.x + parameters[0] * box.half_width
    down = _over(scene, x, box.y + box.half_height)
    waypoints = (*_above(scene, x), Waypoint(down), Waypoint(down, True))
    blocks.require_free_motion(scene, block, (*waypoints, Waypoint(_lifted(down, GAP), True)), room.limits)
    return waypoints


def _place(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block on the table, but not onto the target surface; the parameter is the x of its centre."""
    scene = room.scene(state)
    (surface,) = state.of_type(SURFACE)
    _, block = objects
    blocks.require_held(scene, block)
    x, target, box = parameters[0], blocks.rectangle_of(scene, surface), blocks.rectangle_of(scene, block)
    if abs(x - target.x) < target.half_width + box.half_width:
        raise EnvironmentFailure("the block would lie on the target surface")
    return _put_down(room, scene, block, x)


def _place_on(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block onto the target surface; the parameter is its position from -1 (left end) to 1 (right).

    The block keeps a small distance from the ends of the surface. Otherwise, rounding to 32 bits could move
    it beyond an end, and the goal would be false.
    """
    _, block, surface = objects
    scene = room.scene(state)
    blocks.require_held(scene, block)
    target, box = blocks.rectangle_of(scene, surface), blocks.rectangle_of(scene, block)
    space = target.half_width - box.half_width - GAP
    return _put_down(room, scene, block, target.x + parameters[0] * space)


def _put_down(room: Room, scene: Scene, block: Object, x: float) -> Waypoints:
    """Return the motion that puts the held block down with its centre at x."""
    box = blocks.rectangle_of(scene, block)
    hand_x = x + scene.pose.x - box.x
    table = max(body.shape.y + _height(body.shape) for body in scene.bodies if body.name == "table")
    down = _over(scene, hand_x, table + GAP + 2 * box.half_height)
    waypoints = (*_above(scene, hand_x), Waypoint(down, True), Waypoint(down, False))
    blocks.require_free_motion(scene, block, waypoints, room.limits)
    return waypoints


def _height(shape: object) -> float:
    return shape.half_height if isinstance(shape, Box) else 0.0


def _over(scene: Scene, x: float, top: float) -> Pose:
    """Return the pose at `x` at which suction can hold a block whose upper side is at the height `top`."""
    robot = scene.robot
    return Pose(x, top + robot.arm_length + 1.5 * robot.gripper_width, DOWN, robot.arm_length)


def _lifted(pose: Pose, height: float) -> Pose:
    return Pose(pose.x, pose.y + height, pose.theta, pose.arm)


def _above(scene: Scene, x: float) -> Waypoints:
    """Return the motion to a pose at x, higher than all blocks, with the arm pointing down."""
    held = scene.held()
    blocks = [body for body in scene.bodies if body.movable]
    tallest = max(body.shape.y + _height(body.shape) for body in blocks)
    hanging = max((2 * _height(body.shape) for body in held), default=0.0)
    safe = _over(scene, x, tallest + hanging + 2 * GAP)
    height = max(scene.pose.y, safe.y)
    up = Pose(scene.pose.x, height, DOWN, safe.arm)
    return Waypoint(up, scene.vacuum), Waypoint(Pose(x, height, DOWN, safe.arm), scene.vacuum)


class Obstruction2D(blocks.BlocksEnvironment):
    """Put a block onto a surface that other blocks occupy."""

    family = "Obstruction2D"
    letter = "o"
    description = "A robot puts a block onto a surface, from which it must first remove other blocks."
    gym_class = Obstruction2DEnv
    size_argument = "num_obstructions"
    training_sizes = (1, 2)
    at_target = ON
    skills = (
        Skill("Pick", (ROBOT, RECTANGLE), _pick, (-1.0,), (1.0,)),
        Skill("Place", (ROBOT, RECTANGLE), _place, (0.0,), (1.618,)),
        Skill("PlaceOn", (ROBOT, blocks.TARGET_BLOCK, SURFACE), _place_on, (-1.0,), (1.0,)),
    )

    def oracle_operators(self, at_target: LiftedAtom) -> tuple[Operator, ...]:
        """Return the hand-written operators, one per skill."""
        pick, place, place_on = self.vocabulary.controllers
        return (
            blocks.pick_operator(pick, blocks.BLOCK_VARIABLE),
            blocks.release_operator(place, blocks.BLOCK_VARIABLE),
            blocks.release_operator(place_on, blocks.TARGET_BLOCK_VARIABLE, at_target),
        )
