"""Skills of a robot that drives between blocks: grasp a block at its perimeter, and carry it to a place."""

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
    """Grasp a block at a side and pull it towards the base.

    Args:
        room: the walls and limits.
        state: the state.
        block: the block.
        side: 0 and 2 are the sides along its width, 1 and 3 the others.
        place: where on this side, from 0 to 1.
        reach: the length of the arm in the grasp, from 0 (retracted) to 1.
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
    """Return the skill `Pick`, which grasps a block of a type at one of the given sides.

    Its parameters are the point, from 0 to the number of sides (one unit per side), and the length of the
    arm, from 0 (retracted) to 1.
    """
    return Skill("Pick", (ROBOT, kind), partial(_pick_at, sides), (0.0, 0.0), (float(len(sides)), 1.0))


def _pick_at(
    sides: tuple[int, ...], room: Room, state: State, objects: Sequence[Object], parameters: Parameters
) -> Waypoints:
    place, reach = parameters
    number = min(int(place), len(sides) - 1)
    return pick(room, state, objects[1], sides[number], place - number, reach)


def _grasp(box: Box, side: int, place: float, arm: float, distance: float) -> Pose:
    """Return the pose at a distance from a point on a side of a rectangle; the arm points to this point."""
    turn = (1 - side) * math.pi / 2  # from this side to the centre, relative to the rectangle
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


def find_way(room: Room, scene: Scene, goal: Pose) -> Waypoints | None:
    """Return a motion to `goal`, a pose without collisions; None if there is no path.

    If the hand is empty, the arm is first retracted to its length in `goal`.
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
    """Return the scene in which an empty hand is not further away from the base than at `goal`."""
    if scene.vacuum or scene.pose.arm <= goal.arm:
        return scene
    return replace(scene, pose=replace(scene.pose, arm=goal.arm))


# Cached, because skills are planned repeatedly in a state: with other parameters, or to check a plan.
@lru_cache(maxsize=32)
def _lattice(room: Room, scene: Scene) -> PoseLattice:
    return PoseLattice(scene, room.limits, room.bounds)
