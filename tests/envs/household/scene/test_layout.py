"""Sampled houses: nothing overlaps, the definition holds, and the robot can reach the goal's objects."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import ndimage

from needful.envs.contract import Split
from needful.envs.household.scene.activities import ACTIVITIES, ActivityDefinition, Literal
from needful.envs.household.scene.categories import CATEGORIES, CLUTTER, WINDOW_SILL
from needful.envs.household.scene.floor_plan import DOOR_WIDTH, WALL_THICKNESS, Rect
from needful.envs.household.scene.furnishing import NoPlaceError
from needful.envs.household.scene.layout import sample_scene
from needful.envs.household.scene.scene import CLEARANCE, RADIUS, REACH, Scene, Thing
from needful.seeding import rng_for
from sampled_houses import ground, ground_under, sampled_house

HOUSES = [(activity, split, seed) for activity, split, seed in product(range(4), Split, (0, 1))]
CLUTTER_NAMES = {category.name for category in CLUTTER}


@pytest.fixture(params=HOUSES, ids=lambda house: f"{ACTIVITIES[house[0]].name}-{house[1].value}-{house[2]}")
def house(request: pytest.FixtureRequest) -> tuple[ActivityDefinition, Scene]:
    return sampled_house(*request.param)


def pieces(thing: Thing) -> list[tuple[Rect, float, float]]:
    """Return the ground under each part of a closed thing, and its lowest and highest z."""
    category = CATEGORIES[thing.category]
    parts = category.parts + (category.hinge.parts if category.hinge else ())
    return [
        (
            ground_under(thing, part.box),
            thing.position[2] + part.box.centre[2] - part.box.half[2],
            thing.position[2] + part.box.centre[2] + part.box.half[2],
        )
        for part in parts
    ]


def room_of(scene: Scene, thing: Thing) -> str:
    # A window is on the centre line of a wall, so look a bit further into its room.
    x = thing.position[0] - WALL_THICKNESS * np.sin(thing.yaw)
    y = thing.position[1] + WALL_THICKNESS * np.cos(thing.yaw)
    (room,) = (r for r in scene.rooms if r.low[0] <= x < r.high[0] and r.low[1] <= y < r.high[1])
    return room.name


def test_no_two_things_overlap(house: tuple[ActivityDefinition, Scene]) -> None:
    for one, other in combinations(house[1].things, 2):
        if not ground(one).overlaps(ground(other)):
            continue
        for (body, bottom, top), (other_body, low, high) in product(pieces(one), pieces(other)):
            assert bottom >= high or low >= top or not body.overlaps(other_body), (one, other)


def test_no_thing_is_in_a_wall(house: tuple[ActivityDefinition, Scene]) -> None:
    walls = [Rect(w.low, w.high) for w in map(wall_ground, house[1].walls)]
    for thing in house[1].things:
        if thing.category != "window":
            assert not any(ground(thing).overlaps(wall) for wall in walls), thing


def wall_ground(box: object) -> Rect:
    (x, y, _), (hx, hy, _) = box.centre, box.half  # type: ignore[attr-defined]
    return Rect((x - hx, y - hy), (x + hx, y + hy))


def test_the_definition_holds(house: tuple[ActivityDefinition, Scene]) -> None:
    definition, scene = house
    things = {thing.name: thing for thing in scene.things}
    for literal in definition.initial:
        first, *rest = literal.arguments
        match literal.predicate, first, rest:
            case "inroom", name, [room] if name in things:
                assert room_of(scene, things[name]) == room
            case "ontop", "robot", [floor]:
                assert on_floor(scene, scene.robot[0], scene.robot[1]) == floor
            case "ontop", name, [floor] if floor.endswith("_floor"):
                assert on_floor(scene, *things[name].position[:2]) == floor
                assert things[name].position[2] < 0.01
            case "ontop", name, [support]:
                assert ground(things[support]).contains(ground(things[name]))
                assert things[name].position[2] == pytest.approx(top_of(things[support]), abs=0.01)
            case "open", name, []:
                assert (things[name].opened > 0.05) == literal.positive


def on_floor(scene: Scene, x: float, y: float) -> str:
    (room,) = (r for r in scene.rooms if r.low[0] <= x < r.high[0] and r.low[1] <= y < r.high[1])
    return room.floor


def top_of(thing: Thing) -> float:
    surface = CATEGORIES[thing.category].surfaces[-1]
    return thing.position[2] + surface.centre[2] + surface.half[2]


def test_windows_turn_freely(house: tuple[ActivityDefinition, Scene]) -> None:
    """The circular sector that a pane sweeps is free at all heights."""
    _, scene = house
    hinge = CATEGORIES["window"].hinge
    assert hinge is not None
    width = 2 * hinge.parts[0].box.half[0]
    bodies = {thing.name: ground(thing) for thing in scene.things}
    for window in (thing for thing in scene.things if thing.category == "window"):
        c, s = np.cos(window.yaw), np.sin(window.yaw)
        x = window.position[0] + c * hinge.anchor[0] - s * hinge.anchor[1]
        y = window.position[1] + s * hinge.anchor[0] + c * hinge.anchor[1]
        assert window.position[2] == WINDOW_SILL
        for angle in np.linspace(0, hinge.limit, 12):
            for radius in np.linspace(0.05, width, 8):
                tip_x, tip_y = (
                    x + radius * np.cos(window.yaw + angle),
                    y + radius * np.sin(window.yaw + angle),
                )
                others = (body for name, body in bodies.items() if name != window.name)
                assert all(body.gap(tip_x, tip_y) > 0 for body in others)


def test_the_robot_can_drive_to_all_objects_of_the_goal(house: tuple[ActivityDefinition, Scene]) -> None:
    definition, scene = house
    free, xs, ys = count_standing_cells(scene)
    x, y, _ = scene.robot
    labels, _ = ndimage.label(free)
    own = labels[np.abs(xs - x).argmin(), np.abs(ys - y).argmin()]
    assert own == np.bincount(labels[labels > 0]).argmax()
    things = {thing.name: thing for thing in scene.things}
    for name in {name for literal in definition.goal for name in literal.arguments}:
        body = ground(things[name])
        assert body.gap(x, y) > REACH
        near = [(i, j) for i, j in np.argwhere(labels == own) if body.gap(xs[i], ys[j]) < REACH - 0.25]
        assert len(near) > 5, name


def count_standing_cells(scene: Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid of where the base is clear of walls and of things on the floor."""
    low = np.min([room.low for room in scene.rooms], axis=0)
    high = np.max([room.high for room in scene.rooms], axis=0)
    xs, ys = (np.arange(low[i] + 0.03, high[i], 0.06) for i in (0, 1))
    bodies = [wall_ground(wall) for wall in scene.walls]
    bodies += [ground(thing) for thing in scene.things if thing.position[2] < 0.01]
    lows, highs = (np.array([getattr(body, end) for body in bodies]) for end in ("low", "high"))
    points = np.array([[(x, y) for y in ys] for x in xs])[:, :, None, :]
    gaps = np.linalg.norm(np.maximum(np.maximum(lows - points, points - highs), 0.0), axis=3)
    return gaps.min(axis=2) >= RADIUS + CLEARANCE, xs, ys


