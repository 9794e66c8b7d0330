"""Worlds are functions of states: bit for bit, in any order of calls and in any process."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from needful.core.state import State
from needful.envs.household.scene.scene import HOUSE_OBJECT, ROBOT_OBJECT
from needful.envs.household.simulation import world as world_module
from needful.envs.household.simulation.world import World
from needful.errors import EnvironmentFailure, UnknownNameError
from tiny_house import named, tiny_scene, true_of

# A plan with all kinds of motion: (controller, target, θ).
ERRAND = (
    ("NavigateTo", "can_1", (0.0, -0.6)),
    ("Grasp", "can_1", (0.05, -0.1, 0.15)),
    ("NavigateTo", "bucket", (0.0, -0.7)),
    ("PlaceInside", "bucket", (0.03, 0.02, 0.4)),
    ("NavigateTo", "package", (0.1, 0.7)),
    ("Open", "package", (0.0, 0.05, 0.05)),
)


def run_errand(world: World) -> list[State]:
    states = [world.settled()]
    for controller, target, theta in ERRAND:
        states.append(world.run(states[-1], controller, named(states[-1])[target], theta))
    return states


def digest(states: list[State]) -> str:
    values = np.concatenate([state.vector(state.objects) for state in states])
    return hashlib.sha256(values.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def world() -> World:
    return World(tiny_scene())


def test_results_do_not_depend_on_earlier_calls(world):
    states = run_errand(world)
    for (controller, target, theta), before, after in zip(
        ERRAND[::-1], states[-2::-1], states[:0:-1], strict=True
    ):
        # Repeat the calls in reverse order, and in a new world.
        assert digest([world.run(before, controller, named(before)[target], theta)]) == digest([after])
        copied = State({obj: before[obj] for obj in before})
        assert digest(
            [World(tiny_scene()).run(copied, controller, named(before)[target], theta)]
        ) == digest([after])


def test_other_processes_compute_the_same_bytes(world):
    here = Path(__file__).parent
    paths = os.pathsep.join(sys.path)
    code = "from test_world import *; print(digest(run_errand(World(tiny_scene()))))"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == digest(run_errand(world))


def test_a_state_identifies_its_scene(world):
    assert world.settled()[HOUSE_OBJECT] == (1.0, 0.0, 7.0)
    assert world.settled()[ROBOT_OBJECT][:3] == (3.2, 2.5, 0.0)


def test_settling_keeps_the_poses_of_the_scene(world):
    state = world.settled()
    assert world.settled() is state
    for thing in tiny_scene().things:
        x, y, z = state[named(state)[thing.name]][:3]
        assert (x, y) == pytest.approx(thing.position[:2], abs=1e-3)
        assert z == pytest.approx(thing.position[2], abs=4e-3)


def test_bounds_are_those_of_all_parts(world):
    state = world.settled()
    low, high = world.bounds(state, named(state)["table"])
    assert low == pytest.approx((4.4, 0.05, 0.0))
    assert high == pytest.approx((6.0, 0.85, 0.72))
    # The pane of the open window extends into the room.
    assert world.bounds(state, named(state)["window"])[1][1] > 0.4


def test_floors_have_no_bounds_and_are_never_reachable(world):
    state = world.settled()
    floor = named(state)["bedroom_floor"]
    with pytest.raises(UnknownNameError, match="bedroom_floor"):
        world.bounds(state, floor)
    assert world.start_failure(state, "NavigateTo", floor, (0.0, 0.0)) == "not reachable"
    with pytest.raises(EnvironmentFailure, match="not reachable"):
        world.run(state, "PlaceOnTop", floor, (0.0, 0.0, 0.1))


def test_unknown_controllers_are_named(world):
    state = world.settled()
    with pytest.raises(UnknownNameError, match="Did you mean 'NavigateTo'"):
        world.run(state, "Navigateto", named(state)["bed"], (0.0, 0.0))


def test_only_a_few_states_are_cached(monkeypatch):
    monkeypatch.setattr(world_module, "MAX_CACHED_STATES", 2)
    world = World(tiny_scene())
    states = [World(tiny_scene()).settled() for _ in range(4)]
    for state in states * 2:
        assert "book table" in true_of(world, state, "OnTop")
    assert len(world._facts_by_id) == 2


@pytest.mark.parametrize("step", range(len(ERRAND)))
def test_traces_lead_from_one_state_to_the_next(world, step):
    states = run_errand(world)
    controller, target, theta = ERRAND[step]
    film = world.trace(states[step], controller, named(states[step])[target], theta)
    assert len(film) > 5
    assert film[0] == states[step]
    assert film[-1] == states[step + 1]
    for one, other in itertools.pairwise(film):
        # Nothing jumps: things move at most 0.16 m between two states, even while they fall.
        moves = [
            np.subtract(one[obj][:3], other[obj][:3])
            for obj in one
            if obj.type.name not in ("house", "robot")
        ]
        assert max(float(np.abs(move).max()) for move in moves) < 0.16
        hand = np.subtract(one[ROBOT_OBJECT][3:6], other[ROBOT_OBJECT][3:6])
        assert float(np.abs(hand).max()) < 0.16
