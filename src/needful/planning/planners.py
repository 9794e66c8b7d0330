"""The planners that ship with the package, by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from needful.errors import UnknownNameError
from needful.planning.budget import Budget
from needful.planning.native_planner import BUILT, NativePlanner, understands
from needful.planning.planner import Planner, Problem, Question
from needful.planning.policy import Policy, anytime_policy, greedy_policy, paper_policy
from needful.planning.python_planner import PythonPlanner
from needful.planning.search import Search

DEFAULT_PLANNER = "anytime"


@dataclass(frozen=True, slots=True)
class Fastest:
    """The fastest engine on this machine that can do a search; all engines return the same."""

    search: Search = field(default_factory=anytime_policy)

    def __call__(self, question: Question, budget: Budget) -> Problem | None:
        """Return the grounded problem, or None if time ran out."""
        planner: Planner = PythonPlanner(self.search)
        if isinstance(self.search, Policy) and understands(self.search):
            if BUILT:
                planner = NativePlanner(self.search)
            else:
                say_once_that_python_serves()
        return planner(question, budget)


@cache
def say_once_that_python_serves() -> None:
    """Tell the user why planning is slow."""
    warnings.warn(
        "needful was installed without its search engine in C++, so planning is done in Python, which "
        "gives the same results but takes longer. Install a C++17 compiler and install needful again.",
        stacklevel=2,
    )


# Only who asks for a program of others has to wait for what starts it.
def _fast_downward_lama() -> Planner:
    from needful.planning.external.fast_downward import LAMA_FIRST, FastDownward

    return PythonPlanner(FastDownward(LAMA_FIRST))


def _fast_downward_lmcut() -> Planner:
    from needful.planning.external.fast_downward import OPTIMAL, FastDownward

    return PythonPlanner(FastDownward(OPTIMAL))


def _k_star() -> Planner:
    from needful.planning.external.k_star import KStar

    return PythonPlanner(KStar())


def _catalogue() -> Mapping[str, Callable[[], Planner]]:
    return {
        "anytime": lambda: Fastest(anytime_policy()),
        "paper": lambda: Fastest(paper_policy()),
        "greedy": lambda: Fastest(greedy_policy()),
        "fast-downward-lama": _fast_downward_lama,
        "fast-downward-lmcut": _fast_downward_lmcut,
        "k-star": _k_star,
        "python-anytime": lambda: PythonPlanner(anytime_policy()),
        "python-paper": lambda: PythonPlanner(paper_policy()),
        "python-greedy": lambda: PythonPlanner(greedy_policy()),
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
