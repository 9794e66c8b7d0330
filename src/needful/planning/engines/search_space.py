"""Shared parts of all searches: state space, tree of nodes, stream of plans, tie-breaking and symmetry.

Two objects of the same type are interchangeable if swapping them changes neither the initial atoms nor the
goal. Interchangeable objects form classes. Two states are equivalent if renaming objects within their
classes turns one into the other. Their plans then differ only by the same renaming, so a search needs only
one state: the canonical state, in which the objects of each class are sorted by the atoms they occur in.

States that are not equivalent are never merged. Equivalent states may have different canonical states if an
atom contains two interchangeable objects; then they are not merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Self, TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.grounding import GroundProblem

# The memory limit for the states of one search.
_MAX_STATE_BYTES = 1 << 31
_MAX_UINT64 = (1 << 64) - 1

# A renaming of objects: for each object number, the number of the object that replaces it.
Renaming: TypeAlias = tuple[int, ...]
# An atom as its predicate's name and its object numbers.
AtomKey: TypeAlias = tuple[str, tuple[int, ...]]
# An initial or goal atom: whether it is in the goal, the predicate's name, the object numbers.
Fact: TypeAlias = tuple[bool, str, tuple[int, ...]]
_PLACEHOLDER = -1


class SearchSpace:
    """The states of a problem, reduced to relevant atoms.

    Atoms that occur in no precondition, in no negative precondition and not in the goal are left out of
    states. With `symmetries`, states that differ only by swapping interchangeable objects are merged.
    `costs` has the cost of each ground operator.
    """

    def __init__(self, problem: GroundProblem, symmetries: bool, budget: Budget) -> None:
        self._operators = problem.ground_operators
        self._masks = problem.pattern_masks
        self._goal = problem.goal
        self.costs = problem.step_costs()
        self._preconditions = [operator.preconditions for operator in problem.ground_operators]
        # The negative preconditions of the ground operators that have any, by index.
        self._negative_preconditions: dict[int, int] = {}
        self._relevant_atoms = problem.goal
        for step, operator in enumerate(budget.until_deadline(problem.ground_operators)):
            self._relevant_atoms |= operator.preconditions | operator.negative_preconditions
            if operator.negative_preconditions:
                self._negative_preconditions[step] = operator.negative_preconditions
        self._symmetry = Symmetry.of(problem, self._relevant_atoms, budget) if symmetries else None
        self.initial = problem.initial & self._relevant_atoms
        self.max_states = _MAX_STATE_BYTES // (problem.atom_count // 64 * 8 + 8)

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in a state."""
        return state & self._goal == self._goal

    def applicable(self, state: int) -> list[int]:
        """Return the indices of the ground operators that are applicable in a state, in ascending order."""
        missing = self._relevant_atoms & ~state
        found = [step for step, needed in enumerate(self._preconditions) if not needed & missing]
        negative = self._negative_preconditions
        return [step for step in found if not negative.get(step, 0) & state] if negative else found

    def successor(self, state: int, step: int) -> int:
        """Return the state after a step; with `symmetries`, its canonical state."""
        child = self._apply(state, step)
        return child if self._symmetry is None else self._symmetry.canonical(child)

    def _apply(self, state: int, step: int) -> int:
        operator = self._operators[step]
        child = state & ~operator.deletes
        for pattern in operator.patterns:
            child &= ~self._masks[pattern]
        return (child | operator.adds) & self._relevant_atoms

    def undo_renaming(self, steps: list[int]) -> tuple[int, ...]:
        """Return the plan for the original problem that corresponds to a path of the search.

        With `symmetries`, `successor` replaces a state by a symmetric state, in which interchangeable
        objects are renamed. In all later steps of the path, this renaming is undone.
        """
        if self._symmetry is None:
            return tuple(steps)
        plan = []
        state, renaming = self.initial, self._symmetry.identity
        for step in steps:
            plan.append(self._symmetry.renamed_step(step, renaming))
            raw = self._apply(state, step)
            canonical_renaming = self._symmetry.canonical_renaming(raw)
            state = self._symmetry.renamed_state(raw, canonical_renaming)
            undone = list(renaming)
            for obj, renamed in enumerate(canonical_renaming):
                undone[renamed] = renaming[obj]
            renaming = tuple(undone)
        return tuple(plan)


