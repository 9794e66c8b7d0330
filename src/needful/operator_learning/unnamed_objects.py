"""Require conditions on objects that the controller does not name.

A controller `load(package, truck)` does not name the place where both must be. The parameters of an
operator come from the controller's arguments and the necessary add effects, so the operator could not
require that place. This module gives an operator a new parameter for such an object, and preconditions
about the object. A condition must have held before every transition of the operator. That alone is weak
evidence, because many conditions hold everywhere. So one of the following must be true as well:

- The condition is informative: it often failed where the operator was applicable but not used; see
  `Opportunities`.
- In every transition, the action made the condition false, and made the same atom true for another object.
  For example, a vehicle that moves is no longer at one place, but at another.
- The condition gives a purpose to steps that had none: without the condition, nothing that these steps add
  is necessary later.
- With the condition, the operator has fewer false claims (predicted atoms that do not hold; see
  `false_claims`). In addition, the action must have made the condition false, or atoms of the condition
  must mention its objects together with the operator's parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.objects import Type, Variable
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.case_conditions import (
    best_division,
    consumption_classes,
    linking_division,
    predicates_of,
    supplied_keys,
)
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.hill_climbing import Climb, Resume
from needful.operator_learning.induction import Datum, LiftedAtomMap, lifted_atoms
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.opportunities import ANYTHING, Opportunities, holds
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_conditions import (
    Condition,
    Signature,
    condition_of,
    consumed_objects,
)

# A condition with at least `ENOUGH_BITS` of evidence is informative: it would hold by chance with a
# probability of at most 1/256. `MIN_BITS` is the minimum evidence for considering a condition. Negative
# preconditions use the same numbers.
ENOUGH_BITS = 8.0
MIN_BITS = 2.0
# The number of demonstrations whose transitions are first searched for shared conditions.
SCREENING_DEMONSTRATIONS = 4
# A condition on a further unnamed object needs this much more evidence than the condition without it.
BITS_PER_OBJECT = 4.0

# The names of the predicates in each case of a division.
Pattern: TypeAlias = frozenset[frozenset[str]]


class _Proposal(NamedTuple):
    """A proposed condition for an operator, with the evidence for it.

    If there are several conditions, the proposal is to divide the operator into one operator per condition.
    Each new operator gets the transitions that satisfy its condition.
    """

    fitted: FittedOperator
    conditions: tuple[Condition, ...]
    bits: float
    consumed: bool = False
    replaced: bool = False
    excludes_false_claims: bool = False
    repeated: bool = False
    links: bool = False

    def is_promising(self, purposeless: Set[str]) -> bool:
        """Return whether the condition may be accepted; see the list at the top of this module.

        `purposeless` contains the names of the predicates of atoms that steps without purpose add.
        """
        gives_purpose = any(name in purposeless for name, _ in self.atoms)
        informative = self.bits >= ENOUGH_BITS and _linked(self)
        return informative or self.replaced or self.excludes_false_claims or gives_purpose

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
    def pattern(self) -> Pattern:
        """The names of the predicates in each condition."""
        return frozenset(predicates_of(one.atoms) for one in self.conditions)

    @property
    def atoms(self) -> Signature:
        """The atoms of all conditions."""
        return frozenset[AtomKey]().union(*(condition.atoms for condition in self.conditions))


def conditions_on_unnamed_objects(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Give operators parameters for unnamed objects, until no further condition on them is accepted.

    After each new parameter, `resume` continues hill climbing, because the new precondition may make
    further effects necessary. A condition is rejected if the result covers fewer transitions.
    """
    tried: set[tuple[str, Signature]] = set()
    cache: dict[tuple[str, tuple[Datum, ...]], list[_Proposal]] = {}
    patterns: set[Pattern] = set()
    while True:
        for proposal in _in_order(climb.hypothesis, problem, cache, patterns):
            key = (proposal.fitted.operator.text, proposal.atoms)
            if key in tried:
                continue
            tried.add(key)
            reached = _required(proposal, climb, problem, resume)
            if reached is not None:
                climb = reached
                if len(proposal.conditions) > 1:
                    patterns.add(proposal.pattern)
                break
        else:
            return climb


