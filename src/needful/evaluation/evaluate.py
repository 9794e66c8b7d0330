"""Solve test tasks, and check the plans by executing them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.approaches.base import Progress, Solver
from needful.core.controllers import GroundController
from needful.core.limits import Clock
from needful.core.model import Vocabulary
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.evaluation.execution import ExecutionConfig, TaskExecution
from needful.evaluation.records import RunIdentity, RunRecord, make_record
from needful.evaluation.run_folder import RunFolder
from needful.seeding import seed_for
from needful.storage.plans import record_plan

# A function that takes a task and a seed and solves the task, such as `approaches.base.Solver.solve`.
Solve: TypeAlias = Callable[[Task, int], PlanningResult]
# A function that is called with the record, the task and the planning result as soon as a task is finished.
OnResult: TypeAlias = Callable[[RunRecord, Task, PlanningResult], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The records of test tasks, and the first solved task with its plan (None if none was solved)."""

    records: tuple[RunRecord, ...]
    example: tuple[Task, PlanningResult] | None


def make_solve(
    solver: Solver, environment: Environment, execution: ExecutionConfig, horizon: int | None
) -> Solve | TaskExecution:
    """Return the function or object that solves test tasks.

    It is `solver.solve` for open-loop execution without failures and noise (the default). Otherwise it is a
    `TaskExecution`.
    """
    return TaskExecution.of(solver, environment, execution, horizon) if execution else solver.solve


def not_learned(task: Task, seed: int) -> PlanningResult:
    """Return a failure for every task; used instead of a solver if learning ran out of time."""
    return PlanningResult(Outcome.NOT_LEARNED)


def save_and_report(
    folder: RunFolder | None, vocabulary: Vocabulary, progress: Progress, tasks: int
) -> OnResult:
    """Return a function that writes each result to the folder, if there is one, and shows progress.

    `vocabulary` has the types, predicates and controllers that occur in the plans.
    """
    report = progress.stage("Solving unseen tasks", tasks)

    def on_result(record: RunRecord, task: Task, result: PlanningResult) -> None:
        if folder is not None:
            folder.add_plan(vocabulary, record_plan(record.task, task, result, record.outcome))
            folder.add_record(record)
        report(record.task + 1)

    return on_result


def solve_tasks(
    solve: Solve | TaskExecution,
    environment: Environment,
    count: int,
    horizon: int | None,
    identity: RunIdentity,
    on_result: OnResult = lambda record, task, result: None,
    clock: Clock = time.monotonic,
) -> Evaluation:
    """Solve the first `count` test tasks that are sampled with `identity.seed`; return their evaluation.

    `clock` measures the time for each task, in seconds.
    """
    tasks = environment.tasks(Split.TEST, count, identity.seed)
    records: list[RunRecord] = []
    example = None
    for record, result in evaluate(solve, environment, tasks, horizon, identity, clock):
        records.append(record)
        task = tasks[record.task]
        on_result(record, task, result)
        if example is None and record.solved:
            example = (task, result)
    return Evaluation(tuple(records), example)


def evaluate(
    solve: Solve | TaskExecution,
    environment: Environment,
    tasks: Sequence[Task],
    horizon: int | None,
    identity: RunIdentity,
    clock: Clock = time.monotonic,
) -> Iterator[tuple[RunRecord, PlanningResult]]:
    """Solve each task and execute its plan; yield the record of the task and the planning result.

    A plan that needs more than `horizon` low-level actions counts as failed. If `horizon` is None, the
    environment's horizon is used. If `solve` is a `TaskExecution`, the tasks are solved in simulated worlds
    and `horizon` is ignored, because a `TaskExecution` has its own.
    """
    for number, task in enumerate(tasks):
        start = clock()
        seed = planning_seed(identity.seed, identity.domain, number)
        if isinstance(solve, TaskExecution):
            trial = solve.run(task, seed)
            result, outcome, seconds, execution = (
                trial.result,
                trial.outcome,
                trial.seconds,
                trial.execution,
            )
        else:
            result, execution = solve(task, seed), None
            seconds = clock() - start
            outcome = result.outcome
            if result.solved and not achieves_goal(environment, task, result.actions, horizon):
                outcome = Outcome.GOAL_MISSED
        yield make_record(identity, number, result, outcome, seconds, task, execution), result


def planning_seed(seed: int, domain: str, task: int) -> int:
    """Return the seed for planning a test task, so that all commands plan this task with the same seed."""
    return seed_for(seed, "plan", domain, task)


def achieves_goal(
    environment: Environment, task: Task, actions: Sequence[GroundController], horizon: int | None = None
) -> bool:
    """Return whether executing the actions from the task's initial state achieves the goal.

    The goal must hold after at most `horizon` low-level actions. If `horizon` is None, the environment's
    horizon is used. The environment must also confirm the plan (see `Environment.confirms`).
    """
    limit = environment.horizon if horizon is None else horizon
    state, steps = task.initial_state, 0
    for action in actions:
        if task.achieved_in(state):
            break
        execution = environment.execute(state, action)
        steps += execution.steps
        if execution.steps == 0 or steps > limit:
            return False
        state = execution.state
    return task.achieved_in(state) and environment.confirms(task, actions)
