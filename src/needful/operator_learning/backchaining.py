"""Explain a demonstration from its goal backwards (Algorithm 1 of the paper).

α_i is `necessary[i]`: the atoms that must hold after step i for the rest of the chain to work. A transition
is reached if the α after it is known: all covered transitions are, and the one at which the chain broke.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import ChainLink, Matcher
from needful.operator_learning.operator_diff import OperatorDiff


@dataclass(frozen=True, eq=False)
class Backchain:
    """The consistent suffix of a demonstration.

    `links` are the matches of the covered transitions, in their order; the last link belongs to the last
    transition.
    """

    demonstration: EncodedDemonstration
    links: tuple[ChainLink, ...] = ()

    def __repr__(self) -> str:
        counts = f"covered={len(self.links)}, uncovered={self.uncovered}"
        return f"Backchain(demonstration={self.demonstration.index}, {counts})"

    @property
    def uncovered(self) -> int:
        """The number of transitions before the suffix."""
        return len(self.demonstration.transitions) - len(self.links)

    @property
    def failing(self) -> EncodedTransition | None:
        """The transition at which the chain broke, or None if all are covered."""
        return self.demonstration.transitions[self.uncovered - 1] if self.uncovered else None

    @cached_property
    def necessary(self) -> tuple[int | None, ...]:
        """α_i for each state i; None for states that the chain did not reach."""
        reached = (*(link.necessary for link in self.links), self.demonstration.goal)
        return (None,) * self.uncovered + reached

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """For each transition the atoms α_i \\ s_{i-1} that it must add; empty if α_i is unknown."""
        pairs = zip(self.demonstration.transitions, self.necessary[1:], strict=True)
        return tuple((after or 0) & ~transition.before for transition, after in pairs)

    @cached_property
    def operator_texts(self) -> frozenset[str]:
        """The texts of the chain's operators."""
        return frozenset(link.match.text for link in self.links)

    @cached_property
    def controllers(self) -> frozenset[str]:
        """The names of the controllers of the reached transitions."""
        reached = self.demonstration.transitions[max(self.uncovered - 1, 0) :]
        return frozenset(transition.controller.name for transition in reached)


def backchain(previous: Backchain, diff: OperatorDiff[Operator], matcher: Matcher) -> Backchain:
    """Return the chain of the best consistent operators, built backwards until no operator fits.

    `previous` is the chain under an earlier set of operators. Its links are reused where the necessary
    atoms are the same, and `previous` itself is returned if the chain does not change.
    """
    unchanged = previous.operator_texts <= diff.unchanged_texts
    if unchanged and previous.controllers.isdisjoint(diff.new_by_controller):
        return previous
    transitions, uncovered = previous.demonstration.transitions, previous.uncovered
    necessary = previous.demonstration.goal
    links: list[ChainLink] = []
    for step in range(len(transitions) - 1, -1, -1):
        transition = transitions[step]
        best = previous.links[step - uncovered] if step >= uncovered else None
        if necessary == previous.necessary[step + 1] and (
            best is None or best.match.text in diff.unchanged_texts
        ):
            competitors = diff.new_by_controller.get(transition.controller.name, ())
        else:
            best, competitors = None, diff.by_controller.get(transition.controller.name, ())
        for operator in competitors:
            link = matcher.best_consistent_link(operator, transition, necessary)
            if link is not None and (best is None or link < best):
                best = link
        if best is None:
            break
        necessary = best.necessary
        links.append(best)
    links.reverse()
    found = tuple(links)
    return previous if found == previous.links else Backchain(previous.demonstration, found)
