"""The data of one learning run, and the two questions that every step asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needful.core.demonstrations import Demonstration
from needful.operator_learning.candidates import Candidate
from needful.operator_learning.delete_patterns import Generalise
from needful.operator_learning.encoding import EncodedDemonstration, encode_demonstrations
from needful.operator_learning.induction import Inducer
from needful.operator_learning.matching import Matcher
from needful.operator_learning.objective import Coverage, Objective, cover
from needful.operator_learning.partition import FittedOperator, partition


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A set of operators Ω, fitted to data, with the coverage it reaches."""

    fitted: tuple[FittedOperator, ...]
    coverage: Coverage

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
        return frozenset(str(fitted.operator) for fitted in self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class LearningProblem:
    """Encoded demonstrations with the memories of matching and induction."""

    demonstrations: tuple[EncodedDemonstration, ...]
    matcher: Matcher
    inducer: Inducer

    @classmethod
    def of(cls, demonstrations: Sequence[Demonstration], generalise: Generalise) -> LearningProblem:
        """Encode demonstrations for learning with one kind of delete patterns."""
        return cls(encode_demonstrations(demonstrations), Matcher(), Inducer(generalise))

    @property
    def size(self) -> int:
        """N, the number of transitions."""
        return sum(len(demonstration.transitions) for demonstration in self.demonstrations)

    def nothing(self) -> Hypothesis:
        """Return the empty set of operators."""
        return Hypothesis((), cover((), self.demonstrations, self.matcher))

    def fit(self, candidates: Iterable[Candidate], coverage: Coverage) -> Hypothesis:
        """RECOMPUTE, then COVERAGE: partition by what `coverage` found necessary, then cover anew."""
        fitted = partition(candidates, coverage, self.demonstrations, self.matcher, self.inducer)
        operators = (one.operator for one in fitted)
        return Hypothesis(fitted, cover(operators, self.demonstrations, self.matcher))
