"""Remember the accepted conditions, as evidence for similar conditions of other operators.

Conditions are similar if they have the same predicates. For example, opening a door requires that the robot
is in a room of the door. Then closing a door probably requires this too.
"""

from __future__ import annotations

from collections import Counter

from needful.operator_learning.condition_proposals import Pattern, Proposal, ProposalKey
from needful.operator_learning.partition import FittedOperator

# If similar conditions were accepted this number of times for a controller, they are no longer evidence for
# a further one.
MAX_ACCEPTED = 3


class AcceptedConditions:
    """The accepted conditions, by their controllers and predicates.

    A condition may be accepted several times for one controller: for several operators, or again after hill
    climbing deleted the operator that required it.

    Attributes:
        divisions: the predicates of the accepted divisions into cases.
    """

    def __init__(self) -> None:
        self._counts: Counter[ProposalKey] = Counter()
        self.divisions: set[Pattern] = set()

    def add(self, proposal: Proposal) -> None:
        """Remember that a proposal was accepted."""
        self._counts[proposal.key] += 1
        if len(proposal.conditions) > 1:
            self.divisions.add(proposal.pattern)

    @property
    def predicates(self) -> frozenset[str]:
        """The names of the predicates of all accepted conditions."""
        return frozenset[str]().union(*(names for key in self._counts for names in key.pattern))

    def times(self, proposal: Proposal) -> int:
        """Return how often similar conditions were accepted for the controller of a proposal."""
        return self._counts[proposal.key]

    def of_controller(self, fitted: FittedOperator) -> frozenset[Pattern]:
        """Return the patterns (names of predicates) of conditions accepted for an operator's controller.

        Conditions that the operator itself requires are left out: they are no evidence that a second object
        must satisfy the same condition.
        """
        own = {atom.predicate.name for atom in fitted.candidate.conditions}
        return frozenset(
            key.pattern
            for key in self._counts
            if key.controller == fitted.operator.controller.name
            and key.conditions == 1
            and not all(names <= own for names in key.pattern)
        )

    def of_several_others(self, fitted: FittedOperator) -> frozenset[Pattern]:
        """Return the patterns of conditions accepted for two or more controllers except the operator's."""
        controller = fitted.operator.controller.name
        others = Counter(
            key.pattern for key in self._counts if key.conditions == 1 and key.controller != controller
        )
        return frozenset(pattern for pattern, count in others.items() if count > 1)

    def familiarity(self, proposal: Proposal) -> int:
        """Return for how many other controllers a condition with the same predicates was accepted.

        If there is none, and the proposed condition relates several parameters, return 1 if a condition
        with these and further predicates was accepted for another controller.
        """
        if len(proposal.conditions) > 1:
            return 0
        others = [
            key.pattern
            for key in self._counts
            if key.conditions == 1 and key.controller != proposal.key.controller
        ]
        equal = others.count(proposal.pattern)
        arity = len(proposal.fitted.operator.parameters)
        related = {index for _, indices in proposal.atoms for index in indices if 0 <= index < arity}
        if equal or len(related) < 2:
            return equal
        return int(any(min(proposal.pattern) <= min(pattern) for pattern in others))
