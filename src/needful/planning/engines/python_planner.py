"""The planner in Python: the reference for every other engine.

It also models discovered failures. If a simulator reports that an object made a step fail, for example a
closed lid, the step's ground operator gets a new precondition NotCausesFailure(lid). The ground operators
that deal with the lid add this atom, so the next plan deals with the lid first; see `deals_with`.

In the same way, a step can be forced not to rely on initial atoms, which may be wrong if predicates are
imprecise. Its ground operator gets a new precondition. The ground operators that make one of its other
preconditions true again add the new one; see `establishes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from needful.core.limits import Budget
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.costs import OperatorCosts
from needful.planning.grounding import EncodedOperator, GroundProblem, ground, operator_masks
from needful.planning.interfaces import PlanStream, Search
from needful.planning.portfolio import anytime_portfolio

# A failure is a pair of indices: (ground operator, object that made it fail). If wrong initial atoms may
# have made it fail instead, the second index is this number; see `Problem.with_distrusted_start`.
INITIAL_ATOMS = -1


@dataclass(frozen=True, slots=True)
class PythonPlanner:
    """Grounds and searches in Python; see `Planner`."""

    search: Search = field(default_factory=anytime_portfolio)

    def __call__(
        self, operators: Sequence[Operator], task: AbstractTask, budget: Budget
    ) -> PythonProblem | None:
        """Return the grounded problem, or None if time ran out or the problem is too large."""
        compact = ground(operators, task, budget)
        return None if compact is None else PythonProblem(compact, self.search)


@dataclass(frozen=True, slots=True)
class PythonProblem:
    """A problem over numbered atoms, and the search that solves it; see `Problem`."""

    compact: GroundProblem
    search: Search = field(repr=False)

    @property
    def failures(self) -> tuple[tuple[int, int], ...]:
        """The failures discovered so far in simulation.

        Each is a pair: the index of the ground operator that failed, and the index of the object that made
        it fail, or `INITIAL_ATOMS`.
        """
        return self.compact.failures

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal is reachable if delete effects are ignored; if not, there is no plan."""
        return self.compact.goal_reachable

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps are the ground operators with the given indices."""
        return self.compact.plan(steps)

    def with_failure(self, step: int, offending: Iterable[Object]) -> PythonProblem:
        """Return a problem in which a plan must deal with each offending object before it uses `step`.

        `step` is the index of a ground operator. Offending objects are the objects that made it fail in
        simulation. See `deals_with`.
        """
        changed = with_failure(self.compact, step, offending)
        return self if changed is self.compact else replace(self, compact=changed)

    def with_distrusted_start(self, step: int) -> PythonProblem:
        """Return a problem in which a plan must make a precondition of `step` true again; see `Problem`."""
        changed = with_distrusted_start(self.compact, step)
        return self if changed is self.compact else replace(self, compact=changed)

    def with_costs(self, costs: OperatorCosts, tried: Sequence[tuple[int, ...]] = ()) -> PythonProblem:
        """Return a problem with the given costs, whose searches leave out the plans in `tried`."""
        check_steps(chain((step for step, _ in costs.ground), *tried), len(self.compact.ground_operators))
        return replace(self, compact=replace(self.compact, costs=costs, tried=tuple(tried)))

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> PlanStream:
        """Start a search and return its stream of plans; ties are broken by `seed` alone."""
        return self.search(self.compact, seed, budget, statistics)


def with_failure(problem: GroundProblem, step: int, offending: Iterable[Object]) -> GroundProblem:
    """Return a problem in which a plan must deal with each offending object before it uses `step`.

    `step` is the index of a ground operator. Offending objects are the objects that made it fail in
    simulation. For each new failure, the operator gets a new precondition; see the module docstring.
    Abstract plans do not contain this atom, so it never becomes a subgoal.
    """
    for failure in failures_at(step, offending, len(problem.ground_operators), problem.objects):
        if failure not in problem.failures:
            problem = _with_one_failure(problem, failure)
    return problem


def with_distrusted_start(problem: GroundProblem, step: int) -> GroundProblem:
    """Return a problem in which a plan must make a precondition of `step` true again; see `Problem`."""
    check_steps([step], len(problem.ground_operators))
    failure = (step, INITIAL_ATOMS)
    return problem if failure in problem.failures else _with_one_failure(problem, failure)


def failures_at(
    step: int, offending: Iterable[Object], ground_operators: int, objects: Sequence[Object]
) -> list[tuple[int, int]]:
    """Return the pair (step, index of the object) for each object that made a step fail.

    `step` is the index of a ground operator. Raises if it is out of range or an object is unknown.
    """
    check_steps([step], ground_operators)
    index = {obj: i for i, obj in enumerate(objects)}
    failures = []
    for obj in sorted(set(offending)):
        if obj not in index:
            raise UnknownNameError("offending object", obj.name, (o.name for o in objects))
        failures.append((step, index[obj]))
    return failures


def check_steps(steps: Iterable[int], ground_operators: int) -> None:
    """Raise if a step is not the index of one of the ground operators."""
    for step in steps:
        if not 0 <= step < ground_operators:
            raise InvalidInputError(
                f"The step must be the index of a ground operator, got {step}. There are "
                f"{ground_operators} ground operators, numbered from 0."
            )


def _with_one_failure(problem: GroundProblem, failure: tuple[int, int]) -> GroundProblem:
    step, obj = failure
    fresh = 1 << problem.atom_count
    remedies = establishes(problem, step) if obj == INITIAL_ATOMS else deals_with(problem, obj)

    def changed(index: int, operator: EncodedOperator) -> EncodedOperator:
        if index == step:
            return replace(operator, preconditions=operator.preconditions | fresh)
        if remedies[index]:
            return replace(operator, adds=operator.adds | fresh)
        return operator

    return replace(
        problem,
        ground_operators=tuple(changed(i, o) for i, o in enumerate(problem.ground_operators)),
        failures=(*problem.failures, failure),
    )


def establishes(problem: GroundProblem, step: int) -> list[bool]:
    """Return for each ground operator whether it establishes a precondition of `step` that holds initially.

    An operator establishes an atom if it adds the atom and does not need it as a precondition. If no
    operator except `step` does so, the result is True for all operators.
    """
    distrusted = problem.ground_operators[step].preconditions & problem.initial
    found = [bool(one.adds & ~one.preconditions & distrusted) for one in problem.ground_operators]
    others = any(one for index, one in enumerate(found) if index != step)
    return found if others else [True] * len(found)


def deals_with(problem: GroundProblem, obj: int) -> list[bool]:
    """Return for each ground operator whether it deals with an object; `obj` is the object's index.

    An operator deals with an object if it changes an atom of the object: it adds or deletes an atom that
    contains the object, also by a quantified delete. An operator that changes no atom at all deals with all
    its objects, because it may change something that no predicate describes. If no operator deals with
    the object by these rules, every operator that has it among its objects counts as dealing with it.
    """
    offending, count = problem.objects[obj], len(problem.atoms)
    of_object = sum(1 << atom for atom, one in enumerate(problem.atoms) if offending in one.objects)
    found = []
    for index, operator in enumerate(problem.ground_operators):
        masks = operator_masks(index, problem)
        changes = (masks.adds | masks.deletes) & ((1 << count) - 1)
        found.append(bool(changes & of_object) or (not changes and obj in operator.objects))
    return found if any(found) else [obj in operator.objects for operator in problem.ground_operators]
