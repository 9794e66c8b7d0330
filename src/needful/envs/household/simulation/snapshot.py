"""Convert between states, snapshots (states as arrays) and MuJoCo's data, without loss.

This module also rotates points and poses about the vertical axis.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, sin
from typing import Any

import numpy as np

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.household.scene.categories import bounding_box
from needful.envs.household.scene.scene import CARRY_HEIGHT, HOUSE_OBJECT, OBJ, ROBOT_OBJECT, Thing
from needful.envs.household.simulation.house_model import ROBOT_BODY, ROBOT_HAND, HouseModel

JOINT, GRASPABLE, HELD = (OBJ.features.index(name) for name in ("joint", "graspable", "held"))
POSE = slice(0, 7)

# While physics runs, the held object is moved to this height, so that it touches nothing.
FAR_AWAY = 1000.0


@dataclass(frozen=True)
class Snapshot:
    """A state of a house as arrays.

    Attributes:
        rows: one row of features per thing, in the order of `HouseModel.things`.
        robot: the robot's features.
    """

    rows: np.ndarray
    robot: np.ndarray

    @cached_property
    def held(self) -> int:
        """The index of the thing in the robot's hand, or -1 if the hand is empty."""
        indices = np.flatnonzero(self.rows[:, HELD] > 0.5)
        return int(indices[0]) if len(indices) else -1

    @property
    def hand(self) -> np.ndarray:
        """The position of the robot's hand."""
        return self.robot[3:6]

    def with_robot(self, robot: np.ndarray) -> Snapshot:
        """Return a copy of this snapshot in which the robot has the given features."""
        return Snapshot(self.rows, robot)

    def with_pose(self, thing: int, pose: np.ndarray) -> Snapshot:
        """Return a copy of this snapshot in which the thing with index `thing` has the given pose."""
        rows = self.rows.copy()
        rows[thing, POSE] = pose
        return Snapshot(rows, self.robot)

    def with_feature(self, thing: int, feature: int, value: float) -> Snapshot:
        """Return a copy of this snapshot in which one feature of one thing has the given value.

        `thing` is the row and `feature` the column of this value in `rows`.
        """
        rows = self.rows.copy()
        rows[thing, feature] = value
        return Snapshot(rows, self.robot)


def initial_snapshot(model: HouseModel) -> Snapshot:
    """Return the snapshot of the scene before physics moves its objects; the hand is empty."""
    x, y, yaw = model.scene.robot
    robot = np.array([x, y, yaw, x, y, CARRY_HEIGHT, *yaw_quaternion(yaw)])
    rows = [_row(model, index, thing) for index, thing in enumerate(model.scene.things)]
    return Snapshot(np.array(rows).reshape(-1, len(OBJ.features)), robot)


def _row(model: HouseModel, index: int, thing: Thing) -> list[float]:
    category = model.categories[index]
    half = bounding_box(category).half
    return [
        *thing.position,
        *yaw_quaternion(thing.yaw),
        *half,
        thing.opened,
        float(category.graspable),
        0.0,
    ]


def as_state(model: HouseModel, snapshot: Snapshot) -> State:
    """Convert a snapshot to a state."""
    vectors: dict[Object, tuple[float, ...]] = dict(
        zip(model.things, map(tuple, snapshot.rows.tolist()), strict=True)
    )
    for floor, room in zip(model.floors, model.scene.rooms, strict=True):
        (x0, y0), (x1, y1) = room.low, room.high
        half = ((x1 - x0) / 2, (y1 - y0) / 2, 0.0)
        vectors[floor] = (x0 + half[0], y0 + half[1], 0.0, 1.0, 0.0, 0.0, 0.0, *half, 0.0, 0.0, 0.0)
    vectors[ROBOT_OBJECT] = tuple(snapshot.robot.tolist())
    vectors[HOUSE_OBJECT] = model.scene.identity
    return State(vectors)


