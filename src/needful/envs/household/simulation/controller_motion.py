"""The motion that a controller produces, and the reasons why controllers fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from needful.envs.household.simulation.base_motion import Point
from needful.envs.household.simulation.hand_motion import Path
from needful.envs.household.simulation.snapshot import Snapshot


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
