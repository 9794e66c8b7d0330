"""The settings of planning, and the subgoals that the steps of a plan must reach."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from needful.core.atoms import AbstractState
from needful.core.plans import AbstractPlan, necessary_atoms
from needful.errors import check_at_least, check_seconds
from needful.planning.budget import Clock
from needful.planning.interfaces import Planner
from needful.planning.planners import default_planner

# A function that takes an abstract plan, the initial abstract state and the goal. It returns the plan's
# subgoals: the atoms that must hold before the plan, and for each step the atoms that must hold after it.
Subgoals: TypeAlias = Callable[[AbstractPlan, AbstractState, AbstractState], tuple[AbstractState, ...]]


def necessary_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Return the subgoals of a plan: the atoms that the remaining steps and the goal need.

    The first set of atoms must hold before the plan; each further set must hold after one step.
    """
    return necessary_atoms(plan, goal)


def predicted_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Return the subgoals of a plan: the initial atoms, then all atoms predicted after each step."""
    states = [initial]
    for step in plan:
        states.append(step.apply(states[-1]))
    return tuple(states)


@dataclass(frozen=True, slots=True)
class PlanningConfig:
    """The settings of `plan`.

    Attributes:
        timeout: seconds per task, for grounding, search and refinement together.
        max_abstract_plans: the maximum number of abstract plans to refine; with 1, a failed refinement ends
            planning. If the maximum is above 1 and planning is adaptive, a plan does not count if the
            simulator names new objects that made it fail (see `EnvironmentFailure`). New plans deal with
            these objects first. Plans that `adaptive` planning adds because initial atoms may be wrong do
            not count, either.
        samples_per_step: how many times to try a step with continuous parameters.
        horizon: the maximum number of low-level actions in a plan. With None, solvers and demonstrators use
            the `horizon` of their environment, and `plan` has no limit.
        max_nodes: how many search nodes may be created per task, or None for no limit.
        max_ground_operators: how many ground operators a problem may have, or None for no limit.
        allow_noops: whether to plan with operators that have no effects, and with operators whose only
            effects are quantified deletes.
        subgoals: computes the atoms that must hold after each step: `necessary_subgoals` or
            `predicted_subgoals`.
        planner: finds the abstract plans; see `make_planner`.
        adaptive: whether planning adapts to failed refinements. If so, plans are refined in rounds, ground
            operators that miss their subgoals cost more in later searches, and parameters that failed are
            changed (see `RefinementLimits.perturb`). If a step fails although its preconditions hold
            initially, every other plan makes one of them true again. If planning is not adaptive, each plan
            is refined to the end before the next one, as in the paper.
        clock: the clock of the timeout. `time.thread_time` measures CPU time, which does not depend on
            other programs on the machine; it requires a planner that runs in this process.
    """

    timeout: float = 10.0
    max_abstract_plans: int = 8
    samples_per_step: int = 10
    horizon: int | None = None
    max_nodes: int | None = 20_000_000
    max_ground_operators: int | None = 2_500_000
    allow_noops: bool = True
    subgoals: Subgoals = necessary_subgoals
    planner: Planner = field(default_factory=default_planner)
    adaptive: bool = True
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        check_seconds(timeout=self.timeout)
        check_at_least(
            1,
            max_abstract_plans=self.max_abstract_plans,
            samples_per_step=self.samples_per_step,
            horizon=self.horizon,
            max_nodes=self.max_nodes,
            max_ground_operators=self.max_ground_operators,
        )

    @property
    def action_limit(self) -> int:
        """The horizon, or the largest integer if there is none."""
        return sys.maxsize if self.horizon is None else self.horizon

    def with_horizon(self, horizon: int) -> PlanningConfig:
        """Return these settings with the given horizon, unless they have one."""
        return replace(self, horizon=horizon) if self.horizon is None else self
