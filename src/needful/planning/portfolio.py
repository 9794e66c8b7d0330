"""Portfolios: several searches in sequence, and a filter that defers similar plans.

Optimal search finds no plan at all for tasks that are slightly too large for it. A portfolio therefore
limits each search. When the limit is reached, the portfolio starts the next search, which is faster but
may find longer plans. The limits count search nodes, not seconds, so the plans do not depend on the speed
of the machine.

The cheapest plans of a problem often have the same steps in different orders. If one of them cannot be
refined, most of the others cannot be refined either. `DistinctPlans` therefore returns one of them and
defers the others.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError
from needful.planning.action_elimination import DeferringStream
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.grounding import GroundProblem, OperatorMasks, operator_masks
from needful.planning.interfaces import PlanStream, Search

# After deferring this many plans in a row, `DistinctPlans` returns the oldest deferred plan.
MAX_CONSECUTIVE_DEFERRED = 64


@dataclass(frozen=True, slots=True)
class Stage:
    """One search of a portfolio.

    Attributes:
        search: the search.
        max_work: when the number of created nodes times the number of ground operators reaches this limit,
            the next stage starts. With None, only the budget limits the search.
    """

    search: Search
    max_work: int | None = None

    def __post_init__(self) -> None:
        if self.max_work is not None and self.max_work < 1:
            raise InvalidInputError(
                f"max_work of a stage must be at least 1, got {self.max_work}. Use None for no limit."
            )

    def budget(self, left: Budget, nodes_created: int, ground_operators: int) -> Budget:
        """Return the budget of this stage: `left`, the portfolio's budget, also limited by `max_work`.

        The stage may create about `max_work` / `ground_operators` nodes, unless `left` allows fewer. As
        `Budget.max_nodes` limits all stages together, the returned limit also includes `nodes_created`, the
        number of nodes that earlier stages created. If `max_work` is None, return `left`.
        """
        if self.max_work is None:
            return left
        max_nodes = nodes_created + max(1, self.max_work // max(1, ground_operators))
        return replace(
            left, max_nodes=max_nodes if left.max_nodes is None else min(max_nodes, left.max_nodes)
        )


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Searches that run in sequence; a portfolio is itself a search.

    Attributes:
        stages: the searches and their limits, in the order in which they run.
        distinct: whether to defer plans that are similar to earlier ones; see `DistinctPlans`.
    """

    stages: tuple[Stage, ...]
    distinct: bool = False

    def __post_init__(self) -> None:
        if not self.stages:
            raise InvalidInputError("A portfolio needs at least one stage, for example Stage(AStar()).")

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        """Start the first search and return the stream of the plans of all searches.

        `seed` decides how the searches break ties.
        """
        plans = StagedPlans(self.stages, problem, seed, budget, statistics)
        return DistinctPlans(plans, problem) if self.distinct else plans


def paper_portfolio() -> Portfolio:
    """Return the portfolio of the paper: only one search, A* with the LM-cut heuristic."""
    return Portfolio((Stage(AStar()),))


def greedy_portfolio() -> Portfolio:
    """Return a portfolio of one greedy search, which finds a plan quickly; similar plans are deferred."""
    return Portfolio((Stage(Greedy(symmetries=True)),), distinct=True)


def anytime_portfolio() -> Portfolio:
    """Return a portfolio: A* with LM-cut, then A* with weight 2, then greedy search.

    Similar plans are deferred.
    """
    return Portfolio(
        (
            Stage(AStar(symmetries=True), max_work=20_000_000),
            Stage(AStar(weight=2, symmetries=True), max_work=5_000_000),
            Stage(Greedy(symmetries=True)),
        ),
        distinct=True,
    )


