"""The horizon: the environment's by default, the user's if given."""

from __future__ import annotations

import numpy as np
import pytest

from envs.toy_walk import ToyWalk
from needful.core.state import State
from needful.envs.catalogue import make_environment
from needful.envs.contract import MAX_STEPS, MultiStepEnvironment
from needful.errors import DemonstrationError
from needful.evaluation.evaluate import achieves_goal
from needful.evaluation.pipeline import RunConfig, run
from needful.planning.bilevel import PlanningConfig, plan


class SlowWalk(ToyWalk):
    """Walks at most 0.02 per low-level action, so each task takes more than 100 of them."""

    def step(self, state: State, low_level_action: np.ndarray) -> State:
        return super().step(state, np.clip(low_level_action, -0.02, 0.02))


def test_closed_loops_may_take_as_many_low_level_actions_as_100_controllers() -> None:
    assert MultiStepEnvironment.horizon == 100 * MAX_STEPS
    result = run(SlowWalk(), RunConfig(demos=3, tasks=2))
    assert result.summary["solved"] == 2
    task = SlowWalk().task("test", 0, seed=0)
    execution = SlowWalk().execute(task.initial_state, result.collected.demonstrations[0].actions[0])
    assert execution.steps > 100


def test_a_given_horizon_also_limits_demonstrations() -> None:
    config = RunConfig(demos=2, tasks=1, planning=PlanningConfig(horizon=50))
    with pytest.raises(DemonstrationError, match=r"solved none of 2 training tasks.*: horizon exceeded"):
        run(SlowWalk(), config)


def test_planning_without_an_environment_has_no_limit_by_default() -> None:
    env = SlowWalk()
    task, model = env.task("train", 0, seed=0), env.oracle_model()
    result = plan(task, model, env.execute)
    assert result.solved
    assert not plan(task, model, env.execute, PlanningConfig(horizon=100)).solved
    assert achieves_goal(env, task, result.actions)
    assert not achieves_goal(env, task, result.actions, horizon=100)


def test_the_default_identity_is_that_of_the_domains_horizon() -> None:
    screws = make_environment("screws")
    default = RunConfig().for_environment(screws)
    assert default.planning.horizon == screws.horizon == 100
    given = RunConfig(planning=PlanningConfig(horizon=100)).for_environment(screws)
    assert default.identity("screws") == given.identity("screws")
    longer = RunConfig(planning=PlanningConfig(horizon=200)).for_environment(screws)
    assert longer.planning.horizon == 200
    assert default.identity("screws") != longer.identity("screws")
    assert default.identity("screws") != default.identity("screws", "digest of recordings")
