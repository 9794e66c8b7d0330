"""What must hold after each step of an abstract plan while it is being refined.

Both choices below are interchangeable objects for `PlanningConfig.subgoals`. Each returns n + 1 sets of
atoms for a plan of n steps: what holds before the plan and after each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from needful.core.atoms import AbstractState
from needful.core.plans import AbstractPlan, necessary_atoms

Subgoals: TypeAlias = Callable[[AbstractPlan, AbstractState, AbstractState], tuple[AbstractState, ...]]


def necessary_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Ask only for what the rest of the plan needs: α_0..α_n."""
    return necessary_atoms(plan, goal)


def predicted_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Ask for all that the operators predict: ŝ_0 = s_0 and ŝ_i = F(ŝ_{i-1}, ω_i)."""
    states = [initial]
    for step in plan:
        states.append(step.apply(states[-1]))
    return tuple(states)
