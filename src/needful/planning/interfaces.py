"""Interfaces of planners, searches and heuristics.

A planner grounds a task and returns a `Problem`, which starts searches. The Python engine's searches
(`AStar`, `Greedy`, or a `Portfolio` of several) work on a `GroundProblem`. Every search returns a lazy
stream of plans. Planners, searches and heuristics are passed as arguments, so you can use your own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from needful.core.limits import Budget
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, Outcome, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.planning.costs import OperatorCosts
from needful.planning.grounding import GroundProblem


class PlanStream(Protocol):
    """An iterator over the plans of one problem, each as the indices of its ground operators."""

    @property
    def end_reason(self) -> Outcome | None:
        """Why there are no more plans.

        `NO_ABSTRACT_PLAN` if the search proved that there are no more, `TIMEOUT` or `OUT_OF_NODES` if the
        budget is exhausted. None while the stream may continue, and after its end if it is unknown
        whether more plans exist.
        """
        ...

    def __iter__(self) -> PlanStream: ...

    def __next__(self) -> tuple[int, ...]: ...


class Problem(Protocol):
    """A grounded abstract planning problem."""

    @property
    def failures(self) -> tuple[tuple[int, int], ...]:
        """The failures discovered so far in simulation.

        Each is a pair: the index of the ground operator that failed, and the index of the object that made
        it fail. The second index is -1 if wrong initial atoms may have made it fail instead of an object;
        see `with_distrusted_start`.
        """
        ...

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal is reachable if delete effects are ignored; if not, there is no plan."""
        ...

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps are the ground operators with the given indices."""
        ...

    def with_failure(self, step: int, offending: Iterable[Object]) -> Problem:
        """Return a problem in which a plan must deal with each offending object before it uses `step`.

        `step` is the index of a ground operator. Offending objects are the objects that made it fail in
        simulation, such as a closed lid. An operator deals with an object if it changes an atom of it; see
        `deals_with`. If all these failures are known already, the problem itself is returned.
        """
        ...

    def with_distrusted_start(self, step: int) -> Problem:
        """Return a problem in which a ground operator must not rely on initial atoms.

        `step` is the index of the ground operator. It failed although preconditions of it hold initially,
        so these initial atoms may be wrong. A plan may use it only after an earlier step that has one of
        these preconditions as an add effect, or after any step if no operator adds any of them. If
        the problem already has this restriction for the ground operator, the problem itself is returned.
        """
        ...

    def with_costs(self, costs: OperatorCosts, tried: Sequence[tuple[int, ...]] = ()) -> Problem:
        """Return a problem with the given costs of ground operators; all other costs are 1.

        The given costs replace those of this problem. `tried` are the plans that were tried already, as
        indices of ground operators. Searches of the new problem do not return them again.
        """
        ...

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> PlanStream:
        """Start a search and return its stream of plans.

        The search adds to the counters of `statistics`. Ties are broken by `seed` alone.
        """
        ...


class Planner(Protocol):
    """Grounds a task and its operators."""

    def __call__(self, operators: Sequence[Operator], task: AbstractTask, budget: Budget) -> Problem | None:
        """Return the grounded problem, or None if time ran out or the problem is too large."""
        ...


class Search(Protocol):
    """Searches a ground problem in Python."""

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        """Start a search and return its stream of plans.

        The search adds to the counters of `statistics`. Ties are broken by `seed` alone.
        """
        ...


@dataclass(frozen=True, slots=True)
class HeuristicEstimate:
    """The value of a heuristic in one state.

    Attributes:
        value: a lower bound on the cost to reach the goal; None if the goal is unreachable.
        landmarks: sets of ground operators, as bit masks of their indices. Every plan from the state uses
            at least one operator of each set. A set remains a landmark after a step that is not in the set.
        landmark_costs: the cost of each landmark. The costs add up to at most `value`. For each operator,
            the costs of the landmarks that contain it add up to at most the operator's cost. If
            `landmark_costs` is empty, each landmark costs 1, and the landmarks must be disjoint.
    """

    value: int | None
    landmarks: tuple[int, ...] = ()
    landmark_costs: tuple[int, ...] = ()


class Heuristic(Protocol):
    """Estimates the cost to reach the goal from a state, for the problem that it was built for."""

    def __call__(self, state: int, budget: Budget) -> HeuristicEstimate:
        """Estimate a state; if time runs out, return a valid lower bound that may be weak."""
        ...
