"""The planners of this package, each in a fresh process, measured from the task to the first plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace

from answers import Answer, best, stopped, valid
from families import Case
from needful.core.limits import Budget
from needful.core.operators import Operator
from needful.core.plans import SearchStatistics
from needful.core.tasks import AbstractTask
from needful.planning.engines.searches import AStar
from needful.planning.interfaces import Planner
from needful.planning.planners import AutoPlanner, make_planner
from needful.planning.portfolio import Portfolio, Stage
from processes import call

# Short runs are repeated for at least REPEAT_FOR_SECONDS, because their noise is large; long runs are
# repeated for at most REPEAT_WITHIN_SECONDS.
REPEAT_FOR_SECONDS = 0.2
REPEAT_WITHIN_SECONDS = 5.0


def solve(planner: str, case: Case, seconds: float, repeat: int) -> Answer:
    """Return the best of at least `repeat` runs in one process, which is killed if it does not end."""
    answer, finished = call("ours", "measure", planner, asdict(case), seconds, repeat, seconds=3 * seconds)
    if answer is None:
        if finished.returncode is None:
            return stopped(seconds)
        return Answer(f"exit code {finished.returncode}: {finished.last_line}")
    return replace(Answer(**answer), peak_mb=finished.peak_mb)


def measure(planner: str, case: dict[str, object], seconds: float, repeat: int) -> dict[str, object]:
    """Do the work of `solve` in this process, and return the fields of the answer."""
    chosen, family_case = _planner(planner), Case(**case)  # type: ignore[arg-type]
    operators, task = family_case.operators(), family_case.task()
    answers: list[Answer] = []
    start, spent = time.perf_counter(), 0.0
    while not answers or spent < (REPEAT_WITHIN_SECONDS if len(answers) < repeat else REPEAT_FOR_SECONDS):
        answers.append(_first_plan(chosen, operators, task, seconds))
        spent = time.perf_counter() - start
    return asdict(best(answers))


def _planner(name: str) -> Planner:
    if name == "weighted":
        return AutoPlanner(Portfolio((Stage(AStar(weight=2)),)))
    return make_planner(name)


def _first_plan(
    planner: Planner, operators: Sequence[Operator], task: AbstractTask, seconds: float
) -> Answer:
    cpu, wall = time.process_time(), time.perf_counter()
    budget, statistics = Budget.seconds(seconds), SearchStatistics()
    problem = planner(operators, task, budget)
    steps = next(iter(problem.plans(0, budget, statistics)), None) if problem is not None else None
    if problem is None or steps is None:
        return stopped(seconds)
    plan = problem.plan(steps)
    return Answer(
        cpu_ms=1000 * (time.process_time() - cpu),
        wall_ms=1000 * (time.perf_counter() - wall),
        problem=None if valid(task, plan) else "invalid plan",
        cost=len(plan),
        evaluated=statistics.nodes_evaluated,
    )
