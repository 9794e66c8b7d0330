"""The comparison on the 2D environments of KinDER, a benchmark of robot tasks (docs/kinder.md).

It compares learned operators, hand-written ones, and the planner SeSamE of the package `bilevel-planning`.
SeSamE runs outside this package, in benchmarks/kinder_planners.py. Its results are written to the same
folder.

The seed of a job does not affect its test tasks. All jobs of a domain solve the same test tasks:
KinDER's `reset(seed=k)` for k = `FIRST_TASK`, `FIRST_TASK` + 1, and so on.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean
from types import MappingProxyType
from typing import Any

from needful.approaches.base import learning_summary
from needful.approaches.learned_model import BilevelSolver
from needful.core.controllers import GroundController
from needful.core.tasks import Task
from needful.envs.catalogue import kinder_names, make_environment
from needful.envs.contract import Environment, Split
from needful.errors import UnknownNameError
from needful.evaluation.evaluate import Solve, evaluate
from needful.evaluation.pipeline import run
from needful.evaluation.records import evaluation_summary, run_summary
from needful.paper.published import OURS
from needful.sweeps.jobs import Job, JobResult, run_config

KINDER = "kinder"
HAND_WRITTEN = "hand-written"
# The planner SeSamE is run with two limits on the number of abstract plans. This maps each limit to the
# name that stands in the results in place of a learner's name.
PUBLISHED_PLANS = MappingProxyType({10: "bilevel-planning-10", 1000: "bilevel-planning-1000"})
# The seed of the first test task. Tasks with lower seeds were used to develop the skills.
FIRST_TASK = 1000
DEMOS, TASKS, SEEDS, TIMEOUT = 20, 50, 3, 60.0
LOW_LEVEL_ACTIONS = "low_level_actions"

DOMAINS = (
    *(
        f"kinder/{family}-{letter}{size}"
        for family, letter, sizes in (
            ("StickButton2D", "b", (3, 5, 10)),
            ("Motion2D", "p", (0, 1, 2, 3, 4, 5)),
            ("Obstruction2D", "o", (1, 2, 3, 4)),
            ("ClutteredRetrieval2D", "o", (10, 25)),
            ("ClutteredStorage2D", "b", (3, 7)),
            ("DynObstruction2D", "o", (1, 2, 3)),
        )
        for size in sizes
    ),
    "kinder/PushPullHook2D",
)


def kinder_jobs(
    domains: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    demos: int | None = None,
    tasks: int | None = None,
    timeout: float | None = None,
) -> tuple[Job, ...]:
    """Return one job per domain, method and training seed; hand-written operators need only one seed.

    An argument that is None has its default: `DOMAINS`, the methods `OURS` and `HAND_WRITTEN`, `SEEDS`,
    `DEMOS`, `TASKS` or `TIMEOUT`.
    """
    domains = domains or DOMAINS
    settings = (demos or DEMOS, tasks or TASKS, timeout or TIMEOUT)
    for domain in domains:
        if domain not in kinder_names():
            raise UnknownNameError("domain of KinDER", domain, kinder_names())
    return tuple(
        Job(domain, method, seed, *settings, cpu_time=True)
        for seed in range(seeds or SEEDS)
        for domain in domains
        for method in methods or (OURS, HAND_WRITTEN)
        if method != HAND_WRITTEN or seed == 0
    )


def run_kinder_job(job: Job) -> JobResult:
    """Learn from demonstrations, unless the operators are hand-written, and solve the test tasks."""
    try:
        environment = make_environment(job.domain)
        if job.learner == HAND_WRITTEN:
            model = environment.oracle_model()
            planning = run_config(replace(job, learner=OURS)).planning.with_horizon(environment.horizon)
            solver = BilevelSolver(model, environment.execute, planning)
            return solve_kinder_tasks(job, environment, solver.solve, len(model.operators))
        config = replace(run_config(job), tasks=0).for_environment(environment)
        result = run(environment, config)
        assert result.learned is not None  # there is no limit on the learning time
        solve = result.learned.solver(environment, config.planning, config.oracle_samplers).solve
        return solve_kinder_tasks(job, environment, solve, learning=result.summary)
    except Exception:
        return JobResult(job, {}, (), traceback.format_exc())


def solve_kinder_tasks(
    job: Job,
    environment: Environment,
    solve: Solve,
    operators: int = 0,
    learning: dict[str, Any] | None = None,
) -> JobResult:
    """Solve the test tasks of a job; a plan counts only if KinDER itself confirms it.

    `learning` is the summary of the run that learned the operators. For hand-written operators, `learning`
    is None, and `operators` is the number of operators.
    """
    config = run_config(replace(job, learner=OURS))
    identity = replace(config.identity(job.domain), learner=job.learner)
    tasks = environment.tasks(Split.TEST, job.tasks, FIRST_TASK)
    records, counts = [], []
    for record, result in evaluate(solve, environment, tasks, None, identity, config.planning.clock):
        records.append(record)
        if record.solved:
            counts.append(_low_level_count(environment, tasks[record.task], result.actions))
    learned = learning or learning_summary(transitions=0, operators=operators, coverage=0.0, seconds={})
    summary = run_summary(job.domain, learned, 0.0, evaluation_summary(records))
    return JobResult(job, summary | {LOW_LEVEL_ACTIONS: mean(counts) if counts else None}, tuple(records))


def _low_level_count(environment: Environment, task: Task, actions: Sequence[GroundController]) -> int:
    state, count = task.initial_state, 0
    for action in actions:
        execution = environment.execute(state, action)
        state, count = execution.state, count + execution.steps
    return count