def changed_state(
    model: HouseModel, state: State, snapshot: Snapshot, before: Snapshot | None = None
) -> State:
    """Convert a snapshot to a state that shares the feature vectors of unchanged things with `state`.

    `before` is the snapshot of `state`. Without this argument, it is computed, which is slow. So pass it if
    you convert many snapshots.
    """
    changes = {ROBOT_OBJECT: dict(zip(ROBOT_OBJECT.type.features, snapshot.robot.tolist(), strict=True))}
    rows = (before or as_snapshot(model, state)).rows
    for index in np.flatnonzero((rows != snapshot.rows).any(axis=1)):
        row = snapshot.rows[index].tolist()
        changes[model.things[index]] = dict(zip(OBJ.features, row, strict=True))
    return state.replace(changes)


def as_snapshot(model: HouseModel, state: State) -> Snapshot:
    """Convert a state to a snapshot."""
    features = itertools.chain.from_iterable([state[thing] for thing in model.things])
    rows = np.fromiter(features, dtype=float).reshape(-1, len(OBJ.features))
    return Snapshot(rows, np.array(state[ROBOT_OBJECT]))


def to_qpos(model: HouseModel, snapshot: Snapshot) -> np.ndarray:
    """Convert a snapshot to MuJoCo's position vector `qpos`."""
    qpos = np.array(model.physics_model.qpos0)
    free, hinged = model.free_address >= 0, model.hinge_address >= 0
    qpos[model.free_address[free][:, None] + np.arange(7)] = snapshot.rows[free, POSE]
    qpos[model.hinge_address[hinged]] = _angles(model, snapshot)[hinged]
    return qpos


def with_qpos(model: HouseModel, snapshot: Snapshot, qpos: np.ndarray) -> Snapshot:
    """Return a copy of the snapshot with the poses and hinge angles of MuJoCo's position vector `qpos`.

    The held thing keeps its pose.
    """
    rows = snapshot.rows.copy()
    free = model.free_address >= 0
    if snapshot.held >= 0:
        free[snapshot.held] = False
    rows[free, POSE] = qpos[model.free_address[free][:, None] + np.arange(7)]
    # Snapshots store a hinge angle as a fraction of its limit. If an angle did not change, the stored
    # fraction is kept, because a new division could change the last bit of the fraction.
    angles, hinged = _angles(model, snapshot), model.hinge_address >= 0
    hinged[hinged] = qpos[model.hinge_address[hinged]] != angles[hinged]
    fractions = qpos[model.hinge_address[hinged]] / model.hinge_limit[hinged]
    rows[hinged, JOINT] = np.clip(fractions, 0.0, 1.0)
    return replace(snapshot, rows=rows)


def _angles(model: HouseModel, snapshot: Snapshot) -> np.ndarray:
    angles: np.ndarray = snapshot.rows[:, JOINT] * model.hinge_limit
    return angles


def apply_snapshot(model: HouseModel, data: Any, snapshot: Snapshot) -> None:
    """Set the positions in MuJoCo's `data` (an `MjData` of the query model) to those of a snapshot.

    Derived quantities, such as the poses of geoms, are not computed.
    """
    data.qpos[:] = to_qpos(model, snapshot)
    x, y, yaw = snapshot.robot[:3]
    body, hand = (model.query_model.body(name).mocapid[0] for name in (ROBOT_BODY, ROBOT_HAND))
    data.mocap_pos[body] = (x, y, 0.0)
    data.mocap_quat[body] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
    data.mocap_pos[hand] = snapshot.hand


def yaw_quaternion(yaw: float) -> np.ndarray:
    """Return the quaternion of a rotation by `yaw` about the vertical axis."""
    return np.array([cos(yaw / 2), 0.0, 0.0, sin(yaw / 2)])


def rotate_yaw(vector: np.ndarray, yaw: float) -> np.ndarray:
    """Return a vector of two or three numbers, rotated by `yaw` about the vertical axis."""
    x, y = vector[0], vector[1]
    c, s = cos(yaw), sin(yaw)
    return np.array([c * x - s * y, s * x + c * y, *vector[2:]])


def rotate_pose_yaw(pose: np.ndarray, yaw: float) -> np.ndarray:
    """Return a pose (position and quaternion) after a rotation by `yaw` about the z axis."""
    w, z = cos(yaw / 2), sin(yaw / 2)
    a, b, c, d = pose[3:]
    return np.array(
        [*rotate_yaw(pose[:3], yaw), w * a - z * d, w * b - z * c, w * c + z * b, w * d + z * a]
    )
