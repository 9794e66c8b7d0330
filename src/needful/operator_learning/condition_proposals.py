"""Propose conditions on unnamed objects: objects to which no parameter of an operator is bound.

A proposal consists of an operator, a condition that it might require, and the evidence for the condition.
`unnamed_objects` tries the proposals and decides which ones are accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.objects import Type
from needful.operator_learning.case_conditions import best_division, linking_division
from needful.operator_learning.condition_tests import ANYTHING, TYPE_PREFIX, holds
from needful.operator_learning.consumption import (
    consumed_groups,
    consumed_objects,
    consumed_pairs,
    consumption_classes,
    with_second_objects,
)
from needful.operator_learning.induction import Datum
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.opportunities import Opportunities
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import Signature, predicates_of
from needful.operator_learning.unnamed_conditions import (
    Condition,
    SharedCondition,
    bound_condition,
    condition_of,
    shared_conditions,
    witnesses,
)

# A condition with at least `ENOUGH_BITS` of evidence is informative: it would hold by chance with a
# probability of at most 1/256. `MIN_BITS` is the minimum evidence for considering a condition. Negative
# preconditions use the same numbers.
ENOUGH_BITS = 8.0
MIN_BITS = 2.0
# Each other controller for which a similar condition was accepted divides `ENOUGH_BITS` by this number. For
# example, many actions of a robot require that it is in the room of the object.
FAMILIARITY = 2.0
# The number of demonstrations that are searched first for conditions that held before all transitions.
SCREENING_DEMONSTRATIONS = 4
# The minimum evidence for a condition on several objects about which an operator makes the same atom false,
# such as both hands of a robot (see `consumed_groups`). With few transitions, this can happen by chance.
MIN_GROUP_BITS = 4.0
# A condition with a further object to which no parameter is bound needs this much more evidence, in bits,
# than the condition without this object.
BITS_PER_OBJECT = 4.0

# The names of the predicates in each condition of a proposal.
Pattern: TypeAlias = frozenset[frozenset[str]]


class ProposalKey(NamedTuple):
    """Identifies similar proposals: the controller's name, the number of conditions, and the predicates."""

    controller: str
    conditions: int
    pattern: Pattern


class Proposal(NamedTuple):
    """A proposed condition for an operator, with the evidence for it.

    If there are several conditions, the proposal is to divide the operator into one operator per condition.
    Each new operator gets the transitions that satisfy its condition.

    Attributes:
        fitted: the operator with its transitions.
        conditions: the proposed condition, or the conditions of the new operators.
        bits: the evidence, in bits; see the module `opportunities`.
        consumed: whether every transition made an atom of the condition false.
        replaced: whether every transition also made this atom true for another unnamed object, as when a
            vehicle leaves one place and reaches another.
        excludes_false_claims: whether the condition may prevent the operator from predicting an atom that
            does not hold afterwards; see `_excludes_false_claims`.
        repeated: whether another operator was divided by conditions with the same predicates.
        links: whether the conditions relate parameters that no precondition relates.
        known: whether another operator of the controller requires a condition with the same predicates, or
            makes a precondition false with the predicate of an atom that `consumed` is about.
        familiar: for how many other controllers a similar condition was accepted; see
            `AcceptedConditions.familiarity`.
        further_bits: the evidence for a condition with the same predicates, of another operator of the
            controller.
    """

    fitted: FittedOperator
    conditions: tuple[Condition, ...]
    bits: float
    consumed: bool = False
    replaced: bool = False
    excludes_false_claims: bool = False
    repeated: bool = False
    links: bool = False
    known: bool = False
    familiar: int = 0
    further_bits: float = 0.0

    @property
    def informative(self) -> bool:
        """Whether there is enough evidence that the condition did not hold by chance."""
        return self.bits + self.further_bits >= ENOUGH_BITS / FAMILIARITY**self.familiar

    def is_promising(self, purposeless: Set[str], sometimes: Set[str]) -> bool:
        """Return whether the condition may be accepted; `unnamed_objects` lists the reasons.

        A step has no purpose if it adds atoms, but none that is necessary later. A condition on these atoms
        would give it a purpose. `sometimes` contains the names of the predicates of all such atoms, and
        `purposeless` only of those added by `often_purposeless_steps`.
        """
        names = sometimes if self.consumed and self.bits >= MIN_BITS else purposeless
        gives_purpose = any(name in names for name, _ in self.atoms)
        informative = self.informative and is_linked(self)
        return informative or self.replaced or self.excludes_false_claims or gives_purpose or self.known

    @property
    def rank(self) -> tuple[bool, float, int, str, list[AtomKey]]:
        """The sort key that determines the order in which conditions are tried.

        Conditions that the action makes false come first, if they have at least `MIN_BITS` of evidence. All
        others follow. In both groups, conditions with more evidence come first.
        """
        size = sum(len(condition.types) for condition in self.conditions)
        text = self.fitted.operator.text
        first = self.consumed and self.bits >= MIN_BITS
        return (not first, -self.bits, size, text, sorted(self.atoms))

    @property
    def key(self) -> ProposalKey:
        """The controller and the predicates of the proposal; similar proposals have the same key."""
        return ProposalKey(self.fitted.operator.controller.name, len(self.conditions), self.pattern)

    @property
    def pattern(self) -> Pattern:
        """The names of the predicates in each condition."""
        return frozenset(predicates_of(one.atoms) for one in self.conditions)

    @property
    def atoms(self) -> Signature:
        """The atoms of all conditions."""
        return frozenset[AtomKey]().union(*(condition.atoms for condition in self.conditions))


