"""Explain learned operators: from which transitions they were induced, and why they have their effects.

`gather_evidence` collects the transitions that each operator was induced from. `explain_operator` finds the
reasons for the operator's effects in these transitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
from needful.core.demonstrations import Demonstration
from needful.core.objects import Abbreviated, Object
from needful.core.operators import DeletePattern, GroundOperator, Operator
from needful.operator_learning.learned_operators import LearnedOperators

GOAL = "goal"


@dataclass(frozen=True, slots=True, repr=False)
class TransitionEvidence(Abbreviated):
    """One transition that an operator was induced from.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the transition in the demonstration.
        objects: the objects that the operator's parameters are bound to.
        necessary: the atoms that must hold after the transition (α in the paper), or None if
            backchaining did not reach the transition.
        added: the atoms that became true.
        deleted: the atoms that became false.
        needed_by: for each change that is needed later, a text that names what needs it: `goal`, or the
            first later operator that needs it and the step of this operator. A change is a necessary atom
            that became true, or an atom that became false and is a negative precondition of a later
            operator.
    """

    demonstration: int
    step: int
    objects: tuple[Object, ...]
    necessary: AbstractState | None
    added: AbstractState
    deleted: AbstractState
    needed_by: Mapping[GroundAtom, str]


def gather_evidence(
    learned: LearnedOperators, demonstrations: Sequence[Demonstration]
) -> dict[str, tuple[TransitionEvidence, ...]]:
    """Return a map from each operator's name to the transitions that it was induced from.

    Operators that are excluded from planning are left out.
    """
    evidence = {}
    for data in learned.planning_data:
        found = []
        for grounding in data.groundings:
            index, step = grounding.demonstration, grounding.step
            demonstration = demonstrations[index]
            before, after = demonstration.abstract_states[step : step + 2]
            necessary = learned.necessary[index][step + 1]
            needed = (necessary or frozenset()) - before | learned.forbidden_after(index, step) & before
            found.append(
                TransitionEvidence(
                    index,
                    step,
                    grounding.objects,
                    necessary,
                    after - before,
                    before - after,
                    {atom: _find_consumer(atom, learned, index, step) for atom in sorted(needed)},
                )
            )
        evidence[data.operator.name] = tuple(found)
    return evidence


@dataclass(frozen=True, slots=True, repr=False)
class Occurrence(Abbreviated):
    """An effect of an operator as it occurred in one transition.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the transition in the demonstration.
        atom: the ground atom that became true, became false, or stayed true because it is a precondition
            and an add effect (a keep effect).
        needed_by: for an add effect, what needs the atom: a later step or the goal. For a delete effect,
            the later step that needs the atom to be false, if any. None for other effects.
    """

    demonstration: int
    step: int
    atom: GroundAtom
    needed_by: str | None = None

    def __str__(self) -> str:
        because = f", needed by {self.needed_by}" if self.needed_by else ""
        return f"{self.atom} in demonstration {self.demonstration}, step {self.step + 1}{because}"


@dataclass(frozen=True, slots=True, repr=False)
class Reason(Abbreviated):
    """The reason for one effect of an operator: how often it occurred, and its first occurrence.

    Attributes:
        count: the number of transitions in which the effect occurred. `OperatorExplanation` defines for
            each kind of effect which transitions are counted.
        first: the effect in the first counted transition, or None if no transition is counted.
    """

    count: int
    first: Occurrence | None


@dataclass(frozen=True, slots=True, repr=False)
class OperatorExplanation(Abbreviated):
    """The reason for each effect of an operator.

    A `Reason` counts transitions that the operator was induced from. Which of them are counted depends on
    the kind of effect.

    Attributes:
        operator: the explained operator.
        transitions: the number of transitions that it was induced from.
        demonstrations: the number of demonstrations that these transitions belong to.
        adds: the reason for each add effect; counts transitions in which its atom became true and was
            necessary.
        keeps: the reason for each keep effect (an add effect that is also a precondition); counts
            transitions after which its atom was necessary.
        deletes: the reason for each delete effect that is a single atom; counts transitions in which this
            atom became false.
        patterns: the reason for each delete effect with wildcards (see `DeletePattern`); counts transitions
            in which it matches an atom that became false and that is in no single-atom delete effect.
        not_predicted: for each predicate's name, how many of its atoms became true in the transitions
            although the operator does not add them.
    """

    operator: Operator
    transitions: int
    demonstrations: int
    adds: Mapping[LiftedAtom, Reason]
    keeps: Mapping[LiftedAtom, Reason]
    deletes: Mapping[LiftedAtom, Reason]
    patterns: Mapping[DeletePattern, Reason]
    not_predicted: Mapping[str, int]


def explain_operator(operator: Operator, evidence: Sequence[TransitionEvidence]) -> OperatorExplanation:
    """Find the reasons for each effect of an operator in the transitions it was induced from."""
    cases = [(one, operator.ground(one.objects)) for one in evidence]

    def added(atom: LiftedAtom, seen: TransitionEvidence, ground: GroundOperator) -> Occurrence | None:
        found = atom.ground(ground.binding)
        if found not in seen.needed_by:
            return None
        return Occurrence(seen.demonstration, seen.step, found, seen.needed_by[found])

    def kept(atom: LiftedAtom, seen: TransitionEvidence, ground: GroundOperator) -> Occurrence | None:
        found = atom.ground(ground.binding)
        return _occurrence(seen, found) if found in (seen.necessary or ()) else None

    def deleted(atom: LiftedAtom, seen: TransitionEvidence, ground: GroundOperator) -> Occurrence | None:
        found = atom.ground(ground.binding)
        if found not in seen.deleted:
            return None
        return Occurrence(seen.demonstration, seen.step, found, seen.needed_by.get(found))

    def matched(
        pattern: DeletePattern, seen: TransitionEvidence, ground: GroundOperator
    ) -> Occurrence | None:
        bound = pattern.ground(ground.binding)
        atoms = sorted(a for a in seen.deleted - ground.delete_effects if bound.matches(a))
        return _occurrence(seen, atoms[0]) if atoms else None

    keeps = operator.keep_effects
    return OperatorExplanation(
        operator,
        len(evidence),
        len({one.demonstration for one in evidence}),
        {a: _reason([added(a, *case) for case in cases]) for a in sorted(operator.add_effects - keeps)},
        {a: _reason([kept(a, *case) for case in cases]) for a in sorted(keeps)},
        {a: _reason([deleted(a, *case) for case in cases]) for a in sorted(operator.delete_effects)},
        {p: _reason([matched(p, *case) for case in cases]) for p in sorted(operator.delete_patterns)},
        _not_predicted(cases),
    )


def _find_consumer(atom: GroundAtom, learned: LearnedOperators, demonstration: int, step: int) -> str:
    """Return a text that names what needs the atom after a step.

    The text names the first later operator that has the atom as a precondition or as a negative
    precondition, and the step of this operator. If there is no such operator, the text is `goal`.
    """
    chain = learned.chains[demonstration]
    for later in range(step + 1, len(chain)):
        operator = chain[later]
        if operator is not None and atom in operator.preconditions | operator.negative_preconditions:
            return f"{operator} at step {later + 1}"
    return GOAL


def _occurrence(seen: TransitionEvidence, atom: GroundAtom) -> Occurrence:
    return Occurrence(seen.demonstration, seen.step, atom)


def _reason(occurrences: Sequence[Occurrence | None]) -> Reason:
    found = [occurrence for occurrence in occurrences if occurrence is not None]
    return Reason(len(found), found[0] if found else None)


def _not_predicted(cases: Sequence[tuple[TransitionEvidence, GroundOperator]]) -> dict[str, int]:
    counts = Counter(
        atom.predicate.name for seen, ground in cases for atom in seen.added - ground.add_effects
    )
    return dict(sorted(counts.items()))
