"""The oracle models of Painting and Cluttered Painting equal their tables."""

from __future__ import annotations

import numpy as np
import pytest

from envs.operator_rows import rows_of
from envs.painting_scenes import BOX_OBJECT, OBJ0, ROBBY, SHELF_OBJECT, SIDE, scene, thing
from needful.envs.cluttered_painting import ClutteredPainting
from needful.envs.painting import Painting

PAINTING, CLUTTERED = Painting(), ClutteredPainting()

PAINTING_OPERATORS = """
PickTop(?obj, ?robot) | Pick(?robot, ?obj) | GripperOpen(?robot), OnTable(?obj) | Holding(?obj), HoldingTop(?obj) | GripperOpen(?robot) | -
PickSide(?obj, ?robot) | Pick(?robot, ?obj) | GripperOpen(?robot), OnTable(?obj) | Holding(?obj), HoldingSide(?obj) | GripperOpen(?robot) | -
Wash(?obj, ?robot) | Wash(?robot) | Holding(?obj), IsDirty(?obj), IsDry(?obj) | IsClean(?obj), IsWet(?obj) | IsDirty(?obj), IsDry(?obj) | -
Dry(?obj, ?robot) | Dry(?robot) | Holding(?obj), IsWet(?obj) | IsDry(?obj) | IsWet(?obj) | -
PaintBox(?obj, ?box, ?robot) | Paint(?robot) | Holding(?obj), IsClean(?obj), IsDry(?obj) | IsBoxColor(?obj, ?box) | - | -
PaintShelf(?obj, ?shelf, ?robot) | Paint(?robot) | Holding(?obj), IsClean(?obj), IsDry(?obj) | IsShelfColor(?obj, ?shelf) | - | -
PlaceBox(?obj, ?box, ?robot) | Place(?robot) | Holding(?obj), HoldingTop(?obj) | GripperOpen(?robot), InBox(?obj, ?box), NotOnTable(?obj) | Holding(?obj), HoldingTop(?obj), OnTable(?obj) | -
PlaceShelf(?obj, ?shelf, ?robot) | Place(?robot) | Holding(?obj), HoldingSide(?obj) | GripperOpen(?robot), InShelf(?obj, ?shelf), NotOnTable(?obj) | Holding(?obj), HoldingSide(?obj), OnTable(?obj) | -
OpenLid(?lid, ?robot) | OpenLid(?robot, ?lid) | GripperOpen(?robot) | - | - | -
PlaceTableSide(?obj, ?robot) | Place(?robot) | Holding(?obj), HoldingSide(?obj), OnTable(?obj) | GripperOpen(?robot) | Holding(?obj), HoldingSide(?obj) | -
PlaceTableTop(?obj, ?robot) | Place(?robot) | Holding(?obj), HoldingTop(?obj), OnTable(?obj) | GripperOpen(?robot) | Holding(?obj), HoldingTop(?obj) | -
"""  # noqa: E501


def test_painting_has_the_operators_of_the_table() -> None:
    assert rows_of(PAINTING.oracle_model().operators) == PAINTING_OPERATORS.strip().splitlines()
    *_, open_lid, _, _ = rows_of(Painting(include_is_open=True).oracle_model().operators)
    assert (
        open_lid
        == "OpenLid(?lid, ?robot) | OpenLid(?robot, ?lid) | GripperOpen(?robot) | IsOpen(?lid) | - | -"
    )


