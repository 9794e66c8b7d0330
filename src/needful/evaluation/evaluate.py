"""Solve test tasks with a model and judge the plans by executing them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from needful.core.controllers import GroundController
from needful.core.model import PlanningModel
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.evaluation.records import RunIdentity, RunRecord, record
from needful.planning.bilevel import PlanningConfig, plan
from needful.seeding import seed_for


def evaluate(
    model: PlanningModel,
    environment: Environment,
    tasks: Sequence[Task],
    config: PlanningConfig,
    identity: RunIdentity,
) -> Iterator[tuple[RunRecord, PlanningResult]]:
    """Yield the record of each task as soon as it is done, with the plan that was executed.

    The model must be bound to the environment's vocabulary.
    """
    for index, task in enumerate(tasks):
        start = time.monotonic()
        seed = planning_seed(identity.seed, identity.domain, index)
        result = plan(task, model, environment.execute, config, seed)
        seconds = time.monotonic() - start
        outcome = result.outcome
        if result.solved and not achieves_goal(environment, task, result.actions, config.horizon):
            outcome = Outcome.GOAL_MISSED
        yield record(identity, index, result, outcome, seconds), result


def planning_seed(seed: int, domain: str, task: int) -> int:
    """Return the seed of planning for one test task, the same wherever it is solved."""
    return seed_for(seed, "plan", domain, task)


def achieves_goal(
    environment: Environment, task: Task, actions: Sequence[GroundController], horizon: int
) -> bool:
    """Execute actions from the task's initial state; return whether the goal holds within the horizon."""
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
