"""Plans executed in simulated worlds: open loop, closed loop and with disturbances."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import toy_world
from needful.approaches.learned_model import BilevelSolver
from needful.core.controllers import GroundController
from needful.core.model import PlanningModel
from needful.core.plans import Outcome
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.envs.disturbances import Disturbances, SimulatedWorld
from needful.errors import InvalidInputError, ResultsError
from needful.evaluation.evaluate import Evaluation, solve_tasks
from needful.evaluation.execution import ExecutionConfig, TaskExecution, execution_summary, measured_ranges
from needful.evaluation.pipeline import RunConfig, run
from needful.evaluation.records import RunIdentity, RunRecord
from needful.planning.bilevel import PlanningConfig
from needful.storage.json_fields import Field, Source
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
PLANNING = PlanningConfig()
SOLVER = BilevelSolver(TOY.oracle_model(), TOY.execute, PLANNING)
IDENTITY = RunIdentity("toy", "handmade", 7, {"needful": "1"}, "0123456789abcdef")
CLOSED = ExecutionConfig(closed_loop=True)
TASK = toy_world.task()


def evaluated(config: ExecutionConfig, tasks: int = 5) -> Evaluation:
    execution = TaskExecution.of(SOLVER, TOY, config, PLANNING.horizon)
    return solve_tasks(execution, TOY, tasks, PLANNING.horizon, IDENTITY)


def disturbed(closed_loop: bool, **rates: float) -> ExecutionConfig:
    return ExecutionConfig(closed_loop, Disturbances(**rates))


@pytest.mark.parametrize("config", [ExecutionConfig(), CLOSED])
def test_in_an_exact_world_all_modes_execute_the_same_plan(config: ExecutionConfig) -> None:
    usual = solve_tasks(SOLVER.solve, TOY, 5, PLANNING.horizon, IDENTITY)
    found = evaluated(config)
    for expected, record in zip(usual.records, found.records, strict=True):
        assert record.execution is not None
        assert record.execution["controllers"] == record.plan_length
        assert replace(record, seconds={}, execution=None) == replace(expected, seconds={})


def test_closed_loop_execution_survives_failing_skills() -> None:
    open_loop, closed_loop = (evaluated(disturbed(mode, skill_failures=0.3), 20) for mode in (False, True))
    assert sum(record.solved for record in open_loop.records) < 15
    assert {record.outcome for record in open_loop.records} == {"solved", "goal_missed"}
    assert all(record.solved for record in closed_loop.records)
    for record in closed_loop.records:
        assert record.execution is not None
        assert record.execution["controllers"] == record.plan_length >= 3
    assert evaluated(disturbed(True, skill_failures=0.3), 20).records[3].plan_length == (
        closed_loop.records[3].plan_length
    )


def test_the_true_state_is_judged() -> None:
    class Blind(BilevelSolver):
        """Believes that the goal holds at once."""

        def act(self, task: Task, world: SimulatedWorld, seed: int):  # type: ignore[no-untyped-def, override]
            return replace(super().act(task, world, seed), outcome=Outcome.SOLVED)

    world = disturbed(True, skill_failures=1.0)
    blind = Blind(TOY.oracle_model(), TOY.execute, PLANNING)
    trial = TaskExecution.of(blind, TOY, world, PLANNING.horizon).run(TASK, 0)
    assert trial.outcome is Outcome.GOAL_MISSED
    trial = TaskExecution.of(SOLVER, TOY, world, PLANNING.horizon).run(TASK, 0)
    assert trial.outcome is not Outcome.SOLVED
    assert trial.result.states == (TASK.initial_state,) * (len(trial.result.actions) + 1)


def test_the_horizon_counts_executed_actions() -> None:
    trial = TaskExecution.of(SOLVER, TOY, disturbed(False, skill_failures=0.01), horizon=2).run(TASK, 0)
    assert trial.outcome is Outcome.HORIZON_EXCEEDED


def test_records_and_summaries_contain_the_settings() -> None:
    config = disturbed(True, skill_failures=0.25, parameter_noise=0.001)
    evaluation = evaluated(config, tasks=2)
    record = evaluation.records[0]
    line = json.loads(record.to_json())
    assert line["execution"] == {
        "mode": "closed-loop",
        "skill_failures": 0.25,
        "observation_noise": 0.0,
        "parameter_noise": 0.001,
        "controllers": record.plan_length,
        "replans": 0,
    }
    source = Source("records.jsonl", ResultsError)
    assert RunRecord.from_json(Field(line, source, "line 1")) == record
    summary = execution_summary(config, evaluation.records)["execution"]
    lengths = [one.plan_length for one in evaluation.records]
    assert summary["controllers_mean"] == sum(lengths) / 2
    assert (summary["mode"], summary["replans_mean"]) == ("closed-loop", 0.0)
    assert execution_summary(ExecutionConfig(), evaluation.records) == {}


def test_a_run_executes_its_plans_as_configured() -> None:
    config = RunConfig(demos=4, tasks=3, execution=disturbed(True, skill_failures=0.2))
    result = run(TOY, config)
    assert result.summary["success_rate"] == 1.0
    assert result.summary["execution"]["skill_failures"] == 0.2
    usual = RunConfig(demos=4, tasks=3)
    assert "execution" not in run(TOY, usual).summary
    hashes = {
        replace(usual, execution=execution).identity("toy").config_hash
        for execution in (ExecutionConfig(), CLOSED, config.execution, disturbed(False, skill_failures=0.2))
    }
    assert len(hashes) == 4


def test_ranges_are_measured_on_demonstrations() -> None:
    ranges = measured_ranges(make_environment("screws"))
    assert ranges["gripper", "pose_x"] > 5.0  # it always starts at 0
    assert ranges["screw", "held"] == 0.0


def test_observation_noise_needs_a_continuous_feature() -> None:
    with pytest.raises(InvalidInputError, match="All features of 'toy' are discrete"):
        TaskExecution.of(SOLVER, TOY, disturbed(True, observation_noise=0.1), PLANNING.horizon)


def test_without_demonstrations_ranges_are_measured_on_initial_states() -> None:
    class Silent(type(make_environment("cluttered-1d"))):  # type: ignore[misc]
        def oracle_model(self) -> PlanningModel:
            return Environment.oracle_model(self)

    class Clumsy(Silent):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> tuple[GroundController, ...]:
            return ()

    ranges = measured_ranges(Silent())
    assert ranges["dot", "x"] == pytest.approx(100.0, rel=0.1)
    assert measured_ranges(Clumsy()) == ranges
