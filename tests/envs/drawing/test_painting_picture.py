"""Tests of the pictures of Painting and Cluttered Painting."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from envs.painting_scenes import BOX_OBJECT, NONE, OBJ0, SHELF_OBJECT, SIDE, TOP, scene, thing
from needful.core.state import State
from needful.envs.cluttered_painting import ClutteredPainting
from needful.envs.drawing import palette
from needful.envs.painting import Painting
from needful.envs.painting_scene import IN_BOX, OBJ_WIDTH, shade

GOAL = frozenset({IN_BOX(OBJ0, BOX_OBJECT)})


def drawn(state: State, env: Painting | None = None) -> Axes:
    axes = Figure().add_subplot()
    (env or Painting()).draw(state, axes, GOAL)
    return axes


def span(axes: Axes, patch: Patch) -> tuple[float, float]:
    """Return the left and right end of a patch."""
    extent = patch.get_extents().transformed(axes.transData.inverted())
    return (float(extent.x0), float(extent.x1))


def things(axes: Axes) -> list[tuple[float, str]]:
    """Return the centres and colours of the objects, from left to right."""
    found = []
    for patch in axes.patches:
        left, right = span(axes, patch)
        if right - left == pytest.approx(OBJ_WIDTH):
            found.append((round((left + right) / 2, 6), to_hex(patch.get_facecolor())))
    return sorted(found)


@pytest.mark.parametrize(
    ("features", "colour"),
    [
        ({"dirtiness": 0.9}, palette.GREEN),
        ({"wetness": 0.9}, palette.BLUE),
        ({}, palette.CYAN),
        ({"color": 0.8}, shade(0.8)),
        ({"color": 0.3}, shade(0.3)),
        ({"color": 0.3, "wetness": 1.0}, shade(0.3)),
    ],
)
def test_the_colour_shows_the_condition_of_an_object(features: dict[str, float], colour: str) -> None:
    assert things(drawn(scene(thing(-4.0, **features)))) == [(-4.0, colour)]


@pytest.mark.parametrize(("grasp", "border"), [(NONE, None), (SIDE, palette.GOLD), (TOP, palette.ORANGE)])
def test_the_border_shows_how_an_object_is_held(grasp: float, border: str | None) -> None:
    axes = drawn(scene(thing(-4.0, grasp=grasp), thing(-4.1)))
    borders = [p for p in axes.patches if to_hex(p.get_facecolor()) in (palette.GOLD, palette.ORANGE)]
    assert [to_hex(patch.get_facecolor()) for patch in borders] == ([border] if border else [])
    for patch in borders:
        left, right = span(axes, patch)
        assert left < -4.0 - OBJ_WIDTH / 2
        assert right > -4.0 + OBJ_WIDTH / 2


def test_shades_of_red_grow_with_the_colour_value() -> None:
    assert (shade(0.0), shade(1.0)) == (palette.WHITE, palette.RED)
    greens = [int(shade(value / 10)[3:5], 16) for value in range(11)]
    assert greens == sorted(greens, reverse=True)
    assert len(set(greens)) == 11


def test_box_and_shelf_are_drawn_in_their_colours() -> None:
    state = scene()
    axes = drawn(state)
    colours = {to_hex(patch.get_facecolor()): span(axes, patch) for patch in axes.patches}
    box, shelf = (
        colours[shade(state.get(receptacle, "color"))] for receptacle in (BOX_OBJECT, SHELF_OBJECT)
    )
    assert box[0] < 0.5 < box[1] < shelf[0] < 1.975 < shelf[1]


@pytest.mark.parametrize("lid_open", [False, True])
def test_a_closed_lid_is_a_line_over_the_box(lid_open: bool) -> None:
    lines = drawn(scene(lid_open=lid_open)).lines
    assert len(lines) == (0 if lid_open else 1)
    for line in lines:
        left, right = line.get_xdata()
        assert left < 0.42 < 0.58 < right


def test_goal_objects_are_labelled_with_names_and_others_with_numbers() -> None:
    texts = {text.get_text(): text for text in drawn(scene(thing(-4.0), thing(-3.0))).texts}
    assert set(texts) == {"table", "box", "shelf", "obj0", "1"}
    assert (texts["obj0"].get_fontweight(), texts["1"].get_fontweight()) == ("bold", "normal")


def test_labels_that_would_overlap_are_on_separate_lines() -> None:
    positions = [-4.0, -3.8, -3.7, -3.65, -2.0]
    axes = drawn(scene(*(thing(y) for y in positions)))
    labels = [text.get_position() for text in axes.texts if text.get_text().strip("obj").isdigit()]
    assert len(labels) == 5
    for (one, height), (other, other_height) in itertools.combinations(labels, 2):
        assert abs(one - other) > 0.15 or height != other_height


@pytest.mark.parametrize("y", [0.5, 2.0])
def test_labels_of_objects_in_box_and_shelf_are_above_the_furniture(y: float) -> None:
    axes = drawn(scene(thing(y)))
    (label,) = (text for text in axes.texts if text.get_text() == "obj0")
    tops = [patch.get_extents().transformed(axes.transData.inverted()).y1 for patch in axes.patches]
    assert label.get_position()[1] > max(tops)


def test_a_lifted_object_stays_in_the_picture() -> None:
    axes = drawn(scene(thing(-4.0, grasp=SIDE, pose_z=1.265)))
    _, top = axes.get_ylim()
    (label,) = (text for text in axes.texts if text.get_text() == "obj0")
    assert label.get_position()[1] < top


@pytest.mark.parametrize(
    ("robot_y", "caption"),
    [
        (-4.5, "robby is next to obj0, table"),
        (-3.5, "robby is next to obj0, obj1, table"),
        (0.3, "robby is next to receptacle_box"),
        (2.0, "robby is next to receptacle_shelf"),
        (-0.8, "robby is next to nothing"),
    ],
)
def test_the_robot_is_drawn_with_a_list_of_things_nearby(robot_y: float, caption: str) -> None:
    state = scene(thing(-4.0), thing(-3.0), robot_y=robot_y)
    axes = drawn(state, ClutteredPainting())
    assert caption in {text.get_text() for text in axes.texts}
    (robot,) = axes.collections
    assert robot.get_offsets()[0][0] == pytest.approx(robot_y)
    assert things(axes) == things(drawn(state))
    assert not drawn(state).collections


def test_the_legend_explains_every_colour() -> None:
    legend = drawn(scene(thing())).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "dirty",
        "wet",
        "clean and dry",
        "painted (any red)",
        "closed lid",
        "held from the side",
        "held from the top",
    ]
    assert [to_hex(patch.get_facecolor()) for patch in legend.get_patches()][:3] == [
        palette.GREEN,
        palette.BLUE,
        palette.CYAN,
    ]
