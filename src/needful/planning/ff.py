"""The FF heuristic: the length of a plan that ignores deletes, and the steps it would begin with.

Each atom is given the operator that achieves it at the least cost, where the cost of an operator is 1
and the sum of its preconditions' costs; of several the one with the lowest number. The operators that
the goal rests on in this way are a relaxed plan (Keyder and Geffner, ECAI 2008, after Hoffmann and
Nebel, JAIR 2001). Those of them that are applicable now are preferred.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from needful.abstraction.atom_table import bits
from needful.planning.budget import Budget
from needful.planning.ground_problem import GroundProblem

# Sums of sums can grow beyond all bounds; from here on costs count as equal.
_MOST = (1 << 30) - 1
_UNREACHED = 1 << 30
_NO_OPERATOR = -1


class RelaxedPlan(NamedTuple):
    """A plan that ignores deletes: how many operators, and which of them are applicable now."""

    length: int
    preferred: frozenset[int]


class Ff:
    """FF for one problem, over flat lists: atoms and operators are list positions."""

    def __init__(self, problem: GroundProblem, budget: Budget) -> None:
        self._atom_count = problem.atom_count
        self._goal = list(bits(problem.goal))
        operators = problem.ground_operators
        self._preconditions = [list(bits(o.preconditions)) for o in budget.while_it_lasts(operators)]
        self._effects = [list(bits(o.adds & ~o.preconditions)) for o in budget.while_it_lasts(operators)]
        if budget.expired():
            return  # Nobody asks a heuristic that comes too late.
        self._free = [index for index, atoms in enumerate(self._preconditions) if not atoms]
        self._needed_by: list[list[int]] = [[] for _ in range(self._atom_count)]
        for operator, atoms in budget.while_it_lasts(enumerate(self._preconditions)):
            for atom in atoms:
                self._needed_by[atom].append(operator)

    def __call__(self, state: int) -> RelaxedPlan | None:
        """Return a relaxed plan from a state, or None if the goal cannot be reached from it."""
        costs, achievers = self._achieve(state)
        if any(costs[atom] == _UNREACHED for atom in self._goal):
            return None
        chosen: set[int] = set()
        asked = set(self._goal)
        stack = list(self._goal)
        while stack:
            operator = achievers[stack.pop()]
            if operator == _NO_OPERATOR or operator in chosen:
                continue
            chosen.add(operator)
            new = [atom for atom in self._preconditions[operator] if atom not in asked]
            asked.update(new)
            stack.extend(new)
        applicable = (o for o in chosen if all(costs[atom] == 0 for atom in self._preconditions[o]))
        return RelaxedPlan(len(chosen), frozenset(applicable))

    def _achieve(self, state: int) -> tuple[list[int], list[int]]:
        """Return the cost of each atom and the operator that achieves it; stop when the goal is done."""
        costs = [_UNREACHED] * self._atom_count
        achievers = [_NO_OPERATOR] * self._atom_count
        waiting_for = [len(atoms) for atoms in self._preconditions]
        sums = [1] * len(self._preconditions)
        queue: list[tuple[int, int]] = []

        def offer(operator: int) -> None:
            cost = sums[operator]
            for effect in self._effects[operator]:
                if cost < costs[effect]:
                    costs[effect] = cost
                    achievers[effect] = operator
                    heapq.heappush(queue, (cost, effect))
                # Of costs beyond all bounds the later may rest on the earlier, so that one stays.
                elif cost == costs[effect] < _MOST and operator < achievers[effect]:
                    achievers[effect] = operator

        for atom in bits(state):
            costs[atom] = 0
            queue.append((0, atom))
        for operator in self._free:
            offer(operator)
        open_goals = set(self._goal)
        while queue and open_goals:
            cost, atom = heapq.heappop(queue)
            if cost > costs[atom]:
                continue
            open_goals.discard(atom)
            for operator in self._needed_by[atom]:
                waiting_for[operator] -= 1
                sums[operator] = min(sums[operator] + cost, _MOST)
                if not waiting_for[operator]:
                    offer(operator)
        return costs, achievers
