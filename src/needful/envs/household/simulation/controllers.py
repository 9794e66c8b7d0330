"""Run one of the six controllers, given its name; the controller NavigateTo is defined here.

Each controller acts on one target object. Its continuous parameters (`theta`) are an offset: from the
target's handle for Open and Close, otherwise from the target's origin. The offset is rotated about the
vertical axis by the target's yaw. Floors are never reachable, so they cannot be targets.
"""

from __future__ import annotations

from math import atan2
from types import MappingProxyType

import numpy as np

from needful.core.controllers import Parameters
from needful.envs.household.scene.scene import CLEARANCE, heading
from needful.envs.household.simulation import hand_controllers
from needful.envs.household.simulation.base_motion import has_clearance
from needful.envs.household.simulation.controller_motion import FailureReason, Motion
from needful.envs.household.simulation.physics import Physics
from needful.envs.household.simulation.snapshot import POSE, Snapshot, rotate_pose_yaw, rotate_yaw
from needful.envs.household.simulation.snapshot_geometry import SnapshotGeometry
from needful.errors import EnvironmentFailure, UnknownNameError

# The hinge angle after Open and Close, as a fraction of the angle when fully open.
HINGE_TARGETS = MappingProxyType({"Open": 1.0, "Close": 0.0})

CONTROLLER_NAMES = ("Close", "Grasp", "NavigateTo", "Open", "PlaceInside", "PlaceOnTop")


def start_failure_reason(
    geometry: SnapshotGeometry, name: str, thing: int, theta: Parameters
) -> FailureReason | None:
    """Return why the controller `name` cannot start, or None if it can.

    `thing` is the index of the target object, and `theta` are the parameters. The test is fast, because no
    motion is planned.
    """
    match name:
        case "NavigateTo":
            return navigate_failure(geometry, thing, theta)
        case "Grasp":
            return hand_controllers.grasp_failure(geometry, thing)
        case "PlaceOnTop" | "PlaceInside":
            return hand_controllers.place_failure(geometry, thing, theta, inside=name == "PlaceInside")
        case "Open" | "Close":
            return hand_controllers.hinge_failure(geometry, thing, theta, HINGE_TARGETS[name])
        case _:
            raise UnknownNameError("household controller", name, CONTROLLER_NAMES)


def run_controller(
    geometry: SnapshotGeometry, physics: Physics, name: str, thing: int, theta: Parameters
) -> Motion:
    """Run the controller `name` and return its motion; raise `EnvironmentFailure` if it fails.

    `thing` is the index of the target object, and `theta` are the parameters.
    """
    reason = start_failure_reason(geometry, name, thing, theta)
    if reason is not None:
        raise EnvironmentFailure(reason.value)
    match name:
        case "NavigateTo":
            return navigate(geometry, thing, theta)
        case "Grasp":
            return hand_controllers.grasp(geometry, physics, thing, theta)
        case "PlaceOnTop" | "PlaceInside":
            return hand_controllers.place(geometry, physics, thing, theta)
        case _:
            return hand_controllers.turn_hinge(geometry, physics, thing, theta, HINGE_TARGETS[name])


def navigate_failure(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> FailureReason | None:
    """Return why NavigateTo cannot start, or None if it can.

    The robot moves to a point: the position of the object `thing` plus `offset`. It must fit there, and its
    hand must reach the object from there. A fast test finds whether a path to this point exists; the path
    is not planned.
    """
    goal = _goal(geometry, thing, offset)
    if not geometry.grid.contains(goal):
        return FailureReason.NO_CLEARANCE
    if not has_clearance(geometry.discs, geometry.obstacles, goal[None], CLEARANCE):
        return FailureReason.NO_CLEARANCE
    if not geometry.reachable_from(goal, np.array([thing])).all():
        return FailureReason.NOT_REACHABLE
    if not geometry.base_planner.can_reach((float(goal[0]), float(goal[1]))):
        return FailureReason.NO_PATH
    return None


def navigate(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> Motion:
    """Drive to the point at `offset` from the object `thing`, and turn towards the object.

    Call this function only if `navigate_failure` returned None.
    """
    goal = _goal(geometry, thing, offset)
    path = geometry.base_planner.path((float(goal[0]), float(goal[1])))
    assert path is not None, "navigate_failure reports NO_PATH otherwise"
    faced = geometry.boxes.centre[thing] - np.array([*goal, 0.0])
    return Motion(with_robot_at(geometry.snapshot, goal, atan2(faced[1], faced[0])), base_path=path)


def with_robot_at(snapshot: Snapshot, position: np.ndarray, yaw: float) -> Snapshot:
    """Return the snapshot with the robot's base moved to a position and yaw.

    The hand and the held object move with the base.
    """
    before = snapshot.robot
    base, target = np.array([*before[:2], 0.0]), np.array([*position, 0.0])

    def carried(pose: np.ndarray) -> np.ndarray:
        relative = np.array([*(pose[:3] - base), *pose[3:]])
        moved = rotate_pose_yaw(relative, yaw - before[2])
        moved[:3] += target
        return moved

    after = snapshot.with_robot(np.array([*position, yaw, *carried(before[3:])]))
    if snapshot.held < 0:
        return after
    return after.with_pose(snapshot.held, carried(snapshot.rows[snapshot.held, POSE]))


def _goal(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    row = geometry.snapshot.rows[thing]
    goal: np.ndarray = row[:2] + rotate_yaw(np.array(offset), heading(row[3:7].tolist()))
    return goal
