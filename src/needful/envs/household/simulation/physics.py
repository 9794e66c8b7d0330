"""Let things fall until they rest, and drive hinges; always from a snapshot, to a snapshot.

The engine's sleep is what makes this fast: all things at rest sleep, and only those that were let go
of, or that lose their support, are woken, with whatever touches them.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from needful.envs.household.simulation.controller_motion import FailureReason
from needful.envs.household.simulation.house_model import HouseModel
from needful.envs.household.simulation.snapshot import FAR_AWAY, Snapshot, to_qpos, with_qpos
from needful.errors import EnvironmentFailure

# How many steps things get to come to rest, and how often one looks whether they do.
MAX_STEPS, STEPS_PER_CHECK = 1000, 5

# How fast lids and windows turn, in radians a second.
HINGE_SPEED = 3.0


class Physics:
    """The engine that moves the things of one house; it remembers nothing between calls."""

    def __init__(self, model: HouseModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model.physics_model)

    def settle_all(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot in which everything has come to rest."""
        self._restore(snapshot)
        return self._run_until_rest(snapshot)

    def settle(self, snapshot: Snapshot, woken: Iterable[int]) -> Snapshot:
        """Return the snapshot after the given things, and all that they touch and hit, came to rest."""
        trees = sorted({int(self._model.tree[thing]) for thing in woken} - {-1})
        if not trees:
            return snapshot
        self._restore(snapshot)
        self._sleep_all_except(trees)
        return self._run_until_rest(snapshot)

    def drive_hinge(self, snapshot: Snapshot, thing: int, fraction: float) -> Snapshot:
        """Return the snapshot after a hinge was turned to a share of its limit and all came to rest."""
        model, data = self._model, self._data
        self._restore(snapshot)
        self._sleep_all_except([int(model.tree[thing])])
        address, limit = model.hinge_address[thing], model.hinge_limit[thing]
        dof = model.physics_model.jnt_dofadr[model.physics_model.jnt_qposadr == address]
        start, end = float(data.qpos[address]), fraction * limit
        steps = max(1, int(np.ceil(abs(end - start) / (HINGE_SPEED * model.physics_model.opt.timestep))))
        for step in range(1, steps + 1):
            data.qvel[dof] = (end - start) / (steps * model.physics_model.opt.timestep)
            self._advance(1)
            data.qpos[address] = start + (end - start) * step / steps
        data.qvel[dof] = 0.0
        return self._run_until_rest(snapshot)

    def _advance(self, steps: int) -> None:
        """Let some time pass."""
        mujoco.mj_step(self._model.physics_model, self._data, nstep=steps)

    def _restore(self, snapshot: Snapshot) -> None:
        """Put the engine into a snapshot, everything awake and without any trace of what was before."""
        model, data = self._model, self._data
        mujoco.mj_resetData(model.physics_model, data)
        data.qpos[:] = to_qpos(model, snapshot)
        if snapshot.held >= 0:
            address = model.free_address[snapshot.held]
            data.qpos[address + 2] = FAR_AWAY

    def _sleep_all_except(self, trees: list[int]) -> None:
        """Put everything to sleep but the given kinematic trees and all that hangs together with them."""
        physics_model, data = self._model.physics_model, self._data
        # The engine insists that what touches sleeps and wakes together: sleepers form cycles.
        for island in self._islands():
            data.tree_asleep[island] = np.roll(island, -1)
        data.tree_awake[:] = 0
        for tree in trees:
            first = physics_model.tree_dofadr[tree]
            # The engine wakes what is given a speed, and looks only at the bits of it.
            data.qvel[first : first + physics_model.tree_dofnum[tree]] = -0.0

    def _islands(self) -> list[np.ndarray]:
        """Return the groups of trees that touch each other."""
        model, data = self._model.physics_model, self._data
        # What sleeps is not looked at again until it is woken, so its inertia must be known by then.
        mujoco.mj_fwdPosition(model, data)
        trees = model.body_treeid[model.geom_bodyid[data.contact.geom]]
        trees = trees[(trees >= 0).all(axis=1)]
        graph = coo_array(
            (np.ones(len(trees)), (trees[:, 0], trees[:, 1])), shape=(model.ntree, model.ntree)
        )
        count, labels = connected_components(graph, directed=False)
        return [np.flatnonzero(labels == label) for label in range(count)]

    def _run_until_rest(self, snapshot: Snapshot) -> Snapshot:
        """Run until all sleep; what does not within the time limit is stopped where it is."""
        physics_model, data = self._model.physics_model, self._data
        mujoco.mj_forward(physics_model, data)
        for _ in range(MAX_STEPS // STEPS_PER_CHECK):
            if data.ntree_awake == 0:
                break
            self._advance(STEPS_PER_CHECK)
        if not np.isfinite(data.qpos).all() or data.warning.number.any():
            raise EnvironmentFailure(FailureReason.UNSTABLE.value)
        return with_qpos(self._model, snapshot, data.qpos)
