"""Measure the evidence for a condition: how often it failed where an operator was applicable but not used.

If a condition held before every transition of an operator, it may be a precondition, or it may hold
everywhere. The opportunities of an operator tell the two apart: the groundings that were applicable in some
state of the demonstrations and whose add effects did not hold yet. If an irrelevant condition holds at a
share p of the opportunities of a demonstration, the demonstrator's choice satisfies it with probability p.
The evidence is -log2 p, added up over the demonstrations that use the operator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from needful.abstraction.atom_table import AtomKey, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.operator_learning.encoding import EncodedDemonstration
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_conditions import ANYTHING

# Groundings of an operator that are examined in one state.
MAX_OPPORTUNITIES = 10


class Opportunities:
    """The opportunities of one operator in the demonstrations that use it."""

    def __init__(self, fitted: FittedOperator, demonstrations: Sequence[EncodedDemonstration]) -> None:
        self.arity = len(fitted.operator.parameters)
        self._operator = fitted.operator
        self._demonstrations = demonstrations
        self._found: dict[int, list[Datum]] = {}

    def bits(self, *conditions: frozenset[AtomKey], first: int | None = None) -> float:
        """Return the evidence that one of the conditions must hold.

        It is added up over all demonstrations, or over the `first` ones.
        """
        total = 0.0
        for demonstration in self._demonstrations[:first]:
            data = self._of(demonstration)
            held = sum(any(holds(atoms, self.arity, datum) for atoms in conditions) for datum in data)
            total -= math.log2((held + 1) / (len(data) + 1))
        return total

    def _of(self, demonstration: EncodedDemonstration) -> list[Datum]:
        known = self._found.get(demonstration.index)
        if known is None:
            known = self._found[demonstration.index] = list(self._applicable(demonstration))
        return known

    @cached_property
    def _keys(self) -> tuple[list[AtomKey], list[AtomKey]]:
        index_of = {variable: index for index, variable in enumerate(self._operator.parameters)}
        needs = [lifted_key(atom, index_of) for atom in sorted(self._operator.preconditions)]
        return needs, [lifted_key(atom, index_of) for atom in sorted(self._operator.add_effects)]

    def _applicable(self, demonstration: EncodedDemonstration) -> Iterator[Datum]:
        table = demonstration.table
        needs, adds = self._keys
        domains = [table.of_type(variable.type) for variable in self._operator.parameters]
        for transition in demonstration.transitions:
            constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
            groundings = join(table, constraints, domains, [UNBOUND] * len(domains))
            for objects in islice(groundings, MAX_OPPORTUNITIES):
                held = (table.ground(adds, objects) & transition.before).bit_count()
                if not adds or held < len(adds):
                    yield transition, objects


def holds(atoms: frozenset[AtomKey], arity: int, datum: Datum, distinct: bool = False) -> bool:
    """Return whether some objects satisfy a condition before a transition.

    The objects may also be named ones, and may be equal, unless they must be `distinct`.
    """
    transition, objects = datum
    table, before = transition.table, transition.before

    def satisfiable(waiting: list[AtomKey], bound: dict[int, int]) -> bool:
        if not waiting:
            return True
        best, candidates = 0, -1
        for number, (name, indices) in enumerate(waiting):
            mask = before & table.with_predicate(name)
            for position, index in enumerate(indices):
                if index in bound:
                    mask &= table.with_argument(name, position, bound[index])
            if not mask:
                return False
            if candidates < 0 or mask.bit_count() < candidates.bit_count():
                best, candidates = number, mask
        name, indices = waiting[best]
        rest = waiting[:best] + waiting[best + 1 :]
        for atom in bits(candidates):
            extended = dict(bound)
            for index, number in zip(indices, table.arguments[atom], strict=True):
                if index == ANYTHING:
                    continue
                if index not in extended and distinct and number in extended.values():
                    break
                if extended.setdefault(index, number) != number:
                    break
            else:
                if satisfiable(rest, extended):
                    return True
        return False

    return satisfiable(sorted(atoms), dict(enumerate(objects)))
