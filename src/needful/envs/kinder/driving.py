"""Skills of a robot that drives between blocks: grasp a block at its perimeter, and carry it to a place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from needful.core.controllers import Parameters
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.kinder.blocks import (
    CLEARANCE,
    rectangle_of,
    require_empty_hand,
    require_free,
    require_free_motion,
)
from needful.envs.kinder.bodies import Box, Pose, Scene, carry
from needful.envs.kinder.environment import Room
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.envs.kinder.pose_lattice import PoseLattice
from needful.errors import EnvironmentFailure


def pick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Grasp a block at its perimeter and pull it towards the base.

    The parameters, from 0 to 1, are the point on the perimeter and the length of the arm in the grasp.
    """
    _, block = objects
    place, reach = parameters
    scene = room.scene(state)
    require_empty_hand(scene)
    robot = scene.robot
    arm = robot.base_radius + reach * (robot.arm_length - robot.base_radius)
    x, y, theta = _perimeter(rectangle_of(scene, block), place)
    distance = arm + 1.5 * robot.gripper_width
    grasp = Pose(x - distance * math.cos(theta), y - distance * math.sin(theta), theta, arm)
    before = replace(grasp, arm=robot.base_radius)
    require_free(scene, before)
    reached = (Waypoint(grasp), Waypoint(grasp, True))
    require_free_motion(replace(scene, pose=before), block, reached, room.limits)
    grasped = scene.at(grasp, True)
    if [body.obj for body in grasped.held()] != [block]:
        others = [body.obj for body in grasped.held() if body.obj not in (block, None)]
        raise EnvironmentFailure(f"the gripper would not hold {block.name} alone", others)
    way = drive(room, scene, before)
    pulled = Waypoint(replace(grasp, arm=_shortest_arm(grasped)), True)
    return (*way, *reached, pulled)


def _perimeter(box: Box, place: float) -> tuple[float, float, float]:
    """Return a point on the perimeter of a rectangle, and the direction from there to the inside."""
    width, height = 2 * box.half_width, 2 * box.half_height
    along = place * 2 * (width + height)
    for length, depth, turn in (
        (width, box.half_height, math.pi / 2),
        (height, box.half_width, math.pi),
        (width, box.half_height, -math.pi / 2),
        (height, box.half_width, 0.0),
    ):
        if along <= length or turn == 0.0:
            break
        along -= length
    theta = math.atan2(box.sin, box.cos) + turn
    cos, sin = math.cos(theta), math.sin(theta)
    aside = min(along, length) - length / 2
    return box.x - depth * cos + aside * sin, box.y - depth * sin - aside * cos, theta


def _shortest_arm(scene: Scene) -> float:
    """Return the shortest arm to which the robot can pull the held objects without a collision."""
    arm, least = scene.pose.arm, scene.robot.base_radius
    while arm > least:
        shorter = max(arm - scene.robot.gripper_width, least)
        if next(scene.collisions(replace(scene.pose, arm=shorter), CLEARANCE), None) is not None:
            break
        arm = shorter
    return arm


def carrying_pose(scene: Scene, block: Object, x: float, y: float, theta: float) -> Pose:
    """Return the pose of the robot at which the centre of a held block is at (x, y)."""
    there = carry(rectangle_of(scene, block), scene.pose, replace(scene.pose, x=0.0, y=0.0, theta=theta))
    return Pose(x - there.x, y - there.y, theta, scene.pose.arm)


def carried_box(scene: Scene, block: Object, pose: Pose) -> Box:
    """Return the rectangle of a held block when the robot is at a pose."""
    box = carry(rectangle_of(scene, block), scene.pose, pose)
    assert isinstance(box, Box)
    return box


def drive(room: Room, scene: Scene, goal: Pose) -> Waypoints:
    """Return a motion to a free pose; an empty hand drives with the arm retracted.

    Raises `EnvironmentFailure` if there is none. Offending are objects without which there would be one.
    """
    start: Waypoints = ()
    if not scene.vacuum and scene.pose.arm > goal.arm:
        retracted = replace(scene.pose, arm=goal.arm)
        start, scene = (Waypoint(retracted),), replace(scene, pose=retracted)
    lattice = _lattice(room, scene)
    path = lattice.path(goal)
    if path is None:
        obstacles = lattice.path_obstacles(goal)
        raise EnvironmentFailure("there is no way to the pose", obstacles)
    return (*start, *(Waypoint(pose, scene.vacuum) for pose in path))


@lru_cache(maxsize=4)  # a skill is planned several times in the same state
def _lattice(room: Room, scene: Scene) -> PoseLattice:
    return PoseLattice(scene, room.limits, room.bounds)
