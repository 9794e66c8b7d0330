"""What a controller does, and why it may not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from needful.envs.household.motion.base_motion import Point
from needful.envs.household.motion.hand_motion import Path
from needful.envs.household.simulation.snapshot import Snapshot


class FailureReason(StrEnum):
    """Why a controller does not do what it was asked for."""

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
    """How a controller moved the robot, and what came of it.

    Attributes:
        after: the snapshot in which it ended.
        base: the way of the base, if it drove.
        reach: the way of the hand to where it did something, if it did.
        back: the way of the hand from there, with what it then held.
    """

    after: Snapshot
    base_path: tuple[Point, ...] = ()
    hand_path: Path = ()
    return_path: Path = ()
