"""The data of one learning run, and the two questions that every step asks of it.

The operators under consideration, stripped to what partitioning looks at.

Hill climbing searches over sets of stripped operators ⟨args, K, E+, ∅, ∅, C⟩; preconditions and
deletes are always induced afresh from the data that each one explains. Quantified deletes that were
widened in the end stay: they are forgotten in addition to what the data show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.operator_learning.candidates import Candidate
from needful.operator_learning.delete_patterns import Generalise
from needful.operator_learning.encoding import (
    EncodedDemonstration,
    TransitionIndex,
    encode_demonstrations,
)
from needful.operator_learning.induction import Inducer
from needful.operator_learning.matching import Matcher
from needful.operator_learning.objective import Coverage, Objective, cover
from needful.operator_learning.partition import FittedOperator, Partition, partition


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A set of operators Ω, fitted to data, with the coverage it reaches."""

    partition: Partition
    coverage: Coverage

    @property
    def fitted(self) -> tuple[FittedOperator, ...]:
        """The operators with their data."""
        return self.partition.fitted

    @property
    def objective(self) -> Objective:
        """J(Ω)."""
        return Objective(self.coverage.uncovered, len(self.fitted))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The operators, stripped."""
        return tuple(fitted.candidate for fitted in self.fitted)

    @property
    def texts(self) -> frozenset[str]:
        """The operators in writing: equal texts mean equal sets."""
        return frozenset(fitted.operator.text for fitted in self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class LearningProblem:
    """Encoded demonstrations with the memories of matching and induction."""

    demonstrations: tuple[EncodedDemonstration, ...]
    transitions: TransitionIndex
    matcher: Matcher
    inducer: Inducer
    deadline: Deadline = NO_DEADLINE

    @classmethod
    def of(
        cls,
        demonstrations: Sequence[Demonstration],
        generalise: Generalise,
        deadline: Deadline = NO_DEADLINE,
    ) -> LearningProblem:
        """Encode demonstrations for learning with one kind of delete patterns."""
        encoded = encode_demonstrations(demonstrations)
        return cls(encoded, TransitionIndex.of(encoded), Matcher(deadline), Inducer(generalise), deadline)

    @property
    def size(self) -> int:
        """N, the number of transitions."""
        return len(self.transitions.numbered)

    def nothing(self) -> Hypothesis:
        """Return the empty set of operators."""
        return Hypothesis(Partition.empty(self.transitions), Coverage.empty(self.demonstrations))

    def fit(self, candidates: Iterable[Candidate], base: Hypothesis) -> Hypothesis:
        """RECOMPUTE, then COVERAGE: partition by what `base` found necessary, then cover anew.

        Only what differs from `base` is computed; the result is the same as from scratch.
        """
        self.deadline.check()
        needed = tuple(chain.from_iterable(one.needed for one in base.coverage.chains))
        divided = partition(candidates, needed, base.partition, self.matcher, self.inducer)
        operators = (one.operator for one in divided.fitted)
        return Hypothesis(divided, cover(operators, base.coverage, self.matcher))
