"""Action elimination: leave out those steps of a plan that it works without (Nakhost and Müller 2010).

A search that hurries to the goal goes somewhere and then elsewhere. What it did for nothing costs
nothing in an abstract plan, but each step has to be refined, and may fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.plans import Outcome
from needful.planning.budget import Budget
from needful.planning.grounding import GroundProblem, OperatorMasks, operator_masks
from needful.planning.interfaces import PlanStream


class TrimmedPlans:
    """The plans of a stream without needless steps, none of them twice; see `PlanStream`.

    A plan of which no more remains than of an earlier one comes as it was found. None is lost: plans
    that had needless steps follow as they were found once the others run out.
    """

    def __init__(self, plans: PlanStream, problem: GroundProblem, budget: Budget) -> None:
        self._plans = plans
        self._problem = problem
        self._budget = budget
        self._seen: set[tuple[int, ...]] = set()
        self._deferred: list[tuple[int, ...]] = []

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans; None while some that were put off are left."""
        return None if self._deferred else self._plans.ended

    def __iter__(self) -> TrimmedPlans:
        return self

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
    """Return a plan without steps that it does not need, so that no step can be left out of the rest.

    When time runs out, the rest stays as it is.
    """
    kept = [(step, operator_masks(step, problem)) for step in steps]
    count = None
    # What was needed may no longer be when something else is left out.
    while len(kept) != count:
        count = len(kept)
        kept = _eliminate_once(kept, problem, budget)
    return tuple(step for step, _ in kept)


def _eliminate_once(
    steps: Sequence[tuple[int, OperatorMasks]], problem: GroundProblem, budget: Budget
) -> list[tuple[int, OperatorMasks]]:
    """Leave out one step after the other, and with it all later ones that cannot be applied then.

    If the goal is reached nevertheless, they stay out.
    """
    kept = list(steps)
    state, place = problem.initial, 0
    while place < len(kept) and not budget.expired():
        rest = _applicable(kept[place + 1 :], state, problem.goal)
        if rest is not None:
            kept[place:] = rest
        else:
            state = kept[place][1].after(state)
            place += 1
    return kept


def _applicable(
    steps: Sequence[tuple[int, OperatorMasks]], state: int, goal: int
) -> list[tuple[int, OperatorMasks]] | None:
    """Return the steps that can be applied from a state, in their order, if they reach the goal."""
    applied = []
    for step, change in steps:
        if not change.needs & ~state:
            applied.append((step, change))
            state = change.after(state)
    return None if goal & ~state else applied
