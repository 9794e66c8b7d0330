"""Shared parts of all searches: state space, tree of nodes, stream of plans, and tie-breaking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self

from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.grounding import GroundProblem
from needful.planning.symmetry import Symmetry

# The memory limit for the states of one search.
_MAX_STATE_BYTES = 1 << 31

_MAX_UINT64 = (1 << 64) - 1


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
        # The operators with negative preconditions, by index.
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
        """Return the state after a step; with `symmetries`, the representative of its symmetric states."""
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
        """Requeue the nodes that were postponed because their states had reached the expansion limit."""

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
