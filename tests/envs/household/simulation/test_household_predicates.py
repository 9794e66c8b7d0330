"""The ten predicates in the tiny house, compared to values by hand and to their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.scene import ROBOT_OBJECT, Box, Thing
from needful.envs.household.simulation.snapshot_geometry import OPEN_THRESHOLD, PREDICATE_NAMES
from needful.envs.household.simulation.world import World
from tiny_house import named, scene_of, tiny_scene, true_of

WORLD = World(tiny_scene())
START = WORLD.settled()
OBJ = named(START)


def standing_at(x, y, state=START):
    return state.replace({ROBOT_OBJECT: {"x": x, "y": y, "hand_x": x, "hand_y": y}})


def test_every_predicate_has_an_extension():
    for name in PREDICATE_NAMES:
        assert all(WORLD.holds(START, name, objects) for objects in WORLD.extension(START, name))


def test_at_the_start():
    assert true_of(WORLD, START, "Openable") == {"fridge", "package", "window"}
    assert true_of(WORLD, START, "Open") == {"window"}
    assert true_of(WORLD, START, "Closed") == {"fridge", "package"}
    everything = {thing.name for thing in WORLD.model.objects}
    assert true_of(WORLD, START, "NotOpenable") == everything - {"fridge", "package", "window"}
    assert true_of(WORLD, START, "Inside") == set()
    assert true_of(WORLD, START, "Holding") == set()
    assert true_of(WORLD, START, "HandEmpty") == {""}
    assert not WORLD.holds(START, "OnTop", (OBJ["table"], OBJ["book"]))


@settings(max_examples=60)
@given(st.floats(0.3, 7.7), st.floats(0.3, 3.7))
def test_reachable_is_near_and_in_sight(x, y):
    state = standing_at(x, y)
    reachable = true_of(WORLD, state, "Reachable")
    for obj in WORLD.model.things:
        low, high = WORLD.bounds(state, obj)
        gap = [max(lo - p, 0.0, p - hi) for p, lo, hi in zip((x, y, 0.7), low, high, strict=True)]
        if np.linalg.norm(gap) >= 1.0:
            assert obj.name not in reachable
    assert WORLD.holds(state, "ReachableNothing", ()) == (not reachable)


@pytest.mark.parametrize(
    ("place", "reachable"),
    [
        ((3.2, 2.5), set()),
        ((0.7, 1.5), {"bed", "bucket", "can_0", "can_1"}),
        ((2.5, 1.6), {"bed", "package"}),
        ((1.8, 0.8), {"package", "window"}),
        # Right behind the wall between the rooms.
        ((4.5, 1.0), {"book", "table"}),
        ((5.2, 1.3), {"book", "table"}),
        ((7.0, 3.0), {"shelf"}),
    ],
)
def test_reachable_things_by_position(place, reachable):
    assert true_of(WORLD, standing_at(*place), "Reachable") == reachable


def test_walls_hide_what_is_near():
    things = [Thing("jar", "jar", (2.0, 2.0, 0.001))]
    wall = Box((1.7, 2.0, 0.75), (0.02, 1.0, 0.75))
    for walls, reachable in (((), {"jar"}), ((wall,), set())):
        world = World(scene_of(things, walls))
        state = standing_at(1.4, 2.0, world.settled())
        assert true_of(world, state, "Reachable") == reachable


def test_a_partly_hidden_thing_is_in_sight():
    # The wall hides the nearest point of the table's bounding box, but not its centre.
    world = World(
        scene_of([Thing("table", "table", (2.0, 2.0, 0.0))], [Box((2.0, 1.5, 0.35), (1.0, 0.02, 0.35))])
    )
    assert true_of(world, standing_at(2.0, 1.2, world.settled()), "Reachable") == {"table"}


@pytest.mark.parametrize(
    ("fraction", "is_open"),
    [(0.0, False), (OPEN_THRESHOLD, False), (OPEN_THRESHOLD + 1e-9, True), (1.0, True)],
)
def test_open_means_beyond_the_threshold(fraction, is_open):
    state = START.replace({OBJ["fridge"]: {"joint": fraction}})
    assert ("fridge" in true_of(WORLD, state, "Open")) == is_open
    assert ("fridge" in true_of(WORLD, state, "Closed")) == (not is_open)


def test_inside_depends_on_the_centre():
    bucket = START[OBJ["bucket"]]

    def can_at(dx, dz):
        change = {"x": bucket[0] + dx, "y": bucket[1], "z": bucket[2] + dz}
        return true_of(WORLD, START.replace({OBJ["can_0"]: change}), "Inside")

    # The cavity extends 0.142 to either side and from z = 0.008 to 0.24; the can's centre is at 0.06.
    assert can_at(0.0, 0.01) == {"can_0 bucket"}
    assert can_at(0.14, 0.01) == {"can_0 bucket"}
    assert can_at(0.15, 0.01) == set()
    assert can_at(0.0, 0.17) == {"can_0 bucket"}
    assert can_at(0.0, 0.19) == set()
    assert can_at(0.0, -0.06) == set()


def test_the_held_thing_is_in_no_relation():
    bucket = START[OBJ["bucket"]]
    inside = START.replace({OBJ["can_0"]: {"x": bucket[0], "y": bucket[1], "z": bucket[2] + 0.01}})
    near = standing_at(1.2, 1.5, inside)
    assert "bucket" in true_of(WORLD, near, "Reachable")
    for held in ("can_0", "bucket"):
        state = near.replace({OBJ[held]: {"held": 1.0}})
        assert true_of(WORLD, state, "Holding") == {held}
        assert true_of(WORLD, state, "HandEmpty") == set()
        assert true_of(WORLD, state, "Inside") == set()
        assert held not in true_of(WORLD, state, "Reachable")
        assert not any(held in words.split() for words in true_of(WORLD, state, "OnTop"))


def test_a_house_without_things():
    world = World(scene_of([]))
    state = world.settled()
    assert true_of(world, state, "ReachableNothing") == {""}
    assert true_of(world, state, "NotOpenable") == {"bedroom_floor", "living_room_floor"}
    assert true_of(world, state, "OnTop") == set()
