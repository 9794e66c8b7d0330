"""Tests of Cluttered Painting: reach, moves and tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.painting_scenes import (
    BOX_OBJECT,
    LID_OBJECT,
    NONE,
    OBJ0,
    OBJ1,
    ROBBY,
    SHELF_OBJECT,
    SIDE,
    TOP,
    scene,
    thing,
)
from needful.abstraction import abstract
from needful.core.controllers import Controller, GroundController
from needful.core.objects import Object
from needful.envs.cluttered_painting import (
    MOVE_TO_BOX,
    MOVE_TO_OBJ,
    MOVE_TO_SHELF,
    NEXT_TO,
    NEXT_TO_BOX,
    NEXT_TO_SHELF,
    NEXT_TO_TABLE,
    ClutteredPainting,
)
from needful.envs.contract import Split
from needful.envs.painting import Painting, held_object
from needful.envs.painting_scene import (
    DRY,
    IN_BOX,
    IN_SHELF,
    IS_BOX_COLOR,
    IS_OPEN,
    IS_SHELF_COLOR,
    NOT_ON_TABLE,
    OBJ,
    ON_TABLE,
    OPEN_LID,
    PAINT,
    PICK,
    PLACE,
    ROBOT,
    WASH,
)
from needful.errors import EnvironmentFailure, UnknownNameError

ENV, PAINTING = ClutteredPainting(), Painting()
MOVES = [(MOVE_TO_OBJ, OBJ1), (MOVE_TO_BOX, BOX_OBJECT), (MOVE_TO_SHELF, SHELF_OBJECT)]


def place(y: float, z: float = 0.265) -> GroundController:
    return PLACE(ROBBY, parameters=(1.65, y, z))


# Predicates


@pytest.mark.parametrize("offset", [-2.0, -1.0, -0.999, 0.0, 0.999, 1.0, 2.0])
def test_next_to_compares_centres_strictly(offset: float) -> None:
    near = abs(offset) < 1.0
    assert NEXT_TO(ROBBY, OBJ0).holds(scene(thing(-4.0), robot_y=-4.0 + offset)) is near
    assert NEXT_TO_BOX(ROBBY, BOX_OBJECT).holds(scene(robot_y=0.5 + offset)) is near
    assert NEXT_TO_SHELF(ROBBY, SHELF_OBJECT).holds(scene(robot_y=1.975 + offset)) is near


@pytest.mark.parametrize(
    ("y", "near"), [(-10.1, False), (-10.09, True), (-1.01, True), (-1.0, False), (0.5, False)]
)
def test_next_to_table_holds_within_the_range_of_the_table(y: float, near: bool) -> None:
    assert NEXT_TO_TABLE(ROBBY).holds(scene(robot_y=y)) is near


def test_at_the_box_neither_table_nor_shelf_is_near() -> None:
    atoms = abstract(scene(robot_y=0.5), ENV.vocabulary.predicates)
    assert {atom for atom in atoms if atom.predicate.name.startswith("NextTo")} == {
        NEXT_TO_BOX(ROBBY, BOX_OBJECT)
    }


def test_the_vocabulary_extends_that_of_painting() -> None:
    own, shared = ENV.vocabulary, PAINTING.vocabulary
    assert own.types == shared.types
    assert set(own.predicates) - set(shared.predicates) == {
        NEXT_TO,
        NEXT_TO_BOX,
        NEXT_TO_SHELF,
        NEXT_TO_TABLE,
    }
    assert set(own.controllers) - set(shared.controllers) == {MOVE_TO_OBJ, MOVE_TO_BOX, MOVE_TO_SHELF}
    assert IS_OPEN not in own.predicates
    assert IS_OPEN in ClutteredPainting(include_is_open=True).vocabulary.predicates


# Moving


@pytest.mark.parametrize(("move", "target"), MOVES)
@pytest.mark.parametrize("y", [-10.1, -3.3, 0.5, 2.95])
@pytest.mark.parametrize("grasp", [NONE, SIDE, TOP])
def test_the_parameter_sets_the_destination_whatever_the_target(
    move: Controller, target: Object, y: float, grasp: float
) -> None:
    before = scene(thing(-5.0, grasp=grasp, pose_z=1.265), thing(-8.0))
    after = ENV.simulate(before, move(ROBBY, target, parameters=(y,)))
    held_y = -5.0 if grasp == NONE else y
    assert after == scene(thing(held_y, grasp=grasp, pose_z=1.265), thing(-8.0), robot_y=y)


def test_a_carried_object_leaves_the_table_and_returns_to_it() -> None:
    def carry(y: float) -> GroundController:
        return MOVE_TO_BOX(ROBBY, BOX_OBJECT, parameters=(y,))

    picked = ENV.simulate(scene(thing(-5.2)), PICK(ROBBY, OBJ0, parameters=(0.0,)))
    assert ON_TABLE(OBJ0).holds(picked)
    away = ENV.simulate(picked, carry(0.5))
    assert NOT_ON_TABLE(OBJ0).holds(away)
    assert ON_TABLE(OBJ0).holds(ENV.simulate(away, carry(-7.0)))


# Controllers of Painting within reach


@pytest.mark.parametrize(
    ("distance", "reached"),
    [(0.0, True), (0.999, True), (-0.999, True), (1.0, False), (-1.0, False), (4.0, False)],
)
def test_picking_needs_the_object_within_reach(distance: float, reached: bool) -> None:
    state = scene(thing(-5.0 + distance))
    after = ENV.simulate(state, PICK(ROBBY, OBJ0, parameters=(1.0,)))
    assert after == (scene(thing(-5.0 + distance, grasp=TOP)) if reached else state)


@pytest.mark.parametrize(
    ("y", "reached"), [(-5.0, True), (-4.001, True), (-5.999, True), (-4.0, False), (-6.0, False)]
)
def test_placing_needs_the_position_within_reach(y: float, reached: bool) -> None:
    state = scene(thing(-5.0, grasp=SIDE))
    assert ENV.simulate(state, place(y)) == (scene(thing(y)) if reached else state)


@pytest.mark.parametrize("z", [0.255, 0.262, 0.275])
@pytest.mark.parametrize("before", [0.265, 1.265])
def test_an_object_placed_on_the_table_rests_on_it(z: float, before: float) -> None:
    after = ENV.simulate(scene(thing(grasp=TOP, pose_z=before)), place(-5.5, z))
    assert after == scene(thing(-5.5, pose_z=0.265))
    assert ON_TABLE(OBJ0).holds(after)


@pytest.mark.parametrize("z", [0.255, 0.262, 0.275])
@pytest.mark.parametrize(("grasp", "y", "robot_y"), [(TOP, 0.5, 0.5), (SIDE, 2.0, 1.975)])
def test_an_object_placed_in_box_or_shelf_gets_the_given_height(
    z: float, grasp: float, y: float, robot_y: float
) -> None:
    after = ENV.simulate(scene(thing(robot_y, grasp=grasp, pose_z=1.265), robot_y=robot_y), place(y, z))
    assert after == scene(thing(y, pose_z=z), robot_y=robot_y)


@pytest.mark.parametrize(("grasp", "y", "robot_y"), [(SIDE, 0.5, 0.5), (TOP, 2.0, 1.975)])
def test_a_wrong_grasp_places_nothing(grasp: float, y: float, robot_y: float) -> None:
    state = scene(thing(robot_y, grasp=grasp, pose_z=1.265), robot_y=robot_y)
    assert ENV.simulate(state, place(y)) == state


@pytest.mark.parametrize("grasp", [SIDE, TOP])
@pytest.mark.parametrize("robot_y", [0.5, -0.5, -5.0])
def test_a_closed_lid_is_checked_before_grasp_and_reach(grasp: float, robot_y: float) -> None:
    state = scene(thing(robot_y, grasp=grasp), robot_y=robot_y, lid_open=False)
    with pytest.raises(EnvironmentFailure) as caught:
        ENV.simulate(state, place(0.5))
    assert caught.value.offending == (LID_OBJECT,)


@pytest.mark.parametrize("z", [0.265, 1.265])
def test_collisions_on_the_table_depend_on_the_height(z: float) -> None:
    state = scene(thing(grasp=TOP), thing(-5.5, pose_z=z))
    after = ENV.simulate(state, place(-5.5))
    assert (after == state) is (z == 0.265)


@pytest.mark.parametrize(
    "action", [WASH(ROBBY), DRY(ROBBY), PAINT(ROBBY, parameters=(0.4,)), OPEN_LID(ROBBY, LID_OBJECT)]
)
@pytest.mark.parametrize("features", [{"dirtiness": 0.9}, {"wetness": 0.9}, {}])
def test_washing_drying_painting_and_opening_need_no_reach(
    action: GroundController, features: dict[str, float]
) -> None:
    state = scene(thing(-9.0, grasp=SIDE, **features), robot_y=2.0, lid_open=False)
    assert not NEXT_TO(ROBBY, OBJ0).holds(state)
    assert ENV.simulate(state, action) == PAINTING.simulate(state, action)
    if action == WASH(ROBBY):
        assert ENV.simulate(state, action) != state


def test_an_unknown_controller_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'MoveToBox'"):
        ENV.simulate(scene(thing()), Controller("MoveToBoxes", (ROBOT,))(ROBBY))


@settings(max_examples=80, deadline=None)
@given(
    grasp=st.sampled_from([NONE, SIDE, TOP]),
    robot_y=st.floats(-10.1, 2.95),
    offset=st.floats(-0.9, 0.9),
    y=st.one_of(st.floats(-10.1, 2.95), st.sampled_from([0.43, 0.5, 0.57, 1.5, 2.0])),
    z=st.floats(0.255, 0.275),
)
def test_within_reach_placing_is_as_in_painting(
    grasp: float, robot_y: float, offset: float, y: float, z: float
) -> None:
    state = scene(thing(robot_y + offset, grasp=grasp), thing(-3.0), robot_y=robot_y)
    after, expected = ENV.simulate(state, place(y, z)), PAINTING.simulate(state, place(y, z))
    if abs(robot_y - y) >= 1.0 or expected == state:
        assert after == state
    else:
        assert after == expected.replace({OBJ0: {"pose_z": 0.265 if y < -1.0 else z}})


# Tasks


@pytest.mark.parametrize(("split", "counts"), [(Split.TRAIN, [8, 9, 10]), (Split.TEST, [11, 12, 13])])
def test_tasks_alternate_in_size_and_have_two_goal_objects(split: Split, counts: list[int]) -> None:
    for index, task in enumerate(ENV.tasks(split, 7, seed=0)):
        count = counts[index % 3]
        assert len(task.initial_state.of_type(OBJ)) == count
        first, last = OBJ("obj0"), OBJ(f"obj{count - 1}")
        assert task.goal == {
            IN_SHELF(first, SHELF_OBJECT),
            IS_SHELF_COLOR(first, SHELF_OBJECT),
            IN_BOX(last, BOX_OBJECT),
            IS_BOX_COLOR(last, BOX_OBJECT),
        }


def test_an_initially_held_object_is_above_the_table() -> None:
    seen = {True: 0, False: 0}
    for task in ENV.tasks(Split.TRAIN, 60, seed=0):
        held = held_object(task.initial_state)
        seen[held is not None] += 1
        for obj in task.initial_state.of_type(OBJ):
            height = 1.265 if obj == held else 0.265
            assert task.initial_state.get(obj, "pose_z") == pytest.approx(height)
            assert NOT_ON_TABLE(obj).holds(task.initial_state) is (obj == held)
    assert min(seen.values()) > 15


def test_several_objects_are_within_reach_at_once() -> None:
    counts = [
        sum(NEXT_TO(ROBBY, obj).holds(task.initial_state) for obj in task.initial_state.of_type(OBJ))
        for task in ENV.tasks(Split.TEST, 60, seed=0)
    ]
    assert 2.0 < np.mean(counts) < 4.0
