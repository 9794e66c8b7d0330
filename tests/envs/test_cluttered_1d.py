"""Tests of Cluttered 1D: predicates, the controller, tasks and the oracle."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.plan_following import follow
from needful.abstraction import abstract
from needful.core.plans import AbstractPlan, necessary_atoms
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.cluttered_1d import DOT, GRASPED, MOVE_GRASP, NEXT_TO, NEXT_TO_NOTHING, ROBOT, Cluttered1D
from needful.envs.contract import Split

ENV = Cluttered1D()
ROBBY = ROBOT("robby")
DOT0, DOT1, DOT2 = DOT("dot0"), DOT("dot1"), DOT("dot2")


def line(robot: float, *dots: tuple[float, float]) -> State:
    """Return a state from the position of the robot, and position and grasp of each dot."""
    return State({ROBBY: (robot,)} | {DOT(f"dot{number}"): dot for number, dot in enumerate(dots)})


def run(state: State, mode: float, displacement: float) -> State:
    return ENV.simulate(state, MOVE_GRASP(ROBBY, DOT0, parameters=(mode, displacement)))


@pytest.mark.parametrize(("distance", "near"), [(0.0, True), (0.49, True), (0.5, False), (0.51, False)])
@pytest.mark.parametrize("side", [-1, 1])
def test_next_to_is_strict(distance: float, near: bool, side: int) -> None:
    state = line(50.0, (50.0 + side * distance, 0.0))
    assert NEXT_TO(ROBBY, DOT0).holds(state) is near
    assert NEXT_TO_NOTHING(ROBBY).holds(state) is not near


def test_a_grasped_dot_is_not_next_to_the_robot() -> None:
    state = line(50.0, (50.0, 1.0), (80.0, 0.0))
    assert abstract(state, ENV.vocabulary.predicates) == {NEXT_TO_NOTHING(ROBBY), GRASPED(ROBBY, DOT0)}


def test_next_to_nothing_fails_if_any_dot_is_near() -> None:
    state = line(50.0, (50.1, 0.0), (49.9, 0.0), (51.0, 0.0))
    assert abstract(state, ENV.vocabulary.predicates) == {NEXT_TO(ROBBY, DOT0), NEXT_TO(ROBBY, DOT1)}


@pytest.mark.parametrize("mode", [0.0, 1e-9, 0.3, 1.0])
@pytest.mark.parametrize(
    ("distance", "reached"), [(0.0, True), (0.5, True), (0.5 + 1e-6, False), (30.0, False)]
)
def test_grasping_reaches_the_boundary_and_no_further(mode: float, distance: float, reached: bool) -> None:
    before = line(50.0, (50.0 + distance, 0.0), (50.0, 0.0))
    after = run(before, mode, 0.7)
    assert after == (line(50.0, (50.0 + distance, 1.0), (50.0, 0.0)) if reached else before)


@pytest.mark.parametrize("mode", [-1.0, -0.4, -1e-9])
def test_moving_is_relative_to_the_dot(mode: float) -> None:
    assert run(line(7.0, (60.0, 0.0)), mode, -0.25) == line(59.75, (60.0, 0.0))


@pytest.mark.parametrize(
    ("dot", "displacement", "stops"), [(0.3, -1.0, 0.0), (99.6, 0.9, 100.0), (0.3, -0.2, 0.3 - 0.2)]
)
def test_the_robot_stays_on_the_line(dot: float, displacement: float, stops: float) -> None:
    assert run(line(50.0, (dot, 0.0)), -1.0, displacement) == line(stops, (dot, 0.0))


def test_grasping_again_changes_nothing() -> None:
    state = line(50.0, (50.2, 1.0))
    assert run(state, 1.0, 0.0) == state


def test_parameters_are_clipped_to_the_bounds() -> None:
    action = MOVE_GRASP(ROBBY, DOT0, parameters=(-7.0, 40.0))
    assert ENV.execute(line(7.0, (60.0, 0.0)), action).state == line(61.0, (60.0, 0.0))


@settings(max_examples=60, deadline=None)
@given(
    positions=st.lists(st.floats(0, 100), min_size=2, max_size=2),
    mode=st.floats(-1, 1),
    displacement=st.floats(-1, 1),
)
def test_only_the_robot_or_the_named_dot_changes(
    positions: list[float], mode: float, displacement: float
) -> None:
    before = line(positions[0], (positions[1], 0.0), (positions[1], 0.0))
    after = run(before, mode, displacement)
    assert after[DOT1] == before[DOT1]
    if mode < 0:
        assert after[DOT0] == before[DOT0]
        assert abs(after.get(ROBBY, "x") - positions[1]) <= abs(displacement) + 1e-9
    else:
        assert after[ROBBY] == before[ROBBY]
        assert GRASPED(ROBBY, DOT0).holds(after) == (abs(positions[0] - positions[1]) <= 0.5)


@pytest.mark.parametrize("split", list(Split))
def test_goals_have_one_two_or_three_dots_in_turn(split: Split) -> None:
    for index, task in enumerate(ENV.tasks(split, 7, seed=0)):
        wanted = [DOT0, DOT1, DOT2][: index % 3 + 1]
        assert task.goal == {GRASPED(ROBBY, dot) for dot in wanted}
        assert len(task.initial_state.of_type(DOT)) == 15
        assert [obj.name for obj in task.initial_state.of_type(ROBOT)] == ["robby"]
        assert all(0 <= task.initial_state.get(obj, "x") <= 100 for obj in task.objects)
        assert not any(task.initial_state.get(dot, "grasped") for dot in task.initial_state.of_type(DOT))


def oracle_plan(task: Task) -> AbstractPlan:
    """Return the plan that moves to each dot and grasps it; the first move is left out if not needed."""
    move, grasp = ENV.oracle_model().operators
    first, *others = sorted(task.goal)
    near = NEXT_TO(*first.objects).holds(task.initial_state)
    plan = (
        [grasp.ground(first.objects)] if near else [move.ground(first.objects), grasp.ground(first.objects)]
    )
    for atom in others:
        plan += [move.ground(atom.objects), grasp.ground(atom.objects)]
    return tuple(plan)


@pytest.mark.parametrize("task", ENV.tasks(Split.TEST, 9, seed=1))
def test_predictions_of_the_oracle_hold_after_each_step(task: Task) -> None:
    plan = oracle_plan(task)
    states = follow(ENV, task.initial_state, plan)
    predicted = abstract(states[0], ENV.vocabulary.predicates)
    for step, state, subgoal in zip(plan, states[1:], necessary_atoms(plan, task.goal)[1:], strict=True):
        predicted = step.apply(predicted)
        assert subgoal <= predicted <= abstract(state, ENV.vocabulary.predicates)
    assert task.achieved_in(states[-1])


def test_a_dot_within_reach_is_grasped_without_a_move() -> None:
    task = Task(line(50.0, (50.3, 0.0)), frozenset({GRASPED(ROBBY, DOT0)}))
    plan = oracle_plan(task)
    assert [step.operator.name for step in plan] == ["Grasp"]
    assert task.achieved_in(follow(ENV, task.initial_state, plan)[-1])
