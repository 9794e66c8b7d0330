"""The six controllers: NavigateTo, Grasp, PlaceOnTop, PlaceInside, Open and Close.

Each controller has a function that returns why it cannot start, and a function that runs it. A controller
acts on one target object. Its continuous parameters (`theta`) are an offset: from the target's handle for
Open and Close, otherwise from the target's origin. The offset is rotated about the vertical axis by the
target's yaw. Floors are never reachable, so they cannot be targets. Open and Close also check that the
turning lid or door does not hit or enclose the robot.
"""

from __future__ import annotations

from math import atan2

import numpy as np

from needful.core.controllers import Parameters
from needful.envs.household.scene.scene import (
    CARRY_HEIGHT,
    CLEARANCE,
    HAND_RANGE,
    HEIGHT,
    RADIUS,
    SHOULDER_HEIGHT,
    heading,
)
from needful.envs.household.simulation.base_motion import BasePlanner, Footprints, has_clearance
from needful.envs.household.simulation.hand_motion import HandPlanner
from needful.envs.household.simulation.physics import FailureReason, Motion, Physics
from needful.envs.household.simulation.snapshot import (
    GRASPABLE,
    HELD,
    JOINT,
    POSE,
    Snapshot,
    rotate_pose_yaw,
    rotate_yaw,
)
from needful.envs.household.simulation.snapshot_geometry import OPEN_THRESHOLD, SnapshotGeometry
from needful.errors import EnvironmentFailure

# A turning lid or door is tested for collisions with the robot at this number of hinge angles.
SWEEP_STEPS = 10

# In Grasp, the hand's path to the object ends with a straight line of this length, in metres.
APPROACH_DISTANCE = 0.01


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


def grasp_failure(geometry: SnapshotGeometry, thing: int) -> FailureReason | None:
    """Return why the object `thing` cannot be grasped, or None; the path of the hand is not tested."""
    if geometry.snapshot.held >= 0:
        return FailureReason.HAND_FULL
    if geometry.snapshot.rows[thing, GRASPABLE] < 0.5:
        return FailureReason.NOT_GRASPABLE
    return _reach_failure(geometry, thing, geometry.boxes.centre[thing])


def grasp(geometry: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters) -> Motion:
    """Grasp the object `thing`, and bring it above the robot's base.

    `offset` selects the direction of the approach: from the point at this offset from the object's origin
    towards the object's centre. The hand moves straight in this direction until it touches the object.
    """
    planner, snapshot = HandPlanner(geometry), geometry.snapshot
    centre = geometry.boxes.centre[thing]
    outwards, _ = _direction(_point_at_offset(geometry, thing, offset) - centre)
    contact = planner.contact_position(
        thing, centre, outwards, geometry.contact_free_distance(thing, centre)
    )
    hand_path = planner.approach_path(thing, contact + APPROACH_DISTANCE * outwards, contact)
    payload = planner.payload(contact, thing)
    carry_position = contact + _carry_shift(geometry, thing)
    return_path = planner.plan(payload, carry_position, contact)
    if hand_path is None or return_path is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    left_behind = geometry.house.things_touching(thing)
    held = _with_thing_moved(snapshot, thing, carry_position - contact).with_feature(thing, HELD, 1.0)
    after = physics.settle(_with_hand(held, carry_position), left_behind)
    return Motion(after, hand_path=hand_path, return_path=return_path[::-1])


def place_failure(
    geometry: SnapshotGeometry, thing: int, offset: Parameters, *, inside: bool
) -> FailureReason | None:
    """Return why the held object cannot be placed at `offset` from the object `thing`, or None.

    `inside` is true for PlaceInside, which fails if the lid or door of the container is closed. The path of
    the hand is not tested.
    """
    if geometry.snapshot.held < 0:
        return FailureReason.HAND_EMPTY
    if (
        inside
        and geometry.model.hinge_address[thing] >= 0
        and geometry.snapshot.rows[thing, JOINT] <= OPEN_THRESHOLD
    ):
        return FailureReason.CLOSED
    goal = geometry.snapshot.hand + _place_shift(geometry, thing, offset)
    reason = _reach_failure(geometry, thing, goal)
    if reason is not None:
        return reason
    planner = HandPlanner(geometry)
    payload = planner.payload(geometry.snapshot.hand, geometry.snapshot.held)
    return None if planner.is_free(payload, [goal]) else FailureReason.NO_CLEARANCE


