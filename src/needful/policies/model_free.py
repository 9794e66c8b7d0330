"""Model-free: do what the policy says, once and for good, without a look ahead."""

from __future__ import annotations

import numpy as np

from needful.core.controllers import Execute, GroundController
from needful.core.plans import Effort, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.policies.graph_policy import GraphPolicy
from needful.policies.rollout import RolloutLimits, roll_out


def follow(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Solve a task by executing the mean of what the policy says; `execute` is the world itself.

    Nothing is drawn from `rng`: it is there because shooting needs it.
    """
    rollout = roll_out(policy, task, execute, _as_it_is, limits)
    return rollout.result(Effort(samples=rollout.samples))


def _as_it_is(state: State, wanted: GroundController) -> tuple[GroundController | None, int]:
    return (wanted if wanted.initiable(state) else None), 0
