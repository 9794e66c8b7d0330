"""Find transitions that are more likely mistakes than knowledge, so that the learner can ignore them.

Imperfect demonstrations contain transitions that differ from almost all others of the same action. There
are two signs of such outliers:

- An operator explains almost none of its controller's transitions. It may describe a chance effect.
- An atom holds before almost all transitions of an operator, but not before this one. The atom may be a
  precondition that a detector missed in one state.
"""

from __future__ import annotations

from collections import Counter

from needful.abstraction.atom_table import AtomKey, bits
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.induction import Datum, liftable_atoms_before
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem
from needful.operator_learning.unnamed_objects import purposeless_steps

# An operator that explains at most this share of its controller's transitions may be a mistake.
RARE = 0.02
# With noisy atoms, at most this share of an operator's transitions may lack one of its preconditions.
NOISE = 0.08
# If more than this share of all steps has no purpose, a precondition was probably lost because of noise.
MANY = 0.25


def find_outliers(hypothesis: Hypothesis, problem: LearningProblem, noisy: bool) -> set[TransitionId]:
    """Return the transitions that are more likely mistakes than knowledge.

    Transitions with wrong atoms are searched for only if the demonstrations are `noisy`, or if many steps
    have no purpose. Such steps may establish a precondition that was lost because of a wrong atom.
    """
    found = rare_operator_transitions(hypothesis, problem)
    if noisy or len(purposeless_steps(hypothesis)) > MANY * problem.size:
        found |= noisy_transitions(hypothesis)
    return found


def ignoring_pays(new: Hypothesis, old: Hypothesis, ignored: int, noisy: bool) -> bool:
    """Return whether operators that were learned without outliers (`new`) are better than the `old` ones.

    The new operators must be fewer, or more than `ignored` steps without purpose must have got a purpose.
    If the demonstrations are `noisy`, it is enough that the same number of operators have more
    preconditions in total, because wrong atoms can hide preconditions.
    """
    if new.coverage.uncovered > old.coverage.uncovered:
        return False
    gained = len(purposeless_steps(old)) - len(purposeless_steps(new))
    more = len(new.fitted) - len(old.fitted)
    stronger = more == 0 and _precondition_count(new) > _precondition_count(old)
    return more < 0 or gained > ignored or (noisy and stronger)


def _precondition_count(hypothesis: Hypothesis) -> int:
    return sum(len(fitted.operator.preconditions) for fitted in hypothesis.fitted)


def rare_operator_transitions(hypothesis: Hypothesis, problem: LearningProblem) -> set[TransitionId]:
    """Return the transitions of operators that explain almost none of their controller's transitions."""
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        transitions = problem.transitions.by_controller[fitted.operator.controller.name]
        if len(fitted.data) <= RARE * len(transitions):
            found |= {transition.transition_id for transition, _ in fitted.data}
    return found


def noisy_transitions(hypothesis: Hypothesis) -> set[TransitionId]:
    """Return the transitions that differ from almost all others of their operator.

    A transition differs if it lacks an atom that holds before almost all others, or if it made an atom
    false that almost no other made false.
    """
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        few = NOISE * len(fitted.data)
        held = {datum: set(liftable_atoms_before(fitted.operator, datum)) for datum in fitted.data}
        deleted = {datum: _deleted(datum) for datum in fitted.data}
        holding = Counter(key for keys in held.values() for key in keys)
        deleting = Counter(key for keys in deleted.values() for key in keys)
        almost_always = {key for key, count in holding.items() if 0 < len(held) - count <= few}
        hardly_ever = {key for key, count in deleting.items() if count <= few}
        found |= {
            datum[0].transition_id
            for datum in fitted.data
            if almost_always - held[datum] or deleted[datum] & hardly_ever
        }
    return found


def _deleted(datum: Datum) -> set[AtomKey]:
    """Return the keys of the atoms that became false in a transition.

    In a key, an object is replaced by the index of its parameter, or by -1 if it has no parameter.
    """
    transition, objects = datum
    index_of = {number: index for index, number in enumerate(objects)}
    table = transition.table
    return {
        (table.atoms[atom].predicate.name, tuple(index_of.get(n, -1) for n in table.arguments[atom]))
        for atom in bits(transition.deleted)
    }
