"""The planner in Python: the reference that says what every other engine must return.

Learn from a simulator's complaint that some object made a step fail.

The abstract plan knows nothing of a closed lid. When a step fails and the lid is blamed, the step
gets a precondition of its own, NotCausesFailure(lid), that every other ground operator with the lid
among its objects achieves. The next plan then does something about the lid first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from needful.core.objects import Object
from needful.core.plans import AbstractPlan, SearchStatistics
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.budget import Budget
from needful.planning.grounding import EncodedOperator, GroundProblem, ground
from needful.planning.interfaces import PlanStream, Question, Search
from needful.planning.portfolio import anytime_portfolio


def with_failure(problem: GroundProblem, step: int, offending: Iterable[Object]) -> GroundProblem:
    """Return the problem in which the ground operator `step` needs the offending objects dealt with.

    The fresh atoms exist in the compact problem only: they are in no abstract plan, so they become
    no subgoal and no state is asked for them. A failure that is known already changes nothing.
    """
    check_step(step, len(problem.ground_operators))
    number = {obj: index for index, obj in enumerate(problem.objects)}
    for obj in sorted(set(offending)):
        if obj not in number:
            raise UnknownNameError("offending object", obj.name, (o.name for o in problem.objects))
        failure = (step, number[obj])
        if failure not in problem.failures:
            problem = _with_one_failure(problem, failure)
    return problem


def check_step(step: int, count: int) -> None:
    """Raise unless a step is the index of one of so many ground operators."""
    if not 0 <= step < count:
        raise InvalidInputError(f"A step must be the index of one of {count} ground operators, got {step}.")


def _with_one_failure(problem: GroundProblem, failure: tuple[int, int]) -> GroundProblem:
    step, obj = failure
    fresh = 1 << problem.atom_count

    def changed(index: int, operator: EncodedOperator) -> EncodedOperator:
        if index == step:
            return replace(operator, preconditions=operator.preconditions | fresh)
        if obj in operator.objects:
            return replace(operator, adds=operator.adds | fresh)
        return operator

    return replace(
        problem,
        ground_operators=tuple(changed(i, o) for i, o in enumerate(problem.ground_operators)),
        failures=(*problem.failures, failure),
    )


@dataclass(frozen=True, slots=True)
class PythonPlanner:
    """Grounds and searches in Python; see `Planner`."""

    search: Search = field(default_factory=anytime_portfolio)

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

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> PlanStream:
        """Start a search; `seed` alone breaks ties."""
        return self.search(self.compact, seed, budget, statistics)
