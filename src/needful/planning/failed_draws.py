"""Record the parameters that failed in a refinement, for reports, and compare how far attempts got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from needful.core.controllers import Execution, GroundController
from needful.core.plans import Draw, Failure, Outcome

# A failure lists at most this many rejected draws: draws with which the controller cannot start.
MAX_REJECTIONS = 100

# The reasons why a step can fail. If two attempts fail at the same step, the one whose reason is later in
# this list made more progress.
_PROGRESS = (
    Outcome.NOT_INITIABLE,
    Outcome.CONTROLLER_FAILED,
    Outcome.ENVIRONMENT_FAILURE,
    Outcome.HORIZON_EXCEEDED,
    Outcome.SUBGOAL_MISSED,
    Outcome.SAMPLER_EXHAUSTED,
)


@dataclass(slots=True)
class FailedDraws:
    """The failed draws of each step: parameters with which the step was tried and failed.

    Only draws in the current state before the step are kept.

    Attributes:
        steps: the failed draws of each step, by the index of the step. If the state before a step changes,
            the step gets a new list.
        deepest: the failed draws of the step at which the deepest attempt failed (the one with the most
            progress).
    """

    steps: dict[int, list[Draw]] = field(default_factory=dict)
    deepest: list[Draw] = field(default_factory=list)

    def at(self, step: int) -> list[Draw]:
        """Return the failed draws of a step; the caller may append to this list."""
        return self.steps.setdefault(step, [])

    def restart(self, step: int) -> None:
        """Start a new list for a step; the old one is not cleared, because `deepest` may refer to it."""
        self.steps[step] = []

    def add_rejected(self, step: int, rejected: Sequence[GroundController]) -> None:
        """Record draws with which the controller of a step could not start."""
        if rejected:
            self.at(step).extend(Draw(action.parameters, Outcome.NOT_INITIABLE) for action in rejected)

    def add_failed(self, action: GroundController, failure: Failure, execution: Execution) -> None:
        """Record a draw with which the controller ran and failed."""
        missed = failure.outcome in (Outcome.SAMPLER_EXHAUSTED, Outcome.SUBGOAL_MISSED)
        outcome, reason = (Outcome.SUBGOAL_MISSED, "") if missed else (failure.outcome, failure.detail)
        state = execution.state if execution.steps else None
        self.at(failure.step).append(Draw(action.parameters, outcome, failure.missing, reason, state))


def with_draws(failure: Failure, draws: Sequence[Draw]) -> Failure:
    """Return the failure with its draws; it lists only the first `MAX_REJECTIONS` of the rejected ones."""
    rejected = [index for index, draw in enumerate(draws) if draw.outcome is Outcome.NOT_INITIABLE]
    unlisted = set(rejected[MAX_REJECTIONS:])
    listed = tuple(draw for index, draw in enumerate(draws) if index not in unlisted)
    return replace(failure, draws=listed, unlisted=len(unlisted))


def progress(failure: Failure | None) -> tuple[int, int, int]:
    """Return how far a failed attempt got; the larger tuple means more progress."""
    assert failure is not None
    return failure.step, _PROGRESS.index(failure.outcome), -len(failure.missing)
