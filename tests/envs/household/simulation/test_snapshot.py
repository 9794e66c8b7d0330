"""Snapshots: conversion to states and to `qpos`, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.scene import ROBOT_OBJECT
from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.simulation.snapshot import (
    HELD,
    JOINT,
    as_snapshot,
    as_state,
    changed_state,
    initial_snapshot,
    to_qpos,
    with_qpos,
)
from tiny_house import named, tiny_scene

MODEL = build_model(tiny_scene())
FIRST = initial_snapshot(MODEL)


def test_states_and_snapshots_agree():
    state = as_state(MODEL, FIRST)
    again = as_snapshot(MODEL, state)
    assert (again.rows == FIRST.rows).all()
    assert (again.robot == FIRST.robot).all()
    assert state.get(named(state)["window"], "joint") == 0.8
    assert state.get(named(state)["can_0"], "graspable") == 1.0
    assert state.get(named(state)["bed"], "graspable") == 0.0
    assert state[named(state)["living_room_floor"]][:3] == (6.0, 2.0, 0.0)
    assert state[ROBOT_OBJECT][3:6] == (3.2, 2.5, 0.8)


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 1.0), min_size=11, max_size=11))
def test_restoring_and_saving_changes_no_bit(fractions):
    rows = FIRST.rows.copy()
    rows[MODEL.hinge_address >= 0, JOINT] = np.array(fractions)[MODEL.hinge_address >= 0]
    snapshot = type(FIRST)(rows, FIRST.robot)
    saved = with_qpos(MODEL, snapshot, to_qpos(MODEL, snapshot))
    assert saved.rows.tobytes() == snapshot.rows.tobytes()


def test_angles_are_fractions_of_limits():
    found = to_qpos(MODEL, FIRST)
    window = [thing.name for thing in MODEL.things].index("window")
    found[MODEL.hinge_address[window]] = 0.5 * MODEL.hinge_limit[window]
    assert with_qpos(MODEL, FIRST, found).rows[window, JOINT] == pytest.approx(0.5)
    # MuJoCo lets hinges pass their limits a bit.
    found[MODEL.hinge_address[window]] = -0.001
    assert with_qpos(MODEL, FIRST, found).rows[window, JOINT] == 0.0


def test_the_held_thing_does_not_move():
    can = [thing.name for thing in MODEL.things].index("can_0")
    held = FIRST.with_feature(can, HELD, 1.0)
    assert (FIRST.held, held.held) == (-1, can)
    found = to_qpos(MODEL, held) + 0.25
    moved = with_qpos(MODEL, held, found)
    assert (moved.rows[can] == held.rows[can]).all()
    assert moved.rows[can + 1, 0] == FIRST.rows[can + 1, 0] + 0.25


def test_changed_states_share_unchanged_features():
    state = as_state(MODEL, FIRST)
    can = [thing.name for thing in MODEL.things].index("can_0")
    pose = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    changed = changed_state(MODEL, state, FIRST.with_pose(can, pose))
    assert changed == as_state(MODEL, FIRST.with_pose(can, pose))
    assert changed[named(state)["bed"]] is state[named(state)["bed"]]
    assert changed[named(state)["can_0"]][:7] == tuple(pose)
