"""Tests of the contract: executions, closed loops, tasks, and the notation for oracle operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from envs.toy_walk import PACE, WALK_TO, WALKER, ToyWalk
from needful.core.controllers import Execution, GroundController
from needful.core.model import ConstantSampler
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.envs.checker import check_environment
from needful.envs.cluttered_1d import (
    DOT,
    GRASPED,
    MOVE_GRASP,
    NEXT_TO,
    NEXT_TO_NOTHING,
    ROBOT,
    Cluttered1D,
)
from needful.envs.contract import Split, oracle_operator
from needful.errors import EnvironmentFailure, InvalidInputError, UnknownNameError

WALK = ToyWalk()
WALKER0 = WALKER("walker")
R, D = Variable("?r", ROBOT), Variable("?d", DOT)


def at(x: float) -> State:
    return State({WALKER0: (x,)})


def test_a_closed_loop_runs_until_its_policy_terminates() -> None:
    # Strides of 0.5, 0.5 and 0.25.
    assert WALK.execute(at(0.0), WALK_TO(WALKER0, parameters=[1.25])) == Execution(at(1.25), steps=3)


def test_a_controller_acts_once_even_if_it_has_nothing_to_do() -> None:
    assert WALK.execute(at(1.0), WALK_TO(WALKER0, parameters=[1.0])) == Execution(at(1.0), steps=1)


def test_a_stuck_controller_fails_and_leaves_the_state() -> None:
    execution = WALK.execute(at(4.0), WALK_TO(WALKER0, parameters=[5.5]))
    assert (execution.state, execution.steps, execution.offending) == (at(4.0), 0, ())
    assert execution.failure is not None
    assert "WalkTo(walker; 5.5) got stuck" in execution.failure


def test_parameters_are_clipped_before_a_closed_loop_starts() -> None:
    failure = WALK.execute(at(4.0), WALK_TO(WALKER0, parameters=[100.0])).failure
    assert failure is not None
    assert "WalkTo(walker; 6)" in failure


@pytest.mark.parametrize(("turns", "finishes"), [(2, True), (999, True), (1000, True), (1001, False)])
def test_a_controller_has_at_most_a_thousand_steps(turns: int, finishes: bool) -> None:
    execution = WALK.execute(at(0.0), PACE(WALKER0, parameters=[turns]))
    if finishes:
        assert execution == Execution(at(0.25 * (turns % 2)), steps=turns)
    else:
        assert (execution.state, execution.steps) == (at(0.0), 0)
        assert execution.failure is not None
        assert "Pace(walker; 1001) did not finish within 1000 steps" in execution.failure


def test_memory_is_fresh_for_each_execution() -> None:
    action = PACE(WALKER0, parameters=[3])
    assert WALK.execute(at(0.0), action) == WALK.execute(at(0.0), action) == Execution(at(0.25), steps=3)


def test_a_failure_restores_the_state_and_names_the_offending_object() -> None:
    execution = WALK.execute(at(-4.0), WALK_TO(WALKER0, parameters=[-6.0]))
    assert execution == Execution(at(-4.0), steps=0, failure="the walker fell", offending=(WALKER0,))


def test_simulating_a_closed_loop_returns_the_last_state_or_raises() -> None:
    assert WALK.simulate(at(0.0), WALK_TO(WALKER0, parameters=[2.0])) == at(2.0)
    with pytest.raises(EnvironmentFailure, match="stuck"):
        WALK.simulate(at(4.0), WALK_TO(WALKER0, parameters=[5.5]))


def test_a_controller_without_a_policy_cannot_run_in_a_closed_loop() -> None:
    with pytest.raises(InvalidInputError, match="'WalkTo' has no policy"):
        WALK.execute(at(0.0), replace(WALK_TO, policy=None)(WALKER0, parameters=[1.0]))


def test_the_toy_keeps_the_contract() -> None:
    (finding,) = check_environment(WALK)
    assert (finding.location, finding.problem[:27]) == ("Pace", "no oracle operator uses it,")


class FailsOnMove(Cluttered1D):
    """Cluttered 1D in which every move fails."""

    def simulate(self, state: State, action: GroundController) -> State:
        if action.parameters[0] < 0:
            raise EnvironmentFailure("the dot exploded", action.objects[1:])
        return super().simulate(state, action)


def test_an_environment_failure_is_returned_as_a_value() -> None:
    robot, dot = ROBOT("robby"), DOT("dot0")
    state = State({robot: (1.0,), dot: (1.0, 0.0)})
    move = FailsOnMove().execute(state, MOVE_GRASP(robot, dot, parameters=(-1.0, 0.0)))
    assert move == Execution(state, steps=0, failure="the dot exploded", offending=(dot,))
    grasp = FailsOnMove().execute(state, MOVE_GRASP(robot, dot, parameters=(1.0, 0.0)))
    assert grasp == Execution(State({robot: (1.0,), dot: (1.0, 1.0)}), steps=1)


@pytest.mark.parametrize("split", [*Split, "train", "test"])
def test_task_returns_single_tasks_of_tasks(split: Split | str) -> None:
    tasks = WALK.tasks(Split(split), 3, seed=5)
    assert WALK.tasks(split, 3, seed=5) == tasks
    assert tuple(WALK.task(split, index, seed=5) for index in range(3)) == tasks


@pytest.mark.parametrize("method", [WALK.task, WALK.tasks])
def test_invalid_splits_and_numbers_are_refused(method: Callable[[Split | str, int, int], object]) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown split 'tets'. Did you mean 'test'"):
        method("tets", 0, 0)
    with pytest.raises(InvalidInputError, match=r"(index|count) .* must be at least 0, got -1"):
        method(Split.TEST, -1, 0)


def test_zero_tasks() -> None:
    assert WALK.tasks(Split.TRAIN, 0, seed=0) == ()


def test_oracle_operator_makes_an_operator_from_a_table_row() -> None:
    assert oracle_operator(
        "Grasp",
        [R, D],
        (MOVE_GRASP, [R, D]),
        needs=[NEXT_TO.lifted(R, D)],
        adds=[GRASPED.lifted(R, D)],
        deletes=[NEXT_TO.lifted(R, D)],
        forgets=[NEXT_TO_NOTHING, NEXT_TO],
    ) == Operator(
        "Grasp",
        (R, D),
        frozenset({NEXT_TO.lifted(R, D)}),
        frozenset({GRASPED.lifted(R, D)}),
        frozenset({NEXT_TO.lifted(R, D)}),
        frozenset(
            {
                DeletePattern(NEXT_TO_NOTHING, (Wildcard(ROBOT),)),
                DeletePattern(NEXT_TO, (Wildcard(ROBOT), Wildcard(DOT))),
            }
        ),
        MOVE_GRASP,
        (R, D),
    )


def test_a_constant_sampler_uses_no_random_numbers() -> None:
    rng = np.random.default_rng(0)
    assert ConstantSampler((1.0, 2.0)).sample(State({}), (), rng) == (1.0, 2.0)
    assert rng.uniform() == np.random.default_rng(0).uniform()
