"""Test whether a condition on unnamed objects held before a transition.

A condition is a set of lifted atoms, given by their keys: the name of the predicate, and one index per
argument. An index stands for a parameter of an operator, or for an unnamed object, to which no parameter is
bound. A condition held if its atoms were true for some choice of unnamed objects.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import lru_cache
from operator import or_

from needful.abstraction.atom_table import AtomKey, bits
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import Datum

# An argument of a lifted atom with this index, instead of the index of a variable, can be any object.
ANYTHING = -1
# A key that begins with this character is no atom, but names a type. For example, (":package", (2,)) holds
# if the object with the index 2 is a package.
TYPE_PREFIX = ":"


def holds(atoms: frozenset[AtomKey], arity: int, datum: Datum, distinct: bool = False) -> bool:
    """Return whether some objects satisfy a condition before a transition.

    In the atoms, indices below `arity` stand for the objects of the operator's parameters. Indices from
    `arity` on stand for unnamed objects: any objects can be chosen for them. With `distinct`, they must
    differ from each other and from the objects of the parameters.
    """
    transition, objects = datum
    named, *unnamed = _by_last_object(atoms, arity)
    if not all(atoms_before(key, transition, objects) for key in named):
        return False
    return _satisfiable(unnamed, transition, tuple(objects), distinct)


@lru_cache(maxsize=256)
def _by_last_object(atoms: frozenset[AtomKey], arity: int) -> Sequence[Sequence[AtomKey]]:
    """Group the atoms of a condition by the unnamed object with the highest index that they mention.

    The first group contains the atoms without unnamed objects. Unnamed objects have indices from `arity`
    on. In the result, their indices are consecutive.
    """
    unnamed = sorted({index for _, indices in atoms for index in indices if index >= arity})
    renumbered = {index: arity + rank for rank, index in enumerate(unnamed)}
    groups: list[list[AtomKey]] = [[] for _ in range(len(unnamed) + 1)]
    for name, indices in sorted(atoms):
        key = (name, tuple([renumbered.get(index, index) for index in indices]))
        groups[max(max(key[1], default=ANYTHING) - arity + 1, 0)].append(key)
    return groups


def _satisfiable(
    by_last: Sequence[Sequence[AtomKey]],
    transition: EncodedTransition,
    bound: tuple[int, ...],
    distinct: bool,
) -> bool:
    """Return whether objects for the remaining indices satisfy a condition before a transition.

    `bound` contains the objects already chosen for the first indices. `by_last` contains, for each
    remaining index, the atoms in which this index is the highest.
    """
    if not by_last:
        return True
    table = transition.table
    found = (1 << len(table.objects)) - 1
    for key in by_last[0]:
        found &= satisfying_objects(key, transition, bound)
        if not found:
            return False
    if distinct:
        for number in bound:
            found &= ~(1 << number)
    if len(by_last) == 1:
        return bool(found)
    return any(_satisfiable(by_last[1:], transition, (*bound, one), distinct) for one in bits(found))


def satisfying_objects(key: AtomKey, transition: EncodedTransition, bound: tuple[int, ...]) -> int:
    """Return the mask of the objects that satisfied an atom before a transition.

    In the atom's key, the index `len(bound)` stands for the object to be found. Smaller indices stand for
    the objects in `bound`.
    """
    name, indices = key
    table, last = transition.table, len(bound)
    if name[0] == TYPE_PREFIX:
        return table.of_type_named(name[1:])
    mask = transition.before & table.with_predicate(name)
    positions: list[int] = []
    for position, index in enumerate(indices):
        if index == last:
            positions.append(position)
        elif 0 <= index < last:
            mask &= table.with_argument(name, position, bound[index])
    if len(positions) > 1:
        rows = ([table.arguments[atom][position] for position in positions] for atom in bits(mask))
        return functools.reduce(or_, (1 << row[0] for row in rows if len(set(row)) == 1), 0)
    return table.objects_at(positions[0], mask)


def atoms_before(key: AtomKey, transition: EncodedTransition, bound: Sequence[int]) -> int:
    """Return the mask of the atoms before a transition that match a key.

    An atom matches if it has the key's predicate and matching arguments: where the key has an index below
    `len(bound)`, the argument must be `bound[index]`. The other arguments may be any objects.
    """
    name, indices = key
    mask = transition.before & transition.table.with_predicate(name)
    for position, index in enumerate(indices):
        if 0 <= index < len(bound):
            mask &= transition.table.with_argument(name, position, bound[index])
    return mask