def is_linked(proposal: Proposal) -> bool:
    """Return whether atoms connect each object of a condition to a parameter of the operator.

    The connection may be indirect: through atoms that mention other objects of the condition. An object
    that is the only one of its type needs no connection. A condition without a connection may be a mere
    habit of the demonstrator, who for example walks to the table only while holding something.

    If the controller has no arguments, it is enough that the condition has at least two atoms, and that
    atoms connect its objects with each other. For example, `pick_up_bomb()` requires that the robot is at a
    place, and that the bomb is at the same place; `refill()` requires that the robot is in a room, and that
    this room has a tap.
    """
    operator = proposal.fitted.operator
    arity = len(operator.parameters)
    for condition in proposal.conditions:
        if not arity and len(condition.atoms) == 1:
            return False
        linked = set(range(arity))
        linked |= {
            arity + index for index, kind in enumerate(condition.types) if _is_unique(kind, condition)
        }
        if not operator.controller.types and len(condition.atoms) > 1:
            linked.add(arity)
        atoms = {frozenset(indices) for _, indices in condition.atoms}
        while reached := {index for one in atoms if one & linked for index in one} - linked:
            linked |= reached
        if len(linked) < arity + len(condition.types):
            return False
    return True


def _is_unique(kind: Type, condition: Condition) -> bool:
    """Return whether each demonstration in `condition.data` has exactly one object of the given type.

    An atom about such an object, for example HandEmpty(robot), is like an atom without objects.
    """
    tables = [transition.table for transition, _ in condition.data]
    return bool(tables) and all(table.of_type(kind).bit_count() == 1 for table in tables)


def _limited_opportunities(fitted: FittedOperator, problem: LearningProblem) -> Opportunities:
    """Return the same as `problem.opportunities_of`, for short demonstrations first and limited work."""
    used = {transition.demonstration for transition, _ in fitted.data}
    demonstrations = sorted(
        (one for one in problem.demonstrations if one.index in used),
        key=lambda one: (len(one.transitions), len(one.table.objects), one.index),
    )
    return Opportunities(fitted, demonstrations, problem.opportunities, problem.work)


def proposals_for(
    fitted: FittedOperator,
    problem: LearningProblem,
    known: Set[Pattern] = frozenset(),
    familiar: Set[Pattern] = frozenset(),
    wanted: Set[str] | None = None,
) -> Iterator[Proposal]:
    """Yield the conditions that one operator might require.

    `known` contains the patterns (names of predicates) of conditions that other operators of the same
    controller require, and `familiar` those of several other controllers. For these patterns, conditions
    with little evidence are proposed too.

    `wanted` contains names of predicates (None: all). Conditions without any of them are proposed only with
    `ENOUGH_BITS` of evidence, or if every transition made an atom about their objects false.
    """
    opportunities = _limited_opportunities(fitted, problem)
    consumed = list(_about_consumed_objects(fitted, problem, opportunities))
    yield from consumed
    yield from _division(fitted, problem, opportunities)
    found = {proposal.atoms for proposal in consumed}
    for proposal in _shared_by_all(fitted, problem, opportunities, known, familiar, wanted):
        if proposal.atoms not in found:
            yield proposal
            found.add(proposal.atoms)


