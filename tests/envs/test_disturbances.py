"""Simulated worlds: failing skills, noisy readings and noisy parameters."""

from __future__ import annotations

import numpy as np
import pytest

import needful
import toy_world
from needful.core.controllers import Controller, GroundController
from needful.core.objects import Type
from needful.core.state import State
from needful.envs.contract import Split
from needful.envs.disturbances import MAX_LEVELS, Disturbances, SimulatedWorld, feature_ranges
from needful.errors import InvalidInputError
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
STATE = toy_world.task().initial_state
ROBOT, BALL = toy_world.ROBOT("robot"), toy_world.BALL("ball0")
MOVE = toy_world.MOVE_TO(ROBOT, BALL, parameters=(0.25,))
RANGES = {("robot", "x"): 10.0, ("ball", "x"): 0.0}


def world(seed: int = 0, **rates: float) -> SimulatedWorld:
    return SimulatedWorld(TOY, STATE, Disturbances(**rates), RANGES, seed)


def test_an_exact_world_is_the_environment() -> None:
    exact = world()
    assert exact.observe() is STATE
    execution = exact.act(MOVE)
    assert execution == TOY.execute(STATE, MOVE)
    assert exact.state == execution.state == exact.states[1]
    assert (exact.actions, exact.steps, exact.states[0]) == ([MOVE], 1, STATE)
    assert repr(exact) == "SimulatedWorld(toy, 1 actions)"


def test_a_failing_skill_changes_nothing_and_takes_a_step() -> None:
    failing = world(skill_failures=1.0)
    execution = failing.act(MOVE)
    assert (execution.state, execution.steps, failing.state, failing.steps) == (STATE, 1, STATE, 1)


def test_skills_fail_with_the_given_probability() -> None:
    failed = 0
    unreliable = world(skill_failures=0.3)
    for number in range(1000):
        before = unreliable.state
        unreliable.act(toy_world.MOVE_TO(ROBOT, BALL, parameters=(number / 1000,)))
        failed += unreliable.state == before
    assert 250 < failed < 350


def test_readings_have_the_given_deviation_and_the_state_does_not_change() -> None:
    noisy = world(observation_noise=0.02)
    readings = [noisy.observe() for _ in range(1000)]
    positions = [reading.get(ROBOT, "x") for reading in readings]
    assert np.mean(positions) == pytest.approx(STATE.get(ROBOT, "x"), abs=0.03)
    assert np.std(positions) == pytest.approx(0.2, rel=0.1)
    for reading in readings:  # features with the range 0, or without a range, are exact
        assert all(reading[obj] == STATE[obj] for obj in STATE if obj != ROBOT)
    assert noisy.state is STATE


def test_executed_parameters_have_the_given_deviation_within_their_bounds() -> None:
    noisy = world(parameter_noise=0.1)  # the bounds are -2 and 2
    offsets = []
    for _ in range(1000):
        noisy.act(MOVE)
        offsets.append(noisy.state.get(ROBOT, "x") - noisy.state.get(BALL, "x"))
    assert np.mean(offsets) == pytest.approx(0.25, abs=0.05)
    assert np.std(offsets) == pytest.approx(0.4, rel=0.1)
    assert -2.0 <= min(offsets) <= max(offsets) <= 2.0
    assert noisy.actions == [MOVE] * 1000  # the commanded actions


def test_controllers_that_cannot_start_change_nothing() -> None:
    never = Controller("MoveTo", (toy_world.ROBOT, toy_world.BALL), initiable=lambda *arguments: False)
    execution = world().act(GroundController(never, (ROBOT, BALL)))
    assert (execution.state, execution.steps) == (STATE, 0)
    assert "cannot start" in str(execution.failure)


def test_worlds_with_equal_seeds_are_equal() -> None:
    rates = {"skill_failures": 0.5, "observation_noise": 0.1, "parameter_noise": 0.1}

    def run(seed: int) -> tuple[State, ...]:
        one = world(seed, **rates)
        return tuple(one.act(MOVE).state for _ in range(10))

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_which_skills_fail_does_not_depend_on_the_number_of_readings() -> None:
    one, other = (world(3, skill_failures=0.5, observation_noise=0.1) for _ in range(2))
    for number in range(20):
        action = toy_world.MOVE_TO(ROBOT, BALL, parameters=(number / 20,))
        for _ in range(5):
            other.observe()
        one.act(action)
        other.act(action)
    assert one.states == other.states


def test_ranges_of_features() -> None:
    thing = Type("thing", ("x", "flag", "level", "number"))
    cup = Type("cup", (*thing.features, "fill"), thing)
    states = [
        State(
            {
                thing("a"): (0.1 * k, k % 2, 0.5 * (k % MAX_LEVELS), k),
                cup("b"): (-0.5 - 0.1 * k, 1.0, 0.0, 0.0, 0.3 + k),
            }
        )
        for k in range(10)
    ]
    ranges = feature_ranges(states)
    assert ranges["thing", "x"] == pytest.approx(0.9 + 1.4)  # of the type and its subtypes
    assert ranges["thing", "fill"] == pytest.approx(9.0)
    assert ranges["thing", "flag"] == ranges["thing", "level"] == ranges["thing", "number"] == 0.0


def test_flags_of_a_domain_are_discrete() -> None:
    env = needful.make_environment("cluttered-1d")
    ranges = feature_ranges(task.initial_state for task in env.tasks(Split.TRAIN, 10, 0))
    assert ranges["dot", "x"] == pytest.approx(100.0, rel=0.1)
    assert ranges["dot", "grasped"] == 0.0


def test_invalid_settings() -> None:
    with pytest.raises(
        InvalidInputError, match=r"skill_failures must be a number between 0 and 1, got 1\.5"
    ):
        Disturbances(skill_failures=1.5)
    with pytest.raises(InvalidInputError, match="needs the ranges of features"):
        SimulatedWorld(TOY, STATE, Disturbances(observation_noise=0.1))
    assert not Disturbances()
    assert Disturbances(parameter_noise=0.1)


def test_rates_must_be_numbers() -> None:
    with pytest.raises(
        InvalidInputError, match=r"skill_failures must be a number between 0 and 1, got '0.1'"
    ):
        Disturbances(skill_failures="0.1")  # type: ignore[arg-type]
