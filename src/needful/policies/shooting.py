"""Shooting: roll the policy out in the simulator, with noise, until a rollout reaches the goal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from needful.core.controllers import Execute, GroundController
from needful.core.plans import Effort, Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.policies.graph_policy import GraphPolicy
from needful.policies.rollout import Rollout, RolloutLimits, roll_out

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
    effort = Effort()
    longest: Rollout | None = None
    while True:
        rollout = roll_out(policy, task, execute, partial(_with_noise, limits, rng), limits)
        effort.samples += rollout.samples
        if longest is None or len(rollout.actions) > len(longest.actions):
            longest = rollout
        if rollout.failure is None or not rollout.samples:
            return rollout.result(effort)
        if limits.expired():
            return _out_of_time(longest).result(effort)


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
