"""Add operators until more transitions are covered (ImproveCoverage of the paper).

Deviations E9, E10 and E21, docs/paper_to_code.md: The loop ends when coverage has improved or all
transitions are covered. It also ends when a set of operators occurs for the second time, so it always
terminates. If coverage has not improved by then, an operator with a pinned transition is added: the
transition is assigned to this operator, even if other operators have better scores.
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
    """Return `current` with a new operator for a transition that backchaining could not explain.

    If some operators then delete necessary atoms, also add copies of them that keep these atoms.
    """
    necessary = current.coverage.necessary_after(transition)
    assert necessary is not None, "a failing transition is reached by its chain"
    operator, _ = induce_operator(transition, necessary)
    added = problem.fit((*current.candidates, canonical_candidate(operator, {})), current)
    return problem.fit((*added.candidates, *copies_with_keep_effects(added, problem)), added)


def _try_pinned_operators(start: Hypothesis, last: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Add one operator with a pinned transition so that more transitions are covered than by `start`.

    Each transition at which backchaining stops is tried as the pinned one. The operator is first added to
    `start`. If this fails, it is added to `last`, the operators at the end of the loop of
    `improve_coverage`. Return the first result that covers more transitions, or `start` if there is none.
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
    """Return `base` with a new operator that predicts all necessary atoms of one transition.

    The transition is pinned: it is assigned to the new operator, even if other operators have better
    scores. Necessary atoms that the operator would delete become keep effects. They may add parameters to
    the operator. This changes its deletes, so further atoms may have to be kept. The loop ends when all
    necessary atoms are predicted. It terminates, because the set of kept atoms only grows.
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
