"""Add operators until more transitions are covered (ImproveCoverage and EnsureNecAtomsSat of the paper).

An operator's deletes, in particular the quantified ones, may match an atom that the rest of the plan needs.
In this case, the learner adds a copy of the operator that has the atom both as a precondition and as an add
effect. The copy predicts that the atom still holds. Such an atom is called a keep effect.

Deviations E9, E10 and E21, docs/paper_to_code.md: The loop ends when coverage has improved or all
transitions are covered. It also ends when a set of operators occurs for the second time, so it always
terminates. If coverage has not improved by then, an operator with a pinned transition is added: the
transition is assigned to this operator, even if other operators have better scores.

Deviation E18: keep effects are considered for all operators, not only for the newest, and there is one copy
per distinct set of missing atoms.
"""

from __future__ import annotations

from dataclasses import replace

from needful.abstraction.atom_table import bits
from needful.core.canonical import rename
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import induce_operator, lift
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


def copies_with_keep_effects(hypothesis: Hypothesis, problem: LearningProblem) -> tuple[Candidate, ...]:
    """Return copies of the operators that delete necessary atoms; the copies keep these atoms.

    There is one copy for each transition whose operator deletes necessary atoms. The copy has these atoms
    as keep effects. There is no copy if one of the atoms did not hold before the transition: this atom
    cannot be kept, so the transition needs a different operator. A copy may have new variables. Its `hints`
    record the objects of these variables, so that matching it with the transition prefers these objects.
    """
    copies = []
    for fitted in hypothesis.fitted:
        for transition, objects in fitted.data:
            necessary = hypothesis.coverage.necessary_after(transition)
            if necessary is None or hypothesis.coverage.uses(fitted.operator, objects, transition):
                continue
            missing = necessary & ~problem.matcher.predict(fitted.operator, transition, objects)
            if missing and not missing & ~transition.before:
                copy, bound = with_keep_effects(fitted.candidate.operator, transition, objects, missing)
                fresh = zip(copy.parameters, bound, strict=True)
                hint = {
                    **fitted.candidate.hints.get(transition.transition_id, {}),
                    **dict(list(fresh)[len(objects) :]),
                }
                copies.append(canonical_candidate(copy, {transition.transition_id: hint}))
    return tuple(copies)


def with_keep_effects(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], missing: int
) -> tuple[Operator, tuple[int, ...]]:
    """Return the operator with the missing atoms as keep effects, and the objects of its parameters.

    Missing atoms are necessary atoms that the operator would delete. If no parameter is bound to an object
    of a missing atom, a new parameter is added for the object. New parameters are in the order of the
    objects' names. A parameter whose type is too wide for a missing atom gets the type of its object.
    """
    table = transition.table
    operator = _narrowed(operator, transition, objects, missing)
    mentioned = {number for atom in bits(missing) for number in table.arguments[atom]}
    fresh = sorted(mentioned - set(objects))
    bound = (*objects, *fresh)
    variables = operator.parameters + tuple(
        Variable(f"?k{index}", table.objects[number].type)
        for index, number in enumerate(fresh, start=len(objects))
    )
    lifting = {table.objects[number]: variable for number, variable in zip(bound, variables, strict=True)}
    kept = lift(transition, missing, lifting)
    copy = replace(
        operator,
        parameters=variables,
        preconditions=operator.preconditions | kept,
        add_effects=operator.add_effects | kept,
    )
    return copy, bound


def _narrowed(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], missing: int
) -> Operator:
    """Narrow the parameters whose types are too wide for the predicate of a missing atom.

    Each of them gets the type of the object to which it is bound. Return the resulting operator.
    """
    table = transition.table
    bound = dict(zip(objects, operator.parameters, strict=True))
    too_wide = {
        number
        for atom in bits(missing)
        for number, kind in zip(table.arguments[atom], table.atoms[atom].predicate.types, strict=True)
        if number in bound and not bound[number].type.is_subtype_of(kind)
    }
    if not too_wide:
        return operator
    renaming = {
        variable: Variable(variable.name, table.objects[number].type) if number in too_wide else variable
        for number, variable in bound.items()
    }
    return rename(operator, renaming)
