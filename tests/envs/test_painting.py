"""Tests of Painting: controllers, failures and tasks."""

from __future__ import annotations

import itertools
from collections import Counter

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
from needful.core.atoms import GroundAtom
from needful.core.controllers import Controller, GroundController
from needful.core.state import State
from needful.envs.contract import Split
from needful.envs.painting import Painting, held_object
from needful.envs.painting_scene import (
    DRY,
    GRIPPER_OPEN,
    HOLDING,
    HOLDING_SIDE,
    HOLDING_TOP,
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

ENV = Painting()


def place(y: float, x: float = 1.65, z: float = 0.265) -> GroundController:
    return PLACE(ROBBY, parameters=(x, y, z))


def pick(grasp: float) -> GroundController:
    return PICK(ROBBY, OBJ0, parameters=(grasp,))


@pytest.mark.parametrize("lid_open", [False, True])
def test_is_open_is_an_optional_predicate(lid_open: bool) -> None:
    assert IS_OPEN not in ENV.vocabulary.predicates
    with_lid = Painting(include_is_open=True).vocabulary.predicates
    assert set(with_lid) - set(ENV.vocabulary.predicates) == {IS_OPEN}
    assert (IS_OPEN(LID_OBJECT) in abstract(scene(lid_open=lid_open), with_lid)) is lid_open


# Controllers


@pytest.mark.parametrize("grasp", [-0.01, 0.0, 0.2, 0.489, 0.511, 0.7, 1.0, 1.01])
def test_picking_closes_the_fingers_around_the_object(grasp: float) -> None:
    after = ENV.simulate(scene(thing(), thing(-2.0)), pick(grasp))
    assert after == scene(thing(grasp=min(max(grasp, 0.0), 1.0)), thing(-2.0))


@pytest.mark.parametrize("grasp", [0.49, 0.495, 0.5, 0.505, 0.51])
def test_a_grasp_near_one_half_picks_nothing(grasp: float) -> None:
    state = scene(thing())
    assert ENV.simulate(state, pick(grasp)) == state


@pytest.mark.parametrize(
    ("y", "picked"),
    [(-10.1, False), (-10.0, True), (-1.01, True), (-1.0, False), (0.5, False), (2.0, False)],
)
def test_only_objects_on_the_table_are_picked(y: float, picked: bool) -> None:
    state = scene(thing(y))
    assert (held_object(ENV.simulate(state, pick(1.0))) == OBJ0) is picked


@pytest.mark.parametrize("features", [{"pose_z": 1.265}, {"pose_x": 0.0}, {"pose_x": 3.0, "pose_z": 0.0}])
def test_picking_depends_only_on_y(features: dict[str, float]) -> None:
    state = scene(thing(**features))
    assert ENV.simulate(state, pick(0.0)) == scene(thing(grasp=SIDE, **features))


def test_at_most_one_object_is_held() -> None:
    state = scene(thing(), thing(-3.0, grasp=TOP))
    assert ENV.simulate(state, pick(1.0)) == state


@pytest.mark.parametrize(("dirt", "left"), [(0.0, 0.0), (0.7, 0.0), (1.0, 0.0), (1.75, 0.75)])
def test_washing_wets_and_reduces_dirtiness_by_one(dirt: float, left: float) -> None:
    after = ENV.simulate(scene(thing(grasp=TOP, dirtiness=dirt)), WASH(ROBBY))
    assert after == scene(thing(grasp=TOP, dirtiness=left, wetness=1.0))


def test_drying_dries() -> None:
    after = ENV.simulate(scene(thing(grasp=SIDE, wetness=0.9, dirtiness=0.2)), DRY(ROBBY))
    assert after == scene(thing(grasp=SIDE, wetness=0.0, dirtiness=0.2))


@pytest.mark.parametrize(("color", "painted"), [(-0.01, 0.0), (0.0, 0.0), (0.37, 0.37), (1.01, 1.0)])
def test_painting_a_dry_and_clean_object(color: float, painted: float) -> None:
    action = PAINT(ROBBY, parameters=(color,))
    state = scene(thing(grasp=SIDE, wetness=0.5, dirtiness=0.5))
    assert ENV.simulate(state, action) == state.replace({OBJ0: {"color": painted}})


@pytest.mark.parametrize(
    "spoiled", [{"wetness": 0.6}, {"dirtiness": 0.6}, {"wetness": 1.0, "dirtiness": 1.0}]
)
def test_painting_a_wet_or_dirty_object_changes_nothing(spoiled: dict[str, float]) -> None:
    state = scene(thing(grasp=SIDE, **spoiled))
    assert ENV.simulate(state, PAINT(ROBBY, parameters=(0.7,))) == state


@pytest.mark.parametrize("action", [WASH(ROBBY), DRY(ROBBY), PAINT(ROBBY, parameters=(0.7,)), place(-3.0)])
def test_without_a_held_object_nothing_changes(action: GroundController) -> None:
    state = scene(thing(wetness=0.9), thing(dirtiness=0.9), lid_open=False)
    assert ENV.simulate(state, action) == state


@pytest.mark.parametrize("grasp", [NONE, SIDE])
@pytest.mark.parametrize("lid_open", [False, True])
def test_the_lid_can_always_be_opened(grasp: float, lid_open: bool) -> None:
    after = ENV.simulate(scene(thing(grasp=grasp), lid_open=lid_open), OPEN_LID(ROBBY, LID_OBJECT))
    assert after == scene(thing(grasp=grasp), lid_open=True)


@pytest.mark.parametrize(
    ("grasp", "y", "fits"),
    [
        (SIDE, 2.0, True),
        (TOP, 2.0, False),
        (SIDE, 0.5, False),
        (TOP, 0.5, True),
        (SIDE, -3.0, True),
        (TOP, -3.0, True),
        (SIDE, -1.0, False),
        (TOP, 0.8, False),
        (SIDE, 0.0, False),
    ],
)
def test_the_shelf_needs_a_side_grasp_and_the_box_a_top_grasp(grasp: float, y: float, fits: bool) -> None:
    state = scene(thing(grasp=grasp))
    after = ENV.simulate(state, place(y, x=1.645, z=0.27))
    # Placing does not change the height.
    assert after == (scene(thing(y, pose_x=1.645)) if fits else state)


@pytest.mark.parametrize(
    ("y", "inside"), [(0.42, False), (0.42 + 1e-9, True), (0.5, True), (0.58 - 1e-9, True), (0.58, False)]
)
def test_objects_are_placed_strictly_inside_the_box(y: float, inside: bool) -> None:
    state = scene(thing(grasp=TOP))
    assert ENV.simulate(state, place(y)) == (scene(thing(y)) if inside else state)


@pytest.mark.parametrize(
    ("y", "inside"), [(1.0, False), (1.0 + 1e-9, True), (2.0, True), (2.95 - 1e-9, True), (2.95, False)]
)
def test_objects_are_placed_strictly_inside_the_shelf(y: float, inside: bool) -> None:
    state = scene(thing(grasp=SIDE))
    assert ENV.simulate(state, place(y)) == (scene(thing(y)) if inside else state)


@pytest.mark.parametrize("grasp", [SIDE, TOP])
def test_a_closed_lid_is_checked_before_the_grasp(grasp: float) -> None:
    state = scene(thing(grasp=grasp), lid_open=False)
    with pytest.raises(EnvironmentFailure, match="lid of the box is closed") as caught:
        ENV.simulate(state, place(0.5))
    assert caught.value.offending == (LID_OBJECT,)
    execution = ENV.execute(state, place(0.5))
    assert (execution.state, execution.steps, execution.offending) == (state, 0, (LID_OBJECT,))


def test_a_closed_lid_matters_only_for_placing_a_held_object_in_the_box() -> None:
    empty_handed = scene(thing(), lid_open=False)
    assert ENV.simulate(empty_handed, place(0.5)) == empty_handed
    beside_the_box = scene(thing(grasp=TOP), lid_open=False)
    assert ENV.simulate(beside_the_box, place(0.42)) == beside_the_box


@pytest.mark.parametrize("offset", [0.0, 0.0099, 0.0101])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_objects_cannot_be_placed_on_each_other_on_the_table(offset: float, axis: int) -> None:
    spot = [1.65, -3.0, 0.265]
    spot[axis] += offset
    state = scene(thing(grasp=TOP), thing(-3.0))
    after = ENV.simulate(state, PLACE(ROBBY, parameters=spot))
    assert (after == state) is (offset < 0.01)


def test_objects_can_share_a_position_in_the_box() -> None:
    after = ENV.simulate(scene(thing(grasp=TOP), thing(0.5)), place(0.5))
    assert {IN_BOX(OBJ0, BOX_OBJECT), IN_BOX(OBJ1, BOX_OBJECT)} <= abstract(
        after, ENV.vocabulary.predicates
    )


def test_an_object_does_not_collide_with_itself() -> None:
    assert ENV.simulate(scene(thing(grasp=SIDE)), place(-5.0)) == scene(thing())


def test_a_held_object_counts_as_on_the_table_until_it_is_placed() -> None:
    held = ENV.simulate(scene(thing()), pick(0.0))
    assert {ON_TABLE(OBJ0), HOLDING(OBJ0)} <= abstract(held, ENV.vocabulary.predicates)
    assert NOT_ON_TABLE(OBJ0).holds(ENV.simulate(held, place(2.0)))


def test_an_unknown_controller_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Paint'"):
        ENV.simulate(scene(thing()), Controller("Print", (ROBOT,))(ROBBY))


# Properties


def random_action(state: State, rng: np.random.Generator) -> GroundController:
    """Return a random action; Place often goes to the box or the shelf, so that it has an effect."""
    controller = ENV.vocabulary.controllers[rng.integers(len(ENV.vocabulary.controllers))]
    objects = [state.of_type(kind)[rng.integers(len(state.of_type(kind)))] for kind in controller.types]
    if controller == PLACE:
        return place(float(rng.choice([rng.uniform(-10.1, 2.95), 0.5, 2.0])))
    return controller(*objects, parameters=rng.uniform(controller.low, controller.high))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_invariants_of_reachable_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = ENV.sample_task(Split.TEST, seed, rng).initial_state
    for _ in range(25):
        after = ENV.execute(state, random_action(state, rng)).state
        held = [obj for obj in after.of_type(OBJ) if HOLDING(obj).holds(after)]
        assert len(held) <= 1
        assert GRIPPER_OPEN(ROBBY).holds(after) is (not held)
        for obj in after.of_type(OBJ):
            grasped = HOLDING_SIDE(obj).holds(after) + HOLDING_TOP(obj).holds(after)
            assert grasped == (obj in held)
            # Objects never leave the box or the shelf.
            for put_away in (IN_BOX(obj, BOX_OBJECT), IN_SHELF(obj, SHELF_OBJECT)):
                assert put_away.holds(after) or not put_away.holds(state)
        changed = [obj for obj in state if state[obj] != after[obj]]
        assert len([obj for obj in changed if obj.type == OBJ]) <= 1
        state = after


@settings(max_examples=60, deadline=None)
@given(
    grasp=st.sampled_from([NONE, SIDE, TOP]),
    wetness=st.floats(0, 1),
    dirtiness=st.floats(0, 1),
    y=st.floats(-10.1, 2.95),
    lid_open=st.booleans(),
)
def test_an_unmet_requirement_leaves_the_state_unchanged(
    grasp: float, wetness: float, dirtiness: float, y: float, lid_open: bool
) -> None:
    state = scene(thing(grasp=grasp, wetness=wetness, dirtiness=dirtiness), thing(-3.0), lid_open=lid_open)
    held = grasp != NONE
    in_box, in_shelf, on_table = 0.42 < y < 0.58, 1.0 < y < 2.95, -10.1 < y < -1.0
    fits = (
        (in_box and lid_open and grasp == TOP)
        or (in_shelf and grasp == SIDE)
        or (on_table and abs(y + 3.0) >= 0.01)
    )
    requirements = {
        PICK(ROBBY, OBJ0, parameters=(1.0,)): not held,
        PICK(ROBBY, OBJ1, parameters=(1.0,)): not held,
        WASH(ROBBY): held,
        DRY(ROBBY): held,
        PAINT(ROBBY, parameters=(0.7,)): held and wetness <= 0.5 and dirtiness <= 0.5,
        place(y): held and fits,
    }
    for action, met in requirements.items():
        after = ENV.execute(state, action).state
        if met:
            assert after != state or action in (WASH(ROBBY), DRY(ROBBY))
        else:
            assert after == state


# Tasks


@pytest.mark.parametrize(("split", "counts"), [(Split.TRAIN, [2, 3]), (Split.TEST, [3, 4])])
def test_tasks_alternate_between_numbers_of_objects(split: Split, counts: list[int]) -> None:
    for index, task in enumerate(ENV.tasks(split, 6, seed=0)):
        state = task.initial_state
        assert [len(state.of_type(kind)) for kind in ENV.vocabulary.types] == [
            counts[index % 2],
            1,
            1,
            1,
            1,
        ]
        *first, last = (OBJ(f"obj{number}") for number in range(counts[index % 2]))
        expected: set[GroundAtom] = {IN_BOX(last, BOX_OBJECT), IS_BOX_COLOR(last, BOX_OBJECT)}
        for obj in first:
            expected |= {IN_SHELF(obj, SHELF_OBJECT), IS_SHELF_COLOR(obj, SHELF_OBJECT)}
        assert task.goal == expected


def test_the_distribution_of_tasks() -> None:
    tasks = ENV.tasks(Split.TEST, 400, seed=0)
    seen: Counter[str] = Counter()
    for task in tasks:
        state = task.initial_state
        robot_x, robot_y, fingers = state[ROBBY]
        assert robot_x == 1.15
        assert -10.1 < robot_y < -1.0
        assert (state[BOX_OBJECT][:2], state[SHELF_OBJECT][:2]) == ((1.65, 0.5), (1.65, 1.975))
        pale, strong = sorted((state.get(BOX_OBJECT, "color"), state.get(SHELF_OBJECT, "color")))
        assert 0.2 <= pale <= 0.4
        assert 0.6 <= strong <= 1.0
        held = held_object(state)
        assert (fingers == 0.0) is (held is not None)
        if held is not None:
            assert state.get(held, "pose_y") == robot_y
            seen["held from the top"] += state.get(held, "grasp") == 1.0
        lying = [obj for obj in state.of_type(OBJ) if obj != held]
        positions = sorted(state.get(obj, "pose_y") for obj in lying)
        assert all(after - before > 0.105 for before, after in itertools.pairwise(positions))
        for obj in state.of_type(OBJ):
            x, y, z, dirtiness, wetness, color, _, _ = state[obj]
            assert (x, z, color) == (1.65, 0.265, 0.0)
            assert -10.1 < y < -1.0
            assert dirtiness == 0.0 or wetness == 0.0
            assert all(amount == 0.0 or 0.5 <= amount <= 1.0 for amount in (dirtiness, wetness))
            seen["dirty"] += dirtiness > 0.0
            seen["wet"] += wetness > 0.0
            seen["objects"] += 1
        seen["held"] += held is not None
        seen["lid open"] += state.get(LID_OBJECT, "is_open") == 1.0
        seen["pale box"] += state.get(BOX_OBJECT, "color") == pale
    assert seen["dirty"] / seen["objects"] == pytest.approx(1 / 3, abs=0.06)
    assert seen["wet"] / seen["objects"] == pytest.approx(1 / 3, abs=0.06)
    assert seen["held"] / 400 == pytest.approx(0.5, abs=0.1)
    assert seen["held from the top"] / seen["held"] == pytest.approx(0.5, abs=0.14)
    assert seen["lid open"] / 400 == pytest.approx(0.3, abs=0.1)
    assert seen["pale box"] / 400 == pytest.approx(0.5, abs=0.1)
