"""Queries on a house at rest: supports, contacts, bounding boxes, lines of sight."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.scene import Thing
from needful.envs.household.simulation.house_model import SOLID, build_model
from needful.envs.household.simulation.physics import Physics
from needful.envs.household.simulation.snapshot import HELD, JOINT, initial_snapshot
from needful.envs.household.simulation.snapshot_geometry import BoundingBoxes, HouseQueries
from tiny_house import scene_of, tiny_scene

MODEL = build_model(tiny_scene())
SETTLED = Physics(MODEL).settle_all(initial_snapshot(MODEL))
HOUSE = HouseQueries(MODEL)
NAMES = [obj.name for obj in MODEL.objects]


def pairs(house, names):
    return {(names[a], names[b]) for a, b in house.supports()}


def settled(things):
    model = build_model(scene_of(things))
    house = HouseQueries(model)
    snapshot = Physics(model).settle_all(initial_snapshot(model))
    house.set_snapshot(snapshot)
    return model, house, snapshot, [obj.name for obj in model.objects]


def test_supports():
    HOUSE.set_snapshot(SETTLED)
    assert pairs(HOUSE, NAMES) == {
        ("book", "table"),
        ("bucket", "bed"),
        ("can_0", "bed"),
        ("can_1", "bed"),
        ("hardback", "living_room_floor"),
        ("package", "bedroom_floor"),
    }


def test_the_held_thing_has_no_supports():
    things = [Thing(f"book_{n}", "book", (1.0, 1.0, 0.001 + 0.026 * n)) for n in range(3)]
    _, house, snapshot, names = settled(things)
    assert pairs(house, names) == {("book_0", "bedroom_floor"), ("book_1", "book_0"), ("book_2", "book_1")}
    house.set_snapshot(snapshot.with_feature(1, HELD, 1.0))
    assert pairs(house, names) == {("book_0", "bedroom_floor")}


@pytest.mark.parametrize(("tilt", "supported"), [(50.0, True), (65.0, False)])
def test_leaning_is_no_support(tilt, supported):
    # A book leans with its flat side at the edge of the bed, which is at x = 1.75 and z = 0.45.
    things = [Thing("bed", "bed", (1.0, 1.5, 0.0)), Thing("book", "book", (3.0, 3.0, 0.0))]
    _, house, snapshot, names = settled(things)
    angle = np.radians(tilt)
    outwards = np.array([np.sin(angle), 0.0, np.cos(angle)])
    place = np.array([1.75, 1.5, 0.45]) - 0.0005 * outwards
    leaning = np.array([*place, np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    house.set_snapshot(snapshot.with_pose(1, leaning))
    assert house.things_touching(1) == [0]
    assert pairs(house, names) == ({("book", "bed")} if supported else set())


def test_lids_and_boards_are_parts_of_their_things():
    things = [
        Thing("book_0", "book", (1.0, 1.0, 0.252)),
        Thing("book_1", "book", (3.0, 1.0, 0.522)),
        Thing("package", "package", (1.0, 1.0, 0.001)),
        Thing("shelf", "shelf", (3.0, 1.0, 0.0)),
    ]
    _, house, _, names = settled(things)
    assert {("book_0", "package"), ("book_1", "shelf")} <= pairs(house, names)


def test_neighbours_touch():
    things = [Thing(f"box_{n}", "toy_block", (1.0, 1.0, 0.001 + 0.091 * n)) for n in range(2)]
    _, house, _, _ = settled([*things, Thing("far", "toy_block", (3.0, 1.0, 0.0))])
    assert (house.things_touching(0), house.things_touching(1), house.things_touching(2)) == ([1], [0], [])


def corners(low, high):
    return np.array(
        [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    )


def test_bounding_boxes_contain_all_parts():
    window = NAMES.index("window")
    opened = SETTLED.with_feature(window, JOINT, 1.0)
    HOUSE.set_snapshot(opened)
    found = HOUSE.thing_boxes()
    category = MODEL.categories[window]
    parts = [
        corners(np.subtract(p.box.centre, p.box.half), np.add(p.box.centre, p.box.half))
        for p in category.parts
    ]
    hinge, angle = category.hinge, category.hinge.limit
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    for part in hinge.parts:
        closed = corners(
            np.subtract(part.box.centre, part.box.half), np.add(part.box.centre, part.box.half)
        )
        parts.append((closed - hinge.anchor) @ turn.T + hinge.anchor)
    everything = np.concatenate(parts) + np.array([1.8, -0.05, 0.8])
    assert found.low[window] == pytest.approx(everything.min(axis=0))
    assert found.high[window] == pytest.approx(everything.max(axis=0))


def test_nearest_points_of_boxes():
    boxes = BoundingBoxes(np.zeros((1, 3)), np.ones((1, 3)))
    assert boxes.nearest(np.array([2.0, 0.5, -1.0])).tolist() == [[1.0, 0.5, 0.0]]
    assert boxes.centre.tolist() == [[0.5, 0.5, 0.5]]


def first_hits(eye, point, owner):
    """Return where on a line the first other thing and the owner begin, from sampled points."""
    shares = np.linspace(0.0, 1.0, 2000)
    line = eye + shares[:, None] * (point - eye)
    hits = {True: np.inf, False: np.inf}
    for geom in np.flatnonzero(MODEL.query_model.geom_group == SOLID):
        local = (line - HOUSE.centres[geom]) @ HOUSE.axes[geom]
        half = MODEL.half_sizes[geom]
        inside = (np.abs(local) < half).all(axis=1)
        if MODEL.query_model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CYLINDER:
            inside &= np.hypot(local[:, 0], local[:, 1]) < half[0]
        own = MODEL.owner[geom] == owner
        hits[own] = min(hits[own], shares[inside].min(initial=np.inf))
    return hits[False], hits[True]


@settings(max_examples=60)
@given(st.floats(0.2, 7.8), st.floats(0.2, 3.8), st.integers(0, len(MODEL.things) - 1))
def test_lines_of_sight_agree_with_sampled_points(x, y, thing):
    HOUSE.set_snapshot(SETTLED)
    eye = np.array([x, y, 1.0])
    point = HOUSE.thing_boxes().centre[thing]
    others, own = first_hits(eye, point, thing)
    # Eyes inside a geom and near misses are left out.
    if min(others, own) > 0.0 and abs(others - min(own, 1.0)) > 0.002:
        assert HOUSE.in_sight(eye, point[None], np.array([thing]))[0] == (others > min(own, 1.0))


def test_the_held_thing_hides_nothing():
    things = [Thing("far", "teddy", (2.0, 1.0, 0.0)), Thing("near", "plant", (1.5, 1.0, 0.0))]
    _, house, snapshot, _ = settled(things)
    eye, far = np.array([1.0, 1.0, 0.15]), np.array([[2.0, 1.0, 0.15]])
    assert not house.in_sight(eye, far, np.array([0]))[0]
    house.set_snapshot(snapshot.with_feature(1, HELD, 1.0))
    assert house.in_sight(eye, far, np.array([0]))[0]


def test_moved_geoms_are_restored():
    HOUSE.set_snapshot(SETTLED)
    before = HOUSE.centres.copy()
    hand = MODEL.hand_geom
    with HOUSE.restoring_geoms(np.array([hand])):
        HOUSE.move_geom(hand, np.array([9.0, 9.0, 9.0]))
        assert HOUSE.centres[hand].tolist() == [9.0, 9.0, 9.0]
    assert (HOUSE.centres == before).all()
