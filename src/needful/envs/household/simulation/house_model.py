"""Compile a scene into a MuJoCo model, and find the indices of its things in MuJoCo's arrays.

A thing is an object of the scene other than a floor and the robot. In MuJoCo, a thing is a body, with a
second body for its lid or door, and a body consists of geoms: boxes, cylinders or spheres.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from needful.core.objects import Object
from needful.envs.household.scene.scene import (
    FLOOR,
    HAND_RADIUS,
    HEIGHT,
    RADIUS,
    Box,
    Category,
    Hinge,
    Part,
    Scene,
    Thing,
    type_of,
)

# The groups of MuJoCo geoms. Only geoms in the group SOLID block the rays that test lines of sight.
SOLID, GROUND, VISUAL_ONLY, ROBOT_PARTS = 0, 1, 2, 3

# Each geom has a number, its owner: the index of the thing to which it belongs. Geoms that belong to the
# house, the ground or the robot have one of these negative numbers.
OWNER_HOUSE, OWNER_GROUND, OWNER_ROBOT = -1, -2, -3

ROBOT_BODY, ROBOT_HAND = "robot/body", "robot/hand"

# The body and the joint of a lid or door have the name of its thing, followed by this suffix.
HINGE_SUFFIX = "/hinge"

TIMESTEP = 0.004

# With MuJoCo's defaults, a pile of cans in a bucket takes long to come to rest. With these values, contacts
# resist rolling, damping slows bodies down, and slow bodies sleep: MuJoCo no longer simulates them.
FRICTION = (0.9, 0.01, 0.004)
CONTACT_DIMENSIONS = 6
LINEAR_DAMPING, ANGULAR_DAMPING = 0.5, 6.0
SLEEP_TOLERANCE = 0.02

# A lid keeps its angle when nothing drives it: gravity does not act on it, and these values make it hard to
# turn.
HINGE_ARMATURE, HINGE_DAMPING = 10.0, 10.0

# In queries, bodies that are closer than this distance count as touching.
CONTACT_MARGIN = 0.001

WALL_COLOUR = (0.90, 0.89, 0.86)
FLOOR_COLOURS = ((0.80, 0.72, 0.60), (0.72, 0.74, 0.70), (0.76, 0.70, 0.66), (0.68, 0.72, 0.76))
SKY_COLOUR = (0.94, 0.95, 0.97)
BODY_COLOUR, FACE_COLOUR, HAND_COLOUR = (0.27, 0.33, 0.42), (0.55, 0.85, 0.95), (0.95, 0.55, 0.15)


@dataclass(frozen=True)
class HouseModel:
    """A compiled scene and the indices of its things in MuJoCo's arrays.

    Attributes:
        scene: the scene.
        physics_model: the MuJoCo model for simulation, in which bodies at rest sleep.
        query_model: the same model, but bodies never sleep, and bodies that nearly touch count as touching.
        things: the `Object` of each thing, in the order of `scene.things`.
        floors: the `Object` of each room's floor, in the order of `scene.rooms`.
        categories: the category of each thing.
    """

    scene: Scene
    physics_model: Any
    query_model: Any
    things: tuple[Object, ...]
    floors: tuple[Object, ...]
    categories: tuple[Category, ...]

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """All objects of the house except the robot: `things` followed by `floors`."""
        return self.things + self.floors

    @cached_property
    def singletons(self) -> tuple[tuple[Object], ...]:
        """For each object in `objects`, the 1-tuple of this object: the arguments of a unary predicate."""
        return tuple((obj,) for obj in self.objects)

    @cached_property
    def owner(self) -> np.ndarray:
        """For each MuJoCo geom (shape), the index of the thing that it is part of.

        For all other geoms, a negative constant such as `OWNER_HOUSE`.
        """
        indices = {thing.name: index for index, thing in enumerate(self.things)}
        model = self.physics_model
        owners = np.full(model.ngeom, OWNER_HOUSE)
        owners[np.isin(model.geom_group, (GROUND, VISUAL_ONLY))] = OWNER_GROUND
        owners[model.geom_group == ROBOT_PARTS] = OWNER_ROBOT
        for geom, body in enumerate(model.geom_bodyid):
            name = model.body(int(body)).name.removesuffix(HINGE_SUFFIX)
            owners[geom] = indices.get(name, owners[geom])
        return owners

    @property
    def hand_geom(self) -> int:
        """The index of the MuJoCo geom (shape) of the robot's hand."""
        return int(self.physics_model.geom(ROBOT_HAND).id)

    @cached_property
    def is_loose(self) -> np.ndarray:
        """For each MuJoCo geom (shape), whether it is part of a thing and can move."""
        trees = self.physics_model.body_treeid[self.physics_model.geom_bodyid]
        loose: np.ndarray = (self.owner >= 0) & (trees >= 0)
        return loose

    @cached_property
    def is_fixed(self) -> np.ndarray:
        """For each MuJoCo geom (shape), whether it is part of the house or of a thing, and cannot move."""
        fixed: np.ndarray = (self.owner >= OWNER_HOUSE) & ~self.is_loose
        return fixed

    @cached_property
    def free_address(self) -> np.ndarray:
        """For each thing, the index of its pose in MuJoCo's `qpos`; -1 if the thing is fixed."""
        return self._addresses("")

    @cached_property
    def hinge_address(self) -> np.ndarray:
        """For each thing, the index of its hinge angle in MuJoCo's `qpos`; -1 if the thing has no hinge."""
        return self._addresses(HINGE_SUFFIX)

    @cached_property
    def hinge_limit(self) -> np.ndarray:
        """For each thing, the hinge angle when fully open; 1 if it has no hinge."""
        return np.array([c.hinge.limit if c.hinge else 1.0 for c in self.categories])

    @cached_property
    def body(self) -> np.ndarray:
        """For each thing, the index of its MuJoCo body."""
        return np.array([self.physics_model.body(thing.name).id for thing in self.things], dtype=int)

    @cached_property
    def hinge_body(self) -> np.ndarray:
        """For each thing, the index of the MuJoCo body of its lid or door; -1 if it has none."""
        found = {self.physics_model.body(index).name: index for index in range(self.physics_model.nbody)}
        return np.array([found.get(thing.name + HINGE_SUFFIX, -1) for thing in self.things], dtype=int)

    @cached_property
    def tree(self) -> np.ndarray:
        """For each thing, the index of its MuJoCo kinematic tree; -1 if no part of the thing can move."""
        model = self.physics_model
        trees = np.full(len(self.things), -1)
        for geom, owner in enumerate(self.owner):
            if owner >= 0:
                trees[owner] = max(trees[owner], model.body_treeid[model.geom_bodyid[geom]])
        return trees

    @cached_property
    def cavities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All cavities (hollow spaces) of things, as three arrays with one row per cavity.

        The arrays hold the index of the thing, and the cavity's centre and half-extents in the thing's
        frame.
        """
        found = [(owner, box) for owner, c in enumerate(self.categories) for box in c.cavities]
        return (
            np.array([owner for owner, _ in found], dtype=int),
            np.array([box.centre for _, box in found]).reshape(-1, 3),
            np.array([box.half for _, box in found]).reshape(-1, 3),
        )

    @cached_property
    def half_sizes(self) -> np.ndarray:
        """For each MuJoCo geom (shape), the half-extents of its bounding box in the geom's frame."""
        model = self.physics_model
        sizes = np.array(model.geom_size)
        cylinder = model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER
        sizes[cylinder] = sizes[cylinder][:, [0, 0, 1]]
        sphere = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        sizes[sphere] = sizes[sphere][:, [0, 0, 0]]
        return sizes

    def _addresses(self, suffix: str) -> np.ndarray:
        model = self.physics_model
        known = {model.joint(index).name: int(model.jnt_qposadr[index]) for index in range(model.njnt)}
        return np.array([known.get(thing.name + suffix, -1) for thing in self.things], dtype=int)


