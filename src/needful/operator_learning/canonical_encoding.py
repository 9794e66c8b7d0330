"""Encode demonstrations with canonical names, in canonical order; see `canonical_names`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, AtomTable
from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type
from needful.operator_learning.canonical_names import CanonicalNames
from needful.operator_learning.colour_refinement import Structure, canonical_order
from needful.operator_learning.encoding import NumberedDemonstration

PREDICATE, CONTROLLER = 0, 1
# The kinds of events, and the number of kinds. An atom holds in the first state, becomes true, becomes
# false, or is part of the goal. An action is executed.
INITIAL, ADDED, DELETED, GOAL, EXECUTED, KINDS = range(6)


def encode_canonically(
    demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE
) -> CanonicalNames:
    """Return the demonstrations with canonical names (see `canonical_names`), in canonical order.

    The result also contains the original names, to translate learned operators back.

        Raises `LearningTimeoutError` if the deadline passes.
    """
    reader = _Reader()
    for demonstration in demonstrations:
        deadline.check()
        reader.read(demonstration)
    return reader.names(deadline)


class _Recording(NamedTuple):
    """One demonstration in which atoms, objects, predicates and controllers are numbers.

    Attributes:
        atoms: the user's atoms; the number of an atom is its index here.
        arguments: for each atom, the number of its predicate and the numbers of its objects. Objects of
            different demonstrations have different numbers.
        initial: the atoms that hold in the first state.
        changes: for each step, the deleted atoms and the added atoms.
        goal: the atoms of the goal.
        actions: for each action, the number of its controller and the numbers of its objects.
    """

    atoms: tuple[GroundAtom, ...]
    arguments: list[tuple[int, tuple[int, ...]]]
    initial: list[int]
    changes: list[tuple[list[int], list[int]]]
    goal: list[int]
    actions: list[tuple[int, tuple[int, ...]]]


class _Reader:
    """Reads demonstrations, and gives canonical names to types, predicates, controllers and objects."""

    def __init__(self) -> None:
        self._recordings: list[_Recording] = []
        self._structure = Structure()
        # The two maps in `_numbers` give each predicate's name and each controller's name a number from 1.
        # Predicates and controllers share one numbering; `_found` contains both in the order of numbers.
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._found: list[Predicate | Controller] = []
        self._objects: list[Object] = []

    def read(self, demonstration: Demonstration) -> None:
        """Number the objects, atoms and relations of a demonstration, and record its events."""
        structure, index, first = self._structure, len(self._recordings), len(self._objects)
        objects = tuple(sorted(set(demonstration.objects), key=attrgetter("name")))
        self._objects += objects
        structure.object_demonstrations += [index] * len(objects)
        number_of = {obj.name: number for number, obj in enumerate(objects, start=first)}
        states = demonstration.abstract_states
        local = {atom: number for number, atom in enumerate(states[0])}
        initial = list(local.values())
        changes = []
        for before, after in pairwise(states):
            added = after - before
            for atom in added:
                local.setdefault(atom, len(local))
            changes.append(([local[atom] for atom in before - after], [local[atom] for atom in added]))
        goal = [local[atom] for atom in demonstration.goal]
        predicates, controllers = self._numbers
        arguments = [
            (
                predicates.get(atom.predicate.name) or self._number(PREDICATE, atom.predicate),
                tuple([number_of[obj.name] for obj in atom.objects]),
            )
            for atom in local
        ]
        actions = [
            (
                controllers.get(action.controller.name) or self._number(CONTROLLER, action.controller),
                tuple([number_of[obj.name] for obj in action.objects]),
            )
            for action in demonstration.actions
        ]
        base = len(structure.fact_relations)
        facts = arguments + actions
        structure.fact_demonstrations += [index] * len(facts)
        structure.fact_relations += [relation for relation, _ in facts]
        # Comprehensions are faster than loops here, and these lines take much of the time for encoding.
        structure.argument_facts += [number for number, one in enumerate(facts, start=base) for _ in one[1]]
        structure.argument_positions += [position for one in facts for position, _ in enumerate(one[1])]
        structure.argument_objects += [number for one in facts for number in one[1]]
        events = [(INITIAL, initial), (GOAL, goal)]
        for step, (deleted, added_now) in enumerate(changes):
            events += ((DELETED + KINDS * step, deleted), (ADDED + KINDS * step, added_now))
        for code, numbers in events:
            if numbers:
                structure.event_facts += [base + number for number in numbers]
                structure.event_codes += [code] * len(numbers)
        structure.event_facts += range(base + len(local), base + len(facts))
        structure.event_codes += range(EXECUTED, EXECUTED + KINDS * len(actions), KINDS)
        self._recordings.append(_Recording(tuple(local), arguments, initial, changes, goal, actions))

    def _number(self, kind: int, relation: Predicate | Controller) -> int:
        """Give a new relation (a predicate or a controller) the next number, and return the number."""
        self._found.append(relation)
        return self._numbers[kind].setdefault(relation.name, len(self._found))

    def names(self, deadline: Deadline) -> CanonicalNames:
        """Return the demonstrations read so far with canonical names, along with the user's names."""
        structure = self._structure
        # So far, relations are numbered in the order in which they were read. `canonical_order` sorts
        # relations and types with equal colours by number. Therefore number both in the order of names.
        sorted_keys = sorted((name, kind) for kind, known in enumerate(self._numbers) for name in known)
        old_numbers = [self._numbers[kind][name] for name, kind in sorted_keys]
        relations = [self._found[number - 1] for number in old_numbers]
        new_numbers = {old: number for number, old in enumerate(old_numbers)}
        structure.fact_relations = [new_numbers[relation] for relation in structure.fact_relations]
        structure.relation_kinds = [kind for _, kind in sorted_keys]
        object_types = {id(obj.type): obj.type for obj in self._objects}
        used = {*object_types.values(), *(kind for one in relations for kind in one.types)}
        types = sorted({kind for one in used for kind in one.ancestry()})
        type_numbers = {kind: number for number, kind in enumerate(types)}
        structure.type_parents = [type_numbers[one.parent] if one.parent else -1 for one in types]
        structure.relation_types = [tuple(type_numbers[kind] for kind in one.types) for one in relations]
        numbers_by_id = {one: type_numbers[kind] for one, kind in object_types.items()}
        structure.object_types = [numbers_by_id[id(obj.type)] for obj in self._objects]
        order = canonical_order(structure, len(self._recordings), deadline)
        new_types = _canonical_types(structure.type_parents, order.types)
        predicates: dict[int, Predicate] = {}
        controllers: dict[int, Controller] = {}
        for rank, number in enumerate(order.relations):
            kinds = tuple(new_types[kind] for kind in structure.relation_types[number])
            if structure.relation_kinds[number] == PREDICATE:
                predicates[old_numbers[number]] = Predicate(f"p{rank:03}", kinds)
            else:
                controllers[old_numbers[number]] = Controller(f"c{rank:03}", kinds)
        ordered: list[list[int]] = [[] for _ in self._recordings]
        for number in order.objects:
            ordered[structure.object_demonstrations[number]].append(number)
        writer = _Writer(predicates, controllers, new_types, structure.object_types)
        found = [
            writer.write(self._recordings[index], ordered[index])
            for index in order.demonstrations
            if not deadline.check()
        ]
        return CanonicalNames(
            tuple(demonstration for demonstration, _ in found),
            tuple(order.demonstrations),
            tuple(
                tuple([self._objects[number] for number in ordered[index]])
                for index in order.demonstrations
            ),
            tuple(atoms for _, atoms in found),
            dict(zip(new_types, types, strict=True)),
            {
                new: one
                for old, new in predicates.items()
                if isinstance(one := self._found[old - 1], Predicate)
            },
            {
                new: one
                for old, new in controllers.items()
                if isinstance(one := self._found[old - 1], Controller)
            },
        )


