"""Measure the evidence for a condition: how often it failed where an operator was applicable but not used.

If a condition held before every transition of an operator, it may be a precondition, or it may just hold
almost everywhere. The opportunities of the operator distinguish the two cases. An opportunity is a
grounding that was applicable in some state of a demonstration, and whose add effects did not all hold yet.
Suppose that the condition holds at a share p of the opportunities. If the condition is irrelevant, the
grounding that the demonstrator chose satisfies it with probability p, by chance. A small p is thus strong
evidence that the condition is a precondition. The evidence is -log2 p bits, summed over the demonstrations
that use the operator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice
from operator import and_, or_
from typing import TypeAlias, TypeVar

from needful.abstraction.atom_table import AtomKey, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator

# In the key of an atom, this index stands for any object.
ANYTHING = -1
# An atom key whose name begins with this character stands for a type: it holds for objects of the type.
TYPE_PREFIX = ":"
# The maximum numbers of examined demonstrations, states per demonstration, and groundings per state.
EXAMINED_DEMONSTRATIONS = 16
EXAMINED_STATES = 20
EXAMINED_GROUNDINGS = 10
# If the evidence of the examined demonstrations, in bits, is within these bounds, all demonstrations are
# examined: the sample is too small to decide whether there is enough evidence for a condition.
DOUBTFUL_BITS = (2.0, 24.0)

# The work of searching for conditions: one unit is one test of a condition at one opportunity.
MAX_WORK = 400_000

T = TypeVar("T")
# A key consists of an operator's parameters, preconditions, negative preconditions and add effects. A value
# consists of two dicts. The first contains the operator's opportunities in each demonstration. The second
# contains, for each demonstration and condition, the opportunities at which the condition did not hold.
OpportunityCache: TypeAlias = dict[
    tuple[object, ...],
    tuple[
        dict[EncodedDemonstration, list[Datum]],
        dict[tuple[EncodedDemonstration, frozenset[AtomKey]], list[Datum]],
    ],
]


class WorkLimit:
    """Limits the work of a search; unlike a time limit, it has the same effect on every machine."""

    def __init__(self, units: int = MAX_WORK) -> None:
        self.left = units

    def spend(self, units: int) -> None:
        """Raise `WorkLimitReached` if more than the limit has been spent."""
        self.left -= units
        if self.reached:
            raise WorkLimitReached

    @property
    def reached(self) -> bool:
        """Whether the search was stopped by the limit."""
        return self.left < 0


class WorkLimitReached(Exception):
    """Raised by `WorkLimit.spend`; never leaves operator learning."""


def evidence_bits(held: int, opportunities: int) -> float:
    """Return the evidence of one demonstration for a condition, in bits.

    The condition held at `held` of the `opportunities`. The smaller this share is, the greater is the
    evidence.
    """
    return -math.log2((held + 1) / (opportunities + 1))


class Opportunities:
    """The opportunities of one operator: its groundings that could have been used in the demonstrations.

    These groundings were applicable, and not all their add effects held yet. For speed, only some of the
    demonstrations, states and groundings are examined, chosen at regular intervals. Results are stored in
    `cache`, for operators with the same parameters, preconditions and add effects.
    """

    def __init__(
        self,
        fitted: FittedOperator,
        demonstrations: Sequence[EncodedDemonstration],
        cache: OpportunityCache | None = None,
        limit: WorkLimit | None = None,
    ) -> None:
        operator = fitted.operator
        self.arity = len(operator.parameters)
        self._operator = operator
        self.demonstrations = demonstrations
        self._examined = evenly(demonstrations, EXAMINED_DEMONSTRATIONS)
        self._scale = len(demonstrations) / max(1, len(self._examined))
        key = (
            operator.parameters,
            operator.preconditions,
            operator.negative_preconditions,
            operator.add_effects,
        )
        self._limit = limit
        self._found, self._lacking = ({} if cache is None else cache).setdefault(key, ({}, {}))

    def bits(self, *conditions: frozenset[AtomKey], stronger: frozenset[AtomKey] | None = None) -> float:
        """Return the evidence, in bits, that at least one of the conditions must hold.

        The result is the mean evidence of some demonstrations, multiplied by the number of all
        demonstrations. If the result is doubtful, all demonstrations are examined. `stronger` is a
        condition with all atoms of the first condition and further atoms. Where it holds, the first
        condition holds too and is not tested. This saves time, but does not affect the result.
        """
        estimate = self._bits(conditions, self._examined, stronger) * self._scale
        low, high = DOUBTFUL_BITS
        if self._scale == 1.0 or not low <= estimate <= high:
            return estimate
        return self._bits(conditions, self.demonstrations, stronger)

    def _bits(
        self,
        conditions: Sequence[frozenset[AtomKey]],
        demonstrations: Sequence[EncodedDemonstration],
        stronger: frozenset[AtomKey] | None,
    ) -> float:
        total = 0.0
        for demonstration in demonstrations:
            count = len(self._of(demonstration))
            lacking = self._without(conditions[0], demonstration, stronger)
            for atoms in conditions[1:]:
                lacking, _ = self._lacking_among(lacking, atoms, demonstration)
            total += evidence_bits(count - len(lacking), count)
        return total

    def bits_against(self, atom: AtomKey) -> float:
        """Return the evidence, in bits, that an atom over the operator's parameters must not hold."""
        total = 0.0
        for demonstration in self.demonstrations:
            if not demonstration.table.with_predicate(atom[0]):
                continue  # The atom holds nowhere in this demonstration, which thus contributes 0 bits.
            data = self._of(demonstration)
            lacking = sum(
                not transition.table.ground((atom,), objects) & transition.before
                for transition, objects in data
            )
            total += evidence_bits(lacking, len(data))
        return total

    def always_hold(self, atoms: frozenset[AtomKey]) -> bool:
        """Return whether a condition holds at every opportunity of the examined demonstrations."""
        return not any(
            not self._never_fails(atoms, demonstration) and self._without(atoms, demonstration)
            for demonstration in reversed(self._examined)
        )

    def _never_fails(self, atoms: frozenset[AtomKey], demonstration: EncodedDemonstration) -> bool:
        """Return whether atoms that always hold satisfy a condition, whatever its parameter is bound to.

        This is a fast test that is sufficient, but not necessary, for a condition to hold at every
        opportunity. Return False if the condition mentions several parameters, or if its parameter can be
        bound to many objects.
        """
        mentioned = {index for _, indices in atoms for index in indices if 0 <= index < self.arity}
        if len(mentioned) > 1 or not demonstration.transitions:
            return False
        kinds = [self._operator.parameters[index].type for index in mentioned]
        numbers = list(bits(demonstration.table.of_type(kinds[0]))) if kinds else [0]
        if len(numbers) > EXAMINED_GROUNDINGS:
            return False
        always = functools.reduce(and_, (one.before for one in demonstration.transitions))
        state = replace(demonstration.transitions[0], before=always)
        return all(holds(atoms, self.arity, (state, (number,) * self.arity)) for number in numbers)

    def _without(
        self,
        atoms: frozenset[AtomKey],
        demonstration: EncodedDemonstration,
        stronger: frozenset[AtomKey] | None = None,
    ) -> list[Datum]:
        """Return the opportunities in a demonstration at which a condition did not hold."""
        known = self._lacking.get((demonstration, atoms))
        if known is not None:
            return known
        data = self._of(demonstration) if stronger is None else self._without(stronger, demonstration)
        lacking, tests = self._lacking_among(data, atoms, demonstration)
        self._lacking[demonstration, atoms] = lacking
        if self._limit is not None:
            self._limit.spend(tests)
        return lacking

    def _lacking_among(
        self, data: Sequence[Datum], atoms: frozenset[AtomKey], demonstration: EncodedDemonstration
    ) -> tuple[list[Datum], int]:
        """Return those of the given opportunities at which a condition did not hold, and the work in tests.

        A condition is tested once for opportunities with the same relevant atoms and objects.
        """
        relevant = demonstration.table.with_predicates(name for name, _ in atoms)
        mentioned = sorted({index for _, indices in atoms for index in indices if 0 <= index < self.arity})
        results: dict[tuple[int, tuple[int, ...]], bool] = {}
        lacking: list[Datum] = []
        for datum in data:
            transition, objects = datum
            key = (transition.before & relevant, tuple([objects[index] for index in mentioned]))
            held = results.get(key)
            if held is None:
                held = results[key] = holds(atoms, self.arity, datum)
            if not held:
                lacking.append(datum)
        return lacking, len(results)

    def _of(self, demonstration: EncodedDemonstration) -> list[Datum]:
        known = self._found.get(demonstration)
        if known is None:
            known = self._found[demonstration] = list(self._applicable(demonstration))
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
        relevant = table.with_predicates(name for name, _ in needs)
        known: dict[int, list[tuple[int, ...]]] = {}
        for transition in evenly(demonstration.transitions, EXAMINED_STATES):
            state = transition.before & relevant
            groundings = known.get(state)
            if groundings is None:
                constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
                found = join(table, constraints, domains, [UNBOUND] * len(domains))
                groundings = known[state] = list(islice(found, EXAMINED_GROUNDINGS))
            for objects in groundings:
                if negative and table.ground(negative, objects) & transition.before:
                    continue
                held = (table.ground(adds, objects) & transition.before).bit_count()
                if not adds or held < len(adds):
                    yield transition, objects


