"""Put everything in a house, the robot too, where it is to be seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from needful.envs.household.house_model import ROBOT_BODY, ROBOT_HAND, HouseModel
from needful.envs.household.snapshot import Snapshot, positions


def pose(model: HouseModel, data: Any, snapshot: Snapshot) -> None:
    """Set the positions in the engine's data of the still model; what follows from them is not computed."""
    data.qpos[:] = positions(model, snapshot)
    x, y, yaw = snapshot.robot[:3]
    body, hand = (model.still.body(name).mocapid[0] for name in (ROBOT_BODY, ROBOT_HAND))
    data.mocap_pos[body] = (x, y, 0.0)
    data.mocap_quat[body] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
    data.mocap_pos[hand] = snapshot.hand
