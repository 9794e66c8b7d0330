"""What happens between two states, for films."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import atan2, ceil, hypot

import numpy as np

from needful.envs.household.motion.base_motion import Point
from needful.envs.household.motion.hand_motion import Path
from needful.envs.household.simulation.controllers import driven
from needful.envs.household.simulation.course import Course
from needful.envs.household.simulation.house_model import HouseModel
from needful.envs.household.simulation.physics import Physics
from needful.envs.household.simulation.snapshot import HELD, POSE, Snapshot, with_positions

# How far the base, the hand and the engine's clock move from one picture to the next.
BASE_STEP = 0.08
HAND_STEP = 0.05
STEPS_A_PICTURE = 10


class FilmedPhysics(Physics):
    """Physics that keeps pictures of what happens while things move."""

    def __init__(self, model: HouseModel) -> None:
        super().__init__(model)
        self.pictures: list[np.ndarray] = []
        self._steps = 0

    def _advance(self, steps: int) -> None:
        super()._advance(steps)
        self._steps += steps
        if self._steps >= STEPS_A_PICTURE:
            self._steps = 0
            self.pictures.append(np.array(self._data.qpos))


def trace(
    model: HouseModel, before: Snapshot, course: Course, physics: FilmedPhysics
) -> Iterator[Snapshot]:
    """Yield snapshots from before a controller started to after it ended, both included.

    The controller must just have run with the physics given.
    """
    after = course.after
    yield before
    for place, yaw in _drive(course.base):
        yield driven(before, place, yaw)
    reached = before
    for reached in _carry(before, course.reach):
        yield reached
    settling = (with_positions(model, after, picture) for picture in physics.pictures)
    if after.held != before.held and after.held >= 0:
        yield from _carry(reached.with_feature(after.held, HELD, 1.0), course.back)
        yield from settling
    else:
        yield from (picture.with_robot(reached.robot) for picture in settling)
        yield from _carry(after.with_robot(reached.robot), course.back)
    yield after


def _drive(path: tuple[Point, ...]) -> Iterator[tuple[np.ndarray, float]]:
    """Yield places on a way and where the robot then looks: ahead."""
    for one, other in itertools.pairwise(path):
        dx, dy = other[0] - one[0], other[1] - one[1]
        count = max(1, ceil(hypot(dx, dy) / BASE_STEP))
        for step in range(1, count + 1):
            yield np.array([one[0] + dx * step / count, one[1] + dy * step / count]), atan2(dy, dx)


def _carry(snapshot: Snapshot, path: Path) -> Iterator[Snapshot]:
    """Yield snapshots with the hand, and what it holds, along a way."""
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