def test_painting_samples_grasps_colours_and_poses() -> None:
    state = scene(thing(-4.0, grasp=SIDE, pose_x=1.648))
    samplers, rng = PAINTING.oracle_model().samplers, np.random.default_rng(0)
    in_box, in_shelf = (OBJ0, BOX_OBJECT, ROBBY), (OBJ0, SHELF_OBJECT, ROBBY)
    assert samplers["PickTop"].sample(state, (OBJ0, ROBBY), rng) == (1.0,)
    assert samplers["PickSide"].sample(state, (OBJ0, ROBBY), rng) == (0.0,)
    assert samplers["PaintBox"].sample(state, in_box, rng) == (0.3,)
    assert samplers["PaintShelf"].sample(state, in_shelf, rng) == (0.8,)
    for name in ("PlaceTableSide", "PlaceTableTop"):
        assert samplers[name].sample(state, (OBJ0, ROBBY), rng) == (1.648, -4.0, 0.265)
    for name, objects, low, high in (("PlaceBox", in_box, 0.42, 0.58), ("PlaceShelf", in_shelf, 1.0, 2.95)):
        drawn = [samplers[name].sample(state, objects, rng) for _ in range(200)]
        assert {(x, z) for x, _, z in drawn} == {(1.648, 0.265)}
        positions = [y for _, y, _ in drawn]
        assert low <= min(positions) < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < max(positions) <= high


CLUTTERED_OPERATORS = """
PickTop(?obj, ?robot) | Pick(?robot, ?obj) | GripperOpen(?robot), NextTo(?robot, ?obj), OnTable(?obj) | Holding(?obj), HoldingTop(?obj) | GripperOpen(?robot) | -
PickSide(?obj, ?robot) | Pick(?robot, ?obj) | GripperOpen(?robot), NextTo(?robot, ?obj), OnTable(?obj) | Holding(?obj), HoldingSide(?obj) | GripperOpen(?robot) | -
Wash(?obj, ?robot) | Wash(?robot) | Holding(?obj), IsDirty(?obj), IsDry(?obj), NextTo(?robot, ?obj) | IsClean(?obj), IsWet(?obj) | IsDirty(?obj), IsDry(?obj) | -
Dry(?obj, ?robot) | Dry(?robot) | Holding(?obj), IsWet(?obj), NextTo(?robot, ?obj) | IsDry(?obj) | IsWet(?obj) | -
PaintBox(?obj, ?box, ?robot) | Paint(?robot) | Holding(?obj), IsClean(?obj), IsDry(?obj), NextTo(?robot, ?obj) | IsBoxColor(?obj, ?box) | - | -
PaintShelf(?obj, ?shelf, ?robot) | Paint(?robot) | Holding(?obj), IsClean(?obj), IsDry(?obj), NextTo(?robot, ?obj) | IsShelfColor(?obj, ?shelf) | - | -
PlaceBox(?obj, ?box, ?robot) | Place(?robot) | Holding(?obj), HoldingTop(?obj), NextTo(?robot, ?obj), NextToBox(?robot, ?box) | GripperOpen(?robot), InBox(?obj, ?box) | Holding(?obj), HoldingTop(?obj) | -
PlaceShelf(?obj, ?shelf, ?robot) | Place(?robot) | Holding(?obj), HoldingSide(?obj), NextTo(?robot, ?obj), NextToShelf(?robot, ?shelf) | GripperOpen(?robot), InShelf(?obj, ?shelf) | Holding(?obj), HoldingSide(?obj) | -
OpenLid(?lid, ?robot) | OpenLid(?robot, ?lid) | GripperOpen(?robot) | - | - | -
PlaceTableSide(?obj, ?robot) | Place(?robot) | Holding(?obj), HoldingSide(?obj), NextTo(?robot, ?obj), NextToTable(?robot) | GripperOpen(?robot), OnTable(?obj) | Holding(?obj), HoldingSide(?obj), NotOnTable(?obj) | -
PlaceTableTop(?obj, ?robot) | Place(?robot) | Holding(?obj), HoldingTop(?obj), NextTo(?robot, ?obj), NextToTable(?robot) | GripperOpen(?robot), OnTable(?obj) | Holding(?obj), HoldingTop(?obj), NotOnTable(?obj) | -
MoveToObj(?robot, ?obj) | MoveToObj(?robot, ?obj) | GripperOpen(?robot), OnTable(?obj) | NextTo(?robot, ?obj), NextToTable(?robot) | - | NextTo, NextToBox, NextToShelf
MoveToBox(?robot, ?box, ?obj) | MoveToBox(?robot, ?box) | Holding(?obj), NextTo(?robot, ?obj) | NextTo(?robot, ?obj), NextToBox(?robot, ?box), NotOnTable(?obj) | NextToTable(?robot), OnTable(?obj) | NextTo
MoveToShelf(?robot, ?shelf, ?obj) | MoveToShelf(?robot, ?shelf) | Holding(?obj), NextTo(?robot, ?obj) | NextTo(?robot, ?obj), NextToShelf(?robot, ?shelf), NotOnTable(?obj) | NextToTable(?robot), OnTable(?obj) | NextTo
"""  # noqa: E501


