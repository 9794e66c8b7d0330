"""Third-party Gymnasium environments as environments of `needful`.

After every action, a deep copy of the Gymnasium environment is saved, so that planning can return to it.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from needful.envs.adapters.snapshots import SnapshotEnvironment
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    import gymnasium


class GymnasiumEnvironment(SnapshotEnvironment):
    """An environment whose simulator is a Gymnasium environment.

    Implement `make_gym`, `run` and `observe`. `self.simulator` is the Gymnasium environment without its
    wrappers, so time limits do not end an episode. In `run`, call `self.simulator.step`. In `sample_task`,
    call `initial_state(seed)`: `reset` uses this seed, unless you override `reset`.

    By default, the state is saved as a deep copy that includes the random generator. If the Gymnasium
    environment has its own functions to save and restore its state, override `save` and `restore` to call
    them, which is often faster.
    """

    @abstractmethod
    def make_gym(self, scene: Hashable) -> gymnasium.Env[Any, Any]:
        """Return a new Gymnasium environment without a render mode, for example from `gymnasium.make`."""

    def make_simulator(self, scene: Hashable) -> Any:
        """Make the Gymnasium environment of a scene (see `scene`), and return it without its wrappers."""
        return self.make_gym(scene).unwrapped

    def reset(self, start: Any) -> None:
        """Reset the Gymnasium environment with the seed `start`."""
        self.simulator.reset(seed=start)

    def save(self) -> dict[str, Any]:
        """Return a copy of all attributes of the Gymnasium environment."""
        attributes = vars(self.simulator)
        try:
            return copy.deepcopy(attributes)
        except Exception as error:
            names = [name for name, value in attributes.items() if not _can_be_copied(value)]
            raise InvalidInputError(
                f"The simulator of {self.name!r} ({type(self.simulator).__name__}) cannot be copied: "
                f"{error}. These attributes prevent it: {names}. Override `save` and `restore` to save "
                "only the state; for MuJoCo, see MujocoSimulator in needful.envs.adapters.mujoco."
            ) from error

    def restore(self, token: dict[str, Any]) -> None:
        """Replace all attributes of the Gymnasium environment by copies of the saved ones."""
        attributes = vars(self.simulator)
        attributes.clear()
        attributes.update(copy.deepcopy(token))


def _can_be_copied(value: object) -> bool:
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True
