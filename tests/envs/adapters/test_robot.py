"""Robots of the real world: they observe and act, and planning starts from what they observe."""

from __future__ import annotations

import pytest

from hidden_velocity import MARK, PAST, PUCK, PUSH, SlidingPuck
from needful import (
    Agent,
    EnvironmentFailure,
    State,
    Task,
    UnknownNameError,
)
from needful.envs.adapters.robot import Robot

PUCK_OBJECT, MARK_OBJECT = PUCK("puck"), MARK("mark")


class FakeRobot:
    """A puck in the real world, which rests after every push."""

    def __init__(self) -> None:
        self.x = 0.0

    def sense(self) -> State:
        return State({PUCK_OBJECT: (self.x,), MARK_OBJECT: (0.4,)})

    def push(self, objects, parameters) -> None:
        if parameters[0] < 0.0:
            raise EnvironmentFailure("The puck cannot go back.", objects)
        self.x += 0.9 * parameters[0]

    def skills(self):
        return {"Push": self.push, "Wait": lambda objects, parameters: None}


class PuckAtRest(SlidingPuck):
    """The simulator for planning, which starts from an observed puck at rest."""

    def start_of(self, state: State) -> tuple[float, float]:
        return state.get(PUCK_OBJECT, "x"), state.get(MARK_OBJECT, "x")

    def reset(self, start) -> None:
        super().reset(start[1])
        self.simulator.x = start[0]


def test_a_plan_from_the_simulator_is_executed_on_the_robot() -> None:
    fake, environment = FakeRobot(), PuckAtRest()
    robot = Robot(environment, fake.sense, fake.skills())
    goal = frozenset({PAST(PUCK_OBJECT, MARK_OBJECT)})
    agent = Agent(environment.oracle_model(), environment.execute)
    assert agent.run(Task(robot.observe(), goal), robot, seed=0).solved
    assert fake.x >= 0.4


def test_a_failed_skill_is_reported_with_the_observed_state() -> None:
    fake = FakeRobot()
    robot = Robot(PuckAtRest(), fake.sense, fake.skills())
    execution = robot.act(PUSH(PUCK_OBJECT, parameters=[-0.5]))
    assert (execution.steps, execution.offending) == (0, (PUCK_OBJECT,))
    assert execution.state == fake.sense()


def test_parameters_are_clipped() -> None:
    fake = FakeRobot()
    Robot(PuckAtRest(), fake.sense, fake.skills()).act(PUSH(PUCK_OBJECT, parameters=[7.0]))
    assert fake.x == 0.9


def test_every_controller_needs_a_skill() -> None:
    fake = FakeRobot()
    with pytest.raises(UnknownNameError, match="Wait"):
        Robot(PuckAtRest(), fake.sense, {"Push": fake.push})