def place(geometry: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters) -> Motion:
    """Release the held object with its bottom at `offset` from the object `thing`.

    The simulation then runs until the released object rests.
    """
    planner, snapshot = HandPlanner(geometry), geometry.snapshot
    shift = _place_shift(geometry, thing, offset)
    path = planner.plan(planner.payload(snapshot.hand, snapshot.held), snapshot.hand, snapshot.hand + shift)
    if path is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    released = _with_thing_moved(snapshot, snapshot.held, shift).with_feature(snapshot.held, HELD, 0.0)
    after = physics.settle(_with_hand_at_rest(released), [snapshot.held])
    return Motion(after, hand_path=path, return_path=path[::-1])


def hinge_failure(
    geometry: SnapshotGeometry, thing: int, offset: Parameters, fraction: float
) -> FailureReason | None:
    """Return why the hinge of the object `thing` cannot be turned to `fraction` of its limit, or None.

    The fraction 1 is fully open. The path of the hand is not tested.
    """
    if geometry.snapshot.held >= 0:
        return FailureReason.HAND_FULL
    if geometry.model.hinge_address[thing] < 0:
        return FailureReason.NOT_OPENABLE
    reason = _reach_failure(geometry, thing, _point_from_handle(geometry, thing, offset))
    return reason or _sweep_failure(geometry, thing, fraction)


def turn_hinge(
    geometry: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters, fraction: float
) -> Motion:
    """Move the hand to the handle of the object `thing`, then turn the object's hinge.

    The hand first moves to the point at `offset` from the handle, then straight to the handle. The hinge
    turns to `fraction` of its limit; 1 is fully open.
    """
    planner = HandPlanner(geometry)
    handle, before = _handle(geometry, thing), _point_from_handle(geometry, thing, offset)
    outwards, distance = _direction(before - handle)
    hand_path = planner.approach_path(
        thing, before, planner.contact_position(thing, handle, outwards, distance)
    )
    if hand_path is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    return Motion(
        physics.drive_hinge(_with_hand_at_rest(geometry.snapshot), thing, fraction),
        hand_path=hand_path,
        return_path=hand_path[::-1],
    )


def hits_robot(geometry: SnapshotGeometry, thing: int, fraction: float) -> bool:
    """Return whether the lid or door of the object `thing` hits the robot's base when it turns.

    It turns to `fraction` of its limit; 1 is fully open.
    """
    x, y = geometry.snapshot.robot[:2]
    return bool(
        (swept_footprints(geometry, thing, fraction).between(0.0, HEIGHT).gaps(x, y) < RADIUS).any()
    )


def encloses_robot(geometry: SnapshotGeometry, thing: int, fraction: float) -> bool:
    """Return whether the lid or door of the object `thing` encloses the robot after it has turned.

    It turns to `fraction` of its limit; 1 is fully open. Enclosed means that no path leads from the robot
    to the largest free region of the floor. Returns False if the robot is already enclosed before the turn.
    """
    if geometry.base_planner.is_enclosed():
        return False
    model = geometry.model
    turning = model.physics_model.geom_bodyid == model.hinge_body[thing]
    others = geometry.house.footprints()[model.is_loose & ~turning]
    count = int(turning.sum())
    rotated = swept_footprints(geometry, thing, fraction)[np.arange(-count, 0)]
    x, y = geometry.snapshot.robot[:2].tolist()
    return BasePlanner(geometry.grid, geometry.discs, others.joined(rotated), (x, y)).is_enclosed()


def swept_footprints(geometry: SnapshotGeometry, thing: int, fraction: float) -> Footprints:
    """Return the areas that the lid or door of the object `thing` covers while it turns, seen from above.

    The areas are computed at `SWEEP_STEPS` angles, from the current angle to `fraction` of its limit. There
    is one footprint per angle and part: first all parts at the first angle, then all at the next angle.
    """
    model, house = geometry.model, geometry.house
    hinge = model.categories[thing].hinge
    assert hinge is not None
    body = model.hinge_body[thing]
    origins, axes = house.bodies()
    anchor = origins[body] + axes[body] @ np.array(hinge.anchor)
    angles = np.linspace(0.0, (fraction - geometry.snapshot.rows[thing, JOINT]) * hinge.limit, SWEEP_STEPS)
    rotations = _rotations(axes[body] @ np.array(hinge.axis), angles)
    geoms = np.flatnonzero(model.physics_model.geom_bodyid == body)
    centres = anchor + np.einsum("aij,gj->agi", rotations, house.centres[geoms] - anchor)
    rotated = np.einsum("aij,gjk->agik", rotations, house.axes[geoms])
    return Footprints.of(
        centres.reshape(-1, 3),
        rotated.reshape(-1, 3, 3),
        np.tile(model.half_sizes[geoms], (SWEEP_STEPS, 1)),
        np.zeros(SWEEP_STEPS * len(geoms), dtype=bool),
    )


