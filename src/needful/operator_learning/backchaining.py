"""Explain a demonstration from its goal backwards (Algorithm 1 of the paper).

α_i is `necessary[i]`: the atoms that must hold after step i for the rest of the chain to work. A
transition is reached if the α after it is known: all covered ones and the one at which the chain broke.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import Match, Matcher


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One covered transition: the operator that explains it and the objects it is grounded on."""

    operator: Operator
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Backchain:
    """The consistent suffix of a demonstration.

    Attributes:
        links: the operators of the covered transitions, the last one being the last transition's.
        necessary: α_i by number i of the state, for the states that the chain reached.
        failing: the transition at which the chain broke, or None if all are covered.
    """

    links: tuple[ChainLink, ...]
    necessary: Mapping[int, int]
    failing: EncodedTransition | None


def backchain(
    operators: Mapping[str, Sequence[Operator]], demonstration: EncodedDemonstration, matcher: Matcher
) -> Backchain:
    """Chain the best consistent operators backwards until none fits.

    `operators` are given by the name of their controller.
    """
    needed_after = demonstration.goal
    necessary = {len(demonstration.transitions): needed_after}
    links: list[ChainLink] = []
    for transition in reversed(demonstration.transitions):
        best: tuple[Match, Operator] | None = None
        for operator in operators.get(transition.controller.name, ()):
            match = matcher.consistent(operator, transition, needed_after)
            if match is not None and (best is None or match < best[0]):
                best = (match, operator)
        if best is None:
            return Backchain(tuple(reversed(links)), necessary, transition)
        match, operator = best
        needed_after = matcher.regress(operator, transition, match.objects, needed_after)
        necessary[transition.step] = needed_after
        links.append(ChainLink(operator, match.objects))
    return Backchain(tuple(reversed(links)), necessary, None)
