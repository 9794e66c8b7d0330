"""Grasp, PlaceOnTop, PlaceInside, Open and Close: what the hand does.

Where the parts on a hinge are while they turn.
"""

from __future__ import annotations

import numpy as np

from needful.core.controllers import Parameters
from needful.envs.household.motion.base_motion import BasePlanner, Footprints
from needful.envs.household.motion.hand_motion import HandPlanner
from needful.envs.household.scene.scene import (
    CARRY_HEIGHT,
    HAND_RANGE,
    HEIGHT,
    RADIUS,
    SHOULDER_HEIGHT,
    heading,
)
from needful.envs.household.simulation.course import FailureReason, Motion
from needful.envs.household.simulation.physics import Physics
from needful.envs.household.simulation.predicates import OPEN_FROM
from needful.envs.household.simulation.situation import SnapshotGeometry
from needful.envs.household.simulation.snapshot import GRASPABLE, HELD, JOINT, POSE, Snapshot, turned
from needful.errors import EnvironmentFailure

# At how many angles one looks.
SWEEP_STEPS = 10


def hits_robot(view: SnapshotGeometry, thing: int, share: float) -> bool:
    """Return whether a thing that turns on its hinge to a share of its limit hits the robot's body."""
    x, y = view.snapshot.robot[:2]
    return bool((swept(view, thing, share).between(0.0, HEIGHT).gaps(x, y) < RADIUS).any())


def encloses_robot(view: SnapshotGeometry, thing: int, share: float) -> bool:
    """Return whether the robot could no longer go away with a thing's hinge at a share of its limit."""
    if view.drives.is_enclosed():
        return False
    model = view.model
    turning = model.moving.geom_bodyid == model.hinge_body[thing]
    still = view.house.footprints()[model.is_loose & ~turning]
    count = int(turning.sum())
    turned = swept(view, thing, share)[np.arange(-count, 0)]
    x, y = view.snapshot.robot[:2].tolist()
    return BasePlanner(view.grid, view.discs, still.joined(turned), (x, y)).is_enclosed()


def swept(view: SnapshotGeometry, thing: int, share: float) -> Footprints:
    """Return the plan view of what turns on a thing's hinge, at angles from now to a share of its limit."""
    model, house = view.model, view.house
    hinge = model.categories[thing].hinge
    assert hinge is not None
    body = model.hinge_body[thing]
    origins, axes = house.bodies()
    anchor = origins[body] + axes[body] @ np.array(hinge.anchor)
    angles = np.linspace(0.0, (share - view.snapshot.rows[thing, JOINT]) * hinge.limit, SWEEP_STEPS)
    turns = _turns(axes[body] @ np.array(hinge.axis), angles)
    geoms = np.flatnonzero(model.moving.geom_bodyid == body)
    centres = anchor + np.einsum("aij,gj->agi", turns, house.centres[geoms] - anchor)
    turned = np.einsum("aij,gjk->agik", turns, house.axes[geoms])
    return Footprints.of(
        centres.reshape(-1, 3),
        turned.reshape(-1, 3, 3),
        np.tile(model.half_sizes[geoms], (SWEEP_STEPS, 1)),
        np.zeros(SWEEP_STEPS * len(geoms), dtype=bool),
    )


