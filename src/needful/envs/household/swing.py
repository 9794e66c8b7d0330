"""Where the parts on a hinge are while they turn."""

from __future__ import annotations

import numpy as np

from needful.envs.household.base_motion import Drives
from needful.envs.household.footprints import Footprints
from needful.envs.household.robot import HEIGHT, RADIUS
from needful.envs.household.snapshot import JOINT
from needful.envs.household.view import View

# At how many angles one looks.
STOPS = 10


def hits_robot(view: View, thing: int, share: float) -> bool:
    """Return whether a thing that turns on its hinge to a share of its limit hits the robot's body."""
    x, y = view.snapshot.robot[:2]
    return bool((swept(view, thing, share).between(0.0, HEIGHT).gaps(x, y) < RADIUS).any())


def shuts_in(view: View, thing: int, share: float) -> bool:
    """Return whether the robot could no longer go away with a thing's hinge at a share of its limit."""
    if view.drives.is_shut_in():
        return False
    model = view.model
    turning = model.moving.geom_bodyid == model.hinge_body[thing]
    still = view.house.footprints()[model.is_loose & ~turning]
    count = int(turning.sum())
    turned = swept(view, thing, share)[np.arange(-count, 0)]
    x, y = view.snapshot.robot[:2].tolist()
    return Drives(view.grid, view.discs, still.joined(turned), (x, y)).is_shut_in()


def swept(view: View, thing: int, share: float) -> Footprints:
    """Return the plan view of what turns on a thing's hinge, at angles from now to a share of its limit."""
    model, house = view.model, view.house
    hinge = model.categories[thing].hinge
    assert hinge is not None
    body = model.hinge_body[thing]
    origins, axes = house.bodies()
    anchor = origins[body] + axes[body] @ np.array(hinge.anchor)
    angles = np.linspace(0.0, (share - view.snapshot.rows[thing, JOINT]) * hinge.limit, STOPS)
    turns = _turns(axes[body] @ np.array(hinge.axis), angles)
    geoms = np.flatnonzero(model.moving.geom_bodyid == body)
    centres = anchor + np.einsum("aij,gj->agi", turns, house.centres[geoms] - anchor)
    turned = np.einsum("aij,gjk->agik", turns, house.axes[geoms])
    return Footprints.of(
        centres.reshape(-1, 3),
        turned.reshape(-1, 3, 3),
        np.tile(model.half_sizes[geoms], (STOPS, 1)),
        np.zeros(STOPS * len(geoms), dtype=bool),
    )


def _turns(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the matrices of turns about an axis (Rodrigues' formula)."""
    x, y, z = axis / np.sqrt(axis @ axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    turns: np.ndarray = np.eye(3) + sines * cross + (1.0 - cosines) * (cross @ cross)
    return turns
