"""The hand-written planning model of the household domains: operators and samplers.

There is one operator per controller, except that PlaceInside has two: one for containers with an open lid
or door, and one for containers that have no lid or door. Samplers propose plausible parameters; the
initiation tests of the controllers reject infeasible ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, sin

import numpy as np

from needful.core.atoms import LiftedAtom
from needful.core.controllers import Parameters
from needful.core.model import PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.household.scene.categories import CATEGORIES, bounding_box, swept_box
from needful.envs.household.scene.floor_plan import Rect
from needful.envs.household.scene.scene import (
    HAND_RANGE,
    OBJ,
    RADIUS,
    ROBOT_OBJECT,
    SHOULDER_HEIGHT,
    THING,
    Box,
    Vector,
    heading,
)
from needful.envs.household.simulation.world import WorldCache

# The robot stands at a distance in this range, in metres, from the object that it wants to reach. If the
# object is a package (a box with a lid), the minimum is measured from the region that the lid sweeps, and
# the maximum from the handle.
MIN_DISTANCE, MAX_DISTANCE = RADIUS + 0.02, 0.7

# The maximum number of standing positions that `StandingPlaceSampler` tries, and the number of positions
# that `SurfaceSampler` draws.
SAMPLE_COUNT = 100

ZERO_SIZE: Vector = (0.0, 0.0, 0.0)

# The height above a surface at which the held object is released, and the minimum gap between the released
# object and all other objects.
RELEASE_HEIGHT, MIN_GAP = 0.02, 0.01

# Objects are dropped into a container from a height in this range above the container's bottom.
DROP_HEIGHTS = (0.2, 0.5)

# These variables have the type THING, and not the more general type OBJ, which includes floors. No
# controller acts on a floor.
OBJ_VARIABLE, HELD_VARIABLE = Variable("?obj", THING), Variable("?held", THING)


def make_oracle(vocabulary: Vocabulary, worlds: WorldCache) -> PlanningModel:
    """Return the hand-written operators of the household domains, with their samplers."""
    samplers: dict[str, Sampler] = {
        "NavigateTo": StandingPlaceSampler(worlds),
        "Grasp": GraspOffsetSampler(),
        "PlaceOnTop": SurfaceSampler(worlds),
        "PlaceInside": CavitySampler(),
        "PlaceInsideOpen": CavitySampler(),
        "Open": HandleOffsetSampler(),
        "Close": HandleOffsetSampler(),
    }
    return PlanningModel(vocabulary, _operators(vocabulary), samplers)


def _operators(vocabulary: Vocabulary) -> tuple[Operator, ...]:
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    controllers = {controller.name: controller for controller in vocabulary.controllers}
    reachable, holding = (
        predicates["Reachable"].lifted(OBJ_VARIABLE),
        predicates["Holding"].lifted(OBJ_VARIABLE),
    )
    opened, closed = predicates["Open"].lifted(OBJ_VARIABLE), predicates["Closed"].lifted(OBJ_VARIABLE)
    hand_empty, held = predicates["HandEmpty"].lifted(), predicates["Holding"].lifted(HELD_VARIABLE)

    def placing(name: str, controller: str, relation: str, *condition: str) -> Operator:
        return oracle_operator(
            name,
            (HELD_VARIABLE, OBJ_VARIABLE),
            (controllers[controller], (OBJ_VARIABLE,)),
            needs=[held, reachable, *(predicates[one].lifted(OBJ_VARIABLE) for one in condition)],
            adds=[hand_empty, predicates[relation].lifted(HELD_VARIABLE, OBJ_VARIABLE)],
            deletes=[held],
        )

    def turning(name: str, before: LiftedAtom, after: LiftedAtom) -> Operator:
        return oracle_operator(
            name,
            (OBJ_VARIABLE,),
            (controllers[name], (OBJ_VARIABLE,)),
            needs=[hand_empty, reachable, before],
            adds=[after],
            deletes=[before],
        )

    anything = Wildcard(OBJ)
    return (
        oracle_operator(
            "NavigateTo",
            (OBJ_VARIABLE,),
            (controllers["NavigateTo"], (OBJ_VARIABLE,)),
            adds=[reachable],
            deletes=[predicates["ReachableNothing"].lifted()],
            forgets=[predicates["Reachable"]],
        ),
        oracle_operator(
            "Grasp",
            (OBJ_VARIABLE,),
            (controllers["Grasp"], (OBJ_VARIABLE,)),
            needs=[hand_empty, reachable],
            adds=[holding],
            deletes=[hand_empty, reachable],
            # A grasped object is no longer on or inside another object, and no object is on or inside it.
            forgets=[
                DeletePattern(predicates[relation], arguments)
                for relation in ("Inside", "OnTop")
                for arguments in ((OBJ_VARIABLE, anything), (anything, OBJ_VARIABLE))
            ],
        ),
        placing("PlaceOnTop", "PlaceOnTop", "OnTop"),
        placing("PlaceInside", "PlaceInside", "Inside", "NotOpenable"),
        placing("PlaceInsideOpen", "PlaceInside", "Inside", "Open"),
        turning("Open", before=closed, after=opened),
        turning("Close", before=opened, after=closed),
    )


@dataclass(frozen=True, slots=True)
class StandingPlaceSampler:
    """Samples a position from which the robot can reach an object: the argument of NavigateTo.

    The position is in front of windows, shelves and cupboards, and on any side of other objects.
    """

    worlds: WorldCache

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the robot's position relative to the object, in a frame rotated by the object's yaw."""
        (target,) = objects
        category = CATEGORIES[target.type.name]
        if category.fixed and (category.hinge or len(category.surfaces) > 1):
            half = bounding_box(category).half
            low, high = (-half[0], half[1] + MIN_DISTANCE), (half[0], half[1] + MAX_DISTANCE)
            return tuple(rng.uniform(low, high).tolist())
        rotation = _rotation(state, target)
        if category.hinge:
            # The robot must stand near the handle, but outside the region that the lid sweeps.
            body = Rect.under(swept_box(category))
            grasp_region = Rect.under(Box(category.hinge.handle, ZERO_SIZE))
        else:
            body = grasp_region = Rect.under(self._bounds(state, target, rotation))
        around = grasp_region.grown(MAX_DISTANCE)
        for _ in range(SAMPLE_COUNT):
            x, y = rng.uniform(around.low, around.high).tolist()
            if body.gap(x, y) >= MIN_DISTANCE and grasp_region.gap(x, y) <= MAX_DISTANCE:
                break
        return x, y

    def _bounds(self, state: State, target: Object, rotation: np.ndarray) -> Box:
        """Return a flat box that covers `target`, seen from above, in the frame of `target`.

        `rotation` is the matrix of the yaw of `target`.
        """
        low, high = map(np.array, self.worlds.of(state).bounds(state, target))
        x, y = (rotation.T @ ((low + high)[:2] / 2 - state[target][:2])).tolist()
        hx, hy = (np.abs(rotation.T) @ (high - low)[:2] / 2).tolist()
        return Box((x, y, 0.0), (hx, hy, 0.0))


