"""Delete an operator that the others make redundant (ReduceComplexity of the paper)."""

from __future__ import annotations

from needful.operator_learning.learning_problem import Hypothesis, LearningProblem


def reduce_complexity(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete one operator so that the objective is lowest; return `start` if no deletion lowers it.

    The transitions of the deleted operator are assigned to the other operators. Each must add the atoms
    that are needed in its transitions according to `start`. Among equally good deletions, the operator
    whose text comes first is deleted.
    """
    best = start
    for deleted in start.candidates:
        rest = (candidate for candidate in start.candidates if candidate is not deleted)
        smaller = problem.fit(rest, start)
        if smaller.objective < best.objective:
            best = smaller
    return best


def keep_all_operators(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete nothing: the ablation in which the number of operators has weight λ = 0."""
    return start
