"""Add effects that tasks with more objects need, although no demonstration needed them.

If all training tasks have one object, no demonstration needs HandEmpty after the object was placed. Hill
climbing then leaves this effect out, and no plan can pick up a second object. An atom is added to the
effects of an operator under these conditions:

- The atom held after every transition of the operator, and there are at least two transitions.
- The operator does not predict the atom yet: it became true, or a quantified delete matches it.
- Some operator has the atom's predicate as a precondition, and some operator deletes the predicate.
  Otherwise no plan needs the effect, or the predicate stays true.
- The number of false claims (predicted atoms that do not hold) does not increase; see `validity`.

The paper has no such step: its operators predict only changes that were necessary in a demonstration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from needful.core.atoms import LiftedAtom
from needful.core.operators import Operator
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import common_atoms_after, lifted_atoms
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.partition import FittedOperator

# The number of transitions that must agree. With one transition, every change looks reliable.
MIN_TRANSITIONS = 2


def necessary_effects_only(climb: Climb, problem: LearningProblem) -> Climb:
    """Return `climb` unchanged: operators predict only necessary effects, as in the paper."""
    return climb


def reliable_effects(climb: Climb, problem: LearningProblem) -> Climb:
    """Return `climb` with operators that also predict effects that always happened.

    The description of this module lists the conditions for such an effect.
    """
    hypothesis = climb.hypothesis
    fitted = list(hypothesis.fitted)
    reusable = _reusable_predicates(one.operator for one in fitted)
    claims = problem.validity.count(one.operator for one in fitted)
    for index, one in enumerate(fitted):
        for atom in _candidates(one, reusable, problem):
            earlier = fitted[index]
            extended = replace(earlier.operator, add_effects=earlier.operator.add_effects | {atom})
            fitted[index] = replace(earlier, operator=extended)
            if problem.validity.count(each.operator for each in fitted) > claims:
                fitted[index] = earlier
    if tuple(fitted) == hypothesis.fitted:
        return climb
    reached = problem.with_fitted(hypothesis, tuple(fitted))
    if reached.coverage.uncovered > hypothesis.coverage.uncovered:
        return climb
    return climb.add_step("predict", reached)


def _reusable_predicates(operators: Iterable[Operator]) -> frozenset[str]:
    """Return the names of predicates that some operator requires and some operator deletes."""
    required, deleted = set[str](), set[str]()
    for operator in operators:
        required |= {atom.predicate.name for atom in operator.preconditions}
        deleted |= {atom.predicate.name for atom in operator.delete_effects}
        deleted |= {pattern.predicate.name for pattern in operator.delete_patterns}
    return frozenset(required & deleted)


def _candidates(
    fitted: FittedOperator, reusable: frozenset[str], problem: LearningProblem
) -> Iterator[LiftedAtom]:
    """Yield atoms that hold after all transitions of an operator, but that it does not always predict."""
    operator, data = fitted.operator, fitted.data
    if len(data) < MIN_TRANSITIONS:
        return
    predictions = [problem.matcher.predict(operator, transition, objects) for transition, objects in data]
    after = common_atoms_after(operator, data)
    for key in sorted(after):
        predicted = all(
            transition.table.ground((key,), objects) & prediction
            for (transition, objects), prediction in zip(data, predictions, strict=True)
        )
        if key[0] in reusable and not predicted:
            yield from lifted_atoms(operator.parameters, {key: after[key]})
