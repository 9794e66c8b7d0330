"""Keep what is necessary and would be forgotten (EnsureNecAtomsSat of the paper).

An operator's deletes, above all the quantified ones, may hit an atom that the rest of the plan needs.
A copy of the operator then asserts that the atom survives: it gets it as precondition and add effect.

Deviation E18, docs/paper_to_code.md: all operators are looked at, not only the newest, and there is
one copy for each distinct set of missing atoms.
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
    """ENSURE_NEC: a copy for every datum whose necessary atoms its operator would forget.

    An atom that was not true before cannot be kept: such a transition needs an operator of its own.
    Each copy remembers which objects its new variables were introduced for.
    """
    copies = []
    for fitted in hypothesis.fitted:
        for transition, objects in fitted.data:
            necessary = hypothesis.coverage.necessary_after(transition)
            if necessary is None or hypothesis.coverage.uses(fitted.operator, objects, transition):
                continue
            missing = necessary & ~problem.matcher.predict(fitted.operator, transition, objects)
            if missing and not missing & ~transition.before:
                copy, bound = keeping(fitted.candidate.operator, transition, objects, missing)
                fresh = zip(copy.parameters, bound, strict=True)
                hint = {
                    **fitted.candidate.hints.get(transition.where, {}),
                    **dict(list(fresh)[len(objects) :]),
                }
                copies.append(canonical_candidate(copy, {transition.where: hint}))
    return tuple(copies)


def keeping(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], missing: int
) -> tuple[Operator, tuple[int, ...]]:
    """Return the operator with the missing atoms as keep effects, and its objects on the transition.

    Objects that the operator did not mention get fresh variables, in the order of their names.
    Variables that are too wide for a kept atom are narrowed to their object's own type.
    """
    table = transition.table
    operator = _narrowed(operator, transition, objects, missing)
    mentioned = {number for atom in bits(missing) for number in table.arguments[atom]}
    fresh = sorted(mentioned - set(objects))
    bound = (*objects, *fresh)
    variables = operator.parameters + tuple(
        Variable(f"?k{place}", table.objects[number].type)
        for place, number in enumerate(fresh, start=len(objects))
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
    """Return the operator with variables that fit the missing atoms."""
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
