"""Count the false claims of operators: atoms that they predict in the demonstrations and that do not hold.

Coverage asks whether some grounding of an operator explains each demonstrated step. A planner may choose
any grounding whose preconditions hold. So an operator can cover every demonstration and still be false: it
may predict that picking up any block clears any other block. For a transition τ, the false claims C_τ(Ω)
are the atoms that some applicable grounding predicts although they do not hold afterwards. The controller
arguments of the grounding must be the objects of the executed action. V(Ω) is the sum of |C_τ(Ω)| over all
transitions.

V is only compared between sets of operators, and never required to be 0: if a controller chooses objects by
its continuous parameters, the true operators make false claims too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey
from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex
from needful.operator_learning.matching import Matcher

# The maximum number of groundings of one operator that are examined per transition.
MAX_GROUNDINGS = 400


class FalseClaims(NamedTuple):
    """The false claims about one transition: atoms that are predicted to hold after it, but do not hold.

    `known` is a mask of those atoms that hold in some state of the demonstration. `unknown` contains the
    keys of the other atoms, which have no number because they hold in no state.
    """

    known: int = 0
    unknown: frozenset[AtomKey] = frozenset()

    def __or__(self, other: FalseClaims) -> FalseClaims:
        return FalseClaims(self.known | other.known, self.unknown | other.unknown)

    def count(self) -> int:  # type: ignore[override]
        """Return the number of atoms."""
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

    def by_transition(self, operators: Iterable[Operator]) -> Mapping[int, FalseClaims]:
        """Return a map from the number of each transition to the false claims of the operators there."""
        found: dict[int, FalseClaims] = {}
        for operator in operators:
            for number, claims in self.of_operator(operator).items():
                found[number] = found.get(number, NO_CLAIMS) | claims
        return found

    def of_operator(self, operator: Operator) -> Mapping[int, FalseClaims]:
        """Return a map from the numbers of transitions to the false claims of one operator there."""
        known = self._claims.get(operator.text)
        if known is None:
            transitions = self._transitions.by_controller.get(operator.controller.name, ())
            pairs = ((one.number, self._false_claims(operator, one)) for one in transitions)
            known = {number: claims for number, claims in pairs if claims is not NO_CLAIMS}
            self._claims[operator.text] = known
        return known

    def _false_claims(self, operator: Operator, transition: EncodedTransition) -> FalseClaims:
        groundings = self._matcher.applicable(operator, transition)
        known, unknown = 0, frozenset[AtomKey]()
        for objects in islice(groundings, MAX_GROUNDINGS):
            known |= self._matcher.predict(operator, transition, objects) & ~transition.after
            unknown |= self._matcher.unknown_adds(operator, transition, objects)
        return FalseClaims(known, unknown) if known or unknown else NO_CLAIMS