def _about_consumed_objects(
    fitted: FittedOperator, problem: LearningProblem, opportunities: Opportunities
) -> Iterator[Proposal]:
    """Yield the conditions on objects about which every transition made an atom false."""
    for one in consumed_objects(fitted):
        evidence = opportunities.bits(one.atoms)
        (atoms,) = _pruned((one.atoms,), evidence, opportunities)
        condition = condition_of(fitted, fitted.data, atoms, objects=one.objects) if atoms else None
        if condition is not None:
            excludes = _excludes_false_claims(fitted, condition, problem)
            yield Proposal(fitted, (condition,), evidence, True, one.replaced, excludes)
    pairs = ((one, False) for one in consumed_pairs(fitted))
    groups = ((one, True) for one in consumed_groups(fitted))
    for condition, is_group in chain(pairs, groups):
        evidence = opportunities.bits(condition.atoms, distinct=is_group)
        if not is_group or evidence >= MIN_GROUP_BITS:
            excludes = _excludes_false_claims(fitted, condition, problem)
            yield Proposal(fitted, (condition,), evidence, True, excludes_false_claims=excludes)


def _shared_by_all(
    fitted: FittedOperator,
    problem: LearningProblem,
    opportunities: Opportunities,
    known: Set[Pattern],
    familiar: Set[Pattern],
    wanted: Set[str] | None,
) -> Iterator[Proposal]:
    """Yield conditions that held before all transitions of an operator; see `proposals_for`."""
    claims = problem.validity.of_operator(fitted.operator)
    expected = known | familiar

    # For speed, examine a few transitions first. Their conditions have all atoms of the conditions that
    # held before all transitions, and usually further ones. Dropping atoms never increases the evidence.
    first = {one.index for one in opportunities.demonstrations[:SCREENING_DEMONSTRATIONS]}
    screening = tuple(datum for datum in fitted.data if datum[0].demonstration in first)

    def may_be_accepted(condition: SharedCondition) -> bool:
        """Return whether the condition, or one with fewer of its atoms, may be accepted."""
        required = _all_atoms(condition)
        if wanted is None:
            return bool(claims or expected) or not opportunities.always_hold(required)
        if any(name in wanted for name, _ in required):
            return True
        linked = _may_be_linked(condition, screening[0])
        return linked and opportunities.bits(required) >= ENOUGH_BITS

    if not any(map(may_be_accepted, shared_conditions(screening, problem.signatures))):
        return
    conditions = problem.shared_conditions(fitted.data)
    alone: Signature = frozenset()  # the latest condition on one object
    for shared in chain(conditions, _familiar_parts(conditions, familiar)):
        required = _all_atoms(shared)
        if len(shared) == 1:
            alone = required
        if wanted is not None and not may_be_accepted(shared):
            continue
        evidence = opportunities.bits(required)
        fewer = _all_atoms(shared[:-1]) if len(shared) > 2 else alone
        if len(shared) > 1 and evidence < opportunities.bits(fewer) + BITS_PER_OBJECT:
            continue
        if evidence < MIN_BITS and not claims and not expected:
            continue
        condition = bound_condition(fitted, _pruned(shared, evidence, opportunities))
        if condition is not None:
            excludes = _excludes_false_claims(fitted, condition, problem)
            proposal = Proposal(fitted, (condition,), evidence, excludes_false_claims=excludes)
            if evidence >= MIN_BITS or excludes or proposal.pattern in expected:
                yield proposal


def _all_atoms(condition: SharedCondition) -> Signature:
    return frozenset[AtomKey]().union(*condition)


def _may_be_linked(condition: SharedCondition, datum: Datum) -> bool:
    """Return whether atoms may link the objects of a condition to a parameter; see `is_linked`.

    If no atom mentions a parameter, the first object must be the only one of its type before `datum`.
    """
    transition, objects = datum
    mentioned = {index for _, indices in _all_atoms(condition) for index in indices}
    if not objects or not mentioned.isdisjoint(range(len(objects))):
        return True
    table = transition.table
    kinds = (table.objects[number].type for number in bits(witnesses(datum, condition[0])))
    return any(table.of_type(kind).bit_count() == 1 for kind in kinds)


