"""Create planners by name, and generate abstract plans with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from needful.core.limits import Budget
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.errors import UnknownNameError
from needful.planning.engines.native_planner import ENGINE_BUILT, NativePlanner, supports_portfolio
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Planner, Problem, Search
from needful.planning.portfolio import Portfolio, anytime_portfolio, greedy_portfolio, paper_portfolio

DEFAULT_PLANNER = "anytime"


@dataclass(frozen=True, slots=True)
class AutoPlanner:
    """Plans with the C++ engine if it is built and implements `search`, else with the Python engine.

    Both engines return the same plans.
    """

    search: Search = field(default_factory=anytime_portfolio)

    def __call__(self, operators: Sequence[Operator], task: AbstractTask, budget: Budget) -> Problem | None:
        """Ground the operators over the task's objects and return the ground problem.

        To start a search, call the method `plans` of the problem. Returns None if time ran out or the
        problem is too large.
        """
        planner: Planner = PythonPlanner(self.search)
        if isinstance(self.search, Portfolio) and supports_portfolio(self.search):
            if ENGINE_BUILT:
                planner = NativePlanner(self.search)
            else:
                warn_python_fallback()
        return planner(operators, task, budget)


@cache
def warn_python_fallback() -> None:
    """Warn once per process that the C++ engine is missing."""
    warnings.warn(
        "needful was installed without its C++ search engine and falls back to the Python engine, which "
        "returns the same plans but is slower. Install a C++17 compiler and reinstall needful.",
        stacklevel=2,
    )


def planner_names() -> tuple[str, ...]:
    """Return the names that `make_planner` accepts."""
    return tuple(_catalogue())


def make_planner(name: str) -> Planner:
    """Return the planner with this name; raise `UnknownNameError` if it is not in `planner_names()`."""
    catalogue = _catalogue()
    if name not in catalogue:
        raise UnknownNameError("planner", name, catalogue)
    return catalogue[name]()


def planner_name(planner: Planner) -> str | None:
    """Return the name with which `make_planner` creates an equal planner, or None if there is none."""
    return next((name for name, make in _catalogue().items() if make() == planner), None)


def default_planner() -> Planner:
    """Return the planner named `DEFAULT_PLANNER`."""
    return make_planner(DEFAULT_PLANNER)


def generate_abstract_plans(
    operators: Sequence[Operator],
    task: AbstractTask,
    planner: Planner | None = None,
    budget: Budget | None = None,
    seed: int = 0,
) -> Iterator[AbstractPlan]:
    """Yield abstract plans for a task, each computed on demand.

    There can be infinitely many plans. The default planner is `default_planner()`, the default budget
    is unlimited, and `seed` decides how the search breaks ties. The iterator ends when there are no more
    plans or the budget is exhausted. To know the reason, call a `Planner` and read `PlanStream.end_reason`.
    """
    budget = budget or Budget.unlimited()
    problem = (planner or default_planner())(operators, task, budget)
    if problem is None or not problem.goal_reachable:
        return
    for steps in problem.plans(seed, budget, SearchStatistics()):
        yield problem.plan(steps)


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


# The next functions create planners that run external programs. Their modules are imported only on demand.
def _fast_downward_lama() -> Planner:
    from needful.planning.engines.external_programs import LAMA_FIRST, FastDownward

    return PythonPlanner(FastDownward(LAMA_FIRST))


def _fast_downward_lmcut() -> Planner:
    from needful.planning.engines.external_programs import OPTIMAL, FastDownward

    return PythonPlanner(FastDownward(OPTIMAL))


def _k_star() -> Planner:
    from needful.planning.engines.external_programs import KStar

    return PythonPlanner(KStar())
