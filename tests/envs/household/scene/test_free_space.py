"""The free space of a disc, compared to the definition cell by cell."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.envs.household.scene.floor_plan import Rect
from needful.envs.household.scene.furnishing import FreeSpace

OUTLINE = Rect((0.0, 0.0), (2.0, 1.5))
COORDINATE = st.floats(-0.5, 2.5)


@st.composite
def rects(draw: st.DrawFn) -> Rect:
    xs, ys = sorted(draw(COORDINATE) for _ in range(2)), sorted(draw(COORDINATE) for _ in range(2))
    return Rect((xs[0], ys[0]), (xs[1], ys[1]))


@settings(max_examples=40, deadline=None)
@given(st.lists(rects(), max_size=4), st.floats(0.05, 0.4), rects(), st.floats(0.1, 0.8), rects())
def test_cells_are_free_and_counted_as_defined(
    obstacles: list[Rect], radius: float, target: Rect, within: float, room: Rect
) -> None:
    space = FreeSpace.around(obstacles, OUTLINE, radius)
    places = pockets = 0
    for i, x in enumerate(space.xs):
        for j, y in enumerate(space.ys):
            gaps = [rect.gap(x, y) for rect in obstacles]
            if all(abs(gap - radius) > 1e-9 for gap in gaps):
                assert space.free[i, j] == all(gap > radius for gap in gaps)
            inside = room.low[0] < x < room.high[0] and room.low[1] < y < room.high[1]
            near = inside and target.gap(x, y) <= within
            places += bool(space.connected[i, j] and near)
            pockets += bool(space.free[i, j] and not space.connected[i, j] and near)
    assert space.count_standing_cells(target, within, room) == places
    assert space.count_isolated_cells(target, within, room) == pockets


def test_the_largest_part_is_the_connected_one() -> None:
    # A wall across leaves a small part on the left and a large one on the right.
    space = FreeSpace.around([Rect((0.5, -1.0), (0.6, 3.0))], OUTLINE, 0.1)
    assert space.free[0, 0]
    assert not space.connected[0, 0]
    assert space.connected[-1, -1]
    assert np.array_equal(space.connected.any(axis=1), space.xs > 0.7)


def test_no_free_cell_is_no_connected_cell() -> None:
    assert not FreeSpace.around([OUTLINE], OUTLINE, 0.1).connected.any()
