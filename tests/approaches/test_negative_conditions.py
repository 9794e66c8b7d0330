"""A world with a negative condition is solved with 20 rooms as with 5, from operators to execution."""

from __future__ import annotations

import pytest

from blocked_rooms import BlockedRooms
from needful.approaches.bilevel import BilevelApproach, learn_model
from needful.core.plans import Outcome
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.contract import Split
from needful.evaluation.evaluate import achieves_goal
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.negative_preconditions import positive_preconditions_only
from needful.planning.bilevel import PlanningConfig, plan

# The first abstract plan must succeed.
CONFIG = PlanningConfig(max_abstract_plans=1)
TASKS = 10


@pytest.fixture(scope="module")
def demonstrations():
    environment = BlockedRooms(5)
    return collect_demonstrations(environment, OracleDemonstrator(environment), 30, seed=0).demonstrations


def count_solved(model, rooms: int) -> int:
    environment, solved = BlockedRooms(rooms), 0
    for seed, task in enumerate(environment.tasks(Split.TEST, TASKS, seed=1)):
        result = plan(task, model, environment.execute, CONFIG, seed)
        if result.outcome is Outcome.SOLVED:
            assert achieves_goal(environment, task, result.actions, CONFIG.horizon)
            solved += 1
    return solved


@pytest.mark.parametrize("rooms", [5, 20])
def test_all_tasks_are_solved(demonstrations, rooms):
    model = learn_model(BlockedRooms.vocabulary, demonstrations).model
    assert {str(a) for one in model.operators for a in one.negative_preconditions} == {"Blocked(?x2)"}
    assert count_solved(model, rooms) == TASKS


def test_with_positive_preconditions_only_most_large_tasks_are_not_solved(demonstrations):
    config = OperatorLearningConfig(negatives=positive_preconditions_only)

    def learn(demonstrations, replays=(), deadline=None):
        return learn_operators(demonstrations, config)

    approach = BilevelApproach("positive", "", learn)
    model = learn_model(BlockedRooms.vocabulary, demonstrations, approach).model
    assert not any(one.negative_preconditions for one in model.operators)
    assert count_solved(model, 20) < TASKS / 2
