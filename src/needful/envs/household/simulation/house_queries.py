"""Query a house at rest: bounding boxes, contacts, which objects support others, lines of sight."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import mujoco
import numpy as np

from needful.envs.household.motion.base_motion import Footprints
from needful.envs.household.simulation.house_model import OWNER_GROUND, OWNER_HOUSE, SOLID, HouseModel
from needful.envs.household.simulation.snapshot import Snapshot, to_qpos

# The lower of two touching objects supports the upper one if the vertical component of the unit normal of
# their contact is greater than this.
MIN_SUPPORT_NORMAL = 0.5

_SOLID_ONLY = np.array([group == SOLID for group in range(6)], dtype=np.uint8)


@dataclass(frozen=True)
class BoundingBoxes:
    """Axis-aligned boxes, given by their lowest and highest corners, one box per row."""

    low: np.ndarray
    high: np.ndarray

    @property
    def centre(self) -> np.ndarray:
        """The centres of the boxes."""
        centre: np.ndarray = (self.low + self.high) / 2
        return centre

    def nearest(self, point: np.ndarray) -> np.ndarray:
        """Return, for each box, the point of the box that is nearest to the given point."""
        nearest: np.ndarray = np.clip(point, self.low, self.high)
        return nearest


class HouseQueries:
    """Answers queries about a house in one snapshot, which `set_snapshot` selects."""

    def __init__(self, model: HouseModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model.query_model)
        self._snapshot: Snapshot | None = None
        # `_starts` holds the index of each thing's first geom; the geoms of one thing are adjacent.
        owned = np.flatnonzero(model.owner >= 0)
        self._starts = owned[np.diff(model.owner[owned], prepend=-1) > 0]
        self._room_low = np.array([room.low for room in model.scene.rooms])
        self._room_high = np.array([room.high for room in model.scene.rooms])

    def set_snapshot(self, snapshot: Snapshot) -> None:
        """Set the snapshot that all queries refer to."""
        if snapshot is not self._snapshot:
            self._data.qpos[:] = to_qpos(self._model, snapshot)
            mujoco.mj_kinematics(self._model.query_model, self._data)
            self._snapshot = snapshot

    @property
    def centres(self) -> np.ndarray:
        """The centre of each MuJoCo geom (shape) in the selected snapshot."""
        centres: np.ndarray = self._data.geom_xpos
        return centres

    @property
    def axes(self) -> np.ndarray:
        """The axes of each MuJoCo geom (shape), as the columns of one matrix per geom."""
        axes: np.ndarray = self._data.geom_xmat.reshape(-1, 3, 3)
        return axes

    def bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the origins of all MuJoCo bodies, and their axes as the columns of one matrix per body."""
        return self._data.xpos, self._data.xmat.reshape(-1, 3, 3)

    def geom_boxes(self) -> BoundingBoxes:
        """Return the bounding box of each MuJoCo geom (shape)."""
        reach = np.einsum("gij,gj->gi", np.abs(self.axes), self._model.half_sizes)
        return BoundingBoxes(self.centres - reach, self.centres + reach)

    def thing_boxes(self) -> BoundingBoxes:
        """Return the bounding box of each thing, including its lid or door at its current angle."""
        geoms = self.geom_boxes()
        if len(self._starts) == 0:
            return BoundingBoxes(np.empty((0, 3)), np.empty((0, 3)))
        return BoundingBoxes(
            np.minimum.reduceat(geoms.low, self._starts), np.maximum.reduceat(geoms.high, self._starts)
        )

    def supports(self) -> list[tuple[int, int]]:
        """Return all pairs (a, b) of objects such that b supports a, as indices into `HouseModel.objects`.

        The held object has no support and supports nothing.
        """
        model, data = self._model, self._data
        mujoco.mj_collision(model.query_model, data)
        contacts = data.contact
        owners, up = model.owner[contacts.geom], contacts.frame[:, 2]
        owners = np.where((up > 0)[:, None], owners, owners[:, ::-1])
        lower, upper = owners[:, 0], owners[:, 1]
        assert self._snapshot is not None
        held = self._snapshot.held
        is_support = (
            (np.abs(up) > MIN_SUPPORT_NORMAL) & (upper >= 0) & (lower != upper) & (lower != OWNER_HOUSE)
        )
        is_support &= (lower != held) & (upper != held) if held >= 0 else True
        is_support[is_support] = model.free_address[upper[is_support]] >= 0
        ground = is_support & (lower == OWNER_GROUND)
        lower = lower.copy()
        lower[ground] = len(model.things) + self._rooms(contacts.pos[ground])
        return sorted(set(zip(upper[is_support].tolist(), lower[is_support].tolist(), strict=True)))

    def in_sight(self, eye: np.ndarray, points: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Return, for each point, whether it is visible from the position `eye`.

        `owners` holds, for each point, the index of the thing that the point belongs to. A thing does not
        hide its own points. The robot and the held thing hide nothing.
        """
        assert self._snapshot is not None
        directions = points - eye
        lengths = np.sqrt((directions * directions).sum(axis=1))
        directions = directions / np.maximum(lengths, 1e-9)[:, None]
        hits, distances = np.empty(len(points), dtype=np.int32), np.empty(len(points))
        held = self._snapshot.held
        excluded = int(self._model.body[held]) if held >= 0 else -1
        mujoco.mj_multiRay(
            self._model.query_model, self._data, eye, directions.ravel(), _SOLID_ONLY, True, excluded,
            hits, distances, None, len(points), float(lengths.max(initial=0.0)) + 0.01,
        )  # fmt: skip
        free: np.ndarray = (hits < 0) | (distances >= lengths) | (self._model.owner[hits] == owners)
        return free

    def distance(self, one: int, other: int, limit: float) -> float:
        """Return the distance between two MuJoCo geoms (shapes), but at most `limit`.

        The distance is negative if the geoms overlap.
        """
        found: float = mujoco.mj_geomDistance(self._model.query_model, self._data, one, other, limit, None)
        return found

    def move_geom(self, geom: int, centre: np.ndarray) -> None:
        """Move a MuJoCo geom (shape) to a new centre, to query distances there.

        Call this method only in a `with` block of `restoring_geoms`.
        """
        self._data.geom_xpos[geom] = centre

    @contextmanager
    def restoring_geoms(self, geoms: np.ndarray) -> Iterator[None]:
        """Restore the current positions of the given MuJoCo geoms at the end of the `with` block."""
        before = self._data.geom_xpos[geoms].copy()
        try:
            yield
        finally:
            self._data.geom_xpos[geoms] = before

    def things_touching(self, thing: int) -> list[int]:
        """Return the sorted indices of the things that touch the thing with index `thing`."""
        mujoco.mj_collision(self._model.query_model, self._data)
        owners = self._model.owner[self._data.contact.geom]
        beside = np.concatenate([owners[owners[:, 0] == thing, 1], owners[owners[:, 1] == thing, 0]])
        return sorted(set(beside[(beside >= 0) & (beside != thing)].tolist()))

    def footprints(self) -> Footprints:
        """Return the footprints of all MuJoCo geoms (shapes): the areas that they cover from above."""
        round_ = self._model.physics_model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER
        return Footprints.of(self.centres, self.axes, self._model.half_sizes, round_)

    def _rooms(self, points: np.ndarray) -> np.ndarray:
        """Return, for each point, the index of the room that contains it, or of the nearest room."""
        flat = points[:, None, :2]
        outside = np.maximum(np.maximum(self._room_low - flat, flat - self._room_high), 0.0)
        nearest: np.ndarray = (outside**2).sum(axis=2).argmin(axis=1)
        return nearest
