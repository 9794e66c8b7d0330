"""Failed tries of a refinement: the parameters, to show later what was tried, and how far a try got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from needful.core.controllers import Execution, GroundController
from needful.core.plans import Draw, Failure, Outcome

# How many draws are recorded per step with which the controller could not start.
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
    """The failed draws of each step, in the current state before the step.

    Attributes:
        steps: a list of draws by the index of the step. If the state before a step changes, it gets a new
            list.
        deepest: the list of the step in which the deepest attempt failed.
    """

    steps: dict[int, list[Draw]] = field(default_factory=dict)
    deepest: list[Draw] = field(default_factory=list)

    def at(self, step: int) -> list[Draw]:
        """Return the list of a step."""
        return self.steps.setdefault(step, [])

    def restart(self, step: int) -> None:
        """Give a step a new list; the old one stays unchanged if it is the deepest."""
        self.steps[step] = []

    def add_rejected(self, step: int, rejected: Sequence[GroundController]) -> None:
        """Record draws with which the controller of a step could not start."""
        if rejected:
            draws = self.at(step)
            room = max(0, MAX_REJECTIONS - sum(draw.outcome is Outcome.NOT_INITIABLE for draw in draws))
            draws += [Draw(action.parameters, Outcome.NOT_INITIABLE) for action in rejected[:room]]

    def add_failed(self, action: GroundController, failure: Failure, execution: Execution) -> None:
        """Record a draw with which the controller ran and failed."""
        missed = failure.outcome in (Outcome.SAMPLER_EXHAUSTED, Outcome.SUBGOAL_MISSED)
        outcome, reason = (Outcome.SUBGOAL_MISSED, "") if missed else (failure.outcome, failure.detail)
        state = execution.state if execution.steps else None
        self.at(failure.step).append(Draw(action.parameters, outcome, failure.missing, reason, state))


def progress(failure: Failure | None) -> tuple[int, int, int]:
    """Return a value that is larger for the failed attempt that got further."""
    assert failure is not None
    return failure.step, _PROGRESS.index(failure.outcome), -len(failure.missing)
