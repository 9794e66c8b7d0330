"""The answer of a planner to a task, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask


@dataclass(frozen=True, slots=True)
class Answer:
    """One planner's answer.

    Attributes:
        problem: why there is no valid plan; None if there is one.
        stopped_ms: the time limit, if that is the reason.
        cost: the number of steps of the plan.
        evaluated: how many states were evaluated, if the planner tells.
        cpu_ms, wall_ms: the time to the first plan.
        peak_mb: the resident memory of the process, in megabytes.
    """

    problem: str | None = None
    stopped_ms: float | None = None
    cost: int | None = None
    evaluated: int | None = None
    cpu_ms: float | None = None
    wall_ms: float | None = None
    peak_mb: float | None = None

    @property
    def at_least_ms(self) -> float | None:
        """The CPU time to the first plan, or the time after which the planner was stopped."""
        return self.stopped_ms if self.problem is not None else self.cpu_ms


def stopped(seconds: float) -> Answer:
    """Return the answer of a planner that had no plan when time was up."""
    return Answer(f"no plan in {seconds:g} s", stopped_ms=1000 * seconds)


def best(answers: Sequence[Answer]) -> Answer:
    """Return what several runs of the same planner show: the failure if one failed, else the best times."""
    failed = [answer for answer in answers if answer.problem is not None]
    if failed:
        return failed[0]
    return replace(
        answers[0],
        cpu_ms=min(answer.cpu_ms or 0.0 for answer in answers),
        wall_ms=min(answer.wall_ms or 0.0 for answer in answers),
        peak_mb=max(answer.peak_mb or 0.0 for answer in answers),
    )


def valid(task: AbstractTask, plan: AbstractPlan) -> bool:
    """Return whether a plan can be followed and reaches the goal."""
    state = task.initial
    for step in plan:
        if not step.applicable(state):
            return False
        state = step.apply(state)
    return task.goal <= state
