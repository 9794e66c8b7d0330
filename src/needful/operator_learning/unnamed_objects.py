"""Require conditions on objects that the controller does not name.

A controller `load(package, truck)` does not name the place where both must be. The parameters of an
operator come from the controller's arguments and the necessary add effects, so the operator could not
require that place. This module gives an operator a new parameter for such an object, and preconditions
about the object. A condition must have held before every transition of the operator. That alone is weak
evidence, because many conditions hold everywhere. So one of the following must be true as well:

- The condition is informative: it often did not hold where the operator could have been used; see
  `Opportunities`. Less evidence is enough if a condition with the same predicates was accepted for another
  controller.
- In every transition, the action made an atom of the condition false, and an atom of the same predicate
  true for another object. For example, a vehicle that moves is no longer at one place, but at another. The
  new atom becomes an add effect, so effects of other operators may become necessary. If operators then make
  more false claims (predicted atoms that do not hold; see `false_claims`), further conditions must exclude
  these.
- The condition gives a purpose to steps that had none: without the condition, nothing that these steps add
  is necessary later.
- Another operator of the same controller has a condition with the same predicates, or deletes a
  precondition with one of these predicates.
- With the condition, operators make fewer false claims. In addition, the action must have made an atom of
  the condition false, or atoms must connect the condition's objects with the operator's parameters
  (`is_linked`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.objects import Variable
from needful.operator_learning.accepted_conditions import (
    MAX_ACCEPTED,
    AcceptedConditions,
    with_further_bits,
)
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.case_conditions import supplied_keys
from needful.operator_learning.condition_proposals import (
    ENOUGH_BITS,
    FAMILIARITY,
    Proposal,
    divisions_of,
    is_linked,
    proposals_for,
)
from needful.operator_learning.encoding import EncodedTransition
from needful.operator_learning.hill_climbing import Climb, Resume
from needful.operator_learning.induction import LiftedAtomMap, lifted_atoms
from needful.operator_learning.learning_problem import LearningProblem, TooManyOperators
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.opportunities import WorkLimitReached
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import Signature
from needful.operator_learning.unnamed_conditions import Condition, named_atoms

# The work of trying a condition, per transition, in the units of `WorkLimit`. It was measured in some of
# the environments.
WORK_PER_TRANSITION = 50
# A new condition may lead to more false claims (predicted atoms that do not hold). Then at most
# `MAX_FURTHER_CONDITIONS` conditions are added to exclude them. For each of these, at most `MAX_TRIED`
# proposals are tried.
MAX_FURTHER_CONDITIONS = 4
MAX_TRIED = 3
# See `often_purposeless_steps`: the minimum share of a controller's steps that have no purpose.
OFTEN_PURPOSELESS = 0.1


def conditions_on_unnamed_objects(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Give operators preconditions on objects that their controllers do not name, as long as this helps.

    Each accepted condition adds parameters for these objects to an operator. Then `resume` continues hill
    climbing, because the new preconditions may make further effects necessary. A condition is rejected if
    the result covers fewer transitions. The search ends when no condition is accepted, or when the limit
    `LearningProblem.work` is reached.
    """
    search = ConditionSearch(problem, resume)
    with suppress(WorkLimitReached):
        while (better := search.next_climb(climb)) is not None:
            climb = better
    return climb


