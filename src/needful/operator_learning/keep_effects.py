"""Keep necessary atoms that an operator would delete (EnsureNecAtomsSat of the paper).

An operator's deletes, in particular the quantified ones, may match an atom that the rest of the plan needs.
In this case, the learner adds a copy of the operator that has the atom both as a precondition and as an add
effect. The copy predicts that the atom still holds. Such an atom is called a keep effect.

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
                known = fitted.candidate.hints.get(transition.transition_id, {})
                # The parameters of the copy are in the same order, but may have narrower types.
                pairs = zip(fitted.candidate.operator.parameters, copy.parameters)  # noqa: B905
                hint = {new: known[old] for old, new in pairs if old in known}
                hint.update(list(zip(copy.parameters, bound, strict=True))[len(objects) :])
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
