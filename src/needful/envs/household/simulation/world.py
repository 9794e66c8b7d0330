"""The simulator of a house: run controllers and evaluate predicates as functions of states.

In each state, the features of the object `house` identify the house. So the simulator of a house that
`make_house` sampled can be rebuilt from any of its states.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from math import atan2, ceil, hypot
from types import MappingProxyType

import numpy as np

from needful.core.controllers import Parameters
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.contract import Split
from needful.envs.household.scene.activities import ACTIVITIES, ActivityDefinition
from needful.envs.household.scene.layout import sample_scene
from needful.envs.household.scene.scene import HOUSE_OBJECT, Scene, Vector
from needful.envs.household.simulation.base_motion import OccupancyGrid, Point
from needful.envs.household.simulation.controllers import (
    grasp,
    grasp_failure,
    hinge_failure,
    navigate,
    navigate_failure,
    place,
    place_failure,
    turn_hinge,
    with_robot_at,
)
from needful.envs.household.simulation.hand_motion import Path
from needful.envs.household.simulation.house_model import HouseModel, build_model
from needful.envs.household.simulation.physics import FailureReason, Motion, Physics
from needful.envs.household.simulation.snapshot import (
    HELD,
    POSE,
    Snapshot,
    as_snapshot,
    as_state,
    changed_state,
    initial_snapshot,
    with_qpos,
)
from needful.envs.household.simulation.snapshot_geometry import (
    Extension,
    Facts,
    HouseQueries,
    SnapshotGeometry,
)
from needful.errors import EnvironmentFailure, UnknownNameError
from needful.seeding import rng_for

SPLITS = tuple(Split)

# The seeds of houses are below this limit: states store them as floats, which represent all integers
# exactly only up to this limit.
SEED_LIMIT = 2**53

# The maximum number of worlds in a `WorldCache`.
MAX_WORLDS = 8

# The maximum number of states whose true atoms a world caches.
MAX_CACHED_STATES = 32

# How far apart the snapshots of a motion are: in metres along the path of the base, in metres along the
# path of the hand, and in physics steps while objects come to rest.
BASE_STEP = 0.08
HAND_STEP = 0.05
STEPS_PER_FRAME = 10

# The hinge angle after Open and Close, as a fraction of the angle when fully open.
HINGE_TARGETS = MappingProxyType({"Open": 1.0, "Close": 0.0})

CONTROLLER_NAMES = ("Close", "Grasp", "NavigateTo", "Open", "PlaceInside", "PlaceOnTop")


def make_house(identity: Vector) -> tuple[ActivityDefinition, Scene]:
    """Sample a task of an activity: the definition with sampled numbers of objects, and a house for it.

    `identity` has three numbers: the index of the activity in `ACTIVITIES`, 0 for a training task or 1 for
    a test task, and the seed. The result depends only on these numbers. Raises `NoPlaceError` if the house
    sampled with this seed has no place for an object.
    """
    activity, split = ACTIVITIES[int(identity[0])], SPLITS[int(identity[1])]
    rng = rng_for(int(identity[2]), "house", activity.name, split.value)
    definition, clutter = activity.sample(split, rng)
    return definition, sample_scene(definition, clutter, rng, identity)


class WorldCache:
    """A cache of the most recently used worlds; a world is the simulator of one house, slow to build."""

    def __init__(self) -> None:
        self._worlds: OrderedDict[Vector, World] = OrderedDict()

    def __reduce__(self) -> tuple[object, ...]:
        return WorldCache, ()

    def of(self, state: State) -> World:
        """Return the world that simulates the house of the given state; build it if it is not cached."""
        activity, split, seed = state[HOUSE_OBJECT]
        identity = (activity, split, seed)
        if identity not in self._worlds:
            self.add(World(make_house(identity)[1]))
        self._worlds.move_to_end(identity)
        return self._worlds[identity]

    def add(self, world: World) -> None:
        """Add a world to the cache; if the cache is full, the least recently used world is dropped."""
        self._worlds[world.model.scene.identity] = world
        if len(self._worlds) > MAX_WORLDS:
            self._worlds.popitem(last=False)


class World:
    """The simulator of one scene (a house).

    The results of its methods depend only on the arguments. The true atoms of recent states are cached.
    """

    def __init__(self, scene: Scene) -> None:
        self.model = build_model(scene)
        self._physics = Physics(self.model)
        self._house = HouseQueries(self.model)
        self._house.set_snapshot(initial_snapshot(self.model))
        self._grid = OccupancyGrid(scene, self._house.footprints()[self.model.is_fixed])
        self._indices = {thing: index for index, thing in enumerate(self.model.things)}
        # The keys are ids of states, because comparing states is slow. The state itself is stored too, so
        # that its id is not reused.
        self._facts_by_id: OrderedDict[int, tuple[State, Facts]] = OrderedDict()

    @cached_property
    def _settled_state(self) -> State:
        settled = self._physics.settle_all(initial_snapshot(self.model))
        return as_state(self.model, settled)

    def settled(self) -> State:
        """Return the initial state: the state after all objects of the scene came to rest."""
        return self._settled_state

    def run(self, state: State, controller: str, target: Object, theta: Parameters) -> State:
        """Run a controller on a target object, and return the state after it.

        `theta` are the controller's parameters. Raises `EnvironmentFailure` if the controller fails.
        """
        motion = self._run_controller(state, controller, target, theta, self._physics)
        return changed_state(self.model, state, motion.after)

    def trace(self, state: State, controller: str, target: Object, theta: Parameters) -> tuple[State, ...]:
        """Run a controller as `run` does, and return closely spaced states of its motion.

        The first state is `state`, and the last one is the state after the controller.
        """
        physics = RecordingPhysics(self.model)
        motion = self._run_controller(state, controller, target, theta, physics)
        before = self._facts(state).geometry.snapshot
        snapshots = trace(self.model, before, motion, physics)
        return tuple(changed_state(self.model, state, snapshot, before) for snapshot in snapshots)

    def start_failure(self, state: State, controller: str, target: Object, theta: Parameters) -> str | None:
        """Return why a controller cannot start in a state, or None if it can.

        A controller that can start may still fail later, for example if no path of the hand is found.
        """
        thing = self._index_of(target)
        if thing is None:
            return FailureReason.NOT_REACHABLE.value
        reason = start_failure_reason(self._facts(state).geometry, controller, thing, theta)
        return None if reason is None else reason.value

    def holds(self, state: State, predicate: str, objects: tuple[Object, ...]) -> bool:
        """Return whether the predicate holds for the given objects in the given state."""
        return self._facts(state).holds(predicate, objects)

    def extension(self, state: State, predicate: str) -> Extension:
        """Return all tuples of objects for which the predicate holds in the given state."""
        return self._facts(state).extensions[predicate]

    def bounds(self, state: State, obj: Object) -> tuple[Vector, Vector]:
        """Return the lowest and the highest corner of the bounding box of an object with all its parts."""
        thing = self._index_of(obj)
        if thing is None:
            raise UnknownNameError("thing", obj.name, (thing.name for thing in self.model.things))
        boxes = self._facts(state).geometry.boxes
        low, high = boxes.low[thing].tolist(), boxes.high[thing].tolist()
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])

    def _run_controller(
        self, state: State, controller: str, target: Object, theta: Parameters, physics: Physics
    ) -> Motion:
        thing = self._index_of(target)
        if thing is None:
            raise EnvironmentFailure(FailureReason.NOT_REACHABLE.value)
        return run_controller(self._facts(state).geometry, physics, controller, thing, theta)

    def _index_of(self, target: Object) -> int | None:
        return self._indices.get(target)

    def _facts(self, state: State) -> Facts:
        known = self._facts_by_id.get(id(state))
        if known is None:
            snapshot = as_snapshot(self.model, state)
            facts = Facts(SnapshotGeometry(self.model, self._house, self._grid, snapshot))
            known = self._facts_by_id[id(state)] = (state, facts)
            if len(self._facts_by_id) > MAX_CACHED_STATES:
                self._facts_by_id.popitem(last=False)
        return known[1]


class RecordingPhysics(Physics):
    """Physics that records MuJoCo's position vector `qpos` every few steps while objects move."""

    def __init__(self, model: HouseModel) -> None:
        super().__init__(model)
        self.qpos_frames: list[np.ndarray] = []
        self._steps = 0

    def _advance(self, steps: int) -> None:
        super()._advance(steps)
        self._steps += steps
        if self._steps >= STEPS_PER_FRAME:
            self._steps = 0
            self.qpos_frames.append(np.array(self._data.qpos))