@dataclass(slots=True)
class ConditionSearch:
    """The state of a search for conditions on unnamed objects.

    Attributes:
        problem: the learning problem.
        resume: continues hill climbing.
        tried: the operators and conditions that were tried.
        accepted: the accepted conditions.
    """

    problem: LearningProblem
    resume: Resume
    tried: set[tuple[str, Signature, int, bool]] = field(default_factory=set)
    accepted: AcceptedConditions = field(default_factory=AcceptedConditions)

    def next_climb(self, climb: Climb) -> Climb | None:
        """Return the operators after the first accepted condition is required; None if none is accepted."""
        for proposal in self._in_order(climb.hypothesis):
            # A condition is tried again if similar ones were accepted in the meantime: less evidence is
            # enough then.
            times = self.accepted.times(proposal) if proposal.known else -1
            key = (proposal.fitted.operator.text, proposal.atoms, times, proposal.informative)
            if key in self.tried:
                continue
            self.tried.add(key)
            reached = self._required(proposal, climb)
            if reached is not None:
                self.accepted.add(proposal)
                return reached
        return None

    def _required(self, proposal: Proposal, climb: Climb) -> Climb | None:
        """Return the operators after the proposed condition is required; None if it is rejected.

        The action may make an atom of the condition false, and an atom of its predicate true for another
        object. The new atom then becomes an effect, which may make effects of other operators necessary as
        well. If operators then make more false claims (predicted atoms that do not hold), further
        conditions are added to exclude these.
        """
        reached = _reached_with(proposal, climb, self.problem, self.resume)
        if reached is None or _is_justified(proposal, climb.hypothesis, reached.hypothesis, self.problem):
            return reached
        return self._without_new_claims(reached, climb.hypothesis) if proposal.replaced else None

    def _without_new_claims(self, climb: Climb, old: Hypothesis) -> Climb | None:
        """Require further conditions until operators make no more false claims than those in `old`.

        False claims are predicted atoms that do not hold. Return None if too many of them remain.
        """
        claims = self.problem.false_claims
        for _ in range(MAX_FURTHER_CONDITIONS):
            proposals = [one for one in self._shared(climb.hypothesis) if one.excludes_false_claims]
            further = (
                _reached_with(one, climb, self.problem, self.resume) for one in proposals[:MAX_TRIED]
            )
            fewer = (
                one
                for one in further
                if one is not None and claims(one.hypothesis) < claims(climb.hypothesis)
            )
            better = next(fewer, None)
            if better is None:
                return None
            climb = better
            if claims(climb.hypothesis) <= claims(old):
                return climb
        return None

    def _in_order(self, hypothesis: Hypothesis) -> Iterator[Proposal]:
        """Yield proposals in the order in which they are tried.

        First come conditions on objects that atoms connect to the operator's parameters, then divisions of
        operators into cases, and finally conditions on objects without such a connection (see `is_linked`).
        """
        shared = self._shared(hypothesis)
        yield from filter(is_linked, shared)
        yield from self._divisions(hypothesis)
        yield from (one for one in shared if not is_linked(one))

    def _shared(self, hypothesis: Hypothesis) -> list[Proposal]:
        """Return the conditions that held before all transitions of an operator, and may be accepted."""
        found: list[Proposal] = []
        purposeless = _added_predicates(often_purposeless_steps(hypothesis))
        sometimes = _added_predicates(purposeless_steps(hypothesis))
        wanted = self._wanted(hypothesis, purposeless)
        for fitted in hypothesis.fitted:
            known, familiar = self.accepted.of_controller(fitted), self.accepted.of_several_others(fitted)
            others = _consumed_by_others(fitted, hypothesis)
            for one in self._cached(proposals_for, fitted, known, familiar, wanted):
                alike = any(name in others for name, _ in _consumed(one)) if one.consumed else False
                is_known = (one.pattern in known or alike) and self.accepted.times(one) < MAX_ACCEPTED
                familiarity = self.accepted.familiarity(one)
                found.append(one._replace(fitted=fitted, known=is_known, familiar=familiarity))
        promising = (one for one in with_further_bits(found) if one.is_promising(purposeless, sometimes))
        return sorted(promising, key=lambda one: one.rank)

    def _wanted(self, hypothesis: Hypothesis, purposeless: Set[str]) -> frozenset[str] | None:
        """Return the predicates of conditions that may be accepted with little evidence; None for all.

        `purposeless` contains the predicates of the atoms that steps without purpose add.
        """
        if self.problem.false_claims(hypothesis) > 0:
            return None
        return self.accepted.predicates | purposeless

    def _cached(
        self, propose: Callable[..., Iterator[Proposal]], fitted: FittedOperator, *given: Hashable
    ) -> list[Proposal]:
        """Return the proposals of the function `propose` for an operator; `given` are further arguments."""
        key = (propose, fitted.operator.text, fitted.data, *given)
        known: list[Proposal] | None = self.problem.proposals.get(key)
        if known is None:
            known = self.problem.proposals[key] = list(propose(fitted, self.problem, *given))
        return known

    def _divisions(self, hypothesis: Hypothesis) -> list[Proposal]:
        """Return proposals to divide an operator into several operators with different conditions.

        See `divisions_of`.
        """
        found: list[Proposal] = []
        purposeless = often_purposeless_steps(hypothesis)
        known = frozenset[frozenset[str]]().union(*self.accepted.divisions)
        for fitted in hypothesis.fitted:
            supplied = frozenset(supplied_keys(fitted, purposeless))
            for one in self._cached(divisions_of, fitted, supplied, known):
                repeated = not one.links and one.pattern in self.accepted.divisions
                found.append(one._replace(fitted=fitted, repeated=repeated))
        return sorted(found, key=lambda one: one.rank)


