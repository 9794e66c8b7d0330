"""Estimates of a state from noisy readings, over several actions."""

from __future__ import annotations

import numpy as np

import toy_world
from fake_clock import FakeClock
from needful.core.controllers import Execution, GroundController
from needful.core.objects import Object
from needful.core.state import State
from needful.planning.observation import Observer

START = toy_world.task(balls=1).initial_state
BALL, JAR, ROBOT = sorted(START, key=str)


class NoisyWorld:
    """A world in which the position of each object is read with Gaussian noise."""

    def __init__(self, noise: float) -> None:
        self.state, self.noise, self.rng = START, noise, np.random.default_rng(0)
        self.readings: list[State] = []

    def observe(self) -> State:
        positions = {obj: self.state.get(obj, "x") for obj in self.state}
        noisy = {obj: {"x": x + self.rng.normal(0.0, self.noise)} for obj, x in positions.items()}
        self.readings.append(self.state.replace(noisy))
        return self.readings[-1]

    def act(self, action: GroundController) -> Execution:
        raise NotImplementedError

    def move(self, obj: Object, distance: float) -> State:
        self.state = self.state.replace({obj: {"x": self.state.get(obj, "x") + distance}})
        return self.state


def observer(world: NoisyWorld) -> Observer:
    return Observer(world, FakeClock())


def error(estimate: State, world: NoisyWorld, obj: Object) -> float:
    return abs(estimate.get(obj, "x") - world.state.get(obj, "x"))


def test_readings_of_objects_that_stay_where_they_are_add_up() -> None:
    world = NoisyWorld(1.0)
    watching = observer(world)
    first = watching.estimate(25)
    for _ in range(40):
        before = world.state
        watching.action_executed(before, world.move(ROBOT, 5.0))
        last = watching.estimate(25)
    assert len(world.readings) == 41 * 25
    assert error(last, world, JAR) < 0.1 < error(first, world, JAR)
    assert error(last, world, ROBOT) < 1.0


def test_an_unpredicted_change_that_readings_show_is_believed() -> None:
    world = NoisyWorld(1.0)
    watching = observer(world)
    watching.estimate(100)
    before = world.state
    world.move(JAR, 3.0)
    watching.action_executed(before, before)
    assert error(watching.estimate(100), world, JAR) < 0.5


def test_a_predicted_change_that_is_too_small_to_be_seen_discards_old_readings() -> None:
    world = NoisyWorld(1.0)
    watching = observer(world)
    watching.estimate(100)
    before = world.state
    watching.action_executed(before, world.move(JAR, 0.001))
    estimate = watching.estimate(9)
    latest = [reading.get(JAR, "x") for reading in world.readings[-9:]]
    assert estimate.get(JAR, "x") == np.median(latest)
    balls = [reading.get(BALL, "x") for reading in world.readings]
    assert estimate.get(BALL, "x") == np.median(balls)


def test_exact_readings_are_used_as_they_are() -> None:
    world = NoisyWorld(0.0)
    watching = observer(world)
    assert watching.estimate(30) == START
    assert watching.exact
    assert watching.count == len(world.readings) == 2
    watching.action_executed(START, START)
    assert watching.count == 0
    world.move(JAR, 0.001)
    assert watching.estimate(30) == world.state