def _familiar_parts(
    conditions: Iterable[SharedCondition], familiar: Set[Pattern]
) -> Iterator[SharedCondition]:
    """Yield parts of conditions on one unnamed object: the atoms whose predicates are `familiar`.

    A pattern in `familiar` has the predicates of a condition that was accepted for other controllers. The
    other atoms often hold by chance. For example, all transitions of `close(door)` may have in common that
    the robot is beside the door, and that a card lies in the room.
    """
    names = sorted(sorted(min(pattern)) for pattern in familiar if len(pattern) == 1)
    for condition in conditions:
        for one in names if len(condition) == 1 else ():
            part = frozenset(key for key in condition[0] if key[0] in one or key[0][0] == TYPE_PREFIX)
            if part != condition[0] and predicates_of(part) == frozenset(one):
                yield (part,)


def divisions_of(
    fitted: FittedOperator, problem: LearningProblem, supplied: Set[AtomKey], known: Set[frozenset[str]]
) -> Iterator[Proposal]:
    """Yield proposals to divide an operator into several operators with different conditions.

    The first proposal is the `best_division`, with at least `MIN_BITS` of evidence. One of its conditions
    contains an atom in `supplied` (see `supplied_keys`), or has exactly the predicates of a set in `known`,
    because other operators were divided by such conditions. The second one is the `linking_division`, with
    at least `ENOUGH_BITS`. Its conditions relate parameters that no precondition relates.
    """
    opportunities = _limited_opportunities(fitted, problem)
    division = best_division(fitted, opportunities, supplied, known, problem.signatures, MIN_BITS)
    if division is not None:
        yield Proposal(fitted, division.conditions, division.bits)
    division = linking_division(fitted, opportunities, ENOUGH_BITS)
    if division is not None:
        yield Proposal(fitted, division.conditions, division.bits, links=True)


def _division(
    fitted: FittedOperator, problem: LearningProblem, opportunities: Opportunities
) -> Iterator[Proposal]:
    """Yield a proposal to divide the operator by the atoms that its transitions made false.

    For example, `take(food)` takes food out of a cupboard or from a table. The operator is divided in two:
    one requires that the food is in a cupboard, the other that it is on a table. If all food is always in a
    cupboard or on a table, this gives no evidence. Then conditions on a second object are added, for
    example that the robot is beside the cupboard or the table. Nothing is yielded without `ENOUGH_BITS` of
    evidence.
    """
    conditions = consumption_classes(fitted)
    if not conditions:
        return
    evidence = opportunities.bits(*(condition.atoms for condition in conditions))
    if evidence < ENOUGH_BITS:
        conditions = with_second_objects(fitted, conditions, problem.signatures)
        evidence = opportunities.bits(*(condition.atoms for condition in conditions))
        evidence -= BITS_PER_OBJECT * len(conditions)
    if evidence >= ENOUGH_BITS:
        yield Proposal(fitted, tuple(conditions), evidence, True)


def _pruned(condition: SharedCondition, bits: float, opportunities: Opportunities) -> SharedCondition:
    """Return the condition without atoms that mention a further unnamed object and add hardly any evidence.

    The further object can be any object, so its index in the atom is `ANYTHING`. Only atoms about the last
    object of the condition can mention a further one. `bits` is the evidence for the condition.
    """
    earlier, atoms = _all_atoms(condition[:-1]), condition[-1]
    for atom in sorted(key for key in atoms if ANYTHING in key[1]):
        if opportunities.bits(earlier | (atoms - {atom}), stronger=earlier | atoms) >= bits - 1.0:
            atoms -= {atom}
    return (*condition[:-1], atoms)


def _excludes_false_claims(fitted: FittedOperator, condition: Condition, problem: LearningProblem) -> bool:
    """Return whether the condition excludes a grounding where the operator makes a false claim.

    The grounding must be applicable before a transition about which the operator makes a false claim: it
    predicts an atom that does not hold afterwards.
    """
    arity = len(fitted.operator.parameters)
    problem.work.spend(len(fitted.data))
    return any(
        not holds(condition.atoms, arity, (transition, objects), distinct=True)
        for number in problem.validity.of_operator(fitted.operator)
        for transition in (problem.transitions.by_number[number],)
        for objects in problem.matcher.applicable(fitted.operator, transition)
    )
