"""Encode demonstrations with canonical names, in canonical order; see `canonical_names`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from needful.abstraction.atom_table import AtomKey, AtomTable
from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Object, Type
from needful.operator_learning.canonical_names import CanonicalNames
from needful.operator_learning.colour_refinement import Structure, canonical_order
from needful.operator_learning.encoding import NumberedDemonstration

PREDICATE, CONTROLLER = 0, 1
# The kinds of events: an atom holds in the first state, becomes true, becomes false or is part of the goal,
# or an action is executed. `KINDS` is the number of kinds.
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
    """One demonstration; its atoms and actions are numbered after those of the demonstrations before it.

    Attributes:
        first: the number of the first atom. The atoms are numbered first, then the actions.
        atoms: the user's atoms, in the order of their numbers.
        initial: the numbers of the atoms that hold in the first state.
        changes: for each step, the numbers of the atoms that became true or false.
        goal: the numbers of the atoms of the goal.
    """

    first: int
    atoms: tuple[GroundAtom, ...]
    initial: Sequence[int]
    changes: list[list[int]]
    goal: list[int]


class _Reader:
    """Reads demonstrations, and gives canonical names to types, predicates, controllers and objects."""

    def __init__(self) -> None:
        self._recordings: list[_Recording] = []
        self._structure = Structure()
        # Predicates and controllers are numbered together from 1 on, in the order in which they are found.
        # `_found` lists them in this order. The first map in `_numbers` contains the numbers of predicates
        # by name, the second map those of controllers.
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._found: list[Predicate | Controller] = []
        self._objects: list[Object] = []

    def read(self, demonstration: Demonstration) -> None:
        """Number the objects, atoms and relations of a demonstration, and record its events."""
        structure, index = self._structure, len(self._recordings)
        objects = sorted(set(demonstration.objects), key=attrgetter("name"))
        number_of = {obj.name: number for number, obj in enumerate(objects, start=len(self._objects))}
        self._objects += objects
        structure.object_demonstrations += [index] * len(objects)
        states, actions = demonstration.abstract_states, demonstration.actions
        first = len(structure.fact_relations)
        facts = {atom: fact for fact, atom in enumerate(states[0], start=first)}
        initial = range(first, first + len(facts))
        structure.add_events(INITIAL, initial)
        changes, event_codes = [], structure.event_codes
        for step, (before, after) in enumerate(pairwise(states)):
            changed = []
            for atom in before - after:
                changed.append(facts[atom])
                event_codes.append(DELETED + KINDS * step)
            for atom in after - before:
                changed.append(facts.setdefault(atom, first + len(facts)))
                event_codes.append(ADDED + KINDS * step)
            structure.event_facts += changed
            changes.append(changed)
        goal = [facts[atom] for atom in demonstration.goal]
        structure.add_events(GOAL, goal)
        structure.event_facts += range(first + len(facts), first + len(facts) + len(actions))
        structure.event_codes += range(EXECUTED, EXECUTED + KINDS * len(actions), KINDS)
        predicates, controllers = self._numbers
        structure.fact_relations += [
            predicates.get(atom.predicate.name) or self._number(PREDICATE, atom.predicate) for atom in facts
        ]
        structure.fact_relations += [
            controllers.get(action.controller.name) or self._number(CONTROLLER, action.controller)
            for action in actions
        ]
        structure.fact_demonstrations += [index] * (len(facts) + len(actions))
        items: tuple[GroundAtom | GroundController, ...] = (*facts, *actions)
        structure.argument_objects += [number_of[obj.name] for item in items for obj in item.objects]
        self._recordings.append(_Recording(first, tuple(facts), initial, changes, goal))

    def _number(self, kind: int, relation: Predicate | Controller) -> int:
        """Give a new relation (a predicate or a controller) the next number, and return the number."""
        self._found.append(relation)
        return self._numbers[kind].setdefault(relation.name, len(self._found))

    def names(self, deadline: Deadline) -> CanonicalNames:
        """Return the demonstrations read so far with canonical names, along with the user's names."""
        structure = self._structure
        # So far, relations (predicates and controllers) are numbered in the order in which they were read.
        # If the structure of the demonstrations does not distinguish two relations or types,
        # `canonical_order` sorts them by number. Therefore number both in the order of their names.
        sorted_keys = sorted((name, kind) for kind, known in enumerate(self._numbers) for name in known)
        old_numbers = [self._numbers[kind][name] for name, kind in sorted_keys]
        relations = [self._found[number - 1] for number in old_numbers]
        new_numbers = {old: number for number, old in enumerate(old_numbers)}
        structure.fact_relations = list(map(new_numbers.__getitem__, structure.fact_relations))
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
                predicates[number] = Predicate(f"p{rank:03}", kinds)
            else:
                controllers[number] = Controller(f"c{rank:03}", kinds)
        ordered: list[list[int]] = [[] for _ in self._recordings]
        for number in order.objects:
            ordered[structure.object_demonstrations[number]].append(number)
        writer = _Writer(structure, ordered, predicates, controllers, new_types)
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
                for number, new in predicates.items()
                if isinstance(one := relations[number], Predicate)
            },
            {
                new: one
                for number, new in controllers.items()
                if isinstance(one := relations[number], Controller)
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
        structure: Structure,
        ordered: Sequence[Sequence[int]],
        predicates: Mapping[int, Predicate],
        controllers: Mapping[int, Controller],
        types: Sequence[Type],
    ) -> None:
        self._relations = structure.fact_relations
        self._object_types = structure.object_types
        self._predicates = {one.name: one for one in predicates.values()}
        self._controllers = controllers
        # Demonstrations whose objects have the same types share one table of canonical objects. The keys
        # are the types of the objects, in canonical order.
        self._tables: dict[tuple[int, ...], AtomTable] = {}
        self._object = functools.cache(lambda rank, kind: Object(f"o{rank:05}", types[kind]))
        names = {number: one.name for number, one in predicates.items()}
        names.update((number, one.name) for number, one in controllers.items())
        rank_of = {number: rank for numbers in ordered for rank, number in enumerate(numbers)}
        ranks = tuple(map(rank_of.__getitem__, structure.argument_objects))
        bounds, facts, positions = structure.arguments()
        # For each fact (an atom or an action), the canonical name of its predicate or controller, and the
        # ranks of its objects in canonical order.
        self._keys: list[AtomKey] = [
            (names[relation], ranks[start:end])
            for relation, (start, end) in zip(self._relations, pairwise(bounds.tolist()), strict=True)
        ]
        # The facts sorted by demonstration, then by key. Names of controllers come before those of
        # predicates, so the actions of a demonstration come before its atoms.
        name_ranks = {name: rank for rank, name in enumerate(sorted(names.values()))}
        columns = np.full((max(map(len, structure.relation_types), default=0), len(self._keys)), -1)
        columns[positions, facts] = ranks
        relations = [name_ranks[name] for name, _ in self._keys]
        keys = (*columns[::-1], relations, structure.fact_demonstrations)
        self._sorted: list[int] = np.lexsort(keys).tolist()

    def write(
        self, recording: _Recording, order: Sequence[int]
    ) -> tuple[NumberedDemonstration, tuple[GroundAtom, ...]]:
        """Return a demonstration with canonical names, and the user's atoms sorted by their new numbers.

        `order` contains the numbers of the demonstration's objects in canonical order.
        """
        kinds = tuple([self._object_types[number] for number in order])
        if kinds not in self._tables:
            self._tables[kinds] = AtomTable(map(self._object, range(len(kinds)), kinds))
        keys, first, count = self._keys, recording.first, len(recording.atoms)
        actions = range(first + count, first + count + len(recording.changes))
        facts = self._sorted[first + len(actions) : actions.stop]
        bits = {fact: 1 << number for number, fact in enumerate(facts)}
        state = sum([bits[fact] for fact in recording.initial])
        states = [state]
        for changed in recording.changes:
            for fact in changed:
                state ^= bits[fact]
            states.append(state)
        calls = [(self._controllers[self._relations[fact]], keys[fact][1]) for fact in actions]
        goal = sum([bits[fact] for fact in recording.goal])
        table = self._tables[kinds].with_atoms([keys[fact] for fact in facts], self._predicates)
        atoms = tuple([recording.atoms[fact - first] for fact in facts])
        return NumberedDemonstration(table, goal, states, calls), atoms
