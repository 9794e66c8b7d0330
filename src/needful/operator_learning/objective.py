"""The objective of hill climbing: fewest uncovered transitions first, then fewest operators.

Deviations E6 and E7, docs/paper_to_code.md: the paper's J = (1 − coverage) + λ|Ω| is compared
lexicographically as (U, |Ω|), the numbers of uncovered transitions and of operators. Coverage is therefore
never traded for a smaller model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from needful.core.operators import Operator
from needful.operator_learning.backchaining import Backchain, backchain
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import Matcher
from needful.operator_learning.operator_diff import OperatorDiff


class Objective(NamedTuple):
    """The objective J(Ω) of a set of operators; fields are compared in order, and smaller is better."""

    uncovered: int
    operators: int


@dataclass(frozen=True, eq=False)
class Coverage:
    """A set of operators, and one chain per demonstration.

    A chain is the sequence of grounded operators by which backchaining explains a demonstration.
    Backchaining starts at the goal, goes backwards and stops at the first transition that no operator
    explains.
    """

    operators: tuple[Operator, ...]
    chains: tuple[Backchain, ...]

    def __repr__(self) -> str:
        counts = f"operators={len(self.operators)}, demonstrations={len(self.chains)}"
        return f"Coverage({counts}, uncovered={self.uncovered})"

    @classmethod
    def empty(cls, demonstrations: Iterable[EncodedDemonstration]) -> Coverage:
        """Return the coverage of the empty set of operators."""
        return cls((), tuple(map(Backchain, demonstrations)))

    @cached_property
    def uncovered(self) -> int:
        """U, the number of transitions that backchaining does not explain."""
        return sum(chain.uncovered for chain in self.chains)

    def necessary_after(self, transition: EncodedTransition) -> int | None:
        """Return α_i, the atoms that must hold after a transition.

        Return None if they are unknown, because backchaining stopped at a later transition.
        """
        return self.chains[transition.demonstration].necessary[transition.step + 1]

    def uses(self, operator: Operator, objects: tuple[int, ...], transition: EncodedTransition) -> bool:
        """Return whether backchaining explains the transition by this operator on these objects."""
        chain = self.chains[transition.demonstration]
        if transition.step < chain.uncovered:
            return False
        match = chain.links[transition.step - chain.uncovered].match
        return match.objects == objects and match.text == operator.text

    def failing(self) -> list[EncodedTransition]:
        """Return the transitions at which backchaining stopped, in the order in which to repair them.

        Demonstrations with the fewest covered transitions come first. Among equals, transitions that must
        add necessary atoms come first, then the order of the demonstrations decides.
        """
        broken = [
            (len(chain.links), not chain.needed[chain.failing.step], chain.failing.number, chain.failing)
            for chain in self.chains
            if chain.failing is not None
        ]
        return [entry[-1] for entry in sorted(broken, key=lambda entry: entry[:-1])]


def cover(
    operators: Iterable[Operator], previous: Coverage, matcher: Matcher, skip_purposeless: bool = False
) -> Coverage:
    """Backchain through every demonstration with the operators, and return their coverage.

    `previous` is the coverage of an earlier set of operators. Unchanged chains are copied from it. This
    saves time, but does not affect the result. `backchain` describes `skip_purposeless`.
    """
    operators = tuple(operators)
    diff = OperatorDiff.between(previous.operators, operators)
    chains = (backchain(chain, diff, matcher, skip_purposeless) for chain in previous.chains)
    return Coverage(operators, tuple(chains))
