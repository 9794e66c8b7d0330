"""Remember the accepted conditions, as evidence for similar conditions of other operators.

Conditions are similar if they have the same predicates. For example, opening a door requires that the robot
is in a room of the door. Then closing a door probably requires this too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from needful.operator_learning.condition_proposals import Pattern, Proposal, ProposalKey
from needful.operator_learning.partition import FittedOperator

# A condition accepted for one operator of a controller is evidence for similar conditions of the other
# operators of this controller, until this number of such conditions was accepted.
MAX_ACCEPTED = 3


class AcceptedConditions:
    """The accepted conditions, by their controllers and predicates.

    A condition may be accepted several times for one controller: for several operators, or again after hill
    climbing deleted the operator that required it.

    Attributes:
        divisions: for each accepted proposal to divide an operator into several ones with different
            conditions (see `Proposal`), the predicates in each of these conditions.
    """

    def __init__(self) -> None:
        self._counts: Counter[ProposalKey] = Counter()
        self.divisions: set[Pattern] = set()

    def add(self, proposal: Proposal) -> None:
        """Remember that the conditions of a proposal were accepted for its operator."""
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

        Conditions that the operator itself requires are left out. For example, it requires that a tap is in
        the room of the robot. This is no evidence that it requires a second tap.
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
        """Return the patterns of conditions accepted for two or more other controllers; see `Pattern`."""
        controller = fitted.operator.controller.name
        others = Counter(
            key.pattern for key in self._counts if key.conditions == 1 and key.controller != controller
        )
        return frozenset(pattern for pattern, count in others.items() if count > 1)

    def familiarity(self, proposal: Proposal) -> int:
        """Return for how many other controllers a condition with the same predicates was accepted.

        If the proposed condition has several predicates, conditions with these and further predicates count
        as well. If the proposal is to divide the operator by several conditions, the result is 0.
        """
        if len(proposal.conditions) > 1:
            return 0
        (names,) = proposal.pattern
        return len(
            {
                key.controller
                for key in self._counts
                for further in key.pattern
                if names == further or (len(names) > 1 and names < further)
            }
            - {proposal.key.controller}
        )


def with_further_bits(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals, with the most evidence of another operator of the controller as `further_bits`.

    For example, `put(book)` has an operator for shelves and one for tables. Both may require that the robot
    is beside the furniture, and neither has enough evidence for this alone.
    """
    most: dict[ProposalKey, dict[str, float]] = {}
    for one in proposals:
        by_operator = most.setdefault(one.key, {})
        text = one.fitted.operator.text
        by_operator[text] = max(one.bits, by_operator.get(text, 0.0))
    for one in proposals:
        others = (bits for text, bits in most[one.key].items() if text != one.fitted.operator.text)
        yield one._replace(further_bits=max(others, default=0.0))