def _canonical_types(parents: Sequence[int], order: Sequence[int]) -> list[Type]:
    """Return, for each type of the user, a type with a canonical name.

    Types are given as numbers: `parents` contains the parent of each type, or -1 if it has no parent, and
    `order` contains the types in canonical order.
    """
    ranks = {number: rank for rank, number in enumerate(order)}
    found: dict[int, Type] = {}

    def new_type(number: int) -> Type:
        if number not in found:
            parent = new_type(parents[number]) if parents[number] >= 0 else None
            found[number] = Type(f"t{ranks[number]:03}", parent=parent)
        return found[number]

    return [new_type(number) for number in range(len(parents))]


class _Writer:
    """Builds demonstrations with canonical names from the recordings of `_Reader`."""

    def __init__(
        self,
        predicates: Mapping[int, Predicate],
        controllers: Mapping[int, Controller],
        types: Sequence[Type],
        object_types: Sequence[int],
    ) -> None:
        self._predicates = predicates
        self._controllers = controllers
        self._types = types
        self._object_types = object_types
        # Demonstrations whose objects have the same types share canonical objects and atoms. The keys are
        # the types of the objects, in canonical order.
        self._tables: dict[tuple[int, ...], AtomTable] = {}
        self._atoms: dict[tuple[int, ...], dict[AtomKey, GroundAtom]] = {}

    def write(
        self, recording: _Recording, order: Sequence[int]
    ) -> tuple[NumberedDemonstration, tuple[GroundAtom, ...]]:
        """Return a demonstration with canonical names, and the user's atoms sorted by their new numbers.

        `order` contains the numbers of the demonstration's objects in canonical order.
        """
        kinds = tuple([self._object_types[number] for number in order])
        if kinds not in self._tables:
            self._tables[kinds] = AtomTable(
                Object(f"o{rank:05}", self._types[kind]) for rank, kind in enumerate(kinds)
            )
            self._atoms[kinds] = {}
        objects, known = self._tables[kinds].objects, self._atoms[kinds]
        rank_of = {number: rank for rank, number in enumerate(order)}
        names = {relation: predicate.name for relation, predicate in self._predicates.items()}
        entries = sorted(
            [
                (
                    (names[relation], tuple([rank_of[number] for number in arguments])),
                    local,
                    relation,
                )
                for local, (relation, arguments) in enumerate(recording.arguments)
            ]
        )
        bits = [0] * len(entries)
        for number, (key, local, relation) in enumerate(entries):
            bits[local] = 1 << number
            if key not in known:
                known[key] = GroundAtom(self._predicates[relation], tuple([objects[i] for i in key[1]]))
        keys = [key for key, _, _ in entries]
        states = [sum([bits[local] for local in recording.initial])]
        for deleted, added in recording.changes:
            removed = sum([bits[local] for local in deleted])
            states.append(states[-1] - removed + sum([bits[local] for local in added]))
        actions = [
            (self._controllers[relation], tuple([rank_of[number] for number in arguments]))
            for relation, arguments in recording.actions
        ]
        goal = sum([bits[local] for local in recording.goal])
        atoms = tuple([recording.atoms[local] for _, local, _ in entries])
        table = self._tables[kinds].with_atoms(keys, {one.name: one for one in self._predicates.values()})
        return NumberedDemonstration(table, goal, states, actions), atoms
