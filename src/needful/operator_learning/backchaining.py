"""Explain a demonstration from its goal backwards (Algorithm 1 of the paper).

α_i is `necessary[i]`: the atoms that must hold after step i for the rest of the chain to work. A
transition is reached if the α after it is known: all covered ones and the one at which the chain broke.
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

    `links` are the matches of the covered transitions, the last one being the last transition's.
    """

    demonstration: EncodedDemonstration
    links: tuple[ChainLink, ...] = ()

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
        """α_i by number i of the state, None for the states that the chain did not reach."""
        reached = (*(link.necessary for link in self.links), self.demonstration.goal)
        return (None,) * self.uncovered + reached

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """For each transition α_i \\ s_{i-1}, which it must add; nothing where α_i is unknown."""
        pairs = zip(self.demonstration.transitions, self.necessary[1:], strict=True)
        return tuple((after or 0) & ~transition.before for transition, after in pairs)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The operators of the chain in writing."""
        return frozenset(link.match.text for link in self.links)

    @cached_property
    def controllers(self) -> frozenset[str]:
        """The names of the controllers of the transitions that were reached."""
        reached = self.demonstration.transitions[max(self.uncovered - 1, 0) :]
        return frozenset(transition.controller.name for transition in reached)


def backchain(known: Backchain, turnover: OperatorDiff[Operator], matcher: Matcher) -> Backchain:
    """Chain the best consistent operators backwards until none fits.

    `known` is the chain of an earlier set of operators. Its links are reused where the same atoms are
    necessary, and `known` itself is returned if nothing changes.
    """
    if known.texts <= turnover.unchanged_texts and known.controllers.isdisjoint(turnover.new_by_controller):
        return known
    transitions, uncovered = known.demonstration.transitions, known.uncovered
    necessary = known.demonstration.goal
    links: list[ChainLink] = []
    for step in range(len(transitions) - 1, -1, -1):
        transition = transitions[step]
        best = known.links[step - uncovered] if step >= uncovered else None
        if necessary == known.necessary[step + 1] and (
            best is None or best.match.text in turnover.unchanged_texts
        ):
            challengers = turnover.new_by_controller.get(transition.controller.name, ())
        else:
            best, challengers = None, turnover.by_controller.get(transition.controller.name, ())
        for operator in challengers:
            link = matcher.consistent(operator, transition, necessary)
            if link is not None and (best is None or link < best):
                best = link
        if best is None:
            break
        necessary = best.necessary
        links.append(best)
    links.reverse()
    found = tuple(links)
    return known if found == known.links else Backchain(known.demonstration, found)
