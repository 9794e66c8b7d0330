"""Rotations about the vertical axis, compared to matrices."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.scene import heading
from needful.envs.household.simulation.snapshot import rotate_pose_yaw, rotate_yaw, yaw_quaternion

angles = st.floats(-3.1, 3.1)


def matrix(quaternion: np.ndarray) -> np.ndarray:
    flat = np.empty(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    return flat.reshape(3, 3)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), angles)
def test_rotated_poses_agree_with_matrices(seed, yaw):
    rng = np.random.default_rng(seed)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    pose = np.array([*rng.normal(size=3), *quaternion])
    turn = matrix(yaw_quaternion(yaw))
    after = rotate_pose_yaw(pose, yaw)
    assert after[:3] == pytest.approx(turn @ pose[:3])
    assert matrix(after[3:]) == pytest.approx(turn @ matrix(quaternion))
    assert rotate_yaw(pose[:2], yaw) == pytest.approx((turn @ pose[:3])[:2])


@given(angles)
def test_heading_is_the_yaw(yaw):
    assert heading(yaw_quaternion(yaw)) == pytest.approx(yaw)
