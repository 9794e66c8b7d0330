"""Shooting and acting without a model, with policies made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import toy_world
from needful.core.atoms import AbstractState
from needful.core.controllers import Execution, GroundController
from needful.core.plans import Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.policies.rollout import MAX_DRAWS, RolloutLimits, follow, shoot
from needful.seeding import rng_for
from toy_world import DROP, GRASP, HOLDING, MOVE_TO, REACH, TAKE_LID_OFF

TASK = toy_world.task()
ROBOT, BALL, JAR = toy_world.ROBOT("robot"), toy_world.BALL("ball0"), toy_world.JAR("jar0")
PATIENT = RolloutLimits(horizon=100, expired=lambda: False)


@dataclass
class ByHand:
    """Goes to the ball, grasps it and drops it; `offset` is how far from the ball it means to stop."""

    offset: float = 0.0
    asked: int = 0

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        self.asked += 1
        if HOLDING(ROBOT, BALL).holds(state):
            return DROP(ROBOT, BALL, JAR)
        if abs(state.get(ROBOT, "x") - state.get(BALL, "x")) < REACH:
            return GRASP(ROBOT, BALL)
        return MOVE_TO(ROBOT, BALL, parameters=(self.offset,))


@dataclass
class Stubborn:
    """Always does the same."""

    action: GroundController | None

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        return self.action


def after(looks: int) -> Callable[[], bool]:
    """Return a clock that says that time is up after so many looks."""
    left = iter(range(looks))
    return lambda: next(left, None) is None


def shot(
    policy: object, task: Task = TASK, limits: RolloutLimits = PATIENT, seed: int = 0
) -> PlanningResult:
    return shoot(policy, task, toy_world.execute, limits, rng_for(seed))  # type: ignore[arg-type]


def followed(policy: object, task: Task = TASK, limits: RolloutLimits = PATIENT) -> PlanningResult:
    return follow(policy, task, toy_world.execute, limits, rng_for(0))  # type: ignore[arg-type]


def test_a_good_policy_solves_the_task_either_way() -> None:
    for result in (shot(ByHand()), followed(ByHand())):
        assert result.solved
        assert [action.controller.name for action in result.actions] == ["MoveTo", "Grasp", "Drop"]
        assert len(result.states) == 4
        assert TASK.achieved_in(result.states[-1])
        assert (result.abstract_plan, result.subgoals, result.failure) == ((), (), None)
        assert (result.statistics.nodes_created, result.statistics.abstract_plans) == (0, 0)
    assert followed(ByHand()).statistics.samples == 0
    assert followed(ByHand()).actions[0].parameters == (0.0,)
    assert shot(ByHand()).statistics.samples == 1
    assert 0.0 < abs(shot(ByHand()).actions[0].parameters[0]) < 0.5


def test_nothing_is_done_where_the_goal_holds() -> None:
    done = Task(followed(ByHand()).states[-1], TASK.goal)
    for result in (shot(Stubborn(None), done), followed(Stubborn(None), done)):
        assert (result.solved, result.actions, result.states) == (True, (), (done.initial_state,))


def test_noise_makes_good_what_the_mean_misses() -> None:
    # The hand reaches 0.5 far and the policy means to stop at 0.6: one draw in six is near enough.
    stubborn = ByHand(offset=0.6)
    result = shot(stubborn, limits=replace(PATIENT, horizon=3))
    assert result.solved
    assert result.statistics.samples > 1
    assert abs(result.actions[0].parameters[0]) < REACH
    again = followed(ByHand(offset=0.6), limits=replace(PATIENT, horizon=3))
    assert again.outcome is Outcome.HORIZON_EXCEEDED


def test_the_same_seed_draws_the_same() -> None:
    results = [shot(ByHand(offset=0.6), seed=seed) for seed in (3, 3, 4)]
    assert results[0].actions == results[1].actions != results[2].actions


def test_draws_spread_by_a_tenth_and_stay_in_the_box() -> None:
    edge, drawn = MOVE_TO.high[0], []

    def execute(state: State, action: GroundController) -> Execution:
        drawn.append(action.parameters[0])
        return Execution(state)

    shoot(
        Stubborn(MOVE_TO(ROBOT, BALL, parameters=(edge,))),  # type: ignore[arg-type]
        TASK,
        execute,
        RolloutLimits(400, after(400)),
        rng_for(0),
    )
    offsets = np.array(drawn) - edge
    assert offsets.max() == 0.0
    assert 0.4 < (offsets < 0.0).mean() < 0.6
    assert np.sqrt(np.mean(offsets[offsets < 0.0] ** 2)) == pytest.approx(0.1, rel=0.15)


def test_without_a_draw_there_is_only_one_rollout() -> None:
    executions = 0

    def execute(state: State, action: GroundController) -> Execution:
        nonlocal executions
        executions += 1
        return toy_world.execute(state, action)

    lid_on = Stubborn(GRASP(ROBOT, BALL))
    result = shoot(lid_on, TASK, execute, PATIENT, rng_for(0))  # type: ignore[arg-type]
    assert (result.outcome, executions) == (Outcome.HORIZON_EXCEEDED, 101)
    assert len(result.actions) == 100
    assert result.failure is not None
    assert result.failure.detail == "With Grasp(robot, ball0) it takes more than 100 low-level actions."
    assert (result.failure.step, result.failure.operator) == (100, None)


def test_a_controller_that_fails_ends_the_rollout() -> None:
    lids_on = toy_world.task(lids_on=True)
    result = followed(ByHand(), lids_on)
    assert result.outcome is Outcome.CONTROLLER_FAILED
    assert len(result.actions) == 2
    assert result.failure is not None
    assert result.failure.detail == "Drop(robot, ball0, jar0) failed: the lid is on"
    idle = follow(
        Stubborn(TAKE_LID_OFF(ROBOT, JAR)),  # type: ignore[arg-type]
        TASK,
        lambda state, action: Execution(state, steps=0),
        PATIENT,
        rng_for(0),
    )
    assert idle.failure is not None
    assert idle.failure.detail == "TakeLidOff(robot, jar0) failed: it took no step."


def only_near(limit: float) -> GroundController:
    """A move that can only start with parameters below a limit."""
    picky = replace(MOVE_TO, initiable=lambda state, objects, parameters: parameters[0] < limit)
    return picky(ROBOT, BALL, parameters=(0.0,))


def test_parameters_are_drawn_anew_until_the_controller_can_start() -> None:
    result = shot(Stubborn(only_near(-0.15)), limits=RolloutLimits(100, after(300)))
    assert result.statistics.samples > len(result.actions) >= 1
    assert all(action.parameters[0] < -0.15 for action in result.actions)
    hopeless = shot(Stubborn(only_near(-1.5)), limits=RolloutLimits(100, after(3 * MAX_DRAWS)))
    assert (hopeless.outcome, hopeless.actions) == (Outcome.TIMEOUT, ())
    assert hopeless.failure is not None
    assert "cannot start" in hopeless.failure.detail
    assert hopeless.statistics.samples == pytest.approx(3 * MAX_DRAWS, abs=10)
    assert followed(Stubborn(only_near(-0.15))).outcome is Outcome.NOT_INITIABLE


def test_a_policy_that_finds_nothing_to_do() -> None:
    for result in (shot(Stubborn(None)), followed(Stubborn(None))):
        assert (result.outcome, result.actions) == (Outcome.NOT_INITIABLE, ())


def test_the_longest_rollout_is_told_when_time_is_up() -> None:
    far = ByHand(offset=2.0)
    result = shot(far, limits=RolloutLimits(5, after(40)))
    assert result.outcome is Outcome.TIMEOUT
    assert len(result.actions) == 5
    assert result.failure is not None
    assert result.failure.detail.startswith("Time ran out. The longest rollout ended so: With MoveTo")
    assert far.asked < 40
    at_once = shot(ByHand(), limits=RolloutLimits(5, lambda: True))
    assert (at_once.outcome, at_once.statistics.samples) == (Outcome.TIMEOUT, 0)
    assert at_once.failure is not None
    assert at_once.failure.detail == "Time ran out before the next action was chosen."
