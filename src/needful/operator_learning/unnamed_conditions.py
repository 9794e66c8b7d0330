"""Find conditions on unnamed objects: objects to which no parameter of an operator is bound.

The parameters come from the controller's arguments and the add effects. A condition is a set of atoms that
held before every transition of the operator, about one or more unnamed objects and the parameters.
`unnamed_objects` decides which conditions an operator requires.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_, or_
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.objects import Type
from needful.operator_learning.condition_tests import ANYTHING
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import (
    Signature,
    SignatureMasks,
    atoms_about_unnamed,
    shared_signatures,
    unnamed_objects_with,
)

# A condition on one or more unnamed objects: the atoms about the first object, those about the second one,
# and so on.
SharedCondition: TypeAlias = tuple[Signature, ...]
# The maximum number of conditions on three objects. For example, `turn(screw)` requires that the robot is
# at the place of the part that has the hole with the screw.
MAX_LONGER = 16


@dataclass(frozen=True, slots=True)
class Condition:
    """Atoms about unnamed objects that held before every transition of an operator.

    Attributes:
        atoms: the lifted atoms by key. Indices below the operator's arity stand for its parameters, the
            following ones for the unnamed objects.
        types: the types of the unnamed objects.
        objects: for each transition of the operator, the numbers of the unnamed objects.
        data: the transitions of the operator, in the same order.
    """

    atoms: Signature
    types: tuple[Type, ...]
    objects: tuple[tuple[int, ...], ...]
    data: tuple[Datum, ...]

    def bound_data(self) -> list[Datum]:
        """Return the transitions with the objects of the parameters, followed by the unnamed objects."""
        return [
            (transition, (*objects, *unnamed))
            for (transition, objects), unnamed in zip(self.data, self.objects, strict=True)
        ]


def named_atoms(datum: Datum, atoms: int) -> set[AtomKey]:
    """Return, as lifted atoms, the atoms of a mask that mention only objects bound to parameters."""
    transition, objects = datum
    index_of = {number: index for index, number in enumerate(objects)}
    table = transition.table
    return {
        (table.predicate_of[atom].name, tuple([index_of[number] for number in table.arguments[atom]]))
        for atom in bits(atoms & table.only_about(objects))
    }


def shared_conditions(data: Sequence[Datum], masks: SignatureMasks) -> Iterator[SharedCondition]:
    """Yield the conditions on unnamed objects that held before all transitions in `data`.

    Unnamed objects are those to which no parameter of the operator is bound. A condition is about one such
    object. If its atoms determine this object uniquely in each transition, conditions follow that relate a
    second unnamed object to the first one. If the first object is related to a parameter, conditions that
    relate a third object to the second one come last, at most `MAX_LONGER` of them.
    """
    arity = len(data[0][1])
    linked: list[_Chain] = []
    for one in masks.shared(data):
        first = _Chain((), one, data)
        yield first.condition(masks)
        pairs = list(first.extended(masks))
        yield from (second.condition(masks) for second in pairs)
        if any(masks.mentions(first.last, index) for index in range(arity)):
            linked += pairs
    longer = (third.condition(masks) for second in linked for third in second.extended(masks))
    yield from itertools.islice(longer, MAX_LONGER)


class _Chain(NamedTuple):
    """Unnamed objects, each of which is related to the one before it; the first one to anything.

    Attributes:
        earlier: the atoms about all objects but the last one.
        last: the atoms about the last object, as a mask of `SignatureMasks`.
        data: each transition, with the objects of the parameters and all objects but the last one.
    """

    earlier: SharedCondition
    last: int
    data: Sequence[Datum]

    def condition(self, masks: SignatureMasks) -> SharedCondition:
        """Return the atoms about each of the objects."""
        return (*self.earlier, masks.decode(self.last, len(self.data[0][1])))

    def extended(self, masks: SignatureMasks) -> Iterator[_Chain]:
        """Yield the chains with a further object; none if the last one is not unique in each transition."""
        core = self.last & ~masks.with_anything
        objects = _unique_witnesses(self.data, core, masks) if core else None
        if objects is None:
            return
        data = [
            (transition, (*named, number))
            for (transition, named), number in zip(self.data, objects, strict=True)
        ]
        arity = len(self.data[0][1])
        earlier = (*self.earlier, masks.decode(core, arity))
        for one in masks.shared(data, parameter=arity):
            yield _Chain(earlier, one, data)


def _unique_witnesses(data: Sequence[Datum], mask: int, masks: SignatureMasks) -> list[int] | None:
    """Return, for each transition, the only unnamed object that satisfied a set of atoms before it.

    Return None if there is a transition with several such objects or without one.
    """
    found: list[int] = []
    for datum in data:
        objects = masks.witnesses(datum, mask)
        if objects.bit_count() != 1:
            return None
        found.append(objects.bit_length() - 1)
    return found


def condition_of(
    fitted: FittedOperator,
    data: Sequence[Datum],
    atoms: Signature,
    earlier: Condition | None = None,
    objects: Sequence[int] | None = None,
) -> Condition | None:
    """Return the condition that an unnamed object satisfies `atoms`, in addition to an `earlier` condition.

    `data` contains the operator's transitions, each with the objects of the parameters and of the earlier
    condition, if there is one. `objects` contains the unnamed object for each transition; by default, it is
    the result of `_similar_witnesses`. For each atom with the index `ANYTHING`, which stands for any
    object, a further unnamed object is added to the condition.
    """
    rows = [list(one) for one in earlier.objects] if earlier else [[] for _ in data]
    for row, number in zip(rows, objects or _similar_witnesses(data, atoms), strict=True):
        row.append(number)
    index = len(data[0][1])
    keys = {key for key in atoms if ANYTHING not in key[1]}
    extended = [
        (transition, (*objects, *row)) for (transition, objects), row in zip(fitted.data, rows, strict=True)
    ]
    for count, (name, indices) in enumerate(sorted(key for key in atoms if ANYTHING in key[1]), start=1):
        keys.add((name, tuple(index + count if i == ANYTHING else i for i in indices)))
        key = (name, tuple(index + 1 if i == ANYTHING else i for i in indices))
        for row, partner in zip(rows, _partners(extended, key), strict=True):
            row.append(partner)
    all_atoms = frozenset(keys) | (earlier.atoms if earlier else frozenset())
    return condition_on(fitted, all_atoms, [tuple(row) for row in rows])


def bound_condition(fitted: FittedOperator, shared: SharedCondition) -> Condition | None:
    """Return a shared condition with its objects in each transition of an operator."""
    condition: Condition | None = None
    for atoms in shared:
        data = condition.bound_data() if condition else fitted.data
        condition = condition_of(fitted, data, atoms, condition) if atoms else None
        if condition is None:
            break
    return condition


def named_condition(fitted: FittedOperator, atoms: Signature) -> Condition | None:
    """Return the condition with the given atoms over the operator's parameters, without unnamed objects."""
    return condition_on(fitted, atoms, [()] * len(fitted.data))