def test_cluttered_painting_has_the_operators_of_the_table() -> None:
    assert rows_of(CLUTTERED.oracle_model().operators) == CLUTTERED_OPERATORS.strip().splitlines()
    with_lid = ClutteredPainting(include_is_open=True).oracle_model().operators
    assert [
        operator.name for operator in with_lid if operator not in CLUTTERED.oracle_model().operators
    ] == ["OpenLid"]


def test_cluttered_painting_moves_to_the_centre_of_its_target() -> None:
    state, rng = scene(thing(-4.0)), np.random.default_rng(0)
    samplers = CLUTTERED.oracle_model().samplers
    assert samplers["MoveToObj"].sample(state, (ROBBY, OBJ0), rng) == (-4.0,)
    assert samplers["MoveToBox"].sample(state, (ROBBY, BOX_OBJECT, OBJ0), rng) == (0.5,)
    assert samplers["MoveToShelf"].sample(state, (ROBBY, SHELF_OBJECT, OBJ0), rng) == (1.975,)


def test_cluttered_painting_places_at_the_resting_height() -> None:
    state, rng = scene(thing(0.5, grasp=SIDE, pose_z=1.265), robot_y=0.5), np.random.default_rng(0)
    samplers = CLUTTERED.oracle_model().samplers
    assert samplers["PlaceBox"].sample(state, (OBJ0, BOX_OBJECT, ROBBY), rng)[2] == 0.265
    assert samplers["PlaceShelf"].sample(state, (OBJ0, SHELF_OBJECT, ROBBY), rng)[2] == 0.265


@pytest.mark.parametrize("name", ["PlaceTableSide", "PlaceTableTop"])
@pytest.mark.parametrize(
    ("robot_y", "low", "high"), [(-5.0, -6.0, -4.0), (-9.5, -10.1, -8.5), (-1.2, -2.2, -1.0)]
)
def test_cluttered_painting_places_on_the_table_within_reach(
    name: str, robot_y: float, low: float, high: float
) -> None:
    state = scene(thing(-5.0, grasp=SIDE, pose_z=1.265), robot_y=robot_y)
    sampler, rng = CLUTTERED.oracle_model().samplers[name], np.random.default_rng(0)
    drawn = [sampler.sample(state, (OBJ0, ROBBY), rng) for _ in range(200)]
    assert {(x, z) for x, _, z in drawn} == {(1.65, 0.265)}
    positions = [y for _, y, _ in drawn]
    assert low <= min(positions) < low + 0.1
    assert high - 0.1 < max(positions) <= high


@pytest.mark.parametrize("robot_y", [-1.0, 0.5])
def test_away_from_the_table_the_sample_is_the_current_pose(robot_y: float) -> None:
    state = scene(thing(0.5, grasp=SIDE, pose_z=1.265), robot_y=robot_y)
    sampler = CLUTTERED.oracle_model().samplers["PlaceTableSide"]
    assert sampler.sample(state, (OBJ0, ROBBY), np.random.default_rng(0)) == (1.65, 0.5, 0.275)
