"""A scripted policy demonstrates tasks of an environment without an oracle model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from drawer_world import DRAWER, HAND, NEAR, OPEN, PULL, REACH_FOR, Drawers, RecordedDrawers
from needful.core.controllers import Controller, GroundController
from needful.core.plans import Outcome
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import (
    OracleDemonstrator,
    ScriptedDemonstrator,
    collect_demonstrations,
    make_demonstrator,
)
from needful.envs.contract import Environment
from needful.errors import EnvironmentFailure, InvalidInputError, NotProvidedError
from toy_environment import ToyEnvironment

HAND0, DRAWER0 = HAND("hand"), DRAWER("drawer0")
FAR = Task(State({HAND0: (0.0,), DRAWER0: (2.0, 0.0)}), frozenset({OPEN(DRAWER0)}))
REACHED, PULLED = REACH_FOR(HAND0, DRAWER0, parameters=(0.0,)), PULL(HAND0, DRAWER0)


def script(*actions: object) -> Environment:
    """Return an environment whose script consists of the given actions."""

    class Scripted(RecordedDrawers):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterable[GroundController]:
            return actions  # type: ignore[return-value]

    return Scripted()


def test_a_closed_loop_sees_the_state_after_each_action() -> None:
    task = Drawers().task("train", 1, seed=0)
    result = make_demonstrator(Drawers()).demonstrate(task, seed=0)
    assert result.solved
    assert task.achieved_in(result.states[-1])
    assert len(result.states) == len(result.actions) + 1
    for before, action in zip(result.states, result.actions, strict=False):
        if action.controller == PULL:
            assert NEAR.holds(before, action.objects)


def test_the_seed_determines_the_demonstration() -> None:
    task, demonstrator = Drawers().task("train", 1, seed=0), make_demonstrator(Drawers())
    first, again, other = (demonstrator.demonstrate(task, seed).actions for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_collected_demonstrations_are_executions() -> None:
    env = Drawers()
    collected = collect_demonstrations(env, make_demonstrator(env), count=4, seed=0)
    assert len(collected.demonstrations) == 4
    for one in collected.demonstrations:
        assert one.states is not None
        for index, action in enumerate(one.actions):
            assert env.execute(one.states[index], action).state == one.states[index + 1]


def test_a_list_of_actions_is_a_script() -> None:
    result = make_demonstrator(script(REACHED, PULLED)).demonstrate(FAR, seed=0)
    assert (result.outcome, result.actions) == (Outcome.SOLVED, (REACHED, PULLED))


def test_a_demonstration_ends_when_the_goal_holds() -> None:
    result = make_demonstrator(script(REACHED, PULLED, PULLED)).demonstrate(FAR, seed=0)
    assert result.actions == (REACHED, PULLED)
    done = Task(result.states[-1], FAR.goal)
    assert make_demonstrator(script(REACHED)).demonstrate(done, seed=0).actions == ()


def test_a_script_that_ends_early_misses_the_goal() -> None:
    result = make_demonstrator(script(REACHED)).demonstrate(FAR, seed=0)
    assert (result.outcome, result.actions) == (Outcome.GOAL_MISSED, (REACHED,))
    assert result.failure is not None
    assert result.failure.detail == "The scripted policy ended before the goal held."


def test_a_failed_action_is_not_recorded_and_the_script_may_try_again() -> None:
    class Slippery(RecordedDrawers):
        def simulate(self, state: State, action: GroundController) -> State:
            if action.parameters and action.parameters[0] > 0:
                raise EnvironmentFailure("it slipped")
            return super().simulate(state, action)

        def execute(self, state: State, action: GroundController):  # type: ignore[no-untyped-def]
            return Environment.execute(self, state, action)

        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
            for offset in (0.2, 0.1, -0.1):
                state = yield REACH_FOR(HAND0, DRAWER0, parameters=(offset,))
                if NEAR.holds(state, (HAND0, DRAWER0)):
                    yield PULLED

    result = make_demonstrator(Slippery()).demonstrate(FAR, seed=0)
    assert result.actions == (REACH_FOR(HAND0, DRAWER0, parameters=(-0.1,)), PULLED)
    assert len(result.states) == 3

    class Hopeless(Slippery):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
            yield REACH_FOR(HAND0, DRAWER0, parameters=(0.2,))

    failure = make_demonstrator(Hopeless()).demonstrate(FAR, seed=0).failure
    assert failure is not None
    assert failure.detail.endswith("ReachFor(hand, drawer0; 0.2) failed: it slipped.")


def test_the_horizon_counts_low_level_actions() -> None:
    env = script(REACHED, PULLED)  # 21 and 1 low-level actions
    assert ScriptedDemonstrator(env, horizon=22).demonstrate(FAR, seed=0).solved
    result = ScriptedDemonstrator(env, horizon=21).demonstrate(FAR, seed=0)
    assert result.outcome is Outcome.HORIZON_EXCEEDED
    assert result.failure is not None
    assert "more than 21 low-level actions" in result.failure.detail


def test_a_script_without_end_stops_at_the_horizon_of_the_environment() -> None:
    class Endless(RecordedDrawers):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
            while True:
                yield PULLED

    result = make_demonstrator(Endless()).demonstrate(FAR, seed=0)
    assert (result.outcome, len(result.actions)) == (Outcome.HORIZON_EXCEEDED, 501)


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("reach", "returned 'reach', which is no action. Yield ground controllers"),
        (Controller("Kick", ())(), "Unknown controller in `demonstrate` 'Kick'"),
        (REACH_FOR(HAND0, DRAWER0, parameters=(3.0,)), r"outside of \[-1.0, 1.0\]. Clip it, or widen"),
    ],
)
def test_an_invalid_action_is_an_error(action: object, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        make_demonstrator(script(action)).demonstrate(FAR, seed=0)


def test_yield_from_a_list_is_an_error_with_a_remedy() -> None:
    class Delegating(RecordedDrawers):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
            yield from [REACHED, PULLED]

    with pytest.raises(InvalidInputError, match="for action in actions: yield action"):
        make_demonstrator(Delegating()).demonstrate(FAR, seed=0)


def test_the_oracle_model_comes_first() -> None:
    assert isinstance(make_demonstrator(ToyEnvironment()), OracleDemonstrator)
    assert isinstance(make_demonstrator(Drawers()), ScriptedDemonstrator)


def test_an_environment_without_a_demonstrator_names_the_ways_to_get_one() -> None:
    with pytest.raises(NotProvidedError, match=r"'drawers' has no oracle model. Write `oracle_model`, or"):
        OracleDemonstrator(RecordedDrawers())
    with pytest.raises(NotProvidedError, match=r"Write `oracle_model` or .*--demonstrations FILE"):
        make_demonstrator(RecordedDrawers()).demonstrate(FAR, seed=0)


@pytest.mark.parametrize("returned", [None, PULLED])
def test_a_script_is_a_sequence_of_actions(returned: object) -> None:
    class Wrong(RecordedDrawers):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterable[GroundController]:
            return returned  # type: ignore[return-value]

    with pytest.raises(InvalidInputError, match="Return a list of actions, or yield each action"):
        make_demonstrator(Wrong()).demonstrate(FAR, seed=0)
