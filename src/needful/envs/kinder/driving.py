"""Skills of a robot that drives between blocks: grasp a block at any side, and carry it to a place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

from needful.core.controllers import Parameters
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.envs.kinder.blocks import (
    rectangle_of,
    require_empty_hand,
    require_free,
    require_free_motion,
)
from needful.envs.kinder.bodies import CLEARANCE, Box, Pose, Scene, carry
from needful.envs.kinder.environment import ROBOT, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.envs.kinder.pose_lattice import PoseLattice
from needful.errors import EnvironmentFailure


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
