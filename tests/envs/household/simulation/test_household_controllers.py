"""The six controllers: their effects, and every reason for a failure."""

from __future__ import annotations

from math import atan2, cos, pi, sin

import numpy as np
import pytest

from needful.envs.household.scene.scene import (
    CARRY_HEIGHT,
    CLEARANCE,
    HAND_RADIUS,
    RADIUS,
    ROBOT_OBJECT,
    Box,
    Thing,
    heading,
)
from needful.envs.household.simulation.world import World
from needful.errors import EnvironmentFailure
from tiny_house import THINGS, WALLS, alcove, named, scene_of, tiny_scene, true_of

WORLD = World(tiny_scene())
START = WORLD.settled()
OBJ = named(START)


def run(state, controller, target, *theta, world=WORLD):
    return world.run(state, controller, named(state)[target], theta)


def reason(state, controller, target, *theta, world=WORLD):
    """Return why a controller fails, and whether its initiation test reports that."""
    before = {obj: state[obj] for obj in state}
    with pytest.raises(EnvironmentFailure) as failure:
        run(state, controller, target, *theta, world=world)
    assert failure.value.offending == ()
    assert {obj: state[obj] for obj in state} == before
    known = world.start_failure(state, controller, named(state)[target], theta)
    assert known in (None, failure.value.reason)
    return failure.value.reason, known is not None


@pytest.fixture(scope="module")
def at_cans():
    return run(START, "NavigateTo", "can_1", 0.0, -0.6)


@pytest.fixture(scope="module")
def holding_can(at_cans):
    return run(at_cans, "Grasp", "can_1", 0.0, -0.1, 0.15)


@pytest.fixture(scope="module")
def at_shelf():
    state = run(START, "NavigateTo", "hardback", -0.5, 0.0)
    state = run(state, "Grasp", "hardback", 0.0, 0.0, 0.2)
    # The front of the shelf is at its own +y.
    return run(state, "NavigateTo", "shelf", 0.1, 0.6)


class TestNavigateTo:
    def test_it_drives_to_the_offset_and_faces_the_target(self, at_cans):
        x, y, yaw = at_cans[ROBOT_OBJECT][:3]
        can = START[OBJ["can_1"]]
        assert (x, y) == pytest.approx((can[0], can[1] - 0.6))
        assert yaw == pytest.approx(pi / 2, abs=1e-3)
        assert at_cans[ROBOT_OBJECT][3:6] == pytest.approx((x, y, CARRY_HEIGHT))
        assert true_of(WORLD, at_cans, "Reachable") >= {"can_0", "can_1", "bed"}

    def test_nothing_else_changes(self, at_cans):
        assert all(at_cans[obj] == START[obj] for obj in START if obj != ROBOT_OBJECT)

    def test_offsets_turn_with_the_target(self):
        package = START[OBJ["package"]]
        after = run(START, "NavigateTo", "package", 0.1, 0.7)
        x, y, yaw = after[ROBOT_OBJECT][:3]
        assert x == pytest.approx(package[0] + 0.1 * cos(0.3) - 0.7 * sin(0.3), abs=1e-3)
        assert y == pytest.approx(package[1] + 0.1 * sin(0.3) + 0.7 * cos(0.3), abs=1e-3)
        assert yaw == pytest.approx(atan2(package[1] - y, package[0] - x), abs=1e-3)

    def test_the_held_thing_moves_with_the_robot(self, at_cans):
        holding = run(at_cans, "Grasp", "can_1", 0.2, 0.0, 0.06)
        after = run(holding, "NavigateTo", "bucket", 0.6, -0.7)
        turn = after[ROBOT_OBJECT][2] - holding[ROBOT_OBJECT][2]
        assert abs(turn) > 0.1
        rotation = np.array([[cos(turn), -sin(turn)], [sin(turn), cos(turn)]])

        def from_base(state, place):
            return np.array(place[:2]) - state[ROBOT_OBJECT][:2]

        for part in (lambda state: state[ROBOT_OBJECT][3:], lambda state: state[OBJ["can_1"]]):
            before, now = part(holding), part(after)
            assert from_base(after, now) == pytest.approx(rotation @ from_base(holding, before), abs=1e-9)
            assert now[2] == before[2]
            assert heading(now[3:7]) - heading(before[3:7]) == pytest.approx(turn)

    def test_no_clearance(self):
        # The front of the package is 0.17 from its origin; a bit less than the clearance fails.
        touching = 0.17 + RADIUS + CLEARANCE
        assert reason(START, "NavigateTo", "package", 0.0, touching - 0.005) == ("no clearance", True)
        run(START, "NavigateTo", "package", 0.0, touching + 0.005)
        assert reason(START, "NavigateTo", "bed", 0.0, -3.0) == ("no clearance", True)

    def test_not_reachable(self):
        assert reason(START, "NavigateTo", "package", 0.0, 1.3) == ("not reachable", True)
        # The book is on the other side of the wall.
        assert reason(START, "NavigateTo", "book", -1.5, 1.1)[0] == "not reachable"

    def test_the_held_thing_is_no_target(self, holding_can):
        assert reason(holding_can, "NavigateTo", "can_1", 0.0, -0.3)[0] in ("no clearance", "not reachable")

    def test_no_path(self):
        door = Box((4.0, 2.0, 0.75), (0.05, 0.5, 0.75))
        world = World(scene_of(THINGS, [*WALLS, door]))
        state = world.settled()
        assert reason(state, "NavigateTo", "book", 0.0, 0.7, world=world) == ("no path", True)
        run(state, "NavigateTo", "package", 0.0, 0.7, world=world)

    def test_loose_things_can_block_the_door(self):
        packages = [Thing(f"package_{n}", "package", (4.0, 1.7 + 0.35 * n, 0.001)) for n in range(2)]
        world = World(scene_of([*THINGS, *packages]))
        assert reason(world.settled(), "NavigateTo", "book", 0.0, 0.7, world=world)[0] == "no path"


