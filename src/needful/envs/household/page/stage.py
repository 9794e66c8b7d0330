"""What stands in a house and how it moves, as numbers for the page to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mujoco
import numpy as np

from needful.core.state import State
from needful.envs.household.house_model import HINGED, HOUSE_ITSELF, ROBOT_BODY, ROBOT_HAND, HouseModel
from needful.envs.household.posing import pose
from needful.envs.household.rendering import ARM_COLOUR, ARM_RADIUS, CUT, WALL_OPACITY
from needful.envs.household.robot import SHOULDER
from needful.envs.household.snapshot import as_snapshot

# To the millimetre, a thousandth of a quaternion, and what an eye tells apart of colours.
LENGTH_DIGITS, TURN_DIGITS, COLOUR_DIGITS = 3, 4, 3

KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX.value: "box",
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: "cylinder",
    mujoco.mjtGeom.mjGEOM_SPHERE.value: "ball",
}


def shapes(model: HouseModel) -> list[dict[str, Any]]:
    """Return all that is seen: the body that it moves with, its place in it, half its size, its colour.

    Walls are cut off and can be seen through, so that one can look into the rooms.
    """
    still, found = model.still, []
    for geom, owner in enumerate(model.owner):
        kind = KINDS.get(int(still.geom_type[geom]))
        if kind is None:
            continue  # the ground, which is a plane under all floors
        centre, half = still.geom_pos[geom].copy(), model.half_sizes[geom].copy()
        opacity = float(still.geom_rgba[geom, 3])
        if owner == HOUSE_ITSELF:
            low, high = centre[2] - half[2], min(centre[2] + half[2], CUT)
            if high <= low:
                continue
            centre[2], half[2], opacity = (low + high) / 2, (high - low) / 2, WALL_OPACITY
        found.append(
            {
                "kind": kind,
                "body": int(still.geom_bodyid[geom]),
                "centre": _rounded(centre, LENGTH_DIGITS),
                "half": _rounded(half, LENGTH_DIGITS),
                "colour": _rounded([*still.geom_rgba[geom, :3], opacity], COLOUR_DIGITS),
            }
        )
    return found


def arm(model: HouseModel) -> dict[str, Any]:
    """Return between which bodies the arm is, from what height, and how it looks."""
    return {
        "from": int(model.still.body(ROBOT_BODY).id),
        "shoulder": SHOULDER,
        "to": int(model.still.body(ROBOT_HAND).id),
        "radius": ARM_RADIUS,
        "colour": list(ARM_COLOUR),
    }


def bodies_of(model: HouseModel) -> dict[str, list[int]]:
    """Return the bodies that each thing is made of, by its name."""
    found: dict[str, list[int]] = {}
    for number in range(model.still.nbody):
        found.setdefault(model.still.body(number).name.removesuffix(HINGED), []).append(number)
    return found


def movements(model: HouseModel, states: Sequence[State]) -> Iterator[list[list[float]]]:
    """Yield for each state the bodies that are not where they were in the one before.

    Each is a list of the body's number, its place and its quaternion, w first.
    """
    data = mujoco.MjData(model.still)
    before: list[list[float] | None] = [None] * model.still.nbody
    for state in states:
        pose(model, data, as_snapshot(model, state))
        mujoco.mj_kinematics(model.still, data)
        now = [
            _rounded(place, LENGTH_DIGITS) + _rounded(turn, TURN_DIGITS)
            for place, turn in zip(data.xpos, data.xquat, strict=True)
        ]
        yield [[body, *new] for body, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
        before = list(now)


def _rounded(numbers: Sequence[float] | np.ndarray, digits: int) -> list[float]:
    """Return numbers that are short when they are written down; whole ones without a point."""
    rounded = (round(float(number), digits) for number in numbers)
    return [int(number) if number.is_integer() else number for number in rounded]
