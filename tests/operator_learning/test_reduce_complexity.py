"""Redundant operators are deleted."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.hill_climbing import keep_all_operators, reduce_complexity
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, demonstrations

A, B = BLOCK("a"), BLOCK("b")
X, Y = Variable("?x", BLOCK), Variable("?y", BLOCK)
NONE = frozenset()

PUSHING = Operator("Push", (X,), NONE, frozenset({CLEAN.lifted(X)}), NONE, NONE, PUSH, (X,))
KEEPING = replace(
    PUSHING,
    parameters=(X, Y),
    preconditions=frozenset({CLEAN.lifted(Y)}),
    add_effects=frozenset({CLEAN.lifted(X), CLEAN.lifted(Y)}),
)


# Push a, then b, to clean both; nothing is deleted, so no atom has to be kept.
TWO_PUSHES = Demonstration(
    (A, B),
    frozenset({CLEAN(A), CLEAN(B)}),
    (NONE, frozenset({CLEAN(A)}), frozenset({CLEAN(A), CLEAN(B)})),
    (PUSH(A), PUSH(B)),
)


def fitted(demo, *operators):
    problem = LearningProblem.of([demo], partly_bound)
    candidates = [canonical_candidate(operator, {}) for operator in operators]
    start = problem.empty_hypothesis()
    return problem, problem.fit(candidates, start)


def test_a_redundant_operator_is_deleted():
    problem, start = fitted(TWO_PUSHES, PUSHING, KEEPING)
    assert start.objective == (0, 2)
    smaller = reduce_complexity(start, problem)
    assert smaller.objective == (0, 1)
    assert {str(atom) for atom in smaller.fitted[0].operator.add_effects} == {"Clean(?x0)"}
    assert reduce_complexity(smaller, problem) is smaller


def test_a_needed_operator_stays():
    problem, start = fitted(TWO_PUSHES, PUSHING)
    assert reduce_complexity(start, problem) is start


def test_keep_all_operators_deletes_nothing():
    problem, start = fitted(TWO_PUSHES, PUSHING, KEEPING)
    assert keep_all_operators(start, problem) is start


# Found by search: one of three operators covers everything that is covered, and only one deletion shows it.
UNEQUAL_DELETIONS = (
    Demonstration(
        (A, B),
        frozenset({ON(A, A)}),
        (
            frozenset({ON(A, B), ON(B, A)}),
            frozenset({CLEAN(B), ON(A, A), ON(B, A)}),
            frozenset({CLEAN(A), CLEAN(B), ON(A, A), ON(B, A)}),
        ),
        (PUSH(B), PUSH(A)),
    ),
    Demonstration(
        (A, B),
        frozenset({ON(B, A)}),
        (frozenset({CLEAN(A), ON(B, A)}), frozenset({ON(B, A)})),
        (PUSH(A),),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(demonstrations(), min_size=1, max_size=2))
@example(UNEQUAL_DELETIONS)
def test_the_best_single_deletion_is_taken(demos):
    def checked(start, problem):
        deletions = [
            problem.fit([other for other in start.candidates if other != candidate], start).objective
            for candidate in start.candidates
        ]
        smaller = reduce_complexity(start, problem)
        assert smaller.objective == min([start.objective, *deletions])
        return smaller

    learn_operators(demos, OperatorLearningConfig(reduce=checked))
