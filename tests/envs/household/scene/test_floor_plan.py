"""Floor plans: rooms fill the outline, walls surround them, and doors connect them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.floor_plan import (
    DOOR_WIDTH,
    MIN_ROOM_WIDTH,
    WALL_HEIGHT,
    WALL_THICKNESS,
    FloorPlan,
    Opening,
    Rect,
    Wall,
    sample_floor_plan,
    wall_boxes,
)
from needful.envs.household.scene.scene import Box

PLANS = st.integers(0, 2**32).map(lambda seed: sample_floor_plan(np.random.default_rng(seed)))


def covers(box: Box, x: float, y: float, z: float) -> bool:
    return all(abs(p - c) <= h + 1e-9 for p, c, h in zip((x, y, z), box.centre, box.half, strict=True))


def test_relations_of_rectangles() -> None:
    square = Rect((0.0, 0.0), (2.0, 2.0))
    assert square.overlaps(Rect((1.9, 1.9), (3.0, 3.0)))
    assert not square.overlaps(Rect((2.0, 0.0), (3.0, 2.0)))
    assert square.contains(Rect((0.0, 0.5), (2.0, 1.0)))
    assert not square.contains(Rect((0.0, 0.5), (2.1, 1.0)))
    assert square.grown(0.5) == Rect((-0.5, -0.5), (2.5, 2.5))
    assert square.grown(-0.5) == Rect((0.5, 0.5), (1.5, 1.5))
    assert [square.gap(1, 1), square.gap(5, 1), square.gap(-3, 6)] == [0.0, 3.0, 5.0]


@settings(max_examples=30, deadline=None)
@given(PLANS)
def test_rooms_fill_the_outline_and_do_not_overlap(plan: FloorPlan) -> None:
    sizes = [plan.room(room.name).size for room in plan.rooms]
    width, depth = plan.outline.size
    assert sum(a * b for a, b in sizes) == pytest.approx(width * depth)
    assert min(side for size in sizes for side in size) >= MIN_ROOM_WIDTH
    for one, other in combinations(plan.rooms, 2):
        assert not plan.room(one.name).overlaps(plan.room(other.name))
    assert {"bedroom", "kitchen", "living_room"} <= {room.name for room in plan.rooms}
    largest = max(plan.rooms, key=lambda room: np.prod(plan.room(room.name).size))
    assert largest.name == "living_room"


@settings(max_examples=30, deadline=None)
@given(PLANS)
def test_every_room_has_walls_all_around(plan: FloorPlan) -> None:
    lengths: Counter[str] = Counter()
    for wall in plan.walls:
        for room in wall.rooms:
            lengths[room] += wall.length
    for room in plan.rooms:
        assert lengths[room.name] == pytest.approx(2 * sum(plan.room(room.name).size))


@settings(max_examples=30, deadline=None)
@given(PLANS)
def test_doors_lead_to_every_room(plan: FloorPlan) -> None:
    reached = {plan.rooms[0].name}
    for _ in plan.rooms:
        for door in plan.doors:
            if reached & set(door.wall.rooms):
                reached |= set(door.wall.rooms)
    assert reached == {room.name for room in plan.rooms}
    for door in plan.doors:
        assert door.wall.low < door.centre - DOOR_WIDTH / 2
        assert door.centre + DOOR_WIDTH / 2 < door.wall.high


@settings(max_examples=20, deadline=None)
@given(PLANS, st.integers(0, 2**32))
def test_walls_are_solid_except_at_openings(plan: FloorPlan, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outer = next(wall for wall in plan.walls if len(wall.rooms) == 1 and wall.length > 1)
    window = Opening(outer, (outer.low + outer.high) / 2, 0.7, 0.8, 1.4)
    openings = (*plan.doors, window)
    boxes = wall_boxes(plan.walls, openings)
    for wall in plan.walls:
        along, height = rng.uniform(wall.low, wall.high), rng.uniform(0, WALL_HEIGHT)
        x, y = (along, wall.offset) if wall.axis == 0 else (wall.offset, along)
        open_there = any(
            one.wall == wall and abs(along - one.centre) < one.width / 2 and one.bottom < height < one.top
            for one in openings
        )
        # The end of another wall may extend into an opening by half its thickness.
        assert open_there or any(covers(box, x, y, height) for box in boxes)
    for door in openings:
        x, y = (door.centre, door.wall.offset) if door.wall.axis == 0 else (door.wall.offset, door.centre)
        assert not any(covers(box, x, y, (door.bottom + door.top) / 2) for box in boxes)


@pytest.mark.parametrize(
    ("wall", "expected"),
    [
        (Wall(0, 5.0, 0.0, 9.0, ("a",), 1), Rect((2.5, 5.5), (3.5, 7.0))),
        (Wall(0, 5.0, 0.0, 9.0, ("a",), -1), Rect((2.5, 3.0), (3.5, 4.5))),
        (Wall(1, 5.0, 0.0, 9.0, ("a",), 1), Rect((5.5, 2.5), (7.0, 3.5))),
        (Wall(1, 5.0, 0.0, 9.0, ("a",), -1), Rect((3.0, 2.5), (4.5, 3.5))),
    ],
)
def test_strips_lie_along_walls_on_their_inner_side(wall: Wall, expected: Rect) -> None:
    assert wall.strip(3.0, 1.0, (0.5, 2.0)) == expected


def test_the_interior_of_a_room_excludes_its_walls() -> None:
    plan = sample_floor_plan(np.random.default_rng(0))
    for room in plan.rooms:
        assert plan.interior(room.name).size == pytest.approx(
            tuple(side - WALL_THICKNESS for side in plan.room(room.name).size)
        )
