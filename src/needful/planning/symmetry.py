"""Objects that can be exchanged without changing a problem, and states that are equal up to that.

Two objects of a type are interchangeable if exchanging them maps the initial atoms and the goal onto
themselves; so do then all permutations of such objects. A state and its image have plans of the same
shape, so a search needs only one of them: the one in which the objects of each class are sorted by
the atoms that they occur in. Where an atom relates two interchangeable objects, states that are
images of each other may stay apart; states that are not are never made one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.planning.budget import Budget
from needful.planning.grounding import GroundProblem

# For each object number the number of the object that takes its place.
Renaming: TypeAlias = tuple[int, ...]
# An atom as its predicate's name and its object numbers.
AtomKey: TypeAlias = tuple[str, tuple[int, ...]]
# Whether it is of the goal or holds at the start, the predicate's name, the object numbers.
Fact: TypeAlias = tuple[bool, str, tuple[int, ...]]

_PLACEHOLDER = -1


class Symmetry:
    """The classes of interchangeable objects of one problem; none has fewer than two members."""

    def __init__(
        self, problem: GroundProblem, asked_for: int, classes: Sequence[tuple[int, ...]], budget: Budget
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
        # What an atom says about the one exchangeable object in it: (object, number of the statement).
        self._statement_of: dict[int, tuple[int, int]] = {}
        self._symmetric_atoms = 0
        self._index_statements(asked_for, budget)

    @classmethod
    def of(cls, problem: GroundProblem, asked_for: int, budget: Budget) -> Symmetry | None:
        """Return the symmetries of a problem whose states consist of the given atoms, if any."""
        classes = interchangeable_objects(problem, budget)
        return cls(problem, asked_for, classes, budget) if classes else None

    def _index_statements(self, asked_for: int, budget: Budget) -> None:
        exchangeable = {obj for members in self.classes for obj in members}
        statements: dict[AtomKey, list[tuple[int, int]]] = defaultdict(list)
        for atom in budget.until_deadline(bits(asked_for & ((1 << len(self._keys)) - 1))):
            predicate, arguments = self._keys[atom]
            members = exchangeable.intersection(arguments)
            if members:
                self._symmetric_atoms |= 1 << atom
            if len(members) == 1:
                (obj,) = members
                statements[predicate, _with_placeholder(arguments, obj)].append((atom, obj))
        for statement, key in enumerate(sorted(statements)):
            for atom, obj in statements[key]:
                self._statement_of[atom] = (obj, statement)

    def canonical(self, state: int) -> int:
        """Return the state that stands for all images of a state."""
        return self.renamed_state(state, self.exchange(state))

    def exchange(self, state: int) -> Renaming:
        """Return the renaming under which a state becomes canonical."""
        said: dict[int, list[int]] = defaultdict(list)
        for atom in bits(state & self._symmetric_atoms):
            if atom in self._statement_of:
                obj, statement = self._statement_of[atom]
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
        image = state & ~self._symmetric_atoms
        for atom in bits(state & self._symmetric_atoms):
            predicate, arguments = self._keys[atom]
            image |= 1 << self._atom[predicate, tuple(renaming[obj] for obj in arguments)]
        return image

    def renamed_step(self, step: int, renaming: Renaming) -> int:
        """Return the image of a ground operator."""
        operator = self._operators[step]
        return self._step[operator.operator, tuple(renaming[obj] for obj in operator.objects)]


def interchangeable_objects(problem: GroundProblem, budget: Budget) -> tuple[tuple[int, ...], ...]:
    """Return the classes of two and more interchangeable objects, each in ascending order.

    An object that a discovered failure mentions can be exchanged with no other.
    """
    fixed = {obj for step, obj in problem.failures}
    for step, _ in problem.failures:
        fixed.update(problem.ground_operators[step].objects)
    facts = _facts(problem, budget)
    classes: list[list[int]] = []
    # A class under what is said of its first member, and under that member.
    by_description: dict[frozenset[Fact], list[list[int]]] = defaultdict(list)
    by_first: dict[int, list[int]] = {}
    for obj in budget.until_deadline(range(len(problem.objects))):
        if obj in fixed:
            continue
        # The same is said of two objects that can be exchanged, unless something is said of both.
        description = frozenset(
            (in_goal, name, _with_placeholder(args, obj)) for in_goal, name, args in facts[obj]
        )
        related = sorted({other for _, _, arguments in facts[obj] for other in arguments})
        candidates = by_description[description] + [by_first[o] for o in related if o in by_first]
        home = next((c for c in candidates if _can_be_exchanged(obj, c[0], problem, facts)), None)
        if home is None:
            home = by_first[obj] = []
            classes.append(home)
            by_description[description].append(home)
        home.append(obj)
    return tuple(tuple(members) for members in classes if len(members) > 1)


def _facts(problem: GroundProblem, budget: Budget) -> list[set[Fact]]:
    """Return for each object the initial and goal atoms that it occurs in."""
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


def _can_be_exchanged(one: int, other: int, problem: GroundProblem, facts: Sequence[set[Fact]]) -> bool:
    swap = {one: other, other: one}
    return (
        problem.objects[one].type == problem.objects[other].type
        and len(facts[one]) == len(facts[other])
        and all(
            (in_goal, predicate, tuple(swap.get(obj, obj) for obj in arguments)) in facts[one]
            for in_goal, predicate, arguments in facts[other]
        )
    )
