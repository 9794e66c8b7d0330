"""Estimate how often learned operators are wrong on unseen demonstrations, by cross-validation.

The demonstrations are divided into folds. For each fold, its demonstrations are left out: operators are
learned from all other demonstrations, and tested on the left-out ones. The test counts the transitions that
backchaining does not explain, and the false claims (predicted atoms that do not hold).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.doubts import (
    EXPERIMENT_ADVICE,
    Doubt,
    DoubtKind,
    Doubts,
    example,
    location,
)
from needful.operator_learning.encoding import TransitionId, encode_demonstrations
from needful.operator_learning.false_claims import LiftedClaim, report_false_claims
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.matching import Matcher

# False claims (predicted atoms that do not hold) in cross-validation are reported if they occur in many
# more transitions than in training: at least `VALIDATION_FACTOR` times as many and `VALIDATION_EXCESS`
# more.
VALIDATION_FACTOR = 1.5
VALIDATION_EXCESS = 2

Learn: TypeAlias = Callable[[Sequence[Demonstration]], LearnedOperators]


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of cross-validation, summed over the folds; each demonstration is left out once.

    Attributes:
        folds: the number of folds.
        transitions: the number of transitions in the left-out demonstrations.
        uncovered: the number of left-out transitions that backchaining does not explain.
        false_claims: the number of false claims (predicted atoms that do not hold) in left-out transitions.
        false_transitions: the number of left-out transitions with at least one false claim.
        failing: the left-out transitions at which backchaining stopped, in order.
        claim: the predicted atom that did not hold in the most transitions of one fold; None if there is
            no false claim.
    """

    folds: int
    transitions: int = 0
    uncovered: int = 0
    false_claims: int = 0
    false_transitions: int = 0
    failing: tuple[TransitionId, ...] = ()
    claim: LiftedClaim | None = None

    @property
    def false_share(self) -> float:
        """The share of the left-out transitions with at least one false claim."""
        return self.false_transitions / self.transitions if self.transitions else 0.0


def fold_count(demonstrations: int, folds: int) -> int:
    """Return the number of folds: `folds`, but at most one per demonstration.

    Return 0 if there would be fewer than two folds, because cross-validation is then impossible.
    """
    count = min(folds, demonstrations)
    return count if count >= 2 else 0


def cross_validate(
    learn: Learn,
    recorded: Sequence[Demonstration],
    learned: LearnedOperators,
    folds: int,
    deadline: Deadline = NO_DEADLINE,
) -> Validation:
    """Cross-validate a learner: return the errors of its operators on left-out demonstrations.

    For each fold, operators are learned without the demonstrations of the fold, and tested on them.
    Demonstration i belongs to fold i modulo `folds`. `learned` is the result of learning from all
    demonstrations. If it has repaired atoms, operators are tested on the demonstrations with repaired
    atoms, so that detection errors do not count as errors of the operators. Raises `LearningTimeoutError`
    if the deadline passes.
    """
    repaired = recorded if learned.repairs is None else learned.repairs.demonstrations
    skip = learned.skips_idle_steps
    encoded = encode_demonstrations(repaired, skip)
    uncovered = false_claims = false_transitions = 0
    failing: list[TransitionId] = []
    claims: list[LiftedClaim] = []
    for fold in range(folds):
        deadline.check()
        found = learn([demo for index, demo in enumerate(recorded) if index % folds != fold])
        left_out = [demo for demo in encoded if demo.index % folds == fold]
        matcher = Matcher(deadline)
        coverage = cover(found.operators, Coverage.empty(left_out), matcher, skip)
        uncovered += coverage.uncovered
        failing += (one.transition_id for one in coverage.failing())
        report = report_false_claims(tuple(one.operator for one in found.planning_data), left_out, matcher)
        false_claims += report.count
        false_transitions += report.transitions
        claims += report.claims
    return Validation(
        folds,
        sum(map(len, recorded)),
        uncovered,
        false_claims,
        false_transitions,
        tuple(sorted(failing)),
        min(claims, key=_rank, default=None),
    )


def _rank(claim: LiftedClaim) -> tuple[int, str, str, TransitionId]:
    return (-len(claim.transitions), claim.operator.name, str(claim.atom), claim.transitions[0])


def validation_doubts(
    validation: Validation, training: Doubts, advise_experiments: bool = True
) -> tuple[Doubt, ...]:
    """Return doubts if cross-validation found more errors than there are on the training data.

    `training` contains the doubts about the operators that were learned from all demonstrations. With
    `advise_experiments`, users are advised to test preconditions by experiments. Set it to False if
    experiments were part of learning.
    """
    found = []
    left_out = f"{validation.transitions} left-out transitions"
    if validation.uncovered > training.uncovered:
        found.append(
            Doubt(
                DoubtKind.VALIDATION,
                None,
                None,
                validation.uncovered,
                f"In cross-validation, operators did not explain {validation.uncovered} of {left_out} "
                f"({training.uncovered} in training)",
                example(validation.failing[0]),
                "Some preconditions may be accidental, or a case was demonstrated only once. Add "
                f"demonstrations{EXPERIMENT_ADVICE if advise_experiments else ''}.",
            )
        )
    claim, falsely = validation.claim, validation.false_transitions
    enough = max(
        training.false_transitions + VALIDATION_EXCESS, VALIDATION_FACTOR * training.false_transitions
    )
    if claim is not None and falsely >= enough:
        found.append(
            Doubt(
                DoubtKind.VALIDATION,
                None,
                claim.operator.controller.name,
                falsely,
                f"In cross-validation, operators made false claims in {falsely} of {left_out} "
                f"({training.false_transitions} in training)",
                f"for example {claim.atom} of {claim.operator.name} in {location(claim.transitions[0])}",
                "The operators depend on single demonstrations. Add demonstrations with other objects.",
            )
        )
    return tuple(sorted(found, key=lambda one: one.rank))
