"""Reports of the simulator about objects that made a step fail, and what refinement concludes from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from needful.core.objects import Object
from needful.core.plans import AbstractPlan


class Report(Protocol):
    """A failed try of a step; `offending` are the objects that the simulator reported."""

    @property
    def offending(self) -> tuple[Object, ...]:
        """The reported objects."""
        ...


ReportType = TypeVar("ReportType", bound=Report)


class FailureReports(Generic[ReportType]):
    """The reports about the current step of a plan.

    A new plan can deal with a reported object before it uses the step. So the choice of a report matters:

    - The last choice are objects that earlier steps acted on: these steps must be done differently.
    - The last choice but one are objects that later steps act on. Such a plan removes the object of this
      step because it is in the way of these later steps, so it cannot do them first.
    - Otherwise, small sets are preferred, and then objects that explain many tries.
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

        After the last try, this is the best report. Before it, there is a conclusion only if enough tries
        reported the same objects and no others, and if no later step acts on them.
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

        Returns None unless earlier steps acted on all of them, or if the step has no continuous parameters:
        then it cannot act differently.
        """
        steps = [_last_with(obj, self._objects[:index]) for obj in objects]
        return max(steps) if steps and min(steps) >= 0 and self._continuous[max(steps)] else None


def _last_with(obj: Object, groups: Sequence[set[Object]]) -> int:
    return max((index for index, group in enumerate(groups) if obj in group), default=-1)
