"""Count and describe the false claims of operators: atoms that they predict and that do not hold.

A demonstrated step is covered if some grounding of an operator explains it. But a planner may choose any
grounding whose preconditions hold. So an operator can cover every demonstration and still be wrong. For
example, it may predict that picking up any block clears any other block. For a transition τ and a set of
operators Ω, the false claims C_τ(Ω) are the atoms that some applicable grounding predicts, but that do not
hold after τ. Only groundings that bind the controller arguments to the objects of the executed action are
considered. V(Ω) is the sum of |C_τ(Ω)| over all transitions.

The learner compares V between sets of operators, and rejects most changes that increase it. It never
requires that V is 0. If the continuous parameters of a controller determine which objects it affects, even
correct operators make false claims, because abstract operators do not know these parameters.

`Validity` counts false claims as ground atoms, which is enough for learning. For users,
`report_false_claims` finds the most frequent false claim of each operator. There are two kinds of false
claims: an add effect that does not hold after a transition, and an atom that became false although the
operator does not delete it.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import or_
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, lifted_key
from needful.core.atoms import GroundAtom, LiftedAtom
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.operator_learning.encoding import (
    EncodedDemonstration,
    EncodedTransition,
    TransitionId,
    TransitionIndex,
)
from needful.operator_learning.matching import Matcher

# The maximum number of groundings of one operator that are examined in total. They are divided evenly among
# the transitions of the operator's controller, but each transition may have at least `MIN_GROUNDINGS`.
MAX_GROUNDINGS = 8_000
MIN_GROUNDINGS = 20


class FalseClaims(NamedTuple):
    """The false claims about one transition: atoms that are predicted to hold after it, but do not hold.

    `known` is a bit mask of the numbered atoms: those that hold in some state of the demonstration. The
    other atoms have no number, so `unknown` contains their predicates' names and their objects (`AtomKey`).
    """

    known: int = 0
    unknown: frozenset[AtomKey] = frozenset()

    def __or__(self, other: FalseClaims) -> FalseClaims:
        return FalseClaims(self.known | other.known, self.unknown | other.unknown)

    def count(self) -> int:  # type: ignore[override]
        """Return the number of false claims."""
        return self.known.bit_count() + len(self.unknown)


NO_CLAIMS = FalseClaims()


class Validity:
    """Counts the false claims of operators (predicted atoms that do not hold), and caches the results."""

    def __init__(self, transitions: TransitionIndex, matcher: Matcher) -> None:
        self._transitions = transitions
        self._matcher = matcher
        self._claims: dict[str, Mapping[int, FalseClaims]] = {}

    def count(self, operators: Iterable[Operator]) -> int:
        """Return V(Ω), the number of false claims of a set of operators."""
        return sum(claims.count() for claims in self.by_transition(operators).values())

    def by_transition(
        self, operators: Iterable[Operator], numbers: Container[int] | None = None
    ) -> Mapping[int, FalseClaims]:
        """Return a map from the numbers of transitions to the false claims of the operators about them.

        False claims are atoms that the operators predict, but that do not hold after the transition.
        Transitions without false claims are left out. If `numbers` is given, only the transitions with
        these numbers are examined.
        """
        found: dict[int, FalseClaims] = {}
        for operator in operators:
            claims = self.of_operator(operator) if numbers is None else self._at(operator, numbers)
            for number, claim in claims.items():
                found[number] = found.get(number, NO_CLAIMS) | claim
        return found

    def of_operator(self, operator: Operator) -> Mapping[int, FalseClaims]:
        """Return a map from the numbers of transitions to the false claims of one operator about them."""
        known = self._claims.get(operator.text)
        if known is None:
            known = self._claims[operator.text] = self._at(operator)
        return known

    def _at(self, operator: Operator, numbers: Container[int] | None = None) -> dict[int, FalseClaims]:
        transitions = self._transitions.by_controller.get(operator.controller.name, ())
        limit = _max_groundings(transitions)
        pairs = (
            (one.number, self._false_claims(operator, one, limit))
            for one in transitions
            if numbers is None or one.number in numbers
        )
        return {number: claims for number, claims in pairs if claims is not NO_CLAIMS}

    def _false_claims(self, operator: Operator, transition: EncodedTransition, limit: int) -> FalseClaims:
        groundings = self._matcher.applicable(operator, transition)
        known, unknown = 0, frozenset[AtomKey]()
        for objects in islice(groundings, limit):
            numbered, others = self._matcher.false_predictions(operator, transition, objects)
            known |= numbered
            unknown |= others
        return FalseClaims(known, unknown) if known or unknown else NO_CLAIMS


@dataclass(frozen=True, slots=True)
class LiftedClaim:
    """The most frequent false claim of an operator: an atom that it predicts but that does not hold.

    Attributes:
        operator: the operator that makes the claim.
        atom: the add effect that did not hold, or a pattern (an atom with wildcards) of atoms that became
            false although the operator does not delete them.
        transitions: the transitions in which the claim is false, in order.
        applicable: the number of transitions in which the operator is applicable, with its controller
            arguments bound to the objects of the executed action.
    """

    operator: Operator
    atom: LiftedAtom | DeletePattern
    transitions: tuple[TransitionId, ...]
    applicable: int

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The names of the variables in the false add effect that are not arguments of the controller.

        Empty if the claim is not about an add effect.
        """
        if isinstance(self.atom, DeletePattern):
            return ()
        named = self.operator.controller_arguments
        return tuple(one.name for one in dict.fromkeys(self.atom.variables) if one not in named)


