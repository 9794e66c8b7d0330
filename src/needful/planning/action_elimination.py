"""Action elimination: remove the steps that a plan does not need (Nakhost and Müller 2010).

Greedy and weighted searches find plans with detours. A superfluous step costs little in an abstract plan,
but it must be refined, and refinement may fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from needful.core.limits import Budget
from needful.core.plans import Outcome
from needful.planning.grounding import GroundProblem, OperatorMasks, operator_masks
from needful.planning.interfaces import PlanStream


class DeferringStream:
    """Base class of plan streams that return the plans of another stream, but some of them later."""

    def __init__(self, plans: PlanStream, problem: GroundProblem) -> None:
        self._plans = plans
        self._problem = problem
        self._seen: set[tuple[int, ...]] = set()
        self._deferred: list[tuple[int, ...]] = []

    @property
    def end_reason(self) -> Outcome | None:
        """The reason why there are no more plans; None while deferred plans remain to be returned."""
        return None if self._deferred else self._plans.end_reason

    def __iter__(self) -> Self:
        return self


class TrimmedPlans(DeferringStream):
    """The plans of another stream without their superfluous steps. No plan is returned twice.

    If two plans become equal without their superfluous steps, the second one is returned unchanged. After
    the last plan of the other stream, the original versions of the shortened plans follow.
    """

    def __init__(self, plans: PlanStream, problem: GroundProblem, budget: Budget) -> None:
        super().__init__(plans, problem)
        self._budget = budget

    def __next__(self) -> tuple[int, ...]:
        for steps in self._plans:
            trimmed = eliminate_actions(steps, self._problem, self._budget)
            if trimmed != steps and self._is_new(trimmed):
                self._deferred.append(steps)
                return trimmed
            if self._is_new(steps):
                return steps
        while self._deferred:
            steps = self._deferred.pop(0)
            if self._is_new(steps):
                return steps
        raise StopIteration

    def _is_new(self, steps: tuple[int, ...]) -> bool:
        known = steps in self._seen
        self._seen.add(steps)
        return not known


def eliminate_actions(steps: Sequence[int], problem: GroundProblem, budget: Budget) -> tuple[int, ...]:
    """Return the steps of a plan without the superfluous ones.

    A step is superfluous if the goal is still reached without it and without the later steps that need it.

    If time runs out, the steps that were not examined are kept.
    """
    kept = [(step, operator_masks(step, problem)) for step in steps]
    count = None
    # Removing a step can make earlier steps superfluous, so repeat until nothing changes.
    while len(kept) != count:
        count = len(kept)
        kept = _eliminate_once(kept, problem, budget)
    return tuple(step for step, _ in kept)


def _eliminate_once(
    steps: Sequence[tuple[int, OperatorMasks]], problem: GroundProblem, budget: Budget
) -> list[tuple[int, OperatorMasks]]:
    """Examine each step once, in order, and return the steps that are kept.

    A step is removed, together with all later steps that become inapplicable, if the other steps still
    reach the goal.
    """
    kept = list(steps)
    state, index = problem.initial, 0
    while index < len(kept) and not budget.expired():
        rest = _applicable(kept[index + 1 :], state, problem.goal)
        if rest is not None:
            kept[index:] = rest
        else:
            state = kept[index][1].apply(state)
            index += 1
    return kept


def _applicable(
    steps: Sequence[tuple[int, OperatorMasks]], state: int, goal: int
) -> list[tuple[int, OperatorMasks]] | None:
    """Apply steps in order from a state and skip inapplicable ones.

    Returns the applied steps, or None if they do not reach the goal.
    """
    applied = []
    for step, masks in steps:
        if masks.applicable(state):
            applied.append((step, masks))
            state = masks.apply(state)
    return None if goal & ~state else applied
