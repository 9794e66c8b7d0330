"""Cope with noise in demonstrations: repair wrong atoms, and find transitions to ignore.

Wrong atoms are atoms that a noisy detector reported or missed in single states. A wrong atom appears as a
change that its controller hardly ever causes. Each ground atom of a demonstration is modelled by a hidden
Markov model with two states, true and false. The probability that an action changes the atom is estimated
from all actions of the same controller, for atoms with the same predicate and the same relation to the
controller's arguments. The most likely sequence of values is found by dynamic programming. A value may
differ from the recorded one at the cost of a detection error. Demonstrations without wrong atoms stay
unchanged, because in them an action causes the same changes many times.

Outliers are transitions that differ from almost all others of the same action. There are two signs:

- An operator explains almost none of its controller's transitions. It may describe a chance effect.
- An atom holds before almost all transitions of an operator, but not before this one. The atom may be a
  precondition that a detector missed in one state.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.atoms import GroundAtom
from needful.core.controllers import GroundController
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.induction import Datum, liftable_atoms_before
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_objects import purposeless_steps

# The cost of a detection error: minus the logarithm of its assumed probability.
ERROR_COST = -math.log(0.01)
# The probabilities of changes and the repairs are computed alternately, at most this many times.
MAX_ROUNDS = 4
# A change that occurs in at most this share of a controller's uses may be due to wrong atoms. If all
# changes are more frequent, nothing is repaired.
RARE_CHANGE = 0.01
# If fewer atoms than this would be repaired, the demonstrations are considered free of noise.
MIN_REPAIRS = 2
# An operator that explains at most this share of its controller's transitions may be a mistake.
RARE = 0.02
# An operator that explains at most this share may be a mistake if it is often false in other transitions.
FEW = 0.25
# With fewer transitions, chance cannot be told from a rule.
ENOUGH = 20
# Fewer transitions than this do not show that an operator is misleading: they may be all uses of a rule.
MIN_MISLEADING = 2
# With noisy atoms, at most this share of an operator's transitions may lack one of its preconditions.
NOISE = 0.08
# If more than this share of all steps has no purpose, a precondition was probably lost because of noise.
MANY = 0.25

# How an action may change an atom: the controller, the predicate, and the position of each of the atom's
# objects among the controller's arguments (-1 for other objects).
_Form: TypeAlias = tuple[str, str, tuple[int, ...]]
_Values: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repairs:
    """Demonstrations with repaired atoms, and the number of repaired atoms of each demonstration."""

    demonstrations: tuple[Demonstration, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of repaired atoms in all demonstrations."""
        return sum(self.counts)


def repair_noise(demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE) -> Repairs:
    """Return the demonstrations with atoms repaired that are most likely detection errors.

    Goal atoms in the last state are never changed. Raises `LearningTimeoutError` if the deadline passes.
    """
    if not _has_rare_change(demonstrations, deadline):
        return keep_atoms(demonstrations)
    forms: dict[_Form, int] = {}
    changing = {
        atom.predicate.name
        for demonstration in demonstrations
        for before, after in pairwise(demonstration.abstract_states)
        for atom in before ^ after
    }
    series = [
        _Series.of(demonstration, changing, forms)
        for demonstration in demonstrations
        if not deadline.check()
    ]
    values = [one.recorded for one in series]
    for _ in range(MAX_ROUNDS):
        costs = _step_costs(series, values, len(forms))
        repaired = [one.most_likely(costs) for one in series if not deadline.check()]
        unchanged = all(map(np.array_equal, repaired, values))
        values = repaired
        if unchanged:
            break
    counts = tuple(int((one.recorded != rows).sum()) for one, rows in zip(series, values, strict=True))
    if sum(counts) < MIN_REPAIRS:
        return Repairs(tuple(demonstrations), (0,) * len(series))
    return Repairs(tuple(one.with_values(rows) for one, rows in zip(series, values, strict=True)), counts)


