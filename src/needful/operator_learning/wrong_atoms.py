"""Repair wrong atoms in demonstrations.

Wrong atoms are atoms that a noisy detector reported or missed in single states. A wrong atom appears as a
change that the executed controller hardly ever causes. Each ground atom of a demonstration is modelled by a
hidden Markov model with two states, true and false. The probability that an action changes the atom is
estimated from all actions of the same controller, for atoms with the same predicate and the same relation
to the controller's arguments. A controller may also change an object that is not one of its arguments, for
example the object that the robot holds. So such objects are divided by the property that predicts the
changes best, for example by whether they are held.

The most likely sequence of values is found by dynamic programming. A value may differ from the recorded one
at the cost of a detection error. Demonstrations without wrong atoms usually stay unchanged, because the
same controller causes the same changes many times.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration

# The cost of a detection error: minus the logarithm of its assumed probability.
ERROR_COST = -math.log(0.01)
# The maximum number of rounds. A round estimates the probabilities of changes, and then repairs atoms.
MAX_ROUNDS = 4
# A change may be due to wrong atoms if it occurs at most twice, or in at most this share of a controller's
# uses. If all changes are more frequent, nothing is repaired.
RARE_CHANGE = 0.01
# The minimum number of repaired values, and their minimum share of all values. If fewer values would be
# repaired, nothing is repaired: some correct changes are rare in any demonstrations.
MIN_REPAIRS = 2
MIN_REPAIRED_SHARE = 0.0004

# The form of an atom and an action: the names of the controller and of the predicate, and for each of the
# atom's objects its position among the action's arguments (-1 if it is not an argument). For example, the
# atom On(cup, table) and the action Pick(cup) have the form ("Pick", "On", (0, -1)). The probability of a
# change is estimated once per form, from all atoms and actions that have it.
_Form: TypeAlias = tuple[str, str, tuple[int, ...]]
# A property of an object: the name of a predicate and a position. An object has the property in a state if
# some atom of this predicate holds in which the object is at this position.
_Property: TypeAlias = tuple[str, int]
# The atoms that changed in each step of a demonstration.
_Changes: TypeAlias = tuple[AbstractState, ...]
_Values: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[np.intp]
_Costs: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Repairs:
    """Demonstrations with repaired atoms, and the number of repaired atoms of each demonstration."""

    demonstrations: tuple[Demonstration, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of repaired atoms in all demonstrations."""
        return sum(self.counts)


def repair_wrong_atoms(
    demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE
) -> Repairs:
    """Return the demonstrations with atoms repaired that are most likely detection errors.

    Goal atoms in the last state are never changed. Raises `LearningTimeoutError` if the deadline passes.
    """
    changes = [
        tuple([before ^ after for before, after in pairwise(one.abstract_states)])
        for one in demonstrations
        if not deadline.check()
    ]
    if not _has_rare_change(demonstrations, changes):
        return keep_atoms(demonstrations)
    forms: dict[_Form, int] = {}
    changing = {atom.predicate.name for steps in changes for changed in steps for atom in changed}
    atoms = [
        one.abstract_states[0].union(*steps) for one, steps in zip(demonstrations, changes, strict=True)
    ]
    series = [
        _Series.of(demonstration, steps, [one for one in every if one.predicate.name in changing], forms)
        for demonstration, steps, every in zip(demonstrations, changes, atoms, strict=True)
        if not deadline.check()
    ]
    series = _divide_forms(series, _properties(atoms), forms, deadline)
    values = [one.recorded for one in series]
    for _ in range(MAX_ROUNDS):
        costs = _StepCosts.estimate(series, values)
        repaired = [one.most_likely(costs) for one in series if not deadline.check()]
        unchanged = all(map(np.array_equal, repaired, values))
        values = repaired
        if unchanged:
            break
    counts = tuple(int((one.recorded != rows).sum()) for one, rows in zip(series, values, strict=True))
    total = sum(
        len(one.abstract_states) * len(every) for one, every in zip(demonstrations, atoms, strict=True)
    )
    if sum(counts) < max(MIN_REPAIRS, MIN_REPAIRED_SHARE * total):
        return keep_atoms(demonstrations)
    return Repairs(tuple(one.with_values(rows) for one, rows in zip(series, values, strict=True)), counts)


