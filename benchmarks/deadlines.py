"""Measure how late planning returns after its deadline, on very large problems.

Usage: python benchmarks/deadlines.py [--quick]

    books    3,300 household objects; a step deletes hundreds of atoms
    rows     things are put in rows of six, by an operator with six parameters

Both have about two million ground operators. The time limits are too short for the planner and expire in
all phases: grounding, preparation of the search, search, and search again after a failed step. The values
are wall milliseconds from the deadline until all memory is released.
"""

from __future__ import annotations

import argparse
import time

from families import BOOKS, books
from needful.core.limits import Budget
from needful.core.plans import SearchStatistics
from needful.core.tasks import AbstractTask
from needful.planning.interfaces import Planner
from needful.planning.planners import make_planner
from notation import Domain, read_domain
from processes import call
from report import Row, table

PLANNERS = ("anytime", "paper", "greedy")
LIMITS = (0.05, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)
QUICK_LIMITS = (0.05, 0.2)
TARGET_MS = 200.0
SECONDS = 300.0

ROWS = read_domain("""
    type thing
    predicate Free thing
    predicate First thing
    predicate Last thing
    predicate Row thing thing thing

    operator PutInARow ?a:thing ?b:thing ?c:thing ?d:thing ?e:thing ?f:thing
      needs   Free ?a, Free ?b, Free ?c, Free ?d, Free ?e, Free ?f
      adds    First ?a, Row ?a ?b ?c, Row ?d ?e ?f, Last ?f
      deletes Free ?a
""")


def rows_of_things() -> AbstractTask:
    """Return a task whose goal is two rows that overlap."""
    things = [ROWS.object("thing", f"thing{i:02}") for i in range(14)]
    initial = frozenset(ROWS.atom("Free", thing) for thing in things)
    goal = frozenset(
        [ROWS.atom("Row", *things[:3]), ROWS.atom("Row", *things[1:4]), ROWS.atom("Last", things[0])]
    )
    return AbstractTask(tuple(things), initial, goal)


CASES = {"books": lambda: (BOOKS, books(3300, 12)), "rows": lambda: (ROWS, rows_of_things())}
QUICK_CASES = {"books": lambda: (BOOKS, books(400, 8))}


def measure(case: str, planner: str, quick: bool) -> dict[str, float]:
    """Return how late the worst run ended after its deadline (ms), and its time limit (s)."""
    domain, task = (QUICK_CASES if quick else CASES)[case]()
    runs = {limit: _lateness(make_planner(planner), domain, task, limit) for limit in _limits(quick)}
    worst = max(runs, key=lambda limit: runs[limit])
    return {"late": runs[worst], "limit": worst}


def _limits(quick: bool) -> tuple[float, ...]:
    return QUICK_LIMITS if quick else LIMITS


def _lateness(planner: Planner, domain: Domain, task: AbstractTask, limit: float) -> float:
    budget = Budget.seconds(limit)
    _plan_until_deadline(planner, domain, task, budget)
    return 1000 * max(0.0, time.monotonic() - budget.deadline)


def _plan_until_deadline(planner: Planner, domain: Domain, task: AbstractTask, budget: Budget) -> None:
    """Request plans until the deadline.

    The last step of each plan is reported as failed because of one object, as a simulator would do.
    """
    problem, statistics = planner(domain.operators, task, budget), SearchStatistics()
    objects = sorted(task.objects)
    while problem is not None and not budget.expired():
        steps = next(iter(problem.plans(0, budget, statistics)), None)
        if steps is None:
            return
        problem = problem.with_failure(steps[-1], [objects[len(problem.failures)]])


def rows(quick: bool = False) -> list[Row]:
    """Return the lateness of each planner with each task; a quick run has one small task."""
    found = []
    for case in QUICK_CASES if quick else CASES:
        for planner in PLANNERS:
            worst, finished = call("deadlines", "measure", case, planner, quick, seconds=SECONDS)
            name = f"deadlines/{case}/{planner}"
            if worst is None:
                found.append(Row(name, None, "ms", TARGET_MS, note=finished.last_line))
                continue
            limits = f"worst of {len(_limits(quick))} time limits: {worst['limit']:g} s"
            found.append(
                Row(name, worst["late"], "ms", TARGET_MS, note=f"{limits}, {finished.peak_mb:.0f} MB")
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tasks and two limits")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
