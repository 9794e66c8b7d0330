"""Candidates of hill climbing: operators without the parts that are induced from data.

Hill climbing searches over sets of such stripped operators. A stripped operator has parameters, a
controller, add effects and keep effects (atoms that are both preconditions and add effects). Its other
preconditions and its deletes are induced from the transitions that it explains. These depend on the other
operators of the set, so they are induced again for each set. A stripped operator may also have quantified
deletes to which `merge_types` gave wider types. They are not induced again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from needful.core.canonical import canonical_form, interchangeable
from needful.core.controllers import Controller
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.encoding import TransitionId


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stripped operator in canonical form, with preferences for the transitions that it explains.

    Attributes:
        operator: has only add effects, keep effects and widened quantified deletes.
        text: the operator's text, by which candidates are sorted.
        interchangeable_indices: for each variable, the indices of the parameters that can be swapped with
            it without changing the operator. Its own index is included.
        hints: for some transitions, the preferred objects (by number) of some variables. On such a
            transition, groundings that bind these variables to these objects are preferred.
        pinned: transitions that are assigned to this candidate even if others match them better.
    """

    operator: Operator
    text: str
    interchangeable_indices: Mapping[Variable, tuple[int, ...]]
    hints: Mapping[TransitionId, Mapping[Variable, int]]
    pinned: frozenset[TransitionId] = frozenset()

    def __repr__(self) -> str:
        counts = f"hints={len(self.hints)}, pinned={len(self.pinned)}"
        return f"Candidate({self.operator.name!r}, parameters={len(self.operator.parameters)}, {counts})"

    @property
    def controller(self) -> Controller:
        """The operator's controller."""
        return self.operator.controller

    def agrees(self, objects: Sequence[int], transition: TransitionId) -> bool:
        """Return whether a grounding agrees with the transition's hint; True if the transition has none.

        `objects` has the number of each parameter's object. The hint has preferred objects of variables.
        Interchangeable variables may swap objects.
        """
        hint = self.hints.get(transition, {})
        return all(
            number in {objects[index] for index in self.interchangeable_indices[variable]}
            for variable, number in hint.items()
        )


def strip(operator: Operator) -> Operator:
    """Return the operator with keep effects as its only preconditions, and without `delete_effects`."""
    return replace(operator, preconditions=operator.keep_effects, delete_effects=frozenset())


def canonical_candidate(
    operator: Operator,
    hints: Mapping[TransitionId, Mapping[Variable, int]],
    pinned: frozenset[TransitionId] = frozenset(),
) -> Candidate:
    """Strip an operator and rename its variables canonically, also in `hints`; return the candidate."""
    stripped, renaming = canonical_form(strip(operator))
    renamed = {
        transition: {renaming[variable]: number for variable, number in hint.items()}
        for transition, hint in hints.items()
    }
    index_of = {variable: index for index, variable in enumerate(stripped.parameters)}
    singletons = tuple((variable,) for variable in stripped.parameters)
    interchangeable_indices = {
        variable: tuple(index_of[other] for other in group)
        for group in (*singletons, *interchangeable(stripped))
        for variable in group
    }
    return Candidate(stripped, stripped.text, interchangeable_indices, renamed, pinned)


def merge_duplicates(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Merge candidates that have the same operator, and return the candidates sorted by text.

    A merged candidate has the hints and the pinned transitions of all its duplicates.
    """
    merged: dict[Operator, Candidate] = {}
    for candidate in candidates:
        known = merged.get(candidate.operator)
        if known is None:
            merged[candidate.operator] = candidate
        else:
            hints = {**candidate.hints, **known.hints}
            merged[candidate.operator] = replace(known, hints=hints, pinned=known.pinned | candidate.pinned)
    return tuple(sorted(merged.values(), key=lambda candidate: candidate.text))
