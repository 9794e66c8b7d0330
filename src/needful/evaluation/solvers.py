"""What solves tasks: bilevel planning with a model, or acting by a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from needful.core.controllers import Execute
from needful.core.model import PlanningModel
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.budget import Budget
from needful.policies.catalogue import PolicyKind
from needful.policies.graph_policy import GraphPolicy
from needful.policies.rollout import RolloutLimits
from needful.seeding import rng_for

# Returns what came of a task for a seed.
Solver: TypeAlias = Callable[[Task, int], PlanningResult]


def bilevel_solver(model: PlanningModel, execute: Execute, config: PlanningConfig) -> Solver:
    """Return the solver that plans with a model, which must be bound to the domain's vocabulary."""
    return lambda task, seed: plan(task, model, execute, config, seed)


def not_learned(task: Task, seed: int) -> PlanningResult:
    """Solve nothing, because nothing was learned to solve it with."""
    return PlanningResult(Outcome.NOT_LEARNED)


def policy_solver(
    kind: PolicyKind, policy: GraphPolicy, execute: Execute, config: PlanningConfig
) -> Solver:
    """Return the solver that acts by a policy, which must be bound to the domain's vocabulary.

    Of the configuration only the timeout and the horizon matter.
    """

    def solve(task: Task, seed: int) -> PlanningResult:
        limits = RolloutLimits(config.horizon, Budget.seconds(config.timeout).expired)
        return kind.solve(policy, task, execute, limits, rng_for(seed, "policy"))

    return solve
