"""What hill climbing minimises: uncovered transitions first, then the number of operators.

Deviation E6, E7, docs/paper_to_code.md: the paper's J = (1 − coverage) + λ|Ω| is compared
lexicographically as (U, |Ω|), so that coverage is never traded for a smaller model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from needful.core.operators import Operator
from needful.operator_learning.backchaining import Backchain, backchain
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import Matcher


class Objective(NamedTuple):
    """J(Ω), compared in the order of its fields; smaller is better."""

    uncovered: int
    operators: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The backchains of all demonstrations."""

    chains: tuple[Backchain, ...]
    uncovered: int

    def necessary_after(self, transition: EncodedTransition) -> int | None:
        """Return α_i of a transition, or None if no chain reached it."""
        return self.chains[transition.demonstration].necessary.get(transition.step + 1)

    def failing(self) -> list[EncodedTransition]:
        """Return the transitions at which chains broke, the most urgent first.

        Shortest covered suffix first, then those with necessary adds, then by demonstration.
        """
        broken = [
            (
                len(chain.links),
                not self._needs_adds(chain.failing),
                chain.failing.demonstration,
                chain.failing,
            )
            for chain in self.chains
            if chain.failing is not None
        ]
        return [entry[-1] for entry in sorted(broken, key=lambda entry: entry[:-1])]

    def _needs_adds(self, transition: EncodedTransition) -> bool:
        return bool((self.necessary_after(transition) or 0) & ~transition.before)


def cover(
    operators: Iterable[Operator], demonstrations: Sequence[EncodedDemonstration], matcher: Matcher
) -> Coverage:
    """Backchain through every demonstration."""
    by_controller: dict[str, list[Operator]] = {}
    for operator in operators:
        by_controller.setdefault(operator.controller.name, []).append(operator)
    chains = tuple(backchain(by_controller, demo, matcher) for demo in demonstrations)
    uncovered = sum(
        len(demo.transitions) - len(chain.links) for demo, chain in zip(demonstrations, chains, strict=True)
    )
    return Coverage(chains, uncovered)
