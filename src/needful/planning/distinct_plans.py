"""Plans that differ in more than the order of steps that have nothing to do with each other.

The cheapest plans of a problem are often one set of steps in many orders. Where one of them cannot be
refined, the others mostly cannot either, so plans that are really different are tried first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

from needful.core.plans import Outcome
from needful.planning.grounding import Change, GroundProblem, change_of
from needful.planning.interfaces import PlanStream

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
    changes = [change_of(step, problem) for step in steps]
    # Of each place the places after it that must stay after it, and how many before it must stay before.
    followers: list[list[int]] = [[] for _ in steps]
    waiting_for = [0] * len(steps)
    for earlier, later in itertools.combinations(range(len(steps)), 2):
        if steps[earlier] == steps[later] or not _can_be_exchanged(changes[earlier], changes[later]):
            followers[earlier].append(later)
            waiting_for[later] += 1
    free = [(step, place) for place, step in enumerate(steps) if not waiting_for[place]]
    heapq.heapify(free)
    ordered = []
    while free:
        step, place = heapq.heappop(free)
        ordered.append(step)
        for later in followers[place]:
            waiting_for[later] -= 1
            if not waiting_for[later]:
                heapq.heappush(free, (steps[later], later))
    return tuple(ordered)


def independent(one: int, other: int, problem: GroundProblem) -> bool:
    """Return whether two ground operators can be exchanged wherever they are neighbours."""
    return one != other and _can_be_exchanged(change_of(one, problem), change_of(other, problem))


def revisits_a_state(steps: Sequence[int], problem: GroundProblem) -> bool:
    """Return whether a plan comes back to a state that it has been in."""
    state = problem.initial
    visited = {state}
    for step in steps:
        state = change_of(step, problem).after(state)
        if state in visited:
            return True
        visited.add(state)
    return False


def _can_be_exchanged(a: Change, b: Change) -> bool:
    return not (
        (a.adds | a.deletes) & b.needs
        or (b.adds | b.deletes) & a.needs
        or a.adds & b.deletes
        or b.adds & a.deletes
    )
