"""Closed-loop execution: what the agent decides after each kind of observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy_world
from fake_clock import FakeClock
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import ConstantSampler, PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import AgentResult, Decision, Outcome, necessary_atoms
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import oracle_operator
from needful.errors import EnvironmentFailure, InvalidInputError
from needful.planning.agent import MAX_FAILED_PLANS, Agent, AgentConfig
from needful.planning.bilevel import PlanningConfig, plan
from toy_world import UniformSampler

TASK = toy_world.task()
ROBOT, BALL, JAR = toy_world.ROBOT("robot"), toy_world.BALL("ball0"), toy_world.JAR("jar0")
MODEL = toy_world.model(ConstantSampler((0.0,)))
AGENT = Agent(MODEL, toy_world.execute)

Tamper = Callable[[State, State], State]


class ScriptedWorld:
    """A world that follows the simulator, except after the actions in `tampered`, counted from 1.

    For these, a function of the states before and after the action returns the true next state.
    """

    def __init__(
        self,
        state: State,
        tampered: Mapping[int, Tamper] | None = None,
        execute: Callable[[State, GroundController], Execution] = toy_world.execute,
    ) -> None:
        self.state, self.tampered, self.execute = state, tampered or {}, execute
        self.actions: list[GroundController] = []
        self.readings = 0

    def observe(self) -> State:
        self.readings += 1
        return self.state

    def act(self, action: GroundController) -> Execution:
        self.actions.append(action)
        execution = self.execute(self.state, action)
        tamper = self.tampered.get(len(self.actions))
        if tamper is not None:
            execution = replace(execution, state=tamper(self.state, execution.state))
        self.state = execution.state
        return execution


class AlwaysFailing(ScriptedWorld):
    """A world in which no controller has an effect."""

    def act(self, action: GroundController) -> Execution:
        self.actions.append(action)
        return Execution(self.state)


def nothing_happens(before: State, after: State) -> State:
    return before


def changed(changes: dict[Object, dict[str, float]]) -> Tamper:
    return lambda before, after: after.replace(changes)


def decisions(result: AgentResult) -> list[str]:
    return [event.decision.value for event in result.events]


def controllers(result: AgentResult) -> list[str]:
    return [action.controller.name for action in result.actions]


@given(
    balls=st.integers(1, 3),
    lids_on=st.booleans(),
    seed=st.integers(0, 50),
    reach=st.floats(0.3, 1.5),
)
def test_in_an_exact_world_the_plan_is_executed(balls: int, lids_on: bool, seed: int, reach: float) -> None:
    task = toy_world.task(balls, lids_on=lids_on, goal_balls=balls)
    model = toy_world.model(UniformSampler(-reach, reach))
    planned = plan(task, model, toy_world.execute, seed=seed)
    world = ScriptedWorld(task.initial_state)
    result = Agent(model, toy_world.execute).run(task, world, seed)
    if planned.solved:
        assert result.solved
        assert (result.actions, result.states) == (planned.actions, planned.states)
        assert result.steps == planned.abstract_plan
        assert result.statistics.samples == planned.statistics.samples
        assert decisions(result) == ["plan", *["continue"] * (len(planned.actions) - 1), "finish"]
        assert result.replans == 0


def test_nothing_is_executed_if_the_goal_holds() -> None:
    state = TASK.initial_state.replace({BALL: {"x": 1000.0, "inside": 1.0}})
    result = AGENT.run(TASK, ScriptedWorld(state))
    assert result.solved
    assert (result.actions, decisions(result)) == ((), ["finish"])


def test_a_step_without_effect_is_tried_again_as_planned() -> None:
    world = ScriptedWorld(TASK.initial_state, {1: nothing_happens, 3: nothing_happens})
    result = AGENT.run(TASK, world)
    assert result.solved
    assert controllers(result) == ["MoveTo", "MoveTo", "Grasp", "Grasp", "Drop"]
    assert result.actions[0] == result.actions[1]
    assert decisions(result) == ["plan", "retry", "continue", "retry", "continue", "finish"]
    missed = result.events[1]
    assert (missed.step, missed.executed) == (1, result.actions[0])
    assert list(map(str, missed.missing)) == ["Near(robot, ball0)"]
    assert "MoveTo(robot, ball0)" in missed.reason
    assert str(missed).startswith("1. retry: MoveTo(robot, ball0) had no effect")


def test_after_a_second_miss_the_parameters_are_sampled_again() -> None:
    world = ScriptedWorld(TASK.initial_state, {1: nothing_happens, 2: nothing_happens})
    result = Agent(toy_world.model(UniformSampler(-0.4, 0.4)), toy_world.execute).run(TASK, world)
    assert result.solved
    assert decisions(result)[:3] == ["plan", "retry", "resample"]
    assert result.actions[0] == result.actions[1] != result.actions[2]


def test_steps_that_are_no_longer_necessary_are_skipped() -> None:
    world = ScriptedWorld(TASK.initial_state, {1: changed({BALL: {"held": 1.0}})})
    result = AGENT.run(TASK, world)
    assert result.solved
    assert controllers(result) == ["MoveTo", "Drop"]
    assert decisions(result) == ["plan", "jump_ahead", "finish"]


def test_another_state_is_no_reason_to_change_a_plan_that_works() -> None:
    world = ScriptedWorld(TASK.initial_state, {1: changed({ROBOT: {"x": 0.3}})})
    result = AGENT.run(TASK, world)
    assert controllers(result) == ["MoveTo", "Grasp", "Drop"]
    assert decisions(result) == ["plan", "continue", "continue", "finish"]


def test_a_step_is_repeated_if_its_atoms_hold_but_the_next_step_does_not_work() -> None:
    # The ball is near, but out of reach: the simulator shows that Grasp would fail.
    world = ScriptedWorld(TASK.initial_state, {1: changed({ROBOT: {"x": 0.8}})})
    result = AGENT.run(TASK, world)
    assert result.solved
    assert controllers(result) == ["MoveTo", "MoveTo", "Grasp", "Drop"]
    assert decisions(result)[1] == "resample"


def test_the_agent_falls_back_by_several_steps() -> None:
    lost = changed({BALL: {"held": 0.0, "x": 50.0}})
    result = AGENT.run(TASK, ScriptedWorld(TASK.initial_state, {2: lost}))
    assert result.solved
    assert controllers(result) == ["MoveTo", "Grasp", "MoveTo", "Grasp", "Drop"]
    assert result.replans == 0


def test_the_agent_plans_again_if_no_point_of_the_plan_holds() -> None:
    task = toy_world.task(balls=2)
    other = toy_world.BALL("ball1")
    world = ScriptedWorld(task.initial_state, {1: changed({other: {"held": 1.0}})})
    result = AGENT.run(task, world)
    assert result.solved
    assert decisions(result)[:2] == ["plan", "replan"]
    assert result.replans == 1
    assert controllers(result)[:2] == ["MoveTo", "Drop"]  # the other ball is put down first
    steps = plan(task, MODEL, toy_world.execute).abstract_plan
    after = world.execute(task.initial_state, result.actions[0]).state.replace({other: {"held": 1.0}})
    for needed in necessary_atoms(steps, task.goal):
        assert not all(atom.holds(after) for atom in needed)


# A chain of features, each of which must be set close to the one before it.
CHAIN = Type("chain", ("a", "b", "c"))
THING = CHAIN("thing")
TOLERANCE = 0.2


def _is_set(name: str) -> Predicate:
    return Predicate(f"Has{name.upper()}", (CHAIN,), lambda state, objects: state.get(objects[0], name) > 0)


HAS = {name: _is_set(name) for name in "abc"}
SET = {name: Controller(f"Set{name.upper()}", (CHAIN,), low=(0.0,), high=(1.0,)) for name in "abc"}


def _set(state: State, action: GroundController) -> Execution:
    name = action.controller.name[-1].lower()
    values = dict(zip("abc", state[THING], strict=True))
    (value,) = action.parameters
    before = {"a": None, "b": "a", "c": "b"}[name]
    if before is not None and abs(value - values[before]) > TOLERANCE:
        return Execution(state)
    return Execution(state.replace({THING: {name: value}}))


def _chain_operators() -> Sequence[Operator]:
    thing = Variable("?thing", CHAIN)
    needs = {"a": [], "b": ["a"], "c": ["a", "b"]}
    return [
        oracle_operator(
            f"Set{name.upper()}",
            (thing,),
            (SET[name], (thing,)),
            needs=[HAS[other].lifted(thing) for other in needs[name]],
            adds=[HAS[name].lifted(thing)],
        )
        for name in "abc"
    ]


CHAIN_MODEL = PlanningModel(
    Vocabulary((CHAIN,), tuple(HAS.values()), tuple(SET.values())),
    tuple(_chain_operators()),
    {f"Set{name.upper()}": UniformSampler(0.05, 0.95) for name in "abc"},
)
CHAIN_TASK = Task(State({THING: (0.0, 0.0, 0.0)}), frozenset([HAS["c"](THING)]))
CHAIN_AGENT = Agent(CHAIN_MODEL, _set, AgentConfig(PlanningConfig(samples_per_step=100)))


def test_parameters_that_do_not_fit_the_observed_state_are_sampled_again() -> None:
    def moved(before: State, after: State) -> State:
        b = after.get(THING, "b")
        return after.replace({THING: {"b": b - 0.5 if b > 0.5 else b + 0.5}})

    for seed in range(5):
        world = ScriptedWorld(CHAIN_TASK.initial_state, {2: moved}, _set)
        result = CHAIN_AGENT.run(CHAIN_TASK, world, seed)
        assert result.solved
        assert controllers(result) == ["SetA", "SetB", "SetC"]
        assert decisions(result) == ["plan", "continue", "resample", "finish"]
        assert not result.events[2].missing


def test_the_rest_of_the_plan_is_repaired_if_it_does_not_fit_the_new_parameters() -> None:
    repaired = 0
    for seed in range(10):
        failing = {1: nothing_happens, 2: nothing_happens}
        world = ScriptedWorld(CHAIN_TASK.initial_state, failing, _set)
        planned = plan(CHAIN_TASK, CHAIN_MODEL, _set, CHAIN_AGENT.config.planning, seed)
        result = CHAIN_AGENT.run(CHAIN_TASK, world, seed)
        assert result.solved
        assert controllers(result) == ["SetA", "SetA", "SetA", "SetB", "SetC"]
        assert result.replans == 0
        decision = result.events[2].decision
        assert decision in (Decision.RESAMPLE, Decision.REPAIR)
        kept = result.actions[3:] == planned.actions[1:]
        assert kept == (decision is Decision.RESAMPLE)
        repaired += decision is Decision.REPAIR
    assert 0 < repaired < 10


def test_a_step_without_atoms_is_repeated_if_the_rest_of_the_plan_needs_it() -> None:
    # No predicate describes lids. If the lid stays on, the simulator shows that Drop will fail.
    task = toy_world.task(lids_on=True)
    planned = [action.controller.name for action in plan(task, MODEL, toy_world.execute).actions]
    number = planned.index("TakeLidOff") + 1
    result = AGENT.run(task, ScriptedWorld(task.initial_state, {number: nothing_happens}))
    assert result.solved
    assert controllers(result) == [*planned[:number], *planned[number - 1 :]]
    assert result.replans == 0


def test_after_many_misses_in_a_row_the_agent_plans_again() -> None:
    config = AgentConfig(max_misses=2, max_replans=1)
    result = Agent(MODEL, toy_world.execute, config).run(TASK, AlwaysFailing(TASK.initial_state))
    tries = ["retry", "resample"]
    assert decisions(result) == ["plan", *tries, "replan", *tries, "give_up"]
    assert result.outcome is Outcome.SUBGOAL_MISSED
    assert result.failure is not None
    assert "limit of 1 replans" in result.failure.detail
    assert list(map(str, result.failure.missing)) == ["Near(robot, ball0)"]
    assert result.events[-1].reason == result.failure.detail


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (AgentConfig(max_controllers=3), "limit of 3 controllers"),
        (AgentConfig(PlanningConfig(horizon=4)), "horizon of 4 low-level actions"),
    ],
)
def test_limits_on_actions(config: AgentConfig, words: str) -> None:
    world = AlwaysFailing(TASK.initial_state)
    result = Agent(MODEL, toy_world.execute, config).run(TASK, world)
    assert result.outcome is Outcome.HORIZON_EXCEEDED
    assert result.failure is not None
    assert words in result.failure.detail
    assert len(world.actions) <= 4


def test_without_a_plan_the_agent_gives_up() -> None:
    model = replace(MODEL, operators=tuple(one for one in MODEL.operators if one.name != "Drop"))
    result = Agent(model, toy_world.execute).run(TASK, ScriptedWorld(TASK.initial_state))
    assert result.outcome is Outcome.NO_ABSTRACT_PLAN
    assert decisions(result) == ["plan", "give_up"]
    assert (result.actions, len(result.states)) == ((), 1)


def test_the_outcome_says_why_no_plan_was_found() -> None:
    config = AgentConfig(PlanningConfig(horizon=1), max_replans=1)
    result = Agent(MODEL, toy_world.execute, config).run(TASK, ScriptedWorld(TASK.initial_state))
    assert result.outcome is Outcome.HORIZON_EXCEEDED
    assert result.failure is not None
    assert "limit of 1 replans" in result.failure.detail
    assert "more than 1 low-level actions" in result.failure.detail


def test_an_action_that_raises_a_failure_is_a_step_without_effect() -> None:
    class Stuck(ScriptedWorld):
        def act(self, action: GroundController) -> Execution:
            if not self.actions:
                self.actions.append(action)
                raise EnvironmentFailure("The gripper is stuck.")
            return super().act(action)

    result = AGENT.run(TASK, Stuck(TASK.initial_state))
    assert result.solved
    assert decisions(result)[:2] == ["plan", "retry"]


def test_the_time_of_the_world_does_not_count() -> None:
    clock = FakeClock()

    class Slow(ScriptedWorld):
        def observe(self) -> State:
            clock.now += 100.0
            return super().observe()

        def act(self, action: GroundController) -> Execution:
            clock.now += 100.0
            return super().act(action)

    result = AGENT.run(TASK, Slow(TASK.initial_state), clock=clock)
    assert result.solved
    assert result.seconds == 0.0


def test_the_time_of_planning_is_limited() -> None:
    clock = FakeClock()

    def slow(state: State, action: GroundController) -> Execution:
        clock.now += 1.0
        return toy_world.execute(state, action)

    agent = Agent(MODEL, slow, AgentConfig(PlanningConfig(timeout=4.5)))
    result = agent.run(TASK, AlwaysFailing(TASK.initial_state), clock=clock)
    assert result.outcome is Outcome.TIMEOUT
    assert clock.now < 10


class Noisy(ScriptedWorld):
    """A world whose readings of the robot's position have noise."""

    def __init__(self, state: State, deviation: float) -> None:
        super().__init__(state)
        self.rng, self.deviation = np.random.default_rng(0), deviation

    def observe(self) -> State:
        noise = float(self.rng.normal(0.0, self.deviation))
        return super().observe().replace({ROBOT: {"x": self.state.get(ROBOT, "x") + noise}})


