"""MuJoCo through snapshots: restoring a snapshot and going on gives the same bits."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pytest

from needful import (
    Controller,
    GroundController,
    InvalidInputError,
    Object,
    PlanningModel,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Variable,
    Vocabulary,
    check_environment,
    oracle_operator,
)
from needful.envs.adapters.mujoco import MujocoEnvironment
from needful.envs.adapters.snapshots import SimulatorCalls

BALL, LINE = Type("ball", ("x", "y")), Type("line", ("y",))

BEYOND = Predicate(
    "Beyond", (BALL, LINE), lambda state, objects: state[objects[0]][1] > state[objects[1]][0]
)
HIT = Controller("Hit", (BALL,), low=(-1.0, 0.0), high=(1.0, 2.0))  # the change of the velocity


class UpwardSampler:
    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        return [rng.uniform(-0.1, 0.1), rng.uniform(1.0, 2.0)]


class Billiards(MujocoEnvironment):
    """Balls that roll on a table and collide; their velocities are hidden."""

    name = "billiards"
    description = "Hit balls beyond a line."
    vocabulary = Vocabulary((BALL, LINE), (BEYOND,), (HIT,))

    def scene(self, start: Sequence[Any]) -> Hashable:
        return len(start)

    def model_xml(self, scene: Any) -> str:
        ball = '<body name="ball{}" pos="0 0 .05"><freejoint/><geom size=".05" mass=".1"/></body>'
        balls = "".join(map(ball.format, range(scene)))
        return f'<mujoco><worldbody><geom type="plane" size="5 5 1"/>{balls}</worldbody></mujoco>'

    def arrange(self, start: Sequence[tuple[float, float]]) -> None:
        for number, place in enumerate(start):
            self.simulator.data.joint(number).qpos[:2] = place

    def run(self, action: GroundController) -> int:
        number = int(action.objects[0].name.removeprefix("ball"))
        self.simulator.data.joint(number).qvel[:2] += action.parameters
        self.simulator.step(50)
        return 50

    def observe(self) -> State:
        balls = range(self.simulator.model.njnt)
        places = {BALL(f"ball{number}"): self.simulator.data.joint(number).qpos[:2] for number in balls}
        return State({**places, LINE("line"): (0.05,)})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        count = 2 + index % 2
        columns = rng.permutation(count) * 0.12
        start = tuple((float(x), float(rng.uniform(-0.05, 0.0))) for x in columns)
        return Task(self.initial_state(start), frozenset({BEYOND(BALL("ball0"), LINE("line"))}))

    def oracle_model(self) -> PlanningModel:
        ball, line = Variable("?ball", BALL), Variable("?line", LINE)
        hit = oracle_operator("Hit", (ball, line), (HIT, (ball,)), adds=[BEYOND.lifted(ball, line)])
        return PlanningModel(self.vocabulary, (hit,), {"Hit": UpwardSampler()})

    def draw(self, state: State, axes: Any, goal: Any) -> None:
        for ball in state.of_type(BALL):
            axes.scatter(*state[ball])


def test_without_mujoco_the_error_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InvalidInputError, match=r"mujoco is not installed.*pip install"):
        Billiards().initial_state(((0.0, 0.0),))


def test_restored_snapshots_continue_with_equal_bits() -> None:
    pytest.importorskip("mujoco")
    environment, rng = Billiards(), np.random.default_rng(0)
    state = environment.initial_state(((0.0, 0.0), (0.0, 0.12), (0.05, 0.24)))
    steps = []
    for _ in range(12):
        ball = BALL(f"ball{rng.integers(3)}")
        action = HIT(ball, parameters=rng.uniform(-0.3, 1.0, 2))
        after = environment.simulate(state, action)
        steps.append((state, action, after))
        state = after
    before = environment.simulator_calls
    for index in rng.permutation(len(steps)):
        state, action, after = steps[index]
        assert environment.simulate(state, action) == after
    calls = environment.simulator_calls - before
    assert (calls.runs, calls.replays, calls.resets, calls.saves) == (12, 0, 0, 0)


def test_replayed_actions_give_equal_bits() -> None:
    pytest.importorskip("mujoco")
    environment = Billiards()
    environment.cache_size = 0
    start = environment.initial_state(((0.0, 0.0), (0.0, 0.12)))
    one = environment.simulate(start, HIT(BALL("ball0"), parameters=[0.0, 1.0]))
    two = environment.simulate(one, HIT(BALL("ball1"), parameters=[0.1, 1.0]))
    assert environment.simulate(one, HIT(BALL("ball1"), parameters=[0.1, 1.0])) == two
    assert environment.simulator_calls == SimulatorCalls(runs=3, replays=1, resets=1, restores=1, saves=5)


def test_the_environment_keeps_the_contract() -> None:
    pytest.importorskip("mujoco")
    assert check_environment(Billiards()) == ()
