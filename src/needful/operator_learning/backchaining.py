"""Explain a demonstration from its goal backwards (Algorithm 1 of the paper).

The result is a chain of grounded operators (links), built from the last transition backwards. Each link
explains one transition, which is then covered. The chain ends at the first transition that no operator
explains. This transition and all earlier ones stay uncovered.

The paper's α_i is `necessary[i]`: the atoms that must hold after step i, so that the later steps of the
chain reach the goal. A transition is reached if the atoms that must hold after it are known. The reached
transitions are all covered transitions, and the one at which the chain ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import SKIPPED, ChainLink, Matcher
from needful.operator_learning.operator_diff import OperatorDiff


@dataclass(frozen=True, eq=False)
class Backchain:
    """The chain of one demonstration: the grounded operators that explain its last transitions.

    `links` has one grounded operator per covered transition, in the order of the transitions. The last link
    belongs to the last transition.
    """

    demonstration: EncodedDemonstration
    links: tuple[ChainLink, ...] = ()

    def __repr__(self) -> str:
        counts = f"covered={len(self.links)}, uncovered={self.uncovered}"
        return f"Backchain(demonstration={self.demonstration.index}, {counts})"

    @cached_property
    def uncovered(self) -> int:
        """The number of uncovered transitions; they are the first ones of the demonstration."""
        return len(self.demonstration.transitions) - len(self.links)

    @property
    def failing(self) -> EncodedTransition | None:
        """The last uncovered transition, at which the chain broke; None if all are covered."""
        return self.demonstration.transitions[self.uncovered - 1] if self.uncovered else None

    @cached_property
    def necessary(self) -> tuple[int | None, ...]:
        """For each state i the atoms α_i that must hold, as a bit mask; None if it is not reached."""
        reached = (*(link.necessary for link in self.links), self.demonstration.goal)
        return (None,) * self.uncovered + reached

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """For each transition the atoms that it must add, as a bit mask; 0 if the chain did not reach it.

        These atoms must hold after transition i but do not hold before it: α_i \\ s_{i-1}.
        """
        pairs = zip(self.demonstration.transitions, self.necessary[1:], strict=True)
        return tuple((after or 0) & ~transition.before for transition, after in pairs)

    @cached_property
    def needed_or_unknown(self) -> tuple[int | None, ...]:
        """The same as `needed`, but None for the transitions that the chain did not reach."""
        pairs = zip(self.needed, self.necessary[1:], strict=True)
        return tuple(None if after is None else needed for needed, after in pairs)

    @cached_property
    def operator_texts(self) -> frozenset[str]:
        """The texts of the operators in the chain; a text identifies an operator."""
        return frozenset(link.match.text for link in self.links if link.match is not SKIPPED)

    @cached_property
    def controllers(self) -> frozenset[str]:
        """The names of the controllers of the reached transitions."""
        reached = self.demonstration.transitions[max(self.uncovered - 1, 0) :]
        return frozenset(transition.controller.name for transition in reached)


def backchain(
    previous: Backchain, diff: OperatorDiff[Operator], matcher: Matcher, skip_purposeless: bool = False
) -> Backchain:
    """Explain the transitions of a demonstration from the last one backwards; return the chain.

    Each link of the chain is the best grounded operator for its transition. Only operators that predict all
    necessary atoms, and nothing false, are considered.

    `previous` is the chain of the same demonstration for an earlier set of operators, and `diff` compares
    that set with the current one. If the operator of a previous link still exists, and the same atoms are
    necessary after its transition, the link is compared only with new operators. If the chain does not
    change, `previous` is returned.

    A skippable transition that adds no atom is skipped if no operator adds something necessary there. With
    `skip_purposeless`, a skippable transition is also skipped if it adds atoms, but no necessary ones.
    `previous` must have been computed with the same value of `skip_purposeless`.
    """
    unchanged = previous.operator_texts <= diff.unchanged_texts
    if previous.links and unchanged and previous.controllers.isdisjoint(diff.new_by_controller):
        return previous
    transitions, uncovered = previous.demonstration.transitions, previous.uncovered
    necessary = previous.demonstration.goal
    links: list[ChainLink] = []
    for step in range(len(transitions) - 1, -1, -1):
        transition = transitions[step]
        if transition.ignored:
            necessary &= ~transition.added
            links.append(ChainLink(SKIPPED, necessary))
            continue
        skippable = (
            transition.skippable
            and (skip_purposeless or not transition.added)
            and not necessary & ~transition.before
        )
        best = previous.links[step - uncovered] if step >= uncovered else None
        if best is not None and best.match is SKIPPED:
            best = None
        if necessary == previous.necessary[step + 1] and (
            best is None or best.match.text in diff.unchanged_texts
        ):
            competitors = diff.new_by_controller.get(transition.controller.name, ())
        else:
            best, competitors = None, diff.by_controller.get(transition.controller.name, ())
        for operator in competitors:
            link = matcher.best_consistent_link(operator, transition, necessary, skippable)
            if link is not None and (best is None or link < best):
                best = link
        if best is None and skippable:
            best = ChainLink(SKIPPED, necessary)
        if best is None:
            break
        necessary = best.necessary
        links.append(best)
    links.reverse()
    found = tuple(links)
    return previous if found == previous.links else Backchain(previous.demonstration, found)