def test_exact_readings_are_taken_twice() -> None:
    world = ScriptedWorld(TASK.initial_state)
    AGENT.run(TASK, world)
    assert world.readings == 2 * 4


def test_an_observation_is_the_median_of_noisy_readings() -> None:
    world = Noisy(TASK.initial_state, deviation=1.0)
    result = Agent(MODEL, toy_world.execute, AgentConfig(readings=9)).run(TASK, world)
    rng = np.random.default_rng(0)
    readings = [-10.0 + rng.normal(0.0, 1.0) for _ in range(9)]
    assert result.states[0].get(ROBOT, "x") == np.median(readings)


def test_readings_are_doubled_while_no_plan_is_found() -> None:
    world = Noisy(TASK.initial_state, deviation=1.0)
    config = AgentConfig(readings=4, careful_readings=4, max_replans=3)
    result = Agent(replace(MODEL, operators=(), samplers={}), toy_world.execute, config).run(TASK, world)
    assert not result.solved
    assert result.replans == 3
    assert world.readings == 4 * 2**4


def test_the_agent_gives_up_if_no_plan_is_found_for_an_exact_state() -> None:
    def nothing_works(state: State, action: GroundController) -> Execution:
        return Execution(state, 1)

    result = Agent(MODEL, nothing_works).run(TASK, ScriptedWorld(TASK.initial_state))
    assert not result.solved
    assert result.replans == MAX_FAILED_PLANS - 1
    assert result.actions == ()
    assert result.failure is not None
    assert "3 times in the same state" in result.failure.detail


