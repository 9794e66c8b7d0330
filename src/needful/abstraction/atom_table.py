"""Sets of ground atoms as integers (bit masks): bit i stands for the atom with number i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern

# The key of an atom: its predicate's name, and the numbers of its objects (if the atom is ground) or the
# indices of its variables (if it is lifted).
AtomKey: TypeAlias = tuple[str, tuple[int, ...]]


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits of a mask, smallest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class AtomTable:
    """Assigns a number to each object (in sorted order) and to each ground atom (in order of first use).

    A set of atoms is a mask: `a` is a subset of `b` if `a & ~b == 0`, and the size of `a` is
    `a.bit_count()`. The table also stores a mask for each predicate, argument position and object: the
    predicate's atoms that have this object at this position. The module `joins` intersects these masks. The
    mask `with_repeated_argument` has the atoms that mention an object twice.
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        # Remove duplicates with `dict.fromkeys`, which keeps the order. Objects are often sorted already,
        # and sorting them again is then fast.
        self.objects: tuple[Object, ...] = tuple(sorted(dict.fromkeys(objects)))
        self.object_number: dict[Object, int] = {obj: i for i, obj in enumerate(self.objects)}
        # For each atom, its predicate and the numbers of its objects.
        self.predicate_of: list[Predicate] = []
        self.arguments: list[tuple[int, ...]] = []
        # The atoms by number. `with_atoms` numbers atoms by their keys only: the entry is None until
        # the atom is needed for the first time.
        self._atoms: list[GroundAtom | None] = []
        self._bits: dict[AtomKey, int] = {}
        self._predicate_masks: dict[str, int] = {}
        self._argument_masks: dict[tuple[str, int, int], int] = {}
        # For each type, the mask of its objects; those of subtypes are included.
        self._type_masks: dict[str, int] = {}
        self.with_repeated_argument = 0
        self._type_argument_masks: dict[tuple[str, int, Type], int] = {}
        self._object_masks: dict[int, int] = {}
        self._domains: dict[str, list[int]] = {}
        self._objects_at: dict[tuple[int, int], int] = {}
        self._only_about: dict[frozenset[int], int] = {}

    def with_atoms(self, keys: Sequence[AtomKey], predicates: Mapping[str, Predicate]) -> AtomTable:
        """Return a table of the same objects with other atoms: the one with the first key gets number 0.

        `keys` holds one `AtomKey` per atom, `predicates` the predicates of these atoms by name.
        """
        table = AtomTable(())
        table.objects, table.object_number = self.objects, self.object_number
        table._type_masks = self._type_masks
        table.predicate_of = [predicates[name] for name, _ in keys]
        table.arguments = [arguments for _, arguments in keys]
        table._atoms = [None] * len(keys)
        table._bits = {key: 1 << number for number, key in enumerate(keys)}
        predicate_masks, argument_masks = table._predicate_masks, table._argument_masks
        for (name, arguments), bit in table._bits.items():
            predicate_masks[name] = predicate_masks.get(name, 0) | bit
            if len(arguments) == 1:  # for speed: no other atom of the predicate has this argument
                argument_masks[name, 0, arguments[0]] = bit
                continue
            if len(set(arguments)) < len(arguments):
                table.with_repeated_argument |= bit
            for position, argument in enumerate(arguments):
                entry = (name, position, argument)
                argument_masks[entry] = argument_masks.get(entry, 0) | bit
        return table

    def __len__(self) -> int:
        return len(self.arguments)

    @property
    def atoms(self) -> tuple[GroundAtom, ...]:
        """The atoms in the order of their numbers."""
        return tuple(map(self._atom, range(len(self))))

    def _atom(self, number: int) -> GroundAtom:
        known = self._atoms[number]
        if known is None:
            objects = tuple([self.objects[argument] for argument in self.arguments[number]])
            known = self._atoms[number] = GroundAtom(self.predicate_of[number], objects)
        return known

    def predicates(self) -> dict[str, Predicate]:
        """Return the predicates of the numbered atoms, by name."""
        masks = self._predicate_masks.items()
        return {name: self.predicate_of[mask.bit_length() - 1] for name, mask in masks}

    def number(self, atom: GroundAtom) -> int:
        """Return the number of the given atom; an atom without a number gets the next free one."""
        arguments = tuple(self.object_number[obj] for obj in atom.objects)
        key = (atom.predicate.name, arguments)
        known = self._bits.get(key)
        return self._append(atom, key, arguments) if known is None else known.bit_length() - 1

    def number_by_arguments(self, predicate: Predicate, arguments: tuple[int, ...]) -> int:
        """Return the number of an atom, given by its predicate and the numbers of its objects.

        An atom without a number gets the next free one.
        """
        key = (predicate.name, arguments)
        known = self._bits.get(key)
        if known is not None:
            return known.bit_length() - 1
        atom = GroundAtom(predicate, tuple(self.objects[i] for i in arguments))
        return self._append(atom, key, arguments)

    def _append(self, atom: GroundAtom, key: AtomKey, arguments: tuple[int, ...]) -> int:
        number = len(self._atoms)
        bit, name = 1 << number, atom.predicate.name
        self._bits[key] = bit
        self._type_argument_masks.clear()
        self._object_masks.clear()
        self._only_about.clear()
        self._atoms.append(atom)
        self.predicate_of.append(atom.predicate)
        self.arguments.append(arguments)
        self._predicate_masks[name] = self._predicate_masks.get(name, 0) | bit
        if len(set(arguments)) < len(arguments):
            self.with_repeated_argument |= bit
        for position, argument in enumerate(arguments):
            entry = (name, position, argument)
            self._argument_masks[entry] = self._argument_masks.get(entry, 0) | bit
        return number

    def find(self, key: AtomKey) -> int | None:
        """Return the number of the ground atom with the given `AtomKey`; None if it has no number."""
        known = self._bits.get(key)
        return None if known is None else known.bit_length() - 1

    def ground(self, lifted: Iterable[AtomKey], binding: Sequence[int]) -> int:
        """Replace the variables of lifted atoms by objects, and return the mask of the resulting atoms.

        `lifted` holds the `AtomKey` of each lifted atom, and `binding` the object number of each variable.
        Resulting atoms without a number are omitted.
        """
        mask, find = 0, self._bits.get
        for name, variables in lifted:
            # For speed, atoms with one or two arguments are handled without a comprehension.
            if len(variables) == 2:
                first, second = variables
                mask |= find((name, (binding[first], binding[second])), 0)
            elif len(variables) == 1:
                mask |= find((name, (binding[variables[0]],)), 0)
            else:
                mask |= find((name, tuple([binding[variable] for variable in variables])), 0)
        return mask

    def without_number(self, lifted: Iterable[AtomKey], binding: Sequence[int]) -> frozenset[AtomKey]:
        """Replace the variables of lifted atoms by objects; return the ground atoms without a number.

        Atoms are given and returned as `AtomKey`s. `binding` has the object number of each variable.
        """
        keys = ((name, tuple([binding[variable] for variable in variables])) for name, variables in lifted)
        return frozenset(key for key in keys if key not in self._bits)

    def encode(self, atoms: Iterable[GroundAtom]) -> int:
        """Return the mask of the given atoms; atoms without a number get the next ones, in sorted order."""
        mask = 0
        for atom in sorted(atoms):
            mask |= 1 << self.number(atom)
        return mask

    def decode(self, mask: int) -> AbstractState:
        """Return the atoms of the given mask."""
        return frozenset(map(self._atom, bits(mask)))

    def with_predicate(self, name: str) -> int:
        """Return the mask of all numbered atoms of the predicate with the given name."""
        return self._predicate_masks.get(name, 0)

    def with_argument(self, name: str, position: int, argument: int) -> int:
        """Return the mask of the numbered atoms of one predicate that have one object as an argument.

        `name` is the predicate's name, `position` the index of the argument in the atom, and `argument` the
        number of the object.
        """
        return self._argument_masks.get((name, position, argument), 0)

    def with_object(self, number: int) -> int:
        """Return the mask of the numbered atoms that mention an object."""
        if not self._object_masks:
            for (_, _, argument), mask in self._argument_masks.items():
                self._object_masks[argument] = self._object_masks.get(argument, 0) | mask
        return self._object_masks.get(number, 0)

    def only_about(self, numbers: Iterable[int]) -> int:
        """Return the mask of the numbered atoms that mention no other objects than the given ones."""
        chosen = frozenset(numbers)
        known = self._only_about.get(chosen)
        if known is None:
            known = 0
            for number, arguments in enumerate(self.arguments):
                if chosen.issuperset(arguments):
                    known |= 1 << number
            self._only_about[chosen] = known
        return known

    def objects_at(self, position: int, mask: int) -> int:
        """Return the mask of the objects at one argument position of the atoms in `mask`.

        Results are cached: between consecutive states, the atoms of most predicates do not change, so the
        same masks are passed again.
        """
        known = self._objects_at.get((position, mask))
        if known is None:
            known = 0
            for number in bits(mask):
                known |= 1 << self.arguments[number][position]
            self._objects_at[position, mask] = known
        return known

    def with_predicates(self, names: Iterable[str]) -> int:
        """Return the mask of all numbered atoms of the predicates with the given names."""
        mask = 0
        for name in names:
            mask |= self._predicate_masks.get(name, 0)
        return mask

    def of_type(self, kind: Type) -> int:
        """Return the mask of the objects of the given type (subtypes included).

        In this mask of objects, bit i stands for the object with number i.
        """
        return self.of_type_named(kind.name)

    def of_type_named(self, name: str) -> int:
        """Return the mask of the objects of the type with the given name (subtypes included)."""
        if not self._type_masks:
            for number, obj in enumerate(self.objects):
                for one in obj.type.ancestry():
                    self._type_masks[one.name] = self._type_masks.get(one.name, 0) | 1 << number
        return self._type_masks.get(name, 0)

    def domains(self, operator: str, parameters: Iterable[Variable]) -> list[int]:
        """Return, for each parameter of an operator, the mask of the objects of its type.

        `operator` is the operator's text; it is the key under which results are cached.
        """
        known = self._domains.get(operator)
        if known is None:
            known = self._domains[operator] = [self.of_type(variable.type) for variable in parameters]
        return known

    def matching(
        self, pattern: DeletePattern, variables: dict[Variable, int], binding: Sequence[int]
    ) -> int:
        """Return the mask of the numbered atoms that a delete pattern (a quantified delete effect) matches.

        A variable `v` of the pattern stands for the object with the number `binding[variables[v]]`. A
        wildcard stands for every object of its type.
        """
        name, types = pattern.predicate.name, pattern.predicate.types
        mask = self.with_predicate(name)
        for position, argument in enumerate(pattern.arguments):
            if isinstance(argument, Variable):
                mask &= self.with_argument(name, position, binding[variables[argument]])
            elif argument.type is not types[position] and argument.type != types[position]:
                mask &= self._with_argument_of_type(name, position, argument.type)
        return mask

    def _with_argument_of_type(self, name: str, position: int, kind: Type) -> int:
        known = self._type_argument_masks.get((name, position, kind))
        if known is None:
            known = 0
            for number in bits(self.of_type(kind)):
                known |= self.with_argument(name, position, number)
            self._type_argument_masks[name, position, kind] = known
        return known


def lifted_key(atom: LiftedAtom, variables: dict[Variable, int]) -> AtomKey:
    """Return the key of a lifted atom: its predicate's name and the indices of its variables.

    `variables` maps each variable to its index.
    """
    return (atom.predicate.name, tuple(variables[variable] for variable in atom.variables))