def _similar_witnesses(data: Sequence[Datum], atoms: Signature) -> list[int]:
    """Return, for each transition, an unnamed object that satisfied the atoms before it.

    If several objects satisfied the atoms, further objects in these atoms decide. For example, the unnamed
    object is a near place with a vehicle. If a bulldozer was at one of the near places before each
    transition, this place is returned, even if a truck was at another near place.
    """
    found = [witnesses(datum, atoms) for datum in data]
    if any(one.bit_count() > 1 for one in found):
        for key in sorted(one for one in atoms if ANYTHING in one[1]):
            partners = [_partners_of(datum, one, key) for datum, one in zip(data, found, strict=True)]
            kind = _narrowest_shared_type(data, partners)
            if kind is not None:
                right = [transition.table.of_type(kind) for transition, _ in data]
                found = [
                    sum(1 << number for number, others in one.items() if others & mask)
                    for mask, one in zip(right, partners, strict=True)
                ]
    return [first_witness(datum, atoms, among) for datum, among in zip(data, found, strict=True)]


def _partners_of(datum: Datum, numbers: int, key: AtomKey) -> dict[int, int]:
    """Return, for each object in the mask `numbers`, the mask of its partners in an atom.

    For example, for the atom At(`ANYTHING`, place), the partners of a place are the objects at this place.
    """
    transition, objects = datum
    name, indices = key
    further = (name, tuple(len(objects) + 1 if index == ANYTHING else index for index in indices))
    return {
        number: unnamed_objects_with(further, (transition, (*objects, number))) for number in bits(numbers)
    }


