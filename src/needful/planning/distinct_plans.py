"""Plans that differ in more than the order of steps that have nothing to do with each other.

The cheapest plans of a problem are often one set of steps in many orders. Where one of them cannot be
refined, the others mostly cannot either, so plans that are really different are tried first.
"""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.plans import Outcome
from needful.planning.ground_problem import GroundProblem
from needful.planning.planner import PlanStream

# How many plans like earlier ones are put off in a row before one of them is accepted.
PATIENCE = 64


class DistinctPlans:
    """A stream of plans, in which those like earlier ones are put off; see `PlanStream`.

    Put off are plans that equal an earlier one up to exchanging neighbouring independent steps, and
    plans that come back to a state. None is lost: they follow once the others run out, or after
    `PATIENCE` of them in a row.
    """

    def __init__(self, plans: PlanStream, problem: GroundProblem) -> None:
        self._plans = plans
        self._problem = problem
        self._seen: set[tuple[int, ...]] = set()
        self._put_off: list[tuple[int, ...]] = []

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans; None while some that were put off are left."""
        return None if self._put_off else self._plans.ended

    def __iter__(self) -> DistinctPlans:
        return self

    def __next__(self) -> tuple[int, ...]:
        waited = 0
        while waited < PATIENCE or not self._put_off:
            steps = next(self._plans, None)
            if steps is None:
                break
            form = normal_form(steps, self._problem)
            if form not in self._seen and not revisits_a_state(steps, self._problem):
                self._seen.add(form)
                return steps
            self._put_off.append(steps)
            waited += 1
        if not self._put_off:
            raise StopIteration
        return self._put_off.pop(0)


def normal_form(steps: Sequence[int], problem: GroundProblem) -> tuple[int, ...]:
    """Return the least order of the steps that exchanging independent neighbours can lead to."""
    waiting = list(steps)
    ordered = []
    while waiting:
        free = [
            place
            for place, step in enumerate(waiting)
            if all(independent(earlier, step, problem) for earlier in waiting[:place])
        ]
        ordered.append(waiting.pop(min(free, key=waiting.__getitem__)))
    return tuple(ordered)


def independent(one: int, other: int, problem: GroundProblem) -> bool:
    """Return whether two ground operators can be exchanged wherever they are neighbours."""
    if one == other:
        return False
    a, b = problem.ground_operators[one], problem.ground_operators[other]
    a_deletes, b_deletes = _deleted(one, problem), _deleted(other, problem)
    return not (
        (a.adds | a_deletes) & b.preconditions
        or (b.adds | b_deletes) & a.preconditions
        or a.adds & b_deletes
        or b.adds & a_deletes
    )


def _deleted(step: int, problem: GroundProblem) -> int:
    operator = problem.ground_operators[step]
    mask = operator.deletes
    for pattern in operator.patterns:
        mask |= problem.pattern_masks[pattern]
    return mask & ~operator.adds


def revisits_a_state(steps: Sequence[int], problem: GroundProblem) -> bool:
    """Return whether a plan comes back to a state that it has been in."""
    state = problem.initial
    visited = {state}
    for step in steps:
        state = state & ~_deleted(step, problem) | problem.ground_operators[step].adds
        if state in visited:
            return True
        visited.add(state)
    return False