def _has_rare_change(demonstrations: Sequence[Demonstration], changes: Sequence[_Changes]) -> bool:
    """Return whether some change is so rare that a wrong atom may have caused it."""
    uses, counts = Counter[str](), Counter[tuple[str, str, tuple[int, ...], bool]]()
    for demonstration, steps in zip(demonstrations, changes, strict=True):
        after_states = demonstration.abstract_states[1:]
        for action, changed, after in zip(demonstration.actions, steps, after_states, strict=True):
            name = action.controller.name
            uses[name] += 1
            positions = {obj.name: index for index, obj in enumerate(action.objects)}
            for atom in changed:
                indices = tuple([positions.get(obj.name, -1) for obj in atom.objects])
                counts[name, atom.predicate.name, indices, atom in after] += 1
    return any(count <= max(2, RARE_CHANGE * uses[name]) for (name, *_), count in counts.items())


def _properties(atoms: Iterable[AbstractState]) -> dict[_Property, int]:
    """Number all properties of objects (see `_Property`).

    `atoms` contains the atoms of each demonstration.
    """
    arities = {atom.predicate.name: len(atom.objects) for every in atoms for atom in every}
    found = ((name, position) for name, arity in sorted(arities.items()) for position in range(arity))
    return {key: number for number, key in enumerate(found)}


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """The atoms of a demonstration over time.

    Attributes:
        demonstration: the demonstration.
        changes: the atoms that changed in each step.
        atoms: the atoms whose predicates change. Each atom is one row of the arrays.
        recorded: the recorded value of each atom in each state.
        forms: for each atom and action, the number of their form (see `_Form`).
        others: for each atom and action, the index of the other object: the first of the atom's objects
            that is not an argument of the action. Indices refer to the demonstration's objects. If all of
            the atom's objects are arguments, the index is the number of the demonstration's objects.
    """

    demonstration: Demonstration
    changes: _Changes
    atoms: tuple[GroundAtom, ...]
    recorded: _Values
    forms: _Numbers
    others: _Numbers

    @classmethod
    def of(
        cls,
        demonstration: Demonstration,
        changes: _Changes,
        atoms: Sequence[GroundAtom],
        numbers: dict[_Form, int],
    ) -> _Series:
        """Return the given atoms of a demonstration over time.

        `numbers` maps forms to numbers; forms that it lacks are added (see `_forms`).
        """
        rows = {atom: row for row, atom in enumerate(atoms)}
        changed = np.zeros((len(atoms), len(changes) + 1), dtype=bool)
        changed[[rows[atom] for atom in demonstration.abstract_states[0] if atom in rows], 0] = True
        for column, one in enumerate(changes, start=1):
            changed[[rows[atom] for atom in one], column] = True
        recorded = np.logical_xor.accumulate(changed, axis=1)
        return cls(demonstration, changes, tuple(atoms), recorded, *_forms(atoms, demonstration, numbers))

    def properties(self, numbers: Mapping[_Property, int]) -> _Values:
        """Return, for each atom, action and property, whether the other object has it before the action."""
        rows = {obj.name: row for row, obj in enumerate(self.demonstration.objects)}
        counts = np.zeros((len(rows) + 1, len(numbers)), dtype=np.intp)
        found = np.zeros((len(rows) + 1, self.forms.shape[1], len(numbers)), dtype=bool)
        states = self.demonstration.abstract_states
        before = zip((states[0], *self.changes), states[:-1], strict=False)
        for step, (changed, state) in enumerate(before):
            for atom in changed:
                change = 1 if atom in state else -1
                for position, obj in enumerate(atom.objects):
                    counts[rows[obj.name], numbers[atom.predicate.name, position]] += change
            found[:, step] = counts > 0
        return found[self.others, np.arange(self.forms.shape[1])]

    def most_likely(self, costs: _StepCosts) -> _Values:
        """Return the most likely values of all atoms (the algorithm of Viterbi)."""
        goal = np.array([atom in self.demonstration.goal for atom in self.atoms], dtype=bool)
        found = self.recorded.astype(np.intp)
        unlikely = costs.later[self.forms, found[:, :-1], found[:, 1:]] > ERROR_COST / 2
        unlikely[:, :1] = costs.first[self.forms, found[:, :-1], found[:, 1:]][:, :1] > ERROR_COST / 2
        # Changing n consecutive values costs n detection errors, and saves at most the costs of the n + 1
        # steps before, between and after them. This does not pay if each of these steps costs at most half
        # a detection error. So rows without a more expensive (unlikely) step stay as they are.
        chosen = unlikely.any(axis=1) | (goal & ~self.recorded[:, -1])
        values = self.recorded.copy()
        if chosen.any():
            values[chosen] = _viterbi(self.recorded[chosen], self.forms[chosen], goal[chosen], costs)
        return values

    def with_values(self, values: _Values) -> Demonstration:
        """Return the demonstration with its atoms set to the given values."""
        if np.array_equal(values, self.recorded):
            return self.demonstration
        states = tuple(
            state.difference(self.atoms).union(self.atoms[row] for row in np.flatnonzero(values[:, column]))
            for column, state in enumerate(self.demonstration.abstract_states)
        )
        return replace(self.demonstration, abstract_states=states)


