"""Search by Fast Downward (Helmert 2006), a planner that is installed beside this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from needful.core.plans import Effort
from needful.errors import InvalidInputError
from needful.planning.action_elimination import TrimmedPlans
from needful.planning.budget import Budget
from needful.planning.external.external_plans import ExternalPlans, Program, Steps, find_program, step_of
from needful.planning.grounding import GroundProblem

OPTIMAL = "astar(lmcut())"
# The first search of LAMA (Richter and Westphal 2010), which Fast Downward calls lama-first.
LAMA_FIRST = (
    "let(landmarks, landmark_sum(lm_reasonable_orders_hps(lm_rhw())), let(ff, ff(), "
    "lazy_greedy([ff, landmarks], preferred=[ff, landmarks])))"
)

_PROGRAM = "downward/builds/release/bin/downward"
_UNSOLVABLE = 11


@dataclass(frozen=True, slots=True)
class FastDownward:
    """The search for one abstract plan by Fast Downward; see `Search`.

    Attributes:
        search: a search in Fast Downward's own words, such as `OPTIMAL` or `LAMA_FIRST`. It must end
            with its first plan.
        memory: how many bytes it may use.
        program: its search component; None for the one of the package up-fast-downward.
    """

    search: str = LAMA_FIRST
    memory: int = 4 * 1024**3
    program: str | None = None

    def __post_init__(self) -> None:
        if not self.search.strip():
            raise InvalidInputError(f"Fast Downward needs a search, for example {OPTIMAL!r}.")
        self._find()

    def __call__(self, problem: GroundProblem, seed: int, budget: Budget, effort: Effort) -> TrimmedPlans:
        """Return the plan as a stream; Fast Downward breaks ties in its own way, whatever the seed.

        Needless steps are left out of it; the cheapest plan has none.
        """
        command = (self._find(), "--search", self.search, "--internal-plan-file", "plan")
        program = Program("Fast Downward", command, self.memory, 1, _UNSOLVABLE, _read_plan)
        return TrimmedPlans(ExternalPlans(program, problem, budget, effort), problem, budget)

    def _find(self) -> str:
        return find_program("Fast Downward", self.program, "up_fast_downward", _PROGRAM)


def _read_plan(folder: Path) -> list[Steps]:
    """Return the plan: a step in brackets on each line, and a comment on its cost."""
    lines = (folder / "plan").read_text().splitlines()
    return [tuple(step_of(line.strip("()")) for line in lines if not line.startswith(";"))]
