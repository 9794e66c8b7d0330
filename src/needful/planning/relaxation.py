"""Ignore a precondition if there is no abstract plan otherwise.

An atom that held before all demonstrated uses of an operator becomes a precondition, also if it held by
accident. With few demonstrations there are many such preconditions, and tasks in which they do not hold may
have no abstract plan. For these tasks, plans are searched with operators that lack a precondition. This is
safe, because refinement tests plans in simulation: if the precondition is really needed, the plan fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from needful.core.limits import Budget
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, IgnoredPrecondition
from needful.core.tasks import AbstractTask
from needful.planning.interfaces import Planner, Problem


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Operators that lack some preconditions, so that the goal may be reachable.

    Attributes:
        operators: all operators.
        ignored: the preconditions that operators lack.
        problem: the ground problem with these operators.
    """

    operators: tuple[Operator, ...]
    ignored: tuple[IgnoredPrecondition, ...]
    problem: Problem

    def ignored_in(self, plan: AbstractPlan) -> tuple[IgnoredPrecondition, ...]:
        """Return the ignored preconditions of the operators that a plan uses."""
        used = {step.operator.name for step in plan}
        return tuple(one for one in self.ignored if one.operator in used)


def relaxations(
    operators: Sequence[Operator], task: AbstractTask, planner: Planner, budget: Budget
) -> Iterator[Relaxation]:
    """Yield operators that lack a precondition, in the order in which to plan with them.

    First, one operator lacks one precondition. Then all operators lack the preconditions of one predicate.
    In both groups, atoms that no operator adds come first: no plan can make them true. Nothing is yielded
    if no operator can add one of the goal atoms.
    """
    achievable = {atom.predicate for one in operators for atom in one.add_effects}
    if any(atom.predicate not in achievable for atom in task.goal - task.initial):
        return
    single = [
        IgnoredPrecondition(one.name, atom) for one in operators for atom in sorted(one.preconditions)
    ]
    single.sort(key=lambda one: one.atom.predicate in achievable)
    by_predicate = sorted(single, key=lambda one: one.atom.predicate)
    groups = [tuple(group) for _, group in groupby(by_predicate, lambda one: one.atom.predicate)]
    groups = [group for group in groups if len(group) > 1]
    groups.sort(key=lambda group: group[0].atom.predicate in achievable)
    for ignored in chain(((one,) for one in single), groups):
        if budget.expired():
            return
        fewer = tuple(_without(one, ignored) for one in operators)
        problem = planner(fewer, task, budget)
        if problem is not None and problem.goal_reachable:
            yield Relaxation(fewer, ignored, problem)


def _without(operator: Operator, ignored: Sequence[IgnoredPrecondition]) -> Operator:
    dropped = frozenset(one.atom for one in ignored if one.operator == operator.name)
    if not dropped:
        return operator
    # An add effect that is also a precondition is only kept true, so it is dropped, too.
    return replace(
        operator,
        preconditions=operator.preconditions - dropped,
        add_effects=operator.add_effects - dropped,
    )
