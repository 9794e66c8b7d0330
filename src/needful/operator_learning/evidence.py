"""Why an operator is the way it is: the transitions behind it and what each one contributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object
from needful.operator_learning.learned_operators import LearnedOperators

GOAL = "goal"


@dataclass(frozen=True, slots=True)
class TransitionEvidence:
    """One transition that an operator was induced from.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the transition in it.
        objects: the objects that the operator's parameters are bound to.
        necessary: α after the transition, or None if backchaining did not reach it.
        added: the atoms that became true.
        deleted: the atoms that became false.
        needed_by: for each necessary atom that became true, who needs it: `goal`, or the operator and
            step whose precondition it is.
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
    """Return the evidence for each operator to plan with, by the operator's name."""
    evidence = {}
    for data in learned.useful:
        found = []
        for grounding in data.groundings:
            place, step = grounding.demonstration, grounding.step
            demonstration = demonstrations[place]
            before, after = demonstration.abstract_states[step : step + 2]
            necessary = learned.necessary[place][step + 1]
            found.append(
                TransitionEvidence(
                    place,
                    step,
                    grounding.objects,
                    necessary,
                    after - before,
                    before - after,
                    {
                        atom: _who_needs(atom, learned, place, step)
                        for atom in sorted((necessary or frozenset()) - before)
                    },
                )
            )
        evidence[data.operator.name] = tuple(found)
    return evidence


def _who_needs(atom: GroundAtom, learned: LearnedOperators, demonstration: int, step: int) -> str:
    """Return the first later step that has the atom as a precondition, or the goal."""
    chain = learned.chains[demonstration]
    for later in range(step + 1, len(chain)):
        operator = chain[later]
        if operator is not None and atom in operator.preconditions:
            return f"{operator} at step {later + 1}"
    return GOAL
