"""What a search and a heuristic look like from outside.

A search is an object that is passed in: `AStar`, `Greedy`, or a `Policy` of several. It is given a
compact problem and returns a stream of plans that is computed only as far as it is read.

What finds abstract plans, seen from outside.

A planner is an object that is passed in. It turns a task and its operators into a problem of its own
making, and the problem gives a stream of plans that is computed only as far as it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from needful.core.atoms import AbstractState
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, Outcome, SearchStatistics
from needful.planning.budget import Budget
from needful.planning.grounding import GroundProblem


class PlanStream(Protocol):
    """Plans for one problem, each as the indices of its ground operators."""

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans.

        `NO_ABSTRACT_PLAN` if it is proved that there are none, `TIMEOUT` or `OUT_OF_NODES` if the
        budget is spent. None as long as the stream may go on, and if it cannot but nobody knows
        whether there are more.
        """
        ...

    def __iter__(self) -> PlanStream: ...

    def __next__(self) -> tuple[int, ...]: ...


class Problem(Protocol):
    """An abstract planning problem that has been grounded."""

    @property
    def failures(self) -> tuple[tuple[int, int], ...]:
        """The discovered failures so far: (ground operator, object number)."""
        ...

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal can be reached if nothing is ever deleted; if not, there is no plan."""
        ...

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps have the given indices."""
        ...

    def with_failure(self, step: int, offending: Iterable[Object]) -> Problem:
        """Return the problem in which a ground operator needs the offending objects dealt with first.

        Returns the problem itself if all of that is known already.
        """
        ...

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> PlanStream:
        """Start a search; `seed` alone breaks ties, and the counters of `statistics` rise with the work."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a planner.

    Attributes:
        operators: the lifted operators.
        objects: the objects of the task.
        initial: the atoms that hold at the start.
        goal: the atoms that must hold in the end.
        allow_noops: whether to plan with operators that have neither add nor atomic delete effects.
    """

    operators: Sequence[Operator]
    objects: Iterable[Object]
    initial: AbstractState
    goal: AbstractState
    allow_noops: bool = True


class Planner(Protocol):
    """Grounds a task and its operators."""

    def __call__(self, question: Question, budget: Budget) -> Problem | None:
        """Return the grounded problem, or None if time ran out or it is too large."""
        ...


class Search(Protocol):
    """Makes a stream of plans for a problem; the stream adds to the counters of `statistics`."""

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        """Start a search; `seed` alone breaks ties."""
        ...


@dataclass(frozen=True, slots=True)
class HeuristicEstimate:
    """What a heuristic says of a state.

    Attributes:
        value: a lower bound on the cost to reach the goal; None if it cannot be reached.
        landmarks: at most `value` disjoint sets of ground operators, as masks over their indices.
            Every plan from the state uses an operator of each, so all remain after a step in none.
    """

    value: int | None
    landmarks: tuple[int, ...] = ()


class Heuristic(Protocol):
    """Estimates states of the problem that it was made for."""

    def __call__(self, state: int, budget: Budget) -> HeuristicEstimate:
        """HeuristicEstimate a state; when time runs out, return a bound that holds but may be weak."""
        ...
