"""Find the signatures of unnamed objects: the lifted atoms about an object that hold before a transition.

An unnamed object is one to which no parameter of an operator is bound. A named object is one to which a
parameter is bound. In the atoms of a signature, indices replace the objects: 0 to `arity` - 1 stand for the
parameters, `arity` for the unnamed object, and `ANYTHING` for any other unnamed object. For example, if a
tool fits the door of `open(door)`, the tool's signature contains ("Fits", (1, 0)).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from operator import and_, or_

from needful.abstraction.atom_table import AtomKey, AtomTable, bits
from needful.core.objects import Type
from needful.operator_learning.condition_tests import (
    ANYTHING,
    TYPE_PREFIX,
    atoms_before,
    satisfying_objects,
)
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import Datum

# The maximum number of sets of atoms that `shared_signatures` keeps.
MAX_CONDITIONS = 8
# `SignatureMasks.shared` goes through transitions and reduces sets of atoms. If at most this number of
# atoms are left, they are tested one by one, which is faster than to compute all objects' signatures.
FEW_ATOMS = 8
# The index of the unnamed object in the atoms of `SignatureMasks`. Signatures use the operator's arity
# instead, which differs between operators.
UNNAMED = -2

# The signature of an unnamed object: the lifted atoms about the object that hold before a transition, and
# its types (see `TYPE_PREFIX`). Also used for other sets of such atoms.
Signature = frozenset[AtomKey]


class SignatureMasks:
    """Finds signatures of unnamed objects, represents them as masks, and caches them.

    In these masks, bit i stands for the i-th lifted atom or type that was found.

    Attributes:
        links: the mask of all atoms that relate the unnamed object to a parameter.
        with_anything: the mask of all atoms that mention a further unnamed object (index `ANYTHING`).
    """

    def __init__(self) -> None:
        self._keys: list[AtomKey] = []
        self._bits: dict[AtomKey, int] = {}
        self.links = 0
        self.with_anything = 0
        self._types = 0
        self._mentioning: dict[int, int] = {}
        # The mask of the atoms that relate the unnamed object to a parameter, or mention only this object,
        # such as RobotAt(sink). A signature contains types of the object only if it contains such an atom.
        self._allow_types = 0
        self._masks_of_types: dict[Type, int] = {}
        # For each demonstration, the last state that `_without_names` examined, and the signatures of all
        # objects in this state.
        self._last: dict[AtomTable, tuple[int, dict[int, int]]] = {}
        # For each demonstration, each atom about unnamed objects only, and each of these objects: the mask
        # of the lifted atom. For example, On(cup, table) is On(`UNNAMED`, `ANYTHING`) for the cup.
        self._unrelated: dict[AtomTable, dict[int, dict[int, int]]] = {}
        # For each demonstration, each object and each set of its atoms, the mask of the lifted atoms.
        self._of_object: dict[AtomTable, dict[tuple[int, int], int]] = {}
        self._before: dict[Datum, dict[int, int]] = {}
        self._ranks: dict[tuple[int, int], tuple[int, list[AtomKey]]] = {}

    def _encode(self, key: AtomKey) -> int:
        """Return the mask of one lifted atom or type, in which `UNNAMED` is the index of the object."""
        known = self._bits.get(key)
        if known is not None:
            return known
        bit = self._bits[key] = 1 << len(self._keys)
        self._keys.append(key)
        name, indices = key
        link = max(indices) >= 0
        if name[0] == TYPE_PREFIX:
            self._types |= bit
        elif link or indices == (UNNAMED,):
            self._allow_types |= bit
        if link:
            self.links |= bit
        if ANYTHING in indices:
            self.with_anything |= bit
        for index in indices:
            self._mentioning[index] = self._mentioning.get(index, 0) | bit
        return bit

    def links_or(self, atoms: Iterable[AtomKey], arity: int) -> int:
        """Return the mask of all atoms that relate the unnamed object to a parameter, and of some `atoms`.

        Of `atoms`, only those are included that mention nothing but the unnamed object (index `arity`).
        """
        about = (key for key in atoms if key[1] == (arity,))
        return functools.reduce(or_, (self._encode((name, (UNNAMED,))) for name, _ in about), self.links)

    def decode(self, mask: int, arity: int) -> Signature:
        """Return the lifted atoms and types of a mask, for an operator with `arity` parameters."""
        return frozenset([self._key(number, arity) for number in bits(mask)])

    def _key(self, number: int, arity: int) -> AtomKey:
        name, indices = self._keys[number]
        return name, tuple([arity if index == UNNAMED else index for index in indices])

    def before(self, datum: Datum) -> dict[int, int]:
        """Return the signatures of the unnamed objects before a transition.

        Maps each signature to the mask of the objects that have it. Objects about which no atom held are
        left out.
        """
        known = self._before.get(datum)
        if known is None:
            known = self._before[datum] = self._find(datum)
        return known

    def _find(self, datum: Datum) -> dict[int, int]:
        transition, objects = datum
        if not objects:
            return self._without_names(transition)
        table, state = transition.table, transition.before
        about_named = 0
        for number in objects:
            about_named |= table.with_object(number)
        related = self._related(datum, state & about_named)
        # No atom relates the other objects to a parameter, so their signatures do not depend on parameters.
        changed = functools.reduce(or_, (1 << number for number in (*objects, *related)))
        found = {
            mask: numbers & ~changed
            for mask, numbers in self.before((transition, ())).items()
            if numbers & ~changed
        }
        for number, mask in related.items():
            mask |= self._of_unrelated(number, transition, state & ~about_named)
            if mask:
                mask = self._with_types(mask, table.objects[number].type)
                found[mask] = found.get(mask, 0) | 1 << number
        return found

    def _without_names(self, transition: EncodedTransition) -> dict[int, int]:
        """Return the signatures of all objects for an operator without parameters.

        The signatures in the last examined state of the same demonstration are reused: only the objects of
        atoms that have changed since then can have other signatures.
        """
        table, state = transition.table, transition.before
        last = self._last.get(table)
        by_object: dict[int, int] = {}
        numbers: Iterable[int] = range(len(table.objects))
        if last is not None:
            by_object, arguments = last[1], table.arguments
            numbers = {number for atom in bits(state ^ last[0]) for number in arguments[atom]}
        for number in numbers:
            mask = self._of_unrelated(number, transition, state)
            by_object[number] = self._with_types(mask, table.objects[number].type)
        self._last[table] = (state, by_object)
        found: dict[int, int] = {}
        for number, mask in by_object.items():
            if mask:
                found[mask] = found.get(mask, 0) | 1 << number
        return found

    def _related(self, datum: Datum, atoms: int) -> dict[int, int]:
        """Return, for each unnamed object in the given atoms, the mask of its lifted atoms.

        Each of the given atoms mentions a named object, to which a parameter is bound.
        """
        transition, objects = datum
        arguments = transition.table.arguments
        found = {number: 0 for atom in bits(atoms) for number in arguments[atom] if number not in objects}
        for number, key in atoms_about_unnamed(transition, objects, atoms):
            found[number] |= self._encode(key)
        return found

    def _of_unrelated(self, number: int, transition: EncodedTransition, atoms: int) -> int:
        """Return the mask of the lifted atoms about one unnamed object, given by its number.

        Only the given atoms are considered. None of them mentions an object to which a parameter is bound.
        """
        table = transition.table
        relevant = atoms & table.with_object(number)
        by_object = self._of_object.setdefault(table, {})
        mask = by_object.get((number, relevant))
        if mask is not None:
            return mask
        known = self._unrelated.setdefault(table, {})
        mask = 0
        for atom in bits(relevant):
            found = known.get(atom)
            if found is None:
                found = known[atom] = {}
                for one, key in atoms_about_unnamed(transition, (), 1 << atom):
                    found[one] = self._encode(key)
            mask |= found.get(number, 0)
        by_object[number, relevant] = mask
        return mask

    def _with_types(self, mask: int, kind: Type) -> int:
        """Return a mask of atoms about an object of the type `kind`; add the object's types in some cases.

        Types are added if an atom relates the object to a parameter, or mentions only this object. Types
        without a parent are left out: the declared types of the predicates imply them.
        """
        if not mask & self._allow_types:
            return mask
        types = self._masks_of_types.get(kind)
        if types is None:
            types = 0
            for one in kind.ancestry():
                if one.parent is not None:
                    types |= self._encode((TYPE_PREFIX + one.name, (UNNAMED,)))
            self._masks_of_types[kind] = types
        return mask | types

    def of_object(self, number: int, datum: Datum) -> int:
        """Return, as a mask, the lifted atoms and types of one unnamed object before a transition.

        An unnamed object is one to which no parameter is bound; `number` is its number.
        """
        transition, objects = datum
        table, mask = transition.table, 0
        atoms = transition.before & table.with_object(number)
        for one, key in atoms_about_unnamed(transition, objects, atoms):
            if one == number:
                mask |= self._encode(key)
        return self._with_types(mask, table.objects[number].type)

    def shared(self, data: Sequence[Datum], parameter: int | None = None) -> list[int]:
        """Return the maximal sets of atoms that some unnamed object satisfied before every transition.

        See `shared_signatures`. If `parameter` is given, return only sets with an atom that mentions the
        parameter with this index.
        """
        arity = len(data[0][1])
        found = self._maximal(self.before(data[0]), arity)
        for datum in data[1:]:
            if parameter is not None and not any(self.mentions(one, parameter) for one in found):
                return []  # The sets only become smaller.
            if not found:
                break
            mentioned = functools.reduce(or_, found)
            if mentioned.bit_count() <= FEW_ATOMS and datum not in self._before:
                masks = {one: unnamed_objects_with(self._key(one, arity), datum) for one in bits(mentioned)}
                if all(functools.reduce(and_, (masks[one] for one in bits(each))) for each in found):
                    continue  # For speed: the signatures of all objects are not needed.
            signatures = {one & mentioned for one in self.before(datum)}
            if all(one in signatures or any(not one & ~other for other in signatures) for one in found):
                continue  # Each set also held for some object before this transition, so it is not reduced.
            found = self._maximal({one & other for one in found for other in signatures}, arity)
        if parameter is not None:
            found = [one for one in found if self.mentions(one, parameter)]
        return self._sorted(found, arity)

    def mentions(self, mask: int, index: int) -> bool:
        """Return whether an atom of a mask mentions the parameter with the given index."""
        return bool(mask & self._mentioning.get(index, 0))

    def _maximal(self, masks: Iterable[int], arity: int) -> list[int]:
        found: list[int] = []
        sets = {one if one & self._allow_types else one & ~self._types for one in masks}
        for one in sorted(sets, key=int.bit_count, reverse=True):
            if one and not any(not one & ~other for other in found):
                found.append(one)
        return found if len(found) <= MAX_CONDITIONS else self._sorted(found, arity)[:MAX_CONDITIONS]

    def _sorted(self, masks: Iterable[int], arity: int) -> list[int]:
        return sorted(masks, key=lambda one: self._rank(one, arity))

    def _rank(self, mask: int, arity: int) -> tuple[int, list[AtomKey]]:
        known = self._ranks.get((mask, arity))
        if known is None:
            known = self._ranks[mask, arity] = (-mask.bit_count(), sorted(self.decode(mask, arity)))
        return known

    def witnesses(self, datum: Datum, mask: int) -> int:
        """Return the mask of the objects that satisfied a set of atoms and types before a transition.

        Only objects to which no parameter is bound are considered.
        """
        transition, objects = datum
        table, atoms, types = transition.table, mask & ~self._types, mask & self._types
        found = 0
        for signature, numbers in self.before(datum).items():
            if not atoms & ~signature:
                found |= numbers
        if not atoms:  # An object without atoms has no signature, but may have the types.
            found = (1 << len(table.objects)) - 1
            for number in objects:
                found &= ~(1 << number)
        for number in bits(types):
            found &= table.of_type_named(self._keys[number][0][1:])
        return found


def shared_signatures(data: Sequence[Datum], masks: SignatureMasks | None = None) -> list[Signature]:
    """Return the maximal sets of atoms that some unnamed object satisfied before every transition.

    An unnamed object is one to which no parameter of the operator is bound. It may be a different object in
    each transition. A set is thus the intersection of one signature (the atoms about one object) per
    transition. At most `MAX_CONDITIONS` sets are returned.
    """
    masks, arity = masks or SignatureMasks(), len(data[0][1])
    return [masks.decode(one, arity) for one in masks.shared(data)]


def signature_of(number: int, datum: Datum) -> Signature:
    """Return the lifted atoms about one object, and its types, before a transition.

    No parameter of the operator is bound to the object; `number` is its number.
    """
    masks = SignatureMasks()
    return masks.decode(masks.of_object(number, datum), len(datum[1]))


def predicates_of(atoms: Signature) -> frozenset[str]:
    """Return the names of the predicates of a condition; types (see `TYPE_PREFIX`) are left out."""
    return frozenset(name for name, _ in atoms if name[0] != TYPE_PREFIX)


def atoms_about_unnamed(
    transition: EncodedTransition, objects: Sequence[int], atoms: int, unnamed_index: int = UNNAMED
) -> Iterator[tuple[int, AtomKey]]:
    """Yield each given atom about an unnamed object, as the object's number and the lifted atom's key.

    `objects` contains the named objects, to which parameters are bound. In the key, the index of the
    unnamed object is `unnamed_index`. If an atom has two unnamed objects, it is yielded for each of them,
    with `ANYTHING` as the index of the other one.
    """
    table = transition.table
    index_of = {number: index for index, number in enumerate(objects)}
    for atom in bits(atoms):
        arguments = table.arguments[atom]
        if len(arguments) == 1:
            (one,) = arguments
            if one not in index_of:
                yield one, (table.predicate_of[atom].name, (unnamed_index,))
            continue
        unnamed = [number for number in dict.fromkeys(arguments) if number not in index_of]
        if 1 <= len(unnamed) <= 2:
            name = table.predicate_of[atom].name
            for one in unnamed:
                indices = [
                    index_of.get(number, unnamed_index if number == one else ANYTHING)
                    for number in arguments
                ]
                yield one, (name, tuple(indices))


def unnamed_objects_with(key: AtomKey, datum: Datum) -> int:
    """Return the mask of the unnamed objects for which a lifted atom held before a transition.

    An unnamed object is one to which no parameter of the operator is bound.
    """
    transition, objects = datum
    if ANYTHING not in key[1]:
        found = satisfying_objects(key, transition, objects)
        for number in objects:
            found &= ~(1 << number)
        return found
    name, indices = key
    table, arity = transition.table, len(objects)
    mask = atoms_before(key, transition, objects)
    for position, index in enumerate(indices):
        if index in (arity, ANYTHING):
            for number in objects:
                mask &= ~table.with_argument(name, position, number)
    if len(set(indices)) == len(indices):
        return table.objects_at(indices.index(arity), mask & ~table.with_repeated_argument)
    rows = (table.arguments[atom] for atom in bits(mask))
    numbers = (row[indices.index(arity)] for row in rows if _same_pattern(row, indices))
    return functools.reduce(or_, (1 << number for number in numbers), 0)


def _same_pattern(first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two sequences repeat items at the same positions, as (a, b, a) and (1, 2, 1) do."""
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second))
