"""Candidates of hill climbing: operators without the parts that are induced from data.

An operator without these parts is called stripped. It has parameters, a controller, add effects and
required preconditions. The required preconditions are keep effects (atoms that are both preconditions and
add effects) and conditions on objects that are not arguments of the controller (`unnamed_objects`). The
other preconditions and the deletes are induced from the transitions that the operator explains. Hill
climbing searches over sets of stripped operators. Which transitions an operator explains depends on the
other operators of the set, so induction is repeated for each set.

After hill climbing, `merge_types` may add quantified deletes with wider types to a stripped operator. These
are called widened deletes. Induction does not change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, product

from needful.core.atoms import LiftedAtom
from needful.core.canonical import canonical_form, interchangeable
from needful.core.controllers import Controller
from needful.core.objects import Abbreviated, Variable
from needful.core.operators import Operator
from needful.operator_learning.encoding import TransitionId

# The maximum number of interchangeable parameters whose order is changed, and the maximum number of orders;
# see `Candidate.reorderings`.
MAX_REORDERED = 3
MAX_ORDERS = 36


@dataclass(frozen=True, slots=True, repr=False)
class Candidate(Abbreviated):
    """An operator without the parts that are induced from the transitions it explains; see the module.

    Attributes:
        operator: the operator, in canonical form. It has add effects, required preconditions and quantified
            deletes from `merge_types`. The other preconditions and deletes are induced later.
        text: the operator's text, by which candidates are sorted.
        interchangeable_indices: for each parameter, the indices of the parameters that can be swapped with
            it without changing the operator, including its own index.
        hints: for some transitions, a map from some parameters to the numbers of preferred objects. For
            such a transition, groundings with these objects are preferred.
        pinned: transitions that are assigned to this candidate even if other candidates match them better.
    """

    operator: Operator
    text: str
    interchangeable_indices: Mapping[Variable, tuple[int, ...]]
    hints: Mapping[TransitionId, Mapping[Variable, int]]
    pinned: frozenset[TransitionId] = frozenset()

    @property
    def controller(self) -> Controller:
        """The controller that the operator models."""
        return self.operator.controller

    @property
    def conditions(self) -> frozenset[LiftedAtom]:
        """The required preconditions that are not also add effects: conditions on further objects.

        These objects are not arguments of the controller (see `unnamed_objects`).
        """
        return self.operator.preconditions - self.operator.add_effects

    def reorderings(self, objects: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the objects as given, then again with objects of interchangeable parameters swapped.

        `objects` contains one object number per parameter. Objects are not swapped in groups of more than
        `MAX_REORDERED` interchangeable parameters. At most `MAX_ORDERS` orders are yielded.
        """
        groups = {one for one in self.interchangeable_indices.values() if 1 < len(one) <= MAX_REORDERED}
        for orders in islice(product(*map(permutations, sorted(groups))), MAX_ORDERS):
            reordered = list(objects)
            for group, order in zip(sorted(groups), orders, strict=True):
                for index, other in zip(group, order, strict=True):
                    reordered[index] = objects[other]
            yield tuple(reordered)

    def agrees(self, objects: Sequence[int], transition: TransitionId) -> bool:
        """Return whether a grounding binds the objects that the candidate prefers for a transition.

        `objects` contains one object number per parameter. `hints` gives the preferred object of some
        parameters. Each preferred object must be bound to its parameter, or to a parameter that is
        interchangeable with it. If there is no hint for the transition, the result is True.
        """
        hint = self.hints.get(transition, {})
        return all(
            number in {objects[index] for index in self.interchangeable_indices[variable]}
            for variable, number in hint.items()
        )


def canonical_candidate(
    operator: Operator,
    hints: Mapping[TransitionId, Mapping[Variable, int]],
    pinned: frozenset[TransitionId] = frozenset(),
) -> Candidate:
    """Return a candidate with the parameters, preconditions and add effects of an operator.

    All these preconditions become required preconditions; the delete effects are dropped. Variables get
    canonical names, also those in `hints`, which contains the preferred objects for some transitions.
    """
    stripped, renaming = canonical_form(replace(operator, delete_effects=frozenset()))
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

    A merged candidate has the hints and the pinned transitions of all its duplicates. Pinned transitions
    are assigned to the candidate even if other candidates match them better; see `Candidate`. If several
    duplicates have a hint for the same transition, the hint of the first one is kept.
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
