"""The ten predicates of a house, evaluated for all objects of a snapshot at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np

from needful.core.objects import Object
from needful.envs.household.simulation.snapshot import JOINT
from needful.envs.household.simulation.snapshot_geometry import SnapshotGeometry

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
        """Return the things that the mask `chosen` selects, each as a tuple of one object."""
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