def _forms(
    atoms: Sequence[GroundAtom], demonstration: Demonstration, numbers: dict[_Form, int]
) -> tuple[_Numbers, _Numbers]:
    """Return two attributes of a `_Series`: the arrays `forms` and `others`, with one row per atom.

    `numbers` maps each known form to its number. All demonstrations share this map, so that a form has the
    same number in all of them. A form that is not in the map yet is added with the number `len(numbers)`.
    """
    actions = demonstration.actions
    objects = {obj.name: index for index, obj in enumerate(demonstration.objects)}
    arities = {atom.predicate.name: len(atom.objects) for atom in atoms}
    predicates = {name: number for number, name in enumerate(arities)}
    names = list(dict.fromkeys(action.controller.name for action in actions))
    controllers = {name: number for number, name in enumerate(names)}
    # The position of each object among the arguments of each action, from 1; 0 if it is not an argument.
    # The last column stands for a missing object, with which the shorter atoms are padded.
    places = np.zeros((len(actions), len(objects) + 1), dtype=np.intp)
    for row, action in enumerate(actions):
        for position, obj in enumerate(action.objects, start=1):
            places[row, objects[obj.name]] = position
    base = 1 + max((len(action.objects) for action in actions), default=0)
    width = max((len(atom.objects) for atom in atoms), default=0)
    columns = np.full((len(atoms), width), len(objects), dtype=np.intp)
    for row, atom in enumerate(atoms):
        columns[row, : len(atom.objects)] = [objects[obj.name] for obj in atom.objects]
    kinds = np.array([predicates[atom.predicate.name] for atom in atoms], dtype=np.intp)
    calls = np.array([controllers[action.controller.name] for action in actions], dtype=np.intp)
    codes = kinds[:, None] * len(controllers) + calls[None, :]
    others = np.full(codes.shape, len(objects), dtype=np.intp)
    for column in range(width):
        codes = codes * base + places[:, columns[:, column]].T
        unnamed = places[:, columns[:, column]].T == 0
        others = np.where((others == len(objects)) & unnamed, columns[:, column, None], others)
    unique, inverse = np.unique(codes, return_inverse=True)
    found = np.zeros(len(unique), dtype=np.intp)
    relations = list(arities.items())
    for index, code in enumerate(unique.tolist()):
        positions: list[int] = []
        for _ in range(width):
            code, place = divmod(code, base)
            positions.insert(0, place - 1)
        kind, call = divmod(code, len(controllers))
        predicate, arity = relations[kind]
        form = (names[call], predicate, tuple(positions[:arity]))
        found[index] = numbers.setdefault(form, len(numbers))
    return found[inverse].reshape(codes.shape), others


