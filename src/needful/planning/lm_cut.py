"""The LM-cut heuristic of Helmert and Domshlak (ICAPS 2009) for operators of cost 1.

Deletes are ignored, so quantified deletes cost nothing here. Again and again a cut of the
justification graph is taken: a set of operators of which every plan needs one (a landmark). Its
operators are free from then on, which makes the cuts disjoint and their number admissible.

h-max values are unique, and of several preconditions with the greatest value the one with the lowest
number counts. The landmarks therefore follow from the state alone, not from the order of the work.
"""

from __future__ import annotations

import heapq

from needful.abstraction.atom_table import bits
from needful.planning.budget import Budget
from needful.planning.ground_problem import GroundProblem
from needful.planning.search import Estimate

_UNREACHED = 1 << 30
_NO_SUPPORTER = -1


class LmCut:
    """LM-cut for one problem, over flat lists: atoms and operators are list positions."""

    def __init__(self, problem: GroundProblem) -> None:
        # One more atom that always holds supports the operators without preconditions.
        self._always = problem.atom_count
        self._atom_count = problem.atom_count + 1
        self._goal = list(bits(problem.goal)) or [self._always]
        self._original: list[int] = _relevant_operators(problem)
        encoded = [problem.ground_operators[index] for index in self._original]
        self._preconditions = [list(bits(o.preconditions)) or [self._always] for o in encoded]
        self._effects = [list(bits(o.adds & ~o.preconditions)) for o in encoded]
        self._needed_by = self._users_of(self._preconditions)
        self._added_by = self._users_of(self._effects)

    def _users_of(self, atoms_of: list[list[int]]) -> list[list[int]]:
        users: list[list[int]] = [[] for _ in range(self._atom_count)]
        for operator, atoms in enumerate(atoms_of):
            for atom in atoms:
                users[atom].append(operator)
        return users

    def __call__(self, state: int, budget: Budget) -> Estimate:
        """Return the number of disjoint landmarks, and the landmarks."""
        true = [*bits(state), self._always]
        values, supporters = self._h_max(true)
        target = self._hardest(self._goal, values)
        if values[target] == _UNREACHED:
            return Estimate(None)
        free = bytearray(len(self._original))
        landmarks: list[int] = []
        while values[target] > 0 and not budget.expired():
            cut = self._cut(true, target, values, supporters, free)
            landmark = 0
            for operator in cut:
                free[operator] = 1
                landmark |= 1 << self._original[operator]
            landmarks.append(landmark)
            self._lower(cut, values, supporters, free)
            target = self._hardest(self._goal, values)
        return Estimate(len(landmarks), tuple(landmarks))

    @staticmethod
    def _hardest(atoms: list[int], values: list[int]) -> int:
        return max(atoms, key=values.__getitem__)  # the first, hence lowest, of several

    def _h_max(self, true: list[int]) -> tuple[list[int], list[int]]:
        """Return the h-max value of each atom, and of each operator its hardest precondition."""
        values = [_UNREACHED] * self._atom_count
        supporters = [_NO_SUPPORTER] * len(self._original)
        waiting_for = [len(atoms) for atoms in self._preconditions]
        for atom in true:
            values[atom] = 0
        level, frontier = 0, true
        while frontier:
            level += 1
            ready: list[int] = []
            for atom in frontier:
                for operator in self._needed_by[atom]:
                    waiting_for[operator] -= 1
                    if not waiting_for[operator]:
                        ready.append(operator)
            frontier = []
            for operator in ready:
                supporters[operator] = self._hardest(self._preconditions[operator], values)
                for effect in self._effects[operator]:
                    if values[effect] == _UNREACHED:
                        values[effect] = level
                        frontier.append(effect)
        return values, supporters

    def _cut(
        self, true: list[int], target: int, values: list[int], supporters: list[int], free: bytearray
    ) -> list[int]:
        """Return the operators that lead from outside into the zone with a free way to the target.

        Only operators count whose supporter can be reached without passing through the zone. That is
        certain if it is easier than the target, for nothing in the zone is; mostly all of them are.
        """
        zone, entering = self._zone(target, supporters, free)
        outside = [operator for operator in entering if not zone[supporters[operator]]]
        if all(values[supporters[operator]] < values[target] for operator in outside):
            return outside
        reached = self._reached_without(entering, true, supporters)
        return [operator for operator in outside if reached[supporters[operator]]]

    def _zone(self, target: int, supporters: list[int], free: bytearray) -> tuple[bytearray, list[int]]:
        """Return from which atoms a way of free operators leads to the target, and what adds them."""
        zone = bytearray(self._atom_count)
        zone[target] = 1
        entered = bytearray(len(self._original))
        entering: list[int] = []
        stack = [target]
        while stack:
            for operator in self._added_by[stack.pop()]:
                supporter = supporters[operator]
                if supporter == _NO_SUPPORTER or entered[operator]:
                    continue
                entered[operator] = 1
                entering.append(operator)
                if free[operator] and not zone[supporter]:
                    zone[supporter] = 1
                    stack.append(supporter)
        return zone, entering

    def _reached_without(self, banned: list[int], true: list[int], supporters: list[int]) -> bytearray:
        """Return which atoms can be reached from what is true without the banned operators."""
        blocked = bytearray(len(self._original))
        for operator in banned:
            blocked[operator] = 1
        reached = bytearray(self._atom_count)
        for atom in true:
            reached[atom] = 1
        stack = list(true)
        while stack:
            atom = stack.pop()
            for operator in self._needed_by[atom]:
                if blocked[operator] or supporters[operator] != atom:
                    continue
                for effect in self._effects[operator]:
                    if not reached[effect]:
                        reached[effect] = 1
                        stack.append(effect)
        return reached

    def _lower(self, cut: list[int], values: list[int], supporters: list[int], free: bytearray) -> None:
        """Bring values and supporters up to date after the operators of a cut have become free."""
        queue: list[tuple[int, int]] = []

        def offer(operator: int, value: int) -> None:
            for effect in self._effects[operator]:
                if value < values[effect]:
                    values[effect] = value
                    heapq.heappush(queue, (value, effect))

        # All are looked at before any value falls: a supporter is only the hardest precondition until then.
        for operator, value in [(operator, values[supporters[operator]]) for operator in cut]:
            offer(operator, value)
        while queue:
            value, atom = heapq.heappop(queue)
            if value > values[atom]:
                continue
            for operator in self._needed_by[atom]:
                if supporters[operator] == atom:
                    hardest = supporters[operator] = self._hardest(self._preconditions[operator], values)
                    offer(operator, values[hardest] + 1 - free[operator])


def _relevant_operators(problem: GroundProblem) -> list[int]:
    """Return the operators that can contribute to the goal; no other is ever in a landmark."""
    wanted, relevant = problem.goal, 0
    undecided = list(enumerate(problem.ground_operators))
    while True:
        useful = [(i, o) for i, o in undecided if o.adds & ~o.preconditions & wanted]
        if not useful:
            return sorted(bits(relevant))
        for index, operator in useful:
            relevant |= 1 << index
            wanted |= operator.preconditions
        undecided = [(i, o) for i, o in undecided if not relevant >> i & 1]
