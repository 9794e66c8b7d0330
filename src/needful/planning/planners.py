"""The planners that ship with the package, by name.

Abstract plans for a task: ground the operators, then search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from needful.core.plans import AbstractPlan, SearchStatistics
from needful.errors import UnknownNameError
from needful.planning.budget import Budget
from needful.planning.engines.native_planner import ENGINE_BUILT, NativePlanner, understands
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Planner, Problem, Question, Search
from needful.planning.portfolio import Policy, anytime_portfolio, greedy_portfolio, paper_portfolio

DEFAULT_PLANNER = "anytime"


@dataclass(frozen=True, slots=True)
class AutoPlanner:
    """The fastest engine on this machine that can do a search; all engines return the same."""

    search: Search = field(default_factory=anytime_portfolio)

    def __call__(self, question: Question, budget: Budget) -> Problem | None:
        """Return the grounded problem, or None if time ran out."""
        planner: Planner = PythonPlanner(self.search)
        if isinstance(self.search, Policy) and understands(self.search):
            if ENGINE_BUILT:
                planner = NativePlanner(self.search)
            else:
                warn_python_fallback()
        return planner(question, budget)


@cache
def warn_python_fallback() -> None:
    """Tell the user why planning is slow."""
    warnings.warn(
        "needful was installed without its search engine in C++, so planning is done in Python, which "
        "gives the same results but takes longer. Install a C++17 compiler and install needful again.",
        stacklevel=2,
    )


# Only who asks for a program of others has to wait for what starts it.
def _fast_downward_lama() -> Planner:
    from needful.planning.external.programs import LAMA_FIRST, FastDownward

    return PythonPlanner(FastDownward(LAMA_FIRST))


def _fast_downward_lmcut() -> Planner:
    from needful.planning.external.programs import OPTIMAL, FastDownward

    return PythonPlanner(FastDownward(OPTIMAL))


def _k_star() -> Planner:
    from needful.planning.external.programs import KStar

    return PythonPlanner(KStar())


def _catalogue() -> Mapping[str, Callable[[], Planner]]:
    return {
        "anytime": lambda: AutoPlanner(anytime_portfolio()),
        "paper": lambda: AutoPlanner(paper_portfolio()),
        "greedy": lambda: AutoPlanner(greedy_portfolio()),
        "fast-downward-lama": _fast_downward_lama,
        "fast-downward-lmcut": _fast_downward_lmcut,
        "k-star": _k_star,
        "python-anytime": lambda: PythonPlanner(anytime_portfolio()),
        "python-paper": lambda: PythonPlanner(paper_portfolio()),
        "python-greedy": lambda: PythonPlanner(greedy_portfolio()),
    }


def planner_names() -> tuple[str, ...]:
    """Return the names that `make_planner` knows."""
    return tuple(_catalogue())


def make_planner(name: str) -> Planner:
    """Return the planner of a name."""
    catalogue = _catalogue()
    if name not in catalogue:
        raise UnknownNameError("planner", name, catalogue)
    return catalogue[name]()


def default_planner() -> Planner:
    """Return the planner that is used unless another is asked for."""
    return make_planner(DEFAULT_PLANNER)


def generate_abstract_plans(
    question: Question, planner: Planner | None = None, budget: Budget | None = None, seed: int = 0
) -> Iterator[AbstractPlan]:
    """Yield abstract plans, each computed only when it is asked for.

    There can be infinitely many. The iterator ends when there are no more or the budget is spent;
    whoever must tell the two apart uses a `Planner` themselves, as `bilevel.plan` does.
    """
    budget = budget or Budget.unlimited()
    problem = (planner or default_planner())(question, budget)
    if problem is None or not problem.goal_reachable:
        return
    for steps in problem.plans(seed, budget, SearchStatistics()):
        yield problem.plan(steps)
