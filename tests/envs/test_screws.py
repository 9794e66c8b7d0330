"""Tests of Screws: predicates, controllers, tasks and the oracle."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.plan_following import follow
from needful.abstraction import abstract
from needful.core.controllers import Controller
from needful.core.objects import Object
from needful.core.plans import AbstractPlan, necessary_atoms
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Split
from needful.envs.screws import (
    ABOVE,
    CAN_PICK,
    DEMAGNETIZE,
    GRIPPER,
    HOLDING,
    IN_RECEPTACLE,
    MAGNETIZE,
    MOVE_TO_RECEPTACLE,
    MOVE_TO_SCREW,
    RECEPTACLE,
    SCREW,
    Screws,
)
from needful.errors import UnknownNameError

ENV = Screws()
ROBBY, SHELF = GRIPPER("robby"), RECEPTACLE("receptacle")
SCREW0, SCREW1, SCREW2 = SCREW("screw_0"), SCREW("screw_1"), SCREW("screw_2")


def cell(gripper: tuple[float, float], *screws: tuple[float, float, float]) -> State:
    """Return a state from the pose of the gripper, and (x, y, held) of each screw."""
    poses = {SCREW(f"screw_{number}"): screw for number, screw in enumerate(screws)}
    return State({ROBBY: gripper, SHELF: (4.7, 2.5)} | poses)


def poses(state: State) -> list[float]:
    return [value for obj in state for value in state[obj]]


@pytest.mark.parametrize(
    ("height", "pickable"),
    [(0.05, True), (0.05 - 1e-7, True), (0.05 - 1e-5, False), (0.0, False), (0.549, True), (0.56, False)],
)
def test_a_screw_is_in_reach_from_its_top_to_the_magnetic_reach(height: float, pickable: bool) -> None:
    assert CAN_PICK(ROBBY, SCREW0).holds(cell((1.0, height), (1.0, 0.025, 0.0))) is pickable


def test_the_magnetic_reach_itself_is_out_of_reach() -> None:
    assert not CAN_PICK(ROBBY, SCREW0).holds(cell((0.0, 1.0), (0.0, 0.475, 0.0)))


@pytest.mark.parametrize(("offset", "pickable"), [(0.0, True), (0.224, True), (0.225, False), (0.3, False)])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_screw_must_lie_wholly_under_the_gripper(offset: float, pickable: bool, side: int) -> None:
    assert CAN_PICK(ROBBY, SCREW0).holds(cell((0.0, 0.3), (side * offset, 0.025, 0.0))) is pickable


@pytest.mark.parametrize(
    ("x", "y", "above"),
    [
        (4.7, 3.0, True),
        (4.7, 2.5, False),
        (4.7, 2.5 + 1e-9, True),
        (4.7, 1.0, False),
        (4.66, 3.0, True),
        (4.64, 3.0, False),
        (4.749, 3.0, True),
        (4.75, 3.0, False),
    ],
)
def test_above_the_receptacle_means_higher_and_wholly_over_it(x: float, y: float, above: bool) -> None:
    assert ABOVE(ROBBY, SHELF).holds(cell((x, y))) is above


@pytest.mark.parametrize(
    ("x", "y", "held", "inside"),
    [
        (4.7, 2.525, 0, True),
        (4.7, 0.025, 0, True),
        (4.7, 2.525, 1, False),
        (4.43, 2.525, 0, True),
        (4.42, 2.525, 0, False),
    ],
)
def test_in_the_receptacle_depends_on_x_only(x: float, y: float, held: float, inside: bool) -> None:
    assert IN_RECEPTACLE(SCREW0, SHELF).holds(cell((0.0, 2.5), (x, y, held))) is inside


@pytest.mark.parametrize(
    ("screw", "pose"),
    [
        ((1.5, 0.025, 0.0), (1.5, 0.3)),
        ((4.9, 0.025, 0.0), (4.75, 0.3)),
        ((-4.97, 0.025, 0.0), (-4.75, 0.3)),
        ((0.0, 4.9, 0.0), (0.0, 5.0)),
    ],
)
def test_moving_to_a_screw_stops_over_it_or_at_the_walls(
    screw: tuple[float, float, float], pose: tuple[float, float]
) -> None:
    before = cell((0.0, 2.5), screw)
    after = ENV.simulate(before, MOVE_TO_SCREW(ROBBY, SCREW0))
    assert after[ROBBY] == pytest.approx(pose)
    assert after[SCREW0] == screw


def test_moving_to_a_screw_drops_held_screws_at_the_destination() -> None:
    before = cell((0.0, 2.0), (0.1, 1.975, 1.0), (-3.0, 0.025, 0.0))
    after = ENV.simulate(before, MOVE_TO_SCREW(ROBBY, SCREW1))
    assert poses(after) == pytest.approx(poses(cell((-3.0, 0.3), (-2.9, 0.025, 0.0), (-3.0, 0.025, 0.0))))


def test_held_screws_move_with_the_gripper_when_a_wall_stops_it() -> None:
    before = cell((4.0, 2.0), (4.0, 1.975, 1.0), (4.9, 0.025, 0.0))
    after = ENV.simulate(before, MOVE_TO_SCREW(ROBBY, SCREW1))
    assert after[ROBBY] == pytest.approx((4.75, 0.3))
    assert after[SCREW0] == pytest.approx((4.75, 0.025, 0.0))


def test_magnetizing_picks_up_all_screws_in_reach_and_keeps_held_ones() -> None:
    before = cell((0.0, 0.3), (0.1, 0.025, 0.0), (0.4, 0.025, 0.0), (-0.1, 0.2, 1.0))
    after = ENV.simulate(before, MAGNETIZE(ROBBY))
    expected = cell((0.0, 0.3), (0.1, 0.275, 1.0), (0.4, 0.025, 0.0), (-0.1, 0.2, 1.0))
    assert poses(after) == pytest.approx(poses(expected))


def test_a_held_screw_stays_pickable_despite_rounding() -> None:
    for number in range(200):
        height = 0.06 + number * 0.017
        before = cell((0.0, height), (0.0, height - 0.2, 0.0))
        after = ENV.simulate(before, MAGNETIZE(ROBBY))
        assert {HOLDING(ROBBY, SCREW0), CAN_PICK(ROBBY, SCREW0)} <= abstract(
            after, ENV.vocabulary.predicates
        )


def test_moving_to_the_receptacle_picks_up_the_screws_in_it() -> None:
    before = cell((0.0, 2.5), (4.6, 2.525, 0.0), (0.0, 0.025, 0.0))
    after = ENV.simulate(before, MOVE_TO_RECEPTACLE(ROBBY, SHELF, SCREW1))
    assert poses(after) == pytest.approx(poses(cell((4.7, 3.0), (4.6, 2.975, 1.0), (0.0, 0.025, 0.0))))


@pytest.mark.parametrize(
    ("gripper", "height"), [((4.7, 3.0), 2.525), ((4.7, 2.5), 0.025), ((4.75, 3.0), 0.025)]
)
def test_screws_drop_to_the_receptacle_or_to_the_floor(gripper: tuple[float, float], height: float) -> None:
    before = cell(gripper, (4.7, gripper[1] - 0.025, 1.0))
    after = ENV.simulate(before, DEMAGNETIZE(ROBBY))
    assert poses(after) == pytest.approx(poses(cell(gripper, (4.7, height, 0.0))))


def test_an_unknown_controller_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="MagnetizeGripper"):
        ENV.simulate(cell((0.0, 2.5)), Controller("MagnetiseGripper", (GRIPPER,))(ROBBY))


coordinates = st.tuples(st.floats(-4.75, 4.75), st.floats(0.0, 5.0))


@st.composite
def cells(draw: st.DrawFn) -> State:
    """Generate a state with held, near and far screws."""
    x, y = draw(coordinates)
    screws = []
    for kind in draw(st.lists(st.sampled_from(["held", "near", "far"]), min_size=3, max_size=3)):
        if kind == "far":
            screws.append((*draw(coordinates), 0.0))
        else:
            beside = x + draw(st.floats(-0.3, 0.3))
            below = 0.025 if kind == "held" else draw(st.floats(0.0, 0.6))
            screws.append((beside, y - below, float(kind == "held")))
    return cell((x, y), *screws)


@settings(max_examples=80, deadline=None)
@given(before=cells())
def test_the_magnet_holds_held_screws_and_screws_in_reach(before: State) -> None:
    after = ENV.simulate(before, MAGNETIZE(ROBBY))
    for screw in before.of_type(SCREW):
        held = HOLDING(ROBBY, screw).holds(before) or CAN_PICK(ROBBY, screw).holds(before)
        assert HOLDING(ROBBY, screw).holds(after) == held
        if not held or HOLDING(ROBBY, screw).holds(before):
            assert after[screw] == before[screw]
    assert after[ROBBY] == before[ROBBY]


@settings(max_examples=80, deadline=None)
@given(before=cells())
def test_demagnetizing_drops_every_held_screw(before: State) -> None:
    after = ENV.simulate(before, DEMAGNETIZE(ROBBY))
    for screw in before.of_type(SCREW):
        if HOLDING(ROBBY, screw).holds(before):
            assert after.get(screw, "pose_y") in (0.025, 2.525)
            assert after.get(screw, "pose_x") == before.get(screw, "pose_x")
        else:
            assert after[screw] == before[screw]
        assert not HOLDING(ROBBY, screw).holds(after)
    if not any(HOLDING(ROBBY, screw).holds(before) for screw in before.of_type(SCREW)):
        assert after == before


@settings(max_examples=80, deadline=None)
@given(before=cells(), named=st.sampled_from([SCREW0, SCREW1, SCREW2]))
def test_held_screws_keep_their_offset_on_the_way_to_the_receptacle(before: State, named: Object) -> None:
    after = ENV.simulate(before, MOVE_TO_RECEPTACLE(ROBBY, SHELF, named))
    assert after[ROBBY] == (4.7, 3.0)
    assert ABOVE(ROBBY, SHELF).holds(after)
    for screw in before.of_type(SCREW):
        if HOLDING(ROBBY, screw).holds(before):
            offset = [a - b for a, b in zip(before[screw], before[ROBBY], strict=False)]
            assert [a - b for a, b in zip(after[screw], after[ROBBY], strict=False)] == pytest.approx(
                offset
            )
            assert HOLDING(ROBBY, screw).holds(after)


@pytest.mark.parametrize(("split", "counts"), [(Split.TRAIN, {15, 20}), (Split.TEST, {25, 30})])
def test_screws_start_on_the_floor_without_overlaps(split: Split, counts: set[int]) -> None:
    seen = set()
    for task in ENV.tasks(split, 20, seed=0):
        state = task.initial_state
        assert (state[ROBBY], state[SHELF]) == ((0.0, 2.5), (4.7, 2.5))
        positions = sorted(state.get(screw, "pose_x") for screw in state.of_type(SCREW))
        assert all(after - before >= 0.05 for before, after in itertools.pairwise(positions))
        assert positions[0] >= -4.975
        assert positions[-1] <= 4.375
        assert {state[screw][1:] for screw in state.of_type(SCREW)} == {(0.025, 0.0)}
        assert abstract(state, ENV.vocabulary.predicates) == frozenset()
        assert [atom.predicate for atom in task.goal] == [IN_RECEPTACLE]
        seen.add(len(positions))
    assert seen == counts


def oracle_plan(task: Task) -> AbstractPlan:
    """Return the only plan for a task of this domain."""
    to_screw, magnetize, to_receptacle, demagnetize = ENV.oracle_model().operators
    (atom,) = task.goal
    screw, receptacle = atom.objects
    return (
        to_screw.ground((ROBBY, screw)),
        magnetize.ground((ROBBY, screw)),
        to_receptacle.ground((ROBBY, receptacle, screw)),
        demagnetize.ground((ROBBY, screw, receptacle)),
    )


@pytest.mark.parametrize("task", ENV.tasks(Split.TEST, 6, seed=1))
def test_predictions_of_the_oracle_hold_after_each_step(task: Task) -> None:
    plan = oracle_plan(task)
    states = follow(ENV, task.initial_state, plan)
    predicted = abstract(states[0], ENV.vocabulary.predicates)
    for step, state, subgoal in zip(plan, states[1:], necessary_atoms(plan, task.goal)[1:], strict=True):
        predicted = step.apply(predicted)
        assert subgoal <= predicted <= abstract(state, ENV.vocabulary.predicates)
    assert task.achieved_in(states[-1])
    assert sum(states[-2].get(screw, "held") for screw in states[-2].of_type(SCREW)) >= 1
