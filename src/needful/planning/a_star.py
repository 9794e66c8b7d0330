"""A* that goes on: a stream of the cheapest abstract plans of a problem.

The plans are those of a tree search, which keeps all paths to a state and so explodes. Here a node is
set aside if its state was already expanded K times from paths no longer than its own. Each of those
continues to the goal as well as this one would, so K plans come before any that needs it. K is 1 for
the first plan, which then costs as much as plain A*, and rises by one with each plan asked for.

Heuristics are evaluated late: a child enters the queue with the bound that follows from its parent's
landmarks, and is evaluated only when it comes to the front.

Nodes are taken in the order of (f, h, random number, creation), and each draws its random number when
it is created, so a run can be repeated exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from needful.core.plans import Effort, Outcome
from needful.planning.budget import Budget
from needful.planning.ground_problem import GroundProblem
from needful.planning.lm_cut import LmCut
from needful.planning.search import Heuristic
from needful.planning.splitmix import splitmix64

# (f, h, random number, node): nodes are numbered in the order of their creation.
QueueEntry: TypeAlias = tuple[int, int, int, int]


class _Known(NamedTuple):
    """What is kept of a state's estimate: its value, how many landmarks, all operators in them."""

    value: int | None
    landmarks: int
    in_landmark: int


@dataclass(frozen=True, slots=True)
class AStar:
    """The search for abstract plans by A*, with LM-cut unless another heuristic is given.

    `heuristic` makes the heuristic for a problem.
    """

    heuristic: Callable[[GroundProblem], Heuristic] = LmCut

    def __call__(self, problem: GroundProblem, seed: int, budget: Budget, effort: Effort) -> AStarStream:
        """Start a search; `seed` alone breaks ties."""
        return AStarStream(problem, self.heuristic(problem), seed, budget, effort)


class AStarStream:
    """The plans of one search, cheapest first; see `PlanStream`."""

    def __init__(
        self, problem: GroundProblem, heuristic: Heuristic, seed: int, budget: Budget, effort: Effort
    ) -> None:
        self.ended: Outcome | None = None
        self._problem = problem
        self._heuristic = heuristic
        self._budget = budget
        self._effort = effort
        self._random = splitmix64(seed)
        # One entry a node.
        self._states: list[int] = []
        self._costs: list[int] = []
        self._parents: list[int] = []
        self._steps: list[int] = []
        # The costs of the paths from which each state was expanded, and its estimate.
        self._expansions: dict[int, list[int]] = {}
        self._estimates: dict[int, _Known] = {}
        self._expansion_limit = 0
        # States that differ only in atoms that nothing ever asks for count as one.
        self._asked_for = problem.goal
        for operator in problem.ground_operators:
            self._asked_for |= operator.preconditions
        self._queue: list[QueueEntry] = []
        self._parked: list[QueueEntry] = []
        self._create(problem.initial & self._asked_for, cost=0, bound=0, parent=-1, step=-1)

    def __iter__(self) -> AStarStream:
        return self

    def __next__(self) -> tuple[int, ...]:
        if self.ended is None:
            self._expansion_limit += 1
            for entry in self._parked:
                heapq.heappush(self._queue, entry)
            self._parked.clear()
            found = self._next_goal_node()
            if isinstance(found, int):
                return self._plan_to(found)
            self.ended = found
        raise StopIteration

    def _next_goal_node(self) -> int | Outcome:
        goal = self._problem.goal
        while self._queue:
            if self._budget.expired():
                return Outcome.TIMEOUT
            entry = heapq.heappop(self._queue)
            _, bound, tie, node = entry
            state, cost = self._states[node], self._costs[node]
            if state & goal == goal:
                return node
            if self._expanded_enough(state, cost):
                self._parked.append(entry)
                continue
            estimate = self._estimate(state)
            if estimate.value is None:
                continue
            if estimate.value > bound:
                heapq.heappush(self._queue, (cost + estimate.value, estimate.value, tie, node))
                continue
            if not self._budget.allows(self._effort.nodes_created):
                return Outcome.OUT_OF_NODES
            self._expand(node, bound, estimate)
        return Outcome.NO_ABSTRACT_PLAN

    def _expanded_enough(self, state: int, cost: int) -> bool:
        as_good = sum(earlier <= cost for earlier in self._expansions.get(state, ()))
        return as_good >= self._expansion_limit

    def _estimate(self, state: int) -> _Known:
        known = self._estimates.get(state)
        if known is None:
            estimate = self._heuristic(state, self._budget)
            # Landmarks are disjoint, so their sum is their union.
            known = self._estimates[state] = _Known(
                estimate.value, len(estimate.landmarks), sum(estimate.landmarks)
            )
            self._effort.nodes_evaluated += 1
        return known

    def _expand(self, node: int, bound: int, estimate: _Known) -> None:
        self._effort.nodes_expanded += 1
        state, cost = self._states[node], self._costs[node]
        self._expansions.setdefault(state, []).append(cost)
        masks = self._problem.pattern_masks
        for index, operator in enumerate(self._problem.ground_operators):
            if state & operator.preconditions != operator.preconditions:
                continue
            child = state & ~operator.deletes
            for pattern in operator.patterns:
                child &= ~masks[pattern]
            remaining = estimate.landmarks - (estimate.in_landmark >> index & 1)
            child = (child | operator.adds) & self._asked_for
            self._create(child, cost + 1, max(bound - 1, remaining, 0), node, index)

    def _create(self, state: int, cost: int, bound: int, parent: int, step: int) -> None:
        self._effort.nodes_created += 1
        node = len(self._states)
        self._states.append(state)
        self._costs.append(cost)
        self._parents.append(parent)
        self._steps.append(step)
        heapq.heappush(self._queue, (cost + bound, bound, next(self._random), node))

    def _plan_to(self, node: int) -> tuple[int, ...]:
        backwards = []
        while self._parents[node] >= 0:
            backwards.append(self._steps[node])
            node = self._parents[node]
        return tuple(reversed(backwards))
