"""Execution of plans in worlds with failing skills and noise."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import needful
import toy_world
from needful.approaches.learned_model import BilevelSolver
from needful.core.controllers import Controller, GroundController
from needful.core.model import PlanningModel
from needful.core.objects import Type
from needful.core.plans import Outcome
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment, Split
from needful.errors import InvalidInputError, ResultsError
from needful.evaluation.evaluate import Evaluation, solve_tasks
from needful.evaluation.execution import (
    MAX_LEVELS,
    Disturbances,
    ExecutionConfig,
    SimulatedWorld,
    TaskExecution,
    execution_summary,
    feature_ranges,
    measured_ranges,
)
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
STATE = toy_world.task().initial_state
ROBOT, BALL = toy_world.ROBOT("robot"), toy_world.BALL("ball0")
MOVE = toy_world.MOVE_TO(ROBOT, BALL, parameters=(0.25,))
RANGES = {("robot", "x"): 10.0, ("ball", "x"): 0.0}


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


def world(seed: int = 0, **rates: float) -> SimulatedWorld:
    return SimulatedWorld(TOY, STATE, Disturbances(**rates), RANGES, seed)


def test_an_exact_world_is_the_environment() -> None:
    exact = world()
    assert exact.observe() is STATE
    execution = exact.act(MOVE)
    assert execution == TOY.execute(STATE, MOVE)
    assert exact.state == execution.state == exact.states[1]
    assert (exact.actions, exact.steps, exact.states[0]) == ([MOVE], 1, STATE)
    assert repr(exact) == "SimulatedWorld(toy, 1 actions)"


def test_a_failing_skill_changes_nothing_and_takes_a_step() -> None:
    failing = world(skill_failures=1.0)
    execution = failing.act(MOVE)
    assert (execution.state, execution.steps, failing.state, failing.steps) == (STATE, 1, STATE, 1)


def test_skills_fail_with_the_given_probability() -> None:
    failed = 0
    unreliable = world(skill_failures=0.3)
    for number in range(1000):
        before = unreliable.state
        unreliable.act(toy_world.MOVE_TO(ROBOT, BALL, parameters=(number / 1000,)))
        failed += unreliable.state == before
    assert 250 < failed < 350


def test_readings_have_the_given_deviation_and_the_state_does_not_change() -> None:
    noisy = world(observation_noise=0.02)
    readings = [noisy.observe() for _ in range(1000)]
    positions = [reading.get(ROBOT, "x") for reading in readings]
    assert np.mean(positions) == pytest.approx(STATE.get(ROBOT, "x"), abs=0.03)
    assert np.std(positions) == pytest.approx(0.2, rel=0.1)
    for reading in readings:  # features with the range 0, or without a range, are exact
        assert all(reading[obj] == STATE[obj] for obj in STATE if obj != ROBOT)
    assert noisy.state is STATE


def test_executed_parameters_have_the_given_deviation_within_their_bounds() -> None:
    noisy = world(parameter_noise=0.1)  # the bounds are -2 and 2
    offsets = []
    for _ in range(1000):
        noisy.act(MOVE)
        offsets.append(noisy.state.get(ROBOT, "x") - noisy.state.get(BALL, "x"))
    assert np.mean(offsets) == pytest.approx(0.25, abs=0.05)
    assert np.std(offsets) == pytest.approx(0.4, rel=0.1)
    assert -2.0 <= min(offsets) <= max(offsets) <= 2.0
    assert noisy.actions == [MOVE] * 1000  # the commanded actions


def test_controllers_that_cannot_start_change_nothing() -> None:
    never = Controller("MoveTo", (toy_world.ROBOT, toy_world.BALL), initiable=lambda *arguments: False)
    execution = world().act(GroundController(never, (ROBOT, BALL)))
    assert (execution.state, execution.steps) == (STATE, 0)
    assert "cannot start" in str(execution.failure)


def test_worlds_with_equal_seeds_are_equal() -> None:
    rates = {"skill_failures": 0.5, "observation_noise": 0.1, "parameter_noise": 0.1}

    def run(seed: int) -> tuple[State, ...]:
        one = world(seed, **rates)
        return tuple(one.act(MOVE).state for _ in range(10))

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_which_skills_fail_does_not_depend_on_the_number_of_readings() -> None:
    one, other = (world(3, skill_failures=0.5, observation_noise=0.1) for _ in range(2))
    for number in range(20):
        action = toy_world.MOVE_TO(ROBOT, BALL, parameters=(number / 20,))
        for _ in range(5):
            other.observe()
        one.act(action)
        other.act(action)
    assert one.states == other.states


def test_ranges_of_features() -> None:
    thing = Type("thing", ("x", "flag", "level", "number"))
    cup = Type("cup", (*thing.features, "fill"), thing)
    states = [
        State(
            {
                thing("a"): (0.1 * k, k % 2, 0.5 * (k % MAX_LEVELS), k),
                cup("b"): (-0.5 - 0.1 * k, 1.0, 0.0, 0.0, 0.3 + k),
            }
        )
        for k in range(10)
    ]
    ranges = feature_ranges(states)
    assert ranges["thing", "x"] == pytest.approx(0.9 + 1.4)  # of the type and its subtypes
    assert ranges["thing", "fill"] == pytest.approx(9.0)
    assert ranges["thing", "flag"] == ranges["thing", "level"] == ranges["thing", "number"] == 0.0


def test_flags_of_a_domain_are_discrete() -> None:
    env = needful.make_environment("cluttered-1d")
    ranges = feature_ranges(task.initial_state for task in env.tasks(Split.TRAIN, 10, 0))
    assert ranges["dot", "x"] == pytest.approx(100.0, rel=0.1)
    assert ranges["dot", "grasped"] == 0.0


def test_invalid_settings() -> None:
    with pytest.raises(
        InvalidInputError, match=r"skill_failures must be a number between 0 and 1, got 1\.5"
    ):
        Disturbances(skill_failures=1.5)
    with pytest.raises(InvalidInputError, match="needs the ranges of features"):
        SimulatedWorld(TOY, STATE, Disturbances(observation_noise=0.1))
    assert not Disturbances()
    assert Disturbances(parameter_noise=0.1)


def test_rates_must_be_numbers() -> None:
    with pytest.raises(
        InvalidInputError, match=r"skill_failures must be a number between 0 and 1, got '0.1'"
    ):
        Disturbances(skill_failures="0.1")  # type: ignore[arg-type]
