"""The planner in Python: the reference that says what every other engine must return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from needful.core.objects import Object
from needful.core.plans import AbstractPlan, Effort
from needful.planning.budget import Budget
from needful.planning.discovered_failures import with_failure
from needful.planning.ground_problem import GroundProblem
from needful.planning.grounding import ground
from needful.planning.planner import PlanStream, Question
from needful.planning.policy import anytime_policy
from needful.planning.search import Search


@dataclass(frozen=True, slots=True)
class PythonPlanner:
    """Grounds and searches in Python; see `Planner`."""

    search: Search = field(default_factory=anytime_policy)

    def __call__(self, question: Question, budget: Budget) -> PythonProblem | None:
        """Return the grounded problem, or None if time ran out or it is too large."""
        compact = ground(
            question.operators,
            question.objects,
            question.initial,
            question.goal,
            budget,
            question.allow_noops,
        )
        return None if compact is None else PythonProblem(compact, self.search)


@dataclass(frozen=True, slots=True)
class PythonProblem:
    """A compact problem and the search for it; see `Problem`."""

    compact: GroundProblem
    search: Search

    @property
    def failures(self) -> tuple[tuple[int, int], ...]:
        """The discovered failures so far: (ground operator, object number)."""
        return self.compact.failures

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal can be reached if nothing is ever deleted; if not, there is no plan."""
        return self.compact.goal_reachable

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps have the given indices."""
        return self.compact.plan(steps)

    def with_failure(self, step: int, offending: Iterable[Object]) -> PythonProblem:
        """Return the problem in which a ground operator needs the offending objects dealt with first."""
        changed = with_failure(self.compact, step, offending)
        return self if changed is self.compact else replace(self, compact=changed)

    def plans(self, seed: int, budget: Budget, effort: Effort) -> PlanStream:
        """Start a search; `seed` alone breaks ties."""
        return self.search(self.compact, seed, budget, effort)