def _narrowest_shared_type(data: Sequence[Datum], partners: Sequence[dict[int, int]]) -> Type | None:
    """Return the narrowest type that a partner (see `_partners_of`) has in each transition, or None."""
    shared: set[Type] | None = None
    for (transition, _), one in zip(data, partners, strict=True):
        numbers = functools.reduce(or_, one.values(), 0)
        kinds = {transition.table.objects[number].type for number in bits(numbers)}
        types = {ancestor for kind in kinds for ancestor in kind.ancestry()}
        shared = types if shared is None else shared & types
    narrowest = [one for one in shared or () if not any(other.parent == one for other in shared or ())]
    return narrowest[0] if len(narrowest) == 1 else None


def first_witness(datum: Datum, atoms: Signature, among: int = -1) -> int:
    """Return the first object of the mask `among` that satisfied the atoms, and is bound to no parameter.

    Objects for which the transition made one of the atoms false are preferred.
    """
    transition, objects = datum
    found = witnesses(datum, atoms) & among
    if found.bit_count() > 1:
        pairs = atoms_about_unnamed(transition, objects, transition.deleted, len(objects))
        changed = functools.reduce(or_, (1 << number for number, key in pairs if key in atoms), 0)
        found = found & changed or found
    return next(bits(found))


def witnesses(datum: Datum, atoms: Signature) -> int:
    """Return the mask of the objects, not bound to parameters, that satisfied atoms before a transition."""
    return functools.reduce(and_, (unnamed_objects_with(key, datum) for key in atoms))


def _partners(data: Sequence[Datum], key: AtomKey) -> list[int]:
    """Return, for each transition, an unnamed object that satisfied an atom before it.

    In the atom's key, the highest index stands for this object. If possible, the objects are chosen so that
    further atoms about them held before all transitions.
    """
    atoms = next((one for one in shared_signatures(data) if key in one), frozenset({key}))
    return [first_witness(datum, atoms) for datum in data]


def condition_on(
    fitted: FittedOperator, atoms: Signature, objects: Sequence[tuple[int, ...]]
) -> Condition | None:
    """Return the condition with a type for each of its unnamed objects.

    An unnamed object may be a different object in each transition. Its type is the narrowest common
    supertype of all these objects. Atoms whose predicates do not accept these types are left out. Return
    None if the objects have no common supertype, or if no atom about one of the unnamed objects remains.
    """
    arity = len(fitted.operator.parameters)
    types: list[Type] = []
    for column in zip(*objects, strict=True):
        common: Type | None = None
        for (transition, _), number in zip(fitted.data, column, strict=True):
            kind = transition.table.objects[number].type
            common = kind if common is None else common.nearest_common_ancestor(kind)
            if common is None:
                return None
        assert common is not None
        types.append(common)
    all_types = [*(variable.type for variable in fitted.operator.parameters), *types]
    predicates = fitted.data[0][0].table.predicates()
    fitting = frozenset(
        (name, indices)
        for name, indices in atoms
        if name in predicates
        and all(
            all_types[index].is_subtype_of(kind)
            for index, kind in zip(indices, predicates[name].types, strict=True)
        )
    )
    mentioned = {index for _, indices in fitting for index in indices}
    if not set(range(arity, len(all_types))) <= mentioned:
        return None
    return Condition(fitting, tuple(types), tuple(objects), fitted.data)
