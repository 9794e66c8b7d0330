"""The data of one learning run, and the operation that all learning steps use: fitting candidates to data.

A candidate is an operator without the parts that are induced from data, such as its deletes and most of its
preconditions. Fitting assigns demonstrated transitions to candidates, and induces these parts from them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Abbreviated
from needful.operator_learning.backchaining import Coverage, cover, cover_unless_worse
from needful.operator_learning.candidates import Candidate
from needful.operator_learning.encoding import (
    EncodedDemonstration,
    TransitionId,
    TransitionIndex,
    encode_demonstrations,
    ignore_transitions,
)
from needful.operator_learning.false_claims import Validity
from needful.operator_learning.induction import Datum, Generalise, Inducer
from needful.operator_learning.matching import Matcher
from needful.operator_learning.objective import Hypothesis, Objective
from needful.operator_learning.opportunities import Opportunities, OpportunityCache, WorkLimit
from needful.operator_learning.partition import FittedOperator, Partition, partition
from needful.operator_learning.signatures import SignatureMasks
from needful.operator_learning.unnamed_conditions import SharedCondition, shared_conditions

# A learning step is given up if it multiplies the number of operators by more than about this factor; see
# `LearningProblem.with_limited_growth`.
MAX_GROWTH = 2


class TooManyOperators(Exception):
    """Raised by `LearningProblem.fit` if there are too many operators; operator learning catches it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearningProblem(Abbreviated):
    """The encoded demonstrations of one learning run, with caches of intermediate results.

    Unnamed objects are those to which no parameter of an operator is bound; see `unnamed_objects`.

    Attributes:
        demonstrations: the encoded demonstrations.
        transitions: their transitions.
        matcher: finds how operators match transitions, and caches this.
        inducer: induces operators from transitions, and caches them.
        validity: counts false claims (predicted atoms that do not hold), and caches them.
        deadline: raises once the time is up.
        skip_purposeless: whether backchaining may skip each step that adds nothing necessary.
        opportunities: caches the groundings of operators that the demonstrator could have used.
        conditions: caches the results of the method `shared_conditions`.
        signatures: caches which atoms about an unnamed object hold before a transition.
        proposals: caches the preconditions on unnamed objects that were proposed for operators.
        work: limits the search for such preconditions.
        max_operators: the maximum number of operators of a hypothesis; None for no limit.
    """

    demonstrations: tuple[EncodedDemonstration, ...]
    transitions: TransitionIndex
    matcher: Matcher
    inducer: Inducer
    validity: Validity
    deadline: Deadline = NO_DEADLINE
    skip_purposeless: bool = False
    opportunities: OpportunityCache = field(default_factory=dict)
    conditions: dict[tuple[Datum, ...], list[SharedCondition]] = field(default_factory=dict)
    signatures: SignatureMasks = field(default_factory=SignatureMasks)
    proposals: dict[Hashable, Any] = field(default_factory=dict)
    work: WorkLimit = field(default_factory=WorkLimit)
    max_operators: int | None = None

    @classmethod
    def of(
        cls,
        demonstrations: Sequence[Demonstration],
        generalise: Generalise,
        deadline: Deadline = NO_DEADLINE,
        skip_idle_steps: bool = False,
    ) -> LearningProblem:
        """Encode demonstrations and return them as a learning problem.

        `generalise` makes a quantified delete (an atom with wildcards) for an atom that became false,
        although the operator would predict that it stays true.
        """
        return cls.of_encoded(encode_demonstrations(demonstrations, skip_idle_steps), generalise, deadline)

    @classmethod
    def of_encoded(
        cls,
        encoded: tuple[EncodedDemonstration, ...],
        generalise: Generalise,
        deadline: Deadline = NO_DEADLINE,
    ) -> LearningProblem:
        """Return a learning problem for demonstrations that are encoded already; see `of`."""
        transitions, matcher = TransitionIndex.of(encoded), Matcher(deadline)
        return cls(
            encoded, transitions, matcher, Inducer(generalise), Validity(transitions, matcher), deadline
        )

    @property
    def size(self) -> int:
        """N, the number of transitions."""
        return len(self.transitions.by_number)

    def false_claims(self, hypothesis: Hypothesis) -> int:
        """Return V(Ω), the number of false claims: atoms that operators predict but that do not hold."""
        return self.validity.count(hypothesis.coverage.operators)

    def empty_hypothesis(self) -> Hypothesis:
        """Return the empty set of operators, where hill climbing starts."""
        empty = Hypothesis(Partition.empty(self.transitions), Coverage.empty(self.demonstrations))
        return self.cover_again(empty)

    def fit(self, candidates: Iterable[Candidate], base: Hypothesis) -> Hypothesis:
        """Fit candidates to the transitions and return the resulting hypothesis.

        Backchaining with the operators of `base` has determined which atoms each transition must add. Each
        transition is assigned to a candidate that adds these atoms. An operator is induced from the
        transitions of each candidate, and backchaining computes the coverage of all operators. Unchanged
        results are copied from `base` to save time. Raises `TooManyOperators` if there are more operators
        than `max_operators`.
        """
        fitted = self._partition(candidates, base)
        operators = (one.operator for one in fitted.fitted)
        return Hypothesis(fitted, cover(operators, base.coverage, self.matcher, self.skip_purposeless))

    def fit_if_better(
        self, candidates: Iterable[Candidate], base: Hypothesis, than: Objective
    ) -> Hypothesis | None:
        """Fit candidates as `fit` does, but return None if the objective is not lower than `than`."""
        fitted = self._partition(candidates, base)
        fewer = len(fitted.fitted) < than.operators
        covered = cover_unless_worse(
            (one.operator for one in fitted.fitted),
            base.coverage,
            self.matcher,
            self.skip_purposeless,
            max_uncovered=than.uncovered if fewer else than.uncovered - 1,
        )
        return None if covered is None else Hypothesis(fitted, covered)

    def _partition(self, candidates: Iterable[Candidate], base: Hypothesis) -> Partition:
        self.deadline.check()
        needed = tuple(chain.from_iterable(one.needed_or_unknown for one in base.coverage.chains))
        fitted = partition(candidates, needed, base.partition, self.matcher, self.inducer)
        if self.max_operators is not None and len(fitted.fitted) > self.max_operators:
            raise TooManyOperators
        return fitted

    def with_limited_growth(self, operators: int) -> LearningProblem:
        """Return the same problem, but `fit` fails above about twice the given number of operators."""
        return replace(self, max_operators=MAX_GROWTH * (operators + 1))

    def skipping_purposeless_steps(self) -> LearningProblem:
        """Return the same problem, but backchaining may skip each step that adds nothing necessary."""
        return replace(self, skip_purposeless=True)

    def ignoring(self, transitions: Set[TransitionId]) -> LearningProblem:
        """Return the same problem, but without the given transitions; cached matches are shared."""
        demonstrations = ignore_transitions(self.demonstrations, transitions)
        index = TransitionIndex.of(demonstrations)
        validity = Validity(index, self.matcher)
        return replace(
            self, demonstrations=demonstrations, transitions=index, validity=validity, proposals={}
        )

    def shared_conditions(self, data: tuple[Datum, ...]) -> list[SharedCondition]:
        """Return sets of atoms about unnamed objects that held before all transitions in `data`.

        Unnamed objects are those to which no parameter of the operator is bound. The results are cached;
        see `unnamed_conditions.shared_conditions`.
        """
        known = self.conditions.get(data)
        if known is None:
            known = self.conditions[data] = list(shared_conditions(data, self.signatures))
        return known

    def opportunities_of(self, fitted: FittedOperator) -> Opportunities:
        """Return the opportunities of an operator (see the class) in the demonstrations that use it."""
        used = {transition.demonstration for transition, _ in fitted.data}
        demonstrations = [one for one in self.demonstrations if one.index in used]
        return Opportunities(fitted, demonstrations, self.opportunities)

    def with_fitted(self, hypothesis: Hypothesis, fitted: tuple[FittedOperator, ...]) -> Hypothesis:
        """Return the hypothesis with `fitted` as its operators, and with the coverage of these operators.

        Transitions are not assigned again: each operator keeps those of the operator that it replaces.
        """
        changed = replace(hypothesis.partition, fitted=fitted)
        operators = (one.operator for one in fitted)
        empty = Coverage.empty(self.demonstrations)
        return Hypothesis(changed, cover(operators, empty, self.matcher, self.skip_purposeless))

    def cover_again(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return the same operators, with coverage that is computed again from the beginning."""
        empty = Coverage.empty(self.demonstrations)
        return replace(
            hypothesis,
            coverage=cover(hypothesis.coverage.operators, empty, self.matcher, self.skip_purposeless),
        )