def _in_order(
    hypothesis: Hypothesis,
    problem: LearningProblem,
    cache: dict[tuple[str, tuple[Datum, ...]], list[_Proposal]],
    patterns: Set[Pattern],
) -> Iterator[_Proposal]:
    """Yield proposals in the order in which they are tried.

    Divisions into cases are tried after the conditions that all transitions share, but before conditions
    that no atom connects to the operator's parameters.
    """
    purposeless = _purposeless_predicates(hypothesis)
    shared = _proposals(hypothesis, problem, cache, purposeless)
    yield from filter(_linked, shared)
    yield from _divisions(hypothesis, problem, patterns)
    yield from (one for one in shared if not _linked(one))


def _divisions(hypothesis: Hypothesis, problem: LearningProblem, patterns: Set[Pattern]) -> list[_Proposal]:
    """Return proposals to divide operators into cases.

    A division needs enough evidence by itself if it links parameters. Less evidence suffices if it may give
    a purpose to steps without one, or if another operator was divided by the same predicates.
    """
    found: list[_Proposal] = []
    purposeless = purposeless_steps(hypothesis)
    known = frozenset[frozenset[str]]().union(*patterns)
    for fitted in hypothesis.fitted:
        opportunities = _opportunities(fitted, problem)
        division = best_division(fitted, opportunities, supplied_keys(fitted, purposeless), known)
        if division is not None and division.bits >= MIN_BITS:
            proposal = _Proposal(fitted, division.conditions, division.bits)
            found.append(proposal._replace(repeated=proposal.pattern in patterns))
        division = linking_division(fitted, opportunities)
        if division is not None and division.bits >= ENOUGH_BITS:
            found.append(_Proposal(fitted, division.conditions, division.bits, links=True))
    return sorted(found, key=lambda one: one.rank)


