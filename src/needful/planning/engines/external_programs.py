"""Searches by external planners: Fast Downward (Helmert 2006) and K* (Katz and Lee 2023).

Neither is installed by default; install both with `pip install "needful[planners]"`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from needful.core.limits import Budget
from needful.core.plans import SearchStatistics
from needful.errors import InvalidInputError
from needful.planning.action_elimination import TrimmedPlans
from needful.planning.engines.external_plans import ExternalPlans, Program, Steps, find_program, parse_step
from needful.planning.grounding import GroundProblem

OPTIMAL = "astar(lmcut())"
# The first search of LAMA (Richter and Westphal 2010), which Fast Downward calls lama-first.
LAMA_FIRST = (
    "let(landmarks, landmark_sum(lm_reasonable_orders_hps(lm_rhw())), let(ff, ff(), "
    "lazy_greedy([ff, landmarks], preferred=[ff, landmarks])))"
)

# K* expands only one of several symmetric states. At the end, it uses the symmetry to derive the plans that
# pass through the other states.
_SYMMETRIES = "sym=structural_symmetries(search_symmetries=oss, stabilize_initial_state=false, "
_SYMMETRIES += "keep_operator_symmetries=true, time_bound=0)"
_K_STAR_SEARCH = "kstar(lmcut(transform=undo_to_origin()), k={}, symmetries=sym, dump_plan_files=false, "
_K_STAR_SEARCH += "json_file_to_dump=plans.json)"

# The paths of the search programs inside the installed packages, and their exit statuses for an unsolvable
# task.
_FAST_DOWNWARD = "downward/builds/release/bin/downward"
_FAST_DOWNWARD_UNSOLVABLE = 11
_K_STAR = "builds/release/bin/downward"
_K_STAR_UNSOLVABLE = 12


@dataclass(frozen=True, slots=True)
class FastDownward:
    """A search for one abstract plan, run by Fast Downward; see `Search`.

    Attributes:
        search: a search in Fast Downward's syntax, such as `OPTIMAL` or `LAMA_FIRST`. It must stop after
            its first plan.
        memory: the memory limit in bytes.
        program: the path of the search component; None for the one in the package up-fast-downward.
    """

    search: str = LAMA_FIRST
    memory: int = 4 * 1024**3
    program: str | None = None

    def __post_init__(self) -> None:
        if not self.search.strip():
            raise InvalidInputError(
                f"Fast Downward needs a search, got {self.search!r}. Use, for example, {OPTIMAL!r}."
            )
        self._find()

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> TrimmedPlans:
        """Return a stream of at most one plan, without superfluous steps; the seed has no effect."""
        command = (self._find(), "--search", self.search, "--internal-plan-file", "plan")
        program = Program("Fast Downward", command, self.memory, 1, _FAST_DOWNWARD_UNSOLVABLE, _read_plan)
        return TrimmedPlans(ExternalPlans(program, problem, budget, statistics), problem, budget)

    def _find(self) -> str:
        return find_program("Fast Downward", self.program, "up_fast_downward", _FAST_DOWNWARD)


def _read_plan(folder: Path) -> list[Steps]:
    """Return the plan that Fast Downward wrote, as a list of one plan.

    Each line of the file is a step in parentheses or a comment, which starts with a semicolon.
    """
    lines = (folder / "plan").read_text().splitlines()
    return [tuple(parse_step(line.strip("()")) for line in lines if not line.startswith(";"))]


@dataclass(frozen=True, slots=True)
class KStar:
    """A search for the cheapest abstract plans, run by K*; see `Search`.

    Attributes:
        plans: how many plans to request. Plans that reach the goal before their last step are dropped; in
            some domains, these are most of the plans. Requesting more plans takes little extra time.
        memory: the memory limit in bytes.
        program: the path of the search component; None for the one in the package kstar-planner.
    """

    plans: int = 64
    memory: int = 4 * 1024**3
    program: str | None = None

    def __post_init__(self) -> None:
        if self.plans < 1:
            raise InvalidInputError(f"plans must be at least 1 for K*, got {self.plans}.")
        self._find()

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> ExternalPlans:
        """Return a stream of at most `plans` plans, cheapest first; the seed has no effect."""
        command = (self._find(), "--symmetries", _SYMMETRIES, "--search", _K_STAR_SEARCH.format(self.plans))
        program = Program("K*", command, self.memory, self.plans, _K_STAR_UNSOLVABLE, _read_plans)
        return ExternalPlans(program, problem, budget, statistics)

    def _find(self) -> str:
        return find_program("K*", self.program, "kstar_planner", _K_STAR)


def _read_plans(folder: Path) -> list[Steps]:
    found = json.loads((folder / "plans.json").read_text())
    return [tuple(parse_step(name) for name in plan["actions"]) for plan in found["plans"]]
