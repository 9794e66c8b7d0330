"""Objects that can be exchanged without changing a problem, and states that are equal up to that.

Two objects of a type are interchangeable if exchanging them maps the initial atoms and the goal onto
themselves; so do then all permutations of such objects. A state and its image have plans of the same
shape, so a search needs only one of them: the one in which the objects of each class are sorted by
the atoms that they occur in. Where an atom relates two interchangeable objects, states that are
images of each other may stay apart; states that are not are never made one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.planning.ground_problem import GroundProblem

# For each object number the number of the object that takes its place.
Renaming: TypeAlias = tuple[int, ...]
# An atom as its predicate's name and its object numbers.
AtomKey: TypeAlias = tuple[str, tuple[int, ...]]

_PLACEHOLDER = -1


class Symmetry:
    """The classes of interchangeable objects of one problem; none has fewer than two members."""

    def __init__(self, problem: GroundProblem, asked_for: int, classes: Sequence[tuple[int, ...]]) -> None:
        self.classes = classes
        self.identity: Renaming = tuple(range(len(problem.objects)))
        number = {obj: index for index, obj in enumerate(problem.objects)}
        self._keys: list[AtomKey] = [
            (atom.predicate.name, tuple(number[o] for o in atom.objects)) for atom in problem.atoms
        ]
        self._atom = {key: index for index, key in enumerate(self._keys)}
        self._step = {(o.operator, o.objects): i for i, o in enumerate(problem.ground_operators)}
        self._operators = problem.ground_operators
        self._member_of = {obj: c for c, members in enumerate(classes) for obj in members}
        # What an atom says about the one exchangeable object in it: (object, number of the statement).
        self._says: dict[int, tuple[int, int]] = {}
        self._involved = 0
        self._index_statements(asked_for)

    @classmethod
    def of(cls, problem: GroundProblem, asked_for: int) -> Symmetry | None:
        """Return the symmetries of a problem whose states consist of the given atoms, if any."""
        classes = interchangeable_objects(problem)
        return cls(problem, asked_for, classes) if classes else None

    def _index_statements(self, asked_for: int) -> None:
        statements: dict[AtomKey, list[tuple[int, int]]] = defaultdict(list)
        for atom in bits(asked_for & ((1 << len(self._keys)) - 1)):
            predicate, arguments = self._keys[atom]
            members = [obj for obj in arguments if obj in self._member_of]
            if members:
                self._involved |= 1 << atom
            if len(members) == 1:
                blank = tuple(_PLACEHOLDER if obj == members[0] else obj for obj in arguments)
                statements[predicate, blank].append((atom, members[0]))
        for statement, key in enumerate(sorted(statements)):
            for atom, obj in statements[key]:
                self._says[atom] = (obj, statement)

    def canonical(self, state: int) -> int:
        """Return the state that stands for all images of a state."""
        return self.renamed_state(state, self.exchange(state))

    def exchange(self, state: int) -> Renaming:
        """Return the renaming under which a state becomes canonical."""
        said: dict[int, list[int]] = defaultdict(list)
        for atom in bits(state & self._involved):
            if atom in self._says:
                obj, statement = self._says[atom]
                said[obj].append(statement)
        for statements in said.values():
            statements.sort()
        renaming = list(self.identity)
        for members in self.classes:
            for place, obj in zip(members, sorted(members, key=lambda o: said.get(o, [])), strict=True):
                renaming[obj] = place
        return tuple(renaming)

    def renamed_state(self, state: int, renaming: Renaming) -> int:
        """Return the image of a state."""
        if renaming == self.identity:
            return state
        image = state & ~self._involved
        for atom in bits(state & self._involved):
            predicate, arguments = self._keys[atom]
            image |= 1 << self._atom[predicate, tuple(renaming[obj] for obj in arguments)]
        return image

    def renamed_step(self, step: int, renaming: Renaming) -> int:
        """Return the image of a ground operator."""
        operator = self._operators[step]
        return self._step[operator.operator, tuple(renaming[obj] for obj in operator.objects)]


def interchangeable_objects(problem: GroundProblem) -> tuple[tuple[int, ...], ...]:
    """Return the classes of two and more interchangeable objects, each in ascending order.

    An object that a discovered failure mentions can be exchanged with no other.
    """
    fixed = {obj for step, obj in problem.failures}
    for step, _ in problem.failures:
        fixed.update(problem.ground_operators[step].objects)
    number = {obj: index for index, obj in enumerate(problem.objects)}
    facts: dict[int, set[tuple[bool, AtomKey]]] = defaultdict(set)
    for in_goal, mask in ((False, problem.initial), (True, problem.goal)):
        for atom in bits(mask):
            arguments = tuple(number[obj] for obj in problem.atoms[atom].objects)
            for obj in arguments:
                facts[obj].add((in_goal, (problem.atoms[atom].predicate.name, arguments)))
    classes: list[list[int]] = []
    for obj in range(len(problem.objects)):
        if obj in fixed:
            continue
        for members in classes:
            other = members[0]
            if problem.objects[obj].type == problem.objects[other].type and (
                facts[obj] == _exchanged(facts[other], obj, other)
            ):
                members.append(obj)
                break
        else:
            classes.append([obj])
    return tuple(tuple(members) for members in classes if len(members) > 1)


def _exchanged(facts: Iterable[tuple[bool, AtomKey]], one: int, other: int) -> set[tuple[bool, AtomKey]]:
    swap = {one: other, other: one}
    return {
        (in_goal, (predicate, tuple(swap.get(obj, obj) for obj in arguments)))
        for in_goal, (predicate, arguments) in facts
    }
