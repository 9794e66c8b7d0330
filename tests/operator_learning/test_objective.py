"""The objective of hill climbing, and the order in which failures are repaired."""

from __future__ import annotations

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Objective
from tiny_worlds import BLOCK, CLEAN, PUSH, RAIN

A = BLOCK("a")
NONE, RAINY, CLEAN_A = frozenset(), frozenset({RAIN()}), frozenset({CLEAN(A)})


def test_coverage_counts_more_than_any_number_of_operators():
    assert Objective(0, 100) < Objective(1, 0)
    assert Objective(1, 1) < Objective(1, 2)


def pushes(goal, *states) -> Demonstration:
    return Demonstration((A,), goal, states, (PUSH(A),) * (len(states) - 1))


def test_order_of_failing_transitions():
    """Shortest covered suffix first, then necessary adds, then the order of the demonstrations."""
    problem = LearningProblem.of(
        [
            pushes(CLEAN_A, RAINY | CLEAN_A, NONE, CLEAN_A),
            pushes(RAINY, RAINY, RAINY),
            pushes(RAINY, CLEAN_A, RAINY),
            pushes(RAINY, RAINY | CLEAN_A, RAINY | CLEAN_A),
            pushes(CLEAN_A, CLEAN_A | RAINY, CLEAN_A),
        ],
        partly_bound,
    )
    nothing = problem.empty_hypothesis()
    assert [t.demonstration for t in nothing.coverage.failing()] == [0, 2, 1, 3, 4]
    x = Variable("?x", BLOCK)
    cleaning = Operator("Push", (x,), NONE, frozenset({CLEAN.lifted(x)}), NONE, NONE, PUSH, (x,))
    fitted = problem.fit([canonical_candidate(cleaning, {})], nothing)
    lengths = {
        t.demonstration: len(fitted.coverage.chains[t.demonstration].links)
        for t in fitted.coverage.failing()
    }
    assert list(lengths) == sorted(lengths, key=lambda demo: lengths[demo])
    assert fitted.coverage.uncovered < nothing.coverage.uncovered == 6


def test_only_better_sets_of_operators_are_accepted():
    problem = LearningProblem.of([pushes(CLEAN_A, NONE, CLEAN_A)], partly_bound)
    nothing = problem.empty_hypothesis()
    x = Variable("?x", BLOCK)
    cleaning = Operator("Push", (x,), NONE, frozenset({CLEAN.lifted(x)}), NONE, NONE, PUSH, (x,))
    covered = problem.fit([canonical_candidate(cleaning, {})], nothing)
    climb = Climb(nothing).accept("cover", covered)
    assert climb.hypothesis is covered
    assert [(step.move, step.objective, len(step.added), step.removed) for step in climb.steps] == [
        ("cover", (0, 1), 1, ())
    ]
    assert climb.accept("cover", covered) is climb, "no better"
    assert climb.accept("delete", nothing) is climb, "worse"
