"""Find interchangeable objects of a problem, and merge states that differ only by renaming them.

Two objects of the same type are interchangeable if swapping them changes neither the initial atoms nor the
goal. Interchangeable objects form classes. Two states are equivalent if renaming objects within their
classes turns one into the other. Their plans then differ only by the same renaming, so a search needs only
one of them: the canonical state, in which the objects of each class are sorted by the atoms they occur in.

States that are not equivalent are never merged. Equivalent states may have different canonical states if an
atom contains two interchangeable objects; then they are not merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.planning.grounding import GroundProblem

# A renaming of objects: for each object number, the number of the object that replaces it.
Renaming: TypeAlias = tuple[int, ...]
# An atom as its predicate's name and its object numbers.
AtomKey: TypeAlias = tuple[str, tuple[int, ...]]
# An initial or goal atom: whether it is in the goal, the predicate's name, the object numbers.
Fact: TypeAlias = tuple[bool, str, tuple[int, ...]]

_PLACEHOLDER = -1


class Symmetry:
    """The classes of interchangeable objects of one problem; each class has at least two objects.

    States are bit masks of atoms. A renaming replaces each object by an object of the same class.
    """

    def __init__(
        self,
        problem: GroundProblem,
        relevant_atoms: int,
        classes: Sequence[tuple[int, ...]],
        budget: Budget,
    ) -> None:
        self.classes = classes
        self.identity: Renaming = tuple(range(len(problem.objects)))
        number = {obj: index for index, obj in enumerate(problem.objects)}
        self._keys: list[AtomKey] = [
            (atom.predicate.name, tuple(number[obj] for obj in atom.objects))
            for atom in budget.until_deadline(problem.atoms)
        ]
        self._atom = {key: index for index, key in enumerate(self._keys)}
        self._step = {(o.operator, o.objects): i for i, o in enumerate(problem.ground_operators)}
        self._operators = problem.ground_operators
        # Maps each atom that contains exactly one interchangeable object to this object and the index of a
        # property. The property is the atom with a placeholder in place of the object.
        self._property_of: dict[int, tuple[int, int]] = {}
        self._symmetric_atoms = 0
        self._index_properties(relevant_atoms, budget)

    @classmethod
    def of(cls, problem: GroundProblem, relevant_atoms: int, budget: Budget) -> Symmetry | None:
        """Return the `Symmetry` of a problem, or None if no two objects are interchangeable.

        `relevant_atoms` is a bit mask. States that are passed to the methods must contain only these atoms.
        """
        classes = interchangeable_objects(problem, budget)
        return cls(problem, relevant_atoms, classes, budget) if classes else None

    def _index_properties(self, relevant_atoms: int, budget: Budget) -> None:
        interchangeable = {obj for members in self.classes for obj in members}
        properties: dict[AtomKey, list[tuple[int, int]]] = defaultdict(list)
        for atom in budget.until_deadline(bits(relevant_atoms & ((1 << len(self._keys)) - 1))):
            predicate, arguments = self._keys[atom]
            members = interchangeable.intersection(arguments)
            if members:
                self._symmetric_atoms |= 1 << atom
            if len(members) == 1:
                (obj,) = members
                properties[predicate, _with_placeholder(arguments, obj)].append((atom, obj))
        for number, key in enumerate(sorted(properties)):
            for atom, obj in properties[key]:
                self._property_of[atom] = (obj, number)

    def canonical(self, state: int) -> int:
        """Return the canonical state of a state; equivalent states usually have the same one."""
        return self.renamed_state(state, self.canonical_renaming(state))

    def canonical_renaming(self, state: int) -> Renaming:
        """Return the renaming of objects that turns a state into its canonical state."""
        properties_of: dict[int, list[int]] = defaultdict(list)
        for atom in bits(state & self._symmetric_atoms):
            if atom in self._property_of:
                obj, number = self._property_of[atom]
                properties_of[obj].append(number)
        for properties in properties_of.values():
            properties.sort()
        renaming = list(self.identity)
        for members in self.classes:
            ordered = sorted(members, key=lambda obj: properties_of.get(obj, []))
            for renamed, obj in zip(members, ordered, strict=True):
                renaming[obj] = renamed
        return tuple(renaming)

    def renamed_state(self, state: int, renaming: Renaming) -> int:
        """Return a state after renaming the objects in its atoms."""
        if renaming == self.identity:
            return state
        image = state & ~self._symmetric_atoms
        for atom in bits(state & self._symmetric_atoms):
            predicate, arguments = self._keys[atom]
            image |= 1 << self._atom[predicate, tuple(renaming[obj] for obj in arguments)]
        return image

    def renamed_step(self, step: int, renaming: Renaming) -> int:
        """Return the index of the ground operator that `step` becomes after renaming its objects."""
        operator = self._operators[step]
        return self._step[operator.operator, tuple(renaming[obj] for obj in operator.objects)]


def interchangeable_objects(problem: GroundProblem, budget: Budget) -> tuple[tuple[int, ...], ...]:
    """Return the classes of two or more interchangeable objects, as object numbers in ascending order.

    Objects of ground operators that the search treats in a special way are in no class: ground operators
    with a surcharge, distrusted ones, and those that failed because of a reported object. Reported objects
    are in no class, either.
    """
    fixed = {obj for step, obj in problem.failures}
    for step, _ in (*problem.failures, *problem.costs.ground):
        fixed.update(problem.ground_operators[step].objects)
    facts = _facts(problem, budget)
    classes: list[list[int]] = []
    # The classes found so far. The key is the description (see below) or the number of the first object.
    by_description: dict[frozenset[Fact], list[list[int]]] = defaultdict(list)
    by_first: dict[int, list[int]] = {}
    for obj in budget.until_deadline(range(len(problem.objects))):
        if obj in fixed:
            continue
        # The description of an object is the set of its initial and goal atoms, with a placeholder for the
        # object. Interchangeable objects have equal descriptions, unless an atom contains both objects.
        description = frozenset(
            (in_goal, name, _with_placeholder(args, obj)) for in_goal, name, args in facts[obj]
        )
        related = sorted({other for _, _, arguments in facts[obj] for other in arguments})
        candidates = by_description[description] + [by_first[o] for o in related if o in by_first]
        found = next((c for c in candidates if _are_interchangeable(obj, c[0], problem, facts)), None)
        if found is None:
            found = by_first[obj] = []
            classes.append(found)
            by_description[description].append(found)
        found.append(obj)
    return tuple(tuple(members) for members in classes if len(members) > 1)


def _facts(problem: GroundProblem, budget: Budget) -> list[set[Fact]]:
    """Return, for each object, the initial and goal atoms that it occurs in."""
    number = {obj: index for index, obj in enumerate(problem.objects)}
    facts: list[set[Fact]] = [set() for _ in problem.objects]
    for in_goal, mask in ((False, problem.initial), (True, problem.goal)):
        for index in budget.until_deadline(bits(mask)):
            atom = problem.atoms[index]
            arguments = tuple(number[obj] for obj in atom.objects)
            for obj in arguments:
                facts[obj].add((in_goal, atom.predicate.name, arguments))
    return facts


def _with_placeholder(arguments: tuple[int, ...], obj: int) -> tuple[int, ...]:
    return tuple(_PLACEHOLDER if other == obj else other for other in arguments)


def _are_interchangeable(one: int, other: int, problem: GroundProblem, facts: Sequence[set[Fact]]) -> bool:
    swap = {one: other, other: one}
    return (
        problem.objects[one].type == problem.objects[other].type
        and len(facts[one]) == len(facts[other])
        and all(
            (in_goal, predicate, tuple(swap.get(obj, obj) for obj in arguments)) in facts[one]
            for in_goal, predicate, arguments in facts[other]
        )
    )
