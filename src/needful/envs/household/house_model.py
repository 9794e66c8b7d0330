"""A compiled house: the engine's model, and what its numbers stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from needful.core.objects import Object
from needful.envs.household.scene import Category, Scene

# The groups of geoms: what blocks rays, the ground, what is only to be seen, and the robot.
SOLID, GROUND, SEEN, ROBOT_PARTS = 0, 1, 2, 3

# Whose part a geom is if it is no thing's.
HOUSE_ITSELF, THE_GROUND, THE_ROBOT_ITSELF = -1, -2, -3

# The names of the robot's two bodies, and what follows a thing's name in that of the body on its hinge.
ROBOT_BODY, ROBOT_HAND = "robot/body", "robot/hand"
HINGED = "/hinge"


@dataclass(frozen=True)
class HouseModel:
    """A compiled scene and where everything is in the engine's arrays.

    Attributes:
        scene: what it was built from.
        moving: the model that physics runs in, with sleeping.
        still: the same without sleeping, in which all contacts of bodies at rest are seen.
        things: the objects of the scene's things, in their order.
        floors: the objects of the rooms' floors, in the rooms' order.
        categories: the category of each thing.
    """

    scene: Scene
    moving: Any
    still: Any
    things: tuple[Object, ...]
    floors: tuple[Object, ...]
    categories: tuple[Category, ...]

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """The things and then the floors."""
        return self.things + self.floors

    @cached_property
    def owner(self) -> np.ndarray:
        """For each geom, the index of the thing that it is part of, or what else it belongs to."""
        index = {thing.name: number for number, thing in enumerate(self.things)}
        model = self.moving
        owners = np.full(model.ngeom, HOUSE_ITSELF)
        owners[np.isin(model.geom_group, (GROUND, SEEN))] = THE_GROUND
        owners[model.geom_group == ROBOT_PARTS] = THE_ROBOT_ITSELF
        for geom, body in enumerate(model.geom_bodyid):
            name = model.body(int(body)).name.removesuffix(HINGED)
            owners[geom] = index.get(name, owners[geom])
        return owners

    @property
    def hand_geom(self) -> int:
        """The number of the hand's geom."""
        return int(self.moving.geom(ROBOT_HAND).id)

    @cached_property
    def is_loose(self) -> np.ndarray:
        """For each geom, whether it is part of a thing and can move."""
        trees = self.moving.body_treeid[self.moving.geom_bodyid]
        loose: np.ndarray = (self.owner >= 0) & (trees >= 0)
        return loose

    @cached_property
    def is_fixed(self) -> np.ndarray:
        """For each geom, whether it is part of the house or of a thing and cannot move."""
        fixed: np.ndarray = (self.owner >= HOUSE_ITSELF) & ~self.is_loose
        return fixed

    @cached_property
    def free_address(self) -> np.ndarray:
        """For each thing, where its pose is in `qpos`; -1 if it is fixed."""
        return self._addresses("")

    @cached_property
    def hinge_address(self) -> np.ndarray:
        """For each thing, where its hinge's angle is in `qpos`; -1 if it has none."""
        return self._addresses(HINGED)

    @cached_property
    def hinge_limit(self) -> np.ndarray:
        """For each thing, the angle at which it is fully open; 1 if it does not open."""
        return np.array([c.hinge.limit if c.hinge else 1.0 for c in self.categories])

    @cached_property
    def body(self) -> np.ndarray:
        """For each thing, the number of its body."""
        return np.array([self.moving.body(thing.name).id for thing in self.things], dtype=int)

    @cached_property
    def hinge_body(self) -> np.ndarray:
        """For each thing, the number of the body on its hinge; -1 if it has none."""
        found = {self.moving.body(number).name: number for number in range(self.moving.nbody)}
        return np.array([found.get(thing.name + HINGED, -1) for thing in self.things], dtype=int)

    @cached_property
    def tree(self) -> np.ndarray:
        """For each thing, the kinematic tree that moves with it; -1 if nothing of it moves."""
        model = self.moving
        trees = np.full(len(self.things), -1)
        for geom, owner in enumerate(self.owner):
            if owner >= 0:
                trees[owner] = max(trees[owner], model.body_treeid[model.geom_bodyid[geom]])
        return trees

    @cached_property
    def cavities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each cavity, whose it is, and its middle and half its size in that thing's frame."""
        found = [(owner, box) for owner, c in enumerate(self.categories) for box in c.cavities]
        return (
            np.array([owner for owner, _ in found], dtype=int),
            np.array([box.centre for _, box in found]).reshape(-1, 3),
            np.array([box.half for _, box in found]).reshape(-1, 3),
        )

    @cached_property
    def half_sizes(self) -> np.ndarray:
        """For each geom, half the size of the box around it in its own frame."""
        model = self.moving
        sizes = np.array(model.geom_size)
        cylinder = model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER
        sizes[cylinder] = sizes[cylinder][:, [0, 0, 1]]
        sphere = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        sizes[sphere] = sizes[sphere][:, [0, 0, 0]]
        return sizes

    def _addresses(self, suffix: str) -> np.ndarray:
        model = self.moving
        known = {model.joint(number).name: int(model.jnt_qposadr[number]) for number in range(model.njnt)}
        return np.array([known.get(thing.name + suffix, -1) for thing in self.things], dtype=int)
