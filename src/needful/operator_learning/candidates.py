"""The operators under consideration, stripped to what partitioning looks at.

Hill climbing searches over sets of stripped operators ⟨args, K, E+, ∅, ∅, C⟩; preconditions and
deletes are always induced afresh from the data that each one explains. Quantified deletes that were
widened in the end stay: they are forgotten in addition to what the data show.
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
    """A stripped operator in canonical form.

    Attributes:
        operator: has add effects and keep effects only, and quantified deletes that were widened.
        text: the operator in writing, which candidates are sorted by.
        places: for each variable its own place among the parameters and those of the variables that
            are interchangeable with it.
        hints: for some transitions, the object number that a variable was introduced for. Groundings
            that agree with the hint are preferred there.
        pinned: transitions that belong to this candidate whatever the scores say.
    """

    operator: Operator
    text: str
    places: Mapping[Variable, tuple[int, ...]]
    hints: Mapping[TransitionId, Mapping[Variable, int]]
    pinned: frozenset[TransitionId] = frozenset()

    @property
    def controller(self) -> Controller:
        """The operator's controller."""
        return self.operator.controller

    def agrees(self, objects: Sequence[int], transition: TransitionId) -> bool:
        """Return whether a grounding binds what the hint says, up to exchange of interchangeables."""
        hint = self.hints.get(transition, {})
        return all(
            number in {objects[place] for place in self.places[variable]}
            for variable, number in hint.items()
        )


def strip(operator: Operator) -> Operator:
    """Return the operator with keep effects as its only preconditions, and without atomic deletes."""
    return replace(operator, preconditions=operator.keep_effects, delete_effects=frozenset())


def canonical_candidate(
    operator: Operator,
    hints: Mapping[TransitionId, Mapping[Variable, int]],
    pinned: frozenset[TransitionId] = frozenset(),
) -> Candidate:
    """Strip an operator and rename its variables canonically, hints included."""
    stripped, renaming = canonical_form(strip(operator))
    renamed = {
        transition: {renaming[variable]: number for variable, number in hint.items()}
        for transition, hint in hints.items()
    }
    place = {variable: index for index, variable in enumerate(stripped.parameters)}
    alone = tuple((variable,) for variable in stripped.parameters)
    places = {
        variable: tuple(place[other] for other in group)
        for group in (*alone, *interchangeable(stripped))
        for variable in group
    }
    return Candidate(stripped, stripped.text, places, renamed, pinned)


def merge(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Collapse candidates with equal operators; return them in the order of the operators' text."""
    merged: dict[Operator, Candidate] = {}
    for candidate in candidates:
        known = merged.get(candidate.operator)
        if known is None:
            merged[candidate.operator] = candidate
        else:
            hints = {**candidate.hints, **known.hints}
            merged[candidate.operator] = replace(known, hints=hints, pinned=known.pinned | candidate.pinned)
    return tuple(sorted(merged.values(), key=lambda candidate: candidate.text))