def named_objects_only(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Return the climb unchanged: operators have no parameters for unnamed objects, as in the paper."""
    return climb


def purposeless_steps(hypothesis: Hypothesis) -> list[EncodedTransition]:
    """Return the transitions that add atoms, but none that is necessary for a later step or the goal."""
    return [
        transition
        for chain in hypothesis.coverage.chains
        for transition, needed in zip(chain.demonstration.transitions, chain.needed, strict=True)
        if not needed and transition.added
    ]


def _required(proposal: _Proposal, climb: Climb, problem: LearningProblem, resume: Resume) -> Climb | None:
    """Return the climb in which an operator requires the proposed condition; None if it is rejected."""
    old, fitted = climb.hypothesis, proposal.fitted
    candidates = [one.candidate for one in old.fitted if one is not fitted]
    candidates += [require(fitted, condition) for condition in proposal.conditions]
    reached = resume(climb.add_step("require", problem.fit(candidates, old)), problem)
    new = reached.hypothesis
    if new.coverage.uncovered > old.coverage.uncovered:
        return None
    claims, earlier = problem.false_claims(new), problem.false_claims(old)
    informative, linked = proposal.bits >= ENOUGH_BITS, _linked(proposal)
    gives_purpose = len(purposeless_steps(new)) < len(purposeless_steps(old))
    if len(proposal.conditions) > 1 and not proposal.consumed:
        justified = gives_purpose or proposal.repeated or proposal.links
        return reached if justified and claims <= earlier else None
    accepted = (
        (claims < earlier and (linked or proposal.consumed))
        or (proposal.replaced and claims <= earlier)
        or (gives_purpose and (informative or linked))
        or (informative and linked)
    )
    return reached if accepted else None


def _linked(proposal: _Proposal) -> bool:
    """Return whether atoms connect each object of a condition to a parameter of the operator.

    The connection may be indirect: through atoms that mention other objects of the condition. An object
    that is the only one of its type needs no connection. A condition
    without a connection may be a mere habit of the demonstrator, who for example walks to the table only
    while holding something.

    If the operator has no parameters, at least two atoms must connect the objects with each other. For
    example, `pick_up_bomb()` requires that the robot is at a place, and that the bomb is at the same place.
    """
    arity = len(proposal.fitted.operator.parameters)
    for condition in proposal.conditions:
        if not arity and len(condition.atoms) == 1:
            return False
        linked = set(range(arity)) or {0}
        linked |= {
            arity + index for index, kind in enumerate(condition.types) if _is_unique(kind, condition)
        }
        atoms = {frozenset(indices) for _, indices in condition.atoms}
        while reached := {index for one in atoms if one & linked for index in one} - linked:
            linked |= reached
        if len(linked) < arity + len(condition.types):
            return False
    return True


def _is_unique(kind: Type, condition: Condition) -> bool:
    """Return whether each demonstration of a condition has exactly one object of the given type.

    An atom about such an object, for example HandEmpty(robot), is like an atom without objects.
    """
    tables = [transition.table for transition, _ in condition.data]
    return bool(tables) and all(table.of_type(kind).bit_count() == 1 for table in tables)


def require(fitted: FittedOperator, condition: Condition) -> Candidate:
    """Return the candidate of an operator, with new parameters for the objects of a condition.

    Quantified deletes that were widened for the old parameters are dropped, since the new parameters may
    make them unnecessary.
    """
    candidate, arity = fitted.candidate, len(fitted.operator.parameters)
    fresh = tuple(Variable(f"?n{arity + i}", kind) for i, kind in enumerate(condition.types))
    parameters = (*candidate.operator.parameters, *fresh)
    predicates = condition.data[0][0].table.predicates()
    lifted: LiftedAtomMap = {key: predicates[key[0]] for key in condition.atoms}
    operator = replace(
        candidate.operator,
        parameters=parameters,
        preconditions=candidate.operator.preconditions | lifted_atoms(parameters, lifted),
        delete_patterns=frozenset(),
    )
    hints = dict(candidate.hints)
    for (transition, _), objects in zip(condition.data, condition.objects, strict=True):
        identity = transition.transition_id
        hints[identity] = {**hints.get(identity, {}), **dict(zip(fresh, objects, strict=True))}
    return canonical_candidate(operator, hints, candidate.pinned)


def _proposals(
    hypothesis: Hypothesis,
    problem: LearningProblem,
    cache: dict[tuple[str, tuple[Datum, ...]], list[_Proposal]],
    purposeless: Set[str],
) -> list[_Proposal]:
    found: list[_Proposal] = []
    for fitted in hypothesis.fitted:
        key = (fitted.operator.text, fitted.data)
        if key not in cache:
            cache[key] = list(_proposals_for(fitted, problem))
        found += (one._replace(fitted=fitted) for one in cache[key])
    promising = (one for one in found if one.is_promising(purposeless))
    return sorted(promising, key=lambda one: one.rank)


def _purposeless_predicates(hypothesis: Hypothesis) -> set[str]:
    """Return the names of the predicates of which atoms were added by steps without purpose."""
    return {
        transition.table.atoms[atom].predicate.name
        for transition in purposeless_steps(hypothesis)
        for atom in bits(transition.added)
    }


def _opportunities(fitted: FittedOperator, problem: LearningProblem) -> Opportunities:
    """Return the opportunities of an operator in the demonstrations that use it."""
    used = {transition.demonstration for transition, _ in fitted.data}
    demonstrations = sorted(
        (one for one in problem.demonstrations if one.index in used),
        key=lambda one: (len(one.transitions), len(one.table.objects), one.index),
    )
    return Opportunities(fitted, demonstrations, problem.opportunities)


def _proposals_for(fitted: FittedOperator, problem: LearningProblem) -> Iterator[_Proposal]:
    """Yield the conditions that one operator might require."""
    opportunities = _opportunities(fitted, problem)
    consumed: list[Signature] = []
    for one in consumed_objects(fitted):
        evidence = opportunities.bits(one.atoms)
        atoms = _pruned(one.atoms, frozenset(), evidence, opportunities)
        condition = condition_of(fitted, fitted.data, atoms, objects=one.objects) if atoms else None
        if condition is not None:
            consumed.append(condition.atoms)
            excludes = _excludes_false_claims(fitted, condition, problem)
            yield _Proposal(fitted, (condition,), evidence, True, one.replaced, excludes)
    if not consumed:
        yield from _division(fitted, opportunities)
    first = {one.index for one in opportunities.demonstrations[:SCREENING_DEMONSTRATIONS]}
    screening = tuple(datum for datum in fitted.data if datum[0].demonstration in first)
    # For speed, test a few transitions first: if these share no condition, all transitions share none.
    screened = problem.shared_conditions(screening)
    if not screened:
        return
    claims = problem.validity.of_operator(fitted.operator)
    if not claims and all(
        opportunities.always_hold((earlier or frozenset()) | atoms) for earlier, atoms in screened
    ):
        return
    alone = 0.0
    for earlier, shared in problem.shared_conditions(fitted.data):
        evidence = opportunities.bits((earlier or frozenset()) | shared)
        if earlier is None:
            alone = evidence
        elif evidence < alone + BITS_PER_OBJECT:
            continue
        if evidence < MIN_BITS and not claims:
            continue
        atoms = _pruned(shared, earlier or frozenset(), evidence, opportunities)
        condition = _condition(fitted, earlier, atoms)
        if condition is None or condition.atoms in consumed:
            continue
        excludes = _excludes_false_claims(fitted, condition, problem)
        if evidence >= MIN_BITS or excludes:
            yield _Proposal(fitted, (condition,), evidence, excludes_false_claims=excludes)


def _division(fitted: FittedOperator, opportunities: Opportunities) -> Iterator[_Proposal]:
    """Yield a proposal to divide the operator by the atoms that its transitions made false.

    For example, `take(food)` takes food out of a cupboard or from a table. The operator is divided in two:
    one requires that the food is in a cupboard, the other that it is on a table. Nothing is yielded if
    there is no division with at least `ENOUGH_BITS` of evidence.
    """
    conditions = consumption_classes(fitted)
    if conditions:
        evidence = opportunities.bits(*(condition.atoms for condition in conditions))
        if evidence >= ENOUGH_BITS:
            yield _Proposal(fitted, tuple(conditions), evidence, True)


def _pruned(atoms: Signature, earlier: Signature, bits: float, opportunities: Opportunities) -> Signature:
    """Drop the atoms with a further unnamed object (index `ANYTHING`) that do not add evidence."""
    for atom in sorted(key for key in atoms if ANYTHING in key[1]):
        if opportunities.bits(earlier | (atoms - {atom}), stronger=earlier | atoms) >= bits - 1.0:
            atoms -= {atom}
    return atoms


def _condition(fitted: FittedOperator, earlier: Signature | None, atoms: Signature) -> Condition | None:
    if not atoms or earlier is None:
        return condition_of(fitted, fitted.data, atoms) if atoms else None
    first = condition_of(fitted, fitted.data, earlier)
    if first is None:
        return None
    extended = [
        (transition, (*objects, *numbers))
        for (transition, objects), numbers in zip(fitted.data, first.objects, strict=True)
    ]
    return condition_of(fitted, extended, atoms, first)


def _excludes_false_claims(fitted: FittedOperator, condition: Condition, problem: LearningProblem) -> bool:
    """Return whether the condition excludes a grounding at a transition with false claims."""
    arity = len(fitted.operator.parameters)
    return any(
        not holds(condition.atoms, arity, (transition, objects), distinct=True)
        for number in problem.validity.of_operator(fitted.operator)
        for transition in (problem.transitions.by_number[number],)
        for objects in problem.matcher.applicable(fitted.operator, transition)
    )
