"""The data of one learning run, and the two questions that every step asks of it.

The operators under consideration, stripped to what partitioning looks at.

Hill climbing searches over sets of stripped operators ⟨args, K, E+, ∅, ∅, C⟩; preconditions and
deletes are always induced afresh from the data that each one explains. Quantified deletes that were
widened in the end stay: they are forgotten in addition to what the data show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from needful.core.canonical import canonical_form, interchangeable
from needful.core.controllers import Controller
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.delete_patterns import Generalise
from needful.operator_learning.encoding import (
    EncodedDemonstration,
    TransitionId,
    TransitionIndex,
    encode_demonstrations,
)
from needful.operator_learning.induction import Inducer
from needful.operator_learning.matching import Matcher
from needful.operator_learning.objective import Coverage, Objective, cover
from needful.operator_learning.partition import FittedOperator, Partition, partition


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stripped operator in canonical form.

    Attributes:
        operator: has add effects and keep effects only, and quantified deletes that were widened.
        text: the operator in writing, which candidates are sorted by.
        places: for each variable its own place among the parameters and those of the variables that
            are interchangeable with it.
        hints: for some transitions, the object number that a variable was introduced for. Groundings
            that agree with the hint are preferred there.
        pinned: transitions that belong to this candidate whatever the scores say.
    """

    operator: Operator
    text: str
    places: Mapping[Variable, tuple[int, ...]]
    hints: Mapping[TransitionId, Mapping[Variable, int]]
    pinned: frozenset[TransitionId] = frozenset()

    @property
    def controller(self) -> Controller:
        """The operator's controller."""
        return self.operator.controller

    def agrees(self, objects: Sequence[int], transition: TransitionId) -> bool:
        """Return whether a grounding binds what the hint says, up to exchange of interchangeables."""
        hint = self.hints.get(transition, {})
        return all(
            number in {objects[place] for place in self.places[variable]}
            for variable, number in hint.items()
        )


def strip(operator: Operator) -> Operator:
    """Return the operator with keep effects as its only preconditions, and without atomic deletes."""
    return replace(operator, preconditions=operator.keep_effects, delete_effects=frozenset())


def canonical_candidate(
    operator: Operator,
    hints: Mapping[TransitionId, Mapping[Variable, int]],
    pinned: frozenset[TransitionId] = frozenset(),
) -> Candidate:
    """Strip an operator and rename its variables canonically, hints included."""
    stripped, renaming = canonical_form(strip(operator))
    renamed = {
        transition: {renaming[variable]: number for variable, number in hint.items()}
        for transition, hint in hints.items()
    }
    place = {variable: index for index, variable in enumerate(stripped.parameters)}
    alone = tuple((variable,) for variable in stripped.parameters)
    places = {
        variable: tuple(place[other] for other in group)
        for group in (*alone, *interchangeable(stripped))
        for variable in group
    }
    return Candidate(stripped, stripped.text, places, renamed, pinned)


def merge(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Collapse candidates with equal operators; return them in the order of the operators' text."""
    merged: dict[Operator, Candidate] = {}
    for candidate in candidates:
        known = merged.get(candidate.operator)
        if known is None:
            merged[candidate.operator] = candidate
        else:
            hints = {**candidate.hints, **known.hints}
            merged[candidate.operator] = replace(known, hints=hints, pinned=known.pinned | candidate.pinned)
    return tuple(sorted(merged.values(), key=lambda candidate: candidate.text))


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
        return Hypothesis(Partition.among_nobody(self.transitions), Coverage.by_nobody(self.demonstrations))

    def fit(self, candidates: Iterable[Candidate], base: Hypothesis) -> Hypothesis:
        """RECOMPUTE, then COVERAGE: partition by what `base` found necessary, then cover anew.

        Only what differs from `base` is computed; the result is the same as from scratch.
        """
        self.deadline.check()
        needed = tuple(chain.from_iterable(one.needed for one in base.coverage.chains))
        divided = partition(candidates, needed, base.partition, self.matcher, self.inducer)
        operators = (one.operator for one in divided.fitted)
        return Hypothesis(divided, cover(operators, base.coverage, self.matcher))
