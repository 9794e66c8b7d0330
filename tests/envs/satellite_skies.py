"""States of the satellite domains for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.state import State
from needful.envs.satellites import OBJECT, SATELLITE

SAT0 = SATELLITE("sat0")
OBJ0, OBJ1 = OBJECT("obj0"), OBJECT("obj1")

# Values of the feature `instrument`.
CAMERA, INFRARED, GEIGER = 0.1, 0.5, 0.9


@dataclass(frozen=True)
class Sat:
    """A satellite; by default in the middle, facing right."""

    x: float = 0.5
    y: float = 0.5
    theta: float = 0.0
    instrument: float = GEIGER
    target: float = 0.0
    calibrated: float = 0.0
    reading: float = -1.0
    shoots_x: float = 0.0
    shoots_y: float = 0.0


def sky(satellites: Sequence[Sat], objects: Sequence[tuple[float, ...]]) -> State:
    """Return a state; an object is (x, y), or (x, y, has_chem_x, has_chem_y)."""
    return State(
        {
            SATELLITE(f"sat{number}"): (
                *(sat.x, sat.y, sat.theta, sat.instrument, sat.target),
                *(sat.calibrated, sat.reading, sat.shoots_x, sat.shoots_y),
            )
            for number, sat in enumerate(satellites)
        }
        | {
            OBJECT(f"obj{number}"): (number, *obj, *([0.0, 0.0] if len(obj) == 2 else []))
            for number, obj in enumerate(objects)
        }
    )


# Positions at which the default satellite sees an object and does not see it.
SEEN, UNSEEN = (0.7, 0.5), (0.3, 0.5)