@dataclass(frozen=True, slots=True)
class GraspOffsetSampler:
    """Samples the direction from which the hand approaches the object to grasp: sideways or from above."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return a random point relative to the origin of the object to grasp.

        The hand approaches the object's centre from the direction of this point.
        """
        return (*rng.uniform(-0.2, 0.2, size=2).tolist(), float(rng.uniform(0.0, 0.2)))


@dataclass(frozen=True, slots=True)
class HandleOffsetSampler:
    """Samples a point near a handle, from which the hand moves straight to the handle."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return a random point near the handle, relative to the handle."""
        return tuple(rng.uniform(-0.1, 0.1, size=3).tolist())


@dataclass(frozen=True, slots=True)
class CavitySampler:
    """Samples the point from which the held object is dropped into a container."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return a random point above the container's bottom, relative to the container's origin."""
        _, container = objects
        hx, hy = state.get(container, "hx"), state.get(container, "hy")
        low, high = (-hx / 2, -hy / 2, DROP_HEIGHTS[0]), (hx / 2, hy / 2, DROP_HEIGHTS[1])
        return tuple(rng.uniform(low, high).tolist())


@dataclass(frozen=True, slots=True)
class SurfaceSampler:
    """Samples the point at which the held object is put on a surface of another object, such as a table."""

    worlds: WorldCache

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the point where the held object is released, relative to the object with the surface.

        `SAMPLE_COUNT` points just above the surfaces are drawn. The result is the first point that is in
        the hand's range and at which the held object keeps `MIN_GAP` from all other objects. If no point
        meets these conditions, the result is the first point that was drawn.
        """
        held, target = objects
        world = self.worlds.of(state)
        low, high = map(np.array, world.bounds(state, held))
        rotation = _rotation(state, target)
        half = (high - low) / 2
        own_half = np.abs(rotation.T) @ half[:2]
        offsets = _sample_surface_offsets(target, own_half, rng)
        positions = np.column_stack((offsets[:, :2] @ rotation.T, offsets[:, 2])) + state[target][:3]
        shoulder = (*state[ROBOT_OBJECT][:2], SHOULDER_HEIGHT)
        acceptable = np.linalg.norm(positions - shoulder, axis=1) < HAND_RANGE
        acceptable &= ~_overlaps_others(
            positions, half + MIN_GAP, [world.bounds(state, obj) for obj in _other_things(state, objects)]
        )
        return tuple(offsets[acceptable.argmax()].tolist())


def _other_things(state: State, objects: Sequence[Object]) -> list[Object]:
    return [obj for obj in state.of_type(THING) if obj not in objects]


def _overlaps_others(
    positions: np.ndarray, half: np.ndarray, others: Sequence[tuple[Vector, Vector]]
) -> np.ndarray:
    """Return, for each position, whether a box at this position would overlap a box in `others`.

    `half` holds the half-extents of the box, and a position is the centre of its bottom. Each box in
    `others` is given by its lowest and its highest corner.
    """
    lows, highs = (np.array([box[i] for box in others]).reshape(-1, 3) for i in (0, 1))
    middles = (positions + half * (0, 0, 1))[:, None, :]
    apart = np.any((middles - half >= highs) | (middles + half <= lows), axis=2)
    return np.asarray(~apart.all(axis=1))


def _sample_surface_offsets(target: Object, half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random points slightly above the surfaces of the target, relative to the target's origin.

    `half` holds the half-extents of the held object along x and y. If the held object is released at one of
    these points, it does not extend beyond the surface, unless the surface is too short along an axis: then
    the object is centred along this axis.
    """
    category = CATEGORIES[target.type.name]
    surfaces = category.surfaces or (bounding_box(category),)
    chosen = rng.integers(len(surfaces), size=SAMPLE_COUNT)
    centres = np.array([surface.centre for surface in surfaces])[chosen]
    halves = np.array([surface.half for surface in surfaces])[chosen]
    room = np.maximum(halves[:, :2] - half, 0.0)
    heights = centres[:, 2] + halves[:, 2] + RELEASE_HEIGHT
    return np.column_stack((centres[:, :2] + rng.uniform(-room, room), heights))


def _rotation(state: State, target: Object) -> np.ndarray:
    """Return the 2D rotation matrix from the target's frame to the house's frame, by the target's yaw."""
    yaw = heading(state[target][3:7])
    return np.array(((cos(yaw), -sin(yaw)), (sin(yaw), cos(yaw))))
