"""Follow a policy from a task's initial state until the goal holds or it fails.

Model-free: do what the policy says, once and for good, without a look ahead.

Shooting: roll the policy out in the simulator, with noise, until a rollout reaches the goal.
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

# Returns the action to take in a state for the one that a policy says, or None if it cannot start, and
# how many parameters were drawn for it.
Adjust: TypeAlias = Callable[[State, GroundController], tuple[GroundController | None, int]]


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """When to give up: after so many low-level actions, or when `expired` says that time is up."""

    horizon: int
    expired: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rollout:
    """What came of following a policy.

    Attributes:
        actions: what was done.
        states: the states before and after the actions.
        failure: why it ended before the goal was reached; None if it was.
        samples: how many parameters were drawn.
    """

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    failure: Failure | None
    samples: int

    def result(self, statistics: SearchStatistics) -> PlanningResult:
        """Return the rollout as the result of planning."""
        outcome = Outcome.SOLVED if self.failure is None else self.failure.outcome
        return PlanningResult(outcome, (), self.actions, self.states, (), self.failure, statistics)


def roll_out(
    policy: GraphPolicy, task: Task, execute: Execute, adjust: Adjust, limits: RolloutLimits
) -> Rollout:
    """Do what the policy says, adjusted, until the goal holds, an action fails or a limit is reached."""
    state, taken, samples = task.initial_state, 0, 0
    actions: list[GroundController] = []
    states = [state]

    def ended(outcome: Outcome | None = None, detail: str = "") -> Rollout:
        failure = None if outcome is None else Failure(len(actions), None, outcome, detail=detail)
        return Rollout(tuple(actions), tuple(states), failure, samples)

    while not task.achieved_in(state):
        if limits.expired():
            return ended(Outcome.TIMEOUT, "Time ran out before the next action was chosen.")
        wanted = policy.act(state, task.goal)
        if wanted is None:
            return ended(Outcome.NOT_INITIABLE, "No controller has objects of all the types it asks for.")
        action, draws = adjust(state, wanted)
        samples += draws
        if action is None:
            return ended(Outcome.NOT_INITIABLE, f"{wanted} cannot start in the state that was reached.")
        execution = execute(state, action)
        taken += execution.steps
        if execution.steps == 0:
            reason = execution.failure or "it took no step."
            return ended(Outcome.CONTROLLER_FAILED, f"{action} failed: {reason}")
        if taken > limits.horizon:
            detail = f"With {action} it takes more than {limits.horizon} low-level actions."
            return ended(Outcome.HORIZON_EXCEEDED, detail)
        state = execution.state
        actions.append(action)
        states.append(state)
    return ended()


def follow(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Solve a task by executing the mean of what the policy says; `execute` is the world itself.

    Nothing is drawn from `rng`: it is there because shooting needs it.
    """
    rollout = roll_out(policy, task, execute, _as_it_is, limits)
    return rollout.result(SearchStatistics(samples=rollout.samples))


def _as_it_is(state: State, wanted: GroundController) -> tuple[GroundController | None, int]:
    return (wanted if wanted.initiable(state) else None), 0


# The standard deviation of parameters around what the policy says.
DEVIATION = 0.1
# How often parameters are drawn for one action until the controller can start with them.
MAX_DRAWS = 100


def shoot(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Plan for a task: the first rollout that reaches the goal is the plan.

    A rollout in which nothing was drawn would be the same for ever, so it is the last one. Without a
    plan the result is that of the longest rollout.
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
    limits: RolloutLimits, rng: np.random.Generator, state: State, wanted: GroundController
) -> tuple[GroundController | None, int]:
    controller = wanted.controller
    if not controller.dimension:
        return (wanted if wanted.initiable(state) else None), 0
    for draw in range(1, MAX_DRAWS + 1):
        action = replace(
            wanted, parameters=controller.clip(rng.normal(wanted.parameters, DEVIATION).tolist())
        )
        if action.initiable(state):
            return action, draw
        if limits.expired():
            break
    return None, draw


def _out_of_time(longest: Rollout) -> Rollout:
    """Return the longest rollout with the deadline as the reason of its failure."""
    assert longest.failure is not None
    if longest.failure.outcome is Outcome.TIMEOUT:
        return longest
    detail = f"Time ran out. The longest rollout ended so: {longest.failure.detail}"
    return replace(longest, failure=replace(longest.failure, outcome=Outcome.TIMEOUT, detail=detail))
