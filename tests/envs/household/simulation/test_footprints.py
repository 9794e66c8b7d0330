"""Footprints, compared to points sampled from the bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.simulation.base_motion import Footprints

angles = st.floats(-3.2, 3.2)
sizes = st.tuples(*[st.floats(0.05, 1.0)] * 3)
places = st.tuples(*[st.floats(-2.0, 2.0)] * 2)


def rotation(yaw: float, pitch: float = 0.0) -> np.ndarray:
    about_z = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    about_y = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    return about_z @ about_y


def one(centre, axes, half, round_=False) -> Footprints:
    arrays = (np.array([centre]), np.array([axes]), np.array([half]), np.array([round_]))
    return Footprints.of(*(a.astype(float) if a.dtype != bool else a for a in arrays))


def gap(prints: Footprints, x: float, y: float) -> float:
    return float(prints.gaps(np.array(x), np.array(y))[0])


def distance_to_box(point, centre, axes, half) -> float:
    """Return the horizontal distance of a point from a fine grid of points in a box."""
    steps = np.linspace(-1, 1, 21)
    inside = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3) * half
    plan = (inside @ axes.T + centre)[:, :2]
    return float(np.hypot(*(plan - point).T).min())


@settings(max_examples=40)
@given(angles, sizes, places)
def test_upright_boxes_are_exact(yaw, half, point):
    centre, axes = np.array([0.3, -0.2, 1.0]), rotation(yaw)
    prints = one(centre, axes, half)
    assert gap(prints, *point) == pytest.approx(distance_to_box(point, centre, axes, half), abs=0.08)
    assert (prints.low[0], prints.high[0]) == pytest.approx((1.0 - half[2], 1.0 + half[2]))


@settings(max_examples=40)
@given(angles, angles, sizes, places)
def test_tilted_boxes_are_covered(yaw, pitch, half, point):
    centre, axes = np.array([0.3, -0.2, 1.0]), rotation(yaw, pitch)
    prints = one(centre, axes, half)
    assert gap(prints, *point) <= distance_to_box(point, centre, axes, half) + 1e-9
    corners = (
        np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * half @ axes.T + centre
    )
    assert (prints.low[0], prints.high[0]) == pytest.approx((corners[:, 2].min(), corners[:, 2].max()))


def test_standing_cylinders_are_round_and_lying_ones_are_not():
    standing = one((0, 0, 0), np.eye(3), (0.1, 0.1, 0.3), round_=True)
    assert gap(standing, 0.3, 0.4) == pytest.approx(0.4)
    lying = one((0, 0, 0), rotation(0.0, np.pi / 2), (0.1, 0.1, 0.3), round_=True)
    assert gap(lying, 0.5, 0.0) == pytest.approx(0.2)
    assert gap(lying, 0.0, 0.5) == pytest.approx(0.4)


def test_selecting_and_joining_footprints():
    low, high = one((0, 0, 0), np.eye(3), (1, 1, 1)), one((0, 0, 5), np.eye(3), (1, 1, 1))
    both = low.joined(high)
    assert len(both) == 2
    assert both.between(1.5, 3.9).gaps(np.array(0.0), np.array(0.0)).shape == (0,)
    assert len(both.between(0.5, 4.5)) == 2
    assert both.between(4.5, 9.0).low.tolist() == [4.0]
    assert both[np.array([True, False])].high.tolist() == [1.0]
