"""Repair wrong atoms in demonstrations.

Wrong atoms are atoms that a noisy detector reported or missed in single states. A wrong atom appears as a
change that the executed controller hardly ever causes. Each ground atom of a demonstration is modelled by a
hidden Markov model with two states, true and false. The probability that an action changes the atom is
estimated from all actions of the same controller, for atoms with the same predicate and the same relation
to the controller's arguments. A controller may also change an object that is not one of its arguments, for
example the object that the robot holds. So such objects are divided into two groups by the property that
predicts the changes best, for example by whether they are held.

The most likely sequence of values is found by dynamic programming. A value may differ from the recorded one
at the cost of a detection error. Demonstrations without wrong atoms usually stay unchanged, because the
same controller causes the same changes many times.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline

# The cost of a detection error: minus the logarithm of its assumed probability.
ERROR_COST = -math.log(0.01)
# The maximum number of rounds. A round estimates the probabilities of changes, and then repairs atoms.
MAX_ROUNDS = 4
# A change may be due to wrong atoms if it occurs at most twice, or in at most this share of a controller's
# uses. If all changes are more frequent, nothing is repaired. Otherwise, all predicates with changing atoms
# are examined, even those without a rare change: if a controller often changes their atoms, a wrong atom
# looks like one of these frequent changes.
RARE_CHANGE = 0.01
# The minimum number of repaired values, and their minimum share of all values. If fewer values would be
# repaired, nothing is repaired: some correct changes are rare in any demonstrations.
MIN_REPAIRS = 2
MIN_REPAIRED_SHARE = 0.0004

# The atoms that changed in each step of a demonstration.
_Changes: TypeAlias = tuple[AbstractState, ...]
# One sequence of atoms for each demonstration.
_Atoms: TypeAlias = Sequence[Sequence[GroundAtom]]
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


def repair_wrong_atoms(demonstrations: Demonstrations, deadline: Deadline = NO_DEADLINE) -> Repairs:
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
    changing = {atom.predicate.name for steps in changes for changed in steps for atom in changed}
    atoms = [
        one.abstract_states[0].union(*steps) for one, steps in zip(demonstrations, changes, strict=True)
    ]
    examined = [[atom for atom in every if atom.predicate.name in changing] for every in atoms]
    arities = {atom.predicate.name: len(atom.objects) for every in atoms for atom in every}
    series = _Series.of(demonstrations, changes, examined, deadline)
    series = _divide_forms(series, sum(arities.values()), deadline)
    values = series.recorded
    for _ in range(MAX_ROUNDS):
        previous, values = values, series.most_likely(_step_costs(series, values), deadline)
        if np.array_equal(previous, values):
            break
    total = sum((len(steps) + 1) * len(every) for steps, every in zip(changes, atoms, strict=True))
    if np.count_nonzero(values != series.recorded) < max(MIN_REPAIRS, MIN_REPAIRED_SHARE * total):
        return keep_atoms(demonstrations)
    return series.with_values(values)


def _has_rare_change(demonstrations: Demonstrations, changes: Sequence[_Changes]) -> bool:
    """Return whether some change is so rare that a wrong atom may have caused it."""
    uses, counts = Counter[str](), Counter[tuple[str, str, bool, tuple[int, ...]]]()
    for one, steps in zip(demonstrations, changes, strict=True):
        uses.update([action.controller.name for action in one.actions])
        found = []
        for action, changed, after in zip(one.actions, steps, one.abstract_states[1:], strict=True):
            positions = {obj.name: index for index, obj in enumerate(action.objects)}
            for atom in changed:
                indices = tuple([positions.get(obj.name, -1) for obj in atom.objects])
                found.append((action.controller.name, atom.predicate.name, atom in after, indices))
        counts.update(found)
    return any(count <= max(2, RARE_CHANGE * uses[name]) for (name, *_), count in counts.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """Atoms of all demonstrations over time, in flat arrays.

    Each atom of each demonstration is one row. In a demonstration of n actions, a row has n + 1 consecutive
    values (one per state) and n consecutive steps (one per action). So the values before and after step i
    of row r have the indices i + r and i + r + 1.

    The form of a step consists of the names of the controller and of the predicate, and for each of the
    atom's objects its position among the action's arguments (-1 if it is not an argument). For example, the
    atom On(cup, table) and the action Pick(cup) have the form ("Pick", "On", (0, -1)). The probability of a
    change is estimated once per form, from all steps that have it.

    Attributes:
        demonstrations: the demonstrations.
        changes: the atoms that changed in each step of each demonstration.
        atoms: the atom of each row.
        owners: the index of the demonstration of each row.
        lengths: the number of steps of each row.
        first_steps: the index of the first step of each row.
        recorded: the recorded values.
        rows: the row of each step.
        forms: the number of the form of each step.
        others: the other object of each step: the first of the atom's objects that is not an argument of
            the action, or -1 if there is none. The objects of all demonstrations are numbered in order.
    """

    demonstrations: Demonstrations
    changes: Sequence[_Changes]
    atoms: Sequence[GroundAtom]
    owners: _Numbers
    lengths: _Numbers
    first_steps: _Numbers
    recorded: _Values
    rows: _Numbers
    forms: _Numbers
    others: _Numbers

    @classmethod
    def of(
        cls, demonstrations: Demonstrations, changes: Sequence[_Changes], atoms: _Atoms, deadline: Deadline
    ) -> _Series:
        """Return the given atoms of each demonstration over time."""
        flips: list[int] = []
        size = 0
        for one, steps, every in zip(demonstrations, changes, atoms, strict=True):
            deadline.check()
            first_values = {atom: size + row * (len(steps) + 1) for row, atom in enumerate(every)}
            size += len(every) * (len(steps) + 1)
            known = frozenset(every)
            # Atoms that hold at the end flip once more, so that the next row starts from False.
            flips += [
                first_values[atom] + column
                for column, flipped in enumerate((one.abstract_states[0], *steps, one.abstract_states[-1]))
                for atom in flipped & known
            ]
        recorded = np.bincount(flips, minlength=size + 1)[:size].cumsum() % 2 == 1
        step_counts = np.array([len(steps) for steps in changes], dtype=np.intp)
        owners = np.repeat(np.arange(len(atoms)), [len(every) for every in atoms])
        lengths = step_counts[owners]
        first_steps = lengths.cumsum() - lengths
        rows = np.repeat(np.arange(len(owners)), lengths)
        first_actions = (step_counts.cumsum() - step_counts)[owners]
        actions = np.arange(len(rows)) + (first_actions - first_steps)[rows]
        deadline.check()
        forms = _forms(demonstrations, atoms, rows, actions)
        every = list(chain.from_iterable(atoms))
        return cls(demonstrations, changes, every, owners, lengths, first_steps, recorded, rows, *forms)

    def codes(self, values: _Values) -> _Numbers:
        """Return, for each step, 4 * its form (see `_Series`) + 2 * value before it + value after it."""
        before = np.arange(len(self.rows)) + self.rows
        found: _Numbers = 4 * self.forms + 2 * values[before] + values[before + 1]
        return found

    def most_likely(self, costs: _Costs, deadline: Deadline = NO_DEADLINE) -> _Values:
        """Return the most likely values of all atoms; `_step_costs` describes `costs`."""
        codes = self.codes(self.recorded)
        expensive = (costs > ERROR_COST / 2).reshape(2, -1)
        unlikely = expensive[1, codes]
        first = self.first_steps[self.lengths > 0]
        unlikely[first] = expensive[0, codes[first]]
        # Changing n consecutive values costs n detection errors, and saves at most the costs of the n + 1
        # steps before, between and after them. This does not pay if each of these steps costs at most half
        # a detection error. So rows without a more expensive (unlikely) step stay as they are.
        rows = np.unique(self.rows[unlikely])
        return _viterbi(self, rows, costs, deadline) if len(rows) else self.recorded

    def with_values(self, values: _Values) -> Repairs:
        """Return the demonstrations with their atoms set to the given values."""
        wrong = np.flatnonzero(values != self.recorded)
        rows = np.searchsorted(self.first_steps + np.arange(len(self.lengths)), wrong, side="right") - 1
        columns, owners = wrong - rows - self.first_steps[rows], self.owners[rows]
        found = list(self.demonstrations)
        states = {owner: list(found[owner].abstract_states) for owner in owners.tolist()}
        for row, owner, column in zip(rows.tolist(), owners.tolist(), columns.tolist(), strict=True):
            states[owner][column] ^= {self.atoms[row]}
        for owner, repaired in states.items():
            found[owner] = replace(found[owner], abstract_states=tuple(repaired))
        return Repairs(tuple(found), tuple(np.bincount(owners, minlength=len(found)).tolist()))


def _forms(
    demonstrations: Demonstrations, atoms: _Atoms, rows: _Numbers, actions: _Numbers
) -> tuple[_Numbers, _Numbers]:
    """Return two attributes of a `_Series`: `forms` and `others`.

    `rows` and `actions` contain the row and the action of each step. Actions are numbered in order.
    """
    names: dict[str, int] = {}  # The numbers of the names of controllers and predicates.
    calls, all_arguments, argument_counts = [], [], []
    kinds, all_members, member_counts = [], [], []
    first = 0
    for one, every in zip(demonstrations, atoms, strict=True):
        numbers = {obj.name: number for number, obj in enumerate(one.objects, first)}
        first += len(one.objects)
        calls += [names.setdefault(action.controller.name, len(names)) for action in one.actions]
        all_arguments += [numbers[obj.name] for action in one.actions for obj in action.objects]
        argument_counts += [len(action.objects) for action in one.actions]
        kinds += [names.setdefault(atom.predicate.name, len(names)) for atom in every]
        all_members += [numbers[obj.name] for atom in every for obj in atom.objects]
        member_counts += [len(atom.objects) for atom in every]
    # Missing arguments and missing objects get different numbers, so that they never match.
    arguments = _padded(all_arguments, argument_counts, -2)[:, actions]
    members = _padded(all_members, member_counts, -1)[:, rows]
    forms = np.array(kinds, dtype=np.intp)[rows] * len(names) + np.array(calls, dtype=np.intp)[actions]
    others = np.full(len(rows), -1, dtype=np.intp)
    for member in members:
        # The position of the object among the arguments, from 1; 0 if it is not an argument.
        positions = np.zeros(len(rows), dtype=np.intp)
        for position, argument in enumerate(arguments, start=1):
            positions[argument == member] = position
        others = np.where((others < 0) & (positions == 0), member, others)
        forms = forms * (len(arguments) + 1) + positions
        # Number only the forms that occur.
        forms = ((np.bincount(forms) > 0).cumsum() - 1)[forms]
    return forms, others


def _padded(numbers: list[int], counts: list[int], padding: int) -> _Numbers:
    """Return the numbers as a matrix: column i has the next `counts[i]` numbers, then the padding."""
    filled = np.arange(max(counts, default=0)) < np.array(counts, dtype=np.intp)[:, None]
    found = np.full(filled.shape, padding, dtype=np.intp)
    found[filled] = numbers
    return found.T


def _divide_forms(series: _Series, property_count: int, deadline: Deadline) -> _Series:
    """Divide a form in two if a property of the other object predicts changes of the atom.

    `_Series` defines forms and other objects. For example, Move(robot, room) changes At(box, room) only if
    the box is held, so the form ("Move", "At", (-1, 1)) is divided into steps with and without a held box.
    For each form, the property with the most information about changes is chosen. The information must
    exceed the cost of choosing one of `property_count` properties and of one more probability (the Bayesian
    information criterion). The steps in which the other object has the property get a new form number.
    """
    # Count the steps by form, and by whether the atom changed.
    before = np.arange(len(series.rows)) + series.rows
    codes = 2 * series.forms + (series.recorded[before] != series.recorded[before + 1])
    size = 2 * (1 + series.forms.max(initial=-1))
    steps = np.bincount(codes, minlength=size).reshape(-1, 2).astype(float)
    likelihood = _log_likelihood(steps)
    penalty = 0.5 * np.log(np.maximum(steps.sum(axis=1), 1.0)) + math.log(max(property_count, 1))
    # Even a property that predicts all changes gains only -likelihood, which must exceed the penalty.
    chosen = np.flatnonzero((-likelihood > penalty)[series.forms] & (series.others >= 0))
    if not len(chosen):
        return series
    having = _properties(series, chosen, deadline)
    if not len(having):
        return series
    # For each property, count the steps in which the other object has the property.
    counts = np.array([np.bincount(codes[chosen[one]], minlength=size) for one in having], dtype=float)
    counts = counts.reshape(-1, *steps.shape)
    gains = _log_likelihood(counts) + _log_likelihood(steps - counts) - likelihood
    forms = series.forms.copy()
    best, divided = gains.argmax(axis=0)[forms[chosen]], (gains.max(axis=0) > penalty)[forms[chosen]]
    forms[chosen] += len(steps) * (divided & having[best, np.arange(len(chosen))])
    return replace(series, forms=forms)


def _properties(series: _Series, steps: _Numbers, deadline: Deadline) -> _Values:
    """Return, for each property and each given step, whether the other object has it before the step.

    `_Series` defines other objects. A property consists of a predicate and a position. An object has it in
    a state if some atom of the predicate holds in which the object is at the position. Properties with the
    predicate of the step's atom do not count. Properties that no object has before any step are left out.
    """
    # Each object has one cell per action of its demonstration.
    lengths = np.array([len(one) for one in series.demonstrations for _ in one.objects], dtype=np.intp)
    first_cells = lengths.cumsum() - lengths
    remaining = iter(first_cells.tolist())
    # For each property, the cells in which an atom becomes false, and those in which an atom becomes true.
    events: defaultdict[tuple[str, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for one, changes in zip(series.demonstrations, series.changes, strict=True):
        deadline.check()
        cells = {obj.name: next(remaining) for obj in one.objects}
        states = one.abstract_states
        for column, (state, changed) in enumerate(zip(states[:-1], (states[0], *changes), strict=False)):
            for atom in changed:
                name, holds = atom.predicate.name, atom in state
                for position, obj in enumerate(atom.objects):
                    events[name, position][holds].append(cells[obj.name] + column)
    having = np.zeros((len(events), len(steps)), dtype=bool)
    rows, start = series.rows[steps], first_cells[series.others[steps]]
    end = start + steps - series.first_steps[rows] + 1
    cell_count = int(lengths.sum())
    names = np.array([atom.predicate.name for atom in series.atoms])
    for found, key in zip(having, sorted(events), strict=True):
        deadline.check()
        fewer, more = (np.bincount(one, minlength=cell_count) for one in events[key])
        sums = np.concatenate(([0], (more - fewer).cumsum()))
        found[:] = (sums[end] > sums[start]) & (names != key[0])[rows]
    return having


def _log_likelihood(counts: _Costs) -> _Costs:
    """Return the log-likelihood of the changes; the last axis counts steps without and with a change."""
    totals = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, totals, out=np.ones_like(counts), where=counts > 0)
    found: _Costs = (counts * np.log(shares)).sum(axis=-1)
    return found


def _viterbi(series: _Series, rows: _Numbers, costs: _Costs, deadline: Deadline) -> _Values:
    """Return all values, with those of the given rows replaced by their most likely values.

    All rows are processed at once: first the first step of each row, then the second step of the rows that
    have one, and so on. So rows are sorted by length, and the array `steps` contains the first steps of all
    rows, then the second steps, and so on.
    """
    rows = rows[np.argsort(-series.lengths[rows], kind="stable")]
    lengths, first_steps = series.lengths[rows], series.first_steps[rows]
    counts = np.searchsorted(-lengths, -np.arange(lengths[0])).tolist()
    parts = [slice(end - count, end) for end, count in zip(accumulate(counts), counts, strict=True)]
    steps = np.concatenate([first_steps[:count] + column for column, count in enumerate(counts)])
    step_costs = costs[1, series.forms[steps]]
    step_costs[parts[0]] = costs[0, series.forms[first_steps]]
    before, first, last = steps + series.rows[steps], first_steps + rows, first_steps + rows + lengths
    recorded = series.recorded.astype(np.int8)
    errors = np.array([[0.0, ERROR_COST], [ERROR_COST, 0.0]])
    bonus = np.array([[1e-9, 0.0], [0.0, 1e-9]])  # A tie keeps the recorded value.
    errors_after, bonus_before = errors[recorded[before + 1]], bonus[recorded[before], :, None]
    total = errors[recorded[first]]
    choices = np.zeros((len(steps), 2), dtype=bool)
    for part, count in zip(parts, counts, strict=True):
        deadline.check()
        options = total[:count, :, None] + step_costs[part] - bonus_before[part]
        choices[part] = options[:, 1] < options[:, 0]
        total[:count] = np.minimum(options[:, 0], options[:, 1]) + errors_after[part]
    goals = [series.atoms[row] in series.demonstrations[series.owners[row]].goal for row in rows]
    total[goals, 0] = math.inf
    value = (total - bonus[recorded[last]]).argmin(axis=1) == 1
    values = series.recorded.copy()
    for part, count in zip(reversed(parts), reversed(counts), strict=True):
        values[before[part] + 1] = value[:count]
        value[:count] = np.where(value[:count], choices[part, 1], choices[part, 0])
    values[first] = value
    return values


def _step_costs(series: _Series, values: _Values) -> _Costs:
    """Return the costs of steps as an array with four axes.

    The first axis distinguishes first steps of demonstrations (index 0) from later steps (index 1). The
    others are the form (see `_Series`), and the atom's values before and after the step. A cost is minus
    the logarithm of a probability, estimated by counting the steps of all demonstrations. Each count is
    reduced by one half, but is at least one half. So a change that occurred once costs as much as a change
    that never occurred: a single occurrence may be a detection error.

    The probability of a first step is its share among all steps of the form, so a rare value before the
    first step is expensive as well. The probability of a later step is its share among those steps of the
    form that have the same value before.
    """
    counts = np.bincount(series.codes(values), minlength=4 * (1 + series.forms.max(initial=-1)))
    counts = counts.reshape(-1, 2, 2).astype(float)
    reduced = np.maximum(counts - 1.0, 0.0) + 0.5
    totals = np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
    every = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1.0)
    found: _Costs = -np.log(np.stack((reduced / every, reduced / totals)))
    return found


def keep_atoms(demonstrations: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE) -> Repairs:
    """Repair nothing, as in the paper."""
    return Repairs(tuple(demonstrations), (0,) * len(demonstrations))