class TestGrasp:
    def test_the_thing_is_carried_above_the_base(self, holding_can):
        assert true_of(WORLD, holding_can, "Holding") == {"can_1"}
        x, y = holding_can[ROBOT_OBJECT][:2]
        low, high = WORLD.bounds(holding_can, OBJ["can_1"])
        assert low[2] == pytest.approx(CARRY_HEIGHT)
        assert ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2) == pytest.approx((x, y))

    def test_the_hand_touches_it(self, holding_can):
        hand = np.array(holding_can[ROBOT_OBJECT][3:6])
        low, high = (np.array(corner) for corner in WORLD.bounds(holding_can, OBJ["can_1"]))
        gap = np.linalg.norm(hand - np.clip(hand, low, high))
        assert HAND_RADIUS - 0.005 < gap < HAND_RADIUS + 0.02

    def test_the_hand_approaches_from_the_offset(self, at_cans):
        for theta, axis, sign in (
            ((0.0, 0.0, 0.3), 2, 1),
            ((0.2, 0.0, 0.06), 0, 1),
            ((-0.2, 0.0, 0.06), 0, -1),
        ):
            state = run(at_cans, "Grasp", "can_1", *theta)
            low, high = (np.array(corner) for corner in WORLD.bounds(state, OBJ["can_1"]))
            assert sign * (np.array(state[ROBOT_OBJECT][3:6]) - (low + high) / 2)[axis] > 0.05

    def test_things_on_top_of_it_fall(self):
        stack = [Thing("lower", "hardback", (2.0, 2.0, 0.001)), Thing("upper", "candle", (2.0, 2.0, 0.037))]
        world = World(scene_of(stack))
        state = run(world.settled(), "NavigateTo", "lower", -0.6, 0.0, world=world)
        state = run(state, "Grasp", "lower", -0.2, 0.0, 0.15, world=world)
        assert true_of(world, state, "Holding") == {"lower"}
        assert true_of(world, state, "OnTop") == {"upper bedroom_floor"}
        assert state.get(named(state)["upper"], "z") == pytest.approx(0.0, abs=1e-3)

    def test_reasons(self, at_cans, holding_can):
        assert reason(holding_can, "Grasp", "can_0", 0.0, 0.0, 0.2) == ("the hand is full", True)
        assert reason(at_cans, "Grasp", "bed", 0.0, 0.0, 0.2) == ("not graspable", True)
        assert reason(at_cans, "Grasp", "book", 0.0, 0.0, 0.2) == ("not reachable", True)
        # From below, through the bed.
        assert reason(at_cans, "Grasp", "can_1", 0.0, 0.0, 0.0) == ("no path for the hand", False)

    def test_a_full_bucket_cannot_be_lifted(self, holding_can):
        state = run(holding_can, "NavigateTo", "bucket", 0.0, -0.7)
        state = run(state, "PlaceInside", "bucket", 0.0, 0.0, 0.3)
        assert true_of(WORLD, state, "Inside") == {"can_1 bucket"}
        assert reason(state, "Grasp", "bucket", 0.0, -0.2, 0.12)[0] == "no path for the hand"

    def test_an_empty_bucket_can_be_lifted(self):
        state = run(START, "NavigateTo", "bucket", 0.0, -0.7)
        state = run(state, "Grasp", "bucket", 0.0, -0.2, 0.12)
        assert true_of(WORLD, state, "Holding") == {"bucket"}


