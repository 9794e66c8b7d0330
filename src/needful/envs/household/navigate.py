"""NavigateTo: drive to a place next to a thing and face it."""

from __future__ import annotations

from math import atan2

import numpy as np

from needful.core.controllers import Parameters
from needful.envs.household.base_motion import clear_at
from needful.envs.household.course import Course, Refusal
from needful.envs.household.object_types import heading
from needful.envs.household.robot import CLEARANCE
from needful.envs.household.snapshot import POSE, Snapshot
from needful.envs.household.turning import turned, turned_pose
from needful.envs.household.view import View


def refuse_to_navigate(view: View, thing: int, offset: Parameters) -> Refusal | None:
    """Return why the robot cannot stand at an offset from a thing and reach it, or None.

    Of the way there it is only checked that the free space hangs together.
    """
    goal = _goal(view, thing, offset)
    if not view.grid.contains(goal) or not clear_at(view.discs, view.obstacles, goal[None], CLEARANCE):
        return Refusal.NO_CLEARANCE
    if not view.reachable_from(goal, np.array([thing])).all():
        return Refusal.NOT_REACHABLE
    return None if view.drives.reach((float(goal[0]), float(goal[1]))) else Refusal.NO_PATH


def navigate(view: View, thing: int, offset: Parameters) -> Course:
    """Drive to an offset from a thing; what is held comes along."""
    goal = _goal(view, thing, offset)
    path = view.drives.path((float(goal[0]), float(goal[1])))
    assert path is not None, "navigation was refused otherwise"
    faced = view.boxes.middle[thing] - np.array([*goal, 0.0])
    return Course(driven(view.snapshot, goal, atan2(faced[1], faced[0])), base=path)


def driven(snapshot: Snapshot, place: np.ndarray, yaw: float) -> Snapshot:
    """Return a snapshot with the robot, its hand and what it holds at another place."""
    before = snapshot.robot
    base, there = np.array([*before[:2], 0.0]), np.array([*place, 0.0])

    def carried(pose: np.ndarray) -> np.ndarray:
        relative = np.array([*(pose[:3] - base), *pose[3:]])
        moved = turned_pose(relative, yaw - before[2])
        moved[:3] += there
        return moved

    after = snapshot.with_robot(np.array([*place, yaw, *carried(before[3:])]))
    if snapshot.held < 0:
        return after
    return after.with_pose(snapshot.held, carried(snapshot.rows[snapshot.held, POSE]))


def _goal(view: View, thing: int, offset: Parameters) -> np.ndarray:
    row = view.snapshot.rows[thing]
    goal: np.ndarray = row[:2] + turned(np.array(offset), heading(row[3:7].tolist()))
    return goal
