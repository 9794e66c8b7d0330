"""Solving test tasks: plans are checked by executing them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import toy_world
from needful.approaches.learned_model import BilevelSolver
from needful.core.controllers import Execution, GroundController
from needful.core.plans import Outcome
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Split
from needful.evaluation.evaluate import Solve, achieves_goal, evaluate, planning_seed
from needful.evaluation.records import RunIdentity
from needful.planning.bilevel import PlanningConfig, plan
from toy_environment import ToyEnvironment, Unreliable
from toy_world import DROP, GRASP, MOVE_TO

TOY = ToyEnvironment()
IDENTITY = RunIdentity("toy", "handmade", 7, {"needful": "1"}, "0123456789abcdef")
ROBOT, BALL, JAR = toy_world.ROBOT("robot"), toy_world.BALL("ball0"), toy_world.JAR("jar0")
PLAN = (MOVE_TO(ROBOT, BALL, parameters=(0.0,)), GRASP(ROBOT, BALL), DROP(ROBOT, BALL, JAR))
TASK = toy_world.task()
HORIZON = PlanningConfig().horizon


def planning(environment: ToyEnvironment, config: PlanningConfig | None = None) -> Solve:
    return BilevelSolver(TOY.oracle_model(), environment.execute, config or PlanningConfig()).solve


class Slow(ToyEnvironment):
    """Takes many low-level actions for each controller."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def execute(self, state: State, action: GroundController) -> Execution:
        return Execution(super().execute(state, action).state, self.steps)


def test_a_plan_must_reach_the_goal() -> None:
    assert achieves_goal(TOY, TASK, PLAN, horizon=3)
    assert not achieves_goal(TOY, TASK, PLAN[:2], horizon=3)
    assert not achieves_goal(TOY, TASK, (), horizon=3)
    assert not achieves_goal(TOY, TASK, PLAN[1:], horizon=3)


class Doubtful(ToyEnvironment):
    """Confirms plans that begin with moving."""

    def confirms(self, task: Task, actions: Sequence[GroundController]) -> bool:
        return actions[0].controller == MOVE_TO


def test_the_environment_must_confirm_a_plan() -> None:
    assert achieves_goal(Doubtful(), TASK, PLAN, horizon=3)
    held = TOY.execute(TASK.initial_state, PLAN[0]).state
    assert achieves_goal(TOY, Task(held, TASK.goal), PLAN[1:], horizon=3)
    assert not achieves_goal(Doubtful(), Task(held, TASK.goal), PLAN[1:], horizon=3)


def test_low_level_actions_count_towards_the_horizon() -> None:
    assert not achieves_goal(TOY, TASK, PLAN, horizon=2)
    assert achieves_goal(Slow(5), TASK, PLAN, horizon=15)
    assert not achieves_goal(Slow(5), TASK, PLAN, horizon=14)


def test_execution_stops_at_the_goal() -> None:
    counting = Unreliable(idle=())
    assert achieves_goal(counting, TASK, (*PLAN, *PLAN), horizon=3)
    assert counting.executions == 3
    state = TASK.initial_state
    for action in PLAN:
        state = TOY.execute(state, action).state
    assert achieves_goal(counting, Task(state, TASK.goal), PLAN, horizon=0)
    assert counting.executions == 3


def test_execution_ends_with_a_failed_controller() -> None:
    lids = toy_world.task(lids_on=True)
    assert not achieves_goal(TOY, lids, PLAN, horizon=10)
    with_lid_off = (*PLAN[:2], toy_world.TAKE_LID_OFF(ROBOT, JAR), PLAN[2])
    assert achieves_goal(TOY, lids, with_lid_off, horizon=10)
    assert not achieves_goal(TOY, lids, (*PLAN, *with_lid_off), horizon=10)


def test_each_task_gives_a_record() -> None:
    tasks = TOY.tasks(Split.TEST, 3, seed=7)
    found = list(evaluate(planning(TOY), TOY, tasks, HORIZON, IDENTITY))
    for index, (record, result) in enumerate(found):
        assert (record.task, record.outcome, record.solved) == (index, "solved", True)
        assert (record.domain, record.learner, record.seed) == ("toy", "handmade", 7)
        assert (record.versions, record.config_hash) == ({"needful": "1"}, "0123456789abcdef")
        assert record.plan_length == len(result.actions) == 3
        assert record.objects == len(tasks[index].objects) > 0
        assert (record.abstract_plans, record.samples) == (1, 1)
        assert (record.failure, record.missing) == (None, ())
        assert record.nodes_created == result.statistics.nodes_created > 0
        seed = planning_seed(7, "toy", index)
        alone = plan(tasks[index], TOY.oracle_model(), TOY.execute, PlanningConfig(), seed)
        assert alone.actions == result.actions
    assert len({planning_seed(7, "toy", index) for index in range(3)} | {planning_seed(8, "toy", 0)}) == 4


def test_records_are_yielded_one_by_one() -> None:
    counting = Unreliable(idle=())
    stream = evaluate(planning(counting), counting, [TASK, TASK], HORIZON, IDENTITY)
    assert next(stream)[0].solved
    assert counting.executions == 6  # 3 to plan and 3 to check the first task; none yet for the second


def test_a_plan_that_fails_in_execution_is_not_a_solution() -> None:
    changed = Unreliable(idle=range(4, 7))
    ((record, result),) = evaluate(planning(changed), changed, [TASK], HORIZON, IDENTITY)
    assert result.solved
    assert (record.outcome, record.solved) == (Outcome.GOAL_MISSED.value, False)
    assert (record.plan_length, record.failure, record.missing) == (0, "goal missed", ())


@pytest.mark.parametrize(
    ("config", "outcome"),
    [(PlanningConfig(timeout=1e-9), "timeout"), (PlanningConfig(horizon=2), "horizon_exceeded")],
)
def test_failures_of_planning_are_records_too(config: PlanningConfig, outcome: str) -> None:
    ((record, result),) = evaluate(planning(TOY, config), TOY, [TASK], config.horizon, IDENTITY)
    assert (record.outcome, record.plan_length) == (outcome, 0)
    assert record.failure == (result.failure.detail if result.failure else outcome)


def test_a_missed_subgoal_is_named() -> None:
    stuck = Unreliable(idle=range(1000))
    config = PlanningConfig(max_abstract_plans=1)
    ((record, _),) = evaluate(planning(stuck, config), stuck, [TASK], config.horizon, IDENTITY)
    assert record.outcome == Outcome.SAMPLER_EXHAUSTED.value
    assert record.missing == ("Near(robot, ball0)",)
    assert record.failure