def _divide_forms(
    series: Sequence[_Series],
    properties: Mapping[_Property, int],
    forms: Mapping[_Form, int],
    deadline: Deadline,
) -> list[_Series]:
    """Divide a form in two if a property of the other object predicts whether the atom changes.

    The other object is the first of the atom's objects that is not an argument of the action (`others`).
    For each form, the property with the most information about changes is chosen. The information must
    exceed the cost of choosing this property and of one more probability (the Bayesian information
    criterion). If a form is divided, the steps in which the other object has the property get a new form
    number.
    """
    if not properties:
        return list(series)
    # Both arrays count steps by form, and by whether the atom changed. `steps` counts all steps; `having`
    # counts, for each property, the steps in which the other object has the property.
    shape = (len(forms), 2)
    steps, having = np.zeros(shape), np.zeros((len(properties), *shape))
    held = [one.properties(properties) for one in series if not deadline.check()]
    for one, values in zip(series, held, strict=True):
        codes = (2 * one.forms + (one.recorded[:, 1:] != one.recorded[:, :-1])).ravel()
        steps += np.bincount(codes, minlength=steps.size).reshape(shape)
        rows, numbers = np.nonzero(values.reshape(len(codes), len(properties)))
        chosen = numbers * steps.size + codes[rows]
        having += np.bincount(chosen, minlength=having.size).reshape(having.shape)
    gains = _log_likelihood(having) + _log_likelihood(steps - having) - _log_likelihood(steps)
    for (_, predicate, _), form in forms.items():
        for (name, _), number in properties.items():
            if name == predicate:
                gains[number, form] = 0.0
    best = gains.argmax(axis=0)
    penalty = 0.5 * np.log(np.maximum(steps.sum(axis=1), 1.0)) + math.log(len(properties))
    divided = gains.max(axis=0) > penalty
    found = []
    for one, values in zip(series, held, strict=True):
        having_best = np.take_along_axis(values, best[one.forms][:, :, None], axis=2)[:, :, 0]
        found.append(replace(one, forms=one.forms + len(forms) * (having_best & divided[one.forms])))
    return found


def _log_likelihood(counts: _Costs) -> _Costs:
    """Return the log-likelihood of the changes.

    The last axis of `counts` has two items: the number of steps without a change, and with a change.
    """
    totals = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, totals, out=np.ones_like(counts), where=counts > 0)
    found: _Costs = (counts * np.log(shares)).sum(axis=-1)
    return found


def _viterbi(recorded: _Values, forms: _Numbers, goal: _Values, costs: _StepCosts) -> _Values:
    """Return the most likely values of atoms; `goal` marks those that must hold at the end."""
    steps = forms.shape[1]
    errors = np.where(recorded[:, :, None] == np.array([False, True]), 0.0, ERROR_COST)
    errors[goal, -1, 0] = math.inf
    total = errors[:, 0, :]
    choices = np.zeros((len(recorded), steps, 2), dtype=np.intp)
    for column in range(steps):
        options = total[:, :, None] + (costs.later if column else costs.first)[forms[:, column]]
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


@dataclass(frozen=True, slots=True, eq=False)
class _StepCosts:
    """The costs of steps, by form and by the values of the atom before and after the step.

    A cost is minus the logarithm of a probability. The probability is estimated by counting the steps of
    all demonstrations. Each count is reduced by one half, but is at least one half. So a change that
    occurred once costs as much as a change that never occurred: a single occurrence may be a detection
    error.

    Attributes:
        first: the costs of first steps. The probability is the share among all steps of the form, so a rare
            value before the first step is expensive as well.
        later: the costs of later steps. The probability is the share among those steps of the form that
            have the same value before.
    """

    first: _Costs
    later: _Costs

    @classmethod
    def estimate(cls, series: Sequence[_Series], values: Sequence[_Values]) -> _StepCosts:
        """Estimate the costs from the values of the atoms in all demonstrations."""
        form_count = 1 + max((int(one.forms.max(initial=-1)) for one in series), default=-1)
        counts = np.zeros((form_count, 2, 2))
        for one, rows in zip(series, values, strict=True):
            codes = 4 * one.forms + 2 * rows[:, :-1] + rows[:, 1:]
            counts += np.bincount(codes.ravel(), minlength=counts.size).reshape(counts.shape)
        reduced = np.maximum(counts - 1.0, 0.0) + 0.5
        totals = np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
        every = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1.0)
        return cls(-np.log(reduced / every), -np.log(reduced / totals))


def keep_atoms(demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE) -> Repairs:
    """Repair nothing, as in the paper."""
    return Repairs(tuple(demonstrations), (0,) * len(demonstrations))