def test_the_amount_of_clutter() -> None:
    rng = rng_for(5, "clutter")
    definition, _ = ACTIVITIES[1].sample(Split.TRAIN, rng)
    scene = sample_scene(definition, 13, rng)
    assert sum(thing.category in CLUTTER_NAMES for thing in scene.things) == 13


def test_things_are_sorted_and_named_after_their_categories(
    house: tuple[ActivityDefinition, Scene],
) -> None:
    names = [thing.name for thing in house[1].things]
    assert names == sorted(set(names))
    for thing in house[1].things:
        assert thing.name.rsplit("_", 1)[0] == thing.category
    assert [category.name for category in house[1].categories] == sorted(
        {thing.category for thing in house[1].things}
    )


def test_doors_are_wide_enough_for_the_robot_with_something_in_its_hand() -> None:
    assert DOOR_WIDTH - 2 * (RADIUS + CLEARANCE) > 0.2


def test_a_thing_without_a_place_is_named() -> None:
    crowd = {f"package_{n}": "package" for n in range(60)}
    initial = [Literal("ontop", (name, "bedroom_floor")) for name in crowd]
    definition = ActivityDefinition(
        "crowd",
        {**crowd, "bedroom_floor": "floor", "robot": "robot"},
        (*initial, Literal("ontop", ("robot", "bedroom_floor"))),
        (Literal("open", ("package_0",)),),
    )
    with pytest.raises(NoPlaceError, match=r"no place for package_\d+ on bedroom_floor"):
        sample_scene(definition, 0, np.random.default_rng(0))


def test_too_many_windows_are_refused() -> None:
    names = [f"window_{n}" for n in range(40)]
    initial = tuple(Literal("inroom", (name, "kitchen")) for name in names)
    definition = ActivityDefinition("light", dict.fromkeys(names, "window"), initial, ())
    with pytest.raises(NoPlaceError, match=r"no place for window_\d+ in the walls of the kitchen"):
        sample_scene(definition, 0, np.random.default_rng(0))


def test_a_thing_without_a_support_is_refused() -> None:
    definition = ActivityDefinition(
        "lost",
        {"book_1": "book", "kitchen_floor": "floor", "robot": "robot"},
        (Literal("ontop", ("robot", "kitchen_floor")),),
        (Literal("open", ("book_1",)),),
    )
    with pytest.raises(NoPlaceError, match=r"lost.* book_1 "):
        sample_scene(definition, 0, np.random.default_rng(0))
    with pytest.raises(NoPlaceError, match=r"empty.* robot "):
        sample_scene(ActivityDefinition("empty", {}, (), ()), 0, np.random.default_rng(0))
