"""The shapes of all categories."""

from __future__ import annotations

from itertools import combinations
from math import cos, pi, sin

import pytest

from needful.envs.household.scene.categories import CATEGORIES, CLUTTER, bounding_box, swept_box
from needful.envs.household.scene.scene import Box, Category

ALL = [pytest.param(category, id=name) for name, category in CATEGORIES.items()]
GRASPABLE_VOLUME = 0.027


def spans(box: Box) -> list[tuple[float, float]]:
    return [(c - h, c + h) for c, h in zip(box.centre, box.half, strict=True)]


def overlap(one: Box, other: Box) -> bool:
    return all(
        low < top - 1e-9 and bottom < high - 1e-9
        for (low, high), (bottom, top) in zip(spans(one), spans(other), strict=True)
    )


@pytest.mark.parametrize("category", ALL)
def test_the_origin_is_the_middle_of_the_bottom(category: Category) -> None:
    box = bounding_box(category)
    assert box.centre[0] == pytest.approx(0, abs=1e-9)
    assert spans(box)[2][0] == pytest.approx(0, abs=1e-9)
    if category.name != "window":  # whose pane is on its inner side
        assert box.centre[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("category", ALL)
def test_graspable_things_are_small_and_movable(category: Category) -> None:
    box = bounding_box(category)
    small = 8 * box.half[0] * box.half[1] * box.half[2] < GRASPABLE_VOLUME
    assert category.graspable == (small and not category.fixed)


@pytest.mark.parametrize("category", ALL)
def test_parts_have_a_size_and_cavities_are_empty(category: Category) -> None:
    parts = category.parts + (category.hinge.parts if category.hinge else ())
    assert all(min(part.box.half) > 0 for part in parts)
    for cavity in category.cavities:
        assert not any(overlap(part.box, cavity) for part in parts)
    if category.hinge:
        for turning in category.hinge.parts:
            assert not any(overlap(part.box, turning.box) for part in category.parts)


@pytest.mark.parametrize("category", ALL)
def test_surfaces_are_tops_of_parts(category: Category) -> None:
    parts = category.parts + (category.hinge.parts if category.hinge else ())
    tops = [spans(part.box)[2][1] for part in parts]
    for surface in category.surfaces:
        assert any(spans(surface)[2][1] == pytest.approx(top) for top in tops)


@pytest.mark.parametrize("category", ALL)
def test_handles_are_on_the_part_that_turns(category: Category) -> None:
    if category.hinge is None:
        return
    (part,) = category.hinge.parts
    for value, (low, high) in zip(category.hinge.handle, spans(part.box), strict=True):
        assert low - 1e-9 <= value <= high + 1e-9
    assert category.hinge.limit > 1


def test_names_are_unique_and_sorted() -> None:
    assert list(CATEGORIES) == sorted(CATEGORIES)
    assert all(name == category.name for name, category in CATEGORIES.items())
    assert all(one.name != other.name for one, other in combinations(CLUTTER, 2))


@pytest.mark.parametrize("category", ALL)
def test_without_a_hinge_the_swept_box_is_the_bounding_box(category: Category) -> None:
    swept, closed = spans(swept_box(category)), spans(bounding_box(category))
    for (low, high), (bottom, top) in zip(swept, closed, strict=True):
        assert low <= bottom + 1e-9
        assert top <= high + 1e-9
    assert category.hinge is not None or swept == closed


def test_a_lid_sweeps_upwards_and_backwards_and_a_pane_into_the_room() -> None:
    package, window = spans(swept_box(CATEGORIES["package"])), spans(swept_box(CATEGORIES["window"]))
    # A lid of 0.34 m that turns by 108 degrees about its rear edge, at a height of 0.23 m.
    assert package[1] == pytest.approx((-0.17 - 0.34 * sin(pi / 10) - 0.02 * cos(pi / 10), 0.17), abs=2e-3)
    assert package[2] == pytest.approx((0.0, 0.23 + 0.34), abs=2e-2)
    assert package[0] == pytest.approx((-0.17, 0.17))
    assert window[1][1] == pytest.approx(0.05 + 0.61, abs=2e-2)
