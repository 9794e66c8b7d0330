"""Find the signatures of unnamed objects: the lifted atoms about an object that hold before a transition.

An unnamed object is one to which no parameter of an operator is bound. In the atoms of its signature, the
parameters have the indices below the operator's arity, the object itself has the index `arity`, and any
other unnamed object has the index `ANYTHING`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from needful.abstraction.atom_table import AtomKey, AtomTable, bits
from needful.core.objects import Type
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.induction import Datum
from needful.operator_learning.opportunities import ANYTHING, TYPE_PREFIX

# The maximum number of sets of atoms that `shared_signatures` keeps.
MAX_CONDITIONS = 8

# The signature of an unnamed object: the lifted atoms about the object that hold before a transition, and
# its types (see `TYPE_PREFIX`). Also used for other sets of such atoms.
Signature = frozenset[AtomKey]


class SignatureMasks:
    """Represents signatures as masks, for operators with the same number of parameters.

    Bit i stands for the i-th lifted atom or type. Results are cached: most objects have the same signature
    before many transitions.

    Attributes:
        links: the mask of the atoms that relate the unnamed object to a parameter.
        with_anything: the mask of the atoms about a further unnamed object (index `ANYTHING`).
    """

    def __init__(self, arity: int) -> None:
        self._arity = arity
        self._keys: list[AtomKey] = []
        self._bits: dict[AtomKey, int] = {}
        self.links = 0
        self.with_anything = 0
        self._types = 0
        # The atoms that relate the object to a named one, or are about this object alone, as RobotAt(sink).
        # The types of an object can be part of a signature only if there is such an atom.
        self._allow_types = 0
        self._masks_of_types: dict[Type, int] = {}
        self._unrelated: dict[tuple[AtomTable, int, int], int] = {}
        self._before: dict[Datum, dict[int, int]] = {}

    def encode(self, key: AtomKey) -> int:
        """Return the mask of one lifted atom or type."""
        known = self._bits.get(key)
        if known is not None:
            return known
        bit = self._bits[key] = 1 << len(self._keys)
        self._keys.append(key)
        name, indices = key
        link = any(0 <= index < self._arity for index in indices)
        if name[0] == TYPE_PREFIX:
            self._types |= bit
        elif link or indices == (self._arity,):
            self._allow_types |= bit
        if link:
            self.links |= bit
        if ANYTHING in indices:
            self.with_anything |= bit
        return bit

    def decode(self, mask: int) -> Signature:
        """Return the lifted atoms and types of a mask."""
        return frozenset([self._keys[number] for number in bits(mask)])

    def before(self, datum: Datum) -> dict[int, int]:
        """Return the signatures of unnamed objects before a transition, each with a mask of its objects.

        Objects about which no atom held are left out.
        """
        known = self._before.get(datum)
        if known is None:
            known = self._before[datum] = {}
            for number, mask in self.by_object(datum).items():
                known[mask] = known.get(mask, 0) | 1 << number
        return known

    def by_object(self, datum: Datum) -> dict[int, int]:
        """Return the signature of each unnamed object about which some atom held before a transition."""
        transition, objects = datum
        table, state = transition.table, transition.before
        related, about_named = dict[int, int](), 0
        for number in objects:
            about_named |= table.with_object(number)
        for number, key in atoms_about_unnamed(transition, objects, state & about_named):
            related[number] = related.get(number, 0) | self.encode(key)
        found: dict[int, int] = {}
        others = state & ~about_named
        for number in range(len(table.objects)):
            mask = related.get(number, 0)
            atoms = others & table.with_object(number)
            if atoms:
                entry = (table, number, atoms)
                unrelated = self._unrelated.get(entry)
                if unrelated is None:
                    unrelated = self._unrelated[entry] = self._of(number, transition, atoms)
                mask |= unrelated
            if mask:
                found[number] = self.with_types(mask, table.objects[number].type)
        return found

    def _of(self, number: int, transition: EncodedTransition, atoms: int) -> int:
        """Return the mask of atoms about an unnamed object, none of which mentions a named object."""
        mask = 0
        for one, (name, indices) in atoms_about_unnamed(transition, (), atoms):
            if one == number:
                lifted = tuple([index if index == ANYTHING else self._arity for index in indices])
                mask |= self.encode((name, lifted))
        return mask

    def with_types(self, mask: int, kind: Type) -> int:
        """Return a mask of atoms about an object, with the object's types if they are allowed.

        Types without a parent are left out: the declared types of the predicates imply them.
        """
        if not mask & self._allow_types:
            return mask
        types = self._masks_of_types.get(kind)
        if types is None:
            types = 0
            for one in kind.ancestry():
                if one.parent is not None:
                    types |= self.encode((TYPE_PREFIX + one.name, (self._arity,)))
            self._masks_of_types[kind] = types
        return mask | types

    def shared(self, data: Sequence[Datum]) -> list[int]:
        """Return the maximal sets of atoms that some unnamed object satisfied before every transition.

        See `shared_signatures`.
        """
        found = self._maximal(self.before(data[0]))
        for datum in data[1:]:
            if not found:
                break
            signatures = self.before(datum)
            if all(any(not one & ~other for other in signatures) for one in found):
                continue  # Before this transition too, an object satisfied each set.
            found = self._maximal({one & other for one in found for other in signatures})
        return sorted(found, key=self._rank)

    def _maximal(self, masks: Iterable[int]) -> list[int]:
        found: list[int] = []
        sets = {one if one & self._allow_types else one & ~self._types for one in masks}
        for one in sorted(sets, key=int.bit_count, reverse=True):
            if one and not any(not one & ~other for other in found):
                found.append(one)
        return found if len(found) <= MAX_CONDITIONS else sorted(found, key=self._rank)[:MAX_CONDITIONS]

    def _rank(self, mask: int) -> tuple[int, list[AtomKey]]:
        return (-mask.bit_count(), sorted(self.decode(mask)))


class SignatureCache:
    """Caches signatures, as one `SignatureMasks` per number of parameters."""

    def __init__(self) -> None:
        self._masks: dict[int, SignatureMasks] = {}

    def with_arity(self, arity: int) -> SignatureMasks:
        """Return the signatures for operators with a given number of parameters."""
        if arity not in self._masks:
            self._masks[arity] = SignatureMasks(arity)
        return self._masks[arity]


def shared_signatures(data: Sequence[Datum], cache: SignatureCache | None = None) -> list[Signature]:
    """Return the maximal sets of atoms that some unnamed object satisfied before every transition.

    The object may differ from transition to transition. A set is thus the intersection of one signature
    per transition. At most `MAX_CONDITIONS` sets are returned.
    """
    masks = (cache or SignatureCache()).with_arity(len(data[0][1]))
    return [masks.decode(one) for one in masks.shared(data)]


def signatures_before(datum: Datum) -> dict[int, Signature]:
    """Return the signature of each unnamed object about which some atom held before a transition."""
    masks = SignatureMasks(len(datum[1]))
    return {number: masks.decode(mask) for number, mask in masks.by_object(datum).items()}


def signature_of(number: int, datum: Datum) -> Signature:
    """Return the signature of one unnamed object before a transition."""
    transition, objects = datum
    masks, mask = SignatureMasks(len(objects)), 0
    atoms = transition.before & transition.table.with_object(number)
    for one, key in atoms_about_unnamed(transition, objects, atoms):
        if one == number:
            mask |= masks.encode(key)
    return masks.decode(masks.with_types(mask, transition.table.objects[number].type))


def atoms_about_unnamed(
    transition: EncodedTransition, objects: Sequence[int], atoms: int
) -> Iterator[tuple[int, AtomKey]]:
    """Yield the atoms about unnamed objects: the object's number, and the key of the lifted atom.

    `objects` contains the named objects, to which parameters are bound. In the key, the index of the
    unnamed object is `len(objects)`. If an atom has two unnamed objects, it is yielded for each of them,
    with `ANYTHING` as the index of the other one.
    """
    table, arity = transition.table, len(objects)
    index_of = {number: index for index, number in enumerate(objects)}
    for atom in bits(atoms):
        arguments = table.arguments[atom]
        if len(arguments) == 1:
            (one,) = arguments
            if one not in index_of:
                yield one, (table.atoms[atom].predicate.name, (arity,))
            continue
        unnamed = [number for number in dict.fromkeys(arguments) if number not in index_of]
        if 1 <= len(unnamed) <= 2:
            name = table.atoms[atom].predicate.name
            for one in unnamed:
                indices = [
                    index_of.get(number, arity if number == one else ANYTHING) for number in arguments
                ]
                yield one, (name, tuple(indices))