class SearchTree:
    """The nodes of a search: paths from the initial state, numbered in the order of creation.

    The state of a node is computed on demand, because most nodes are never popped.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.costs = [0]
        self._distinct_states: set[int] = {space.initial}
        self._states: list[int | None] = [space.initial]
        self._parents = [-1]
        self._steps = [-1]

    def add(self, parent: int, step: int) -> int:
        """Add the node that extends the parent's path by a step, and return its number."""
        self.costs.append(self.costs[parent] + self.space.costs[step])
        self._states.append(None)
        self._parents.append(parent)
        self._steps.append(step)
        return len(self.costs) - 1

    def state(self, node: int) -> int:
        """Return the state of a node; the state of its parent must have been computed before."""
        state = self._states[node]
        if state is None:
            before = self._states[self._parents[node]]
            assert before is not None
            state = self._states[node] = self.space.successor(before, self._steps[node])
            self._distinct_states.add(state)
        return state

    def may_grow(self, budget: Budget, statistics: SearchStatistics) -> bool:
        """Return whether the limits on nodes and on the memory for states allow another expansion."""
        return (
            budget.allows(statistics.nodes_created) and len(self._distinct_states) <= self.space.max_states
        )

    def plan(self, node: int) -> tuple[int, ...]:
        """Return the plan to a node, as the indices of its ground operators."""
        backwards = []
        while self._parents[node] >= 0:
            backwards.append(self._steps[node])
            node = self._parents[node]
        return self.space.undo_renaming(backwards[::-1])


class SearchStream(ABC):
    """The plans of a search that continues after each plan; see `PlanStream`.

    After each plan, every state may be expanded once more, so that other paths through it are found.
    """

    def __init__(self, space: SearchSpace, seed: int, budget: Budget, statistics: SearchStatistics) -> None:
        self.end_reason: Outcome | None = None
        self._space = space
        self._budget = budget
        self._statistics = statistics
        self._random = splitmix64(seed)
        self._tree = SearchTree(space)
        self._expansion_limit = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[int, ...]:
        if self.end_reason is None:
            self._expansion_limit += 1
            self._resume_postponed()
            found = self._next_goal_node()
            if isinstance(found, int):
                return self._tree.plan(found)
            self.end_reason = found
        raise StopIteration

    @abstractmethod
    def _resume_postponed(self) -> None:
        """Put postponed nodes back into the queue: those whose states had reached the expansion limit."""

    @abstractmethod
    def _next_goal_node(self) -> int | Outcome:
        """Continue the search; return the next node with a goal state, or the reason why there is none."""


def splitmix64(seed: int) -> Iterator[int]:
    """Yield the infinite SplitMix64 sequence of a seed (Steele, Lea and Flood, OOPSLA 2014).

    Every implementation yields the same 64-bit numbers, so the C++ engine breaks ties in the same way.
    """
    state = seed & _MAX_UINT64
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MAX_UINT64
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MAX_UINT64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MAX_UINT64
        yield mixed ^ (mixed >> 31)


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
        # For each atom that contains exactly one interchangeable object: the object, and the index of a
        # property. The property is the atom with a placeholder for the object, such as On(_, table).
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

    The objects of a ground operator with a surcharge or a discovered failure (see `GroundProblem.failures`)
    are in no class, because the search treats this operator differently from other groundings. The objects
    that caused discovered failures are in no class, either.
    """
    fixed = {obj for step, obj in problem.failures}
    for step, _ in (*problem.failures, *problem.costs.ground):
        fixed.update(problem.ground_operators[step].objects)
    facts = _facts(problem, budget)
    classes: list[list[int]] = []
    # The classes found so far, by the description of their first object (see below), and by its number.
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
