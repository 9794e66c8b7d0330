"""Delete an operator that the others make redundant (ReduceComplexity of the paper)."""

from __future__ import annotations

from needful.operator_learning.learning_problem import Hypothesis, LearningProblem


def reduce_complexity(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return the best set of operators with one deleted, or `start` if none is better.

    The data of the deleted operator is divided among the rest by the necessary atoms found for `start`.
    Among equally good deletions the first by the operators' text is chosen.
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