class TestPlaceOnTop:
    @pytest.mark.parametrize("height", [0.13, 0.53, 0.93, 1.33])
    def test_any_board_of_the_shelf(self, at_shelf, height):
        after = run(at_shelf, "PlaceOnTop", "shelf", 0.1, 0.0, height)
        assert true_of(WORLD, after, "OnTop") >= {"hardback shelf"}
        assert true_of(WORLD, after, "HandEmpty") == {""}
        x, y, z = after[OBJ["hardback"]][:3]
        # The shelf has a yaw of pi.
        assert (x, y) == pytest.approx((7.0 - 0.1, 3.8), abs=0.01)
        assert z == pytest.approx(height - 0.01, abs=0.005)

    def test_physics_decides_where_it_ends(self, at_shelf):
        after = run(at_shelf, "PlaceOnTop", "shelf", 0.1, 0.45, 0.6)
        assert "hardback living_room_floor" in true_of(WORLD, after, "OnTop")

    def test_the_hand_returns_above_the_base(self, at_shelf):
        after = run(at_shelf, "PlaceOnTop", "shelf", 0.1, 0.0, 0.93)
        assert after[ROBOT_OBJECT][3:6] == pytest.approx((*after[ROBOT_OBJECT][:2], CARRY_HEIGHT))
        assert after[ROBOT_OBJECT][:3] == at_shelf[ROBOT_OBJECT][:3]

    def test_reasons(self, at_cans, at_shelf):
        assert reason(at_cans, "PlaceOnTop", "bed", 0.0, 0.0, 0.5) == ("the hand is empty", True)
        assert reason(at_shelf, "PlaceOnTop", "bed", 0.0, 0.0, 0.5) == ("not reachable", True)
        assert reason(at_shelf, "PlaceOnTop", "shelf", -1.2, 0.6, 1.0) == ("out of the hand's range", True)
        # In the middle of a board.
        assert reason(at_shelf, "PlaceOnTop", "shelf", 0.1, 0.0, 0.5) == ("no clearance", True)

    def test_no_path(self):
        # The position on the table is free, but surrounded by walls.
        x, y = 1.5, 1.2
        sides = [
            (x - 0.2, y, 0.02, 0.2),
            (x + 0.2, y, 0.02, 0.2),
            (x, y - 0.2, 0.2, 0.02),
            (x, y + 0.2, 0.2, 0.02),
        ]
        cage = [Box((a, b, 1.0), (c, d, 0.28)) for a, b, c, d in sides]
        roof = Box((x, y, 1.3), (0.22, 0.22, 0.02))
        things = [Thing("jar", "jar", (3.0, 1.2, 0.001)), Thing("table", "table", (x, y, 0.0))]
        world = World(scene_of(things, [*WALLS, *cage, roof]))
        state = run(world.settled(), "NavigateTo", "jar", 0.0, 0.6, world=world)
        state = run(state, "Grasp", "jar", 0.0, 0.0, 0.3, world=world)
        state = run(state, "NavigateTo", "table", 0.0, 0.7, world=world)
        assert reason(state, "PlaceOnTop", "table", 0.0, 0.0, 0.8, world=world) == (
            "no path for the hand",
            False,
        )


