"""PyBullet worlds as environments.

After every action, PyBullet's state and all attachments are saved, so that planning can return to them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from needful.envs.adapters.snapshots import SnapshotEnvironment
from needful.errors import InvalidInputError, install_command

FAR_AWAY = 100.0  # metres


@dataclass(frozen=True, slots=True)
class Attachment:
    """A body (`child`) fixed to a link of another body (`parent`), with its pose relative to the link."""

    parent: int
    link: int
    child: int
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]


@dataclass(slots=True)
class BulletWorld:
    """A PyBullet world.

    Attributes:
        client: PyBullet's functions, bound to the physics client of this world.
        bodies: the ids of the bodies by name, as `PyBulletEnvironment.load` returned them.
        pristine: the saved state of the newly loaded world.
        constraints: for each attached body, an `Attachment` and the id of PyBullet's constraint.
    """

    client: Any
    bodies: Mapping[str, int]
    pristine: int
    constraints: dict[Attachment, int] = field(default_factory=dict)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The current attachments."""
        return tuple(self.constraints)

    def attach(self, parent: int, link: int, child: int) -> None:
        """Fix the body `child`, in its current pose, to a link of `parent`, as a suction gripper does."""
        client = self.client
        link_pose = client.getLinkState(parent, link, computeForwardKinematics=1)[4:6]
        inverse = client.invertTransform(*link_pose)
        pose = client.multiplyTransforms(*inverse, *client.getBasePositionAndOrientation(child))
        self._constrain(Attachment(parent, link, child, *pose))

    def detach(self, child: int) -> None:
        """Release a body from everything that it is attached to."""
        for one in self.attachments:
            if one.child == child:
                self.client.removeConstraint(self.constraints.pop(one))

    def restore(self, state: int, attachments: Sequence[Attachment] = ()) -> None:
        """Restore a saved state and attachments; the result does not depend on the current state.

        PyBullet's `restoreState` mixes old contacts into the restored state. To remove these contacts, this
        method first moves all bodies apart.
        """
        for constraint in self.constraints.values():
            self.client.removeConstraint(constraint)
        self.constraints.clear()
        for index in range(self.client.getNumBodies()):
            body = self.client.getBodyUniqueId(index)
            if self.client.getDynamicsInfo(body, -1)[0] > 0.0:  # a mass of 0 means that the body is fixed
                far_away = (FAR_AWAY * (index + 1), 0.0, FAR_AWAY)
                self.client.resetBasePositionAndOrientation(body, far_away, (0.0, 0.0, 0.0, 1.0))
        self.client.performCollisionDetection()
        self.client.restoreState(state)
        for one in attachments:
            self._constrain(one)

    def _constrain(self, one: Attachment) -> None:
        self.constraints[one] = self.client.createConstraint(
            one.parent,
            one.link,
            one.child,
            -1,
            self.client.JOINT_FIXED,
            (0, 0, 0),
            one.position,
            (0, 0, 0),
            one.orientation,
        )


@dataclass(frozen=True, slots=True)
class _Saved:
    """A saved state of PyBullet, and the attachments, which PyBullet does not save."""

    state: int
    attachments: tuple[Attachment, ...]


class PyBulletEnvironment(SnapshotEnvironment):
    """An environment whose simulator is a PyBullet world without a window.

    Implement `load`, `arrange`, `run` and `observe`. A snapshot (the saved state after an action) holds
    what `saveState` saves (poses, velocities, joints and contacts) and the attachments that were made with
    `self.simulator.attach`.

    A snapshot does not hold other constraints, motor targets, textures, or properties that `changeDynamics`
    sets. Set the targets of all motors at the beginning of `run`, load all bodies in `load`, and do not let
    bodies sleep.
    """

    # Most repeated actions give identical results. But the first call of the inverse kinematics in a
    # physics client differs from later calls by about 1e-7, so the tolerance cannot be 0.
    tolerance: float = 1e-5

    @abstractmethod
    def load(self, client: Any, scene: Any) -> Mapping[str, int]:
        """Load the bodies of a scene and return their ids by name; `client` has PyBullet's functions."""

    @abstractmethod
    def arrange(self, start: Any) -> None:
        """Put the bodies of `self.simulator`, a newly loaded world, at the poses that `start` describes."""

    def make_simulator(self, scene: Hashable) -> BulletWorld:
        """Connect to a new physics client and load a scene."""
        try:
            bullet_client = import_module("pybullet_utils.bullet_client")
        except ImportError as error:
            raise InvalidInputError(
                f"The package pybullet is not installed. Install it: {install_command('examples')}"
            ) from error
        client = bullet_client.BulletClient(bullet_client.pybullet.DIRECT)
        # Without this option, the order in which contacts are solved depends on earlier simulation steps.
        client.setPhysicsEngineParameter(deterministicOverlappingPairs=1)
        bodies = self.load(client, scene)
        return BulletWorld(client, bodies, client.saveState())

    def reset(self, start: Any) -> None:
        """Restore the newly loaded world and arrange the bodies."""
        self.simulator.restore(self.simulator.pristine)
        self.arrange(start)

    def save(self) -> _Saved:
        """Save the state in the memory of PyBullet."""
        world = self.simulator
        token = _Saved(world.client.saveState(), world.attachments)
        # Restore the new snapshot at once. So the next action gives the same result, whether it runs now or
        # after this snapshot is restored later.
        self.restore(token)
        return token

    def restore(self, token: _Saved) -> None:
        """Restore a saved state and its attachments."""
        self.simulator.restore(token.state, token.attachments)

    def discard(self, token: _Saved) -> None:
        """Free the memory of a saved state."""
        self.simulator.client.removeState(token.state)