def trace(
    model: HouseModel, before: Snapshot, motion: Motion, physics: RecordingPhysics
) -> Iterator[Snapshot]:
    """Yield closely spaced snapshots of a controller's motion, including the first and the last.

    `before` is the snapshot before the motion. `physics` must have recorded this motion and no other.
    """
    after = motion.after
    yield before
    for position, yaw in _base_positions(motion.base_path):
        yield with_robot_at(before, position, yaw)
    at_target = before
    for at_target in _move_hand(before, motion.hand_path):
        yield at_target
    settling = (with_qpos(model, after, frame) for frame in physics.qpos_frames)
    if after.held != before.held and after.held >= 0:
        yield from _move_hand(at_target.with_feature(after.held, HELD, 1.0), motion.return_path)
        yield from settling
    else:
        yield from (frame.with_robot(at_target.robot) for frame in settling)
        yield from _move_hand(after.with_robot(at_target.robot), motion.return_path)
    yield after


def start_failure_reason(
    geometry: SnapshotGeometry, name: str, thing: int, theta: Parameters
) -> FailureReason | None:
    """Return why the controller `name` cannot start, or None if it can.

    `thing` is the index of the target object, and `theta` are the parameters. The test is fast, because no
    motion is planned.
    """
    match name:
        case "NavigateTo":
            return navigate_failure(geometry, thing, theta)
        case "Grasp":
            return grasp_failure(geometry, thing)
        case "PlaceOnTop" | "PlaceInside":
            return place_failure(geometry, thing, theta, inside=name == "PlaceInside")
        case "Open" | "Close":
            return hinge_failure(geometry, thing, theta, HINGE_TARGETS[name])
        case _:
            raise UnknownNameError("household controller", name, CONTROLLER_NAMES)


