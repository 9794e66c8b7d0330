"""Sets of operators as hypotheses of learning, and the objective by which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from needful.core.objects import Abbreviated
from needful.operator_learning.backchaining import Coverage
from needful.operator_learning.candidates import Candidate
from needful.operator_learning.partition import FittedOperator, Partition


class Objective(NamedTuple):
    """The objective J(Ω) of a set of operators; smaller is better.

    The numbers of uncovered transitions (those that backchaining does not explain) are compared first. Only
    if they are equal, the numbers of operators decide. So coverage is never traded for a smaller model,
    unlike in the paper's J = (1 − coverage) + λ|Ω|; see E6 and E7 in docs/paper_to_code.md.
    """

    uncovered: int
    operators: int


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis(Abbreviated):
    """A set of operators Ω, and which transitions of the demonstrations it covers (explains).

    `partition` assigns transitions to operators. Each operator is induced from its transitions. `coverage`
    contains the operators by which backchaining from the goal explains each demonstration.
    """

    partition: Partition
    coverage: Coverage

    @property
    def fitted(self) -> tuple[FittedOperator, ...]:
        """The operators, each with the transitions it explains."""
        return self.partition.fitted

    @property
    def objective(self) -> Objective:
        """The objective J(Ω): fewest uncovered transitions first, then fewest operators."""
        return Objective(self.coverage.uncovered, len(self.fitted))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The operators before fitting, without induced preconditions and deletes."""
        return tuple(fitted.candidate for fitted in self.fitted)

    @property
    def operator_texts(self) -> frozenset[str]:
        """The texts of the operators; hypotheses with equal texts have equal operators."""
        return frozenset(fitted.operator.text for fitted in self.fitted)
