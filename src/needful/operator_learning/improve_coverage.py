"""Add operators until more transitions are covered (ImproveCoverage of the paper).

Deviations E9, E10 and E21, docs/paper_to_code.md: The loop runs while coverage has not improved and some
transition is uncovered. It terminates, because it stops at a set of operators that it has seen before. If
coverage has not improved by then, single transitions are pinned to new operators: a pinned transition is
assigned to its operator regardless of scores.
"""

from __future__ import annotations

from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import induce_operator
from needful.operator_learning.keep_effects import copies_with_keep_effects, with_keep_effects
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem


def improve_coverage(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return a set of operators that covers more transitions than `start`, or `start` if none is found."""
    current = start
    seen: set[frozenset[str]] = set()
    for _ in range(2 * problem.size):
        failing = current.coverage.failing()
        if not failing:
            break
        current = _with_operator_for(failing[0], current, problem)
        if current.coverage.uncovered < start.coverage.uncovered:
            return current
        if current.operator_texts in seen:
            break
        seen.add(current.operator_texts)
    return _try_pinned_operators(start, current, problem)


def _with_operator_for(
    transition: EncodedTransition, current: Hypothesis, problem: LearningProblem
) -> Hypothesis:
    """Add an operator for a transition that backchaining could not explain.

    Then add copies of operators that would delete necessary atoms; the copies keep these atoms.
    """
    necessary = current.coverage.necessary_after(transition)
    assert necessary is not None, "a failing transition is reached by its chain"
    operator, _ = induce_operator(transition, necessary)
    added = problem.fit((*current.candidates, canonical_candidate(operator, {})), current)
    return problem.fit((*added.candidates, *copies_with_keep_effects(added, problem)), added)


def _try_pinned_operators(start: Hypothesis, last: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Add one operator with a pinned transition so that more transitions are covered than by `start`.

    The operator is added to `start` or, if this fails, to `last`: the operators that the loop of
    `improve_coverage` ended with. In both, each transition at which backchaining stops is tried in turn.
    Return the first result that covers more transitions than `start`, or `start` if there is none.
    """
    for base in (start, last):
        for transition in base.coverage.failing():
            reached = cover_with_pinned_operator(transition, base, problem)
            if reached.coverage.uncovered < start.coverage.uncovered:
                return reached
    return start


def cover_with_pinned_operator(
    transition: EncodedTransition, base: Hypothesis, problem: LearningProblem
) -> Hypothesis:
    """Add an operator that keeps all necessary atoms of one transition, and pin the transition to it.

    Pinning assigns the transition to the operator regardless of scores. Keeping an atom may add objects to
    the operator. This changes its deletes, and thus the atoms that must be kept. The loop repeats until
    the operator predicts all necessary atoms. It ends, because the set of kept atoms only grows.
    """
    necessary = base.coverage.necessary_after(transition)
    assert necessary is not None, "a failing transition is reached by its chain"
    operator, objects = induce_operator(transition, necessary)
    while True:
        fitted = problem.inducer.fit(operator, ((transition, objects),))
        missing = necessary & ~problem.matcher.predict(fitted, transition, objects)
        if not missing:
            break
        operator, objects = with_keep_effects(operator, transition, objects, missing)
    hint = dict(zip(operator.parameters, objects, strict=True))
    identity = transition.transition_id
    pinned = canonical_candidate(operator, {identity: hint}, frozenset({identity}))
    return problem.fit((*base.candidates, pinned), base)
