"""MuJoCo models as environments.

After every action, the state that MuJoCo's integrator needs is saved, so that planning can return to it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from needful.envs.adapters.snapshots import SnapshotEnvironment
from needful.errors import InvalidInputError, install_command


@dataclass(frozen=True, slots=True)
class MujocoSimulator:
    """A MuJoCo model and its data (`mujoco.MjModel` and `mujoco.MjData`).

    The model and the data may belong to another package, for example to a Gymnasium environment.
    """

    model: Any
    data: Any

    def step(self, count: int = 1) -> None:
        """Advance the simulation by `count` time steps."""
        import mujoco

        mujoco.mj_step(self.model, self.data, nstep=count)

    def save(self) -> np.ndarray:
        """Return the state of the integrator as an array."""
        mujoco = _import_mujoco()
        state = np.empty(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        return state

    def restore(self, state: np.ndarray) -> None:
        """Restore the state of the integrator, and compute the quantities that depend on it."""
        mujoco = _import_mujoco()
        mujoco.mj_setState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(self.model, self.data)
        # Set the state again, because mj_forward changes the solver's warm start. Otherwise, the next step
        # would differ slightly.
        mujoco.mj_setState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)


class MujocoEnvironment(SnapshotEnvironment):
    """An environment whose simulator is a MuJoCo model.

    Implement `model_xml`, `arrange`, `run` and `observe`. A snapshot (the saved state after an action)
    holds MuJoCo's `mjSTATE_INTEGRATION`: positions, velocities, activations, controls, applied forces,
    mocap poses, equality switches, and the warm start of the solver. It does not hold changes to the model
    itself, such as masses or colours.
    """

    @abstractmethod
    def model_xml(self, scene: Hashable) -> str:
        """Return the XML text (MJCF or URDF) of the model of a scene; see `scene`."""

    @abstractmethod
    def arrange(self, start: Any) -> None:
        """Set positions and velocities in `self.simulator.data`, newly reset, as `start` describes."""

    def make_simulator(self, scene: Hashable) -> MujocoSimulator:
        """Compile the model of a scene."""
        mujoco = _import_mujoco()
        model = mujoco.MjModel.from_xml_string(self.model_xml(scene))
        return MujocoSimulator(model, mujoco.MjData(model))

    def reset(self, start: Any) -> None:
        """Reset the data, arrange the objects, and compute the quantities that depend on positions."""
        mujoco = _import_mujoco()
        model, data = self.simulator.model, self.simulator.data
        mujoco.mj_resetData(model, data)
        self.arrange(start)
        mujoco.mj_forward(model, data)

    def save(self) -> np.ndarray:
        """Return the state of the integrator as an array."""
        state: np.ndarray = self.simulator.save()
        return state

    def restore(self, token: np.ndarray) -> None:
        """Restore the state of the integrator, and compute the quantities that depend on it."""
        self.simulator.restore(token)


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise InvalidInputError(
            f"The package mujoco is not installed. Install it: {install_command('household')}"
        ) from error
    return mujoco
