"""Divide an operator into cases with different conditions.

For example, a drawer can be pulled out if it is the topmost one, or if the drawer above it is closed.
Neither of the two conditions held before all transitions of `pull(drawer)`, but one of them held before
each transition. The operator is divided into one operator per case.

A case is a set of atoms that held before some of the transitions: atoms over the operator's parameters, or
atoms about one unnamed object (an object to which no parameter is bound). `unnamed_objects` decides which
divisions are accepted.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from operator import or_
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, bits, lifted_key
from needful.core.operators import Operator
from needful.operator_learning.condition_tests import ANYTHING
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.opportunities import Opportunities
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import (
    Signature,
    SignatureMasks,
    atoms_about_unnamed,
    predicates_of,
)
from needful.operator_learning.unnamed_conditions import (
    Condition,
    condition_of,
    named_atoms,
    named_condition,
    witnesses,
)

# The maximum number of cases, and the minimum number of transitions of a case.
MAX_CASES = 4
MIN_TRANSITIONS = 2
# `supplied_keys` returns atoms that held before at least this number of an operator's transitions.
MIN_SUPPLIED = 2
# The maximum number of divisions of an operator for which the evidence is computed.
MAX_DIVISIONS = 20
# The evidence for a division is reduced by this number of bits for each case after the first one, because a
# division into more cases fits the transitions more easily by chance.
BITS_PER_CASE = 2.0


class Division(NamedTuple):
    """A division of an operator into cases: one condition per case, and the evidence for it in bits."""

    conditions: tuple[Condition, ...]
    bits: float


def best_division(
    fitted: FittedOperator,
    opportunities: Opportunities,
    supplied: Set[AtomKey],
    predicates: Set[frozenset[str]],
    signatures: SignatureMasks,
    min_bits: float,
) -> Division | None:
    """Return the division of an operator into cases with the most evidence; None if there is no division.

    The division must have at least `min_bits` of evidence.

    One case of the division must contain one of the `supplied` atoms (see `supplied_keys`), or have exactly
    the predicates of one of the sets in `predicates`.
    """
    if not supplied and not predicates:
        return None
    search = _CaseSearch(fitted, signatures, supplied)
    divisions = (
        cases
        for first, members in search.classes.items()
        if not supplied.isdisjoint(first) or predicates_of(first) in predicates
        for cases in search.complete([first], members)
    )
    return search.best(divisions, opportunities, min_bits)


def linking_division(
    fitted: FittedOperator, opportunities: Opportunities, min_bits: float
) -> Division | None:
    """Return a division by atoms that relate parameters which no precondition relates, or None.

    The division must have at least `min_bits` of evidence.

    Two parameters are related if a precondition mentions both, or if both are related to a third one. For
    example, a robot moves from one tile to another, but no precondition relates the two tiles. The cases
    are that the second tile is above, below or beside the first one.
    """
    component = linked_parameters(fitted.operator)
    if len(set(component)) < 2:
        return None
    for datum in fitted.data:
        atoms = named_atoms(datum, datum[0].before)
        if not any(len({component[index] for index in indices}) > 1 for _, indices in atoms):
            return None  # For speed: each case relates parameters, so this transition belongs to no case.
    search = _CaseSearch(fitted, signatures=None)
    largest = search.largest(search.everything)
    divisions = search.complete([largest], search.classes[largest]) if largest is not None else ()
    return search.best(divisions, opportunities, min_bits)


def supplied_keys(fitted: FittedOperator, purposeless: Iterable[EncodedTransition]) -> set[AtomKey]:
    """Return the atoms that an operator may need because steps without purpose added them before.

    A step has no purpose if nothing that it adds is known to be necessary later. `purposeless` contains
    these steps. If the operator needs an atom that such a step added, the step has a purpose after all.
    An atom is returned if it held before at least `MIN_SUPPLIED` of the operator's transitions, each time
    added by such an earlier step. The atoms are lifted: their keys (see `AtomKey`) contain indices of the
    operator's parameters, and mention at most one unnamed object.
    """
    added: dict[int, list[EncodedTransition]] = {}
    for step in purposeless:
        added.setdefault(step.demonstration, []).append(step)
    counts: Counter[AtomKey] = Counter()
    for datum in fitted.data:
        transition, objects = datum
        earlier = (one for one in added.get(transition.demonstration, ()) if one.number < transition.number)
        supplied = functools.reduce(or_, (one.added for one in earlier), 0) & transition.before
        if supplied:
            unnamed = {key for _, key in atoms_about_unnamed(transition, objects, supplied, len(objects))}
            counts.update(named_atoms(datum, supplied) | unnamed)
    return {key for key, count in counts.items() if count >= MIN_SUPPLIED}


class _CaseSearch:
    """Searches for divisions of one operator into cases.

    A case is a set of atoms that held before some of the operator's transitions. Sets of transitions are
    masks: bit i stands for the i-th transition of the operator's data.

    Attributes:
        classes: a map from each case to the transitions before which it held, as a mask.
    """

    def __init__(
        self,
        fitted: FittedOperator,
        signatures: SignatureMasks | None,
        supplied: Set[AtomKey] = frozenset(),
    ) -> None:
        """Find the cases.

        A case about an unnamed object must contain an atom that relates the object to a parameter, or one
        of the `supplied` atoms. If `signatures` is None, no cases about unnamed objects are found, and each
        case must contain an atom about two parameters that no precondition relates.
        """
        self._fitted = fitted
        self._arity = len(fitted.operator.parameters)
        self._signatures = signatures
        self._supplied = sorted(supplied)
        required = required_keys(fitted.operator)
        self._named = [frozenset(named_atoms(datum, datum[0].before)) - required for datum in fitted.data]
        self.everything = (1 << len(fitted.data)) - 1
        self._components = linked_parameters(fitted.operator)
        self.classes = self._find_classes()

    @cached_property
    def _always(self) -> list[Signature]:
        """The maximal sets of atoms that held before all transitions."""
        return self._shared(self.everything)

    def _find_classes(self) -> dict[Signature, int]:
        named: dict[AtomKey, int] = {}
        for index, atoms in enumerate(self._named):
            for key in atoms:
                if self._signatures is not None or self._links_parameters(key):
                    named[key] = named.get(key, 0) | 1 << index
        by_class: dict[int, tuple[set[AtomKey], list[int]]] = {}
        for key, members in named.items():
            by_class.setdefault(members, (set(), []))[0].add(key)
        for feature, members in self._unnamed_features().items():
            by_class.setdefault(members, (set(), []))[1].append(feature)
        found: dict[Signature, int] = {}
        usual = [one for one in by_class if one.bit_count() >= MIN_TRANSITIONS and one != self.everything]
        for members in sorted(usual, key=lambda one: (-one.bit_count(), [*bits(one)])):
            for case in self._shared(members, *by_class[members]):
                found.setdefault(case, members)
        return found

    def _unnamed_features(self) -> dict[int, int]:
        """Return atoms about an unnamed object, and pairs of such atoms, that may define a case.

        An atom or a pair is a mask as in `SignatureMasks`. It is mapped to the mask of the transitions
        before which it held for some unnamed object.
        """
        if self._signatures is None:
            return {}
        having: dict[int, int] = {}
        for index, datum in enumerate(self._fitted.data):
            for signature in self._signatures.before(datum):
                having[signature] = having.get(signature, 0) | 1 << index
        typical = self._signatures.links_or(self._supplied, self._arity)
        found: dict[int, int] = {}
        for signature, members in having.items():
            partners = signature & ~self._signatures.with_anything
            for number in bits(signature & typical):
                link = 1 << number
                found[link] = found.get(link, 0) | members
                for other in bits(partners & ~link) if link & self._signatures.links else ():
                    pair = link | 1 << other
                    found[pair] = found.get(pair, 0) | members
        return found

    def _links_parameters(self, key: AtomKey) -> bool:
        """Return whether an atom mentions two parameters that no precondition relates to each other."""
        return len({self._components[index] for index in key[1]}) > 1

    def _shared(
        self, members: int, named: Set[AtomKey] | None = None, unnamed: Sequence[int] | None = None
    ) -> list[Signature]:
        """Return the maximal sets of atoms that held before all transitions of the mask `members`.

        There are two kinds of sets: atoms over the operator's parameters, and atoms about one unnamed
        object. The last two arguments restrict the result. With `named`, a set over parameters must contain
        one of these atoms. With `unnamed`, a set about an unnamed object must contain all atoms of one of
        these masks.
        """
        ordered = list(bits(members))
        found: list[Signature] = []
        if named is None or named:
            atoms = frozenset[AtomKey].intersection(*(self._named[index] for index in ordered))
            if atoms and (named is None or not named.isdisjoint(atoms)):
                found.append(atoms)
        masks = self._signatures
        if masks is None:
            return [one for one in found if any(map(self._links_parameters, one))]
        if unnamed is None or unnamed:
            shared = masks.shared([self._fitted.data[index] for index in ordered])
            typical = masks.links_or(self._supplied, self._arity)
            found += (
                masks.decode(one, self._arity)
                for one in shared
                if one & typical and (unnamed is None or any(not feature & ~one for feature in unnamed))
            )
        return found

    def largest(self, rest: int) -> Signature | None:
        """Return the case with the most transitions of the mask `rest`; None if below `MIN_TRANSITIONS`."""
        size = max(((members & rest).bit_count() for members in self.classes.values()), default=0)
        if size < MIN_TRANSITIONS:
            return None
        ties = [case for case, members in self.classes.items() if (members & rest).bit_count() == size]
        return min(ties, key=lambda case: (-len(case), sorted(case)))

    def complete(self, cases: list[Signature], covered: int) -> Iterator[list[Signature]]:
        """Yield divisions that begin with the given cases and cover all transitions."""
        rest = self.everything & ~covered
        if not rest:
            if len(cases) > 1:
                yield cases
            return
        if rest.bit_count() < MIN_TRANSITIONS or len(cases) == MAX_CASES:
            return
        for one in self._shared(rest):
            contained = any(one <= other for other in (*self._always, *cases))
            if not contained and not any(case <= one for case in cases):
                yield [*cases, one]
        following = self.largest(rest)
        if following is not None and rest & ~self.classes[following]:
            yield from self.complete([*cases, following], covered | self.classes[following])

    def best(
        self, divisions: Iterable[list[Signature]], opportunities: Opportunities, min_bits: float
    ) -> Division | None:
        """Return the division with the most evidence; None if none has at least `min_bits`."""
        simplest = sorted(divisions, key=len)[:MAX_DIVISIONS]
        found = [
            (opportunities.bits(*cases) - BITS_PER_CASE * (len(cases) - 1), cases) for cases in simplest
        ]
        if not found:
            return None
        evidence, cases = min(found, key=lambda one: (-one[0], self._size(one[1]), [*map(sorted, one[1])]))
        if evidence < min_bits:
            return None
        conditions = [self.condition(case) for case in _pruned(cases, opportunities)]
        usable = tuple(one for one in conditions if one is not None)
        return Division(usable, evidence) if len(usable) == len(cases) else None

    def _size(self, cases: Iterable[Signature]) -> tuple[int, int]:
        """Return how many atoms of the cases mention unnamed objects, and how many atoms there are."""
        atoms = [indices for case in cases for _, indices in case]
        named = range(self._arity)
        return sum(any(one not in named for one in indices) for indices in atoms), len(atoms)

    def condition(self, case: Signature) -> Condition | None:
        """Return a case as a `Condition`, with the transitions before which it held."""
        data = self._fitted.data
        if all(index in range(self._arity) for _, indices in case for index in indices):
            part = tuple(one for one, atoms in zip(data, self._named, strict=True) if case <= atoms)
            return named_condition(replace(self._fitted, data=part), case)
        part = tuple(one for one in data if witnesses(one, case))
        return condition_of(replace(self._fitted, data=part), part, case)


def _pruned(cases: Sequence[Signature], opportunities: Opportunities) -> list[Signature]:
    """Drop from each case the atoms that mention a second unnamed object and add hardly any evidence.

    The second object can be any object, so its index in the atom is `ANYTHING`.
    """
    pruned, evidence = list(cases), opportunities.bits(*cases)
    for index, case in enumerate(cases):
        for atom in sorted(key for key in case if ANYTHING in key[1]):
            fewer = [*pruned[:index], pruned[index] - {atom}, *pruned[index + 1 :]]
            if fewer[index] and opportunities.bits(*fewer) >= evidence - 1.0:
                pruned = fewer
    return pruned


def required_keys(operator: Operator) -> set[AtomKey]:
    """Return an operator's preconditions as keys: names of predicates with indices of parameters."""
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    return {lifted_key(atom, index_of) for atom in operator.preconditions}


def linked_parameters(operator: Operator) -> list[int]:
    """Return a group number for each parameter; related parameters are in the same group.

    Two parameters are related if a precondition mentions both, or if both are related to a third one.
    """
    component = list(range(len(operator.parameters)))
    for _, indices in required_keys(operator):
        linked = {component[index] for index in indices}
        component = [min(linked) if one in linked else one for one in component]
    return component
