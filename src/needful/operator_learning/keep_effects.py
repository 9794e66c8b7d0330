"""Keep necessary atoms that an operator would delete (EnsureNecAtomsSat of the paper).

An operator's deletes, in particular the quantified ones, may match an atom that the rest of the plan needs.
A copy of the operator then has the atom as a precondition and as an add effect: it predicts that the atom
still holds. Such an atom is called a keep effect.

Deviation E18, docs/paper_to_code.md: all operators are considered, not only the newest, and there is one
copy per distinct set of missing atoms.
"""

from __future__ import annotations

from dataclasses import replace

from needful.abstraction.atom_table import bits
from needful.core.canonical import rename
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import lift
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem


def copies_with_keep_effects(hypothesis: Hypothesis, problem: LearningProblem) -> tuple[Candidate, ...]:
    """Copy operators that delete necessary atoms; the copies keep these atoms (ENSURE_NEC).

    There is one copy for each transition whose operator deletes necessary atoms. It has these atoms as keep
    effects. There is no copy if one of the atoms did not hold before the transition, because such an atom
    cannot be kept: the transition needs a different operator. The `hints` of the copy record the objects
    that its new variables were introduced for, so that these objects are preferred when the copy is matched
    with the transition.
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

    Missing atoms are necessary atoms that the operator would delete. Objects outside the operator get new
    variables, in the order of their names. Variables whose type is too wide for a kept atom are narrowed to
    their object's type.
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
    """Return the operator with narrower types for variables whose types are too wide for a missing atom."""
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
