"""The data of one learning run, and the operation that all steps share: fitting candidates to the data."""

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
    """A set of operators Ω, each fitted to its transitions, and how far it explains the demonstrations."""

    partition: Partition
    coverage: Coverage

    def __repr__(self) -> str:
        return f"Hypothesis(operators={len(self.fitted)}, uncovered={self.coverage.uncovered})"

    @property
    def fitted(self) -> tuple[FittedOperator, ...]:
        """The operators with their data."""
        return self.partition.fitted

    @property
    def objective(self) -> Objective:
        """The objective J(Ω): the number of uncovered transitions, then the number of operators."""
        return Objective(self.coverage.uncovered, len(self.fitted))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The stripped operators."""
        return tuple(fitted.candidate for fitted in self.fitted)

    @property
    def operator_texts(self) -> frozenset[str]:
        """The texts of the operators: equal texts mean equal sets."""
        return frozenset(fitted.operator.text for fitted in self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class LearningProblem:
    """Encoded demonstrations, with the matcher and the inducer, which cache their results."""

    demonstrations: tuple[EncodedDemonstration, ...]
    transitions: TransitionIndex
    matcher: Matcher
    inducer: Inducer
    deadline: Deadline = NO_DEADLINE

    def __repr__(self) -> str:
        return f"LearningProblem(demonstrations={len(self.demonstrations)}, transitions={self.size})"

    @classmethod
    def of(
        cls,
        demonstrations: Sequence[Demonstration],
        generalise: Generalise,
        deadline: Deadline = NO_DEADLINE,
    ) -> LearningProblem:
        """Encode demonstrations; `generalise` turns a mispredicted atom into a quantified delete."""
        encoded = encode_demonstrations(demonstrations)
        return cls(encoded, TransitionIndex.of(encoded), Matcher(deadline), Inducer(generalise), deadline)

    @property
    def size(self) -> int:
        """N, the number of transitions."""
        return len(self.transitions.by_number)

    def empty_hypothesis(self) -> Hypothesis:
        """Return the empty set of operators, where hill climbing starts."""
        return Hypothesis(Partition.empty(self.transitions), Coverage.empty(self.demonstrations))

    def fit(self, candidates: Iterable[Candidate], base: Hypothesis) -> Hypothesis:
        """Return the hypothesis that consists of the given candidates (RECOMPUTE, COVERAGE).

        The transitions are divided among the candidates: each goes to one that adds the atoms that are
        necessary there according to `base`. Then the coverage is computed by backchaining.
        Only differences from `base` are computed; the result is the same as a computation from scratch.
        """
        self.deadline.check()
        needed = tuple(chain.from_iterable(one.needed for one in base.coverage.chains))
        fitted = partition(candidates, needed, base.partition, self.matcher, self.inducer)
        operators = (one.operator for one in fitted.fitted)
        return Hypothesis(fitted, cover(operators, base.coverage, self.matcher))
