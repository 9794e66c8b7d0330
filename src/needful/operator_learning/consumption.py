"""Find conditions on the objects that an operator consumes: it makes an atom about each of them false.

For example, `load(package)` consumes the place where the package was: At(package, place) becomes false. The
controller does not name the place, but all its uses have this change in common. Such conditions need less
evidence than others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple, TypeVar

from needful.abstraction.atom_table import AtomKey, bits
from needful.operator_learning.condition_tests import ANYTHING
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import (
    Signature,
    SignatureMasks,
    atoms_about_unnamed,
    predicates_of,
    signature_of,
)
from needful.operator_learning.unnamed_conditions import (
    Condition,
    condition_of,
    condition_on,
    named_atoms,
    named_condition,
)

# The maximum number of objects in a group (see `consumed_groups`). Actions that consume larger groups are
# rare, and all orders of a group are tried.
MAX_GROUP = 3

K = TypeVar("K", AtomKey, tuple[AtomKey, int])
V = TypeVar("V")


class Consumption(NamedTuple):
    """An unnamed object that every transition of an operator consumes.

    To consume means to make an atom about the object false. The object may differ between the transitions,
    but the lifted atom is the same: it has the same predicate, and the same parameters as its other
    arguments.

    Attributes:
        atoms: the atoms about the object that held before every transition.
        objects: the number of the object in each transition.
        replaced: whether each transition also makes this lifted atom true for another unnamed object.
    """

    atoms: Signature
    objects: tuple[int, ...]
    replaced: bool


def consumed_objects(fitted: FittedOperator) -> list[Consumption]:
    """Return the unnamed objects about which every transition of an operator made an atom false.

    Unnamed objects are those to which no parameter of the operator is bound.
    """
    common, per_datum = _in_every_transition(fitted, lambda datum: changed_once(datum, datum[0].deleted))
    added = [changed_once(datum, datum[0].added) for datum in fitted.data]
    found: dict[tuple[int, ...], Consumption] = {}
    for key in common:
        objects = tuple(one[key] for one in per_datum)
        signatures = [
            signature_of(number, datum) for datum, number in zip(fitted.data, objects, strict=True)
        ]
        replaced = all(key in one for one in added)
        atoms = frozenset.intersection(*signatures)
        found.setdefault(objects, Consumption(atoms, objects, replaced))
    return list(found.values())


def consumed_pairs(fitted: FittedOperator) -> list[Condition]:
    """Return conditions on two unnamed objects: every transition made an atom about both of them false.

    For example, `serve(client)` takes a batch out of a tank and makes In(batch, tank) false, but neither
    the batch nor the tank is an argument. In each transition, the lifted atom must become false for exactly
    one pair of objects.
    """
    arity = len(fitted.operator.parameters)
    common, per_datum = _in_every_transition(fitted, _deleted_pairs)
    found: dict[tuple[tuple[int, int], ...], Condition] = {}
    for key in common:
        pairs = tuple(one[key] for one in per_datum)
        extended = [
            (transition, (*objects, *pair))
            for (transition, objects), pair in zip(fitted.data, pairs, strict=True)
        ]
        held = (named_atoms(datum, datum[0].before) for datum in extended)
        atoms = frozenset(key for key in set.intersection(*held) if max(key[1], default=-1) >= arity)
        condition = condition_on(fitted, atoms, pairs)
        if condition is not None:
            found.setdefault(pairs, condition)
    return list(found.values())


def consumed_groups(fitted: FittedOperator) -> list[Condition]:
    """Return the conditions on groups of unnamed objects that every transition consumed alike.

    The same lifted atom became false for each object of the group. For example, `hoist(crate)` takes both
    hands and makes Free(hand) false for each of them. The number of objects must be the same in all
    transitions. Their order is chosen one transition after the other, such that it has many atoms in common
    with the earlier ones: if the first object is the left hand, it is the left hand in all transitions.
    """
    arity = len(fitted.operator.parameters)
    common, per_datum = _in_every_transition(fitted, _deleted_groups)
    found: list[Condition] = []
    for key in common:
        rows: list[tuple[int, ...]] = []
        atoms: set[AtomKey] = set()
        for (transition, objects), groups in zip(fitted.data, per_datum, strict=True):
            orders = [
                (order, named_atoms((transition, (*objects, *order)), transition.before))
                for order in permutations(groups[key])
            ]
            order, held = max(orders, key=lambda one: len(one[1] & atoms))
            atoms = atoms & held if rows else held
            rows.append(order)
        about_them = frozenset(one for one in atoms if max(one[1], default=-1) >= arity)
        condition = condition_on(fitted, about_them, rows)
        if condition is not None:
            found.append(condition)
    return found


def _in_every_transition(
    fitted: FittedOperator, find: Callable[[Datum], dict[K, V]]
) -> tuple[list[K], list[dict[K, V]]]:
    """Return the sorted keys that `find` returns for every transition, and its results by transition."""
    results: list[dict[K, V]] = []
    common: set[K] = set()
    for datum in fitted.data:
        results.append(find(datum))
        common = common & results[-1].keys() if len(results) > 1 else set(results[-1])
        if not common:
            return [], []
    return sorted(common), results


def _deleted_groups(datum: Datum) -> dict[tuple[AtomKey, int], tuple[int, ...]]:
    """Map each lifted atom that became false for several unnamed objects, and their number, to them."""
    changed = _changed(datum, datum[0].deleted).items()
    return {(key, len(group)): group for key, group in changed if 2 <= len(group) <= MAX_GROUP}


def _deleted_pairs(datum: Datum) -> dict[AtomKey, tuple[int, int]]:
    """Map each lifted atom that became false and mentions two unnamed objects to these two objects.

    A lifted atom that became false for several pairs of objects is left out.
    """
    transition, objects = datum
    found: dict[AtomKey, list[tuple[int, int]]] = {}
    for atom in bits(transition.deleted):
        arguments = transition.table.arguments[atom]
        unnamed = [number for number in dict.fromkeys(arguments) if number not in objects]
        if len(unnamed) == 2:
            index_of = {number: index for index, number in enumerate((*objects, *unnamed))}
            name = transition.table.predicate_of[atom].name
            key = (name, tuple(index_of[number] for number in arguments))
            found.setdefault(key, []).append((unnamed[0], unnamed[1]))
    return {key: pairs[0] for key, pairs in found.items() if len(pairs) == 1}


def changed_once(datum: Datum, changed: int) -> dict[AtomKey, int]:
    """Map each lifted atom that changed and mentions exactly one unnamed object to this object.

    `changed` is the mask of the changed ground atoms. A lifted atom that changed for several unnamed
    objects is left out.
    """
    return {key: numbers[0] for key, numbers in _changed(datum, changed).items() if len(numbers) == 1}


def _changed(datum: Datum, changed: int) -> dict[AtomKey, tuple[int, ...]]:
    """Map each lifted atom that changed and mentions exactly one unnamed object to all such objects."""
    transition, objects = datum
    found: dict[AtomKey, dict[int, None]] = {}
    for number, key in atoms_about_unnamed(transition, objects, changed, len(objects)):
        if ANYTHING not in key[1]:
            found.setdefault(key, {})[number] = None
    return {key: tuple(numbers) for key, numbers in found.items()}


def consumption_classes(fitted: FittedOperator) -> list[Condition]:
    """Divide the transitions of an operator into classes by an atom that they made false.

    For example, one class took food out of a cupboard and made In(food, cupboard) false, the other class
    made On(food, table) false. All transitions of a class made the same lifted atom false. It mentions at
    most one unnamed object (an object to which no parameter is bound).

    The result has one condition per class: the atoms about the unnamed object that held before all
    transitions of the class, or only the atom itself if it has no unnamed object. The result is empty if
    there are fewer than two classes, or if a class has fewer than two transitions. If several divisions are
    possible, atoms that became false more often are preferred.
    """
    if not all(transition.deleted for transition, _ in fitted.data):
        return []  # A transition that made no atom false belongs to no class.
    if _first_deletes_only_common_atoms(fitted.data):
        return []  # For speed: no atom distinguishes the first transition, so it belongs to no class.
    unnamed = [changed_once(datum, datum[0].deleted) for datum in fitted.data]
    named = [named_atoms(datum, datum[0].deleted) for datum in fitted.data]
    support: dict[AtomKey, set[int]] = {}
    for index in range(len(fitted.data)):
        for key in (*unnamed[index], *named[index]):
            support.setdefault(key, set()).add(index)
    waiting, found = set(range(len(fitted.data))), list[Condition]()
    for key in sorted(support, key=lambda key: (-len(support[key]), key)):
        if not 2 <= len(support[key]) < len(fitted.data) or not support[key] <= waiting:
            continue
        waiting -= support[key]
        data = tuple(fitted.data[index] for index in sorted(support[key]))
        part = replace(fitted, data=data)
        if key in named[min(support[key])]:
            condition = named_condition(part, frozenset({key}))
        else:
            objects = [unnamed[index][key] for index in sorted(support[key])]
            signatures = [signature_of(number, one) for one, number in zip(data, objects, strict=True)]
            atoms = frozenset(one for one in frozenset.intersection(*signatures) if ANYTHING not in one[1])
            condition = condition_on(part, atoms, [(number,) for number in objects])
        if condition is None:
            return []
        found.append(condition)
    return found if len(found) >= 2 and not waiting else []


def with_second_objects(
    fitted: FittedOperator, classes: Sequence[Condition], masks: SignatureMasks
) -> list[Condition]:
    """Extend each of the `consumption_classes` of an operator by a condition on a second unnamed object.

    For example, taking food out of a cupboard requires that the robot is at the cupboard's place, and
    taking it from a table requires that the robot is at the table's place. There must be an atom that
    relates the second object to the first one, and an atom of another predicate about the second object.
    Classes without such atoms are returned unchanged.
    """
    arity = len(fitted.operator.parameters)
    extended: list[Condition] = []
    for one in classes:
        data = one.bound_data()
        found = masks.shared(data, parameter=arity) if len(one.types) == 1 else []
        sets = (masks.decode(mask & ~masks.with_anything, arity + 1) for mask in found)
        atoms = next((one for one in sets if len(predicates_of(one)) > 1), None)
        further = condition_of(replace(fitted, data=one.data), data, atoms, one) if atoms else None
        extended.append(further or one)
    return extended


def _first_deletes_only_common_atoms(data: Sequence[Datum]) -> bool:
    """Return whether all lifted atoms that the first transition made false became false in each transition.

    Return False if the first transition made an atom about an unnamed object false.
    """
    keys = named_atoms(data[0], data[0][0].deleted)
    return not changed_once(data[0], data[0][0].deleted) and all(
        (transition.table.ground(keys, objects) & transition.deleted).bit_count() == len(keys)
        for transition, objects in data
    )
