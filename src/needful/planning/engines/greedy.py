"""Lazy greedy best-first search with the FF heuristic and preferred operators.

It ranks nodes only by the estimated cost to reach the goal, so it often finds a plan where A* takes too
long. A child enters the queue with its parent's estimate, and is evaluated when it is popped. If a
preferred operator leads to a child, the child also enters a second queue. Nodes are popped from both queues
in turn. Whenever an estimate is lower than all earlier estimates, the second queue gets extra turns.

After each plan, the search continues, and every state may be expanded once more. Superfluous steps are
removed from the plans.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.action_elimination import TrimmedPlans
from needful.planning.engines.search_space import SearchSpace, SearchStream
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import Ff, RelaxedPlan

# (estimate of the parent, cost of the path, random number, node number). Among equal estimates, the cheaper
# path comes first, because this gives cheaper plans.
QueueEntry: TypeAlias = tuple[int, int, int, int]

_ALL, _PREFERRED = 0, 1
# The number of extra turns for the queue of preferred operators when an estimate is the lowest so far.
_BOOST = 1000


@dataclass(frozen=True, slots=True)
class Greedy:
    """Lazy greedy best-first search.

    Attributes:
        symmetries: whether to merge states that differ only by swapping interchangeable objects.
    """

    symmetries: bool = False

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> TrimmedPlans:
        """Start a search and return its stream of plans; ties are broken by `seed` alone."""
        space = SearchSpace(problem, self.symmetries, budget)
        plans = GreedyStream(space, Ff(problem, budget), seed, budget, statistics)
        return TrimmedPlans(plans, problem, budget)


class GreedyStream(SearchStream):
    """The plans of one greedy search, in the order found; see `PlanStream`."""

    def __init__(
        self, space: SearchSpace, ff: Ff, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> None:
        super().__init__(space, seed, budget, statistics)
        self._ff = ff
        self._expansions: dict[int, int] = {}
        self._relaxed_plans: dict[int, RelaxedPlan | None] = {}
        self._best_estimate: int | None = None
        self._queues: tuple[list[QueueEntry], list[QueueEntry]] = ([], [])
        self._turns = [0, 0]
        self._popped: set[int] = set()
        self._postponed: list[tuple[int, QueueEntry]] = []
        self._enqueue(node=0, bound=0, preferred=False)

    def _resume_postponed(self) -> None:
        for queue, entry in self._postponed:
            heapq.heappush(self._queues[queue], entry)
            self._popped.discard(entry[-1])
        self._postponed.clear()

    def _next_goal_node(self) -> int | Outcome:
        while any(self._queues):
            if self._budget.expired():
                return Outcome.TIMEOUT
            queue = self._next_queue()
            entry = heapq.heappop(self._queues[queue])
            node = entry[-1]
            if node in self._popped:
                continue
            self._popped.add(node)
            state = self._tree.state(node)
            if self._space.is_goal(state):
                return node
            if self._expansions.get(state, 0) >= self._expansion_limit:
                self._postponed.append((queue, entry))
                continue
            relaxed_plan = self._relaxed_plan(state)
            if relaxed_plan is None:
                continue
            if not self._tree.may_grow(self._budget, self._statistics):
                return Outcome.OUT_OF_NODES
            self._expand(node, relaxed_plan)
        # If the deadline interrupted the last expansion, empty queues do not prove that no plan exists.
        return Outcome.TIMEOUT if self._budget.expired() else Outcome.NO_ABSTRACT_PLAN

    def _next_queue(self) -> int:
        waiting = [queue for queue in (_ALL, _PREFERRED) if self._queues[queue]]
        queue = min(waiting, key=self._turns.__getitem__)
        self._turns[queue] += 1
        return queue

    def _relaxed_plan(self, state: int) -> RelaxedPlan | None:
        if state not in self._relaxed_plans:
            found = self._relaxed_plans[state] = self._ff(state)
            self._statistics.nodes_evaluated += 1
            if found is not None and (self._best_estimate is None or found.cost < self._best_estimate):
                self._best_estimate = found.cost
                self._turns[_PREFERRED] -= _BOOST
        return self._relaxed_plans[state]

    def _expand(self, node: int, relaxed_plan: RelaxedPlan) -> None:
        self._statistics.nodes_expanded += 1
        state = self._tree.state(node)
        self._expansions[state] = self._expansions.get(state, 0) + 1
        for step in self._budget.until_deadline(self._space.applicable(state)):
            child = self._tree.add(node, step)
            self._enqueue(child, relaxed_plan.cost, step in relaxed_plan.preferred)

    def _enqueue(self, node: int, bound: int, preferred: bool) -> None:
        self._statistics.nodes_created += 1
        entry = (bound, self._tree.costs[node], next(self._random), node)
        heapq.heappush(self._queues[_ALL], entry)
        if preferred:
            heapq.heappush(self._queues[_PREFERRED], entry)
