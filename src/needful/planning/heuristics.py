"""The LM-cut heuristic of Helmert and Domshlak (ICAPS 2009) for operators of cost 1.

Deletes are ignored, so quantified deletes cost nothing here. Again and again a cut of the
justification graph is taken: a set of operators of which every plan needs one (a landmark). Its
operators are free from then on, which makes the cuts disjoint and their number admissible.

h-max values are unique, and of several preconditions with the greatest value the one with the lowest
number counts. The landmarks therefore follow from the state alone, not from the order of the work.

The FF heuristic: the length of a plan that ignores deletes, and the steps it would begin with.

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
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import HeuristicEstimate

# Sums of sums can grow beyond all bounds; from here on costs count as equal.
_MOST = (1 << 30) - 1
_INFINITE = 1 << 30
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
        self._preconditions = [list(bits(o.preconditions)) for o in budget.until_deadline(operators)]
        self._effects = [list(bits(o.adds & ~o.preconditions)) for o in budget.until_deadline(operators)]
        if budget.expired():
            return  # Nobody asks a heuristic that comes too late.
        self._without_preconditions = [
            index for index, atoms in enumerate(self._preconditions) if not atoms
        ]
        self._needed_by: list[list[int]] = [[] for _ in range(self._atom_count)]
        for operator, atoms in budget.until_deadline(enumerate(self._preconditions)):
            for atom in atoms:
                self._needed_by[atom].append(operator)

    def __call__(self, state: int) -> RelaxedPlan | None:
        """Return a relaxed plan from a state, or None if the goal cannot be reached from it."""
        costs, achievers = self._relaxed_costs(state)
        if any(costs[atom] == _INFINITE for atom in self._goal):
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

    def _relaxed_costs(self, state: int) -> tuple[list[int], list[int]]:
        """Return the cost of each atom and the operator that achieves it; stop when the goal is done."""
        costs = [_INFINITE] * self._atom_count
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
        for operator in self._without_preconditions:
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


# More than any value can be, yet less than 2 ** 30: Python compares such integers fastest.
_UNREACHED = 1 << 29
# From so many operators on, what is simple for a few takes too long.
_LARGE_CUT = 200


class _Graph(NamedTuple):
    """The justification graph of a state: from each operator's supporter edges lead to its effects.

    Attributes:
        true: the atoms of the state.
        values: the h-max value of each atom.
        costs: the cost of each operator: 1, or 0 after it was in a cut.
        supporters: the hardest precondition of each operator.
        supported: the operators that each atom supports, in any order.
    """

    true: list[int]
    values: list[int]
    costs: list[int]
    supporters: list[int]
    supported: list[list[int]]


class LmCut:
    """LM-cut for one problem, over flat lists: atoms and operators are list positions.

    The goal is one more operator, the last: it needs what the goal asks for and adds nothing. Its
    supporter is thus the hardest atom of the goal, the target of the next cut.
    """

    def __init__(self, problem: GroundProblem, budget: Budget) -> None:
        # One more atom that always holds supports the operators without preconditions.
        self._true_atom = problem.atom_count
        operators = problem.ground_operators
        needs = [tuple(bits(o.preconditions)) for o in budget.until_deadline(operators)]
        adds = [tuple(bits(o.adds & ~o.preconditions)) for o in budget.until_deadline(operators)]
        if budget.expired():
            return  # Nobody asks a heuristic that comes too late.
        goal = tuple(bits(problem.goal))
        self._original_index, wanted = _relevant_operators(goal, needs, self._achievers(adds, budget))
        needed = [*(needs[index] for index in self._original_index), goal]
        self._preconditions = [atoms or (self._true_atom,) for atoms in needed]
        useful = (tuple(atom for atom in adds[index] if atom in wanted) for index in self._original_index)
        self._effects = [*useful, ()]
        self._added_by = self._achievers(self._effects, budget)

    def _achievers(self, adds: list[tuple[int, ...]], budget: Budget) -> list[list[int]]:
        added_by: list[list[int]] = [[] for _ in range(self._true_atom + 1)]
        for operator, atoms in budget.until_deadline(enumerate(adds)):
            for atom in atoms:
                added_by[atom].append(operator)
        return added_by

    def __call__(self, state: int, budget: Budget) -> HeuristicEstimate:
        """Return the number of disjoint landmarks, and the landmarks."""
        graph = self._justification(state)
        _, values, costs, supporters, supported = graph
        if values[supporters[-1]] == _UNREACHED:
            return HeuristicEstimate(None)
        landmarks: list[int] = []
        while values[supporters[-1]] > 0 and not budget.expired():
            cut = self._cut(graph)
            landmark = 0
            if len(cut) > _LARGE_CUT:
                landmark = self._mask(cut)
                _remove_from_supported(cut, graph)
                for operator in cut:
                    costs[operator] = 0
            else:
                for operator in cut:
                    landmark |= 1 << self._original_index[operator]
                    costs[operator] = 0
                    supported[supporters[operator]].remove(operator)
            landmarks.append(landmark)
            self._lower_values(cut, graph)
        return HeuristicEstimate(len(landmarks), tuple(landmarks))

    def _mask(self, cut: list[int]) -> int:
        """Return the operators of a cut as bits; shifting a number of a million bits takes long."""
        marks = bytearray(self._original_index[-1] // 8 + 1)
        for operator in cut:
            number = self._original_index[operator]
            marks[number >> 3] |= 1 << (number & 7)
        return int.from_bytes(marks, "little")

    def _justification(self, state: int) -> _Graph:
        """Return the graph of a state, in which each operator costs 1."""
        true = [*bits(state), self._true_atom]
        values = [_UNREACHED] * (self._true_atom + 1)
        for atom in true:
            values[atom] = 0
        count = len(self._effects)
        graph = _Graph(true, values, [1] * count, [self._true_atom] * count, [[] for _ in values])
        self._lower_values(list(range(count)), graph)
        return graph

    def _lower_values(self, pending: list[int], graph: _Graph) -> None:
        """Find the supporters of the pending operators, which have none, and lower what they add.

        The operators that a lowered atom supports lose it as supporter and are pending too. Values
        only fall, each time by at least 1, and end up the same whatever the order.
        """
        _, values, costs, supporters, supported = graph
        preconditions, effects = self._preconditions, self._effects
        for operator in pending:  # grows meanwhile
            value = -1
            for atom in preconditions[operator]:
                if values[atom] > value:  # so the first, hence lowest, of several
                    hardest = atom
                    value = values[atom]
            supporters[operator] = hardest
            supported[hardest].append(operator)
            value += costs[operator]
            for effect in effects[operator]:
                if values[effect] > value:
                    values[effect] = value
                    pending += supported[effect]
                    supported[effect].clear()

    def _cut(self, graph: _Graph) -> list[int]:
        """Return the operators that lead from outside into the zone with a free way to the target.

        Only operators count whose supporter can be reached without passing through the zone. That is
        certain if it is easier than the target, for nothing in the zone is; mostly all of them are.
        """
        _, values, costs, supporters, _ = graph
        target = supporters[-1]
        zone, to_enter = {target}, [target]
        certain: set[int] = set()
        doubtful: set[int] = set()
        for atom in to_enter:  # grows meanwhile
            for operator in self._added_by[atom]:
                supporter = supporters[operator]
                if not costs[operator]:
                    if supporter not in zone:
                        zone.add(supporter)
                        to_enter.append(supporter)
                elif values[supporter] < values[target]:
                    certain.add(operator)
                elif values[supporter] < _UNREACHED:
                    doubtful.add(operator)
        if doubtful:
            reached = self._reachable_outside(zone, graph)
            certain.update(operator for operator in doubtful if supporters[operator] in reached)
        return list(certain)

    def _reachable_outside(self, zone: set[int], graph: _Graph) -> set[int]:
        """Return the atoms that can be reached without operators that lead into the zone."""
        supported, effects = graph.supported, self._effects
        reached, to_leave = set(graph.true), graph.true.copy()
        for atom in to_leave:  # grows meanwhile
            for operator in supported[atom]:
                if not zone.isdisjoint(effects[operator]):
                    continue
                for effect in effects[operator]:
                    if effect not in reached:
                        reached.add(effect)
                        to_leave.append(effect)
        return reached


def _remove_from_supported(cut: list[int], graph: _Graph) -> None:
    """Take the operators of a cut from their supporters, all at once."""
    gone = set(cut)
    for supporter in {graph.supporters[operator] for operator in cut}:
        left = [operator for operator in graph.supported[supporter] if operator not in gone]
        graph.supported[supporter] = left


def _relevant_operators(
    goal: tuple[int, ...], needs: list[tuple[int, ...]], added_by: list[list[int]]
) -> tuple[list[int], set[int]]:
    """Return the operators that can contribute to the goal, and the atoms that it or they need.

    No other operator is ever in a landmark.
    """
    relevant: set[int] = set()
    wanted, to_add = set(goal), list(goal)
    for atom in to_add:  # grows meanwhile
        for operator in added_by[atom]:
            if operator not in relevant:
                relevant.add(operator)
                new = [needed for needed in needs[operator] if needed not in wanted]
                wanted.update(new)
                to_add += new
    return sorted(relevant), wanted
