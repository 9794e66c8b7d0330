"""Activities: definitions with local names, and the numbers of things in tasks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from needful.envs.contract import Split
from needful.envs.household.scene.activities import (
    ACTIVITIES,
    Activity,
    ActivityDefinition,
    Literal,
    with_counts,
    with_local_names,
)
from needful.envs.household.scene.categories import CATEGORIES
from needful.errors import InvalidInputError, UnknownNameError

BY_NAME = {activity.name: activity for activity in ACTIVITIES}
CUPS = ActivityDefinition(
    "tea",
    {"cup_1": "cup", "cup_2": "cup", "tray_1": "tray"},
    (Literal("ontop", ("cup_1", "tray_1")), Literal("open", ("cup_2",))),
    (Literal("inside", ("cup_1", "tray_1")), Literal("inside", ("cup_2", "tray_1"))),
)


@pytest.mark.parametrize("activity", ACTIVITIES, ids=lambda activity: activity.name)
def test_definitions_use_known_categories_and_predicates(activity: Activity) -> None:
    definition = activity.definition()
    assert set(definition.categories.values()) <= set(CATEGORIES) | {"floor", "robot"}
    assert "robot" in definition.categories
    assert {one.predicate for one in definition.initial} <= {"inroom", "ontop", "open"}


def test_floors_are_called_after_their_rooms() -> None:
    definition = BY_NAME["collecting-cans"].definition()
    assert definition.categories["bedroom_floor"] == "floor"
    assert Literal("ontop", ("robot", "bedroom_floor")) in definition.initial
    assert Literal("ontop", ("pop_can_4", "bedroom_floor")) in definition.initial


def test_a_floor_without_a_room_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"floor_1 has no room.*inroom"):
        with_local_names(ActivityDefinition("tea", {"floor_1": "floor.n.01"}, (), ()))


def test_an_unknown_category_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"'shelf\.n\.02'\. Did you mean 'shelf\.n\.01'"):
        with_local_names(ActivityDefinition("tea", {"shelf_1": "shelf.n.02"}, (), ()))


def test_more_things_are_copies_of_the_old_ones() -> None:
    assert with_counts(CUPS, {"cup": 4}) == ActivityDefinition(
        "tea",
        {"cup_1": "cup", "cup_2": "cup", "cup_3": "cup", "cup_4": "cup", "tray_1": "tray"},
        (
            Literal("ontop", ("cup_1", "tray_1")),
            Literal("ontop", ("cup_2", "tray_1")),
            Literal("open", ("cup_3",)),
            Literal("open", ("cup_4",)),
        ),
        tuple(Literal("inside", (f"cup_{n}", "tray_1")) for n in (1, 2, 3, 4)),
    )


def test_fewer_things_leave_no_literals_of_the_others() -> None:
    assert with_counts(CUPS, {"cup": 1}) == ActivityDefinition(
        "tea",
        {"cup_1": "cup", "tray_1": "tray"},
        (Literal("ontop", ("cup_1", "tray_1")),),
        (Literal("inside", ("cup_1", "tray_1")),),
    )


def test_the_same_counts_change_nothing() -> None:
    assert with_counts(CUPS, {}) == with_counts(CUPS, {"cup": 2, "tray": 1}) == CUPS


def test_counts_of_an_unknown_category_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cup'"):
        with_counts(CUPS, {"cups": 3})


def sampled_counts(name: str, split: Split) -> tuple[dict[str, set[int]], set[int]]:
    """Return the numbers of things by category, and of clutter, in 200 samples."""
    counts: dict[str, set[int]] = {}
    clutter = set()
    rng = np.random.default_rng(0)
    for _ in range(200):
        definition, mess = BY_NAME[name].sample(split, rng)
        clutter.add(mess)
        for category, count in Counter(definition.categories.values()).items():
            counts.setdefault(category, set()).add(count)
    return counts, clutter


def test_training_tasks_have_the_published_numbers_and_some_clutter() -> None:
    counts, clutter = sampled_counts("opening-presents", Split.TRAIN)
    assert counts == {"package": {2}, "floor": {1}, "bed": {1}, "robot": {1}}
    assert clutter == set(range(18, 23))
    assert sampled_counts("collecting-cans", Split.TRAIN)[0]["pop_can"] == {3}


def test_test_tasks_have_more_things() -> None:
    assert sampled_counts("opening-presents", Split.TEST)[0]["package"] == {3, 4}
    assert sampled_counts("locking-windows", Split.TEST)[0]["window"] == {6}
    assert sampled_counts("collecting-cans", Split.TEST)[0]["pop_can"] == {6, 7, 8}
    books, clutter = sampled_counts("sorting-books", Split.TEST)
    assert books["book"] == books["hardback"] == {3, 4}
    assert clutter == set(range(40, 71))


def test_half_of_the_cans_are_on_the_bed() -> None:
    places = Counter(
        one.arguments[1]
        for one in with_counts(BY_NAME["collecting-cans"].definition(), {"pop_can": 8}).initial
        if one.predicate == "ontop" and one.arguments[0].startswith("pop_can")
    )
    assert places == {"bed_1": 4, "bedroom_floor": 4}
