"""Delete an operator that the others make redundant (ReduceComplexity of the paper)."""

from __future__ import annotations

from needful.operator_learning.learning_problem import Hypothesis, LearningProblem


def reduce_complexity(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete the operator whose deletion lowers the objective most; return `start` if none lowers it.

    The transitions of the deleted operator are assigned to other operators that add the atoms needed in
    them, if there are any. If several deletions are equally good, the operator whose text comes first is
    deleted.
    """
    best = start
    for deleted in start.candidates:
        rest = (candidate for candidate in start.candidates if candidate is not deleted)
        smaller = problem.fit(rest, start)
        if smaller.objective < best.objective:
            best = smaller
    return best


def reduce_truthfully(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete the operator whose deletion lowers the objective most, unless false claims would increase.

    A deletion moves transitions to other operators, whose preconditions then become weaker. The weaker
    operators may claim atoms that do not hold; see `validity`. Such a deletion is rejected. The last
    operator of a controller is never deleted. If no deletion is left, return `start`.
    """
    controllers = [candidate.controller for candidate in start.candidates]
    best = start
    for deleted in start.candidates:
        if controllers.count(deleted.controller) == 1:
            continue
        rest = (candidate for candidate in start.candidates if candidate is not deleted)
        smaller = problem.fit(rest, start)
        if smaller.objective < best.objective and (
            problem.false_claims(smaller) <= problem.false_claims(start)
        ):
            best = smaller
    return best


def keep_all_operators(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return `start` unchanged; in this ablation, the number of operators has weight λ = 0."""
    return start
