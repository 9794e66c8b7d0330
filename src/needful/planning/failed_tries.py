"""What a refinement records about failed tries of steps: their parameters, and the simulator's reports.

`FailedDraws` holds the parameters that failed, to explain failures. `FailureReports` holds the objects that
made the current step fail, and decides which of them a new plan should deal with. `progress` compares how
far attempts got.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from needful.core.controllers import Execution, GroundController
from needful.core.objects import Object
from needful.core.plans import AbstractPlan, Draw, Failure, Outcome

# A draw (sampled parameters) is rejected if the controller cannot start with it. A failure lists at most
# this many rejected draws.
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
    """The failed draws of each step: sampled parameters with which the step was tried and failed.

    After backtracking, later steps start in other states. What failed in the old states is then dropped.

    Attributes:
        steps: the failed draws of each step, by the index of the step. If the state before a step changes,
            the step gets a new list.
        deepest: the failed draws of the step at which the attempt that got furthest failed; see `progress`.
    """

    steps: dict[int, list[Draw]] = field(default_factory=dict)
    deepest: list[Draw] = field(default_factory=list)

    def at(self, step: int) -> list[Draw]:
        """Return the failed draws of a step; the caller may append to this list."""
        return self.steps.setdefault(step, [])

    def restart(self, step: int) -> None:
        """Start a new list for a step. (The old list is not cleared, because `deepest` may refer to it.)"""
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


class Report(Protocol):
    """A failed try of a step; `offending` are the objects that the simulator reported."""

    @property
    def offending(self) -> tuple[Object, ...]:
        """The reported objects."""
        ...


ReportType = TypeVar("ReportType", bound=Report)


class FailureReports(Generic[ReportType]):
    """The reports about the current step of a plan.

    Each report names objects that made a try of the step fail. One report is chosen, and a new plan deals
    with its objects before it uses the step. Reports are ranked by these rules, the first rule first:

    - Avoid a report if earlier steps of the plan acted on all its objects. Other parameters of these steps
      may help, but not a new plan; see `last_action_on`.
    - Avoid reports with objects that later steps act on, but not this step. This step may be needed before
      them: if it opens a drawer, a new plan cannot move an object in the drawer first.
    - Prefer reports with few objects.
    - Prefer reports that explain many tries. A report explains a try if its objects include all objects
      reported in that try.
    """

    def __init__(self, plan: AbstractPlan, same_reports: int) -> None:
        self._objects = [set(step.controller_objects) for step in plan]
        self._continuous = [step.operator.controller.dimension > 0 for step in plan]
        self._same_reports = same_reports
        self._reports: list[ReportType] = []

    def add(self, report: ReportType) -> None:
        """Add the report of a try of the current step."""
        self._reports.append(report)

    def clear(self) -> None:
        """Forget all reports, because another step becomes the current one."""
        self._reports.clear()

    def conclusion(self, index: int, last_try: bool) -> ReportType | None:
        """Return the report to act on, or None if step `index` should be tried again.

        After the last try, the best report is returned. Before the last try, it is returned only if enough
        tries reported the same objects and no others, and if no later step acts on these objects.
        """
        if not self._reports:
            return None
        later: set[Object] = set().union(*self._objects[index + 1 :]) - self._objects[index]

        def rank(report: ReportType) -> tuple[bool, bool, int, int]:
            found = set(report.offending)
            explained = sum(found.issuperset(other.offending) for other in self._reports)
            known = self.last_action_on(found, index) is not None
            return known, not found.isdisjoint(later), len(found), -explained

        best = min(self._reports, key=rank)
        if last_try:
            return best
        same = len({frozenset(report.offending) for report in self._reports}) == 1
        enough = same and len(self._reports) >= self._same_reports
        return best if enough and later.isdisjoint(best.offending) else None

    def last_action_on(self, objects: Iterable[Object], index: int) -> int | None:
        """Return the last step before `index` that acted on one of the objects.

        Returns None if there is an object that no earlier step acted on: then a new plan must deal with it.
        Also returns None if the step that was found has no continuous parameters that could be changed.
        """
        steps = [_last_with(obj, self._objects[:index]) for obj in objects]
        return max(steps) if steps and min(steps) >= 0 and self._continuous[max(steps)] else None


def _last_with(obj: Object, groups: Sequence[set[Object]]) -> int:
    return max((index for index, group in enumerate(groups) if obj in group), default=-1)
