"""Turn points and quaternions about the vertical."""

from __future__ import annotations

from math import cos, sin

import numpy as np


def yaw_quaternion(yaw: float) -> np.ndarray:
    """Return the quaternion of a turn about the vertical."""
    return np.array([cos(yaw / 2), 0.0, 0.0, sin(yaw / 2)])


def turned(vector: np.ndarray, yaw: float) -> np.ndarray:
    """Return a vector, of two or three numbers, turned about the vertical."""
    x, y = vector[0], vector[1]
    c, s = cos(yaw), sin(yaw)
    return np.array([c * x - s * y, s * x + c * y, *vector[2:]])


def turned_pose(pose: np.ndarray, yaw: float) -> np.ndarray:
    """Return a pose, of position and quaternion, turned about the vertical through the origin."""
    w, z = cos(yaw / 2), sin(yaw / 2)
    a, b, c, d = pose[3:]
    return np.array([*turned(pose[:3], yaw), w * a - z * d, w * b - z * c, w * c + z * b, w * d + z * a])