def _has_rare_change(demonstrations: Sequence[Demonstration], deadline: Deadline) -> bool:
    """Return whether some change is so rare that a wrong atom may have caused it."""
    uses, changes = Counter[str](), Counter[tuple[str, str, tuple[int, ...], bool]]()
    for demonstration in demonstrations:
        deadline.check()
        for action, (before, after) in zip(
            demonstration.actions, pairwise(demonstration.abstract_states), strict=True
        ):
            name = action.controller.name
            uses[name] += 1
            positions = {obj: index for index, obj in enumerate(action.objects)}
            for atom in before ^ after:
                indices = tuple([positions.get(obj, -1) for obj in atom.objects])
                changes[name, atom.predicate.name, indices, atom in after] += 1
    return any(count <= max(2, RARE_CHANGE * uses[name]) for (name, *_), count in changes.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """The atoms of a demonstration over time.

    Attributes:
        demonstration: the demonstration.
        atoms: its atoms; the rows of the arrays.
        recorded: the recorded value of each atom in each state.
        forms: for each atom and action, the number of their form: the names of the controller and the
            predicate, and the positions of the atom's objects among the action's arguments.
    """

    demonstration: Demonstration
    atoms: tuple[GroundAtom, ...]
    recorded: _Values
    forms: npt.NDArray[np.intp]

    @classmethod
    def of(cls, demonstration: Demonstration, changing: Set[str], numbers: dict[_Form, int]) -> _Series:
        """Return the atoms of the predicates in `changing` over time; new forms get the next number."""
        states = demonstration.abstract_states
        atoms = tuple(
            atom for atom in frozenset[GroundAtom]().union(*states) if atom.predicate.name in changing
        )
        rows = {atom: row for row, atom in enumerate(atoms)}
        changed = np.zeros((len(atoms), len(states)), dtype=bool)
        changed[[rows[atom] for atom in states[0] if atom in rows], 0] = True
        for column, (before, after) in enumerate(pairwise(states), start=1):
            changed[[rows[atom] for atom in before ^ after], column] = True
        recorded = np.logical_xor.accumulate(changed, axis=1)
        return cls(demonstration, atoms, recorded, _forms(atoms, demonstration.actions, numbers))

    def most_likely(self, costs: npt.NDArray[np.float64]) -> _Values:
        """Return the most likely values of all atoms (the algorithm of Viterbi).

        `costs[form, before, after]` is minus the logarithm of the probability of a step.
        """
        goal = np.array([atom in self.demonstration.goal for atom in self.atoms], dtype=bool)
        found = self.recorded.astype(np.intp)
        unlikely = costs[self.forms, found[:, :-1], found[:, 1:]] > ERROR_COST / 2
        # Changing n consecutive values costs n detection errors, and saves at most the costs of the n + 1
        # steps before, between and after them. So rows without an unlikely step stay as they are.
        chosen = unlikely.any(axis=1) | (goal & ~self.recorded[:, -1])
        values = self.recorded.copy()
        if chosen.any():
            values[chosen] = _viterbi(self.recorded[chosen], self.forms[chosen], goal[chosen], costs)
        return values

    def with_values(self, values: _Values) -> Demonstration:
        """Return the demonstration with other values of the atoms."""
        if np.array_equal(values, self.recorded):
            return self.demonstration
        states = tuple(
            state.difference(self.atoms).union(self.atoms[row] for row in np.flatnonzero(values[:, column]))
            for column, state in enumerate(self.demonstration.abstract_states)
        )
        return replace(self.demonstration, abstract_states=states)


def _forms(
    atoms: Sequence[GroundAtom], actions: Sequence[GroundController], numbers: dict[_Form, int]
) -> npt.NDArray[np.intp]:
    """Return a number for each atom and action: equal numbers mean that the pair has the same form.

    A form consists of the names of controller and predicate, and the positions of the atom's objects among
    the action's arguments. New forms get the next free number in `numbers`.
    """
    objects = {obj: index for index, obj in enumerate(dict.fromkeys(o for a in atoms for o in a.objects))}
    predicates = list(dict.fromkeys(atom.predicate for atom in atoms))
    controllers = list(dict.fromkeys(action.controller for action in actions))
    # The position of each object among the arguments of each action, from 1; 0 if it is no argument. The
    # additional last column stands for missing objects of atoms with fewer objects than others.
    places = np.zeros((len(actions), len(objects) + 1), dtype=np.intp)
    for row, action in enumerate(actions):
        for position, obj in enumerate(action.objects, start=1):
            if obj in objects:
                places[row, objects[obj]] = position
    base = 1 + max((len(action.objects) for action in actions), default=0)
    width = max((len(atom.objects) for atom in atoms), default=0)
    columns = np.full((len(atoms), width), len(objects), dtype=np.intp)
    for row, atom in enumerate(atoms):
        columns[row, : len(atom.objects)] = [objects[obj] for obj in atom.objects]
    kinds = np.array([predicates.index(atom.predicate) for atom in atoms], dtype=np.intp)
    calls = np.array([controllers.index(action.controller) for action in actions], dtype=np.intp)
    codes = kinds[:, None] * len(controllers) + calls[None, :]
    for column in range(width):
        codes = codes * base + places[:, columns[:, column]].T
    unique, inverse = np.unique(codes, return_inverse=True)
    found = np.zeros(len(unique), dtype=np.intp)
    for index, code in enumerate(unique.tolist()):
        positions: list[int] = []
        for _ in range(width):
            code, place = divmod(code, base)
            positions.insert(0, place - 1)
        kind, call = divmod(code, len(controllers))
        predicate = predicates[kind]
        form = (controllers[call].name, predicate.name, tuple(positions[: len(predicate.types)]))
        found[index] = numbers.setdefault(form, len(numbers))
    return found[inverse].reshape(codes.shape)


def _viterbi(
    recorded: _Values, forms: npt.NDArray[np.intp], goal: _Values, costs: npt.NDArray[np.float64]
) -> _Values:
    """Return the most likely values of atoms; `goal` marks those that must hold at the end."""
    steps = forms.shape[1]
    errors = np.where(recorded[:, :, None] == np.array([False, True]), 0.0, ERROR_COST)
    errors[goal, -1, 0] = math.inf
    total = errors[:, 0, :]
    choices = np.zeros((len(recorded), steps, 2), dtype=np.intp)
    for column in range(steps):
        options = total[:, :, None] + costs[forms[:, column]]
        # A tie keeps the recorded value.
        kept = recorded[:, column, None] == np.array([False, True])
        options = options - 1e-9 * kept[:, :, None]
        choices[:, column, :] = options.argmin(axis=1)
        total = options.min(axis=1) + errors[:, column + 1, :]
    values = np.zeros_like(recorded)
    value = (total - 1e-9 * (recorded[:, -1, None] == np.array([False, True]))).argmin(axis=1)
    every = np.arange(len(recorded))
    values[:, -1] = value
    for column in range(steps - 1, -1, -1):
        value = choices[every, column, value]
        values[:, column] = value
    return values


def _step_costs(
    series: Sequence[_Series], values: Sequence[_Values], form_count: int
) -> npt.NDArray[np.float64]:
    """Return the costs of steps by form, value before and value after, estimated from all demonstrations.

    The cost is minus the logarithm of the share of such steps. The counts are reduced by one half, but are
    at least one half. So a change that occurred once costs as much as a change that never occurred.
    """
    counts = np.zeros((form_count, 2, 2))
    for one, rows in zip(series, values, strict=True):
        np.add.at(counts, (one.forms, rows[:, :-1].astype(np.intp), rows[:, 1:].astype(np.intp)), 1.0)
    totals = np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
    shares: npt.NDArray[np.float64] = (np.maximum(counts - 1.0, 0.0) + 0.5) / totals
    return -np.log(shares)


def keep_atoms(demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE) -> Repairs:
    """Repair nothing, as in the paper."""
    return Repairs(tuple(demonstrations), (0,) * len(demonstrations))


def find_outliers(hypothesis: Hypothesis, problem: LearningProblem, noisy: bool) -> set[TransitionId]:
    """Return the outliers: transitions that are probably mistakes, so that the learner can ignore them.

    Transitions of misleading operators count only if more than twice as many steps have no purpose, so that
    the demonstrations certainly contain detours. Transitions with wrong atoms are searched for only if the
    demonstrations are `noisy`, or if many steps have no purpose. Such steps may establish a precondition
    that was lost because of a wrong atom.
    """
    found = rare_operator_transitions(hypothesis, problem)
    purposeless = len(purposeless_steps(hypothesis))
    misleading = misleading_operator_transitions(hypothesis, problem)
    if MIN_MISLEADING <= len(misleading) < purposeless / 2:
        found |= misleading
    if noisy:
        found |= noisy_transitions(hypothesis.fitted)
    elif purposeless > MANY * problem.size:
        found |= noisy_transitions(one for one in hypothesis.fitted if len(one.data) >= ENOUGH)
    return found


def ignoring_pays(new: Hypothesis, old: Hypothesis, ignored: int, noisy: bool) -> bool:
    """Return whether operators that were learned without outliers (`new`) are better than the `old` ones.

    `ignored` is the number of outliers that were left out. The new operators are better if there are fewer
    of them, or if more steps than `ignored` have a purpose with the new operators and none with the old
    ones. If the demonstrations are `noisy`, equally many operators with more preconditions in total are
    better too, because wrong atoms can hide preconditions.
    """
    if new.coverage.uncovered > old.coverage.uncovered:
        return False
    gained = len(purposeless_steps(old)) - len(purposeless_steps(new))
    more = len(new.fitted) - len(old.fitted)
    stronger = more == 0 and _precondition_count(new) > _precondition_count(old)
    return more < 0 or gained > ignored or (noisy and stronger)


def _precondition_count(hypothesis: Hypothesis) -> int:
    return sum(len(fitted.operator.preconditions) for fitted in hypothesis.fitted)


def rare_operator_transitions(hypothesis: Hypothesis, problem: LearningProblem) -> set[TransitionId]:
    """Return the transitions of operators that explain almost none of their controller's transitions."""
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        transitions = problem.transitions.by_controller[fitted.operator.controller.name]
        if len(fitted.data) <= RARE * len(transitions):
            found |= {transition.transition_id for transition, _ in fitted.data}
    return found


def misleading_operator_transitions(hypothesis: Hypothesis, problem: LearningProblem) -> set[TransitionId]:
    """Return the transitions of operators that predict too much: another operator suffices for these.

    After a detour, an object may be in reach by chance. An operator that predicts this explains the detour,
    but its prediction is false in other uses of the controller. It must explain few transitions and be
    false in twice as many. The other operator must explain most uses of the controller, predict nothing
    false in any of them, and be applicable in the transitions in question.
    """
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        transitions = problem.transitions.by_controller[fitted.operator.controller.name]
        few = len(transitions) >= ENOUGH and len(fitted.data) <= FEW * len(transitions)
        if few and len(problem.validity.of_operator(fitted.operator)) >= 2 * len(fitted.data):
            explained = [transition for transition, _ in fitted.data]
            others = (
                one.operator
                for one in hypothesis.fitted
                if one.operator.controller == fitted.operator.controller
                and 2 * len(one.data) > len(transitions)
                and not problem.validity.of_operator(one.operator)
            )
            if any(all(problem.matcher.is_consistent(other, one) for one in explained) for other in others):
                found |= {one.transition_id for one in explained}
    return found


def noisy_transitions(operators: Iterable[FittedOperator]) -> set[TransitionId]:
    """Return the transitions that differ from almost all others of their operator.

    A transition differs if an atom does not hold before it, but holds before almost all other transitions.
    A transition also differs if it made an atom false that almost no other transition made false.
    """
    found: set[TransitionId] = set()
    for fitted in operators:
        few = NOISE * len(fitted.data)
        held = {datum: set(liftable_atoms_before(fitted.operator, datum)) for datum in fitted.data}
        deleted = {datum: _deleted(datum) for datum in fitted.data}
        holding = Counter(key for keys in held.values() for key in keys)
        deleting = Counter(key for keys in deleted.values() for key in keys)
        almost_always = {key for key, count in holding.items() if 0 < len(held) - count <= few}
        hardly_ever = {key for key, count in deleting.items() if count <= few}
        found |= {
            datum[0].transition_id
            for datum in fitted.data
            if almost_always - held[datum] or deleted[datum] & hardly_ever
        }
    return found


def _deleted(datum: Datum) -> set[AtomKey]:
    """Return the keys of the atoms that became false in a transition.

    In a key, an object is replaced by the index of its parameter, or by -1 if it has no parameter.
    """
    transition, objects = datum
    index_of = {number: index for index, number in enumerate(objects)}
    table = transition.table
    return {
        (table.atoms[atom].predicate.name, tuple(index_of.get(n, -1) for n in table.arguments[atom]))
        for atom in bits(transition.deleted)
    }