def build_model(scene: Scene) -> HouseModel:
    """Compile a scene into a MuJoCo model; fixed things and walls do not collide with each other."""
    spec = mujoco.MjSpec()
    # Angles are in radians; MuJoCo's default is degrees.
    spec.compiler.degree = False
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.sleep_tolerance = SLEEP_TOLERANCE
    spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    # Without this flag, MuJoCo would silently reset an unstable simulation.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.add_texture(
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=SKY_COLOUR,
        rgb2=SKY_COLOUR,
        width=8,
        height=48,
    )
    _add_house(spec.worldbody, scene)
    _add_robot(spec.worldbody)
    categories = {category.name: category for category in scene.categories}
    for thing in scene.things:
        _add_thing(spec.worldbody, thing, categories[thing.category])
    physics_model = spec.compile()
    _damp(physics_model)
    query_model = copy.copy(physics_model)
    query_model.opt.enableflags = 0
    query_model.geom_margin[:] = CONTACT_MARGIN / 2
    return HouseModel(
        scene,
        physics_model,
        query_model,
        things=tuple(type_of(thing.category)(thing.name) for thing in scene.things),
        floors=tuple(FLOOR(room.floor) for room in scene.rooms),
        categories=tuple(categories[thing.category] for thing in scene.things),
    )