def run_controller(
    geometry: SnapshotGeometry, physics: Physics, name: str, thing: int, theta: Parameters
) -> Motion:
    """Run the controller `name` and return its motion; raise `EnvironmentFailure` if it fails.

    `thing` is the index of the target object, and `theta` are the parameters.
    """
    reason = start_failure_reason(geometry, name, thing, theta)
    if reason is not None:
        raise EnvironmentFailure(reason.value)
    match name:
        case "NavigateTo":
            return navigate(geometry, thing, theta)
        case "Grasp":
            return grasp(geometry, physics, thing, theta)
        case "PlaceOnTop" | "PlaceInside":
            return place(geometry, physics, thing, theta)
        case _:
            return turn_hinge(geometry, physics, thing, theta, HINGE_TARGETS[name])


def _base_positions(path: tuple[Point, ...]) -> Iterator[tuple[np.ndarray, float]]:
    """Yield closely spaced positions along a path of the base, each with the yaw along the path."""
    for one, other in itertools.pairwise(path):
        dx, dy = other[0] - one[0], other[1] - one[1]
        count = max(1, ceil(hypot(dx, dy) / BASE_STEP))
        for step in range(1, count + 1):
            yield np.array([one[0] + dx * step / count, one[1] + dy * step / count]), atan2(dy, dx)


def _move_hand(snapshot: Snapshot, path: Path) -> Iterator[Snapshot]:
    """Yield closely spaced snapshots in which the hand, with the held object, moves along a path."""
    for one, other in itertools.pairwise(path):
        count = max(1, ceil(float(np.sqrt(((other - one) ** 2).sum())) / HAND_STEP))
        for step in range(1, count + 1):
            hand = one + (other - one) * step / count
            robot = snapshot.robot.copy()
            robot[3:6] = hand
            moved = snapshot.with_robot(robot)
            if snapshot.held >= 0:
                pose = snapshot.rows[snapshot.held, POSE].copy()
                pose[:3] += hand - snapshot.hand
                moved = moved.with_pose(snapshot.held, pose)
            yield moved
