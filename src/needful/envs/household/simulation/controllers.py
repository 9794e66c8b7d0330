"""The six controllers by name.

θ is measured from the origin of the target's body, in a frame that is turned with it about the vertical
only; for Open and Close it is measured from the handle. A floor cannot be a target: it is never reachable.

NavigateTo: drive to a place next to a thing and face it.
"""

from __future__ import annotations

from math import atan2
from types import MappingProxyType

import numpy as np

from needful.core.controllers import Parameters
from needful.envs.household.motion.base_motion import clear_at
from needful.envs.household.scene.scene import CLEARANCE, heading
from needful.envs.household.simulation import manipulate
from needful.envs.household.simulation.course import Course, Refusal
from needful.envs.household.simulation.physics import Physics
from needful.envs.household.simulation.situation import View
from needful.envs.household.simulation.snapshot import POSE, Snapshot, turned, turned_pose
from needful.errors import EnvironmentFailure, UnknownNameError


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


# To which share of its limit a hinge is driven: Close goes all the way to the stop.
SHARES = MappingProxyType({"Open": 1.0, "Close": 0.0})

CONTROLLER_NAMES = ("Close", "Grasp", "NavigateTo", "Open", "PlaceInside", "PlaceOnTop")


def refusal(view: View, name: str, thing: int, theta: Parameters) -> Refusal | None:
    """Return why a controller cannot start, or None; this is cheap, as no motion is planned."""
    match name:
        case "NavigateTo":
            return refuse_to_navigate(view, thing, theta)
        case "Grasp":
            return manipulate.refuse_to_grasp(view, thing)
        case "PlaceOnTop" | "PlaceInside":
            return manipulate.refuse_to_place(view, thing, theta, inside=name == "PlaceInside")
        case "Open" | "Close":
            return manipulate.refuse_to_turn(view, thing, theta, SHARES[name])
        case _:
            raise UnknownNameError("household controller", name, CONTROLLER_NAMES)


def perform(view: View, physics: Physics, name: str, thing: int, theta: Parameters) -> Course:
    """Run a controller; raise `EnvironmentFailure` with the reason if it cannot be done."""
    reason = refusal(view, name, thing, theta)
    if reason is not None:
        raise EnvironmentFailure(reason.value)
    match name:
        case "NavigateTo":
            return navigate(view, thing, theta)
        case "Grasp":
            return manipulate.grasp(view, physics, thing, theta)
        case "PlaceOnTop" | "PlaceInside":
            return manipulate.place(view, physics, thing, theta)
        case _:
            return manipulate.turn(view, physics, thing, theta, SHARES[name])
