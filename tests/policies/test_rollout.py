"""Shooting and model-free execution, with hand-written policies."""

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
from needful.policies.graph_policy import MAX_DRAWS, RolloutLimits, follow, roll_out, shoot
from needful.seeding import rng_for
from toy_world import DROP, GRASP, HOLDING, MOVE_TO, REACH, TAKE_LID_OFF

TASK = toy_world.task()
ROBOT, BALL, JAR = toy_world.ROBOT("robot"), toy_world.BALL("ball0"), toy_world.JAR("jar0")
PATIENT = RolloutLimits(horizon=100, expired=lambda: False)


@dataclass
class Scripted:
    """Move to the ball, grasp it and drop it; `offset` is the intended distance from the ball."""

    offset: float = 0.0
    calls: int = 0

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        self.calls += 1
        if HOLDING(ROBOT, BALL).holds(state):
            return DROP(ROBOT, BALL, JAR)
        if abs(state.get(ROBOT, "x") - state.get(BALL, "x")) < REACH:
            return GRASP(ROBOT, BALL)
        return MOVE_TO(ROBOT, BALL, parameters=(self.offset,))


@dataclass
class Constant:
    """Always return the same action."""

    action: GroundController | None

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        return self.action


def after(calls: int) -> Callable[[], bool]:
    """Return an `expired` function that is true after this many calls."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def shot(
    policy: object, task: Task = TASK, limits: RolloutLimits = PATIENT, seed: int = 0
) -> PlanningResult:
    return shoot(policy, task, toy_world.execute, limits, rng_for(seed))  # type: ignore[arg-type]


def followed(policy: object, task: Task = TASK, limits: RolloutLimits = PATIENT) -> PlanningResult:
    return follow(policy, task, toy_world.execute, limits, rng_for(0))  # type: ignore[arg-type]


def test_both_methods_solve_the_task_with_a_good_policy() -> None:
    for result in (shot(Scripted()), followed(Scripted())):
        assert result.solved
        assert [action.controller.name for action in result.actions] == ["MoveTo", "Grasp", "Drop"]
        assert len(result.states) == 4
        assert TASK.achieved_in(result.states[-1])
        assert (result.abstract_plan, result.subgoals, result.failure) == ((), (), None)
        assert (result.statistics.nodes_created, result.statistics.abstract_plans) == (0, 0)
    assert followed(Scripted()).statistics.samples == 0
    assert followed(Scripted()).actions[0].parameters == (0.0,)
    assert shot(Scripted()).statistics.samples == 1
    assert 0.0 < abs(shot(Scripted()).actions[0].parameters[0]) < 0.5


def test_no_action_if_the_goal_holds_already() -> None:
    done = Task(followed(Scripted()).states[-1], TASK.goal)
    for result in (shot(Constant(None), done), followed(Constant(None), done)):
        assert (result.solved, result.actions, result.states) == (True, (), (done.initial_state,))


def test_noise_finds_a_plan_if_the_mean_action_fails() -> None:
    # The hand reaches 0.5 and the policy stops at 0.6: one draw in six is near enough.
    result = shot(Scripted(offset=0.6), limits=replace(PATIENT, horizon=3))
    assert result.solved
    assert result.statistics.samples > 1
    assert abs(result.actions[0].parameters[0]) < REACH
    again = followed(Scripted(offset=0.6), limits=replace(PATIENT, horizon=3))
    assert again.outcome is Outcome.HORIZON_EXCEEDED


def test_the_same_seed_draws_the_same() -> None:
    results = [shot(Scripted(offset=0.6), seed=seed) for seed in (3, 3, 4)]
    assert results[0].actions == results[1].actions != results[2].actions


def test_draws_have_the_deviation_of_the_noise_and_are_clipped() -> None:
    edge, drawn = MOVE_TO.high[0], []

    def execute(state: State, action: GroundController) -> Execution:
        drawn.append(action.parameters[0])
        return Execution(state)

    shoot(
        Constant(MOVE_TO(ROBOT, BALL, parameters=(edge,))),  # type: ignore[arg-type]
        TASK,
        execute,
        RolloutLimits(400, after(400)),
        rng_for(0),
    )
    offsets = np.array(drawn) - edge
    assert offsets.max() == 0.0
    assert 0.4 < (offsets < 0.0).mean() < 0.6
    assert np.sqrt(np.mean(offsets[offsets < 0.0] ** 2)) == pytest.approx(0.1, rel=0.15)


def test_without_random_draws_there_is_only_one_rollout() -> None:
    executions = 0

    def execute(state: State, action: GroundController) -> Execution:
        nonlocal executions
        executions += 1
        return toy_world.execute(state, action)

    grasping = Constant(GRASP(ROBOT, BALL))
    result = shoot(grasping, TASK, execute, PATIENT, rng_for(0))  # type: ignore[arg-type]
    assert (result.outcome, executions) == (Outcome.HORIZON_EXCEEDED, 101)
    assert len(result.actions) == 100
    assert result.failure is not None
    assert "Grasp(robot, ball0)" in result.failure.detail
    assert "horizon of 100" in result.failure.detail
    assert (result.failure.step, result.failure.operator) == (100, None)


def test_a_failing_controller_ends_the_rollout() -> None:
    lids_on = toy_world.task(lids_on=True)
    result = followed(Scripted(), lids_on)
    assert result.outcome is Outcome.CONTROLLER_FAILED
    assert len(result.actions) == 2
    assert result.failure is not None
    assert result.failure.detail == "Drop(robot, ball0, jar0) failed: the lid is on"
    without_steps = follow(
        Constant(TAKE_LID_OFF(ROBOT, JAR)),  # type: ignore[arg-type]
        TASK,
        lambda state, action: Execution(state, steps=0),
        PATIENT,
        rng_for(0),
    )
    assert without_steps.failure is not None
    assert "TakeLidOff(robot, jar0) failed" in without_steps.failure.detail


def only_near(limit: float) -> GroundController:
    """Return a move that can only start with a parameter below a limit."""
    limited = replace(MOVE_TO, initiable=lambda state, objects, parameters: parameters[0] < limit)
    return limited(ROBOT, BALL, parameters=(0.0,))


def test_parameters_are_redrawn_until_the_controller_can_start() -> None:
    result = shot(Constant(only_near(-0.15)), limits=RolloutLimits(100, after(300)))
    assert result.statistics.samples > len(result.actions) >= 1
    assert all(action.parameters[0] < -0.15 for action in result.actions)
    hopeless = shot(Constant(only_near(-1.5)), limits=RolloutLimits(100, after(3 * MAX_DRAWS)))
    assert (hopeless.outcome, hopeless.actions) == (Outcome.TIMEOUT, ())
    assert hopeless.failure is not None
    assert "cannot start" in hopeless.failure.detail
    assert hopeless.statistics.samples == pytest.approx(3 * MAX_DRAWS, abs=10)
    assert followed(Constant(only_near(-0.15))).outcome is Outcome.NOT_INITIABLE


def test_a_policy_without_an_action() -> None:
    for result in (shot(Constant(None)), followed(Constant(None))):
        assert (result.outcome, result.actions) == (Outcome.NOT_INITIABLE, ())


def test_the_longest_rollout_is_returned_after_a_timeout() -> None:
    far = Scripted(offset=2.0)
    result = shot(far, limits=RolloutLimits(5, after(40)))
    assert result.outcome is Outcome.TIMEOUT
    assert len(result.actions) == 5
    assert result.failure is not None
    assert result.failure.detail.startswith("Time ran out")
    assert "MoveTo" in result.failure.detail
    assert far.calls < 40
    immediate = shot(Scripted(), limits=RolloutLimits(5, lambda: True))
    assert (immediate.outcome, immediate.statistics.samples) == (Outcome.TIMEOUT, 0)
    assert immediate.failure is not None
    assert "Time ran out" in immediate.failure.detail


def test_the_repr_is_short() -> None:
    limits = replace(PATIENT, horizon=50)
    rollout = roll_out(
        Constant(GRASP(ROBOT, BALL)),  # type: ignore[arg-type]
        TASK,
        toy_world.execute,
        lambda state, proposed: (proposed, 0),
        limits,
    )
    assert repr(rollout) == "Rollout(horizon_exceeded, 50 actions, 0 samples)"
