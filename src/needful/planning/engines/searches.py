"""The searches of the Python engine: A* and lazy greedy best-first search.

Both yield a stream of abstract plans.

`AStar` yields the cheapest plans first. Each node stands for one path to a state. Expanding all paths (tree
search) would take exponential time. Let K be the number of plans requested so far. A node is postponed if
its state was already expanded for K other paths that cost no more. Any plan through the postponed node
could use one of these K paths instead and would cost no more, so the first K plans do not need the node.
For the first plan, K is 1, as in plain A*. When the next plan is requested, the postponed nodes return to
the queue.

Evaluation is deferred: the heuristic is computed when a node is first popped. Until then, the node has a
lower bound that is derived from its parent's estimate. The node with the lowest f = g + w·h is popped
first: g is the cost of the path, h the estimate and w the weight. Ties are broken by h, then by a random
number, then by the order of creation. A node gets its random number when it is created, so runs are
reproducible. With a weight above 1, plans are found sooner. They cost at most w times the optimum, and
superfluous steps are removed from them.

`Greedy` uses the FF heuristic and preferred operators. It ranks nodes only by the estimated cost to reach
the goal, so it often finds a plan where A* takes too long. A child enters the queue with its parent's
estimate, and is evaluated when it is popped. If a preferred operator leads to a child, the child also
enters a second queue. Nodes are popped from both queues in turn. Whenever an estimate is lower than all
earlier estimates, the second queue gets extra turns. After each plan, the search continues, and every state
may be expanded once more. Superfluous steps are removed from the plans.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError
from needful.planning.action_elimination import TrimmedPlans
from needful.planning.engines.search_space import SearchSpace, SearchStream
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import Ff, LmCut, RelaxedPlan
from needful.planning.interfaces import Heuristic, HeuristicEstimate, PlanStream

# An entry of the queue of A*: (f, h, random number, node number). Nodes are numbered in the order of their
# creation.
AStarEntry: TypeAlias = tuple[int, int, int, int]
# An entry of a queue of greedy search: (estimate of the parent, cost of the path, random number, node
# number). Among equal estimates, the cheaper path comes first, because this gives cheaper plans.
GreedyEntry: TypeAlias = tuple[int, int, int, int]

_ALL, _PREFERRED = 0, 1
# The number of extra turns for the queue of preferred operators when an estimate is the lowest so far.
_BOOST = 1000


class _CachedEstimate(NamedTuple):
    """The heuristic estimate of a state, stored so that bounds for its successors are cheap to compute.

    A landmark is a set of operators; each plan uses at least one of them. After a step, the landmarks that
    do not contain its operator remain landmarks. Their total cost is a lower bound for the successor.

    Attributes:
        value: a lower bound on the cost to reach the goal; None if the goal is unreachable.
        landmark_cost: the cost of all landmarks together.
        in_landmark: the operators that are in a landmark, as a bit mask. Used only if each landmark costs
            1; otherwise 0.
        savings: for each operator, the total cost of the landmarks that contain it. Used only if landmarks
            have other costs than 1; otherwise empty.
    """

    value: int | None
    landmark_cost: int
    in_landmark: int
    savings: Mapping[int, int]

    @classmethod
    def of(cls, estimate: HeuristicEstimate) -> _CachedEstimate:
        landmarks, costs = estimate.landmarks, estimate.landmark_costs
        if not costs:
            # Landmarks of cost 1 are disjoint bit masks, so their sum is their union.
            return cls(estimate.value, len(landmarks), sum(landmarks), {})
        savings: Counter[int] = Counter()
        for landmark, cost in zip(landmarks, costs, strict=True):
            savings.update(dict.fromkeys(bits(landmark), cost))
        return cls(estimate.value, sum(costs), 0, savings)


@dataclass(frozen=True, slots=True)
class AStar:
    """A* search for abstract plans, by default with LM-cut.

    Attributes:
        heuristic: builds the heuristic for a problem. If time runs out meanwhile, it may return an
            incomplete heuristic, because the search then ends without using it.
        weight: the factor of the estimate in f = g + weight·h; 1 gives the cheapest plans.
        symmetries: whether to merge states that differ only by swapping interchangeable objects.
    """

    heuristic: Callable[[GroundProblem, Budget], Heuristic] = LmCut
    weight: int = 1
    symmetries: bool = False

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise InvalidInputError(f"The weight of A* must be at least 1, got {self.weight}.")

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        """Start a search and return its stream of plans; ties are broken by `seed` alone."""
        space = SearchSpace(problem, self.symmetries, budget)
        plans = AStarStream(space, self.heuristic(problem, budget), self.weight, seed, budget, statistics)
        # With weight 1, superfluous steps are not removed. The cheapest plan has none, and later plans
        # without their superfluous steps would often equal earlier plans.
        return plans if self.weight == 1 else TrimmedPlans(plans, problem, budget)


class AStarStream(SearchStream):
    """The plans of one A* search, cheapest first; see `PlanStream`."""

    def __init__(
        self,
        space: SearchSpace,
        heuristic: Heuristic,
        weight: int,
        seed: int,
        budget: Budget,
        statistics: SearchStatistics,
    ) -> None:
        super().__init__(space, seed, budget, statistics)
        self._heuristic = heuristic
        self._weight = weight
        # For each state: the costs of the expanded paths to it, and its heuristic estimate.
        self._expansions: dict[int, list[int]] = {}
        self._estimates: dict[int, _CachedEstimate] = {}
        self._queue: list[AStarEntry] = []
        self._postponed: list[AStarEntry] = []
        self._enqueue(node=0, bound=0)

    def _resume_postponed(self) -> None:
        for entry in self._postponed:
            heapq.heappush(self._queue, entry)
        self._postponed.clear()

    def _next_goal_node(self) -> int | Outcome:
        while self._queue:
            if self._budget.expired():
                return Outcome.TIMEOUT
            entry = heapq.heappop(self._queue)
            _, bound, tie, node = entry
            state, cost = self._tree.state(node), self._tree.costs[node]
            if self._space.is_goal(state):
                return node
            if self._expanded_enough(state, cost):
                self._postponed.append(entry)
                continue
            estimate = self._estimate(state)
            if estimate.value is None:
                continue
            if estimate.value > bound:
                f = cost + self._weight * estimate.value
                heapq.heappush(self._queue, (f, estimate.value, tie, node))
                continue
            if not self._tree.may_grow(self._budget, self._statistics):
                return Outcome.OUT_OF_NODES
            self._expand(node, bound, estimate)
        # If the deadline interrupted the last expansion, an empty queue does not prove that no plan exists.
        return Outcome.TIMEOUT if self._budget.expired() else Outcome.NO_ABSTRACT_PLAN

    def _expanded_enough(self, state: int, cost: int) -> bool:
        as_good = sum(earlier <= cost for earlier in self._expansions.get(state, ()))
        return as_good >= self._expansion_limit

    def _estimate(self, state: int) -> _CachedEstimate:
        known = self._estimates.get(state)
        if known is None:
            known = self._estimates[state] = _CachedEstimate.of(self._heuristic(state, self._budget))
            self._statistics.nodes_evaluated += 1
        return known

    def _expand(self, node: int, bound: int, estimate: _CachedEstimate) -> None:
        self._statistics.nodes_expanded += 1
        state = self._tree.state(node)
        self._expansions.setdefault(state, []).append(self._tree.costs[node])
        _, landmark_cost, in_landmark, savings = estimate
        costs = self._space.costs
        for step in self._budget.until_deadline(self._space.applicable(state)):
            remaining = landmark_cost - (in_landmark >> step & 1)
            if savings:
                remaining -= savings.get(step, 0)
            self._enqueue(self._tree.add(node, step), max(bound - costs[step], remaining, 0))

    def _enqueue(self, node: int, bound: int) -> None:
        self._statistics.nodes_created += 1
        f = self._tree.costs[node] + self._weight * bound
        heapq.heappush(self._queue, (f, bound, next(self._random), node))


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
        self._queues: tuple[list[GreedyEntry], list[GreedyEntry]] = ([], [])
        self._turns = [0, 0]
        self._popped: set[int] = set()
        self._postponed: list[tuple[int, GreedyEntry]] = []
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
