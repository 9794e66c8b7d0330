"""Search by K* (Katz and Lee 2023), a top-k planner that is installed beside this package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from needful.core.plans import Effort
from needful.errors import InvalidInputError
from needful.planning.budget import Budget
from needful.planning.external.external_plans import ExternalPlans, Program, Steps, find_program, step_of
from needful.planning.grounding import GroundProblem

# States that are alike up to renaming objects are searched once, and their plans are told apart after.
_SYMMETRIES = "sym=structural_symmetries(search_symmetries=oss, stabilize_initial_state=false, "
_SYMMETRIES += "keep_operator_symmetries=true, time_bound=0)"
_SEARCH = "kstar(lmcut(transform=undo_to_origin()), k={}, symmetries=sym, dump_plan_files=false, "
_SEARCH += "json_file_to_dump=plans.json)"

_PROGRAM = "builds/release/bin/downward"
_UNSOLVABLE = 12


@dataclass(frozen=True, slots=True)
class KStar:
    """The search for the cheapest abstract plans by K*; see `Search`.

    Attributes:
        plans: how many plans to ask for. Those that go on after the goal is reached are left out, and
            in some domains they are most; asking for more takes little longer.
        memory: how many bytes it may use.
        program: its search component; None for the one of the package kstar-planner.
    """

    plans: int = 64
    memory: int = 4 * 1024**3
    program: str | None = None

    def __post_init__(self) -> None:
        if self.plans < 1:
            raise InvalidInputError(f"K* must be asked for at least 1 plan, got plans={self.plans}.")
        self._find()

    def __call__(self, problem: GroundProblem, seed: int, budget: Budget, effort: Effort) -> ExternalPlans:
        """Return the plans, cheapest first; K* breaks ties in its own way, whatever the seed."""
        command = (self._find(), "--symmetries", _SYMMETRIES, "--search", _SEARCH.format(self.plans))
        program = Program("K*", command, self.memory, self.plans, _UNSOLVABLE, _read_plans)
        return ExternalPlans(program, problem, budget, effort)

    def _find(self) -> str:
        return find_program("K*", self.program, "kstar_planner", _PROGRAM)


def _read_plans(folder: Path) -> list[Steps]:
    found = json.loads((folder / "plans.json").read_text())
    return [tuple(step_of(name) for name in plan["actions"]) for plan in found["plans"]]
