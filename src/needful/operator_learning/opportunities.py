"""Measure the evidence for a condition: how often it failed where an operator was applicable but not used.

A condition that held before every transition of an operator may be a precondition, or it may hold
everywhere. The opportunities of an operator tell the two apart: the groundings that were applicable in some
state of the demonstrations, and whose add effects did not hold yet. If an irrelevant condition holds at a
share p of the opportunities of a demonstration, the demonstrator's choice satisfies it with probability p.
The evidence is -log2 p, added up over the demonstrations that use the operator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import TypeVar

from needful.abstraction.atom_table import AtomKey, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator

# In the key of an atom, the index of an object about which nothing else is known.
ANYTHING = -1
# The numbers of demonstrations, of states in each, and of groundings in each that are examined.
EXAMINED_DEMONSTRATIONS = 16
EXAMINED_STATES = 20
EXAMINED_GROUNDINGS = 10
# Conditions are first tested on this number of demonstrations; most hold at every opportunity.
SCREENING_DEMONSTRATIONS = 4

T = TypeVar("T")


def evidence_bits(held: int, opportunities: int) -> float:
    """Return the evidence of one demonstration for a condition that held at some opportunities."""
    return -math.log2((held + 1) / (opportunities + 1))


class Opportunities:
    """The opportunities of one operator in the demonstrations that use it.

    For speed, only some demonstrations, states and groundings are examined, chosen evenly.
    """

    def __init__(self, fitted: FittedOperator, demonstrations: Sequence[EncodedDemonstration]) -> None:
        self.arity = len(fitted.operator.parameters)
        self._operator = fitted.operator
        self._demonstrations = demonstrations
        self._found: dict[int, list[Datum]] = {}

    def bits(self, *conditions: frozenset[AtomKey]) -> float:
        """Return the evidence that one of the conditions must hold.

        It is the mean evidence of the examined demonstrations, multiplied by the number of all.
        """
        total = 0.0
        examined = evenly(self._demonstrations, EXAMINED_DEMONSTRATIONS)
        for demonstration in examined:
            data = self._of(demonstration)
            held = sum(any(holds(atoms, self.arity, datum) for atoms in conditions) for datum in data)
            total += evidence_bits(held, len(data))
        return total * len(self._demonstrations) / len(examined)

    def bits_against(self, atom: AtomKey) -> float:
        """Return the evidence that an atom over the operator's parameters must not hold."""
        total = 0.0
        for demonstration in self._demonstrations:
            data = self._of(demonstration)
            lacking = sum(
                not transition.table.ground((atom,), objects) & transition.before
                for transition, objects in data
            )
            total += evidence_bits(lacking, len(data))
        return total

    def always_hold(self, atoms: frozenset[AtomKey]) -> bool:
        """Return whether a condition holds at every opportunity of the first demonstrations."""
        return all(
            holds(atoms, self.arity, datum)
            for demonstration in self._demonstrations[:SCREENING_DEMONSTRATIONS]
            for datum in self._of(demonstration)
        )

    def _of(self, demonstration: EncodedDemonstration) -> list[Datum]:
        known = self._found.get(demonstration.index)
        if known is None:
            known = self._found[demonstration.index] = list(self._applicable(demonstration))
        return known

    @cached_property
    def _keys(self) -> tuple[list[AtomKey], ...]:
        operator = self._operator
        index_of = {variable: index for index, variable in enumerate(operator.parameters)}
        parts = (operator.preconditions, operator.negative_preconditions, operator.add_effects)
        return tuple([lifted_key(atom, index_of) for atom in sorted(atoms)] for atoms in parts)

    def _applicable(self, demonstration: EncodedDemonstration) -> Iterator[Datum]:
        table = demonstration.table
        needs, negative, adds = self._keys
        domains = [table.of_type(variable.type) for variable in self._operator.parameters]
        for transition in evenly(demonstration.transitions, EXAMINED_STATES):
            constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
            groundings = join(table, constraints, domains, [UNBOUND] * len(domains))
            for objects in islice(groundings, EXAMINED_GROUNDINGS):
                if negative and table.ground(negative, objects) & transition.before:
                    continue
                held = (table.ground(adds, objects) & transition.before).bit_count()
                if not adds or held < len(adds):
                    yield transition, objects


def holds(atoms: frozenset[AtomKey], arity: int, datum: Datum, distinct: bool = False) -> bool:
    """Return whether some objects satisfy a condition before a transition.

    The objects may also be named ones, and may be equal, unless they must be `distinct`.
    """
    transition, objects = datum
    named, *unnamed = _by_last_object(atoms, arity)
    if not all(atoms_before(key, transition, objects) for key in named):
        return False
    return _satisfiable(unnamed, transition, tuple(objects), distinct)


@lru_cache(maxsize=256)
def _by_last_object(atoms: frozenset[AtomKey], arity: int) -> Sequence[Sequence[AtomKey]]:
    """Return the atoms about named objects only, then for each unnamed object those without a later one.

    The unnamed objects get consecutive indices.
    """
    unnamed = sorted({index for _, indices in atoms for index in indices if index >= arity})
    renumbered = {index: arity + rank for rank, index in enumerate(unnamed)}
    groups: list[list[AtomKey]] = [[] for _ in range(len(unnamed) + 1)]
    for name, indices in sorted(atoms):
        key = (name, tuple([renumbered.get(index, index) for index in indices]))
        groups[max(max(key[1], default=ANYTHING) - arity + 1, 0)].append(key)
    return groups


def _satisfiable(
    by_last: Sequence[Sequence[AtomKey]],
    transition: EncodedTransition,
    bound: tuple[int, ...],
    distinct: bool,
) -> bool:
    """Return whether further objects beside those in `bound` satisfy a condition before a transition.

    `by_last` contains, for each further object, the atoms that mention it and no later one.
    """
    if not by_last:
        return True
    keys = by_last[0]
    found = (
        frozenset.intersection(*(satisfying_objects(key, transition, bound) for key in keys))
        if keys
        else frozenset(range(len(transition.table.objects)))
    )
    if distinct:
        found = found.difference(bound)
    if len(by_last) == 1:
        return bool(found)
    return any(_satisfiable(by_last[1:], transition, (*bound, one), distinct) for one in sorted(found))


def satisfying_objects(
    key: AtomKey, transition: EncodedTransition, bound: tuple[int, ...]
) -> frozenset[int]:
    """Return the objects that satisfied an atom before a transition.

    The index `len(bound)` in the atom's key stands for these objects.
    """
    table, indices, last = transition.table, key[1], len(bound)
    mask = atoms_before(key, transition, bound)
    if indices.count(last) > 1:
        positions = [position for position, index in enumerate(indices) if index == last]
        rows = ([table.arguments[atom][position] for position in positions] for atom in bits(mask))
        return frozenset(row[0] for row in rows if len(set(row)) == 1)
    return table.arguments_at(indices.index(last), mask)


def atoms_before(key: AtomKey, transition: EncodedTransition, bound: Sequence[int]) -> int:
    """Return the mask of the atoms before a transition that have the bound objects of a key."""
    name, indices = key
    mask = transition.before & transition.table.with_predicate(name)
    for position, index in enumerate(indices):
        if 0 <= index < len(bound):
            mask &= transition.table.with_argument(name, position, bound[index])
    return mask


def evenly(items: Sequence[T], count: int) -> Sequence[T]:
    """Return at most `count` items, evenly distributed over a sequence."""
    if len(items) <= count:
        return items
    return [items[number * len(items) // count] for number in range(count)]