class StagedPlans:
    """The plans of the searches of a portfolio in sequence; see `PlanStream`.

    No plan is returned twice, and none of the plans in `GroundProblem.tried`.
    """

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
        self._seen: set[tuple[int, ...]] = set(problem.tried)
        self._current = self._start_next_stage()

    @property
    def end_reason(self) -> Outcome | None:
        """Why there are no more plans; see `PlanStream`."""
        return self._current.end_reason

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
            and self._current.end_reason is Outcome.OUT_OF_NODES
            and self._budget.allows(self._statistics.nodes_created)
        )

    def _start_next_stage(self) -> PlanStream:
        stage = self._stages.pop(0)
        budget = stage.budget(
            self._budget, self._statistics.nodes_created, len(self._problem.ground_operators)
        )
        return stage.search(self._problem, self._seed, budget, self._statistics)


class DistinctPlans(DeferringStream):
    """The plans of a stream; plans that are similar to earlier ones are deferred.

    A plan is deferred if swapping neighbouring independent steps turns it into an earlier plan, or if it
    revisits a state. No plan is lost: deferred plans are returned after the stream ends. In addition, the
    oldest deferred plan is returned whenever `MAX_CONSECUTIVE_DEFERRED` plans in a row were deferred.
    Plans that were tried in an earlier search count as earlier plans.
    """

    def __init__(self, plans: PlanStream, problem: GroundProblem) -> None:
        super().__init__(plans, problem)
        self._seen.update(normal_form(steps, problem) for steps in problem.tried)

    def __next__(self) -> tuple[int, ...]:
        deferred_in_a_row = 0
        while deferred_in_a_row < MAX_CONSECUTIVE_DEFERRED or not self._deferred:
            steps = next(self._plans, None)
            if steps is None:
                break
            form = normal_form(steps, self._problem)
            if form not in self._seen and not revisits_a_state(steps, self._problem):
                self._seen.add(form)
                return steps
            self._deferred.append(steps)
            deferred_in_a_row += 1
        if not self._deferred:
            raise StopIteration
        return self._deferred.pop(0)


def normal_form(steps: Sequence[int], problem: GroundProblem) -> tuple[int, ...]:
    """Return a canonical order of the steps of a plan.

    Two plans are equivalent if swaps of neighbouring independent steps turn one into the other. Equivalent
    plans have the same canonical order: the lexicographically smallest of all equivalent plans.
    """
    masks = [operator_masks(step, problem) for step in steps]
    # For each step: the later steps that depend on it, and the number of earlier steps it depends on.
    followers: list[list[int]] = [[] for _ in steps]
    waiting_for = [0] * len(steps)
    for earlier, later in itertools.combinations(range(len(steps)), 2):
        if steps[earlier] == steps[later] or not _commute(masks[earlier], masks[later]):
            followers[earlier].append(later)
            waiting_for[later] += 1
    free = [(step, index) for index, step in enumerate(steps) if not waiting_for[index]]
    heapq.heapify(free)
    ordered = []
    while free:
        step, index = heapq.heappop(free)
        ordered.append(step)
        for later in followers[index]:
            waiting_for[later] -= 1
            if not waiting_for[later]:
                heapq.heappush(free, (steps[later], later))
    return tuple(ordered)


def independent(one: int, other: int, problem: GroundProblem) -> bool:
    """Return whether two successive steps, the ground operators `one` and `other`, can be swapped.

    After the swap, the plan must still be applicable and lead to the same state. Returns False for equal
    operators, because their swap changes nothing.
    """
    return one != other and _commute(operator_masks(one, problem), operator_masks(other, problem))


def revisits_a_state(steps: Sequence[int], problem: GroundProblem) -> bool:
    """Return whether a plan visits a state twice."""
    state = problem.initial
    visited = {state}
    for step in steps:
        state = operator_masks(step, problem).apply(state)
        if state in visited:
            return True
        visited.add(state)
    return False


def _commute(a: OperatorMasks, b: OperatorMasks) -> bool:
    return not (
        (a.adds | a.deletes) & (b.preconditions | b.negative_preconditions)
        or (b.adds | b.deletes) & (a.preconditions | a.negative_preconditions)
        or a.adds & b.deletes
        or b.adds & a.deletes
    )
