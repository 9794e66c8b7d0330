"""The answer of a planner to a task, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one planner.

    Attributes:
        problem: why there is no valid plan; None if there is one.
        stopped_ms: the time limit in milliseconds, if the planner exceeded it.
        cost: the number of steps of the plan.
        evaluated: the number of evaluated states, if the planner reports it.
        cpu_ms, wall_ms: the time to the first plan, in milliseconds.
        peak_mb: the peak resident memory of the process, in megabytes.
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
        """A lower bound of the CPU time to the first plan: the time itself, or the time limit."""
        return self.stopped_ms if self.problem is not None else self.cpu_ms


def stopped(seconds: float) -> Answer:
    """Return the answer of a planner that found no plan within the time limit."""
    return Answer(f"no plan in {seconds:g} s", stopped_ms=1000 * seconds)


def best(answers: Sequence[Answer]) -> Answer:
    """Combine several runs of the same planner: the first failure if any, else the shortest times."""
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