def holds(atoms: frozenset[AtomKey], arity: int, datum: Datum, distinct: bool = False) -> bool:
    """Return whether some objects satisfy a condition before a transition.

    In the atoms, indices below `arity` stand for the objects of the operator's parameters. Indices from
    `arity` on stand for unnamed objects: any objects can be chosen for them. With `distinct`, they must
    differ from each other and from the objects of the parameters.
    """
    transition, objects = datum
    named, *unnamed = _by_last_object(atoms, arity)
    if not all(atoms_before(key, transition, objects) for key in named):
        return False
    return _satisfiable(unnamed, transition, tuple(objects), distinct)


@lru_cache(maxsize=256)
def _by_last_object(atoms: frozenset[AtomKey], arity: int) -> Sequence[Sequence[AtomKey]]:
    """Group the atoms of a condition by the unnamed object with the highest index that they mention.

    The first group contains the atoms without unnamed objects. Unnamed objects have indices from `arity`
    on. In the result, they are renumbered, so that their indices are consecutive.
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
    """Return whether objects for the remaining indices satisfy a condition before a transition.

    `bound` contains the objects of the first indices. `by_last` contains, for each remaining index, the
    atoms in which this index is the highest.
    """
    if not by_last:
        return True
    table = transition.table
    found = (1 << len(table.objects)) - 1
    for key in by_last[0]:
        found &= satisfying_objects(key, transition, bound)
        if not found:
            return False
    if distinct:
        for number in bound:
            found &= ~(1 << number)
    if len(by_last) == 1:
        return bool(found)
    return any(_satisfiable(by_last[1:], transition, (*bound, one), distinct) for one in bits(found))


def satisfying_objects(key: AtomKey, transition: EncodedTransition, bound: tuple[int, ...]) -> int:
    """Return the mask of the objects that satisfied an atom before a transition.

    In the atom's key, the index `len(bound)` stands for the object to be found. Smaller indices stand for
    the objects in `bound`.
    """
    name, indices = key
    table, last = transition.table, len(bound)
    if name[0] == TYPE_PREFIX:
        return table.of_type_named(name[1:])
    mask = transition.before & table.with_predicate(name)
    positions: list[int] = []
    for position, index in enumerate(indices):
        if index == last:
            positions.append(position)
        elif 0 <= index < last:
            mask &= table.with_argument(name, position, bound[index])
    if len(positions) > 1:
        rows = ([table.arguments[atom][position] for position in positions] for atom in bits(mask))
        return functools.reduce(or_, (1 << row[0] for row in rows if len(set(row)) == 1), 0)
    return table.objects_at(positions[0], mask)


def atoms_before(key: AtomKey, transition: EncodedTransition, bound: Sequence[int]) -> int:
    """Return the mask of the atoms before a transition that match a key.

    An atom matches if it has the key's predicate and matching arguments: where the key has an index below
    `len(bound)`, the argument must be `bound[index]`. The other arguments may be any objects.
    """
    name, indices = key
    mask = transition.before & transition.table.with_predicate(name)
    for position, index in enumerate(indices):
        if 0 <= index < len(bound):
            mask &= transition.table.with_argument(name, position, bound[index])
    return mask


def evenly(items: Sequence[T], count: int) -> Sequence[T]:
    """Return at most `count` items of a sequence, at regular intervals."""
    if len(items) <= count:
        return items
    return [items[number * len(items) // count] for number in range(count)]