def _turns(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the matrices of turns about an axis (Rodrigues' formula)."""
    x, y, z = axis / np.sqrt(axis @ axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    turns: np.ndarray = np.eye(3) + sines * cross + (1.0 - cosines) * (cross @ cross)
    return turns


# From how far outside the hand closes in on what it takes hold of.
APPROACH = 0.01


def grasp_failure(view: SnapshotGeometry, thing: int) -> FailureReason | None:
    """Return why the hand cannot take hold of a thing, or None if that depends on its way alone."""
    if view.snapshot.held >= 0:
        return FailureReason.HAND_FULL
    if view.snapshot.rows[thing, GRASPABLE] < 0.5:
        return FailureReason.NOT_GRASPABLE
    return _reach_failure(view, thing, view.boxes.middle[thing])


def grasp(view: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters) -> Motion:
    """Take hold of a thing from the side that the offset is on, and bring it over the robot's body.

    The hand closes in on the thing's middle until it touches it.
    """
    planner, snapshot = HandPlanner(view), view.snapshot
    middle = view.boxes.middle[thing]
    outwards, _ = _direction(_at(view, thing, offset) - middle)
    touch = planner.touching(thing, middle, outwards, view.contact_free_distance(thing, middle))
    reach = planner.approach_path(thing, touch + APPROACH * outwards, touch)
    load = planner.load(touch, thing)
    home = touch + _lift(view, thing)
    back = planner.plan(load, home, touch)
    if reach is None or back is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    left_behind = view.house.touched(thing)
    held = _moved(snapshot, thing, home - touch).with_feature(thing, HELD, 1.0)
    after = physics.settle(_with_hand(held, home), left_behind)
    return Motion(after, reach=reach, back=back[::-1])


def place_failure(
    view: SnapshotGeometry, thing: int, offset: Parameters, *, inside: bool
) -> FailureReason | None:
    """Return why what is held cannot be released over a thing, or None if that depends on the way alone."""
    if view.snapshot.held < 0:
        return FailureReason.HAND_EMPTY
    if inside and view.model.hinge_address[thing] >= 0 and view.snapshot.rows[thing, JOINT] <= OPEN_FROM:
        return FailureReason.CLOSED
    goal = view.snapshot.hand + _shift(view, thing, offset)
    refusal = _reach_failure(view, thing, goal)
    if refusal is not None:
        return refusal
    planner = HandPlanner(view)
    load = planner.load(view.snapshot.hand, view.snapshot.held)
    return None if planner.is_free(load, [goal]) else FailureReason.NO_CLEARANCE


def place(view: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters) -> Motion:
    """Let go of what is held where the offset says its bottom shall be; then physics takes over."""
    planner, snapshot = HandPlanner(view), view.snapshot
    shift = _shift(view, thing, offset)
    path = planner.plan(planner.load(snapshot.hand, snapshot.held), snapshot.hand, snapshot.hand + shift)
    if path is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    released = _moved(snapshot, snapshot.held, shift).with_feature(snapshot.held, HELD, 0.0)
    after = physics.settle(_at_rest(released), [snapshot.held])
    return Motion(after, reach=path, back=path[::-1])


def hinge_failure(
    view: SnapshotGeometry, thing: int, offset: Parameters, share: float
) -> FailureReason | None:
    """Return why a thing cannot be opened or closed, or None if that depends on the hand's way alone."""
    if view.snapshot.held >= 0:
        return FailureReason.HAND_FULL
    if view.model.hinge_address[thing] < 0:
        return FailureReason.NOT_OPENABLE
    refusal = _reach_failure(view, thing, _from_handle(view, thing, offset))
    return refusal or _swing_failure(view, thing, share)


def turn(view: SnapshotGeometry, physics: Physics, thing: int, offset: Parameters, share: float) -> Motion:
    """Take hold of a thing's handle, coming from an offset, and turn its hinge to a share of its limit."""
    planner = HandPlanner(view)
    handle, before = _handle(view, thing), _from_handle(view, thing, offset)
    outwards, distance = _direction(before - handle)
    reach = planner.approach_path(thing, before, planner.touching(thing, handle, outwards, distance))
    if reach is None:
        raise EnvironmentFailure(FailureReason.NO_HAND_PATH.value)
    return Motion(physics.drive(_at_rest(view.snapshot), thing, share), reach=reach, back=reach[::-1])


def _reach_failure(view: SnapshotGeometry, thing: int, hand: np.ndarray) -> FailureReason | None:
    base = view.snapshot.robot[:2]
    if not view.reachable_from(base, np.array([thing])).all():
        return FailureReason.NOT_REACHABLE
    way = hand - np.array([*base, SHOULDER_HEIGHT])
    return FailureReason.OUT_OF_RANGE if way @ way > HAND_RANGE**2 else None


def _swing_failure(view: SnapshotGeometry, thing: int, share: float) -> FailureReason | None:
    """Return why a hinge cannot be turned from where the robot is, whatever the hand does, or None."""
    if (thing, share) not in view.swing_failures:
        refusal = None
        if hits_robot(view, thing, share):
            refusal = FailureReason.NO_CLEARANCE
        elif encloses_robot(view, thing, share):
            refusal = FailureReason.SHUT_IN
        view.swing_failures[thing, share] = refusal
    return view.swing_failures[thing, share]


def _at(view: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the point at an offset from a thing's origin."""
    row = view.snapshot.rows[thing]
    point: np.ndarray = row[:3] + turned(np.array(offset), heading(row[3:7].tolist()))
    return point


def _handle(view: SnapshotGeometry, thing: int) -> np.ndarray:
    """Return where a thing's handle is now."""
    hinge = view.model.categories[thing].hinge
    assert hinge is not None
    origins, axes = view.house.bodies()
    body = view.model.hinge_body[thing]
    handle: np.ndarray = origins[body] + axes[body] @ np.array(hinge.handle)
    return handle


def _from_handle(view: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the point at an offset from a thing's handle."""
    yaw = heading(view.snapshot.rows[thing, 3:7].tolist())
    point: np.ndarray = _handle(view, thing) + turned(np.array(offset), yaw)
    return point


def _direction(way: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction and the length of a way; no way at all goes up."""
    length = float(np.sqrt(way @ way))
    return (way / length, length) if length > 1e-6 else (np.array([0.0, 0.0, 1.0]), 0.0)


def _lift(view: SnapshotGeometry, thing: int) -> np.ndarray:
    """Return the way of a thing from where it is to over the robot's body."""
    middle, low = view.boxes.middle[thing], view.boxes.low[thing]
    x, y = view.snapshot.robot[:2]
    return np.array([x - middle[0], y - middle[1], CARRY_HEIGHT - low[2]])


def _shift(view: SnapshotGeometry, thing: int, offset: Parameters) -> np.ndarray:
    """Return the way of what is held to where the middle of its bottom is at an offset from a thing."""
    held = view.snapshot.held
    middle, low = view.boxes.middle[held], view.boxes.low[held]
    shift: np.ndarray = _at(view, thing, offset) - np.array([middle[0], middle[1], low[2]])
    return shift


def _moved(snapshot: Snapshot, thing: int, way: np.ndarray) -> Snapshot:
    pose = snapshot.rows[thing, POSE].copy()
    pose[:3] += way
    return snapshot.with_pose(thing, pose)


def _with_hand(snapshot: Snapshot, place: np.ndarray) -> Snapshot:
    robot = snapshot.robot.copy()
    robot[3:6] = place
    return snapshot.with_robot(robot)


def _at_rest(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with the hand over the robot's body."""
    return _with_hand(snapshot, np.array([*snapshot.robot[:2], CARRY_HEIGHT]))
