"""The heuristics LM-cut and FF. Both ignore all delete effects. Operators have positive integer costs.

A negative precondition becomes a precondition on a complement: an additional atom that holds if and only if
the original atom does not hold. Operators that delete the original atom add the complement. This does not
change the plans of the problem, so LM-cut stays admissible.

LM-cut (Helmert and Domshlak, ICAPS 2009) repeatedly computes a cut of the justification graph. A cut is a
landmark: a set of operators such that every plan uses at least one of them. The cost of a landmark is the
least cost of its operators. It is subtracted from the cost of each of these operators before the next cut.
The sum of the landmarks' costs is therefore an admissible estimate. If all operators cost 1, the landmarks
are disjoint. The supporter of an operator is its precondition with the greatest h-max value; among equal
values, the one with the lowest number. The landmarks therefore depend on the state alone, not on the order
of computation.

FF estimates a state by the cost of a relaxed plan, which ignores delete effects. Achieving an atom with
an operator costs as much as the operator plus all its preconditions. The achiever of an atom is the
operator for which this sum is least; ties go to the lowest number. The cost of an atom is this least sum,
or 0 if the atom holds in the state. The relaxed plan consists of the achievers of the goal atoms, the
achievers of these operators' preconditions, and so on (Keyder and Geffner, ECAI 2008, after Hoffmann and
Nebel, JAIR 2001).
The preferred operators are the operators of the relaxed plan that are applicable in the state.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.planning.grounding import GroundProblem, deleted_atoms
from needful.planning.interfaces import HeuristicEstimate

# FF limits costs to this value. Otherwise they could overflow in the C++ engine, and both engines must give
# the same results.
_MAX_COST = (1 << 30) - 1
_INFINITE = 1 << 30
_NO_OPERATOR = -1
# LM-cut: the value of unreachable atoms. Less than 2 ** 30, because Python compares such integers fastest.
_UNREACHED = 1 << 29
# LM-cut: if a cut has more operators than this, they are processed all at once, which is faster.
_LARGE_CUT = 200


class DeleteRelaxation:
    """The ground operators of a problem, with their delete effects removed.

    Each negative precondition is replaced by a precondition on a complement; see the module docstring.

    Attributes:
        atom_count: the number of atoms, including one complement per atom in a negative precondition. The
            complements are numbered after the atoms of the problem, in the order of the original atoms.
        preconditions: for each operator, the numbers of its preconditions in ascending order.
        effects: for each operator, the numbers of the atoms that it adds and that are not preconditions.
    """

    def __init__(self, problem: GroundProblem, budget: Budget) -> None:
        operators = problem.ground_operators
        self.preconditions = [tuple(bits(o.preconditions)) for o in budget.until_deadline(operators)]
        self.effects = [tuple(bits(o.adds & ~o.preconditions)) for o in budget.until_deadline(operators)]
        self._negated = 0
        for operator in budget.until_deadline(operators):
            self._negated |= operator.negative_preconditions
        count = problem.atom_count
        self._complement = {atom: count + index for index, atom in enumerate(bits(self._negated))}
        self.atom_count = count + len(self._complement)
        if not self._negated or budget.expired():
            return
        for index, operator in enumerate(budget.until_deadline(operators)):
            negative = operator.negative_preconditions
            self.preconditions[index] += self._complements(negative)
            self.effects[index] += self._complements(deleted_atoms(operator, problem) & ~negative)

    def true_atoms(self, state: int) -> list[int]:
        """Return the numbers of the atoms and complements that hold in a state, in ascending order."""
        return [*bits(state), *self._complements(~state)]

    def _complements(self, atoms: int) -> tuple[int, ...]:
        return tuple(self._complement[atom] for atom in bits(atoms & self._negated))


class RelaxedPlan(NamedTuple):
    """A plan from a given state if delete effects are ignored.

    Attributes:
        cost: the sum of the costs of its operators.
        preferred: the operators of the plan that are applicable in the state.
    """

    cost: int
    preferred: frozenset[int]


class Ff:
    """The FF heuristic for one problem. Atoms and operators are represented by numbers."""

    def __init__(self, problem: GroundProblem, budget: Budget) -> None:
        self._goal = list(bits(problem.goal))
        self._relaxation = DeleteRelaxation(problem, budget)
        self._atom_count = self._relaxation.atom_count
        self._preconditions = self._relaxation.preconditions
        self._effects = self._relaxation.effects
        self._costs = problem.step_costs()
        if budget.expired():
            return  # incomplete, but not used: the search checks the deadline first
        self._without_preconditions = [
            index for index, atoms in enumerate(self._preconditions) if not atoms
        ]
        self._needed_by: list[list[int]] = [[] for _ in range(self._atom_count)]
        for operator, atoms in budget.until_deadline(enumerate(self._preconditions)):
            for atom in atoms:
                self._needed_by[atom].append(operator)

    def __call__(self, state: int) -> RelaxedPlan | None:
        """Return a relaxed plan from a state, or None if the goal is unreachable."""
        costs, achievers = self._relaxed_costs(state)
        if any(costs[atom] == _INFINITE for atom in self._goal):
            return None
        chosen: set[int] = set()
        needed = set(self._goal)
        stack = list(self._goal)
        while stack:
            operator = achievers[stack.pop()]
            if operator == _NO_OPERATOR or operator in chosen:
                continue
            chosen.add(operator)
            new = [atom for atom in self._preconditions[operator] if atom not in needed]
            needed.update(new)
            stack.extend(new)
        applicable = (o for o in chosen if all(costs[atom] == 0 for atom in self._preconditions[o]))
        return RelaxedPlan(sum(self._costs[o] for o in chosen), frozenset(applicable))

    def _relaxed_costs(self, state: int) -> tuple[list[int], list[int]]:
        """Return two lists: the cost of each atom, and the operator that achieves it at this cost.

        The computation stops once all goal atoms are reached.
        """
        costs = [_INFINITE] * self._atom_count
        achievers = [_NO_OPERATOR] * self._atom_count
        waiting_for = [len(atoms) for atoms in self._preconditions]
        sums = self._costs.copy()
        queue: list[tuple[int, int]] = []

        def offer(operator: int) -> None:
            cost = sums[operator]
            for effect in self._effects[operator]:
                if cost < costs[effect]:
                    costs[effect] = cost
                    achievers[effect] = operator
                    heapq.heappush(queue, (cost, effect))
                # Larger costs are truncated to _MAX_COST. At this cost, the old achiever stays: the new
                # operator might itself need this effect, and the relaxed plan would be circular.
                elif cost == costs[effect] < _MAX_COST and operator < achievers[effect]:
                    achievers[effect] = operator

        for atom in self._relaxation.true_atoms(state):
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
                sums[operator] = min(sums[operator] + cost, _MAX_COST)
                if not waiting_for[operator]:
                    offer(operator)
        return costs, achievers


class _Graph(NamedTuple):
    """The justification graph of a state.

    The supporter of an operator is its precondition with the greatest h-max value. For each operator, edges
    lead from its supporter to its add effects.

    Attributes:
        true: the atoms and complements that hold in the state, and an additional atom that always holds.
        values: the h-max value of each atom.
        costs: the remaining cost of each operator: its cost minus those of the landmarks that contain it.
        supporters: the supporter of each operator.
        supported: for each atom, the operators whose supporter it is, in any order.
    """

    true: list[int]
    values: list[int]
    costs: list[int]
    supporters: list[int]
    supported: list[list[int]]


class LmCut:
    """The LM-cut heuristic for one problem. Atoms and operators are represented by numbers.

    An additional operator, the last one, stands for the goal: its preconditions are the goal atoms, and it
    adds nothing. Its supporter is thus the goal atom with the greatest h-max value. To reach this
    atom, a plan must use at least one operator of the next cut.
    """

    def __init__(self, problem: GroundProblem, budget: Budget) -> None:
        self._relaxation = DeleteRelaxation(problem, budget)
        # An additional atom that always holds supports the operators without preconditions.
        self._true_atom = self._relaxation.atom_count
        if budget.expired():
            return  # incomplete, but not used: the search checks the deadline first
        needs, adds = self._relaxation.preconditions, self._relaxation.effects
        goal = tuple(bits(problem.goal))
        costs = problem.step_costs()
        self._original_index, wanted = _relevant_operators(goal, needs, self._achievers(adds, budget))
        needed = [*(needs[index] for index in self._original_index), goal]
        self._preconditions = [atoms or (self._true_atom,) for atoms in needed]
        useful = (tuple(atom for atom in adds[index] if atom in wanted) for index in self._original_index)
        self._effects = [*useful, ()]
        self._added_by = self._achievers(self._effects, budget)
        self._costs = [*(costs[index] for index in self._original_index), 1]
        self._unit_costs = not problem.costs

    def _achievers(self, adds: list[tuple[int, ...]], budget: Budget) -> list[list[int]]:
        added_by: list[list[int]] = [[] for _ in range(self._true_atom + 1)]
        for operator, atoms in budget.until_deadline(enumerate(adds)):
            for atom in atoms:
                added_by[atom].append(operator)
        return added_by

    def __call__(self, state: int, budget: Budget) -> HeuristicEstimate:
        """Return the estimate of a state: its landmarks, their costs, and the sum of these costs."""
        graph = self._justification(state)
        _, values, costs, supporters, supported = graph
        if values[supporters[-1]] == _UNREACHED:
            return HeuristicEstimate(None)
        landmarks: list[int] = []
        landmark_costs: list[int] = []
        while values[supporters[-1]] > 0 and not budget.expired():
            cut = self._cut(graph)
            cost = 1 if self._unit_costs else min(costs[operator] for operator in cut)
            landmark = 0
            if len(cut) > _LARGE_CUT:
                landmark = self._mask(cut)
                _remove_from_supported(cut, graph)
                for operator in cut:
                    costs[operator] -= cost
            else:
                for operator in cut:
                    landmark |= 1 << self._original_index[operator]
                    costs[operator] -= cost
                    supported[supporters[operator]].remove(operator)
            landmarks.append(landmark)
            landmark_costs.append(cost)
            self._lower_values(cut, graph)
        if self._unit_costs:
            return HeuristicEstimate(len(landmarks), tuple(landmarks))
        return HeuristicEstimate(sum(landmark_costs), tuple(landmarks), tuple(landmark_costs))

    def _mask(self, cut: list[int]) -> int:
        """Return the bit mask of a cut, built in a byte array because updating a long int is slow."""
        marks = bytearray(self._original_index[-1] // 8 + 1)
        for operator in cut:
            number = self._original_index[operator]
            marks[number >> 3] |= 1 << (number & 7)
        return int.from_bytes(marks, "little")

    def _justification(self, state: int) -> _Graph:
        """Return the justification graph of a state before the first cut."""
        true = [*self._relaxation.true_atoms(state), self._true_atom]
        values = [_UNREACHED] * (self._true_atom + 1)
        for atom in true:
            values[atom] = 0
        count = len(self._effects)
        graph = _Graph(true, values, self._costs.copy(), [self._true_atom] * count, [[] for _ in values])
        self._lower_values(list(range(count)), graph)
        return graph

    def _lower_values(self, pending: list[int], graph: _Graph) -> None:
        """Update the h-max values of atoms and the supporters of operators in a justification graph.

        `pending` lists the operators to process. For each of them, the supporter is found again and the
        values of the add effects are lowered if possible. If the value of an atom decreases, the operators
        that it supports become pending too. The result does not depend on the order of `pending`.
        """
        _, values, costs, supporters, supported = graph
        preconditions, effects = self._preconditions, self._effects
        for operator in pending:  # the list grows in the loop
            value = -1
            for atom in preconditions[operator]:
                if values[atom] > value:  # ties go to the lowest number
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
        """Return the operators of the next cut.

        The target is the goal atom with the greatest h-max value. The goal zone contains the target and all
        atoms from which operators of cost 0 lead to the target. An operator is in the cut if it adds an
        atom of the zone and its supporter can be reached without entering the zone.

        If a supporter has a lower value than the target, it can be reached in this way: all atoms on its
        path have lower values too, and no atom of the zone has a lower value. A search is needed only for
        the other supporters, and usually there are none.
        """
        _, values, costs, supporters, _ = graph
        target = supporters[-1]
        zone, to_enter = {target}, [target]
        certain: set[int] = set()
        doubtful: set[int] = set()
        for atom in to_enter:  # the list grows in the loop
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
        """Return the atoms reachable without operators that add an atom of the goal zone; see `_cut`."""
        supported, effects = graph.supported, self._effects
        reached, to_leave = set(graph.true), graph.true.copy()
        for atom in to_leave:  # the list grows in the loop
            for operator in supported[atom]:
                if not zone.isdisjoint(effects[operator]):
                    continue
                for effect in effects[operator]:
                    if effect not in reached:
                        reached.add(effect)
                        to_leave.append(effect)
        return reached


def _remove_from_supported(cut: list[int], graph: _Graph) -> None:
    """Remove the operators of a cut from the lists `graph.supported` of their supporters."""
    removed = set(cut)
    for supporter in {graph.supporters[operator] for operator in cut}:
        kept = [operator for operator in graph.supported[supporter] if operator not in removed]
        graph.supported[supporter] = kept


def _relevant_operators(
    goal: tuple[int, ...], needs: list[tuple[int, ...]], added_by: list[list[int]]
) -> tuple[list[int], set[int]]:
    """Return the relevant operators, and the set of their preconditions and the goal atoms.

    An operator is relevant if it adds a goal atom or a precondition of a relevant operator. No other
    operator is ever in a landmark.
    """
    relevant: set[int] = set()
    wanted, to_add = set(goal), list(goal)
    for atom in to_add:  # the list grows in the loop
        for operator in added_by[atom]:
            if operator not in relevant:
                relevant.add(operator)
                new = [needed for needed in needs[operator] if needed not in wanted]
                wanted.update(new)
                to_add += new
    return sorted(relevant), wanted