def named_objects_only(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Return the operators unchanged, without parameters for unnamed objects, as in the paper."""
    return climb


def purposeless_steps(hypothesis: Hypothesis) -> list[EncodedTransition]:
    """Return the transitions that add atoms, but none that a later step or the goal is known to need."""
    return [
        transition
        for chain in hypothesis.coverage.chains
        for transition, needed in zip(chain.demonstration.transitions, chain.needed, strict=True)
        if not needed and transition.added
    ]


def often_purposeless_steps(hypothesis: Hypothesis) -> list[EncodedTransition]:
    """Return the `purposeless_steps`, except those of controllers whose steps rarely have no purpose.

    A step without purpose may supply what an operator should require. If a controller's steps nearly always
    have a purpose, its few steps without one are probably detours or habits of the demonstrator.
    """
    steps = Counter(
        transition.controller.name
        for chain in hypothesis.coverage.chains
        for transition in chain.demonstration.transitions
    )
    found = purposeless_steps(hypothesis)
    counts = Counter(transition.controller.name for transition in found)
    often = {name for name, count in counts.items() if count >= OFTEN_PURPOSELESS * steps[name]}
    return [transition for transition in found if transition.controller.name in often]


def _reached_with(
    proposal: Proposal, climb: Climb, problem: LearningProblem, resume: Resume
) -> Climb | None:
    """Return what hill climbing reaches if an operator requires the proposed condition.

    Return None if the result covers fewer transitions, or if the condition cannot be accepted. Also return
    None if hill climbing needs far more operators than before: this would take long, and most of the
    operators would describe accidents of single transitions.
    """
    problem.work.spend(WORK_PER_TRANSITION * problem.size)
    old, fitted = climb.hypothesis, proposal.fitted
    if not _can_be_accepted(proposal, old, problem):
        return None
    candidates = [one.candidate for one in old.fitted if one is not fitted]
    candidates += [require(fitted, condition) for condition in proposal.conditions]
    limited = problem.with_limited_growth(len(candidates))
    try:
        start = limited.fit(candidates, old)
        if _is_division(proposal) and problem.false_claims(start) > problem.false_claims(old):
            return None  # For speed: hill climbing would hardly ever remove the new false claims.
        reached = resume(climb.add_step("require", start), limited)
    except TooManyOperators:
        return None
    covers_fewer = reached.hypothesis.coverage.uncovered > old.coverage.uncovered
    return None if covers_fewer else reached


def _is_justified(proposal: Proposal, old: Hypothesis, new: Hypothesis, problem: LearningProblem) -> bool:
    """Return whether there is a reason to accept a condition, given the operators without and with it.

    `old` are the operators without the condition, and `new` those that hill climbing reached with it. The
    docstring of this module lists the reasons.
    """
    claims, earlier = problem.false_claims(new), problem.false_claims(old)
    gained = len(purposeless_steps(old)) - len(purposeless_steps(new))
    gives_purpose = gained > 0
    if _is_division(proposal):
        return (gives_purpose or proposal.repeated or proposal.links) and claims <= earlier
    informative, linked = proposal.informative, is_linked(proposal)
    return (
        (proposal.known and claims <= earlier)
        or (claims < earlier and (linked or proposal.consumed))
        or (proposal.replaced and claims <= earlier)
        or (gives_purpose and (informative or linked or proposal.consumed))
        or (gained >= 2 and proposal.bits >= ENOUGH_BITS / FAMILIARITY and claims <= earlier)
        or (informative and linked)
    )


def _is_division(proposal: Proposal) -> bool:
    """Return whether a proposal divides an operator into several, for the reasons in `divisions_of`."""
    return len(proposal.conditions) > 1 and not proposal.consumed


def _can_be_accepted(proposal: Proposal, old: Hypothesis, problem: LearningProblem) -> bool:
    """Return whether a condition can possibly be accepted, before hill climbing is tried with it.

    For example, if all steps have a purpose already, the condition cannot give a purpose to one. If there
    are no false claims (predicted atoms that do not hold), it cannot exclude one.
    """
    if _is_division(proposal):
        return proposal.repeated or proposal.links or bool(purposeless_steps(old))
    linked, informative = is_linked(proposal), proposal.informative
    if proposal.known or proposal.replaced or (informative and linked):
        return True
    if (linked or proposal.bits >= ENOUGH_BITS / FAMILIARITY or proposal.consumed) and purposeless_steps(
        old
    ):
        return True
    return (linked or proposal.consumed) and problem.false_claims(old) > 0


def require(fitted: FittedOperator, condition: Condition) -> Candidate:
    """Return the operator with a condition as precondition, and parameters for the condition's objects.

    The action may make an atom of the condition false, and an atom of the same predicate true. This new
    atom becomes an add effect (see `_replacements`). Quantified deletes that `merge_types` added for the
    old parameters are dropped, since the new parameters may make them unnecessary.
    """
    candidate, arity = fitted.candidate, len(fitted.operator.parameters)
    fresh = tuple(Variable(f"?n{arity + i}", kind) for i, kind in enumerate(condition.types))
    parameters = (*candidate.operator.parameters, *fresh)
    predicates = condition.data[0][0].table.predicates()
    needed: LiftedAtomMap = {key: predicates[key[0]] for key in condition.atoms}
    added: LiftedAtomMap = {
        key: predicates[key[0]]
        for key in _replacements(condition, arity)
        if predicates[key[0]].fits([parameters[index] for index in key[1]])
    }
    operator = replace(
        candidate.operator,
        parameters=parameters,
        preconditions=candidate.operator.preconditions | lifted_atoms(parameters, needed),
        add_effects=candidate.operator.add_effects | lifted_atoms(parameters, added),
        delete_patterns=frozenset(),
    )
    hints = dict(candidate.hints)
    for (transition, _), objects in zip(condition.data, condition.objects, strict=True):
        identity = transition.transition_id
        hints[identity] = {**hints.get(identity, {}), **dict(zip(fresh, objects, strict=True))}
    return canonical_candidate(operator, hints, candidate.pinned)


def _consumed_by_others(fitted: FittedOperator, hypothesis: Hypothesis) -> set[str]:
    """Return the predicates of preconditions that other operators of the same controller delete."""
    others = (one.operator for one in hypothesis.fitted if one is not fitted)
    return {
        atom.predicate.name
        for other in others
        if other.controller == fitted.operator.controller
        for atom in other.preconditions & other.delete_effects
    }


def _replacements(condition: Condition, arity: int) -> Signature:
    """Return the atoms that every transition makes true in place of an atom of the condition.

    For example, a flight with battery(drone, level) and lower(less, level) adds battery(drone, less). The
    next flight needs this atom, so an operator that does not add it could not explain both flights.
    """
    replaced = {name for name, _ in _deleted_atoms(condition)}
    added = set.intersection(*(named_atoms(datum, datum[0].added) for datum in condition.bound_data()))
    return frozenset(key for key in added if key[0] in replaced and max(key[1], default=-1) >= arity)


def _deleted_atoms(condition: Condition) -> Signature:
    """Return the atoms of a condition that every transition makes false."""
    deleted = (named_atoms(datum, datum[0].deleted) for datum in condition.bound_data())
    return condition.atoms.intersection(*deleted)


def _consumed(proposal: Proposal) -> Signature:
    """Return the atoms of the proposed conditions that every transition makes false."""
    return frozenset[AtomKey]().union(*map(_deleted_atoms, proposal.conditions))


def _added_predicates(transitions: Iterable[EncodedTransition]) -> set[str]:
    """Return the names of the predicates of the atoms that transitions add."""
    return {
        transition.table.predicate_of[atom].name
        for transition in transitions
        for atom in bits(transition.added)
    }
