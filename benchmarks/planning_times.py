"""Measure planning for unseen tasks with a learned model.

Usage: python benchmarks/planning_times.py [--quick]

A model is learned from 50 demonstrations of the oracle, then 50 test tasks are solved with it. The values
are mean CPU milliseconds per task: in total, and for grounding, search and refinement (the rest is
abstraction of the initial state and bookkeeping). Each domain has a fresh process.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from processes import call
from report import Row, table

# Milliseconds per task.
TARGETS = {
    "cluttered-1d": 5.0,
    "screws": 5.0,
    "painting": 30.0,
    "cluttered-painting": 40.0,
    "satellites": 100.0,
    "cluttered-satellites": 100.0,
}
DEMONSTRATIONS = TASKS = 50
QUICK_DEMONSTRATIONS, QUICK_TASKS, QUICK_DOMAINS = 10, 5, 2
STAGES = ("grounding", "search", "refinement")
SECONDS = 600.0


def measure(domain: str, demos: int, count: int) -> dict[str, Any]:
    """Learn and plan in this process; return the number of solved tasks and mean milliseconds per task."""
    import needful
    from needful.evaluation.evaluate import planning_seed

    environment = needful.make_environment(domain)
    oracle = needful.OracleDemonstrator(environment)
    demonstrations = needful.collect_demonstrations(environment, oracle, demos, 0).demonstrations
    model = needful.learn_model(environment.vocabulary, demonstrations).model
    tasks = environment.tasks(needful.Split.TEST, count, 0)
    start, results = time.process_time(), []
    for index, task in enumerate(tasks):
        seed = planning_seed(0, domain, index)
        results.append(needful.plan(task, model, environment.execute, seed=seed, clock=time.process_time))
    total = time.process_time() - start
    stages = {
        stage: 1000 * sum(getattr(result.statistics, f"seconds_{stage}") for result in results) / count
        for stage in STAGES
    }
    return {"total": 1000 * total / count, **stages, "solved": sum(result.solved for result in results)}


def rows(quick: bool = False) -> list[Row]:
    """Return the mean times of each domain; a quick run has two domains and a few tasks."""
    demos, count = (QUICK_DEMONSTRATIONS, QUICK_TASKS) if quick else (DEMONSTRATIONS, TASKS)
    found = []
    for domain, target in list(TARGETS.items())[: QUICK_DOMAINS if quick else None]:
        means, finished = call("planning_times", "measure", domain, demos, count, seconds=SECONDS)
        name = f"planning/{domain}"
        if means is None:
            found.append(Row(f"{name}/total", None, "ms", target, note=finished.last_line))
            continue
        note = f"{means['solved']} of {count} solved"
        found.append(Row(f"{name}/total", means["total"], "ms", target, note=note))
        found += [Row(f"{name}/{stage}", means[stage], "ms") for stage in STAGES]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two domains, five tasks each")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