def _rotations(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the rotation matrices about an axis by the given angles (Rodrigues' formula)."""
    x, y, z = axis / np.sqrt(axis @ axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    rotations: np.ndarray = np.eye(3) + sines * cross + (1.0 - cosines) * (cross @ cross)
    return rotations


def _reach_failure(geometry: SnapshotGeometry, thing: int, hand: np.ndarray) -> FailureReason | None:
    base = geometry.snapshot.robot[:2]
    if not geometry.reachable_from(base, np.array([thing])).all():
        return FailureReason.NOT_REACHABLE
    displacement = hand - np.array([*base, SHOULDER_HEIGHT])
    return FailureReason.OUT_OF_RANGE if displacement @ displacement > HAND_RANGE**2 else None


def _sweep_failure(geometry: SnapshotGeometry, thing: int, fraction: float) -> FailureReason | None:
    """Return why the lid or door of the object `thing` cannot turn to `fraction` of its limit, or None.

    It cannot turn if it would hit or enclose the robot. The result is cached in `geometry`.
    """
    if (thing, fraction) not in geometry.sweep_failures:
        reason = None
        if hits_robot(geometry, thing, fraction):
            reason = FailureReason.NO_CLEARANCE
        elif encloses_robot(geometry, thing, fraction):
            reason = FailureReason.SHUT_IN
        geometry.sweep_failures[thing, fraction] = reason
    return geometry.sweep_failures[thing, fraction]


def _point_at_offset(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the point at `offset` from the object's origin; `offset` is rotated by the object's yaw."""
    row = geometry.snapshot.rows[thing]
    point: np.ndarray = row[:3] + rotate_yaw(np.array(offset), heading(row[3:7].tolist()))
    return point


def _handle(geometry: SnapshotGeometry, thing: int) -> np.ndarray:
    """Return the current position of the handle of the object `thing`."""
    hinge = geometry.model.categories[thing].hinge
    assert hinge is not None
    origins, axes = geometry.house.bodies()
    body = geometry.model.hinge_body[thing]
    handle: np.ndarray = origins[body] + axes[body] @ np.array(hinge.handle)
    return handle


def _point_from_handle(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the point at `offset` from the object's handle; `offset` is rotated by the object's yaw."""
    yaw = heading(geometry.snapshot.rows[thing, 3:7].tolist())
    point: np.ndarray = _handle(geometry, thing) + rotate_yaw(np.array(offset), yaw)
    return point


def _direction(displacement: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction and the length of a vector; the direction of the zero vector is up."""
    length = float(np.sqrt(displacement @ displacement))
    return (displacement / length, length) if length > 1e-6 else (np.array([0.0, 0.0, 1.0]), 0.0)


def _carry_shift(geometry: SnapshotGeometry, thing: int) -> np.ndarray:
    """Return the displacement of the object `thing` to its carrying position above the robot's base."""
    centre, low = geometry.boxes.centre[thing], geometry.boxes.low[thing]
    x, y = geometry.snapshot.robot[:2]
    return np.array([x - centre[0], y - centre[1], CARRY_HEIGHT - low[2]])


def _place_shift(geometry: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the displacement that brings the bottom of the held object to `offset` from `thing`."""
    held = geometry.snapshot.held
    centre, low = geometry.boxes.centre[held], geometry.boxes.low[held]
    shift: np.ndarray = _point_at_offset(geometry, thing, offset) - np.array([centre[0], centre[1], low[2]])
    return shift


def _with_thing_moved(snapshot: Snapshot, thing: int, displacement: np.ndarray) -> Snapshot:
    pose = snapshot.rows[thing, POSE].copy()
    pose[:3] += displacement
    return snapshot.with_pose(thing, pose)


def _with_hand(snapshot: Snapshot, position: np.ndarray) -> Snapshot:
    robot = snapshot.robot.copy()
    robot[3:6] = position
    return snapshot.with_robot(robot)


def _with_hand_at_rest(snapshot: Snapshot) -> Snapshot:
    """Return a copy of the snapshot in which the hand is at its rest position above the robot's base."""
    return _with_hand(snapshot, np.array([*snapshot.robot[:2], CARRY_HEIGHT]))