@dataclass(frozen=True, slots=True)
class FalseClaimReport:
    """The false claims of operators: atoms that they predict in demonstrations, but that do not hold.

    Attributes:
        count: V(Ω), the number of false claims (as ground atoms), summed over the transitions.
        transitions: the number of transitions with at least one false claim.
        claims: the most frequent false claim of each operator that makes one, in the order of operators.
    """

    count: int = 0
    transitions: int = 0
    claims: tuple[LiftedClaim, ...] = ()


def report_false_claims(
    operators: Sequence[Operator], demonstrations: Iterable[EncodedDemonstration], matcher: Matcher
) -> FalseClaimReport:
    """Count the false claims of operators in demonstrations; find each operator's most frequent claim."""
    index = TransitionIndex.of(demonstrations)
    validity = Validity(index, matcher)
    by_transition = validity.by_transition(operators)
    claims = (
        _most_frequent(operator, index.by_controller[operator.controller.name], false_in, matcher)
        for operator in operators
        if (false_in := validity.of_operator(operator))
    )
    return FalseClaimReport(
        sum(one.count() for one in by_transition.values()), len(by_transition), tuple(claims)
    )


def lift_pattern(atom: GroundAtom, lifting: dict[Object, Variable]) -> DeletePattern:
    """Return an atom with variables for the objects in `lifting`, and wildcards for the other objects.

    For example, On(a, b) becomes On(?x, *:block) if `lifting` is {a: ?x}. If the type of a variable is
    too wide for the predicate, a wildcard is used instead.
    """
    arguments = []
    for obj, kind in zip(atom.objects, atom.predicate.types, strict=True):
        variable = lifting.get(obj)
        fits = variable is not None and variable.type.is_subtype_of(kind)
        arguments.append(variable if variable is not None and fits else Wildcard(kind))
    return DeletePattern(atom.predicate, tuple(arguments))


def specificity(pattern: DeletePattern) -> tuple[int, str]:
    """Return a sort key for patterns: the number of wildcards (fewest first), then the text."""
    return (sum(isinstance(one, Wildcard) for one in pattern.arguments), str(pattern))


def _max_groundings(transitions: Sequence[EncodedTransition]) -> int:
    """Return how many groundings of an operator are examined in each transition of its controller."""
    return max(MIN_GROUNDINGS, MAX_GROUNDINGS // max(1, len(transitions)))


def _most_frequent(
    operator: Operator, transitions: Sequence[EncodedTransition], false_in: Container[int], matcher: Matcher
) -> LiftedClaim:
    """Return the most frequent false claim of an operator: a prediction that does not hold.

    `transitions` contains all transitions of the operator's controller, and `false_in` the numbers of the
    transitions in which the operator makes a false claim.
    """
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    adds = [(atom, lifted_key(atom, index_of)) for atom in sorted(operator.add_effects)]
    found: dict[LiftedAtom | DeletePattern, list[TransitionId]] = {}
    applicable = 0
    limit = _max_groundings(transitions)
    for transition in transitions:
        groundings = matcher.applicable(operator, transition)
        if transition.number not in false_in:
            applicable += any(True for _ in groundings)
            continue
        applicable += 1
        atoms: set[LiftedAtom | DeletePattern] = set()
        for objects in islice(groundings, limit):
            grounded = [(atom, transition.table.ground((key,), objects)) for atom, key in adds]
            atoms.update(atom for atom, mask in grounded if not mask & transition.after)
            claimed = transition.after | functools.reduce(or_, (mask for _, mask in grounded), 0)
            wrong = matcher.predict(operator, transition, objects) & ~claimed
            atoms.update(_lifted(operator, transition, objects, wrong))
        for atom in atoms:
            found.setdefault(atom, []).append(transition.transition_id)

    def rank(atom: LiftedAtom | DeletePattern) -> tuple[int, bool, int, str]:
        if isinstance(atom, LiftedAtom):
            return (-len(found[atom]), False, 0, str(atom))
        return (-len(found[atom]), True, *specificity(atom))

    atom = min(found, key=rank)
    return LiftedClaim(operator, atom, tuple(found[atom]), applicable)


def _lifted(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], atoms: int
) -> Iterator[DeletePattern]:
    """Yield the ground atoms of a bit mask, lifted to the operator's parameters (see `lift_pattern`)."""
    if atoms:
        table = transition.table
        lifting = {table.objects[n]: v for n, v in zip(objects, operator.parameters, strict=True)}
        for atom in table.decode(atoms):
            yield lift_pattern(atom, lifting)
