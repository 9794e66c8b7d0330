"""Solve tasks by following a policy from the initial state until the goal holds.

`follow` is model-free: it executes the policy's actions once, in the environment itself. `shoot` plans: it
simulates rollouts with noisy parameters until one reaches the goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from needful.core.controllers import Execute, GroundController
from needful.core.plans import Failure, Outcome, PlanningResult, SearchStatistics
from needful.core.state import State
from needful.core.tasks import Task
from needful.policies.graph_policy import GraphPolicy

# The standard deviation of the Gaussian noise that `shoot` adds to the parameters of actions.
NOISE_DEVIATION = 0.1
# The maximum number of times that `shoot` draws the parameters of one action. If the controller cannot
# start with any of these draws, the rollout fails.
MAX_DRAWS = 100

# A function that takes a state and the action that the policy chose. It returns the action to execute, or
# None if the action cannot start in the state. It also returns how often it drew parameters.
Adjust: TypeAlias = Callable[[State, GroundController], tuple[GroundController | None, int]]


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """When a rollout gives up: after more than `horizon` low-level actions, or if `expired()` is true."""

    horizon: int
    expired: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rollout:
    """The result of following a policy.

    Attributes:
        actions: the executed actions.
        states: the initial state, and the state after each action.
        failure: why the goal was not reached; None if it was reached.
        samples: how often parameters of actions were drawn at random.
    """

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    failure: Failure | None
    samples: int

    def __repr__(self) -> str:
        outcome = "solved" if self.failure is None else self.failure.outcome.value
        return f"Rollout({outcome}, {len(self.actions)} actions, {self.samples} samples)"

    def result(self, statistics: SearchStatistics) -> PlanningResult:
        """Return the rollout as a planning result with the given statistics."""
        outcome = Outcome.SOLVED if self.failure is None else self.failure.outcome
        return PlanningResult(outcome, (), self.actions, self.states, (), self.failure, statistics)


def roll_out(
    policy: GraphPolicy, task: Task, execute: Execute, adjust: Adjust, limits: RolloutLimits
) -> Rollout:
    """Execute the policy's actions until the goal holds, an action fails or a limit is reached.

    `adjust` may change each action before it is executed, for example add noise to its parameters.
    """
    state, steps, samples = task.initial_state, 0, 0
    actions: list[GroundController] = []
    states = [state]

    def finish(outcome: Outcome | None = None, detail: str = "") -> Rollout:
        failure = None if outcome is None else Failure(len(actions), None, outcome, detail=detail)
        return Rollout(tuple(actions), tuple(states), failure, samples)

    while not task.achieved_in(state):
        if limits.expired():
            return finish(Outcome.TIMEOUT, "Time ran out before the next action was chosen.")
        proposed = policy.act(state, task.goal)
        if proposed is None:
            return finish(
                Outcome.NOT_INITIABLE, "The state has no objects for the arguments of any controller."
            )
        action, draws = adjust(state, proposed)
        samples += draws
        if action is None:
            return finish(Outcome.NOT_INITIABLE, f"{proposed} cannot start in the current state.")
        execution = execute(state, action)
        steps += execution.steps
        if execution.steps == 0:
            reason = execution.failure or "it executed no low-level action."
            return finish(Outcome.CONTROLLER_FAILED, f"{action} failed: {reason}")
        if steps > limits.horizon:
            detail = (
                f"After {action} the rollout exceeds the horizon of {limits.horizon} low-level actions."
            )
            return finish(Outcome.HORIZON_EXCEEDED, detail)
        state = execution.state
        actions.append(action)
        states.append(state)
    return finish()


def follow(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Try to solve a task by executing the policy's actions, without noise, in the environment itself.

    `execute` runs an action in the environment. `rng` is not used; `follow` has this argument because it is
    called like `shoot`.
    """
    rollout = roll_out(policy, task, execute, _without_noise, limits)
    return rollout.result(SearchStatistics(samples=rollout.samples))


def _without_noise(state: State, proposed: GroundController) -> tuple[GroundController | None, int]:
    return (proposed if proposed.initiable(state) else None), 0


def shoot(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Plan for a task: simulate rollouts with noisy parameters, and return the first that reaches the goal.

    If a rollout fails before any parameters were drawn, planning stops, because all further rollouts would
    be the same. If time runs out, the result is the longest rollout, with the outcome `TIMEOUT`.
    """
    statistics = SearchStatistics()
    longest: Rollout | None = None
    while True:
        rollout = roll_out(policy, task, execute, partial(_with_noise, limits, rng), limits)
        statistics.samples += rollout.samples
        if longest is None or len(rollout.actions) > len(longest.actions):
            longest = rollout
        if rollout.failure is None or not rollout.samples:
            return rollout.result(statistics)
        if limits.expired():
            return _out_of_time(longest).result(statistics)


def _with_noise(
    limits: RolloutLimits, rng: np.random.Generator, state: State, proposed: GroundController
) -> tuple[GroundController | None, int]:
    controller = proposed.controller
    if not controller.dimension:
        return (proposed if proposed.initiable(state) else None), 0
    for draw in range(1, MAX_DRAWS + 1):
        action = replace(
            proposed, parameters=controller.clip(rng.normal(proposed.parameters, NOISE_DEVIATION).tolist())
        )
        if action.initiable(state):
            return action, draw
        if limits.expired():
            break
    return None, draw


def _out_of_time(longest: Rollout) -> Rollout:
    """Return the longest rollout, with a timeout as the reason for its failure."""
    assert longest.failure is not None
    if longest.failure.outcome is Outcome.TIMEOUT:
        return longest
    detail = f"Time ran out. Longest rollout: {longest.failure.detail}"
    return replace(longest, failure=replace(longest.failure, outcome=Outcome.TIMEOUT, detail=detail))
