"""Several searches in a row: the best plans if they can be had, and some plan in any case.

Optimal search alone finds nothing at all on tasks that are a little too large for it. A policy lets
it work for a while, then goes on to a search that promises less. How long is counted in nodes, not in
seconds, so the same plans come on a slow machine as on a fast one.

Plans that differ in more than the order of steps that have nothing to do with each other.

The cheapest plans of a problem are often one set of steps in many orders. Where one of them cannot be
refined, the others mostly cannot either, so plans that are really different are tried first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError
from needful.planning.budget import Budget
from needful.planning.engines.a_star import AStar
from needful.planning.engines.greedy import Greedy
from needful.planning.grounding import GroundProblem, OperatorMasks, operator_masks
from needful.planning.interfaces import PlanStream, Search

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
        self._deferred: list[tuple[int, ...]] = []

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans; None while some that were put off are left."""
        return None if self._deferred else self._plans.ended

    def __iter__(self) -> DistinctPlans:
        return self

    def __next__(self) -> tuple[int, ...]:
        waited = 0
        while waited < PATIENCE or not self._deferred:
            steps = next(self._plans, None)
            if steps is None:
                break
            form = normal_form(steps, self._problem)
            if form not in self._seen and not revisits_a_state(steps, self._problem):
                self._seen.add(form)
                return steps
            self._deferred.append(steps)
            waited += 1
        if not self._deferred:
            raise StopIteration
        return self._deferred.pop(0)


def normal_form(steps: Sequence[int], problem: GroundProblem) -> tuple[int, ...]:
    """Return the least order of the steps that exchanging independent neighbours can lead to."""
    changes = [operator_masks(step, problem) for step in steps]
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
    return one != other and _can_be_exchanged(operator_masks(one, problem), operator_masks(other, problem))


def revisits_a_state(steps: Sequence[int], problem: GroundProblem) -> bool:
    """Return whether a plan comes back to a state that it has been in."""
    state = problem.initial
    visited = {state}
    for step in steps:
        state = operator_masks(step, problem).after(state)
        if state in visited:
            return True
        visited.add(state)
    return False


def _can_be_exchanged(a: OperatorMasks, b: OperatorMasks) -> bool:
    return not (
        (a.adds | a.deletes) & b.needs
        or (b.adds | b.deletes) & a.needs
        or a.adds & b.deletes
        or b.adds & a.deletes
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """One search of a policy.

    Attributes:
        search: the search.
        work: how many nodes may be created, each counted once for every ground operator, before the
            next stage begins. None if the stage may take all that is left.
    """

    search: Search
    work: int | None = None

    def __post_init__(self) -> None:
        if self.work is not None and self.work < 1:
            raise InvalidInputError(f"A stage needs work of at least 1, got {self.work}. Use None for all.")

    def budget(self, left: Budget, nodes_created: int, ground_operators: int) -> Budget:
        """Return the part of a budget that the stage may spend."""
        if self.work is None:
            return left
        most = nodes_created + max(1, self.work // max(1, ground_operators))
        return replace(left, max_nodes=most if left.max_nodes is None else min(most, left.max_nodes))


@dataclass(frozen=True, slots=True)
class Policy:
    """Searches that follow each other; itself a search.

    Attributes:
        stages: the searches, most ambitious first.
        distinct: whether plans like earlier ones are put off; see `DistinctPlans`.
    """

    stages: tuple[Stage, ...]
    distinct: bool = False

    def __post_init__(self) -> None:
        if not self.stages:
            raise InvalidInputError("A policy needs at least one stage.")

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        """Start the first search; `seed` alone breaks ties."""
        plans = StagedPlans(self.stages, problem, seed, budget, statistics)
        return DistinctPlans(plans, problem) if self.distinct else plans


class StagedPlans:
    """The plans of one stage after the other, none of them twice; see `PlanStream`."""

    def __init__(
        self,
        stages: tuple[Stage, ...],
        problem: GroundProblem,
        seed: int,
        budget: Budget,
        statistics: SearchStatistics,
    ) -> None:
        self._stages = list(stages)
        self._problem = problem
        self._seed = seed
        self._budget = budget
        self._statistics = statistics
        self._seen: set[tuple[int, ...]] = set()
        self._current = self._start_next_stage()

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans, if there are none."""
        return self._current.ended

    def __iter__(self) -> StagedPlans:
        return self

    def __next__(self) -> tuple[int, ...]:
        while True:
            steps = next(self._current, None)
            if steps is not None:
                if steps not in self._seen:
                    self._seen.add(steps)
                    return steps
            elif self._may_start_next_stage():
                self._current = self._start_next_stage()
            else:
                raise StopIteration

    def _may_start_next_stage(self) -> bool:
        return (
            bool(self._stages)
            and self._current.ended is Outcome.OUT_OF_NODES
            and self._budget.allows(self._statistics.nodes_created)
        )

    def _start_next_stage(self) -> PlanStream:
        stage = self._stages.pop(0)
        budget = stage.budget(
            self._budget, self._statistics.nodes_created, len(self._problem.ground_operators)
        )
        return stage.search(self._problem, self._seed, budget, self._statistics)


def paper_portfolio() -> Policy:
    """Return the paper's search: A* with LM-cut and nothing else."""
    return Policy((Stage(AStar()),))


def greedy_portfolio() -> Policy:
    """Return the search for some plan as soon as possible."""
    return Policy((Stage(Greedy(symmetries=True)),), distinct=True)


def anytime_portfolio() -> Policy:
    """Return A* with LM-cut, then with weight 2, then greedy search; really different plans first."""
    return Policy(
        (
            Stage(AStar(symmetries=True), work=20_000_000),
            Stage(AStar(weight=2, symmetries=True), work=5_000_000),
            Stage(Greedy(symmetries=True)),
        ),
        distinct=True,
    )