def test_more_readings_are_taken_before_a_miss_is_believed() -> None:
    solved = dict.fromkeys((1, 100), 0)
    for readings in solved:
        config = AgentConfig(readings=1, careful_readings=readings)
        result = Agent(MODEL, toy_world.execute, config).run(TASK, Noisy(TASK.initial_state, 0.5))
        assert result.solved
        solved[readings] = len(result.actions)
    assert solved[100] <= solved[1]


def test_results_depend_on_the_seed_only() -> None:
    def run(seed: int) -> AgentResult:
        world = ScriptedWorld(CHAIN_TASK.initial_state, {1: nothing_happens, 3: nothing_happens}, _set)
        return CHAIN_AGENT.run(CHAIN_TASK, world, seed)

    first, again, other = run(3), run(3), run(4)
    assert (first.actions, first.events, first.states) == (again.actions, again.events, again.states)
    assert first.actions != other.actions
    assert repr(first) == "AgentResult(solved, 5 actions, 0 replans)"


def test_invalid_settings() -> None:
    with pytest.raises(InvalidInputError, match="readings must be at least 1, got 0"):
        AgentConfig(readings=0)
    with pytest.raises(InvalidInputError, match="max_replans must be at least 0, got -1"):
        AgentConfig(max_replans=-1)
    with pytest.raises(InvalidInputError, match="readings must be an integer, got '30'"):
        AgentConfig(readings="30")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"max_misses must be an integer, got 2\.5"):
        AgentConfig(max_misses=2.5)  # type: ignore[arg-type]


def test_readings_with_different_objects_are_refused() -> None:
    class BlinkingWorld(ScriptedWorld):
        def observe(self) -> State:
            state = super().observe()
            return state if self.readings % 2 else State({obj: state[obj] for obj in state if obj != BALL})

    with pytest.raises(InvalidInputError, match=r"different objects: ball0.*last known features"):
        AGENT.run(TASK, BlinkingWorld(TASK.initial_state))