class TestPlaceInside:
    def test_a_closed_thing_takes_nothing(self):
        state = run(START, "NavigateTo", "hardback", -0.5, 0.0)
        state = run(state, "Grasp", "hardback", 0.0, 0.0, 0.2)
        at_package = run(state, "NavigateTo", "package", 0.0, 0.6)
        assert reason(at_package, "PlaceInside", "package", 0.0, 0.0, 0.4) == ("closed", True)

    def test_an_open_thing_takes_things(self, holding_can):
        opened = run(run(START, "NavigateTo", "package", 0.0, 0.6), "Open", "package", 0.0, 0.05, 0.05)
        state = run(opened, "NavigateTo", "can_1", 0.0, -0.6)
        state = run(state, "Grasp", "can_1", 0.0, -0.1, 0.15)
        state = run(state, "NavigateTo", "package", 0.0, 0.6)
        state = run(state, "PlaceInside", "package", 0.0, 0.05, 0.3)
        assert true_of(WORLD, state, "Inside") == {"can_1 package"}

    def test_the_bucket_needs_no_opening(self, holding_can):
        state = run(holding_can, "NavigateTo", "bucket", 0.0, -0.7)
        after = run(state, "PlaceInside", "bucket", 0.05, -0.05, 0.4)
        assert true_of(WORLD, after, "Inside") == {"can_1 bucket"}
        assert true_of(WORLD, after, "OnTop") >= {"can_1 bucket", "bucket bed", "can_0 bed"}


class TestOpenAndClose:
    def test_a_package_is_opened_and_closed(self):
        state = run(START, "NavigateTo", "package", 0.0, 0.6)
        opened = run(state, "Open", "package", 0.0, 0.05, 0.05)
        assert opened.get(OBJ["package"], "joint") == pytest.approx(1.0, abs=1e-3)
        assert true_of(WORLD, opened, "Open") == {"package", "window"}
        # The handle is now above and behind; the hand approaches it from the front.
        closed = run(opened, "Close", "package", 0.0, 0.08, 0.05)
        assert closed.get(OBJ["package"], "joint") == pytest.approx(0.0, abs=1e-3)

    def test_a_window_is_closed(self):
        state = run(START, "NavigateTo", "window", 0.2, 0.9)
        closed = run(state, "Close", "window", 0.1, 0.0, 0.0)
        assert closed.get(OBJ["window"], "joint") == 0.0
        assert all(closed[obj] == state[obj] for obj in state if obj not in (OBJ["window"], ROBOT_OBJECT))
        assert closed[ROBOT_OBJECT] == state[ROBOT_OBJECT]

    def test_reasons(self, at_cans, holding_can):
        near_package = run(START, "NavigateTo", "package", 0.0, 0.6)
        assert reason(holding_can, "Open", "package", 0.0, 0.1, 0.0) == ("the hand is full", True)
        assert reason(at_cans, "Open", "bed", 0.0, 0.1, 0.0) == ("not openable", True)
        assert reason(at_cans, "Close", "package", 0.0, 0.1, 0.0) == ("not reachable", True)
        # From inside the package.
        assert reason(near_package, "Open", "package", 0.0, -0.1, -0.08) == ("no path for the hand", False)

    def test_a_handle_out_of_range(self):
        # The side of the fridge is reachable, but the handle at the far end of its door is not.
        state = run(START, "NavigateTo", "fridge", -0.7, -0.05)
        assert reason(state, "Open", "fridge", 0.1, 0.1, 0.1)[0] == "out of the hand's range"

    def test_a_lid_that_would_enclose_the_robot(self):
        for gap, outcome in ((0.5, ("the robot would be shut in", True)), (0.7, None)):
            world = World(alcove(gap))
            state = run(world.settled(), "NavigateTo", "package", -0.55, 0.1, world=world)
            theta = (0.0, 0.05, 0.05)
            if outcome is not None:
                assert reason(state, "Open", "package", *theta, world=world) == outcome
            else:
                after = run(state, "Open", "package", *theta, world=world)
                run(after, "NavigateTo", "package", 0.6, 0.0, world=world)

    def test_doors_do_not_go_through_the_robot(self):
        state = run(START, "NavigateTo", "fridge", 0.0, 0.62)
        assert reason(state, "Open", "fridge", 0.0, 0.1, 0.0) == ("no clearance", True)
