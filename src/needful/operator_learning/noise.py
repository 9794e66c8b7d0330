"""Repair wrong atoms in demonstrations: atoms that a noisy detector reported or missed in single states.

A wrong atom shows as a change that its controller hardly ever causes. Each ground atom of a demonstration
is treated as a hidden Markov chain with two states. The probability that an action changes the atom is
estimated from all actions of the same controller, for atoms with the same predicate and the same relation
to the controller's arguments. The most likely sequence of values is found by dynamic programming: a value
may differ from the recorded one at the cost of a detection error. The error rate is estimated from the
repairs, so that clean demonstrations stay as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration

# The error rate that is assumed first; it must explain the data better than rare changes do.
FIRST_ERROR_RATE = 1e-3
# Estimating the error rate and repairing atoms alternate at most this often.
MAX_ROUNDS = 5

# How an action may change an atom: the controller, the predicate, the position of each of the atom's objects
# among the controller's arguments (-1 for others), and the atom's value before the action.
_Form: TypeAlias = tuple[str, str, tuple[int, ...], bool]


@dataclass(frozen=True, slots=True)
class Repairs:
    """Demonstrations with repaired atoms, and the number of repaired atoms of each demonstration."""

    demonstrations: tuple[Demonstration, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of repaired atoms in all demonstrations."""
        return sum(self.counts)


def repair_noise(demonstrations: Sequence[Demonstration]) -> Repairs:
    """Return the demonstrations with atoms repaired that are most likely detection errors.

    Goal atoms in the last state are never changed.
    """
    series = [_Series.of(demonstration) for demonstration in demonstrations]
    cells = sum(len(one.atoms) * len(one.demonstration.abstract_states) for one in series)
    values = [one.recorded for one in series]
    error_rate = FIRST_ERROR_RATE
    for _ in range(MAX_ROUNDS):
        rates = _ChangeRates(series, values)
        repaired = [one.repaired(rates, error_rate) for one in series]
        if repaired == values:
            break
        values = repaired
        wrong = sum(one.differences(each) for one, each in zip(series, values, strict=True))
        if not wrong:
            break
        error_rate = wrong / cells
    return Repairs(
        tuple(one.with_values(each) for one, each in zip(series, values, strict=True)),
        tuple(one.differences(each) for one, each in zip(series, values, strict=True)),
    )


def _form(action: GroundController, atom: GroundAtom, value: bool) -> _Form:
    positions = {obj: index for index, obj in enumerate(action.objects)}
    indices = tuple(positions.get(obj, -1) for obj in atom.objects)
    return action.controller.name, atom.predicate.name, indices, value


_Values: TypeAlias = tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, slots=True)
class _Series:
    """The atoms that change in a demonstration, and their recorded values in each state."""

    demonstration: Demonstration
    atoms: tuple[GroundAtom, ...]
    recorded: _Values

    @classmethod
    def of(cls, demonstration: Demonstration) -> _Series:
        states = demonstration.abstract_states
        atoms = tuple(sorted(frozenset[GroundAtom]().union(*states)))
        return cls(demonstration, atoms, tuple(tuple(atom in state for state in states) for atom in atoms))

    def steps(self, values: _Values) -> Iterator[tuple[_Form, bool]]:
        """Yield, for each atom and action, how the action may change the atom, and whether it does."""
        for atom, row in zip(self.atoms, values, strict=True):
            for index, action in enumerate(self.demonstration.actions):
                yield _form(action, atom, row[index]), row[index] != row[index + 1]

    def repaired(self, rates: _ChangeRates, error_rate: float) -> _Values:
        """Return the most likely values of all atoms."""
        return tuple(
            row if len(set(row)) == 1 else self._most_likely(atom, row, rates, error_rate)
            for atom, row in zip(self.atoms, self.recorded, strict=True)
        )

    def _most_likely(
        self, atom: GroundAtom, row: tuple[bool, ...], rates: _ChangeRates, error_rate: float
    ) -> tuple[bool, ...]:
        error = -math.log(error_rate)
        last = len(row) - 1
        costs = {value: 0.0 if value == row[0] else error for value in (False, True)}
        paths: dict[bool, tuple[bool, ...]] = {False: (False,), True: (True,)}
        for index, action in enumerate(self.demonstration.actions):
            fixed = index + 1 == last and atom in self.demonstration.goal
            new_costs: dict[bool, float] = {}
            new_paths: dict[bool, tuple[bool, ...]] = {}
            for value in (False, True):
                steps = {
                    before: costs[before] + rates.cost(_form(action, atom, before), before != value)
                    for before in (False, True)
                }
                # Ties keep the recorded value.
                before = min(steps, key=lambda one: (steps[one], one != row[index]))
                penalty = 0.0 if value == row[index + 1] else math.inf if fixed else error
                new_costs[value] = steps[before] + penalty
                new_paths[value] = (*paths[before], value)
            costs, paths = new_costs, new_paths
        best = min(costs, key=lambda one: (costs[one], one != row[last]))
        return paths[best]

    def differences(self, values: _Values) -> int:
        """Return the number of values that differ from the recorded ones."""
        pairs = zip(self.recorded, values, strict=True)
        return sum(a != b for one, other in pairs if one != other for a, b in zip(one, other, strict=True))

    def with_values(self, values: _Values) -> Demonstration:
        """Return the demonstration with other values of the atoms."""
        if values == self.recorded:
            return self.demonstration
        states: list[AbstractState] = [
            frozenset(atom for atom, row in zip(self.atoms, values, strict=True) if row[index])
            for index in range(len(self.demonstration.abstract_states))
        ]
        return replace(self.demonstration, abstract_states=tuple(states))


class _ChangeRates:
    """The probabilities that actions change atoms, estimated from all demonstrations."""

    def __init__(self, series: Sequence[_Series], values: Sequence[_Values]) -> None:
        self._changes: Counter[_Form] = Counter()
        self._steps: Counter[_Form] = Counter()
        for one, rows in zip(series, values, strict=True):
            for form, changed in one.steps(rows):
                self._steps[form] += 1
                self._changes[form] += changed

    def cost(self, form: _Form, changed: bool) -> float:
        """Return the negative log probability of a step; the step itself is left out of the estimate."""
        count, changes = self._steps[form], self._changes[form]
        others = changes if changed else count - changes
        return -math.log((max(others - 1, 0) + 0.5) / max(count, 1))
