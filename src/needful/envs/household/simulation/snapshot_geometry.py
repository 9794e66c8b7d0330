"""The geometry of one snapshot: bounding boxes, obstacles and reachable things.

Bounding boxes and obstacles are computed when they are first used, and then stored.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from needful.envs.household.motion.base_motion import BasePlanner, Disc, Footprints, OccupancyGrid
from needful.envs.household.scene.scene import (
    EYE_HEIGHT,
    HAND_CLEARANCE,
    HAND_RADIUS,
    HEIGHT,
    RADIUS,
    REACH,
    SHOULDER_HEIGHT,
)
from needful.envs.household.simulation.house_model import HouseModel
from needful.envs.household.simulation.house_queries import BoundingBoxes, HouseQueries
from needful.envs.household.simulation.snapshot import Snapshot

if TYPE_CHECKING:
    from needful.envs.household.simulation.controller_motion import FailureReason

_CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)


class SnapshotGeometry:
    """A snapshot, and the geometry that is computed from it."""

    def __init__(
        self, model: HouseModel, house: HouseQueries, grid: OccupancyGrid, snapshot: Snapshot
    ) -> None:
        self.model = model
        self.grid = grid
        self.snapshot = snapshot
        self._house = house
        # A cache. A key is a thing and a hinge angle, as a fraction of the angle when fully open. The value
        # is the reason why the hinge of the thing cannot turn to this angle, or None if it can.
        self.sweep_failures: dict[tuple[int, float], FailureReason | None] = {}

    @property
    def house(self) -> HouseQueries:
        """The `HouseQueries` of the house, set to this snapshot."""
        self._house.set_snapshot(self.snapshot)
        return self._house

    @cached_property
    def boxes(self) -> BoundingBoxes:
        """The bounding boxes of all things."""
        return self.house.thing_boxes()

    @cached_property
    def loose(self) -> Footprints:
        """The areas that all movable things cover, seen from above, without the held thing."""
        model = self.model
        return self.house.footprints()[model.is_loose & (model.owner != self.snapshot.held)]

    @cached_property
    def obstacles(self) -> Footprints:
        """The areas of all fixed and movable obstacles that the robot must not drive into."""
        return self.grid.fixed.joined(self.loose)

    @cached_property
    def discs(self) -> tuple[Disc, ...]:
        """Two discs that cover the robot, seen from above, at any yaw.

        The first covers the base. The second covers the hand and the held thing, which are above the base.
        """
        apart = self.snapshot.hand[:2] - self.snapshot.robot[:2]
        upper = max(HAND_CLEARANCE, HAND_RADIUS + float(np.hypot(apart[0], apart[1])))
        if self.snapshot.held >= 0:
            geoms = np.flatnonzero(self.model.owner == self.snapshot.held)
            reach = np.einsum(
                "gij,gj,cj->gci", self.house.axes[geoms], self.model.half_sizes[geoms], _CORNERS
            )
            corners = self.house.centres[geoms][:, None, :2] + reach[:, :, :2] - self.snapshot.robot[:2]
            upper = max(upper, float(np.hypot(corners[..., 0], corners[..., 1]).max()))
        return Disc(RADIUS, 0.0, HEIGHT), Disc(upper, HEIGHT, inf)

    @cached_property
    def base_planner(self) -> BasePlanner:
        """The planner for paths of the robot's base from its position in this snapshot."""
        x, y = self.snapshot.robot[:2].tolist()
        return BasePlanner(self.grid, self.discs, self.loose, (x, y))

    def contact_free_distance(self, thing: int, point: np.ndarray) -> float:
        """Return a distance from `point` at which the hand, in any direction, does not touch the thing."""
        corner = np.maximum(np.abs(self.boxes.low[thing] - point), np.abs(self.boxes.high[thing] - point))
        return float(np.sqrt(corner @ corner)) + 2 * HAND_RADIUS

    def reachable_from(self, base: np.ndarray, things: np.ndarray) -> np.ndarray:
        """Return, for each thing, whether a robot whose base is at `base` could reach the thing.

        A thing is reachable if it is not held, less than `REACH` away from the robot's shoulder, and in
        sight. It is in sight if the robot's camera sees the centre of its bounding box, or the point of the
        box that is nearest to the shoulder.
        """
        shoulder, eye = np.array([*base, SHOULDER_HEIGHT]), np.array([*base, EYE_HEIGHT])
        boxes = BoundingBoxes(self.boxes.low[things], self.boxes.high[things])
        nearest = boxes.nearest(shoulder)
        reachable: np.ndarray = ((nearest - shoulder) ** 2).sum(axis=1) < REACH**2
        reachable &= things != self.snapshot.held
        rows = np.flatnonzero(reachable)
        if len(rows):
            points = np.concatenate([nearest[rows], boxes.centre[rows]])
            seen = self.house.in_sight(eye, points, np.concatenate([things[rows], things[rows]]))
            reachable[rows] = seen[: len(rows)] | seen[len(rows) :]
        return reachable
