"""The geometry of a house in one snapshot, and the ten predicates that follow from it.

The geometry consists of boxes, contacts, lines of sight, obstacles and reachable things. `Facts` evaluates
the predicates for all objects of the snapshot at once.

`HouseQueries` answers queries with MuJoCo, for any snapshot of a house. `SnapshotGeometry` belongs to one
snapshot. It computes bounding boxes and obstacles when they are first used, and stores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import mujoco
import numpy as np

from needful.core.objects import Object
from needful.envs.household.scene.scene import (
    EYE_HEIGHT,
    HAND_CLEARANCE,
    HAND_RADIUS,
    HEIGHT,
    RADIUS,
    REACH,
    SHOULDER_HEIGHT,
)
from needful.envs.household.simulation.base_motion import BasePlanner, Disc, Footprints, OccupancyGrid
from needful.envs.household.simulation.house_model import OWNER_GROUND, OWNER_HOUSE, SOLID, HouseModel
from needful.envs.household.simulation.snapshot import JOINT, Snapshot, to_qpos

if TYPE_CHECKING:
    from needful.envs.household.simulation.physics import FailureReason

# The lower of two touching objects supports the upper one if the vertical component of the unit normal of
# their contact is greater than this.
MIN_SUPPORT_NORMAL = 0.5
_SOLID_ONLY = np.array([group == SOLID for group in range(6)], dtype=np.uint8)
_CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
Extension: TypeAlias = tuple[tuple[Object, ...], ...]

# An object is open if its hinge angle exceeds this fraction of the angle when fully open.
OPEN_THRESHOLD = 0.05

PREDICATE_NAMES = (
    "Closed",
    "HandEmpty",
    "Holding",
    "Inside",
    "NotOpenable",
    "OnTop",
    "Open",
    "Openable",
    "Reachable",
    "ReachableNothing",
)


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
    """Answers geometric queries about a house in the snapshot that was last passed to `set_snapshot`."""

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


@dataclass(eq=False, repr=False)
class SnapshotGeometry:
    """A snapshot, and the geometry that is computed from it.

    Attributes:
        model: the model of the house.
        queries: answers geometric queries. All snapshots of the house share it, so it may be set to another
            snapshot; use `house` instead, which first sets it to this one.
        grid: a grid over the floor with the fixed obstacles, to plan paths of the robot's base.
        snapshot: the positions of the robot and of all things.
        sweep_failures: a cache. A key is a thing and a hinge angle, as a fraction of the angle when fully
            open. The value is the reason why the hinge cannot turn to this angle, or None if it can.
    """

    model: HouseModel
    queries: HouseQueries
    grid: OccupancyGrid
    snapshot: Snapshot
    sweep_failures: dict[tuple[int, float], FailureReason | None] = field(default_factory=dict, init=False)

    @property
    def house(self) -> HouseQueries:
        """The `queries`, after they were set to this snapshot."""
        self.queries.set_snapshot(self.snapshot)
        return self.queries

    @cached_property
    def boxes(self) -> BoundingBoxes:
        """The bounding boxes of all things."""
        return self.house.thing_boxes()

    @cached_property
    def loose(self) -> Footprints:
        """The areas that all movable things except the held thing cover, seen from above."""
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
        """Return a distance: if the hand is this far from `point`, it cannot touch the object `thing`."""
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


class Facts:
    """The ground atoms that hold in a snapshot, by predicate."""

    def __init__(self, geometry: SnapshotGeometry) -> None:
        self.geometry = geometry

    @cached_property
    def extensions(self) -> Mapping[str, Extension]:
        """For each predicate, all tuples of objects for which the predicate holds.

        The tuples are ordered by the positions of their objects in `HouseModel.objects`.
        """
        model, snapshot = self.geometry.model, self.geometry.snapshot
        held, things = snapshot.held, np.arange(len(model.things))
        openable = model.hinge_address >= 0
        is_open = snapshot.rows[:, JOINT] > OPEN_THRESHOLD
        reachable = self.geometry.reachable_from(snapshot.robot[:2], things)
        return {
            "Closed": self._singles(openable & ~is_open),
            "HandEmpty": ((),) if held < 0 else (),
            "Holding": () if held < 0 else (model.singletons[held],),
            "Inside": self._pairs(_inside(self.geometry)),
            "NotOpenable": self._singles(~openable) + model.singletons[len(model.things) :],
            "OnTop": self._pairs(self.geometry.house.supports()),
            "Open": self._singles(openable & is_open),
            "Openable": self._singles(openable),
            "Reachable": self._singles(reachable),
            "ReachableNothing": () if reachable.any() else ((),),
        }

    @cached_property
    def _sets(self) -> Mapping[str, frozenset[tuple[Object, ...]]]:
        return {name: frozenset(extension) for name, extension in self.extensions.items()}

    def holds(self, predicate: str, objects: tuple[Object, ...]) -> bool:
        """Return whether the predicate holds for the given objects in this snapshot."""
        return objects in self._sets[predicate]

    def _singles(self, chosen: np.ndarray) -> Extension:
        """Return the things for which `chosen` is True, each as a tuple of one object."""
        singletons = self.geometry.model.singletons
        return tuple([singletons[index] for index in chosen.nonzero()[0].tolist()])

    def _pairs(self, found: Iterable[tuple[int, int]]) -> Extension:
        objects = self.geometry.model.objects
        return tuple([(objects[one], objects[other]) for one, other in found])


def _inside(geometry: SnapshotGeometry) -> list[tuple[int, int]]:
    """Return all pairs (a, b) of things such that a is inside b, as indices.

    Thing a is inside b if a is movable and the centre of a lies in a cavity of b. The held thing is in no
    pair.
    """
    model, held = geometry.model, geometry.snapshot.held
    owners, centres, halves = model.cavities
    if len(owners) == 0:
        return []
    origins, axes = geometry.house.bodies()
    hosts = model.body[owners]
    apart = geometry.boxes.centre[None, :, :] - origins[hosts][:, None, :]
    local = np.einsum("cij,cti->ctj", axes[hosts], apart) - centres[:, None, :]
    within = (np.abs(local) <= halves[:, None, :]).all(axis=2) & (model.free_address >= 0)
    within[np.arange(len(owners)), owners] = False
    if held >= 0:
        within[:, held] = False
        within[owners == held] = False
    cavities, things = np.nonzero(within)
    return sorted(set(zip(things.tolist(), owners[cavities].tolist(), strict=True)))
