"""Results of learning have a short one-line repr, however much data they hold."""

from __future__ import annotations

import pytest

from carrying_world import A, B, C, D, carrying
from needful.core.limits import NO_DEADLINE
from needful.core.operators import Operator
from needful.operator_learning.accidental_preconditions import AccidentalPrecondition
from needful.operator_learning.backchaining import OperatorDiff
from needful.operator_learning.baselines.cluster_intersect import cluster_by_effects
from needful.operator_learning.baselines.loft import LabelledExamples
from needful.operator_learning.baselines.quantified_search import PredictionScorer
from needful.operator_learning.explanation import explain_operator, gather_evidence
from needful.operator_learning.hill_climbing import Climb, alternate, reduce_complexity
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.learning_problem import LearningProblem

DEMOS = [carrying(B, (A, B, C), (A, B)), carrying(A, (A,), (A, D)), carrying(C, (C, D), (C,))] * 20


def results() -> list[object]:
    """Return one instance of each result class."""
    learned = learn_operators(DEMOS)
    operator = learned.operators[0]
    evidence = gather_evidence(learned, DEMOS)[operator.name]
    explanation = explain_operator(operator, evidence)
    reason = next(iter(explanation.adds.values()))
    problem = LearningProblem.of(DEMOS, partly_bound)
    climb = alternate(problem, reduce_complexity, Climb(problem.empty_hypothesis()))
    hypothesis, demonstration = climb.hypothesis, problem.demonstrations[0]
    return [
        *(learned, explanation, reason, reason.first, evidence[0]),
        AccidentalPrecondition(operator.name, min(operator.preconditions), 3),
        *(climb, climb.steps[0], hypothesis, problem, hypothesis.partition, hypothesis.coverage),
        *(hypothesis.fitted[0], hypothesis.candidates[0], hypothesis.coverage.chains[0]),
        *(demonstration, demonstration.transitions[0], problem.transitions),
        OperatorDiff[Operator].between((), learned.operators),
        cluster_by_effects(problem.demonstrations, NO_DEADLINE)[0],
        LabelledExamples.of([1] * 50, [0] * 50, [[0]] * 50),
        PredictionScorer(problem.transitions).score(operator),
    ]


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_repr_is_one_short_line(result: object) -> None:
    text = repr(result)
    assert text.startswith(f"{type(result).__name__}(")
    assert "\n" not in text
    assert len(text) <= 120


def test_repr_of_learned_operators_has_the_main_counts() -> None:
    text = repr(learn_operators(DEMOS))
    assert text == "LearnedOperators(operators=2, transitions=120, uncovered=0, not_reproduced=0)"
