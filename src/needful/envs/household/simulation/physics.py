"""Simulate the objects of a house with MuJoCo until they rest, and turn hinges.

Both operations take a snapshot and return a snapshot. They are fast because all objects at rest sleep, and
MuJoCo does not simulate sleeping objects. Only objects that were released or lost their support are awake,
together with all objects that touch them.

`Motion` is what a controller produces: the motion of the robot, and the snapshot after it.
`FailureReason` lists why controllers and the simulation fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import mujoco
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from needful.envs.household.simulation.base_motion import Point
from needful.envs.household.simulation.hand_motion import Path
from needful.envs.household.simulation.house_model import HouseModel
from needful.envs.household.simulation.snapshot import FAR_AWAY, Snapshot, to_qpos, with_qpos
from needful.errors import EnvironmentFailure

# The simulation runs for at most MAX_STEPS steps; every STEPS_PER_CHECK steps, it tests whether all objects
# rest.
MAX_STEPS, STEPS_PER_CHECK = 1000, 5

# The speed of lids, doors and windows when they are opened or closed, in radians per second.
HINGE_SPEED = 3.0


class Physics:
    """Simulates the objects of one house; the results do not depend on earlier calls."""

    def __init__(self, model: HouseModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model.physics_model)

    def settle_all(self, snapshot: Snapshot) -> Snapshot:
        """Simulate from a snapshot until all objects rest, and return the final snapshot."""
        self._restore(snapshot)
        return self._run_until_rest(snapshot)

    def settle(self, snapshot: Snapshot, woken: Iterable[int]) -> Snapshot:
        """Simulate the objects in `woken`, and all objects in contact with them, until they rest.

        Returns the final snapshot. Other objects are simulated only if a moving object touches them.
        """
        trees = sorted({int(self._model.tree[thing]) for thing in woken} - {-1})
        if not trees:
            return snapshot
        self._restore(snapshot)
        self._sleep_all_except(trees)
        return self._run_until_rest(snapshot)

    def drive_hinge(self, snapshot: Snapshot, thing: int, fraction: float) -> Snapshot:
        """Turn the hinge of the object `thing` to `fraction` of its limit; 1 is fully open.

        Returns the snapshot after all objects came to rest.
        """
        model, data = self._model, self._data
        self._restore(snapshot)
        self._sleep_all_except([int(model.tree[thing])])
        address, limit = model.hinge_address[thing], model.hinge_limit[thing]
        dof = model.physics_model.jnt_dofadr[model.physics_model.jnt_qposadr == address]
        start, end = float(data.qpos[address]), fraction * limit
        steps = max(1, int(np.ceil(abs(end - start) / (HINGE_SPEED * model.physics_model.opt.timestep))))
        # If the hinge is already at the final angle, the speed is -0.0, which keeps the kinematic tree of
        # the hinge awake (see `_sleep_all_except`). With 0.0, the tree would sleep, and MuJoCo would stop
        # with a fatal error.
        speed = (end - start) / (steps * model.physics_model.opt.timestep) or -0.0
        for step in range(1, steps + 1):
            data.qvel[dof] = speed
            self._advance(1)
            data.qpos[address] = start + (end - start) * step / steps
        data.qvel[dof] = 0.0
        return self._run_until_rest(snapshot)

    def _advance(self, steps: int) -> None:
        """Advance MuJoCo's simulation by the given number of steps."""
        mujoco.mj_step(self._model.physics_model, self._data, nstep=steps)

    def _restore(self, snapshot: Snapshot) -> None:
        """Reset MuJoCo's simulation to a snapshot, with all objects awake."""
        model, data = self._model, self._data
        mujoco.mj_resetData(model.physics_model, data)
        data.qpos[:] = to_qpos(model, snapshot)
        if snapshot.held >= 0:
            address = model.free_address[snapshot.held]
            data.qpos[address + 2] = FAR_AWAY

    def _sleep_all_except(self, trees: list[int]) -> None:
        """Put all kinematic trees to sleep, except the given trees and those in contact with them.

        A kinematic tree is MuJoCo's unit of motion: an object with all its parts.
        """
        physics_model, data = self._model.physics_model, self._data
        # Trees in contact sleep and wake together. MuJoCo stores such a group as a cycle: each tree has the
        # index of the next one.
        for island in self._islands():
            data.tree_asleep[island] = np.roll(island, -1)
        data.tree_awake[:] = 0
        for tree in trees:
            first = physics_model.tree_dofadr[tree]
            # MuJoCo wakes trees whose velocity is not 0. It compares bits, so the velocity -0.0 wakes a
            # tree, but does not move the tree.
            data.qvel[first : first + physics_model.tree_dofnum[tree]] = -0.0

    def _islands(self) -> list[np.ndarray]:
        """Return the groups of kinematic trees that are connected by contacts (MuJoCo's islands)."""
        model, data = self._model.physics_model, self._data
        # MuJoCo does not update sleeping bodies, so compute their inertia before they sleep.
        mujoco.mj_fwdPosition(model, data)
        trees = model.body_treeid[model.geom_bodyid[data.contact.geom]]
        trees = trees[(trees >= 0).all(axis=1)]
        graph = coo_array(
            (np.ones(len(trees)), (trees[:, 0], trees[:, 1])), shape=(model.ntree, model.ntree)
        )
        count, labels = connected_components(graph, directed=False)
        return [np.flatnonzero(labels == label) for label in range(count)]

    def _run_until_rest(self, snapshot: Snapshot) -> Snapshot:
        """Simulate until all objects sleep, for at most `MAX_STEPS` steps, and return the final snapshot.

        `snapshot` is the snapshot at the start of the simulation.
        """
        physics_model, data = self._model.physics_model, self._data
        mujoco.mj_forward(physics_model, data)
        for _ in range(MAX_STEPS // STEPS_PER_CHECK):
            if data.ntree_awake == 0:
                break
            self._advance(STEPS_PER_CHECK)
        if not np.isfinite(data.qpos).all() or data.warning.number.any():
            raise EnvironmentFailure(FailureReason.UNSTABLE.value)
        return with_qpos(self._model, snapshot, data.qpos)


class FailureReason(StrEnum):
    """Why a controller cannot start or cannot finish."""

    NO_CLEARANCE = "no clearance"
    NO_PATH = "no path"
    NO_HAND_PATH = "no path for the hand"
    NOT_REACHABLE = "not reachable"
    OUT_OF_RANGE = "out of the hand's range"
    HAND_FULL = "the hand is full"
    HAND_EMPTY = "the hand is empty"
    NOT_GRASPABLE = "not graspable"
    NOT_OPENABLE = "not openable"
    CLOSED = "closed"
    SHUT_IN = "the robot would be shut in"
    UNSTABLE = "the simulation became unstable"


@dataclass(frozen=True)
class Motion:
    """The motion of the robot while a controller runs, and the snapshot after it.

    Attributes:
        after: the snapshot after the motion.
        base_path: the path of the base; empty if the base did not drive.
        hand_path: the path of the hand to the point where it grasped, released or turned an object.
        return_path: the path of the hand back from this point; a grasped object moves with the hand.
    """

    after: Snapshot
    base_path: tuple[Point, ...] = ()
    hand_path: Path = ()
    return_path: Path = ()
