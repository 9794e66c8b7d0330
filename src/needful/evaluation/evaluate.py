"""Solve test tasks and check the plans by executing them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from needful.core.controllers import GroundController
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.evaluation.records import RunIdentity, RunRecord, make_record
from needful.seeding import seed_for

# A function that takes a task and a seed and solves the task, such as `approaches.base.Solver.solve`.
Solve: TypeAlias = Callable[[Task, int], PlanningResult]


def evaluate(
    solve: Solve,
    environment: Environment,
    tasks: Sequence[Task],
    horizon: int,
    identity: RunIdentity,
) -> Iterator[tuple[RunRecord, PlanningResult]]:
    """Solve each task and execute its plan; yield the record of the task and the planning result.

    A plan that needs more than `horizon` low-level actions counts as failed.
    """
    for index, task in enumerate(tasks):
        start = time.monotonic()
        seed = planning_seed(identity.seed, identity.domain, index)
        result = solve(task, seed)
        seconds = time.monotonic() - start
        outcome = result.outcome
        if result.solved and not achieves_goal(environment, task, result.actions, horizon):
            outcome = Outcome.GOAL_MISSED
        yield make_record(identity, index, result, outcome, seconds, len(task.objects)), result


def planning_seed(seed: int, domain: str, task: int) -> int:
    """Return the seed for planning a test task, so that all commands plan this task with the same seed."""
    return seed_for(seed, "plan", domain, task)


def achieves_goal(
    environment: Environment, task: Task, actions: Sequence[GroundController], horizon: int
) -> bool:
    """Return whether executing the actions from the task's initial state achieves the goal.

    The goal must hold after at most `horizon` low-level actions.
    """
    state, steps = task.initial_state, 0
    for action in actions:
        if task.achieved_in(state):
            break
        execution = environment.execute(state, action)
        steps += execution.steps
        if execution.steps == 0 or steps > horizon:
            return False
        state = execution.state
    return task.achieved_in(state)


def not_learned(task: Task, seed: int) -> PlanningResult:
    """Return a failure for every task; used instead of a solver if learning ran out of time."""
    return PlanningResult(Outcome.NOT_LEARNED)
