"""What a search and a heuristic look like from outside.

A search is an object that is passed in: `AStar`, `Greedy`, or a `Policy` of several. It is given a
compact problem and returns a stream of plans that is computed only as far as it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from needful.core.plans import Effort
from needful.planning.budget import Budget
from needful.planning.ground_problem import GroundProblem
from needful.planning.planner import PlanStream


class Search(Protocol):
    """Makes a stream of plans for a problem; the stream adds to the counters of `effort`."""

    def __call__(self, problem: GroundProblem, seed: int, budget: Budget, effort: Effort) -> PlanStream:
        """Start a search; `seed` alone breaks ties."""
        ...


@dataclass(frozen=True, slots=True)
class Estimate:
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

    def __call__(self, state: int, budget: Budget) -> Estimate:
        """Estimate a state; when time runs out, return a bound that holds but may be weak."""
        ...
