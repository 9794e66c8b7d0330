"""Measure the evidence for a condition: how rarely it holds where an operator could have been used.

If a condition held before every transition of an operator, it may be a precondition, or it may just hold
almost everywhere. To distinguish the two cases, the condition is tested at the operator's opportunities. An
opportunity is a grounding that was applicable in some state of a demonstration, and whose add effects did
not all hold yet: the demonstrator could have used it.

Suppose that the condition holds at a share p of the opportunities. If the condition is irrelevant, the
grounding that the demonstrator chose satisfies it with probability p, by chance. A small p is thus strong
evidence that the condition is a precondition. The evidence is -log2 p bits, summed over the demonstrations
that use the operator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from operator import and_
from typing import TypeAlias, TypeVar

from needful.abstraction.atom_table import AtomKey, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.objects import Variable
from needful.operator_learning.condition_tests import holds
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.induction import Datum
from needful.operator_learning.partition import FittedOperator

# The maximum numbers of examined demonstrations, states per demonstration, and groundings per state.
EXAMINED_DEMONSTRATIONS = 16
EXAMINED_STATES = 20
EXAMINED_GROUNDINGS = 10
# Evidence for a condition is first estimated from some demonstrations. If the estimate, in bits, is within
# these bounds, it is too uncertain to decide about the condition, and all demonstrations are examined.
DOUBTFUL_BITS = (2.0, 24.0)

# The limit of the search for conditions, in units of work: one unit is one test of a condition at one
# opportunity.
MAX_WORK = 400_000

T = TypeVar("T")
# For each operator and demonstration, the operator's opportunities. The key of an operator consists of its
# parameters, preconditions, negative preconditions and add effects.
OpportunityCache: TypeAlias = (
    "dict[tuple[object, ...], dict[EncodedDemonstration, DemonstrationOpportunities]]"
)


class WorkLimit:
    """Limits the work of a search; unlike a time limit, it has the same effect on every machine."""

    def __init__(self, units: int = MAX_WORK) -> None:
        self.left = units

    def spend(self, units: int) -> None:
        """Subtract `units` from the work that is left; raise `WorkLimitReached` if it becomes negative."""
        self.left -= units
        if self.reached:
            raise WorkLimitReached

    @property
    def reached(self) -> bool:
        """Whether the search was stopped by the limit."""
        return self.left < 0


class WorkLimitReached(Exception):
    """Raised by `WorkLimit.spend` at the limit; always caught by operator learning."""


def evidence_bits(held: int, opportunities: int) -> float:
    """Return the evidence of one demonstration for a condition, in bits.

    An opportunity is a grounding of the operator that could have been used. The condition held at `held` of
    the `opportunities`. The smaller this share is, the greater is the evidence.
    """
    return -math.log2((held + 1) / (opportunities + 1))


class DemonstrationOpportunities:
    """The opportunities of an operator in one demonstration, and the conditions that held at them.

    An opportunity is a grounding of the operator that could have been used in some state. Sets of
    opportunities are masks: bit i stands for the i-th opportunity in `data`.
    """

    def __init__(
        self,
        demonstration: EncodedDemonstration,
        parameters: Sequence[Variable],
        find: Callable[[EncodedDemonstration], Iterable[Datum]],
    ) -> None:
        """Prepare for an operator with the given parameters; `find` yields its opportunities."""
        self._demonstration = demonstration
        self._parameters = parameters
        self._find = find
        # For each condition, two masks: the opportunities at which it was tested, and those at which it did
        # not hold.
        self._results: dict[tuple[frozenset[AtomKey], bool], tuple[int, int]] = {}
        self._groups: dict[tuple[int, tuple[int, ...]], list[tuple[int, Datum]]] = {}
        self._never_failing: dict[frozenset[AtomKey], bool] = {}

    @cached_property
    def data(self) -> list[Datum]:
        """The opportunities: pairs of a transition and the objects of a grounding.

        The operator was applicable to these objects before the transition.
        """
        return list(self._find(self._demonstration))

    @property
    def everything(self) -> int:
        """The mask of all opportunities."""
        return (1 << len(self.data)) - 1

    def lacking(self, atoms: frozenset[AtomKey], among: int, distinct: bool = False) -> tuple[int, int]:
        """Return the opportunities at which a condition did not hold, and the number of tests.

        Only the opportunities of the mask `among` are considered. The condition consists of `atoms`. For
        `distinct`, see `holds`.
        """
        tested, lacking = self._results.get((atoms, distinct), (0, 0))
        if not among & ~tested:
            return lacking & among, 0
        arity = len(self._parameters)
        tests = 0
        for members, datum in self._grouped_by(atoms, distinct):
            if not members & among & ~tested:
                continue
            tests += 1
            tested |= members
            if not holds(atoms, arity, datum, distinct):
                lacking |= members
        self._results[atoms, distinct] = tested, lacking
        return lacking & among, tests

    def _grouped_by(self, atoms: frozenset[AtomKey], distinct: bool) -> list[tuple[int, Datum]]:
        """Divide the opportunities into groups in which a condition holds at all members or at none.

        Return each group as a mask, with one of its members at which to test the condition.
        """
        relevant = self._demonstration.table.with_predicates(name for name, _ in atoms)
        mentioned = tuple(range(len(self._parameters))) if distinct else self._mentioned(atoms)
        known = self._groups.get((relevant, mentioned))
        if known is None:
            first: dict[tuple[int, tuple[int, ...]], Datum] = {}
            members: dict[tuple[int, tuple[int, ...]], int] = {}
            for number, datum in enumerate(self.data):
                transition, objects = datum
                key = (transition.before & relevant, tuple([objects[index] for index in mentioned]))
                first.setdefault(key, datum)
                members[key] = members.get(key, 0) | 1 << number
            known = [(members[key], datum) for key, datum in first.items()]
            self._groups[relevant, mentioned] = known
        return known

    def _mentioned(self, atoms: frozenset[AtomKey]) -> tuple[int, ...]:
        """Return the indices of the parameters that a condition mentions."""
        arity = len(self._parameters)
        return tuple(sorted({index for _, indices in atoms for index in indices if 0 <= index < arity}))

    def never_fails(self, atoms: frozenset[AtomKey]) -> bool:
        """Return whether a condition certainly holds at every opportunity, by a fast test.

        The test considers only the atoms that hold in all states of the demonstration. It checks whether
        they satisfy the condition, whichever object is bound to the one parameter in it. False means that
        this is not known, for example because the condition mentions several parameters, or because this
        parameter can be bound to many objects.
        """
        known = self._never_failing.get(atoms)
        if known is None:
            known = self._never_failing[atoms] = self._find_never_fails(atoms)
        return known

    def _find_never_fails(self, atoms: frozenset[AtomKey]) -> bool:
        mentioned, state = self._mentioned(atoms), self._always
        if len(mentioned) > 1 or state is None:
            return False
        table, arity = self._demonstration.table, len(self._parameters)
        kinds = [self._parameters[index].type for index in mentioned]
        numbers = list(bits(table.of_type(kinds[0]))) if kinds else [0]
        if len(numbers) > EXAMINED_GROUNDINGS:
            return False
        return all(holds(atoms, arity, (state, (number,) * arity)) for number in numbers)

    @cached_property
    def _always(self) -> EncodedTransition | None:
        """An artificial transition for tests: before it, only the atoms hold that hold in all states.

        None if the demonstration has no transitions.
        """
        transitions = self._demonstration.transitions
        if not transitions:
            return None
        return replace(transitions[0], before=functools.reduce(and_, (one.before for one in transitions)))


class Opportunities:
    """The opportunities of one operator: its groundings that could have been used in the demonstrations.

    These groundings were applicable, and not all their add effects held yet. For speed, only some of the
    demonstrations, states and groundings are examined, chosen at regular intervals. Results are stored in
    `cache`, and shared by operators with the same parameters, preconditions and add effects.
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
        self._found = ({} if cache is None else cache).setdefault(key, {})

    def bits(
        self,
        *conditions: frozenset[AtomKey],
        stronger: frozenset[AtomKey] | None = None,
        distinct: bool = False,
    ) -> float:
        """Return the evidence, in bits, that at least one of the conditions must hold.

        The result is estimated: it is the mean evidence of some demonstrations, multiplied by the number of
        all demonstrations. If the estimate is uncertain (`DOUBTFUL_BITS`), all demonstrations are examined.

        `stronger` is a condition with all atoms of the first condition and further atoms. Where it holds,
        the first condition holds too and is not tested. This saves time, but does not affect the result.
        With `distinct`, unnamed objects must differ from each other and from the objects of the parameters.
        """
        estimate = self._bits(conditions, self._examined, stronger, distinct) * self._scale
        low, high = DOUBTFUL_BITS
        if self._scale == 1.0 or not low <= estimate <= high:
            return estimate
        return self._bits(conditions, self.demonstrations, stronger, distinct)

    def _bits(
        self,
        conditions: Sequence[frozenset[AtomKey]],
        demonstrations: Sequence[EncodedDemonstration],
        stronger: frozenset[AtomKey] | None,
        distinct: bool,
    ) -> float:
        total = 0.0
        for demonstration in demonstrations:
            found = self._of(demonstration)
            if not distinct and any(map(found.never_fails, conditions)):
                continue  # For speed: the demonstration contributes 0 bits.
            lacking = found.everything
            if stronger is not None:
                lacking = self._lacking(stronger, found, lacking)
            for atoms in conditions:
                lacking = self._lacking(atoms, found, lacking, distinct)
            count = len(found.data)
            total += evidence_bits(count - lacking.bit_count(), count)
        return total

    def _lacking(
        self,
        atoms: frozenset[AtomKey],
        found: DemonstrationOpportunities,
        among: int,
        distinct: bool = False,
    ) -> int:
        lacking, tests = found.lacking(atoms, among, distinct)
        if tests and self._limit is not None:
            self._limit.spend(tests)
        return lacking

    def bits_against(self, atom: AtomKey) -> float:
        """Return the evidence, in bits, that an atom over the operator's parameters must not hold."""
        total = 0.0
        for demonstration in self.demonstrations:
            if not demonstration.table.with_predicate(atom[0]):
                continue  # The atom holds nowhere in this demonstration, which thus contributes 0 bits.
            data = self._of(demonstration).data
            lacking = sum(
                not transition.table.ground((atom,), objects) & transition.before
                for transition, objects in data
            )
            total += evidence_bits(lacking, len(data))
        return total

    def always_hold(self, atoms: frozenset[AtomKey]) -> bool:
        """Return whether a condition holds wherever the operator could have been used.

        Only the opportunities of the examined demonstrations are tested.
        """
        for demonstration in reversed(self._examined):
            found = self._of(demonstration)
            if not found.never_fails(atoms) and self._lacking(atoms, found, found.everything):
                return False
        return True

    def _of(self, demonstration: EncodedDemonstration) -> DemonstrationOpportunities:
        known = self._found.get(demonstration)
        if known is None:
            parameters = self._operator.parameters
            known = DemonstrationOpportunities(demonstration, parameters, self._applicable)
            self._found[demonstration] = known
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


def evenly(items: Sequence[T], count: int) -> Sequence[T]:
    """Return at most `count` items of a sequence, at regular intervals."""
    if len(items) <= count:
        return items
    return [items[number * len(items) // count] for number in range(count)]
