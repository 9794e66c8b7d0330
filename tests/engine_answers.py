"""The answers of the two search engines, side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import planning_problems
from needful.core.limits import Budget
from needful.core.objects import Object
from needful.core.plans import AbstractPlan, Outcome, SearchStatistics
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Problem
from needful.planning.portfolio import Portfolio


@dataclass(frozen=True)
class Answers:
    """Everything that a search returns."""

    steps: list[tuple[int, ...]]
    plans: list[AbstractPlan]
    end_reason: Outcome | None
    statistics: SearchStatistics


def answers(problem: Problem, seed: int, max_nodes: int | None, count: int) -> Answers:
    """Search; the counters start at multiples of `seed`."""
    statistics = SearchStatistics(nodes_created=seed, nodes_expanded=2 * seed, nodes_evaluated=3 * seed)
    budget = Budget(math.inf, None if max_nodes is None else seed + max_nodes)
    stream = problem.plans(seed, budget, statistics)
    steps = list(itertools.islice(stream, count))
    return Answers(steps, [problem.plan(one) for one in steps], stream.end_reason, statistics)


@dataclass(frozen=True)
class Both:
    """A problem grounded by both engines."""

    python: Problem
    native: Problem

    @classmethod
    def of(cls, problem: planning_problems.Problem, portfolio: Portfolio) -> Both:
        python = problem.given_to(PythonPlanner(portfolio))
        native = problem.given_to(NativePlanner(portfolio))
        assert python is not None
        assert native is not None
        return cls(python, native)

    @property
    def goal_reachable(self) -> bool:
        assert self.native.goal_reachable is self.python.goal_reachable
        return self.python.goal_reachable

    def answers(self, seed: int = 0, max_nodes: int | None = None, count: int = 5) -> Answers:
        """Return the answers of both, and assert that they are equal."""
        expected = answers(self.python, seed, max_nodes, count)
        assert answers(self.native, seed, max_nodes, count) == expected
        return expected

    def with_distrusted_start(self, step: int) -> Both:
        python, native = (one.with_distrusted_start(step) for one in (self.python, self.native))
        assert native.failures == python.failures
        return Both(python, native)

    def with_failure(self, step: int, offending: Sequence[Object]) -> Both:
        python, native = (one.with_failure(step, offending) for one in (self.python, self.native))
        assert native.failures == python.failures
        return Both(python, native)