def _add_house(world: Any, scene: Scene) -> None:
    world.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 1],
        group=GROUND,
        rgba=[0.5, 0.5, 0.5, 0],
        **_surface(0),
    )
    for index, room in enumerate(scene.rooms):
        (x0, y0), (x1, y1) = room.low, room.high
        slab = Box(((x0 + x1) / 2, (y0 + y1) / 2, -0.02), ((x1 - x0) / 2, (y1 - y0) / 2, 0.02))
        colour = FLOOR_COLOURS[index % len(FLOOR_COLOURS)]
        world.add_geom(**_shape(Part(slab, colour)), group=VISUAL_ONLY, contype=0, conaffinity=0)
    for box in scene.walls:
        world.add_geom(**_shape(Part(box, WALL_COLOUR)), **_surface(0))
    world.add_light(
        pos=[0, 0, 5],
        dir=[0.3, 0.4, -1],
        diffuse=[0.45, 0.45, 0.45],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=True,
    )


def _add_robot(world: Any) -> None:
    """Add the robot to the model: a base, a small box that marks its front, and a hand.

    Nothing collides with the robot in physics; motion planning avoids collisions.
    """
    no_contacts = {"group": ROBOT_PARTS, "contype": 0, "conaffinity": 0}
    trunk = Part(Box((0, 0, HEIGHT / 2), (RADIUS, RADIUS, HEIGHT / 2)), BODY_COLOUR, round=True)
    face = Part(Box((RADIUS - 0.03, 0, HEIGHT - 0.1), (0.035, 0.08, 0.05)), FACE_COLOUR)
    body = world.add_body(name=ROBOT_BODY, mocap=True)
    for part in (trunk, face):
        body.add_geom(**_shape(part), **no_contacts)
    hand = world.add_body(name=ROBOT_HAND, mocap=True)
    ball = mujoco.mjtGeom.mjGEOM_SPHERE
    hand.add_geom(
        name=ROBOT_HAND, type=ball, size=[HAND_RADIUS, 0, 0], rgba=[*HAND_COLOUR, 1], **no_contacts
    )


def _add_thing(world: Any, thing: Thing, category: Category) -> None:
    half_yaw = thing.yaw / 2
    body = world.add_body(
        name=thing.name, pos=thing.position, quat=[np.cos(half_yaw), 0, 0, np.sin(half_yaw)]
    )
    collides = 0 if category.fixed else 1
    if not category.fixed:
        body.add_joint(name=thing.name, type=mujoco.mjtJoint.mjJNT_FREE)
    hinged = category.hinge.parts if category.hinge else ()
    volume = sum(_volume(part) for part in (*category.parts, *hinged))
    _add_parts(body, category.parts, category.mass / volume, collides)
    if category.hinge:
        _add_parts(_add_hinge(body, thing.name, category.hinge), hinged, category.mass / volume, collides)


def _add_hinge(body: Any, name: str, hinge: Hinge) -> Any:
    turning = body.add_body(name=name + HINGE_SUFFIX, gravcomp=1)
    joint = turning.add_joint(
        name=name + HINGE_SUFFIX,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        pos=hinge.anchor,
        axis=hinge.axis,
        limited=True,
        range=[0, hinge.limit],
        armature=HINGE_ARMATURE,
    )
    joint.damping = [HINGE_DAMPING, 0, 0]
    return turning


def _add_parts(body: Any, parts: Iterable[Part], density: float, collides: int) -> None:
    for part in parts:
        body.add_geom(**_shape(part), **_surface(collides), mass=density * _volume(part))


def _shape(part: Part) -> dict[str, Any]:
    x, y, z = part.box.half
    kind = mujoco.mjtGeom.mjGEOM_CYLINDER if part.round else mujoco.mjtGeom.mjGEOM_BOX
    size = [min(x, y), z, 0] if part.round else [x, y, z]
    return {"type": kind, "pos": part.box.centre, "size": size, "rgba": [*part.colour, 1]}


def _surface(collides: int) -> dict[str, Any]:
    """Return the contact options of a geom (a MuJoCo shape).

    `collides` is 1 for movable things, and 0 for the ground, the walls and fixed things. Two geoms with
    these options can collide if `collides` is 1 for at least one of them: a mug can collide with a wall,
    but a fixed shelf cannot. `collides` is an int because MuJoCo's `contype` is a bit mask.
    """
    return {"contype": collides, "conaffinity": 1, "condim": CONTACT_DIMENSIONS, "friction": list(FRICTION)}


def _volume(part: Part) -> float:
    x, y, z = part.box.half
    return float(np.pi * min(x, y) ** 2 * 2 * z if part.round else 8 * x * y * z)


def _damp(model: Any) -> None:
    """Set the damping of all free bodies, in proportion to their mass and inertia."""
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            first, body = model.jnt_dofadr[joint], model.jnt_bodyid[joint]
            model.dof_damping[first : first + 3] = LINEAR_DAMPING * model.body_subtreemass[body]
            model.dof_damping[first + 3 : first + 6] = ANGULAR_DAMPING * model.body_inertia[body].max()
